/* members.h - the members of the objects in the column "@other": {"args.x":1,"args.y":"text"}, as
 * src/column writes them. */
#ifndef DFTRACERD_ENGINE_DERIVED_MEMBERS_H
#define DFTRACERD_ENGINE_DERIVED_MEMBERS_H

#include "dftracerd/index.h"

/* A cursor over one object's text; decoded texts are borrowed from `arena`. */
struct members {
    const char *at, *end;
    struct arena *arena;
};
/* Reads the next member: its name decoded, its value as written. Returns false at the end, if the
 * text is corrupt, and without memory, when arena->error is set. */
bool members_next(struct members *m, struct text *ret_name, struct text *ret_value);
/* Parses a value. Returns false for null, for invalid values, and without memory as above. */
bool members_entry(struct members *m, struct text value, struct column_entry *ret);

#endif
