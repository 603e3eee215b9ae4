/* cursor.c - order, offset and limit of the objects that an answer returns. */
#include "engine/cursor/cursor.h"
#include "engine/cursor/serve.h"
#include "engine/cursor/starts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
    struct item_maker maker;
    struct read_ahead *ahead;
    bool by_key;
    struct top *top; /* NULL: by time */
    bool (*refuse)(void *arg, const struct item *item);
    uint64_t skip, left; /* what remains of offset and limit */

    /* file order */
    struct item *current;
    uint32_t resume_at; /* objects already consumed of an item that cursor_pause freed */

    /* by key */
    struct item **heap; /* the first object of heap[0] is the next one */
    size_t heap_count;
    __int128 *first;    /* the first key of each item to be made, ascending */
    size_t made, count; /* of these items */

    struct server server; /* on a remote rank */
};

/* ---- the places to read ---------------------------------------------------------------------- */

/* File order: the places from the one that contains object number c->skip, which is reduced to the
 * objects to skip in it. */
static int positions_in_order(struct cursor *c, struct err *err, size_t *positions,
                              size_t *ret_count)
{
    size_t n = c->maker.query->place_count, from = 0;
    struct starts starts = {NULL, NULL};
    int rc = c->skip > 0 ? starts_find(c->maker.query, false, err, &starts) : 0;

    if (rc == 0 && c->skip > 0) {
        while (from < n && c->skip >= starts.counts[from])
            c->skip -= starts.counts[from++];
    }
    free(starts.counts);
    free(starts.first);
    for (size_t i = from; i < n; i++)
        positions[i - from] = i;
    *ret_count = n - from;
    return rc;
}

/* Finds the places that have objects: by time all objects, by rank those of the next part (ERR_END:
 * there is none). */
static int read_starts(struct cursor *c, struct err *err, struct starts *ret)
{
    size_t n = c->maker.query->place_count;

    if (!c->top)
        return starts_find(c->maker.query, true, err, ret);
    ret->counts = calloc(n + 1, sizeof(*ret->counts));
    ret->first = calloc(n + 1, sizeof(*ret->first));
    return ret->counts && ret->first ? top_part(c->top, ret->counts, ret->first) : -ENOMEM;
}

static int compare_positions(const void *a, const void *b, void *arg)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const __int128 *first = arg;

    if (first[x] != first[y])
        return first[x] < first[y] ? -1 : 1;
    return (x > y) - (x < y);
}

static int positions_by_key(struct cursor *c, struct err *err, size_t *positions, size_t *ret_count)
{
    size_t n = c->maker.query->place_count;
    struct starts starts = {NULL, NULL};
    int rc = read_starts(c, err, &starts);

    if (rc == 0 && !c->heap) {
        c->heap = malloc((n + 1) * sizeof(struct item *));
        c->first = malloc((n + 1) * sizeof(*c->first));
        rc = c->heap && c->first ? 0 : -ENOMEM;
    }
    c->count = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (starts.counts[i])
            positions[c->count++] = i;
    if (rc == 0)
        qsort_r(positions, c->count, sizeof(*positions), compare_positions, starts.first);
    for (size_t i = 0; i < c->count; i++)
        c->first[i] = starts.first[positions[i]];
    free(starts.counts);
    free(starts.first);
    *ret_count = c->count;
    return rc;
}

/* Opens all places, or, by rank, those of the next part. */
static int open_ahead(struct cursor *c, struct err *err)
{
    size_t *positions = malloc((c->maker.query->place_count + 1) * sizeof(*positions));
    size_t count = 0;

    read_ahead_free(c->ahead);
    c->ahead = NULL;
    c->made = 0;
    int rc = !positions  ? -ENOMEM
             : c->by_key ? positions_by_key(c, err, positions, &count)
                         : positions_in_order(c, err, positions, &count);
    rc = rc < 0 ? rc : read_ahead_new(&c->maker, positions, count, &c->ahead);
    free(positions);
    return rc;
}

/* ---- remote ranks ---------------------------------------------------------------------------- */

static int serve_items(void *server, struct text message, struct buf *answer)
{
    return server_answer(server, message, answer);
}

/* On a remote rank: takes part in the scan of rank 0, which then pulls items. */
static int begin_serving(struct cursor *c, struct query_remote *remote, struct err *err)
{
    struct starts starts = {NULL, NULL};
    int rc = c->by_key || c->skip > 0 ? starts_find(c->maker.query, c->by_key, err, &starts) : 0;

    free(starts.counts);
    free(starts.first);
    if (rc < 0)
        return rc;
    if (!c->maker.encode || remote->serve || remote->scans != remote->wanted)
        return ERR_CANCELLED;
    server_init(&c->server, &c->maker);
    remote->serve = serve_items;
    remote->serve_arg = &c->server;
    return 0;
}

static int cursor_begin(struct cursor *c, struct err *err)
{
    struct query_remote *remote = query_environment(c->maker.query)->remote;

    if (remote && remote->answer)
        return begin_serving(c, remote, err);
    int rc = c->top ? 0 : open_ahead(c, err);
    if (remote)
        remote->local = true; /* remote ranks serve the first cursor of a query only */
    return rc;
}

int cursor_new(const struct item_maker *maker, const struct cursor_options *o, struct err *err,
               struct cursor **ret)
{
    struct cursor *c = calloc(1, sizeof(*c));

    if (!c)
        return -ENOMEM;
    c->maker = *maker;
    c->by_key = o->order_ts || o->top;
    c->top = o->top;
    c->refuse = o->refuse;
    c->skip = o->top ? 0 : o->offset;
    c->left = o->limit;
    if (c->top)
        c->maker.encode = NULL; /* remote ranks do not know which rows the top has found */
    int rc = cursor_begin(c, err);
    if (rc < 0) {
        cursor_free(c);
        return rc;
    }
    *ret = c;
    return 0;
}

/* ---- the heap -------------------------------------------------------------------------------- */

static bool item_precedes(const struct item *a, const struct item *b)
{
    __int128 x = item_key(a, a->at), y = item_key(b, b->at);

    return x != y ? x < y : a->position < b->position;
}

static void heap_swap(struct cursor *c, size_t i, size_t j)
{
    struct item *other = c->heap[i];

    c->heap[i] = c->heap[j];
    c->heap[j] = other;
}

static void heap_push(struct cursor *c, struct item *item)
{
    size_t at = c->heap_count++;

    c->heap[at] = item;
    for (; at > 0 && item_precedes(c->heap[at], c->heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap_swap(c, at, (at - 1) / 2);
}

/* Restores the order of the heap after heap[0] has got another first object. */
static void heap_sift_down(struct cursor *c)
{
    for (size_t at = 0;;) {
        size_t first = at;
        for (size_t child = at * 2 + 1; child <= at * 2 + 2 && child < c->heap_count; child++) {
            if (item_precedes(c->heap[child], c->heap[first]))
                first = child;
        }
        if (first == at)
            return;
        heap_swap(c, at, first);
        at = first;
    }
}

/* Makes all items that may contain the next object. */
static int load_items(struct cursor *c, struct err *err)
{
    while (c->made < c->count &&
           (c->heap_count == 0 || c->first[c->made] <= item_key(c->heap[0], c->heap[0]->at))) {
        void *item = NULL;
        int rc = read_ahead_next(c->ahead, err, &item);
        if (rc < 0)
            return rc;
        c->made++;
        if (item)
            heap_push(c, item);
    }
    return c->heap_count ? 0 : ERR_END;
}

/* Returns the number of objects of heap[0] that come before those of all other items, made or not.
 */
static uint32_t count_run(const struct cursor *c)
{
    struct item *top = c->heap[0];
    const struct item *other = c->heap_count > 1 ? c->heap[1] : NULL;
    uint32_t k = top->at + 1;

    if (c->heap_count > 2 && item_precedes(c->heap[2], other))
        other = c->heap[2];
    __int128 bound = other ? item_key(other, other->at) : ITEM_KEY_MAX;
    bool inclusive = other && top->position < other->position;
    if (c->made < c->count && c->first[c->made] <= bound) {
        bound = c->first[c->made];
        inclusive = false;
    }
    while (k < top->count) {
        __int128 key = item_key(top, k);
        if (key > bound || (key == bound && !inclusive))
            break;
        k++;
    }
    return k - top->at;
}

/* ---- the next objects ------------------------------------------------------------------------ */

static int next_by_key(struct cursor *c, struct err *err, struct item **ret, uint32_t *ret_run)
{
    int rc = c->ahead ? load_items(c, err) : ERR_END;

    if (rc == ERR_END && c->top) {
        rc = open_ahead(c, err);
        rc = rc < 0 ? rc : load_items(c, err);
    }
    if (rc < 0)
        return rc;
    *ret = c->heap[0];
    *ret_run = count_run(c);
    return 0;
}

static int next_in_order(struct cursor *c, struct err *err, struct item **ret, uint32_t *ret_run)
{
    while (!c->current) {
        void *item = NULL;
        int rc = c->ahead ? read_ahead_next(c->ahead, err, &item) : ERR_CANCELLED;
        if (rc < 0)
            return rc;
        if (item && c->refuse && c->refuse(c->maker.arg, item))
            c->maker.drop(c->maker.arg, item);
        else
            c->current = item;
        if (c->resume_at && (!c->current || c->current->count <= c->resume_at))
            return ERR_STALE; /* the item has changed since cursor_pause */
        if (c->resume_at)
            c->current->at = c->resume_at;
        c->resume_at = 0;
    }
    *ret = c->current;
    *ret_run = c->current->count - c->current->at;
    return 0;
}

/* Steps over n objects. */
static void cursor_advance(struct cursor *c, uint32_t n)
{
    struct item *item = c->by_key ? c->heap[0] : c->current;

    item->at += n;
    if (item->at == item->count) {
        c->maker.drop(c->maker.arg, item);
        c->current = NULL;
        if (c->by_key)
            c->heap[0] = c->heap[--c->heap_count];
    }
    if (c->by_key && c->heap_count)
        heap_sift_down(c);
}

int cursor_next(struct cursor *c, struct err *err, struct item **ret, uint32_t *ret_run)
{
    while (c->left > 0) {
        int rc =
            c->by_key ? next_by_key(c, err, ret, ret_run) : next_in_order(c, err, ret, ret_run);
        if (rc < 0)
            return rc;
        if (c->skip == 0) {
            if (*ret_run > c->left)
                *ret_run = (uint32_t)c->left;
            return 0;
        }
        uint32_t n = c->skip < *ret_run ? (uint32_t)c->skip : *ret_run;
        c->skip -= n;
        cursor_advance(c, n);
    }
    return ERR_END;
}

void cursor_consume(struct cursor *c, uint32_t n)
{
    c->left -= n;
    cursor_advance(c, n);
}

void cursor_remaining(const struct cursor *c, uint64_t *ret_limit, uint64_t *ret_offset)
{
    *ret_limit = c->left;
    *ret_offset = c->skip;
}

void cursor_pause(struct cursor *c, bool keep)
{
    bool repeat = c->current && !keep;

    if (repeat) {
        c->resume_at = c->current->at;
        c->maker.drop(c->maker.arg, c->current);
        c->current = NULL;
    }
    if (c->ahead)
        read_ahead_pause(c->ahead, repeat);
}

void cursor_free(struct cursor *c)
{
    if (!c)
        return;
    read_ahead_free(c->ahead);
    if (c->current)
        c->maker.drop(c->maker.arg, c->current);
    for (size_t i = 0; i < c->heap_count; i++)
        c->maker.drop(c->maker.arg, c->heap[i]);
    free(c->heap);
    free(c->first);
    server_done(&c->server);
    free(c);
}
