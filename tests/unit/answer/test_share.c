/* module: answer; threads */
/* share: every byte of the sources once, in order; each line with its group; records where they are
 * needed; where files end. */
#include <errno.h>
#include <fcntl.h>

#include "dftracerd/query.h"
#include "dftracerd/share.h"
#include "query_store.h"

#define GROUPS_MOST 4
enum { TEXT_MOST = 64 << 20 };

struct answer {
    struct buf sources[8]; /* text of each file, as it came */
    struct buf
        outputs[GROUPS_MOST + 1]; /* what is written of each target; a new file begins with "#\n" */
    struct buf brackets;
    uint64_t objects[GROUPS_MOST + 1];
};

static void answer_done(struct answer *a)
{
    for (size_t i = 0; i < 8; i++)
        buf_done(&a->sources[i]);
    for (size_t i = 0; i <= GROUPS_MOST; i++)
        buf_done(&a->outputs[i]);
    buf_done(&a->brackets);
}

static size_t count_newlines(struct text t)
{
    size_t n = 0;

    for (size_t i = 0; i < t.len; i++)
        n += t.ptr[i] == '\n';
    return n;
}

static void take(struct answer *a, const struct share *s)
{
    buf_text(&a->sources[s->file], s->text);
    CHECK_INT(count_newlines(s->text) + s->cut, s->lines);
    CHECK_INT(count_newlines(s->added), s->added_lines);
    if (s->target == SHARE_BRACKETS) {
        buf_text(&a->brackets, s->text);
        return;
    }
    struct buf *out = &a->outputs[s->target];
    if (s->begins)
        buf_puts(out, "#\n");
    buf_text(out, s->added);
    buf_text(out, s->text);
    if (s->cut)
        buf_putc(out, '\n');
    a->objects[s->target] += s->objects;
}

static int share_all(struct store *s, const char *const *queries, uint64_t file_bytes,
                     struct answer *a)
{
    struct selection selection;
    struct budget budget = {0};
    struct err err = {0};
    struct query *all = NULL, *groups[GROUPS_MOST] = {0};
    struct share_options options = {.groups = groups, .file_bytes = file_bytes};
    struct sharing *sharing = NULL;
    struct share share;

    selection_init(&selection);
    selection.phases = PHASE_ANY;
    CHECK_INT(query_open(&s->env, s->snapshot, &selection, &budget, &err, &all), 0);
    selection.phases = PHASE_DATA;
    for (; queries[options.group_count]; options.group_count++) {
        selection.query = text_of(queries[options.group_count]);
        CHECK_INT(query_open(&s->env, s->snapshot, &selection, &budget, &err,
                             &groups[options.group_count]),
                  0);
    }
    options.all = all;
    int rc = share_open(&options, &err, &sharing);
    while (rc == 0 && (rc = share_next(sharing, &err, &share)) == 0)
        take(a, &share);
    if (rc != ERR_END)
        printf("   %s\n", err.text);
    share_close(sharing);
    for (uint32_t i = 0; i < options.group_count; i++)
        query_close(groups[i]);
    query_close(all);
    CHECK_INT(budget.memory_used, 0);
    err_done(&err);
    return rc;
}

static const char *text(struct buf *b)
{
    buf_putc(b, '\0');
    b->len--;
    return b->data;
}

/* ---- lines and groups ------------------------------------------------------------------------ */

#define META(name, arg, value) \
    "{\"name\":\"" name \
    "\",\"cat\":\"dftracer\",\"pid\":1,\"tid\":2,\"ph\":\"M\",\"args\":{\"name\":\"" arg \
    "\",\"value\":\"" value "\"}}\n"
#define EVENT(name, cat, ts, more) \
    "{\"id\":1,\"name\":\"" name "\",\"cat\":\"" cat "\",\"pid\":1,\"tid\":2,\"ts\":" ts \
    ",\"dur\":5,\"ph\":\"X\",\"args\":{\"hhash\":\"h1\"" more "}}"
#define HH META("HH", "node", "h1")
#define F1 META("FH", "/data/one", "f1")
#define F2 META("FH", "/data/two", "f2")
#define READ EVENT("read", "POSIX", "10", ",\"fhash\":\"f1\"")
#define READ2 EVENT("read", "POSIX", "20", ",\"fhash\":\"f2\"")
#define WRITE EVENT("write", "POSIX", "30", ",\"fhash\":\"f1\"")
#define STEP EVENT("step", "app", "40", "")

/* A file that does not look as if it were growing: its last line counts although it has no end. */
static void old_file(struct store *s, const char *source)
{
    char path[128];
    const struct timespec times[2] = {{1000000000, 0}, {1000000000, 0}};

    store_file(s, "a.pfw", source, strlen(source));
    snprintf(path, sizeof(path), "%s/a.pfw", s->dir);
    CHECK_INT(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void one_file(const char *source, const char *const *queries, const char *const *outputs)
{
    struct store s;
    struct answer a = {0};

    CHECK_STOP(store_begin(&s));
    old_file(&s, source);
    CHECK_STOP(store_ingest(&s, 0, 2));
    CHECK_INT(share_all(&s, queries, 1 << 20, &a), ERR_END);
    CHECK_STR(text(&a.sources[0]), source);
    for (size_t i = 0; outputs[i]; i++)
        CHECK_STR(text(&a.outputs[i]), outputs[i]);
    answer_done(&a);
    store_end(&s);
}

static const char *const by_name[] = {"name == 'read'", "cat == 'POSIX'", NULL};

/* The first group takes what both select; records go with the next object, and stand in each file
 * that needs them. */
static void first_match(void)
{
    one_file("[\n" HH F1 READ "\n" WRITE "\n" F2 READ2 ",\n" STEP "\n\n]\n", by_name,
             (const char *const[]){"#\n" HH F1 READ "\n" F2 READ2 ",\n", "#\n" HH F1 WRITE "\n",
                                   "#\n" HH STEP "\n", NULL});
}

/* A record behind the last object goes with it; without an object, to the rest. */
static void records_without_objects(void)
{
    one_file(STEP "\n" HH, by_name, (const char *const[]){"", "", "#\n" HH STEP "\n" HH, NULL});
    one_file("[\n" HH F1, by_name, (const char *const[]){"", "", "#\n" HH F1, NULL});
}

static void no_newline_at_the_end(void)
{
    one_file("[\n" STEP "\n" READ, (const char *const[]){"name == 'read'", NULL},
             (const char *const[]){"#\n" READ "\n", "#\n" STEP "\n", NULL});
    one_file(READ "\n]", by_name, (const char *const[]){"#\n" READ "\n", "", "", NULL});
    one_file("", by_name, (const char *const[]){"", "", "", NULL});
    one_file(READ "\nnonsense", by_name,
             (const char *const[]){"#\n" READ "\n", "", "#\nnonsense\n", NULL});
}

/* Objects of one line are cut apart; an object over two lines stays whole. */
static void odd_lines(void)
{
    one_file(READ "," STEP "\n" WRITE "\r\n", by_name,
             (const char *const[]){"#\n" READ ",\n", "#\n" WRITE "\r\n", "#\n" STEP "\n", NULL});
    one_file("{\"name\":\"read\",\"ph\":\"X\",\n\"ts\":1,\"pid\":1}\n" STEP "\n", by_name,
             (const char *const[]){"#\n{\"name\":\"read\",\"ph\":\"X\",\n\"ts\":1,\"pid\":1}\n", "",
                                   "#\n" STEP "\n", NULL});
}

/* Two halves of an object that were apart must not become one. */
static void halves_stay_apart(void)
{
    one_file("{\"name\":\"read\",\"ph\":\"X\",\n" READ "\n\"ts\":1}\n" READ "\n", by_name,
             (const char *const[]){"#\n" READ "\n" READ "\n", "",
                                   "#\n{\"name\":\"read\",\"ph\":\"X\",\n\n\"ts\":1}\n", NULL});
}

static void brackets(void)
{
    struct store s;
    struct answer a = {0};
    static const char source[] = "[\n\n" READ "\n,\n[[[[[[\n]";

    CHECK_STOP(store_begin(&s));
    old_file(&s, source);
    CHECK_STOP(store_ingest(&s, 0, 1));
    CHECK_INT(share_all(&s, by_name, 1 << 20, &a), ERR_END);
    CHECK_STR(text(&a.sources[0]), source);
    CHECK_STR(text(&a.brackets), "[\n\n,\n]");
    CHECK_STR(text(&a.outputs[2]), "#\n[[[[[[\n");
    answer_done(&a);
    store_end(&s);
}

/* ---- many chunks and files ------------------------------------------------------------------- */

static void make_lines(struct buf *b, unsigned from, unsigned to)
{
    buf_puts(b, "[\n" HH F1);
    for (unsigned i = from; i < to; i++)
        buf_printf(b,
                   "{\"id\":%u,\"name\":\"%s\",\"cat\":\"POSIX\",\"pid\":1,\"tid\":2,\"ts\":%u,"
                   "\"dur\":1,\"ph\":\"X\",\"args\":{\"hhash\":\"h1\",\"fhash\":\"f1\"}}\n",
                   i, i % 3 ? "read" : "write", i);
    buf_puts(b, "]\n");
}

static void check_output(const struct buf *b, uint64_t objects, uint64_t most)
{
    struct text rest = {b->data, b->len}, line;
    size_t records = 0, files = 0, lines = 0, bytes = 0;

    while (text_split(&rest, '\n', &line) && line.ptr && (line.len || rest.ptr)) {
        bool begins = text_eq(line, TEXT("#"));
        files += begins;
        CHECK(bytes <= most);
        bytes = begins ? 4 : bytes + line.len + 1;
        bool record = memmem(line.ptr, line.len, "\"ph\":\"M\"", 8) != NULL;
        records += record;
        lines += !record && !begins;
    }
    CHECK_INT(lines, objects);
    CHECK(files > 1);
    CHECK(records >= 2 * files); /* each has HH and FH, the first also those of the sources */
    CHECK(records <= 2 * files + 4);
}

/* Metadata records count as text of the output file, too. */
static void long_records(void)
{
    static const char *const queries[] = {NULL};
    struct store s;
    struct answer a = {0};
    struct buf text = {0};

    buf_puts(&text, "[\n" HH);
    for (unsigned i = 0; i < 40; i++)
        buf_printf(&text,
                   "{\"id\":%u,\"name\":\"FH\",\"cat\":\"dftracer\",\"pid\":1,\"tid\":2,"
                   "\"ph\":\"M\",\"args\":{\"name\":\"/%0900u\",\"value\":\"f%u\"}}\n",
                   i, i, i);
    for (unsigned i = 0; i < 40; i++)
        buf_printf(&text,
                   "{\"id\":%u,\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":1,\"tid\":2,"
                   "\"ts\":%u,\"dur\":1,\"ph\":\"X\",\"args\":{\"fhash\":\"f%u\"}}\n",
                   i, i, i);
    buf_puts(&text, "]\n");
    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", text.data, text.len);
    store_file(&s, "b.pfw", text.data, text.len);
    CHECK_STOP(store_ingest(&s, 65536, 3));
    CHECK_INT(share_all(&s, queries, 4096, &a), ERR_END);
    for (unsigned i = 0; i < 2; i++) {
        struct text rest = {a.outputs[i].data, a.outputs[i].len}, line;
        size_t bytes = 0;
        while (text_split(&rest, '\n', &line) && line.ptr && (line.len || rest.ptr)) {
            bytes = text_eq(line, TEXT("#")) ? 4 : bytes + line.len + 1;
            CHECK(bytes <= 4096);
        }
    }
    answer_done(&a);
    buf_done(&text);
    store_end(&s);
}

static void many_chunks(void)
{
    static const char *const queries[] = {"name == 'write'", NULL};
    struct store s;
    struct answer a = {0}, b = {0};
    struct buf one = {0}, two = {0};

    make_lines(&one, 0, 6000);
    make_lines(&two, 6000, 9000);
    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", one.data, one.len);
    store_file(&s, "d/b.pfw", two.data, two.len);
    CHECK_STOP(store_ingest(&s, 65536, 3));
    CHECK_INT(share_all(&s, queries, 100000, &a), ERR_END);
    CHECK_INT(a.sources[0].len, one.len);
    CHECK_INT(memcmp(a.sources[0].data, one.data, one.len), 0);
    CHECK_INT(a.sources[1].len, two.len);
    CHECK_INT(memcmp(a.sources[1].data, two.data, two.len), 0);
    CHECK_INT(a.objects[0], 3000);
    CHECK_INT(a.objects[1], 6000);
    check_output(&a.outputs[0], 3000, 100000 + 400);
    check_output(&a.outputs[1], 6000, 100000 + 400);
    s.env.pool = NULL; /* the same by one thread */
    CHECK_INT(share_all(&s, queries, 100000, &b), ERR_END);
    CHECK_INT(a.outputs[0].len, b.outputs[0].len);
    CHECK_INT(memcmp(a.outputs[0].data, b.outputs[0].data, b.outputs[0].len), 0);
    CHECK_INT(memcmp(a.outputs[1].data, b.outputs[1].data, b.outputs[1].len), 0);
    answer_done(&a);
    answer_done(&b);
    buf_done(&one);
    buf_done(&two);
    store_end(&s);
}

/* A line that no chunk has: longer than any may be. */
static void long_line(void)
{
    struct store s;
    struct answer a = {0};
    struct buf source = {0};
    const size_t len = TRACE_LINE_MAX + (5u << 20);

    buf_puts(&source, READ "\n");
    char *room = buf_reserve(&source, len);
    CHECK_STOP(room != NULL);
    memset(room, '[', len);
    source.len += len;
    buf_puts(&source, "\n]\n" WRITE "\n");
    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", source.data, source.len);
    CHECK_STOP(store_ingest(&s, 0, 2));
    CHECK_INT(share_all(&s, by_name, 1 << 20, &a), ERR_END);
    CHECK_INT(a.sources[0].len, source.len);
    CHECK_INT(memcmp(a.sources[0].data, source.data, source.len), 0);
    CHECK_STR(text(&a.outputs[0]), "#\n" READ "\n");
    CHECK_STR(text(&a.outputs[1]), "#\n" WRITE "\n");
    CHECK_INT(a.outputs[2].len, 2 + len + 1);
    answer_done(&a);
    buf_done(&source);
    store_end(&s);
}

static const struct check_test tests[] = {
    {"first match", first_match},
    {"records without objects", records_without_objects},
    {"no newline at the end", no_newline_at_the_end},
    {"odd lines", odd_lines},
    {"halves stay apart", halves_stay_apart},
    {"brackets", brackets},
    {"many chunks", many_chunks},
    {"long line", long_line},
    {"long records", long_records},
    {NULL, NULL},
};
CHECK_MAIN(tests)
