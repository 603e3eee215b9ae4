/* ties.c - events that begin at the same time, longest first. */
#include "replay/input/ties.h"

#include <stdlib.h>

void ties_done(struct ties *t)
{
    free(t->events);
    arena_done(&t->texts);
    *t = (struct ties){0};
}

bool ties_are_full(const struct ties *t, const struct event *e)
{
    return t->count == TIES_MAX || (t->count > 0 && t->events[0].ts_ns != e->ts_ns);
}

int ties_add(struct ties *t, const struct event *e)
{
    if (!t->events && !(t->events = malloc(TIES_MAX * sizeof *t->events)))
        return -ENOMEM;
    if (t->count == 0)
        arena_done(&t->texts);
    struct event copy = *e;
    struct text *texts[] = {&copy.name, &copy.cat, &copy.host, &copy.mode, &copy.file, &copy.file2};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        texts[i]->ptr = texts[i]->len ? arena_strdup(&t->texts, *texts[i]) : "";
        if (!texts[i]->ptr)
            return -ENOMEM;
    }
    size_t at = t->count++; /* after those of the same duration */
    for (; at > 0 && t->events[at - 1].dur_ns < copy.dur_ns; at--)
        t->events[at] = t->events[at - 1];
    t->events[at] = copy;
    return 0;
}

const struct event *ties_take(struct ties *t)
{
    if (t->at < t->count)
        return &t->events[t->at++];
    t->count = t->at = 0;
    return NULL;
}
