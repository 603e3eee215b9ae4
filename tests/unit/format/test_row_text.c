/* module: format */
/* Flat rows from columns: every kind of column, long and many texts, order of time, a writer's room
 * is given back. */
#include "dftracerd/format.h"
#include "dftracerd/rows.h"
#include "query_store.h"

static const char text[] =
    "{\"name\":\"HH\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"node\",\"value\":\"h\"}}\n"
    "{\"name\":\"a \\\"b\\\", c\",\"cat\":\"POSIX\",\"ph\":\"X\",\"pid\":1,\"tid\":70000,"
    "\"ts\":10.5,\"dur\":2,\"args\":{\"hhash\":\"h\",\"ret\":4,\"flag\":true,\"mix\":\"a\","
    "\"list\":[1,2],\"f\":0.5}}\n"
    "{\"name\":\"read\",\"cat\":\"POSIX\",\"ph\":\"X\",\"pid\":2,\"tid\":-1,\"ts\":30,\"dur\":3,"
    "\"args\":{\"ret\":-9223372036854775807,\"flag\":false,\"mix\":7,\"f\":1e300}}\n"
    "{\"name\":\"\",\"ph\":\"C\",\"ts\":20,\"args\":{\"mix\":1.5}}\n";

/* Asks in small steps; the rows rest in between. */
static char *told(struct store *s, enum format format, const struct rows_options *options)
{
    struct rows_options o = *options;
    struct selection selection;
    struct budget budget = {0};
    struct err err = {0};
    struct query *q;
    struct rows *r = NULL;
    struct format_rows *f;
    struct buf out = {0};
    size_t count;

    selection_init(&selection);
    if (!CHECK_INT(query_open(&s->env, s->snapshot, &selection, &budget, &err, &q), 0) ||
        !CHECK_INT(format_rows_new(format, o.columns, o.column_count, &f), 0))
        return NULL;
    o.writer = format_rows_writer(f);
    o.limit = o.limit ? o.limit : UINT64_MAX;
    int rc = rows_open(q, &o, &err, &r);
    for (int n = 0; rc == 0; n++) {
        if (n % 3 == 1)
            rows_rest(r);
        rc = format_rows_next(f, r, &err, &out, &count);
    }
    CHECK_INT(rc, ERR_END);
    format_rows_end(f, &out);
    rows_close(r);
    format_rows_free(f);
    query_close(q);
    err_done(&err);
    CHECK_INT(budget.memory_used, 0);
    return buf_steal(&out, NULL);
}

static void check_told(struct store *s, enum format format, struct rows_options o,
                       const char *expected)
{
    char *got = told(s, format, &o);

    CHECK_STR(got, expected);
    free(got);
}

#define COLUMNS(...) \
    .columns = (const char *const[]){__VA_ARGS__}, \
    .column_count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

static void every_kind(void)
{
    struct store s;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "t.pfw", text, sizeof(text) - 1);
    CHECK_STOP(store_ingest(&s, 0, 2));
    check_told(&s, FORMAT_NDJSON,
               (struct rows_options){COLUMNS("name", "cat", "ts", "dur", "pid", "tid", "ret")},
               "{\"name\":\"a \\\"b\\\", c\",\"cat\":\"POSIX\",\"ts\":10.5,\"dur\":2,\"pid\":1,"
               "\"tid\":70000,\"ret\":4}\n"
               "{\"name\":\"read\",\"cat\":\"POSIX\",\"ts\":30,\"dur\":3,\"pid\":2,\"tid\":-1,"
               "\"ret\":-9223372036854775807}\n"
               "{\"name\":\"\",\"cat\":null,\"ts\":20,\"dur\":null,\"pid\":null,\"tid\":null,"
               "\"ret\":null}\n");
    check_told(&s, FORMAT_CSV,
               (struct rows_options){COLUMNS("name", "args.flag", "mix", "list", "f", "host", "x")},
               "name,args.flag,mix,list,f,host,x\n"
               "\"a \"\"b\"\", c\",true,a,\"[1,2]\",0.5,node,\nread,false,7,,1e300,,\n"
               "\"\",,1.5,,,,\n");
    check_told(&s, FORMAT_JSON,
               (struct rows_options){COLUMNS("list", "f"), .order_ts = true, .offset = 1},
               "{\"rows\":[{\"list\":null,\"f\":null},{\"list\":null,\"f\":1e300}]}\n");
    check_told(&s, FORMAT_JSON, (struct rows_options){COLUMNS("ts"), .offset = 3},
               "{\"rows\":[]}\n");
    check_told(&s, FORMAT_CSV, (struct rows_options){COLUMNS("ts", "a,b"), .offset = 3},
               "ts,\"a,b\"\n");
    store_end(&s);
}

enum { LINES = 5000, NAME = 150, MOST = 40 };

/* Each name is longer than what is copied at once, and some come again. */
static unsigned name_of(unsigned i)
{
    return i * 7 % 4001;
}

/* `width` columns, the name all of them. */
static void check_names(unsigned width, size_t chunk)
{
    const char *columns[MOST];
    char name[NAME + 1];
    struct rows_options options = {.columns = columns, .column_count = width};
    struct store s;
    struct buf lines = {0}, expected = {0};

    memset(name, 'n', NAME);
    name[NAME] = '\0';
    for (unsigned c = 0; c < width; c++)
        columns[c] = "name";
    for (unsigned i = 0; i < LINES; i++) {
        buf_printf(&lines, "{\"name\":\"%s%u\",\"ph\":\"X\",\"pid\":%u,\"ts\":%u,\"dur\":1}\n",
                   name, name_of(i), i % 3, i);
        for (unsigned c = 0; c < width; c++)
            buf_printf(&expected, "%s\"name\":\"%s%u\"%s", c ? "," : "{", name, name_of(i),
                       c + 1 == width ? "}\n" : "");
    }
    buf_putc(&expected, '\0');
    CHECK_STOP(store_begin(&s));
    store_file(&s, "t.pfw", lines.data, lines.len);
    CHECK_STOP(store_ingest(&s, chunk, 3));
    char *got = told(&s, FORMAT_NDJSON, &options);
    CHECK(got && strcmp(got, expected.data) == 0);
    free(got);
    buf_done(&lines);
    buf_done(&expected);
    store_end(&s);
}

/* Of MOST columns there are fewer cells than names, and their texts take more room than is kept. */
static void long_texts(void)
{
    check_names(1, 4 << 20);
    check_names(2, 64 << 10);
    check_names(check_count(MOST, MOST), 4 << 20);
}

static void no_such_form(void)
{
    static const char *const columns[] = {"ts"};
    struct format_rows *f;

    CHECK_INT(format_rows_new(FORMAT_TEXT, columns, 1, &f), ERR_FORMAT);
    CHECK_INT(format_rows_new(FORMAT_NDJSON, columns, 0, &f), ERR_FORMAT);
}

static const struct check_test tests[] = {
    {"every_kind", every_kind},
    {"long_texts", long_texts},
    {"no_such_form", no_such_form},
    {NULL, NULL},
};
CHECK_MAIN(tests)
