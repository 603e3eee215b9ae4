/* ranks.c - the other processes of a job: links to them, their stores, their texts. */
#include "index/ranks/ranks.h"

#include <pthread.h>
#include <stdlib.h>

struct rank_state {
    unsigned home;
    atomic_int error;          /* why indexing stopped there; 0: it continues */
    pthread_mutex_t sent_lock; /* guards `sent` */
    struct rank_sent sent;
    struct text_ids *ids; /* of texts of the rank */
};
struct ranks {
    const struct index_ranks *links;
    struct rank_state *list; /* by rank */
    uint16_t *rank_of;       /* rank of each home; 0: none */
};

struct ranks *ranks_new(const struct index_ranks *links)
{
    struct ranks *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->links = links;
    r->list = calloc(links->count, sizeof *r->list);
    r->rank_of = calloc(UINT16_MAX + 1u, sizeof *r->rank_of);
    bool ok = r->list && r->rank_of;
    for (unsigned i = 0; ok && i < links->count; i++)
        ok = (r->list[i].ids = text_ids_new()) != NULL;
    for (unsigned i = 0; r->list && i < links->count; i++)
        pthread_mutex_init(&r->list[i].sent_lock, NULL);
    if (!ok) {
        ranks_free(r);
        return NULL;
    }
    return r;
}

void ranks_free(struct ranks *r)
{
    if (!r)
        return;
    for (unsigned i = 0; r->list && i < r->links->count; i++) {
        text_ids_free(r->list[i].ids);
        pthread_mutex_destroy(&r->list[i].sent_lock);
    }
    free(r->rank_of);
    free(r->list);
    free(r);
}

unsigned ranks_count(const struct ranks *r)
{
    return r ? r->links->count : 1;
}

unsigned ranks_own(const struct ranks *r)
{
    return r->links->rank;
}

bool ranks_is_first(const struct ranks *r)
{
    return r && r->links->rank == 0;
}

const char *ranks_host(const struct ranks *r, unsigned rank)
{
    return r && r->links->host ? r->links->host(r->links->arg, rank) : NULL;
}

int ranks_send(struct ranks *r, unsigned to, struct buf *message)
{
    struct text bytes = {message->data, message->len};
    int rc = message->error ? message->error : r->links->send(r->links->arg, to, bytes);

    buf_done(message);
    return rc;
}

int ranks_send_number(struct ranks *r, unsigned to, enum rank_message kind, int64_t number)
{
    struct buf message = {0};

    buf_putc(&message, kind);
    rec_put_i(&message, number);
    return ranks_send(r, to, &message);
}

int ranks_request(struct ranks *r, unsigned to, const struct buf *request, struct buf *answer)
{
    struct text bytes = {request->data, request->len};

    return request->error ? request->error : r->links->request(r->links->arg, to, bytes, answer);
}

int ranks_request_all(struct ranks *r, const unsigned *to, unsigned count, struct buf *request,
                      void (*answered)(void *arg, unsigned from, int rc, struct buf *answer),
                      void *arg)
{
    return r->links->request_all(r->links->arg, to, count, request, answered, arg);
}

void ranks_set_error(struct ranks *r, unsigned rank, int error)
{
    atomic_store(&r->list[rank].error, error);
}

int ranks_error(const struct ranks *r, const char **ret_host)
{
    int error = 0;

    for (unsigned i = 1; r && i < r->links->count && !error; i++)
        if ((error = atomic_load(&r->list[i].error)) != 0)
            *ret_host = ranks_host(r, i);
    return error;
}

unsigned ranks_home(const struct ranks *r, unsigned rank)
{
    return r->list[rank].home;
}

unsigned ranks_at(const struct ranks *r, unsigned home)
{
    return r && home <= UINT16_MAX ? r->rank_of[home] : 0;
}

void ranks_set_home(struct ranks *r, unsigned rank, unsigned home)
{
    r->list[rank].home = home;
    r->rank_of[home] = (uint16_t)rank;
}

int ranks_decode_texts(struct ranks *r, unsigned rank, struct texts *here, struct rec *message)
{
    return text_ids_decode(r->list[rank].ids, here, message);
}

struct rank_sent *ranks_send_begin(struct ranks *r, unsigned rank)
{
    pthread_mutex_lock(&r->list[rank].sent_lock);
    return &r->list[rank].sent;
}

void ranks_send_end(struct ranks *r, unsigned rank)
{
    pthread_mutex_unlock(&r->list[rank].sent_lock);
}

const struct text_ids *ranks_ids(const struct ranks *r, unsigned rank)
{
    return r->list[rank].ids;
}
