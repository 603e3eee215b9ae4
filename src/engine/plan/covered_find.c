/* covered_find.c - finds the calls of a file whose bytes are counted by a call inside of them. */
#include "engine/plan/covered_find.h"

#include "base/group_table.h"
#include "engine/derived/batch_times.h"
#include "engine/filter/filter.h"
#include "engine/plan/plan.h"
#include "engine/scan/scan.h"

#include <stdlib.h>

enum { KEYS = 4 };

/* An outer call. */
struct outer_call {
    int64_t ts, te;
    uint64_t row; /* in `bits` */
    uint32_t thread;
};

struct search {
    struct query *q; /* of the one file */
    struct scan_worker *worker;
    struct covered *found;
    struct buf inner_text;
    struct dsl outer_dsl, inner_dsl;
    struct test *outer, *inner;
    const struct source *keys[KEYS], *ts, *dur;
    struct group_table threads;
    VEC(struct outer_call) calls;
    size_t max_calls;
    VEC(uint64_t) bits; /* of the rows of `found` */
    VEC(int64_t) tree;  /* leaves (the second half): te of the calls; other nodes: their maximum */
    size_t leaves;
};

/* ---- rows ------------------------------------------------------------------------------------ */

struct columns {
    const uint64_t *keys[KEYS];
    struct batch_times times;
};

static struct columns read_columns(const struct search *s, struct scan_batch *b)
{
    struct columns c = {.times = batch_times(b, s->ts, s->dur)};

    for (unsigned i = 0; i < KEYS; i++)
        c.keys[i] = batch_keys(b, s->keys[i]);
    return c;
}

static void thread_keys(const struct columns *c, uint32_t row, uint64_t *ret)
{
    for (unsigned i = 0; i < KEYS; i++)
        ret[i] = c->keys[i][row];
}

/* ---- outer calls ----------------------------------------------------------------------------- */

/* Adds bits for the rows of the chunk, unless it has some. *ret: the number of its first bit. */
static int bits_of_chunk(struct search *s, const struct scan_chunk *c, uint64_t *ret)
{
    size_t *first = &s->found->first[c->place.chunk], words = s->bits.count;
    int rc = 0;

    if (*first == COVERED_NO_ROWS) {
        rc = vec_extend(&s->bits, words + (c->rows + 63) / 64);
        *first = rc < 0 ? COVERED_NO_ROWS : words;
    }
    *ret = (uint64_t)*first * 64;
    return rc;
}

static int collect_batch(void *arg, struct scan_batch *b)
{
    struct search *s = arg;
    const struct columns c = read_columns(s, b);
    uint64_t keys[KEYS], first;
    int64_t thread;
    int rc = bits_of_chunk(s, b->chunk, &first);

    rc = rc < 0 ? rc : vec_reserve(&s->calls, b->count);
    for (uint32_t j = 0; rc == 0 && j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        struct outer_call *call = &s->calls.at[s->calls.count];
        if (!batch_times_of(&c.times, row, &call->ts, &call->te))
            continue;
        thread_keys(&c, row, keys);
        thread = group_table_add(&s->threads, keys);
        if (thread < 0)
            return (int)thread;
        call->thread = (uint32_t)thread;
        call->row = first + batch_place(b, row);
        s->calls.count++;
    }
    return rc;
}

static int compare_calls(const void *a, const void *b, void *arg)
{
    const struct outer_call *x = a, *y = b;

    (void)arg;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->ts > y->ts) - (x->ts < y->ts);
}

/* ---- outer calls around a transfer ----------------------------------------------------------- */

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int make_tree(struct search *s)
{
    size_t leaves = 1, n = s->calls.count;

    while (leaves < n)
        leaves *= 2;
    int rc = vec_extend(&s->tree, 2 * leaves);
    if (rc < 0)
        return rc;
    s->leaves = leaves;
    for (size_t i = 0; i < leaves; i++)
        s->tree.at[leaves + i] = i < n ? s->calls.at[i].te : INT64_MIN;
    for (size_t i = leaves - 1; i > 0; i--)
        s->tree.at[i] = max_of(s->tree.at[2 * i], s->tree.at[2 * i + 1]);
    return 0;
}

/* Returns the first call in [from, to) that ends at `te` or later, or a number >= to. */
static size_t find_end(const struct search *s, size_t from, size_t to, int64_t te)
{
    const int64_t *tree = s->tree.at;
    size_t node = from + s->leaves, width = 1, at = from;

    while (at < to) {
        while (node % 2 == 0 && tree[node / 2] < te) { /* the parent begins at `at`, too */
            node /= 2;
            width *= 2;
        }
        if (tree[node] < te) {
            at += width;
            node++;
        } else if (width > 1) {
            node *= 2;
            width /= 2;
        } else {
            return at;
        }
    }
    return to;
}

static void mark_call(struct search *s, size_t i)
{
    uint64_t row = s->calls.at[i].row;
    int64_t *tree = s->tree.at;
    size_t node = s->leaves + i;

    s->bits.at[row / 64] |= (uint64_t)1 << row % 64;
    tree[node] = INT64_MIN;
    for (node /= 2; node > 0; node /= 2)
        tree[node] = max_of(tree[2 * node], tree[2 * node + 1]);
}

/* Returns the first call of a thread that begins after ts, or the first one of the next thread. */
static size_t find_begin(const struct search *s, uint32_t thread, int64_t ts)
{
    size_t from = 0, to = s->calls.count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const struct outer_call *call = &s->calls.at[middle];
        if (call->thread < thread || (call->thread == thread && call->ts <= ts))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static void mark_around(struct search *s, uint32_t thread, int64_t ts, int64_t te)
{
    size_t to = find_begin(s, thread, ts);
    size_t from = thread ? find_begin(s, thread - 1, INT64_MAX) : 0;

    te = te > INT64_MIN ? te : INT64_MIN + 1; /* marked calls have INT64_MIN in the tree */
    for (;;) {
        from = find_end(s, from, to, te);
        if (from >= to)
            return;
        mark_call(s, from);
    }
}

static int cover_batch(void *arg, struct scan_batch *b)
{
    struct search *s = arg;
    const struct columns c = read_columns(s, b);
    uint64_t keys[KEYS];
    int64_t ts, te;

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (!batch_times_of(&c.times, row, &ts, &te))
            continue;
        thread_keys(&c, row, keys);
        int64_t thread = group_table_find(&s->threads, keys);
        if (thread >= 0)
            mark_around(s, (uint32_t)thread, ts, te);
    }
    return 0;
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* Sets the tests of the next pass. They need a new worker, which allocates the state of all tests
 * when it is made. */
static void begin_pass(struct search *s, struct test *root)
{
    scan_worker_free(s->worker);
    s->worker = NULL;
    s->q->root = s->q->timeless = root;
}

static int prepare_pass(struct search *s)
{
    int rc = query_make_places(s->q);

    rc = rc < 0 ? rc : scan_worker_new(s->q, &s->worker);
    if (rc == 0)
        scan_worker_gather(s->worker);
    return rc;
}

/* Collects outer calls of places from *at on, until there are max_calls. */
static int collect_outer(struct search *s, size_t *at, bool *ret_more)
{
    begin_pass(s, s->outer);
    int rc = prepare_pass(s);
    s->calls.count = 0;
    while (rc == 0 && *at < s->q->place_count && s->calls.count < s->max_calls)
        rc = scan_chunk(s->worker, (*at)++, collect_batch, s);
    *ret_more = rc == 0 && *at < s->q->place_count;
    return rc < 0 || s->calls.count == 0
               ? rc
               : sort_items(s->calls.at, s->calls.count, sizeof(*s->calls.at), compare_calls, NULL,
                            s->q->budget);
}

static int mark_covered(struct search *s)
{
    int64_t from = INT64_MAX, to = INT64_MIN;
    int rc = make_tree(s);

    for (size_t i = 0; i < s->calls.count; i++) {
        from = s->calls.at[i].ts < from ? s->calls.at[i].ts : from;
        to = max_of(to, s->calls.at[i].te);
    }
    begin_pass(s, s->inner);
    query_and_time(s->q, "ts", COMPARE_GE, from, true);
    query_and_time(s->q, "ts", COMPARE_LE, to, true);
    rc = rc < 0 ? rc : s->q->arena.error;
    rc = rc < 0 ? rc : prepare_pass(s);
    for (size_t i = 0; rc == 0 && i < s->q->place_count; i++)
        rc = scan_chunk(s->worker, i, cover_batch, s);
    return rc;
}

/* ---- the inner query ------------------------------------------------------------------------- */

static int compile_calls(struct search *s, struct text text, struct dsl *dsl, struct test **ret)
{
    int rc = dsl_parse(text, NULL, dsl);

    if (rc < 0)
        return rc;
    struct test *calls = test_compile(s->q, dsl->root);
    *ret = test_both(s->q, test_classes(s->q, PHASE_EVENTS), calls);
    return s->q->arena.error;
}

static int compile_inner(struct search *s)
{
    struct buf *text = &s->inner_text;

    buf_puts(text, "(cat ilike 'POSIX' or cat ilike 'sys') and name in [");
    for (size_t i = 0; column_transfer_calls[i]; i++)
        buf_printf(text, "%s'%s'", i ? "," : "", column_transfer_calls[i]);
    buf_puts(text, "]");
    return text->error
               ? text->error
               : compile_calls(s, (struct text){text->data, text->len}, &s->inner_dsl, &s->inner);
}

static int open_search(struct search *s, struct query *of, uint32_t file)
{
    static const char *const keys[KEYS] = {"pid", "tid", "hhash", "args.hostname"};
    int rc = query_open_file(of, file, &s->q);

    for (unsigned i = 0; rc == 0 && i < KEYS; i++)
        rc = query_source(s->q, text_of(keys[i]), &s->keys[i]);
    rc = rc < 0 ? rc : query_source(s->q, TEXT("ts"), &s->ts);
    rc = rc < 0 ? rc : query_source(s->q, TEXT("dur"), &s->dur);
    rc = rc < 0 ? rc
                : compile_calls(s, TEXT("cat ilike 'STDIO' and name in ['fread','fwrite']"),
                                &s->outer_dsl, &s->outer);
    return rc < 0 ? rc : compile_inner(s);
}

static void close_search(struct search *s)
{
    scan_worker_free(s->worker);
    vec_done(&s->calls);
    vec_done(&s->tree);
    query_close(s->q);
    dsl_done(&s->outer_dsl);
    dsl_done(&s->inner_dsl);
    buf_done(&s->inner_text);
}

static int run_search(struct search *s)
{
    bool more = true;
    int rc = 0;

    for (size_t at = 0; rc == 0 && more;) {
        group_table_init(&s->threads, KEYS, 0, s->q->budget);
        rc = collect_outer(s, &at, &more);
        if (rc == 0 && s->calls.count > 0)
            rc = mark_covered(s);
        group_table_done(&s->threads);
    }
    return rc;
}

int covered_find(struct query *q, uint32_t file, size_t max_calls, struct covered **ret)
{
    struct search s = {.max_calls = max_calls};
    s.calls.budget = s.bits.budget = s.tree.budget = q->budget;
    int rc = covered_new(q, snapshot_file(q->snapshot, file)->chunk_count, &s.found);

    if (rc < 0)
        return rc;
    rc = open_search(&s, q, file);
    rc = rc < 0 ? rc : run_search(&s);
    close_search(&s);
    s.found->bits = s.bits.at;
    s.found->bytes += s.bits.cap * sizeof(*s.bits.at);
    if (rc < 0) {
        budget_release(q->budget, s.found->bytes);
        covered_drop(s.found);
        return rc;
    }
    *ret = s.found;
    return 0;
}
