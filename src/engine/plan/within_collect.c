/* within_collect.c - collects the intervals of the events that match `within`, before the scan of
 * the query itself. */
#include "engine/derived/within.h"
#include "engine/filter/filter.h"
#include "engine/group/groups.h"
#include "engine/plan/plan.h"

#include <errno.h>
#include <stdlib.h>

/* ---- collecting ------------------------------------------------------------------------------ */

/* Moves the intervals to `in`, sorted by scope, and sets the first one of each scope. */
static int set_spans(struct within *in, struct groups *found)
{
    struct group_table *scopes = &found->set[0].map.table, none = in->scopes;
    struct acc *acc = &found->set[0].accs[0];
    size_t at = 0;
    int rc = intervals_unite(acc);

    rc = rc < 0 ? rc : vec_reserve(&in->spans, acc->intervals.count);
    rc = rc < 0 ? rc : vec_extend(&in->first, scopes->count + 1ul);
    rc = rc < 0 ? rc : group_table_place(scopes);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < acc->intervals.count; i++)
        in->spans.at[in->spans.count++] = acc->intervals.at[i];
    for (uint32_t k = 0; k < scopes->count; k++) {
        size_t from = in->first.at[k] = at;
        while (at < in->spans.count && in->spans.at[at].scope == k)
            at++;
        spans_measure(in->spans.at + from, at - from);
    }
    in->first.at[scopes->count] = at;
    in->scopes = *scopes;
    *scopes = none;
    in->ready = true;
    return 0;
}

/* Scans with the tests of `within` instead of those of the query. The counters are restored,
 * because they describe the scan of the query itself. */
static int collect_spans(struct query *q, struct within *in, struct err *err)
{
    const struct acc_spec spans = {
        .kind = &acc_intervals, .column = in->ts, .with = in->dur, .instants = true};
    const struct group_set scopes = {
        .keys = in->keys, .width = in->width, .accs = &spans, .acc_count = 1};
    const struct grouping g = {.query = q,
                               .budget = q->budget,
                               .set_count = 1,
                               .sets = &scopes,
                               .spreads = true,
                               .more = true};
    struct query_counters counters = q->counters;
    struct test *root = q->root;
    struct groups *found = NULL;

    q->root = in->root;
    int rc = query_make_places(q);
    rc = rc < 0 ? rc : groups_scan(&g, &found, err);
    q->root = root;
    q->counters = counters;
    rc = rc < 0 ? rc : set_spans(in, found);
    groups_free(found);
    return rc;
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

/* Errors name this parameter instead of `query`. */
static int parse_within(struct text text, const char *param, struct err *err, struct dsl *ret)
{
    struct err own = {0};
    int rc = dsl_parse(text, &own, ret);

    if (rc < 0 && own.code && err && err->code == 0) {
        err_set_param(err, rc, param, "`%s`: %s", param, own.text);
        err->position = own.position;
        err->source = own.source;
        own.source = NULL;
    }
    err_done(&own);
    return rc;
}

static int compile_within(struct query *q, struct within *in, const struct selection *s,
                          struct err *err)
{
    int rc = parse_within(s->within, s->within_param, err, &in->dsl);

    rc = rc < 0 ? rc : choose_scope(q, in, s->within_scope);
    if (rc < 0)
        return rc;
    in->root = test_both(q, test_classes(q, PHASE_EVENTS),
                         in->dsl.root ? test_compile(q, in->dsl.root) : NULL);
    return q->arena.error;
}

int within_open(struct query *q, const struct selection *s, struct err *err)
{
    if (!s->within.ptr)
        return 0;
    struct within *in = q->within = calloc(1, sizeof(*in));
    if (!in)
        return -ENOMEM;
    in->spans.budget = in->first.budget = q->budget;
    int rc = compile_within(q, in, s, err);
    group_table_init(&in->scopes, in->width, 0, q->budget);
    rc = rc < 0 ? rc : collect_spans(q, in, err);
    if (rc < 0 || !s->clip)
        return rc;
    in->clip_ts = source_like(q, in->ts, &within_clipped_ts, in->ts, in->dur);
    in->clip_dur = source_like(q, in->dur, &within_clipped_dur, in->ts, in->dur);
    in->clip_te = source_like(q, source_of(q, TEXT("te")), NULL, in->clip_ts, in->clip_dur);
    return q->arena.error;
}
