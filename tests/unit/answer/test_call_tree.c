/* module: answer; threads */
/* /call-tree: nesting by hand, ties, overlaps; very deep and very wide threads; threads of the pool
 * and chunks change nothing. */
#include "query_store.h"

#include "dftracerd/call_tree.h"

static struct call_tree *open_tree(struct store *s, const char *query, struct budget *budget,
                                   const struct call_tree_options *o, struct query **q,
                                   int expected)
{
    struct selection selection;
    struct err err = {0};
    struct call_tree *t = NULL;

    selection_init(&selection);
    selection.query = text_of(query);
    selection.phases = PHASE_EVENTS;
    CHECK_INT(query_open(&s->env, s->snapshot, &selection, budget, &err, q), 0);
    if (!CHECK_INT(call_tree_open(*q, o, &err, &t), expected))
        printf("   %s\n", err.text);
    err_done(&err);
    return t;
}

static void close_tree(struct call_tree *t, struct query *q, struct budget *budget)
{
    call_tree_close(t);
    query_close(q);
    CHECK_INT(budget->memory_used, 0);
}

/* "name count/total/self(" its children ")": total and self in ns. */
static void print_tree(struct call_tree *t, enum call_tree_part part, struct buf *out)
{
    const struct call_tree_node *n;
    int64_t last = -1;

    CHECK(call_tree_begin(t, part) > 0);
    while ((n = call_tree_next(t))) {
        for (; last >= (int64_t)n->depth; last--)
            buf_putc(out, ')');
        last = n->depth;
        call_tree_write_label(t, n, out);
        buf_printf(out, " %llu/%lld/%lld(", (unsigned long long)n->count, (long long)n->total_ns,
                   (long long)n->self_ns);
    }
    for (; last >= 0; last--)
        buf_putc(out, ')');
}

#define X(name, id, ts, dur) \
    "{\"id\":" id ",\"name\":\"" name "\",\"cat\":\"c\",\"pid\":1,\"tid\":1,\"ts\":" ts \
    ",\"dur\":" dur ",\"ph\":\"X\",\"args\":{}}\n"

/* In ns: a dur of 10 is 10000. */
static const struct {
    const char *what, *lines, *tree;
    unsigned overlaps;
} by_hand[] = {
    {"one in another", X("b", "1", "2", "3") X("a", "2", "0", "10"),
     "all 2/10000/0(a 1/10000/7000(b 1/3000/3000()))", 0},
    {"a zero length on the end is a sibling", X("a", "1", "0", "10") X("b", "2", "10", "0"),
     "all 2/10000/0(a 1/10000/10000()b 1/0/0())", 0},
    {"a zero length before the end is not", X("a", "1", "0", "10") X("b", "2", "9", "0"),
     "all 2/10000/0(a 1/10000/10000(b 1/0/0()))", 0},
    {"zero lengths at one time, the smaller id outside",
     X("b", "2", "5", "0") X("a", "1", "5", "0"), "all 2/0/0(a 1/0/0(b 1/0/0()))", 0},
    {"equal times and ids, the later line outside", X("b", "1", "5", "4") X("a", "1", "5", "4"),
     "all 2/4000/0(a 1/4000/0(b 1/4000/4000()))", 0},
    {"partly over each other", X("a", "1", "0", "10") X("b", "2", "5", "10"),
     "all 2/20000/0(a 1/10000/10000()b 1/10000/10000())", 1},
    {"children that overlap are counted once in the time of their parent",
     X("p", "1", "0", "20") X("a", "2", "0", "10") X("b", "3", "5", "10") X("c", "4", "6", "2"),
     "all 4/20000/0(p 1/20000/5000(a 1/10000/10000()b 1/10000/8000(c 1/2000/2000())))", 1},
    {"calls of one name on one path are one node, most time first",
     X("p", "1", "0", "9") X("x", "2", "1", "1") X("y", "3", "3", "3") X("x", "4", "7", "1"),
     "all 4/9000/0(p 1/9000/4000(y 1/3000/3000()x 2/2000/2000()))", 0},
    {"equal totals by name", X("b", "1", "0", "2") X("a", "2", "4", "2") X("c", "3", "8", "2"),
     "all 3/6000/0(a 1/2000/2000()b 1/2000/2000()c 1/2000/2000())", 0},
};

static void trees_by_hand(void)
{
    for (size_t i = 0; i < sizeof(by_hand) / sizeof(*by_hand); i++) {
        struct store s;
        struct budget budget = {0};
        struct query *q = NULL;
        struct call_tree_totals totals;
        struct buf told = {0};
        const struct call_tree_options o = {0};

        CHECK_STOP(store_begin(&s));
        store_file(&s, "a.pfw", by_hand[i].lines, strlen(by_hand[i].lines));
        CHECK_STOP(store_ingest(&s, 0, 1));
        struct call_tree *t = open_tree(&s, "", &budget, &o, &q, 0);
        CHECK_STOP(t);
        print_tree(t, CALL_TREE_ALL, &told);
        if (!CHECK_TEXT(((struct text){told.data, told.len}), by_hand[i].tree))
            printf("   %s\n", by_hand[i].what);
        call_tree_totals(t, &totals);
        CHECK_INT(totals.partial_overlaps, by_hand[i].overlaps);
        buf_done(&told);
        close_tree(t, q, &budget);
        store_end(&s);
    }
}

/* ---- focus, groups, threads ------------------------------------------------------------------ */

static const char mixed[] = X("main", "1", "0", "100") X("f", "2", "10", "50") X(
    "g", "3", "20", "30") X("f", "4", "25", "10") X("f", "5", "70", "20")
    X("h", "6", "75",
      "5") "{\"id\":7,\"name\":\"main\",\"cat\":\"c\",\"pid\":2,\"tid\":2,\"ts\":0,\"dur\":7,"
           "\"ph\":\"X\"}\n"
           "{\"id\":8,\"name\":\"b\",\"cat\":\"c\",\"pid\":2,\"tid\":2,\"ts\":0,\"dur\":7,\"ph\":"
           "\"B\"}\n"
           "{\"id\":9,\"name\":\"n\",\"cat\":\"c\",\"pid\":2,\"tid\":2,\"ts\":0,\"dur\":-7,\"ph\":"
           "\"X\"}\n"
           "{\"id\":10,\"name\":\"n\",\"cat\":\"c\",\"pid\":2,\"tid\":2,\"dur\":7,\"ph\":\"X\"}\n";

static const struct {
    const char *focus, *group;
    unsigned depth;
    int64_t least;
    enum call_tree_part part;
    const char *tree;
} views[] = {
    {.tree = "all 7/107000/0(main 2/107000/37000(f 2/70000/35000(g 1/30000/20000(f 1/10000/10000())"
             "h 1/5000/5000())))"},
    {.depth = 2, .tree = "all 7/107000/0(main 2/107000/37000(f 2/70000/35000()))"},
    {.least = 20000,
     .tree = "all 7/107000/0(main 2/107000/37000(f 2/70000/35000(g 1/30000/20000())))"},
    {.group = "pid",
     .tree = "all 7/107000/0(pid=1 6/100000/0(main 1/100000/30000(f 2/70000/35000(g 1/30000/20000("
             "f 1/10000/10000())h 1/5000/5000())))pid=2 1/7000/0(main 1/7000/7000()))"},
    {.focus = "f",
     .part = CALL_TREE_CALLEES,
     .tree =
         "callees 2/70000/0(f 2/70000/35000(g 1/30000/20000(f 1/10000/10000())h 1/5000/5000()))"},
    /* The f within f: counted, its time is that of the outer one. */
    {.focus = "f",
     .part = CALL_TREE_CALLERS,
     .tree = "callers 3/70000/0(f 3/70000/45000(main 2/70000/35000()g 1/0/10000(f 1/0/10000("
             "main 1/0/10000()))))"},
    {.focus = "nobody", .part = CALL_TREE_CALLERS, .tree = "callers 0/0/0()"},
};

static void check_views(struct store *s)
{
    for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
        struct budget budget = {0};
        struct query *q = NULL;
        struct buf told = {0};
        const struct call_tree_options o = {.focus = views[i].focus,
                                            .group_by = &views[i].group,
                                            .group_by_count = views[i].group != NULL,
                                            .max_depth = views[i].depth,
                                            .min_total_ns = views[i].least};
        struct call_tree_totals totals;
        struct call_tree *t = open_tree(s, "", &budget, &o, &q, 0);

        CHECK_STOP(t);
        print_tree(t, views[i].part, &told);
        CHECK_TEXT(((struct text){told.data, told.len}), views[i].tree);
        call_tree_totals(t, &totals);
        CHECK_INT(totals.events, 10);
        CHECK_INT(totals.in_tree, 7);
        CHECK_INT(totals.other_phases, 1);
        CHECK_INT(totals.untimed, 2);
        CHECK_INT(totals.threads, 2);
        CHECK_INT(totals.levels, 4);
        buf_done(&told);
        close_tree(t, q, &budget);
    }
}

static void views_by_hand(void)
{
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        struct store s;

        CHECK_STOP(store_begin(&s));
        store_file(&s, "a.pfw", mixed, sizeof(mixed) - 1);
        CHECK_STOP(store_ingest(&s, threads == 1 ? 0 : 256, threads));
        check_views(&s);
        store_end(&s);
    }
}

static void analysis_by_hand(void)
{
    static const char *const chain[] = {"main", "f", "h"}; /* the second f ends later */
    const struct call_tree_options o = {.analyze = true, .top_n = 2};
    struct store s;
    struct budget budget = {0};
    struct query *q = NULL;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "a.pfw", mixed, sizeof(mixed) - 1);
    CHECK_STOP(store_ingest(&s, 0, 1));
    struct call_tree *t = open_tree(&s, "", &budget, &o, &q, 0);
    CHECK_STOP(t);
    const struct call_tree_analysis *a = call_tree_analysis(t);
    CHECK_INT(a->critical->pid.i, 1);
    CHECK_INT(a->critical->count, 3);
    for (size_t i = 0; i < 3; i++)
        CHECK_TEXT(call_tree_path_event(a->critical, i)->name.text, chain[i]);
    CHECK_INT(a->most_called_count, 2);
    CHECK_TEXT(a->most_called[0].name.text, "f");
    CHECK_INT(a->most_called[0].count, 3);
    CHECK_TEXT(a->most_called[1].name.text, "main");
    CHECK_INT(a->depth_count, 4);
    CHECK_INT(a->depths[1].total_ns, 70000);
    CHECK_INT(a->category_count, 1);
    CHECK_INT(a->hottest_count, 2);
    CHECK_STR(a->hottest[0].path, "main"); /* 37 us; the next one has 35 */
    CHECK_STR(a->hottest[1].path, "main;f");
    close_tree(t, q, &budget);
    store_end(&s);
}

/* ---- deep and wide --------------------------------------------------------------------------- */

static void many_lines(struct buf *b, unsigned n, bool deep)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned ts = deep ? i : i * 3, dur = deep ? 2 * (n - i) : 2;
        buf_printf(b,
                   "{\"id\":%u,\"name\":\"n\",\"cat\":\"c\",\"pid\":1,\"tid\":1,\"ts\":%u,"
                   "\"dur\":%u,\"ph\":\"X\"}\n",
                   i, ts, dur);
    }
}

static void count_nodes(struct call_tree *t, enum call_tree_part part, uint32_t *nodes,
                        uint32_t *deepest)
{
    const struct call_tree_node *n;
    size_t expected = call_tree_begin(t, part);

    *nodes = *deepest = 0;
    while ((n = call_tree_next(t))) {
        ++*nodes;
        *deepest = n->depth > *deepest ? n->depth : *deepest;
    }
    CHECK_INT(*nodes, expected);
}

static void check_many(struct store *s, unsigned n, bool deep)
{
    const struct call_tree_options all = {.analyze = true, .top_n = 3}, focus = {.focus = "n"},
                                   events = {.events = true};
    struct budget budget = {0};
    struct query *q = NULL;
    struct call_tree_event e;
    uint32_t nodes, deepest;
    uint64_t seen = 0;
    struct call_tree *t = open_tree(s, "", &budget, &all, &q, 0);

    CHECK_STOP(t);
    count_nodes(t, CALL_TREE_ALL, &nodes, &deepest);
    CHECK_INT(nodes, deep ? n + 1 : 2);
    CHECK_INT(deepest, deep ? n : 1);
    close_tree(t, q, &budget);
    t = open_tree(s, "", &budget, &focus, &q, 0);
    CHECK_STOP(t);
    count_nodes(t, CALL_TREE_CALLERS, &nodes, &deepest);
    CHECK_INT(deepest, deep ? CALL_TREE_PATH_LEVELS : 1);
    close_tree(t, q, &budget);
    t = open_tree(s, "", &budget, &events, &q, 0);
    CHECK_STOP(t);
    while (call_tree_next_event(t, &e) == 0) {
        CHECK_INT(e.parent, deep ? seen : 0);
        CHECK_INT(e.depth, deep ? seen : 0);
        CHECK_INT(e.id, ++seen);
    }
    CHECK_INT(seen, n);
    close_tree(t, q, &budget);
}

/* 100,000 levels, and a million siblings. */
static void deep_and_wide(void)
{
    for (int deep = 0; deep < 2; deep++) {
        unsigned n = check_count(deep ? 100000 : 1000000, deep ? 100000 : 250000);
        struct store s;
        struct buf lines = {0};

        CHECK_STOP(store_begin(&s));
        many_lines(&lines, n, deep);
        store_file(&s, "a.pfw", lines.data, lines.len);
        buf_done(&lines);
        CHECK_STOP(store_ingest(&s, 0, 2));
        check_many(&s, n, deep);
        store_end(&s);
    }
}

/* What does not fit into memory is refused, and all memory is given back. */
static void too_much(void)
{
    const struct call_tree_options o = {0};
    struct call_tree *t;
    struct store s;
    struct buf lines = {0};
    struct query *q = NULL;

    CHECK_STOP(store_begin(&s));
    many_lines(&lines, 20000, true);
    store_file(&s, "a.pfw", lines.data, lines.len);
    buf_done(&lines);
    CHECK_STOP(store_ingest(&s, 0, 2));
    for (size_t limit = 100000; limit < 3000000; limit += 450000) {
        struct budget budget = {.memory_limit = limit};
        t = open_tree(&s, "", &budget, &o, &q, ERR_MEMORY_LIMIT);
        close_tree(t, q, &budget);
    }
    struct budget enough = {.memory_limit = 8000000}, cancelled = {0};
    t = open_tree(&s, "", &enough, &o, &q, 0);
    close_tree(t, q, &enough);
    budget_cancel(&cancelled, ERR_CANCELLED);
    t = open_tree(&s, "", &cancelled, &o, &q, ERR_CANCELLED);
    close_tree(t, q, &cancelled);
    store_end(&s);
}

/* A random trace over many chunks and threads: the same with one thread and with four, line for
 * line. */
static void threads_change_nothing(void)
{
    struct buf lines = {0}, told[2] = {{0}, {0}};
    uint32_t random = 7;

    for (unsigned i = 0; i < 20000; i++) {
        random = random * 1664525 + 1013904223;
        buf_printf(&lines,
                   "{\"id\":%u,\"name\":\"n%u\",\"cat\":\"c\",\"pid\":%u,\"tid\":%u,\"ts\":%u,"
                   "\"dur\":%u,\"ph\":\"X\"}\n",
                   random >> 29, random >> 8 & 3, random >> 12 & 1, random >> 13 & 3,
                   random >> 16 & 2047, random >> 4 & 63);
    }
    for (int i = 0; i < 2; i++) {
        const struct call_tree_options o = {.analyze = true};
        struct store s;
        struct budget budget = {0};
        struct query *q = NULL;
        CHECK_STOP(store_begin(&s));
        store_file(&s, "a.pfw", lines.data, lines.len);
        CHECK_STOP(store_ingest(&s, i ? 65536 : 0, i ? 4 : 1));
        struct call_tree *t = open_tree(&s, "", &budget, &o, &q, 0);
        CHECK_STOP(t);
        print_tree(t, CALL_TREE_ALL, &told[i]);
        close_tree(t, q, &budget);
        store_end(&s);
    }
    CHECK_INT(told[0].len, told[1].len);
    CHECK(told[0].len > 1000 && memcmp(told[0].data, told[1].data, told[0].len) == 0);
    buf_done(&lines);
    buf_done(&told[0]);
    buf_done(&told[1]);
}

static const struct check_test tests[] = {
    {"trees_by_hand", trees_by_hand},
    {"views_by_hand", views_by_hand},
    {"analysis_by_hand", analysis_by_hand},
    {"deep_and_wide", deep_and_wide},
    {"too_much", too_much},
    {"threads_change_nothing", threads_change_nothing},
    {NULL, NULL},
};

CHECK_MAIN(tests)
