/* starts.h - a scan before a cursor starts: how many objects each place has, and its first time.
 *
 * Used by:   cursor.c.
 * Threads:   as a scan: the query's thread.
 */
#ifndef DFTRACERD_ENGINE_CURSOR_STARTS_H
#define DFTRACERD_ENGINE_CURSOR_STARTS_H

#include "engine/scan/scan.h"

/* *new* arrays by position in scan_places; the caller frees both, also after an error. */
struct starts {
    uint64_t *counts; /* selected objects */
    /* the least key (item_key_of_ts), ITEM_KEY_MAX if the place has no objects; NULL: not
     * requested */
    __int128 *first;
};
/* times: false if only the counts are needed; ret->first is then NULL. Returns 0, -ENOMEM or an
 * error of a scan. */
int starts_find(struct query *q, bool times, struct err *err, struct starts *ret);

#endif
