/* module: format */
/* Processes and their parents, in all formats; once more for each of their allocations, which
 * fails. */
#include "dftracerd/processes.h"
#include "query_alloc.h"

#include "dftracerd/format.h"

struct question {
    enum format format;
    const char *query;
    uint64_t limit, offset;
    bool pretty;
};
static struct store store;

static int ask(void *arg, struct buf *answer)
{
    const struct question *a = arg;
    struct selection selection;
    struct budget budget = {0};
    struct err err = {0};
    struct query *q = NULL;
    struct process_list *l = NULL;
    struct format_processes *f = NULL;
    struct format_processes_options o = {.format = a->format,
                                         .pretty = a->pretty,
                                         .limit = a->limit ? a->limit : UINT64_MAX,
                                         .offset = a->offset};

    selection_init(&selection);
    selection.query = text_of(a->query);
    int rc = query_open(&store.env, store.snapshot, &selection, &budget, &err, &q);
    rc = rc ? rc : processes_run(q, &err, &l);
    rc = rc ? rc : format_processes_new(l, &o, &f);
    while (rc == 0)
        rc = format_processes_next(f, answer);
    format_processes_free(f);
    processes_free(l);
    return alloc_settle(rc, q, &budget, &err);
}

static void check_answer(struct question question, const char *expected)
{
    struct buf answer = {0};

    CHECK_INT(ask(&question, &answer), 0);
    buf_putc(&answer, '\0');
    CHECK_STR(answer.data, expected);
    buf_done(&answer);
}

/* 1 has started and ended, forked 2 and spawned 3; 3 began 4; 5 is in the file of 50. */
static const struct {
    const char *name, *text;
} files[] = {
#define LINE(name, pid, ts, dur, cat, args) \
    "{\"name\":\"" name "\",\"cat\":\"" cat "\",\"pid\":" pid ",\"tid\":" pid ",\"ts\":" ts \
    ",\"dur\":" dur ",\"ph\":\"X\",\"args\":{\"hostname\":\"h\"" args "}}\n"
    {"a.pfw", LINE("start", "1", "1", "0", "dftracer", ",\"ppid\":9,\"cmd_hash\":\"c\"")
                  LINE("fork", "1", "2", "3", "POSIX", ",\"ret\":2")
                      LINE("spawn", "1", "6", "1", "app", ",\"ret\":3")
                          LINE("read", "1", "8", "4", "STDIO", "")
                              LINE("end", "1", "20", "0", "dftracer", "")},
    {"b.pfw", LINE("start", "2", "4", "0", "dftracer", "")
                  LINE("write", "2", "5", "2.5", "POSIX", ",\"ret\":70")},
    {"c.pfw", LINE("x", "3", "7", "1", "app", "")},
    {"d.pfw", LINE("start", "4", "9", "0", "dftracer", ",\"ppid\":3")},
    {"old-50.pfw", LINE("x", "50", "1", "1", "app", "") LINE("y", "5", "2", "1", "app", "")},
};

static const struct question tree = {.format = FORMAT_TEXT};

static void reports_parents(void)
{
    check_answer(tree, "process  host  rank  parent by  events  bytes  io time  min_ts  max_te  "
                       "threads  end         command\n"
                       "1        h     -     ppid            5  -            7       1      20"
                       "        1  finished    c\n"
                       "  2      h     -     fork            2     70      2.5       4     7.5"
                       "        1  unfinished  -\n"
                       "  3      h     -     spawn           1  -            0       7       8"
                       "        1  -           -\n"
                       "    4    h     -     ppid            1  -            0       9       9"
                       "        1  unfinished  -\n"
                       "50       h     -     -               1  -            0       1       2"
                       "        1  -           -\n"
                       "  5      h     -     file            1  -            0       2       3"
                       "        1  -           -\n");
}

#define HEAD \
    "host,pid,parent_pid,parent_by,depth,rank,command,exec,cwd,min_ts,max_te,events,threads," \
    "bytes,io_time,files,file,finished\n"

/* A process outside of the query is not listed, but is reported as a parent. */
static void reports_selected(void)
{
    const char *of_app = "cat == 'app' and pid != 1";

    check_answer((struct question){.format = FORMAT_CSV, .query = of_app},
                 HEAD "h,3,1,spawn,0,,,,,7,8,1,1,,0,1,c.pfw,\n"
                      "h,50,,,0,,,,,1,2,1,1,,0,1,old-50.pfw,\n"
                      "h,5,50,file,1,,,,,2,3,1,1,,0,1,old-50.pfw,\n");
    check_answer((struct question){.format = FORMAT_CSV, .query = of_app, .offset = 2, .limit = 5},
                 HEAD "h,5,50,file,1,,,,,2,3,1,1,,0,1,old-50.pfw,\n");
    check_answer((struct question){.format = FORMAT_CSV, .query = of_app, .offset = 3}, HEAD);
    check_answer((struct question){.format = FORMAT_NDJSON, .query = "pid == 77"}, "");
}

static void all_formats(void)
{
    static const enum format formats[] = {FORMAT_JSON, FORMAT_NDJSON, FORMAT_CSV, FORMAT_TEXT};

    for (unsigned i = 0; i < 5; i++) {
        struct question q = {.format = formats[i % 4], .pretty = i == 4};
        alloc_check(format_name(q.format), ask, &q);
    }
}

static void with_a_pool(void)
{
    struct pool *pool = NULL;

    CHECK_INT(pool_new(2, "test", &pool), 0);
    store.env.pool = pool;
    reports_parents();
    failing_malloc_everywhere(true);
    all_formats();
    failing_malloc_everywhere(false);
    store.env.pool = NULL;
    pool_free(pool);
}

static const struct check_test tests[] = {
    {"reports_parents", reports_parents},
    {"reports_selected", reports_selected},
    {"all_formats", all_formats},
    {"with_a_pool", with_a_pool},
    {NULL, NULL},
};

static void make_store(void)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        store_file(&store, files[i].name, files[i].text, strlen(files[i].text));
    store_ingest(&store, 0, 1);
}

STORE_MAIN(tests, &store, make_store)
