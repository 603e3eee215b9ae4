/* worker.c - one value of one measure, added to a group of a worker. */
#include "answer/aggregate/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int grow_at(struct aggregate_set *s, unsigned measure, uint32_t group)
{
    uint32_t before = s->fine_cap[measure], cap = before ? before : 64;

    while (cap <= group)
        cap *= 2;
    uint32_t *at = realloc(s->fine_at[measure], cap * sizeof(*at));
    if (!at)
        return -ENOMEM;
    memset(at + before, 0, (cap - before) * sizeof(*at));
    s->fine_at[measure] = at;
    s->fine_cap[measure] = cap;
    return 0;
}

struct fine *worker_fine(struct aggregate_worker *w, unsigned set, unsigned measure, uint32_t group)
{
    struct aggregate_set *s = &w->found->set[set];

    if (group >= s->fine_cap[measure] && grow_at(s, measure, group) < 0)
        return NULL;
    uint32_t *at = &s->fine_at[measure][group];
    if (*at)
        return &w->entries[*at - 1].fine;
    if (w->entry_count == w->entry_cap) {
        uint32_t cap = w->entry_cap ? w->entry_cap * 2 : 64;
        struct fine_entry *grown = realloc(w->entries, cap * sizeof(*grown));
        if (!grown)
            return NULL;
        w->entries = grown;
        w->entry_cap = cap;
    }
    w->entries[w->entry_count] =
        (struct fine_entry){.group = group, .set = (uint16_t)set, .measure = (uint16_t)measure};
    *at = ++w->entry_count;
    return &w->entries[w->entry_count - 1].fine;
}

int value_add(struct aggregate_worker *w, unsigned set, unsigned measure, uint32_t group,
              int64_t value, bool nano)
{
    struct aggregate_set *s = &w->found->set[set];
    struct cell *c = &set_record(s, group)->cells[measure];
    int rc = cell_add_quickly(c, value, nano) ? 0 : cell_add(w->found, c, value, nano);

    if (rc == 0 && s->samples[measure])
        rc = sample_add_i64(&w->found->memory, &s->samples[measure][group], value, nano);
    if (rc == 0 && w->plan->shape) {
        struct fine *f = worker_fine(w, set, measure, group);
        if (!f)
            return -ENOMEM;
        fine_add(f, nano ? (double)value / 1000 : (double)value, true);
    }
    return rc;
}

int value_add_f64(struct aggregate_worker *w, unsigned set, unsigned measure, uint32_t group,
                  double value)
{
    struct aggregate_set *s = &w->found->set[set];
    struct fine *f = worker_fine(w, set, measure, group);

    if (!f)
        return -ENOMEM;
    fine_add(f, value, w->plan->shape);
    return s->samples[measure]
               ? sample_add_f64(&w->found->memory, &s->samples[measure][group], value)
               : 0;
}
