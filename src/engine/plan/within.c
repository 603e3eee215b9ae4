/* within.c - the united intervals of what matches a query's `within`, and what of each scan they
 * leave. */
#include "engine/plan/within.h"
#include "engine/plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SPANS = 4096, SCOPES_LOOKED_AT = 256 };

struct within {
    struct dsl dsl;
    struct test *root;
    const struct source *keys[3]; /* of the scope */
    unsigned width;
    struct source *ts, *dur;                     /* as stored */
    struct source *clip_ts, *clip_dur, *clip_te; /* NULL: not clipped */
    struct group_table scopes;
    struct span *spans; /* scope after scope */
    size_t count, cap;
    size_t *first; /* by scope, and one more: in `spans` */
    size_t charged;
    bool ready;
};

/* ---- times and scopes of a batch ------------------------------------------------------------- */

struct columns {
    const uint64_t *keys[3];
    struct batch_times times;
};

static int read_columns(const struct within *in, struct scan_batch *b, struct columns *c)
{
    int rc = batch_times(b, in->ts, in->dur, &c->times);

    for (unsigned i = 0; rc == 0 && c->times.ts && i < in->width; i++)
        rc = batch_keys(b, in->keys[i], &c->keys[i]);
    return rc;
}

/* The keys of a row; true where they are those that stood there before. */
static bool same_scope(const struct within *in, const struct columns *c, uint32_t row,
                       uint64_t *keys)
{
    uint64_t other = 0;

    for (unsigned i = 0; i < in->width; i++) {
        other |= keys[i] ^ c->keys[i][row];
        keys[i] = c->keys[i][row];
    }
    return other == 0;
}

/* ---- collecting ------------------------------------------------------------------------------ */

struct collector {
    struct within *in;
    struct group_table scopes; /* its own numbers */
    struct span *spans;
    size_t count, cap;
    struct budget *budget;
    size_t charged;
};

/* Room for `cap` spans. Charged twice: sort_items makes a copy. */
static int make_room(struct budget *budget, struct span **spans, size_t cap, size_t *charged)
{
    size_t bytes = 2 * cap * sizeof(**spans);
    int rc = bytes > *charged ? budget_charge(budget, bytes - *charged) : 0;

    if (rc < 0)
        return rc;
    *charged = bytes > *charged ? bytes : *charged;
    struct span *more = realloc(*spans, cap * sizeof(**spans));
    if (!more)
        return -ENOMEM;
    *spans = more;
    return 0;
}

static int collect_begin(void *arg, unsigned worker, void **ret_state)
{
    struct query *q = arg;
    struct collector *c = calloc(1, sizeof(*c));

    (void)worker;
    if (!c)
        return -ENOMEM;
    c->in = q->within;
    c->budget = q->budget;
    group_table_init(&c->scopes, c->in->width, 0, q->budget);
    *ret_state = c;
    return 0;
}

/* What overlaps becomes one before more memory is taken. */
static int room_for(struct collector *c, uint32_t more)
{
    if (c->count + more <= c->cap)
        return 0;
    int rc = spans_unite(c->spans, &c->count, c->budget);
    if (rc < 0 || c->count + more <= c->cap / 2)
        return rc;
    size_t cap = c->cap ? c->cap * 2 : FIRST_SPANS;
    rc = make_room(c->budget, &c->spans, cap, &c->charged);
    c->cap = rc == 0 ? cap : c->cap;
    return rc;
}

static int collect_batch(void *state, struct scan_batch *b)
{
    struct collector *c = state;
    struct columns columns = {0};
    uint64_t keys[3] = {0};
    int64_t scope = -1, ts, te;
    int rc = read_columns(c->in, b, &columns);

    rc = rc < 0 ? rc : room_for(c, b->count);
    for (uint32_t j = 0; rc == 0 && j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (!batch_times_of(&columns.times, row, &ts, &te))
            continue;
        if (!same_scope(c->in, &columns, row, keys) || scope < 0)
            scope = group_table_add(&c->scopes, keys);
        if (scope < 0)
            return (int)scope;
        c->spans[c->count++] =
            (struct span){.lo = ts, .hi = te > ts ? te : ts, .scope = (uint64_t)scope};
    }
    return rc;
}

/* Numbers of a collector to those of all. */
static int take_spans(struct within *in, struct collector *c)
{
    int rc = spans_unite(c->spans, &c->count, c->budget);
    if (rc < 0 || c->count == 0)
        return rc;
    rc = make_room(c->budget, &in->spans, in->count + c->count, &in->charged);
    if (rc < 0)
        return rc;
    int64_t scope = -1;
    for (size_t i = 0; i < c->count; i++) {
        struct span *s = &c->spans[i];
        if (i == 0 || s->scope != c->spans[i - 1].scope)
            scope = group_table_add(&in->scopes, group_table_keys(&c->scopes, (uint32_t)s->scope));
        if (scope < 0)
            return (int)scope;
        in->spans[in->count] = *s;
        in->spans[in->count++].scope = (uint64_t)scope;
    }
    return 0;
}

static int collect_end(void *arg, unsigned worker, void *state, bool failed)
{
    struct query *q = arg;
    struct collector *c = state;
    int rc = failed ? 0 : take_spans(q->within, c);

    (void)worker;
    group_table_done(&c->scopes);
    budget_release(c->budget, c->charged);
    free(c->spans);
    free(c);
    return rc;
}

/* From what was collected to what can be asked. */
static int arrange(struct within *in, struct budget *budget)
{
    size_t firsts = (in->scopes.count + 1) * sizeof(*in->first), at = 0;

    int rc = spans_unite(in->spans, &in->count, budget);
    if (rc < 0)
        return rc;
    struct span *less = in->count ? realloc(in->spans, in->count * sizeof(*less)) : NULL;
    in->spans = less ? less : in->spans;
    size_t used = in->charged / 2;
    budget_release(budget, in->charged - used);
    in->charged = used;
    rc = budget_charge(budget, firsts);
    if (rc < 0)
        return rc;
    in->charged += firsts;
    in->first = malloc(firsts);
    if (!in->first)
        return -ENOMEM;
    for (uint32_t k = 0; k < in->scopes.count; k++) {
        size_t from = in->first[k] = at;
        while (at < in->count && in->spans[at].scope == k)
            at++;
        spans_measure(in->spans + from, at - from);
    }
    in->first[in->scopes.count] = at;
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
    rc = rc < 0 ? rc : source_of(q, TEXT("ts"), &in->ts);
    return rc < 0 ? rc : source_of(q, TEXT("dur"), &in->dur);
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
    struct test *events, *matching = NULL;
    int rc = parse(s->within, err, &in->dsl);

    if (rc == 0)
        rc = choose_scope(q, in, s->within_scope);
    if (rc == 0)
        rc = test_classes(q, PHASE_EVENTS, &events);
    if (rc == 0 && in->dsl.root)
        rc = test_compile(q, in->dsl.root, &matching);
    return rc < 0 ? rc : test_both(q, events, matching, &in->root);
}

static int add_clipped(struct query *q, struct within *in)
{
    int rc = source_clipped(q, in->ts, CLIP_TS, &in->clip_ts);

    if (rc == 0)
        rc = source_clipped(q, in->dur, CLIP_DUR, &in->clip_dur);
    if (rc == 0)
        rc = source_clipped_te(q, in->clip_ts, in->clip_dur, &in->clip_te);
    return rc;
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
    int rc = compile(q, in, s, err);
    group_table_init(&in->scopes, in->width, 0, q->budget);
    rc = rc < 0 ? rc : collect(q, in, err);
    return rc == 0 && s->clip ? add_clipped(q, in) : rc;
}

void within_free(struct within *in, struct budget *budget)
{
    if (!in)
        return;
    dsl_done(&in->dsl);
    group_table_done(&in->scopes);
    budget_release(budget, in->charged);
    free(in->spans);
    free(in->first);
    free(in);
}

const struct source *within_source(const struct query *q, struct text path)
{
    const struct within *in = q->within;

    if (!in || !in->clip_te)
        return NULL;
    if (text_eq(path, TEXT("ts")))
        return in->clip_ts;
    if (text_eq(path, TEXT("dur")))
        return in->clip_dur;
    return text_eq(path, TEXT("te")) ? in->clip_te : NULL;
}

/* ---- leaving out ----------------------------------------------------------------------------- */

/* The spans of a scope, and where the last search in them ended. */
struct found {
    const struct span *spans;
    size_t count, near;
};

static void find_scope(const struct within *in, const uint64_t *keys, struct found *ret)
{
    int64_t scope = group_table_find(&in->scopes, keys);

    *ret = (struct found){0};
    if (scope < 0)
        return;
    ret->spans = in->spans + in->first[scope];
    ret->count = in->first[scope + 1] - in->first[scope];
}

bool within_clips(const struct query *q)
{
    return q->within && q->within->clip_te;
}

void within_stored(struct query *q, const struct source **ret_ts, const struct source **ret_dur)
{
    *ret_ts = q->within->ts;
    *ret_dur = q->within->dur;
}

void within_part_of(const struct query *q, const uint64_t *thread, struct within_part *ret)
{
    struct found f;

    find_scope(q->within, thread, &f); /* scopes are the first keys of threads */
    *ret = (struct within_part){f.spans, f.count};
}

int64_t within_length(const struct within_part *p, size_t *near, int64_t ts, int64_t te,
                      int64_t *ret_from)
{
    size_t at = spans_find(p->spans, p->count, *near, ts, te);

    *ret_from = ts;
    *near = at;
    if (at == p->count)
        return 0;
    *ret_from = ts > p->spans[at].lo ? ts : p->spans[at].lo;
    return spans_clip(p->spans, p->count, at, ts, te);
}

/* Bounds of the chunk's times in ns; false: no object has any. */
static int time_bounds(struct scan_worker *w, bool *ret_any, int64_t *ret_from, int64_t *ret_to)
{
    struct bound *ts, *dur;
    int rc = source_bind(w, w->query->within->ts, &ts);

    if (rc == 0)
        rc = source_bind(w, w->query->within->dur, &dur);
    if (rc < 0)
        return rc;
    *ret_any = ts->shape == SHAPE_TIME;
    if (!*ret_any)
        return 0;
    int64_t longest =
        dur->shape == SHAPE_TIME && dur->max > 0 ? time_in(dur->max, dur->nano, true) : 0;
    *ret_from = time_in(ts->min, ts->nano, true);
    if (__builtin_add_overflow(time_in(ts->max, ts->nano, true), longest, ret_to))
        *ret_to = INT64_MAX;
    return 0;
}

bool within_filters(const struct query *q)
{
    return q->within && q->within->ready;
}

int within_skips(struct scan_worker *w, bool *ret)
{
    const struct within *in = w->query->within;
    bool any = true;
    int64_t from = 0, to = 0;

    *ret = false;
    if (w->query->no_pruning)
        return 0;
    int rc = time_bounds(w, &any, &from, &to);
    *ret = rc == 0 && (!any || in->scopes.count <= SCOPES_LOOKED_AT);
    for (uint32_t k = 0; rc == 0 && any && *ret && k < in->scopes.count; k++) {
        const struct span *s = in->spans + in->first[k];
        size_t n = in->first[k + 1] - in->first[k];
        /* `to` itself may be an instant. */
        *ret = spans_find(s, n, 0, from, to == INT64_MAX ? to : to + 1) == n;
    }
    return rc;
}

int within_thin(struct scan_worker *w, struct scan_batch *b, uint64_t *mask)
{
    const struct within *in = w->query->within;
    struct columns c = {0};
    struct found f = {0};
    uint64_t keys[3] = {0}, left[SCAN_WORDS] = {0};
    int64_t ts, te;
    bool any = false;
    int rc = read_columns(in, b, &c);

    for (uint32_t j = 0; rc == 0 && j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (!batch_times_of(&c.times, row, &ts, &te))
            continue;
        if (!same_scope(in, &c, row, keys) || !any)
            find_scope(in, keys, &f);
        any = true;
        size_t at = spans_find(f.spans, f.count, f.near, ts, te);
        left[row / 64] |= (uint64_t)(at < f.count) << row % 64;
        f.near = at;
    }
    if (rc == 0)
        memcpy(mask, left, sizeof(left));
    return rc;
}

/* ---- clipping -------------------------------------------------------------------------------- */

int within_bind(struct scan_worker *w, struct bound *b)
{
    const struct within *in = w->query->within;
    bool any;
    int64_t from, to;
    struct bound *stored;
    int rc = source_bind(w, b->source->clip == CLIP_TS ? in->ts : in->dur, &stored);

    rc = rc < 0 ? rc : time_bounds(w, &any, &from, &to);
    if (rc < 0)
        return rc;
    b->part[0] = stored;
    b->form = FORM_CLIP;
    b->shape = SHAPE_TIME;
    b->nano = true;
    b->nulls = stored->nulls;
    b->min = b->source->clip == CLIP_TS ? from : 0;
    b->max = b->source->clip == CLIP_TS ? to : time_in(stored->max, stored->nano, true);
    if (!any || stored->shape != SHAPE_TIME) {
        b->form = FORM_NULL;
        b->shape = SHAPE_NULL;
        b->nulls = true;
    }
    if (b->max < b->min)
        b->max = b->min;
    return 0;
}

/* Only selected rows: all of them meet a span. */
static void clip_rows(const struct within *in, const struct scan_batch *b, const struct columns *c,
                      bool start, int64_t *out)
{
    struct found f = {0};
    uint64_t keys[3] = {0};
    int64_t ts, te;
    bool any = false;

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (!batch_times_of(&c->times, row, &ts, &te))
            continue;
        if (!same_scope(in, c, row, keys) || !any)
            find_scope(in, keys, &f);
        any = true;
        f.near = spans_find(f.spans, f.count, f.near, ts, te);
        if (f.near == f.count)
            continue;
        int64_t lo = f.spans[f.near].lo;
        out[row] = start ? (ts > lo ? ts : lo) : spans_clip(f.spans, f.count, f.near, ts, te);
    }
}

int within_read(struct scan_batch *batch, struct bound *b, int64_t *out)
{
    const struct within *in = batch->chunk->query->within;
    const uint64_t *valid;
    struct columns c = {0};
    bool start = b->source->clip == CLIP_TS;
    int rc = read_columns(in, batch, &c);

    if (rc < 0)
        return rc;
    memset(out, 0, batch->rows * sizeof(*out));
    clip_rows(in, batch, &c, start, out);
    valid = start ? c.times.ts_valid : c.times.dur_valid;
    for (uint32_t i = 0; !start && valid && i < batch->rows; i++)
        out[i] = batch_is_valid(valid, i) ? out[i] : 0;
    b->i64.valid = valid;
    b->i64.few = true; /* what is not selected was not looked at */
    return 0;
}
