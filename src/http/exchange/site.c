/* site.c - users of the index of a site. */
#include "http/exchange/site.h"

bool site_enter(struct site *s)
{
    atomic_fetch_add(&s->users, 1);
    return !atomic_load(&s->ended);
}

void site_leave(struct site *s)
{
    atomic_fetch_sub(&s->users, 1);
}
