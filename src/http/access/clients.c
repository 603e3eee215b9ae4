/* clients.c - the table of clients that have requests, hashed with chaining. */
#include "http/access/clients.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 256u
#define PREFIX 8 /* bytes of an IPv6 address that identify a network */

struct clients {
    pthread_mutex_t lock;
    struct budget_share memory; /* of a new client */
    struct client *buckets[BUCKETS];
};

struct clients *clients_new(size_t memory, struct budget_share *all)
{
    struct clients *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    pthread_mutex_init(&c->lock, NULL);
    c->memory.limit = memory;
    c->memory.parent = all;
    return c;
}

void clients_free(struct clients *c)
{
    if (!c)
        return;
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static struct client **slot_of(struct clients *c, const struct client *key)
{
    uint64_t words[3] = {key->uid};
    memcpy(words + 1, key->address, sizeof key->address);
    struct hash128 hash = text_hash128((struct text){(const char *)words, sizeof words});
    struct client **slot = &c->buckets[hash.low % BUCKETS];
    while (*slot && ((*slot)->uid != key->uid ||
                     memcmp((*slot)->address, key->address, sizeof key->address) != 0))
        slot = &(*slot)->next;
    return slot;
}

struct client *clients_find(struct clients *c, const struct access_peer *peer)
{
    static const unsigned char v4[12] = {[10] = 0xff, [11] = 0xff};
    struct client key = {.uid = peer->uid};
    if (peer->uid == ACCESS_NOBODY)
        memcpy(key.address, peer->address, memcmp(peer->address, v4, sizeof v4) == 0 ? 16 : PREFIX);
    pthread_mutex_lock(&c->lock);
    struct client **slot = slot_of(c, &key), *client = *slot;
    if (!client && (client = calloc(1, sizeof *client))) {
        *client = key;
        client->memory.limit = c->memory.limit;
        client->memory.parent = c->memory.parent;
        *slot = client;
    }
    if (client)
        client->refs++;
    pthread_mutex_unlock(&c->lock);
    return client;
}

void clients_release(struct clients *c, struct client *client)
{
    if (!client)
        return;
    pthread_mutex_lock(&c->lock);
    if (--client->refs == 0) {
        *slot_of(c, client) = client->next;
        free(client);
    }
    pthread_mutex_unlock(&c->lock);
}
