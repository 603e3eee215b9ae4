/* module: format */
/* Call trees in all formats, once for each of their allocations, which fails. */
#include "dftracerd/call_tree.h"
#include "query_alloc.h"

#include "dftracerd/format.h"

struct question {
    enum format format;
    const char *focus, *group;
    bool analyze;
};
static struct store store;

static int ask(void *arg, struct buf *answer)
{
    const struct question *a = arg;
    struct selection selection;
    struct budget budget = {0};
    struct err err = {0};
    struct query *q = NULL;
    struct call_tree *t = NULL;
    struct format_call_tree *f = NULL;
    struct call_tree_options o = {.focus = a->focus,
                                  .group_by = &a->group,
                                  .group_by_count = a->group != NULL,
                                  .analyze = a->analyze,
                                  .events =
                                      a->format == FORMAT_NDJSON || a->format == FORMAT_PERFETTO};
    struct format_call_tree_options told = {.format = a->format,
                                            .focus = a->focus,
                                            .callees = true,
                                            .callers = true,
                                            .limit = UINT64_MAX,
                                            .budget = &budget};

    selection_init(&selection);
    int rc = query_open(&store.env, store.snapshot, &selection, &budget, &err, &q);
    rc = rc ? rc : call_tree_open(q, &o, &err, &t);
    if (rc == 0 && a->format == FORMAT_COLLAPSED_DIFF)
        rc = format_call_tree_diff((struct call_tree *[]){t, t}, &budget, answer);
    else
        rc = rc ? rc : format_call_tree_new(t, &told, &f);
    rc = rc == 0 && !f ? ERR_END : rc;
    while (rc == 0)
        rc = format_call_tree_next(f, answer);
    format_call_tree_free(f);
    call_tree_close(t);
    return alloc_settle(rc, q, &budget, &err);
}

static const struct {
    const char *name;
    struct question question;
} cases[] = {
    {"json", {.format = FORMAT_JSON, .analyze = true, .group = "pid"}},
    {"focus", {.format = FORMAT_JSON, .focus = "n1"}},
    {"text", {.format = FORMAT_TEXT, .analyze = true}},
    {"collapsed", {.format = FORMAT_COLLAPSED}},
    {"collapsed-diff", {.format = FORMAT_COLLAPSED_DIFF}},
    {"rows", {.format = FORMAT_NDJSON}},
    {"slices", {.format = FORMAT_PERFETTO}},
};

static void ask_all(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        alloc_check(cases[i].name, ask, (void *)(uintptr_t)&cases[i].question);
}

static void alone(void)
{
    ask_all();
}

static void with_a_pool(void)
{
    struct pool *pool = NULL;

    CHECK_INT(pool_new(2, "test", &pool), 0);
    store.env.pool = pool;
    failing_malloc_everywhere(true);
    ask_all();
    failing_malloc_everywhere(false);
    store.env.pool = NULL;
    pool_free(pool);
}

/* Threads that nest, overlap and go deep; two files. */
static void make_store(void)
{
    struct buf b = {0};

    for (int file = 0; file < 2; file++) {
        char name[] = {'t', (char)('0' + file), '.', 'p', 'f', 'w', 0};
        buf_clear(&b);
        for (int i = 0; i < 600; i++) {
            bool deep = i < 100;
            buf_printf(&b,
                       "{\"id\":%d,\"name\":\"n%d\",\"cat\":\"c\",\"pid\":%d,\"tid\":%d,\"ts\":%d,"
                       "\"dur\":%d,\"ph\":\"X\"}\n",
                       i, i % 7, i % 2 + file, deep ? 9 : i % 3, deep ? i : 1000 + i * 3,
                       deep ? 400 - 2 * i : i * 5 % 40);
        }
        store_file(&store, name, b.data, b.len);
    }
    buf_done(&b);
    store_ingest(&store, 0, 1);
}

static const struct check_test tests[] = {
    {"alone", alone},
    {"with_a_pool", with_a_pool},
    {NULL, NULL},
};

STORE_MAIN(tests, &store, make_store)
