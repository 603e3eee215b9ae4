/* members.h - the members of the objects in "@other": {"args.x":1,"args.y":"text"}, as our own
 * writer made them. */
#ifndef DFTRACERD_ENGINE_DERIVED_MEMBERS_H
#define DFTRACERD_ENGINE_DERIVED_MEMBERS_H

#include "dftracerd/index.h"

/* A cursor over one object's text; decoded texts are borrowed from `arena`. */
struct members {
    const char *at, *end;
    struct arena *arena;
};
/* The next member: its name decoded, its value as written. False at the end, where the text is
 * damaged, or without memory: then arena->error is set. */
bool members_next(struct members *m, struct text *ret_name, struct text *ret_value);
/* A value as written, typed. False for null, for what is no value, and without memory as above. */
bool members_entry(struct members *m, struct text value, struct column_entry *ret);

#endif
