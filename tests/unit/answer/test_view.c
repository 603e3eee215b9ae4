/* module: answer; threads */
/* /view: lines byte for byte, the metadata they need, order, windows, errors. */
#include <errno.h>

#include "dftracerd/query.h"
#include "dftracerd/view.h"
#include "query_store.h"

struct ask {
    const char *query;
    struct view_options options;
    unsigned phases;
    size_t memory;
    unsigned rest; /* every so many calls; 0 = never */
};

/* The whole answer; NULL on failure, the error in *err. */
static char *view_all(struct store *s, struct ask ask, size_t want, struct err *err)
{
    struct selection selection;
    struct budget budget = {.memory_limit = ask.memory};
    struct query *q;
    struct view *v = NULL;
    struct buf out = {0};

    selection_init(&selection);
    selection.query = text_of(ask.query);
    if (ask.phases)
        selection.phases = ask.phases;
    if (ask.options.limit == 0)
        ask.options.limit = UINT64_MAX;
    if (!CHECK_INT(query_open(&s->env, s->snapshot, &selection, &budget, err, &q), 0))
        return NULL;
    int rc = view_open(q, &ask.options, err, &v);
    for (unsigned n = 1; rc == 0; n++) {
        rc = view_next(v, want, &out, err);
        if (!ask.rest || n % ask.rest)
            continue;
        view_rest(v);
        CHECK(ask.options.order_ts || atomic_load(&budget.memory_used) < 20 << 10);
    }
    view_close(v);
    query_close(q);
    CHECK_INT(budget.memory_used, 0);
    if (rc != ERR_END) {
        CHECK_INT(err->code, rc);
        buf_done(&out);
        return NULL;
    }
    return buf_steal(&out, NULL);
}

static void check_view(struct store *s, struct ask ask, const char *expected)
{
    static const size_t wants[] = {1, 300, 1 << 20, 500};

    for (int i = 0; i < 4; i++) {
        struct err err = {0};
        ask.rest = i == 3 ? 3 : 0;
        char *got = view_all(s, ask, wants[i], &err);
        CHECK_STR(got, expected);
        if (err.code)
            printf("   %s\n", err.text);
        err_done(&err);
        free(got);
    }
}

/* ---- the case of the old command's tests ----------------------------------------------------- */

#define META(name, arg, value) \
    "{\"name\":\"" name \
    "\",\"cat\":\"dftracer\",\"pid\":1000,\"tid\":2000,\"ph\":\"M\",\"args\":{\"name\":\"" arg \
    "\",\"value\":\"" value "\"}}\n"
#define EVENT(name, cat, ts, dur, more) \
    "{\"id\":1,\"name\":\"" name "\",\"cat\":\"" cat "\",\"pid\":1000,\"tid\":2000,\"ts\":" ts \
    ",\"dur\":" dur ",\"ph\":\"X\",\"args\":{\"hhash\":\"host_abc\"" more "}}\n"
#define HH META("HH", "node", "host_abc")
#define FH1 META("FH", "/data/one", "file_001")
#define FH2 META("FH", "/data/two", "file_002")
#define SHX META("SH", "train.py", "script_x")
#define THREAD META("thread_name", "2000", "thread_name")
#define READ EVENT("read", "POSIX", "1000000", "500", ",\"fhash\":\"file_001\"")
#define WRITE EVENT("write", "POSIX", "1001000", "300", ",\"fhash\":\"file_001\"")
#define PREAD EVENT("pread64", "POSIX", "1002000", "150", ",\"fhash\":\"file_002\"")
#define FWRITE EVENT("fwrite", "STDIO", "1003000", "200", "")
#define FORWARD EVENT("forward", "compute", "1100000", "50000", "")
#define BACKWARD EVENT("backward", "compute", "1150000", "60000", "")
#define LOADER EVENT("DataLoader", "ai_framework", "1210000", "10000", ",\"shash\":\"script_x\"")
#define CHECKPOINT EVENT("checkpoint", "checkpoint", "1300000", "500000", "")
static const char old_case[] =
    HH FH1 FH2 SHX THREAD READ WRITE PREAD FWRITE FORWARD BACKWARD LOADER CHECKPOINT;

static bool old_store(struct store *s)
{
    if (!store_begin(s))
        return false;
    store_file(s, "trace.pfw", old_case, sizeof(old_case) - 1);
    return store_ingest(s, 0, 2);
}

static void old_command_case(void)
{
    struct store s;

    CHECK_STOP(old_store(&s));
    check_view(&s, (struct ask){.query = "cat IN ['POSIX', 'STDIO']"},
               HH FH1 THREAD READ WRITE FH2 PREAD FWRITE);
    check_view(&s, (struct ask){.query = "cat IN ['compute', 'ai_framework']"},
               HH THREAD FORWARD BACKWARD SHX LOADER);
    check_view(&s, (struct ask){.query = "name == 'read'", .options.no_metadata = true}, READ);
    check_view(&s, (struct ask){.query = "dur >= 100000", .options.no_metadata = true}, CHECKPOINT);
    check_view(&s, (struct ask){.query = "name == 'nobody'"}, "");
    check_view(&s, (struct ask){.query = "", .phases = PHASE_METADATA}, HH FH1 FH2 SHX THREAD);
    check_view(&s, (struct ask){.query = "", .phases = PHASE_ANY}, old_case);
    store_end(&s);
}

static void windows(void)
{
    struct store s;

    CHECK_STOP(old_store(&s));
    /* offset and limit count data objects; metadata stand before what is written */
    check_view(&s, (struct ask){.query = "", .options = {.limit = 2, .offset = 2}},
               HH FH2 THREAD PREAD FWRITE);
    check_view(&s,
               (struct ask){.query = "", .options = {.limit = 2, .offset = 2, .order_ts = true}},
               HH FH2 THREAD PREAD FWRITE);
    check_view(&s,
               (struct ask){.query = "", .options = {.limit = 1, .offset = 7, .no_metadata = true}},
               CHECKPOINT);
    check_view(&s, (struct ask){.query = "", .options = {.offset = 8}}, "");
    check_view(&s, (struct ask){.query = "", .options = {.offset = 9, .order_ts = true}}, "");
    store_end(&s);
}

/* ---- names from elsewhere -------------------------------------------------------------------- */

#define M(name, pid, arg, value) \
    "{\"name\":\"" name "\",\"ph\":\"M\",\"pid\":" pid ",\"tid\":1,\"args\":{\"name\":\"" arg \
    "\",\"value\":\"" value "\"}}\n"
#define E(pid, ts, args) \
    "{\"name\":\"read\",\"ph\":\"X\",\"pid\":" pid ",\"tid\":1,\"ts\":" ts \
    ",\"dur\":1,\"args\":{" args "}}\n"

static void records_from_other_files(void)
{
    /* a: its own FH of hash 7. b: none, so those of a and c, in path order, each (kind, hash, name)
     * once. */
    static const char a[] =
        M("FH", "1", "/a", "7") M("PR", "1", "rank", "0") E("1", "10", "\"fhash\":\"7\"");
    static const char b[] = E("2", "20", "\"fhash\":\"7\"")
        E("2", "21", "\"cwd\":\"8\",\"x_hash\":\"9\"") E("1", "22", "\"cmd_hash\":\"5\"");
    static const char c[] = M("FH", "3", "/c", "7") M("FH", "3", "/a", "7") M("FH", "3", "/c2", "7")
        M("FH", "3", "/dir", "8") M("SH", "3", "text", "8") M("HH", "3", "x", "9")
            M("SH", "3", "y", "9") M("CM", "2", "key", "value") M("PR", "1", "rank", "0")
                M("process_name", "1", "Rank 0", "process_name") M("SH", "3", "cmd", "5");
    struct store s;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", a, sizeof(a) - 1);
    store_file(&s, "b.pfw", b, sizeof(b) - 1);
    store_file(&s, "c.pfw", c, sizeof(c) - 1);
    CHECK_STOP(store_ingest(&s, 0, 2));
    check_view(&s, (struct ask){.query = ""},
               M("FH", "1", "/a", "7") M("PR", "1", "rank", "0")
                   M("process_name", "1", "Rank 0", "process_name") E("1", "10", "\"fhash\":\"7\"")
                       M("FH", "3", "/c", "7") M("FH", "3", "/c2", "7") M("CM", "2", "key", "value")
                           E("2", "20", "\"fhash\":\"7\"") M("FH", "3", "/dir", "8")
                               M("HH", "3", "x", "9") M("SH", "3", "y", "9")
                                   E("2", "21", "\"cwd\":\"8\",\"x_hash\":\"9\"")
                                       M("SH", "3", "cmd", "5") E("1", "22", "\"cmd_hash\":\"5\""));
    check_view(&s, (struct ask){.query = "fhash == '7'", .options.offset = 1},
               M("FH", "1", "/a", "7") M("FH", "3", "/c", "7") M("FH", "3", "/c2", "7")
                   M("CM", "2", "key", "value") E("2", "20", "\"fhash\":\"7\""));
    store_end(&s);
}

/* The same pid on two hosts: each process has its own records; equal texts are written once. */
static void processes_by_host(void)
{
#define H(host) "\"hhash\":\"" host "\""
#define P(host, arg) \
    "{\"name\":\"PR\",\"ph\":\"M\",\"pid\":5,\"tid\":1,\"args\":{" H( \
        host) ",\"name\":\"rank\",\"value\":\"" arg "\"}}\n"
#define T M("thread_name", "5", "5", "thread_name")
    static const char both[] =
        P("h1", "0") P("h2", "1") E("5", "1", H("h2")) E("5", "2", H("h1")) E("5", "3", H("h2"));
    static const char one[] = T M("HH", "5", "node3", "h3") E("5", "4", H("h3"));
    static const char two[] = T M("HH", "5", "node4", "h4") E("5", "5", H("h4"));
    struct store s;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", both, sizeof(both) - 1);
    store_file(&s, "b.pfw", one, sizeof(one) - 1);
    store_file(&s, "c.pfw", two, sizeof(two) - 1);
    CHECK_STOP(store_ingest(&s, 0, 2));
    check_view(&s, (struct ask){.query = ""},
               P("h2", "1") E("5", "1", H("h2")) P("h1", "0") E("5", "2", H("h1"))
                   E("5", "3", H("h2")) M("HH", "5", "node3", "h3") T E("5", "4", H("h3"))
                       M("HH", "5", "node4", "h4") E("5", "5", H("h4")));
    store_end(&s);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void bytes_and_repairs(void)
{
    static const char text[] =
        "[\n  {\"name\":\"a\",\"ph\":\"X\",\"ts\":1,\"dur\":1} ,\n"
        "{\"name\":\"b\",\"ph\":\"X\",\"ts\":2,,\"dur\":1}{\"name\":\"c\", \"ph\":\"X\",\"ts\":3}\n"
        "bad\n{\"name\":\"d\",\"ph\":\"X\",\"ts\":4,\"x\":\"\xff\"}\n\n"
        "{\"name\":\"e\",\"ph\":\"X\",\"ts\":5}\n]";
    struct store s;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "t.pfw", text, sizeof(text) - 1);
    CHECK_STOP(store_ingest(&s, 0, 1));
    check_view(&s, (struct ask){.query = ""},
               "{\"name\":\"a\",\"ph\":\"X\",\"ts\":1,\"dur\":1}\n"
               "{\"name\":\"b\",\"ph\":\"X\",\"ts\":2,\"dur\":1}\n"
               "{\"name\":\"c\", \"ph\":\"X\",\"ts\":3}\n"
               "{\"name\":\"d\",\"ph\":\"X\",\"ts\":4,\"x\":\"\xef\xbf\xbd\"}\n"
               "{\"name\":\"e\",\"ph\":\"X\",\"ts\":5}\n");
    check_view(&s, (struct ask){.query = "name IN ['a', 'c', 'e']"},
               "{\"name\":\"a\",\"ph\":\"X\",\"ts\":1,\"dur\":1}\n{\"name\":\"c\", "
               "\"ph\":\"X\",\"ts\":3}\n"
               "{\"name\":\"e\",\"ph\":\"X\",\"ts\":5}\n");
    store_end(&s);
}

static void merged_by_time(void)
{
#define L(name, ts) "{\"name\":\"" name "\",\"ph\":\"X\",\"ts\":" ts "}\n"
#define N(name) "{\"name\":\"" name "\",\"ph\":\"C\"}\n"
    static const char a[] = L("a1", "5") L("a2", "3") L("a3", "9.5") N("a4") L("a5", "5");
    static const char b[] = L("b1", "1") L("b2", "5") N("b3") L("b4", "9") L("b5", "10");
    struct store s;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", a, sizeof(a) - 1);
    store_file(&s, "b.pfw", b, sizeof(b) - 1);
    CHECK_STOP(store_ingest(&s, 0, 2));
    check_view(&s, (struct ask){.query = "", .options.order_ts = true},
               N("a4") N("b3") L("b1", "1") L("a2", "3") L("a1", "5") L("a5", "5") L("b2", "5")
                   L("b4", "9") L("a3", "9.5") L("b5", "10"));
    check_view(&s,
               (struct ask){.query = "", .options = {.order_ts = true, .limit = 3, .offset = 3}},
               L("a2", "3") L("a1", "5") L("a5", "5"));
    store_end(&s);
}

/* ---- large ----------------------------------------------------------------------------------- */

enum { LINES = 6000 / (1 + CHECK_THREADS_ONLY), FILES = 3 };

/* Line i of a file: lengths and gaps differ, times fall back now and then. */
static void large_line(struct buf *out, unsigned file, unsigned i)
{
    unsigned ts = i * 10 + (i % 7 == 0 ? 35 : 0) + file * 3;

    buf_printf(out,
               "{\"name\":\"n%u\",\"ph\":\"X\",\"pid\":%u,\"tid\":1,\"ts\":%u,\"dur\":%u,\"args\":{"
               "\"pad\":\"%.*s\"}}",
               i % 5, file, ts, i, (int)(i % 60),
               "------------------------------------------------------------");
}

static bool large_store(struct store *s, unsigned threads)
{
    char name[8];

    if (!store_begin(s))
        return false;
    for (unsigned f = 0; f < FILES; f++) {
        struct buf text = {0};
        for (unsigned i = 0; i < LINES; i++) {
            large_line(&text, f, i);
            buf_puts(&text, i % 11 == 0 ? " ,\n" : "\n");
        }
        snprintf(name, sizeof(name), "%u.pfw", f);
        store_file(s, name, text.data, text.len);
        buf_done(&text);
    }
    return store_ingest(s, 64 << 10, threads);
}

static char *large_expected(unsigned modulo)
{
    struct buf out = {0};

    for (unsigned f = 0; f < FILES; f++) {
        for (unsigned i = 0; i < LINES; i++) {
            if (i % modulo)
                continue;
            large_line(&out, f, i);
            buf_putc(&out, '\n');
        }
    }
    return buf_steal(&out, NULL);
}

static uint64_t ts_of_line(const char *line)
{
    const char *ts = strstr(line, "\"ts\":");

    return ts ? strtoull(ts + 5, NULL, 10) : 0;
}

static void large_in_order(void)
{
    struct store s;

    for (unsigned threads = CHECK_THREADS_ONLY ? 4 : 1; threads <= 4; threads += 3) {
        CHECK_STOP(large_store(&s, threads));
        CHECK(snapshot_file(s.snapshot, 0)->chunk_count > 4);
        char *all = large_expected(1), *fifth = large_expected(5);
        check_view(&s, (struct ask){.query = ""}, all);
        check_view(&s, (struct ask){.query = "name == 'n0'"}, fifth);
        /* one item at a time when memory is short: 64 KiB of text and its positions */
        check_view(&s, (struct ask){.query = "", .memory = 400 << 10}, all);
        free(all);
        free(fifth);
        struct err err = {0};
        char *none = view_all(&s, (struct ask){.query = "", .memory = 20 << 10}, 1000, &err);
        CHECK(none == NULL);
        CHECK_INT(err.code, ERR_MEMORY_LIMIT);
        err_done(&err);
        store_end(&s);
    }
}

static void large_by_time(void)
{
    struct store s;
    struct err err = {0};
    uint64_t last = 0, lines = 0;

    CHECK_STOP(large_store(&s, 4));
    char *got = view_all(&s, (struct ask){.query = "", .options.order_ts = true}, 5000, &err);
    CHECK_STOP(got);
    for (char *line = got; *line; line = strchr(line, '\n') + 1, lines++) {
        uint64_t ts = ts_of_line(line);
        CHECK(ts >= last);
        last = ts;
    }
    CHECK_INT(lines, LINES * FILES);
    free(got);
    store_end(&s);
}

static void offsets_in_the_middle(void)
{
    struct store s;
    static const uint64_t offsets[] = {1, 400, LINES - 1, LINES, LINES * 2 + 17, LINES * FILES - 1};

    CHECK_STOP(large_store(&s, 2));
    char *all = large_expected(1);
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        struct err err = {0};
        const char *from = all;
        for (uint64_t k = 0; k < offsets[i]; k++)
            from = strchr(from, '\n') + 1;
        char *got =
            view_all(&s, (struct ask){.query = "", .options.offset = offsets[i]}, 100000, &err);
        CHECK_STR(got, from);
        free(got);
    }
    free(all);
    store_end(&s);
}

static void counts(void)
{
    static const struct {
        const char *query;
        uint64_t limit, offset, count;
    } cases[] = {
        {"", UINT64_MAX, 0, LINES * FILES},
        {"", 100, 0, 100},
        {"", UINT64_MAX, LINES * FILES - 1, 1},
        {"", UINT64_MAX, LINES * FILES, 0},
        {"name == 'n0'", UINT64_MAX, 0, LINES * FILES / 5},
        {"name == 'n0'", 1000, LINES * FILES / 5 - 600, 600},
        {"name == 'x'", UINT64_MAX, 0, 0},
    };
    struct store s;
    struct selection selection;

    CHECK_STOP(large_store(&s, 2));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct budget budget = {0};
        struct err err = {0};
        struct query *q;
        uint64_t count = 0;
        selection_init(&selection);
        selection.query = text_of(cases[i].query);
        CHECK_STOP(query_open(&s.env, s.snapshot, &selection, &budget, &err, &q) == 0);
        CHECK_INT(view_count(q, cases[i].limit, cases[i].offset, &err, &count), 0);
        CHECK_INT(count, cases[i].count);
        query_close(q);
    }
    store_end(&s);
}

/* ---- trouble --------------------------------------------------------------------------------- */

static void changed_files_are_refused(void)
{
    struct store s;
    struct err err = {0};

    CHECK_STOP(old_store(&s));
    store_file(&s, "trace.pfw", old_case, sizeof(old_case) / 2);
    char *got = view_all(&s, (struct ask){.query = ""}, 1000, &err);
    CHECK(got == NULL);
    CHECK_INT(err.code, ERR_STALE);
    CHECK(strstr(err.text, "trace.pfw") != NULL);
    err_done(&err);
    store_end(&s);
}

static void cancelled(void)
{
    struct store s;
    struct selection selection;
    struct budget budget = {0};
    struct err err = {0};
    struct view_options options = {.limit = UINT64_MAX};
    struct query *q;
    struct view *v;
    struct buf out = {0};

    CHECK_STOP(large_store(&s, 4));
    selection_init(&selection);
    CHECK_STOP(query_open(&s.env, s.snapshot, &selection, &budget, &err, &q) == 0);
    CHECK_STOP(view_open(q, &options, &err, &v) == 0);
    CHECK_INT(view_next(v, 10, &out, &err), 0);
    budget_cancel(&budget, ERR_CANCELLED);
    int rc = 0;
    for (int i = 0; i < 10000 && rc == 0; i++)
        rc = view_next(v, 1000, &out, &err);
    CHECK_INT(rc, ERR_CANCELLED);
    view_close(v);
    query_close(q);
    buf_done(&out);
    err_done(&err);
    store_end(&s);
}

static const struct check_test tests[] = {
    {"old_command_case", old_command_case},
    {"windows", windows},
    {"records_from_other_files", records_from_other_files},
    {"processes_by_host", processes_by_host},
    {"bytes_and_repairs", bytes_and_repairs},
    {"merged_by_time", merged_by_time},
    {"large_in_order", large_in_order},
    {"large_by_time", large_by_time},
    {"offsets_in_the_middle", offsets_in_the_middle},
    {"counts", counts},
    {"changed_files_are_refused", changed_files_are_refused},
    {"cancelled", cancelled},
    {NULL, NULL},
};
CHECK_MAIN(tests)
