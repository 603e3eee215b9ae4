/* clients.h - the client of a request, and what all requests of one client use together.
 *
 * A client is a user of this machine if the kernel names one, otherwise a network address (the
 * first 64 bits of an IPv6 address, because a host may choose the rest). Lookups of the same client
 * return the same object as long as there are references.
 * Threads: any. */
#ifndef DFTRACERD_HTTP_ACCESS_CLIENTS_H
#define DFTRACERD_HTTP_ACCESS_CLIENTS_H

#include "http/access/access.h"

struct client {
    uid_t uid; /* ACCESS_NOBODY: the client is an address */
    unsigned char address[16];
    unsigned refs; /* guarded by the table's lock */
    atomic_uint connections;
    atomic_uint opens;          /* jobs that open a request, submitted and not finished */
    struct budget_share memory; /* of all its requests */
    struct pool_lane lane;      /* their jobs, each of which holds a reference by its request */
    struct client *next;
};

struct clients;
/* Returns *new* or NULL. The memory of a client is limited to `memory` bytes, and is charged to
 * `all` (borrowed), too. */
struct clients *clients_new(size_t memory, struct budget_share *all);
void clients_free(struct clients *c); /* NULL-safe; all clients must have been released */
/* Returns a *new* reference, or NULL if there is no memory. */
struct client *clients_find(struct clients *c, const struct access_peer *peer);
void clients_release(struct clients *c, struct client *client); /* NULL-safe */

#endif
