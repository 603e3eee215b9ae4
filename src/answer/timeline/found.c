/* found.c - joins the groups of several scans. */
#include "answer/timeline/found.h"

#include <string.h>

int timeline_scan_more(struct timeline_found *f, const struct group_hooks *hooks, struct err *err)
{
    struct groups *found;

    f->grouping.hooks = hooks;
    int rc = groups_scan(&f->grouping, &found, err);
    if (rc == 0 && f->groups)
        rc = groups_merge(f->groups, found, 0);
    if (f->groups)
        groups_free(found);
    else
        f->groups = found;
    return rc;
}

void timeline_put(void *arg, struct buf *out)
{
    struct timeline_found *f = arg;

    rec_put_u(out, atomic_load(&f->crowded));
    for (unsigned i = 0; i < TIMELINE_CLASSES; i++)
        rec_put_u(out, atomic_load(&f->slices.counts[i]));
    for (size_t i = 0; i < f->chunks.count; i++) {
        const struct timeline_chunk *c = &f->chunks.at[i];
        if (c->longest == INT64_MAX && c->rest == TIMELINE_REST_NONE)
            continue;
        rec_put_u(out, i + 1);
        rec_put_i(out, c->longest);
        rec_put_i(out, c->rest);
    }
    rec_put_u(out, 0);
}

int timeline_take(void *arg, struct rec *in)
{
    struct timeline_found *f = arg;
    uint64_t i;

    if (rec_u(in))
        atomic_store(&f->crowded, true);
    for (unsigned k = 0; k < TIMELINE_CLASSES; k++)
        atomic_fetch_add(&f->slices.counts[k], rec_u(in));
    while ((i = rec_u(in)) != 0 && i <= f->chunks.count) {
        f->chunks.at[i - 1].longest = rec_i(in);
        f->chunks.at[i - 1].rest = rec_i(in);
    }
    return in->bad || i ? ERR_CORRUPT : 0;
}

void timeline_found_done(struct timeline_found *f)
{
    groups_free(f->groups);
    vec_done(&f->chunks);
    memset(f, 0, sizeof(*f));
}
