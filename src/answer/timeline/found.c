/* found.c - groups of several scans become one. */
#include "answer/timeline/found.h"

#include <string.h>

int timeline_scan_more(struct timeline_found *f, const struct group_hooks *hooks, struct err *err)
{
    struct groups *found;

    f->grouping.hooks = hooks;
    int rc = groups_scan(&f->grouping, &found, err);
    if (rc == 0 && f->groups)
        rc = groups_merge(f->groups, found);
    if (f->groups)
        groups_free(found);
    else
        f->groups = found;
    return rc;
}

void timeline_found_done(struct timeline_found *f)
{
    groups_free(f->groups);
    vec_done(&f->chunks);
    memset(f, 0, sizeof(*f));
}
