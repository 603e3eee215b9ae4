/* picks.c - the longest objects: keeps up to twice the wanted number, then cuts the list. */
#include "answer/timeline/picks.h"
#include "answer/timeline/found.h"

bool pick_before(const struct timeline_pick *a, const struct timeline_pick *b)
{
    if (a->dur != b->dur)
        return a->dur > b->dur;
    if (a->ts != b->ts)
        return a->ts < b->ts;
    return a->position != b->position ? a->position < b->position : a->row < b->row;
}

static void swap(struct timeline_pick *a, struct timeline_pick *b)
{
    struct timeline_pick t = *a;

    *a = *b;
    *b = t;
}

/* Hoare's quickselect: the pick at `max` - 1 gets its final position, and smaller ones precede it.
 */
void picks_cut(struct vec *list, uint32_t max)
{
    struct timeline_pick *picks = list->at;
    size_t lo = 0, hi = list->count;

    if (max == 0 || list->count < max)
        return;
    while (hi - lo > 1) {
        size_t end = lo;
        swap(&picks[lo + (hi - lo) / 2], &picks[hi - 1]);
        for (size_t i = lo; i + 1 < hi; i++)
            if (pick_before(&picks[i], &picks[hi - 1]))
                swap(&picks[i], &picks[end++]);
        swap(&picks[end], &picks[hi - 1]);
        if (end == max - 1)
            break;
        if (end < max - 1)
            lo = end + 1;
        else
            hi = end;
    }
    list->count = max;
}

int picks_add(struct vec *picks, uint32_t max, const struct timeline_pick *pick)
{
    const struct timeline_pick *last = picks_last(picks, max);

    if (max == 0 || (last && !pick_before(pick, last)))
        return 0;
    int rc = vec_push_item(picks, sizeof(*pick), pick);
    if (picks->count == max || picks->count == 2 * (size_t)max)
        picks_cut(picks, max);
    return rc;
}

static int picks_merge(struct acc *into, struct acc *from, unsigned set, const uint32_t *const *to)
{
    int rc = 0;

    for (size_t i = 0; i < from->list.count && rc == 0; i++) {
        struct timeline_pick pick = ((const struct timeline_pick *)from->list.at)[i];
        pick.lane = to[TIMELINE_CELLS][pick.lane];
        pick.tuple = to[set][pick.tuple];
        rc = picks_add(&into->list, into->spec->max_items, &pick);
    }
    return rc;
}

static bool pick_is_whole(const struct groups *f, unsigned set, const void *item)
{
    const struct timeline_pick *pick = item;

    return pick->lane < f->set[TIMELINE_CELLS].ready && pick->tuple < f->set[set].ready;
}

const struct acc_kind timeline_acc_picks = {.item = sizeof(struct timeline_pick),
                                            .item_refers_to_groups = pick_is_whole,
                                            .merge_lists = picks_merge};
