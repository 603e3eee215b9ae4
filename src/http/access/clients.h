/* clients.h - who asks, and what all requests of one client take together.
 *
 * A client is a user of this machine where the kernel names it, else a network address (of IPv6 its
 * first 64 bits: a host has the rest to choose from). One that is asked for again is the same
 * object as long as anybody has it.
 * Threads: any. */
#ifndef DFTRACERD_HTTP_ACCESS_CLIENTS_H
#define DFTRACERD_HTTP_ACCESS_CLIENTS_H

#include "http/access/access.h"

struct client {
    uid_t uid; /* ACCESS_NOBODY: it is an address */
    unsigned char address[16];
    unsigned refs; /* guarded by the table's lock */
    atomic_uint connections;
    atomic_uint opens;          /* jobs that begin an answer, submitted and not finished */
    struct budget_share memory; /* of all its requests */
    struct pool_lane lane;      /* their jobs, each of which holds a reference by its request */
    struct client *next;
};

struct clients;
/* *new* or NULL. A client's memory is bounded by `memory` (bytes) and is a part of `all`
 * (borrowed). */
struct clients *clients_new(size_t memory, struct budget_share *all);
void clients_free(struct clients *c); /* NULL-safe; all of them must have been released */
/* *new* reference or NULL: no memory. */
struct client *clients_find(struct clients *c, const struct access_peer *peer);
void clients_release(struct clients *c, struct client *one); /* NULL-safe */

#endif
