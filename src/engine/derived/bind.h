/* bind.h - how the columns of each kind come about in the chunk that a worker is at.
 *
 * Used by:   bind.c, which binds the parts of a source first. Private to the folder.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_BIND_H
#define DFTRACERD_ENGINE_DERIVED_BIND_H

#include "engine/derived/derived.h"

int bind_null(struct bound *b);
int bind_column(struct scan_worker *w, struct bound *b, const struct column *c);
int bind_text(struct scan_worker *w, struct bound *b); /* HOST FILE CMD EXEC */
int bind_rank(struct scan_worker *w, struct bound *b, struct bound *pid, struct bound *host);
int bind_bytes(struct scan_worker *w, struct bound *b, struct bound *stored);
int bind_other(struct scan_worker *w, struct bound *b, const struct column *other,
               struct text path); /* "@other" */
/* The first part, where it is null the second (may be NULL), but for the rows whose bit is set in
 * `without` (may be NULL). */
int bind_without(struct scan_worker *w, struct bound *b, struct bound *first, struct bound *second,
                 const uint64_t *without);

#endif
