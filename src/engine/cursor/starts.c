/* starts.c - counts the objects of all places and finds their first times in one scan. */
#include "engine/cursor/starts.h"
#include "engine/cursor/item.h"
#include "engine/group/worker.h"

#include <errno.h>
#include <stdlib.h>

/* Each place is scanned by one worker, so its elements need no lock. */
struct starts_scan {
    const struct source *ts; /* NULL: only count */
    size_t places;
    struct starts *starts;
};

static int starts_batch(struct group_worker *w, struct scan_batch *b)
{
    struct starts_scan *s = w->grouping->arg;
    size_t position = b->chunk->position;
    int64_t ts[SCAN_BATCH];
    struct item item = {.keys = ts};

    s->starts->counts[position] += b->count;
    if (!s->ts)
        return 0;
    item_add_times(&item, b, s->ts);
    for (uint32_t j = 0; j < b->count; j++) {
        __int128 key = item_key_of_ts(ts[j], item.nano);
        if (key < s->starts->first[position])
            s->starts->first[position] = key;
    }
    return 0;
}

/* Writes for each place with objects its distance from the one before, the number of its objects
 * and its first time; then 0. */
static void starts_encode(void *arg, struct buf *out)
{
    const struct starts_scan *s = arg;
    size_t next = 0;

    for (size_t i = 0; i < s->places; i++) {
        if (!s->starts->counts[i])
            continue;
        rec_put_u(out, i - next + 1);
        rec_put_u(out, s->starts->counts[i]);
        if (s->ts)
            rec_put_i128(out, s->starts->first[i]);
        next = i + 1;
    }
    rec_put_u(out, 0);
}

static int starts_decode(void *arg, struct rec *in)
{
    struct starts_scan *s = arg;
    uint64_t distance;

    for (size_t next = 0; (distance = rec_u(in)) != 0; next++) {
        if (distance > s->places - next)
            return ERR_CORRUPT;
        next += distance - 1;
        s->starts->counts[next] = rec_u(in);
        if (s->ts)
            s->starts->first[next] = rec_i128(in);
    }
    return in->bad ? ERR_CORRUPT : 0;
}

int starts_find(struct query *q, bool times, struct err *err, struct starts *ret)
{
    static const struct group_hooks hooks = {
        .batch = starts_batch, .put = starts_encode, .take = starts_decode};
    struct starts_scan scan = {.starts = ret, .places = q->place_count};
    const struct grouping g = {.query = q,
                               .budget = query_budget(q),
                               .hooks = &hooks,
                               .arg = &scan,
                               .spreads = true,
                               .more = true};
    struct groups *found = NULL;

    ret->counts = calloc(scan.places + 1, sizeof(*ret->counts));
    ret->first = times ? malloc((scan.places + 1) * sizeof(*ret->first)) : NULL;
    if (!ret->counts || (times && !ret->first))
        return -ENOMEM;
    for (size_t i = 0; times && i < scan.places; i++)
        ret->first[i] = ITEM_KEY_MAX;
    int rc = times ? query_source(q, TEXT("ts"), &scan.ts) : 0;
    rc = rc < 0 ? rc : groups_scan(&g, &found, err);
    groups_free(found);
    return rc;
}
