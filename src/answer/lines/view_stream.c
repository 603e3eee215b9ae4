/* view_stream.c - order, offset and limit of answers that are made of objects. */
#include "answer/lines/view_serve.h"
#include "answer/lines/view_stream.h"
#include "engine/group/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct stream {
    struct ahead_maker maker;
    struct ahead *ahead;
    struct budget *budget;
    bool by_key;
    struct top *top; /* NULL: by time */
    bool (*refuse)(void *arg, const struct item *item);
    uint64_t skip, left;
    struct item *now;   /* file order */
    uint32_t resume;    /* file order: so much was taken of the item that comes again */
    struct item **heap; /* by key; the first object of heap[0] is the next one */
    size_t heap_count;
    __int128 *first; /* by key: first one of each item to come */
    size_t made, count;
    struct server server; /* on another rank: rank 0 pulls the items */
};

/* ---- keys ------------------------------------------------------------------------------------ */

static void add_times(struct item *item, struct scan_batch *b, const struct source *source)
{
    const uint64_t *valid;
    const int64_t *ts = batch_i64(b, source, &valid, &item->nano);
    int64_t *to = item->keys + item->count;

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        to[j] = batch_is_valid(valid, row) ? ts[row] : ITEM_NO_TS;
    }
}

void item_add_keys(struct item *item, struct scan_batch *b, const struct item_order *o)
{
    item->nano = true;
    if (o->top)
        top_ranks(o->top, b, item->keys + item->count);
    else
        add_times(item, b, o->ts);
}

static int compare_keys(const void *a, const void *b, void *arg)
{
    const int64_t *keys = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (keys[x] != keys[y])
        return keys[x] < keys[y] ? -1 : 1;
    return (x > y) - (x < y);
}

int item_sort(struct item *item)
{
    bool sorted = true;

    for (uint32_t i = 1; i < item->count && sorted; i++)
        sorted = item->keys[i - 1] <= item->keys[i];
    if (sorted)
        return 0;
    item->order = malloc(item->count * sizeof(*item->order));
    if (!item->order)
        return -ENOMEM;
    for (uint32_t i = 0; i < item->count; i++)
        item->order[i] = i;
    qsort_r(item->order, item->count, sizeof(*item->order), compare_keys, item->keys);
    return 0;
}

static __int128 key_of(int64_t ts, bool nano)
{
    return ts == ITEM_NO_TS ? ITEM_NO_KEY : nano ? ts : (__int128)ts * 1000;
}

static __int128 item_key(const struct item *i, uint32_t k)
{
    return key_of(i->keys[item_index(i, k)], i->nano);
}

/* ---- a first look at all places -------------------------------------------------------------- */

/* Arrays by position. Places belong to one worker each, so they need no lock. */
struct look {
    const struct source *ts; /* NULL: only count */
    size_t places;
    uint64_t *counts;
    __int128 *first;
};

static int look_batch(struct group_worker *w, struct scan_batch *b)
{
    struct look *l = w->grouping->arg;
    size_t position = b->chunk->position;
    int64_t ts[SCAN_BATCH];
    struct item item = {.keys = ts};

    l->counts[position] += b->count;
    if (!l->ts)
        return 0;
    add_times(&item, b, l->ts);
    for (uint32_t j = 0; j < b->count; j++) {
        __int128 key = key_of(ts[j], item.nano);
        if (key < l->first[position])
            l->first[position] = key;
    }
    return 0;
}

/* Of places that have objects: how far behind the last one, and what was found. */
static void look_put(void *arg, struct buf *out)
{
    const struct look *l = arg;
    size_t next = 0;

    for (size_t i = 0; i < l->places; i++) {
        if (!l->counts[i])
            continue;
        rec_put_u(out, i - next + 1);
        rec_put_u(out, l->counts[i]);
        if (l->ts)
            rec_put_i128(out, l->first[i]);
        next = i + 1;
    }
    rec_put_u(out, 0);
}

static int look_take(void *arg, struct rec *in)
{
    struct look *l = arg;
    uint64_t more;

    for (size_t next = 0; (more = rec_u(in)) != 0; next++) {
        if (more > l->places - next)
            return ERR_CORRUPT;
        next += more - 1;
        l->counts[next] = rec_u(in);
        if (l->ts)
            l->first[next] = rec_i128(in);
    }
    return in->bad ? ERR_CORRUPT : 0;
}

static int look_scan(struct query *q, struct look *l, struct err *err)
{
    static const struct group_hooks hooks = {
        .batch = look_batch, .put = look_put, .take = look_take};
    const struct grouping g = {.query = q,
                               .budget = query_budget(q),
                               .hooks = &hooks,
                               .arg = l,
                               .spreads = true,
                               .more = true};
    struct groups *found = NULL;
    int rc = groups_scan(&g, &found, err);

    groups_free(found);
    return rc;
}

/* *new* arrays by position. */
static int look_at_places(struct query *q, bool times, struct err *err, uint64_t **ret_counts,
                          __int128 **ret_first)
{
    const struct scan_place *places;
    size_t n = scan_places(q, &places);
    struct look look = {.places = n,
                        .counts = calloc(n + 1, sizeof(*look.counts)),
                        .first = times ? malloc((n + 1) * sizeof(*look.first)) : NULL};
    int rc = !look.counts || (times && !look.first) ? -ENOMEM : 0;

    for (size_t i = 0; rc == 0 && times && i < n; i++)
        look.first[i] = (__int128)1 << 120;
    if (times && rc == 0)
        rc = query_source(q, TEXT("ts"), &look.ts);
    if (rc == 0)
        rc = look_scan(q, &look, err);
    if (rc < 0) {
        free(look.counts);
        free(look.first);
        return rc;
    }
    *ret_counts = look.counts;
    *ret_first = look.first;
    return 0;
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* Places from the one that holds object number `offset` on; *skip: objects of it to pass over. */
static int positions_in_order(struct query *q, struct stream *s, struct err *err, size_t **ret,
                              size_t *ret_count)
{
    const struct scan_place *places;
    size_t n = scan_places(q, &places), from = 0;
    uint64_t *counts = NULL;
    __int128 *first = NULL;

    if (s->skip > 0) {
        int rc = look_at_places(q, false, err, &counts, &first);
        if (rc < 0)
            return rc;
        while (from < n && s->skip >= counts[from])
            s->skip -= counts[from++];
        free(counts);
    }
    size_t *positions = malloc((n + 1) * sizeof(*positions));
    if (!positions)
        return -ENOMEM;
    for (size_t i = from; i < n; i++)
        positions[i - from] = i;
    *ret = positions;
    *ret_count = n - from;
    return 0;
}

struct start {
    __int128 first;
    size_t position;
};

static int compare_starts(const void *a, const void *b)
{
    const struct start *x = a, *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

static int sort_starts(struct stream *s, const uint64_t *counts, const __int128 *first, size_t n,
                       size_t *positions)
{
    struct start *starts = malloc((n + 1) * sizeof(*starts));

    if (!starts)
        return -ENOMEM;
    s->count = 0;
    for (size_t i = 0; i < n; i++) {
        if (counts[i])
            starts[s->count++] = (struct start){first[i], i};
    }
    qsort(starts, s->count, sizeof(*starts), compare_starts);
    for (size_t i = 0; i < s->count; i++) {
        positions[i] = starts[i].position;
        s->first[i] = starts[i].first;
    }
    free(starts);
    return 0;
}

/* The number of objects of each place, and their first key: by time of all, by rank of the next
 * part (ERR_END). *new* arrays by position. */
static int read_starts(struct query *q, struct stream *s, struct err *err, uint64_t **ret_counts,
                       __int128 **ret_first)
{
    const struct scan_place *places;
    size_t n = scan_places(q, &places);

    if (!s->top)
        return look_at_places(q, true, err, ret_counts, ret_first);
    *ret_counts = calloc(n + 1, sizeof(**ret_counts));
    *ret_first = calloc(n + 1, sizeof(**ret_first));
    return *ret_counts && *ret_first ? top_part(s->top, *ret_counts, *ret_first) : -ENOMEM;
}

static int positions_by_key(struct query *q, struct stream *s, struct err *err, size_t **ret,
                            size_t *ret_count)
{
    const struct scan_place *places;
    size_t n = scan_places(q, &places);
    uint64_t *counts = NULL;
    __int128 *first = NULL;
    int rc = read_starts(q, s, err, &counts, &first);
    size_t *positions = rc < 0 ? NULL : malloc((n + 1) * sizeof(*positions));

    if (rc == 0 && !s->heap) {
        s->heap = malloc((n + 1) * sizeof(struct item *));
        s->first = malloc((n + 1) * sizeof(*s->first));
    }
    if (rc == 0)
        rc = positions && s->heap && s->first ? sort_starts(s, counts, first, n, positions)
                                              : -ENOMEM;
    free(counts);
    free(first);
    if (rc < 0) {
        free(positions);
        return rc;
    }
    *ret = positions;
    *ret_count = s->count;
    return 0;
}

/* Of all places, or those of the next part. */
static int open_ahead(struct stream *s, struct err *err)
{
    struct query *q = s->maker.query;
    size_t *positions = NULL, count = 0;

    ahead_free(s->ahead);
    s->ahead = NULL;
    s->made = 0;
    int rc = s->by_key ? positions_by_key(q, s, err, &positions, &count)
                       : positions_in_order(q, s, err, &positions, &count);
    rc = rc < 0 ? rc : ahead_new(&s->maker, positions, count, &s->ahead);
    free(positions);
    return rc;
}

/* ---- other ranks ----------------------------------------------------------------------------- */

static int serve(void *server, struct text asked, struct buf *answer)
{
    return server_answer(server, asked, answer);
}

/* On another rank: rank 0 pulls what it wants of the stream. */
static int begin_serving(struct stream *s, struct query_far *far, struct err *err)
{
    uint64_t *counts = NULL;
    __int128 *first = NULL;
    bool looks = s->by_key || s->skip > 0;
    int rc = looks ? look_at_places(s->maker.query, s->by_key, err, &counts, &first) : 0;

    free(counts);
    free(first);
    if (rc < 0)
        return rc;
    if (!s->maker.encode || far->serve || far->scans != far->wanted)
        return ERR_CANCELLED;
    server_init(&s->server, &s->maker);
    far->serve = serve;
    far->serve_arg = &s->server;
    return 0;
}

static int begin(struct stream *s, struct err *err)
{
    struct query_far *far = query_environment(s->maker.query)->far;

    if (far && far->answer)
        return begin_serving(s, far, err);
    int rc = s->top ? 0 : open_ahead(s, err);
    if (far)
        far->alone = true; /* other ranks come to the first stream, and not behind it */
    return rc;
}

int stream_new(const struct ahead_maker *maker, const struct stream_options *o, struct err *err,
               struct stream **ret)
{
    struct stream *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    s->maker = *maker;
    s->budget = query_budget(maker->query);
    s->by_key = o->order_ts || o->top;
    s->top = o->top;
    s->refuse = o->refuse;
    s->skip = o->top ? 0 : o->offset;
    s->left = o->limit;
    if (s->top)
        s->maker.encode = NULL; /* other ranks do not know which rows those are */
    int rc = begin(s, err);
    if (rc < 0) {
        stream_free(s);
        return rc;
    }
    *ret = s;
    return 0;
}

/* ---- the heap -------------------------------------------------------------------------------- */

static bool comes_before(const struct item *a, const struct item *b)
{
    __int128 x = item_key(a, a->at), y = item_key(b, b->at);

    return x != y ? x < y : a->position < b->position;
}

static void sift_up(struct stream *s, size_t at)
{
    while (at > 0 && comes_before(s->heap[at], s->heap[(at - 1) / 2])) {
        struct item *swap = s->heap[at];
        s->heap[at] = s->heap[(at - 1) / 2];
        s->heap[(at - 1) / 2] = swap;
        at = (at - 1) / 2;
    }
}

static void sift_down(struct stream *s)
{
    size_t at = 0;

    for (;;) {
        size_t first = at;
        for (size_t child = at * 2 + 1; child <= at * 2 + 2 && child < s->heap_count; child++) {
            if (comes_before(s->heap[child], s->heap[first]))
                first = child;
        }
        if (first == at)
            return;
        struct item *swap = s->heap[at];
        s->heap[at] = s->heap[first];
        s->heap[first] = swap;
        at = first;
    }
}

/* Makes every item that may hold the next object. */
static int load_due(struct stream *s, struct err *err)
{
    while (s->made < s->count &&
           (s->heap_count == 0 || s->first[s->made] <= item_key(s->heap[0], s->heap[0]->at))) {
        void *item = NULL;
        int rc = ahead_next(s->ahead, err, &item);
        if (rc < 0)
            return rc;
        s->made++;
        if (!item)
            continue;
        s->heap[s->heap_count++] = item;
        sift_up(s, s->heap_count - 1);
    }
    return s->heap_count ? 0 : ERR_END;
}

/* How many objects of heap[0] come before those of all others, also those that are not made yet. */
static uint32_t run_of_first(const struct stream *s)
{
    struct item *top = s->heap[0];
    const struct item *other = s->heap_count > 1 ? s->heap[1] : NULL;
    uint32_t k = top->at + 1;

    if (s->heap_count > 2 && comes_before(s->heap[2], other))
        other = s->heap[2];
    __int128 bound = other ? item_key(other, other->at) : (__int128)1 << 120;
    bool with = other && top->position < other->position;
    if (s->made < s->count && s->first[s->made] <= bound) {
        bound = s->first[s->made];
        with = false;
    }
    while (k < top->count) {
        __int128 key = item_key(top, k);
        if (key > bound || (key == bound && !with))
            break;
        k++;
    }
    return k - top->at;
}

/* ---- taking ---------------------------------------------------------------------------------- */

static int next_by_key(struct stream *s, struct err *err, struct item **ret, uint32_t *ret_run)
{
    int rc = s->ahead ? load_due(s, err) : ERR_END;

    if (rc == ERR_END && s->top) {
        rc = open_ahead(s, err);
        rc = rc < 0 ? rc : load_due(s, err);
    }
    if (rc < 0)
        return rc;
    *ret = s->heap[0];
    *ret_run = run_of_first(s);
    return 0;
}

static int next_in_order(struct stream *s, struct err *err, struct item **ret, uint32_t *ret_run)
{
    while (!s->now) {
        void *item = NULL;
        int rc = s->ahead ? ahead_next(s->ahead, err, &item) : ERR_CANCELLED;
        if (rc < 0)
            return rc;
        if (item && s->refuse && s->refuse(s->maker.arg, item))
            s->maker.drop(s->maker.arg, item);
        else
            s->now = item;
        if (s->resume && (!s->now || s->now->count <= s->resume))
            return ERR_STALE; /* it is not what it was */
        if (s->resume)
            s->now->at = s->resume;
        s->resume = 0;
    }
    *ret = s->now;
    *ret_run = s->now->count - s->now->at;
    return 0;
}

static void pass(struct stream *s, uint32_t n)
{
    struct item *item = s->by_key ? s->heap[0] : s->now;

    item->at += n;
    if (item->at < item->count) {
        if (s->by_key)
            sift_down(s);
        return;
    }
    s->maker.drop(s->maker.arg, item);
    s->now = NULL;
    if (s->by_key) {
        s->heap[0] = s->heap[--s->heap_count];
        if (s->heap_count)
            sift_down(s);
    }
}

int stream_next(struct stream *s, struct err *err, struct item **ret, uint32_t *ret_run)
{
    while (s->left > 0) {
        int rc =
            s->by_key ? next_by_key(s, err, ret, ret_run) : next_in_order(s, err, ret, ret_run);
        if (rc < 0)
            return rc;
        if (s->skip == 0) {
            if (*ret_run > s->left)
                *ret_run = (uint32_t)s->left;
            return 0;
        }
        uint32_t n = s->skip < *ret_run ? (uint32_t)s->skip : *ret_run;
        s->skip -= n;
        pass(s, n);
    }
    return ERR_END;
}

void stream_take(struct stream *s, uint32_t n)
{
    s->left -= n;
    pass(s, n);
}

void stream_left(const struct stream *s, uint64_t *ret_limit, uint64_t *ret_offset)
{
    *ret_limit = s->left;
    *ret_offset = s->skip;
}

void stream_rest(struct stream *s, bool keep)
{
    bool again = s->now && !keep;

    if (again) {
        s->resume = s->now->at;
        s->maker.drop(s->maker.arg, s->now);
        s->now = NULL;
    }
    if (s->ahead)
        ahead_rest(s->ahead, again);
}

void stream_free(struct stream *s)
{
    if (!s)
        return;
    ahead_free(s->ahead);
    if (s->now)
        s->maker.drop(s->maker.arg, s->now);
    for (size_t i = 0; i < s->heap_count; i++)
        s->maker.drop(s->maker.arg, s->heap[i]);
    free(s->heap);
    free(s->first);
    server_done(&s->server);
    free(s);
}
