/* within_collect.c - collects the intervals of what matches a query's `within`, before its own
 * scan.
 */
#include "engine/derived/within.h"
#include "engine/filter/filter.h"
#include "engine/plan/plan.h"
#include "engine/scan/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SPANS = 4096 };

/* ---- collecting ------------------------------------------------------------------------------ */

struct collector {
    struct within *in;
    struct group_table scopes; /* its own numbers */
    VEC(struct span) spans;
};

static int collect_begin(void *arg, unsigned worker, void **ret_state)
{
    struct query *q = arg;
    struct collector *c = calloc(1, sizeof(*c));

    (void)worker;
    if (!c)
        return -ENOMEM;
    c->in = q->within;
    c->spans.budget = q->budget;
    group_table_init(&c->scopes, c->in->width, 0, q->budget);
    *ret_state = c;
    return 0;
}

/* What overlaps becomes one before more memory is taken. */
static int room_for(struct collector *c, uint32_t more)
{
    size_t cap = c->spans.cap;

    if (c->spans.count + more <= cap)
        return 0;
    int rc = spans_unite(c->spans.at, &c->spans.count, c->spans.budget);
    return rc < 0 || c->spans.count + more <= cap / 2
               ? rc
               : vec_reserve(&c->spans, cap - c->spans.count + FIRST_SPANS);
}

static int collect_batch(void *state, struct scan_batch *b)
{
    struct collector *c = state;
    const struct within_columns columns = within_columns(c->in, b);
    uint64_t keys[3] = {0};
    int64_t scope = -1, ts, te;
    int rc = room_for(c, b->count);

    for (uint32_t j = 0; rc == 0 && j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (!batch_times_of(&columns.times, row, &ts, &te))
            continue;
        if (!within_same_scope(c->in, &columns, row, keys) || scope < 0)
            scope = group_table_add(&c->scopes, keys);
        if (scope < 0)
            return (int)scope;
        c->spans.at[c->spans.count++] =
            (struct span){.lo = ts, .hi = te > ts ? te : ts, .scope = (uint64_t)scope};
    }
    return rc;
}

/* Numbers of a collector to those of all. */
static int take_spans(struct within *in, struct collector *c)
{
    int64_t scope = -1;
    int rc = spans_unite(c->spans.at, &c->spans.count, c->spans.budget);

    rc = rc < 0 ? rc : vec_reserve(&in->spans, c->spans.count);
    for (size_t i = 0; rc == 0 && i < c->spans.count; i++) {
        struct span *s = &c->spans.at[i];
        if (i == 0 || s->scope != s[-1].scope)
            scope = group_table_add(&in->scopes, group_table_keys(&c->scopes, (uint32_t)s->scope));
        if (scope < 0)
            return (int)scope;
        in->spans.at[in->spans.count] = *s;
        in->spans.at[in->spans.count++].scope = (uint64_t)scope;
    }
    return rc;
}

static int collect_end(void *arg, unsigned worker, void *state, bool failed)
{
    struct query *q = arg;
    struct collector *c = state;
    int rc = failed ? 0 : take_spans(q->within, c);

    (void)worker;
    group_table_done(&c->scopes);
    vec_done(&c->spans);
    free(c);
    return rc;
}

/* From what was collected to what can be asked. */
static int arrange(struct within *in, struct budget *budget)
{
    VEC(struct span) fit = {.budget = budget};
    size_t at = 0;
    int rc = spans_unite(in->spans.at, &in->spans.count, budget);

    rc = rc < 0 ? rc : vec_reserve(&fit, in->spans.count);
    rc = rc < 0 ? rc : vec_extend(&in->first, in->scopes.count + 1ul);
    if (rc < 0) {
        vec_done(&fit);
        return rc;
    }
    if (in->spans.count > 0)
        memcpy(fit.at, in->spans.at, in->spans.count * sizeof(*fit.at));
    fit.count = in->spans.count;
    vec_done(&in->spans);
    in->spans.vec = fit.vec;
    for (uint32_t k = 0; k < in->scopes.count; k++) {
        size_t from = in->first.at[k] = at;
        while (at < in->spans.count && in->spans.at[at].scope == k)
            at++;
        spans_measure(in->spans.at + from, at - from);
    }
    in->first.at[in->scopes.count] = at;
    in->ready = true;
    return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int choose_scope(struct query *q, struct within *in, enum within_scope scope)
{
    static const char *const paths[] = {"host", "pid", "tid"};
    static const unsigned widths[] = {
        [WITHIN_PROCESS] = 2, [WITHIN_THREAD] = 3, [WITHIN_HOST] = 1, [WITHIN_ALL] = 0};
    int rc = 0;

    in->width = widths[scope];
    for (unsigned i = 0; rc == 0 && i < in->width; i++)
        rc = query_source(q, text_of(paths[i]), &in->keys[i]);
    in->ts = source_of(q, TEXT("ts"));
    in->dur = source_of(q, TEXT("dur"));
    return q->arena.error;
}

/* What is wrong is told as of `within`, not as of the query beside it. */
static int parse(struct text text, struct err *err, struct dsl *ret)
{
    struct err own = {0};
    int rc = dsl_parse(text, &own, ret);

    if (rc < 0 && own.code && err && err->code == 0) {
        err_set_param(err, rc, "within", "`within`: %s", own.text);
        err->position = own.position;
        err->source = own.source;
        own.source = NULL;
    }
    err_done(&own);
    return rc;
}

static int compile(struct query *q, struct within *in, const struct selection *s, struct err *err)
{
    int rc = parse(s->within, err, &in->dsl);

    rc = rc < 0 ? rc : choose_scope(q, in, s->within_scope);
    if (rc < 0)
        return rc;
    in->root = test_both(q, test_classes(q, PHASE_EVENTS),
                         in->dsl.root ? test_compile(q, in->dsl.root) : NULL);
    return q->arena.error;
}

static int add_clipped(struct query *q, struct within *in)
{
    in->clip_ts = source_clipped(q, in->ts, in->dur, CLIP_TS);
    in->clip_dur = source_clipped(q, in->ts, in->dur, CLIP_DUR);
    in->clip_te = source_clipped(q, in->clip_ts, in->clip_dur, CLIP_TE);
    return q->arena.error;
}

/* The query is that of `within` for so long. What it counted is not part of the answer. */
static int collect(struct query *q, struct within *in, struct err *err)
{
    const struct scan_sink sink = {.arg = q,
                                   .gathers = true,
                                   .worker_begin = collect_begin,
                                   .batch = collect_batch,
                                   .worker_end = collect_end};
    struct query_counters counters = q->counters;
    struct test *root = q->root;

    q->root = in->root;
    int rc = query_make_places(q);
    rc = rc < 0 ? rc : scan_run(q, &sink, err);
    q->root = root;
    q->counters = counters;
    return rc < 0 ? rc : arrange(in, q->budget);
}

int within_open(struct query *q, const struct selection *s, struct err *err)
{
    if (!s->within.ptr)
        return 0;
    struct within *in = q->within = calloc(1, sizeof(*in));
    if (!in)
        return -ENOMEM;
    in->spans.budget = in->first.budget = q->budget;
    int rc = compile(q, in, s, err);
    group_table_init(&in->scopes, in->width, 0, q->budget);
    rc = rc < 0 ? rc : collect(q, in, err);
    return rc == 0 && s->clip ? add_clipped(q, in) : rc;
}
