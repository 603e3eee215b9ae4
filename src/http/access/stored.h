/* stored.h - queries stored under a path of their own, /q/ID/NAME without parameters, for clients
 * that can open a URL but send neither headers nor parameters.
 *
 * A client that knows an id (128 random bits) may run that one query without a token. The table is
 * in memory only. It has STORED_MAX queries, at most STORED_SHARE of one client that is no admin;
 * a new one replaces the oldest. A query is removed a fixed time after it was stored, however often
 * it is used.
 * Threads: any. */
#ifndef DFTRACERD_HTTP_ACCESS_STORED_H
#define DFTRACERD_HTTP_ACCESS_STORED_H

#include "dftracerd/base.h"

#define STORED_MAX 256
#define STORED_SHARE 64
#define STORED_QUERY_MAX (64u << 10) /* bytes of a query */
#define STORED_UI "https://ui.perfetto.dev"

struct viewer;
struct stored_query {
    char id[33];
    const char *name;      /* file name that the path ends with */
    const char *query;     /* such as "/aggregate?format=perfetto" */
    const char *ui;        /* the UI that /open/ID passes it to */
    int64_t until_ns;      /* expiry time, by clock_mono_ns */
    struct hash128 owner;  /* the client whose share it counts for; zero: none */
    struct viewer *viewer; /* the user that stored it; the answer has what this user may see */
};
struct stored;
struct stored *stored_new(int64_t life_ms); /* *new* or NULL */
void stored_free(struct stored *s);
/* Fills `out` with 128 random bits as 32 digits. Returns 0 or -EIO. */
int stored_random(char out[33]);
/* Copies the texts; fills in id and until_ns. Returns 0, -ENOMEM, or -EIO if there are no random
 * numbers. */
int stored_add(struct stored *s, struct stored_query *q);
/* Copies the query to the arena, with a reference to the viewer. Returns 0, ERR_NOT_FOUND or
 * -ENOMEM. */
int stored_find(struct stored *s, struct text id, struct arena *arena, struct stored_query *ret);
/* Lists the queries of the same user (NULL: all) as an array in the arena, the oldest first. Their
 * `viewer` is NULL. Returns 0 or -ENOMEM. */
int stored_list(struct stored *s, const struct viewer *viewer, struct arena *arena,
                struct stored_query **ret, size_t *ret_count);

#endif
