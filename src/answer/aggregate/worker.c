/* worker.c - one value of one measure, added to a group of a worker. */
#include "answer/aggregate/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct fine *worker_fine(struct aggregate_worker *w, unsigned set, unsigned measure, uint32_t group)
{
    struct aggregate_set *s = &w->found->set[set];

    if (group >= s->fine_at[measure].count &&
        vec_extend(&s->fine_at[measure], (size_t)group + 1) < 0)
        return NULL;
    uint32_t *at = &s->fine_at[measure].at[group];
    if (*at)
        return &w->entries.at[*at - 1].fine;
    if (vec_push(&w->entries,
                 {.group = group, .set = (uint16_t)set, .measure = (uint16_t)measure}) < 0)
        return NULL;
    *at = (uint32_t)w->entries.count;
    return &w->entries.at[*at - 1].fine;
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
