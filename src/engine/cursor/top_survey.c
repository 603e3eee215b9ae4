/* top_survey.c - a scan that reads the bounds of chunks, but no rows. */
#include "engine/cursor/top_survey.h"

#include <errno.h>
#include <stdlib.h>

struct surveyor {
    const struct top_order *order;
    struct top_place *places; /* by position */
};
struct survey_worker {
    const struct surveyor *surveyor;
    struct scratch mask; /* for scan_chunk.wanted */
};

static int survey_begin(void *arg, unsigned number, void **ret_state)
{
    struct surveyor *s = arg;
    struct survey_worker *w = calloc(1, sizeof(*w));
    (void)number;

    if (!w)
        return -ENOMEM;
    w->surveyor = s;
    *ret_state = w;
    return 0;
}

static int survey_end(void *arg, unsigned number, void *state, bool failed)
{
    struct survey_worker *w = state;
    (void)arg, (void)number, (void)failed;

    scratch_done(&w->mask);
    free(w);
    return 0;
}

static int survey_plan(void *state, struct scan_chunk *c)
{
    return top_no_rows(&((struct survey_worker *)state)->mask, c);
}

/* Called for chunks that the filter does not exclude. */
static int survey_chunk(void *state, struct scan_chunk *c)
{
    const struct surveyor *s = ((struct survey_worker *)state)->surveyor;
    struct top_place *place = &s->places[c->position];

    place->used = true;
    place->known = top_best_of_chunk(s->order, c, &place->best);
    return ERR_END;
}

static int survey_batch(void *state, struct scan_batch *b)
{
    (void)state, (void)b;
    return 0;
}

static int compare_places(const void *a, const void *b, void *arg)
{
    const struct top_place *x = a, *y = b;
    int cmp = 0;

    if (x->known != y->known)
        return x->known ? 1 : -1;
    if (x->known)
        cmp = top_compare(arg, &x->best, &y->best);
    return cmp ? cmp : (x->position > y->position) - (x->position < y->position);
}

static void drop_unused(struct top_survey *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->places.count; i++)
        if (s->places.at[i].used)
            s->places.at[n++] = s->places.at[i];
    s->places.count = n;
}

int top_survey(const struct top_order *o, struct top_survey *ret)
{
    const struct scan_place *places;
    size_t n = scan_places(o->query, &places);
    struct surveyor s = {.order = o};
    struct scan_sink sink = {.arg = &s,
                             .uncounted = true,
                             .worker_begin = survey_begin,
                             .chunk_plan = survey_plan,
                             .chunk_begin = survey_chunk,
                             .batch = survey_batch,
                             .worker_end = survey_end};
    struct top_order order = *o;

    ret->places.budget = query_budget(o->query);
    int rc = vec_extend(&ret->places, n);
    if (rc < 0)
        return rc;
    s.places = ret->places.at;
    for (size_t i = 0; i < n; i++)
        s.places[i].position = (uint32_t)i;
    rc = scan_run(o->query, &sink, NULL);
    if (rc < 0)
        return rc;
    drop_unused(ret);
    return sort_items(ret->places.at, ret->places.count, sizeof(*ret->places.at), compare_places,
                      &order, query_budget(o->query));
}

void top_survey_done(struct top_survey *s)
{
    vec_done(&s->places);
}
