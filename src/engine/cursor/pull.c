/* pull.c - requests items from remote ranks. An answer consists of the texts of all items, a block
 * of facts, and the length of that block in 8 bytes. The block contains the number of places and of
 * items, counters, and for each item whether there is one, the length of its text, and its
 * facts. */
#include "engine/cursor/pull.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MIN = 8, THREADS_MAX = 64 };

struct pull {
    const struct pull_client *client;
    struct query *query;
    struct query_remote
        remote; /* as it was when the cursor was opened; borrows request and earlier */
    unsigned ranks;
    atomic_bool *opened; /* by rank: it may have the request open */
    pthread_t threads[THREADS_MAX];
    unsigned thread_count, thread_max;
};

/* ---- a run ----------------------------------------------------------------------------------- */

static int pull_send(struct pull *p, unsigned rank, bool whole, struct text request,
                     struct buf *answer)
{
    struct buf message = {0};

    atomic_store(&p->opened[rank], true);
    query_remote_encode(&p->remote, query_budget(p->query), whole, request, &message);
    int rc = message.error
                 ? message.error
                 : index_request_rank(query_index(p->query), rank, query_snapshot(p->query),
                                      (struct text){message.data, message.len}, answer);
    buf_done(&message);
    return rc;
}

/* An answer that is being read. */
struct reading {
    struct buf *answer;
    struct rec facts;
    size_t texts, at; /* bytes of all texts, and of those that were read */
};

static int open_answer(struct buf *answer, struct reading *ret)
{
    uint64_t length = 0;

    if (answer->len < sizeof(length))
        return ERR_CORRUPT;
    size_t end = answer->len - sizeof(length);
    memcpy(&length, answer->data + end, sizeof(length));
    if (length > end)
        return ERR_CORRUPT;
    *ret = (struct reading){.answer = answer, .texts = end - length};
    ret->facts = rec_of((struct text){answer->data + ret->texts, length});
    return 0;
}

/* An item whose text is that of the whole answer may steal its memory. */
static int read_item(const struct item_maker *m, struct reading *r, struct pull_item *ret)
{
    bool has_item = rec_u(&r->facts);
    size_t length = rec_u(&r->facts);
    struct text bytes = rec_text(&r->facts);
    struct rec facts = rec_of(bytes);

    if (r->facts.bad || length > r->texts - r->at)
        return ERR_CORRUPT;
    struct text text = {r->answer->data + r->at, length};
    bool whole = length && length == r->texts;
    r->at += length;
    ret->item = NULL;
    ret->bytes = length + bytes.len;
    return has_item ? m->decode(m->arg, ret->position, &facts, text, whole ? r->answer : NULL,
                                &ret->item)
                    : 0;
}

/* The answer is invalid if the rank has other places for the request than this process. */
static int read_answer(struct pull *p, struct pull_run *run, struct buf *answer)
{
    struct reading r;
    int rc = open_answer(answer, &r);

    if (rc < 0)
        return rc;
    bool same = rec_u(&r.facts) == p->query->place_count;
    uint64_t count = rec_u(&r.facts);
    if (!same || count == 0 || count > run->count)
        return ERR_CORRUPT;
    query_decode_counters(p->query, &r.facts);
    for (uint64_t i = 0; i < count && rc == 0; i++) {
        rc = read_item(p->client->maker, &r, &run->items[i]);
        run->received += rc == 0;
    }
    return rc;
}

static int pull_run(struct pull *p, struct pull_run *run)
{
    struct charge charge = {.budget = query_budget(p->query)};
    struct buf request = {0}, answer = {0};
    int rc = charge_add(&charge, run->reserved);

    rec_put_i(&request, query_time_left(query_budget(p->query)));
    rec_put_u(&request, p->query->place_count);
    rec_put_u(&request, run->bytes);
    rec_put_u(&request, run->count);
    for (unsigned i = 0; i < run->count; i++)
        rec_put_u(&request, run->items[i].position);
    rc = rc < 0 ? rc : request.error;
    struct text text = {request.data, request.len};
    if (rc == 0)
        rc = run->is_open ? pull_send(p, run->rank, false, text, &answer) : ERR_NOT_FOUND;
    if (rc == ERR_NOT_FOUND)
        rc = pull_send(p, run->rank, true, text, &answer);
    rc = rc < 0 ? rc : charge_up_to(&charge, answer.len);
    rc = rc < 0 ? rc : read_answer(p, run, &answer);
    buf_done(&request);
    buf_done(&answer);
    charge_done(&charge);
    return rc;
}

static void *pull_thread(void *arg)
{
    struct pull *p = arg;
    const struct pull_client *c = p->client;
    struct pull_run run = {.count = 0};

    while (c->choose(c->arg, &run)) {
        run.received = 0;
        run.rc = pull_run(p, &run);
        c->done(c->arg, &run);
    }
    return NULL;
}

/* ---- all ranks ------------------------------------------------------------------------------- */

int pull_new(const struct pull_client *client, struct pull **ret)
{
    struct query *q = client->maker->query;
    const struct query_remote *remote = query_environment(q)->remote;

    *ret = NULL;
    if (!remote || remote->answer || remote->local || !client->maker->encode)
        return 0;
    struct pull *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    p->client = client;
    p->query = q;
    p->remote = *remote;
    p->remote.number = query_remote_number();
    p->ranks = index_rank_count(query_index(q));
    p->thread_max = p->ranks < THREADS_MIN   ? THREADS_MIN
                    : p->ranks > THREADS_MAX ? THREADS_MAX
                                             : p->ranks;
    p->opened = calloc(p->ranks, sizeof(*p->opened));
    if (!p->opened) {
        pull_free(p);
        return -ENOMEM;
    }
    *ret = p;
    return 0;
}

unsigned pull_ranks(const struct pull *p)
{
    return p->ranks;
}

unsigned pull_rank(const struct pull *p, size_t position)
{
    const struct scan_place *place = &p->query->places[position];
    const struct index_file *file = snapshot_file(query_snapshot(p->query), place->file);
    unsigned rank = index_chunk_rank(query_index(p->query), file, place->chunk);

    return rank < p->ranks ? rank : 0;
}

bool pull_add_thread(struct pull *p)
{
    bool added = p->thread_count < p->thread_max &&
                 pthread_create(&p->threads[p->thread_count], NULL, pull_thread, p) == 0;

    p->thread_count += added;
    return p->thread_count > 0;
}

void pull_stop(struct pull *p)
{
    for (unsigned i = 1; i < p->ranks; i++)
        if (atomic_load(&p->opened[i]))
            index_stop_rank(query_index(p->query), i, p->remote.number);
}

/* A message that reaches a rank late has a number that is no longer used. */
void pull_end(struct pull *p)
{
    while (p->thread_count > 0)
        pthread_join(p->threads[--p->thread_count], NULL);
    pull_stop(p);
    for (unsigned i = 1; i < p->ranks; i++)
        atomic_store(&p->opened[i], false);
    p->remote.number = query_remote_number();
}

void pull_free(struct pull *p)
{
    if (!p)
        return;
    free(p->opened);
    free(p);
}

/* ---- the remote rank ------------------------------------------------------------------------- */

int pull_read(const struct query *q, struct text request, struct pull_request *ret)
{
    struct rec in = rec_of(request);

    *ret = (struct pull_request){.time_ns = rec_i(&in)};
    bool same = rec_u(&in) == q->place_count;
    ret->bytes = rec_u(&in);
    ret->count = rec_count(&in, 1);
    ret->positions = malloc((ret->count + 1) * sizeof(*ret->positions));
    if (!ret->positions)
        return -ENOMEM;
    for (size_t i = 0; i < ret->count; i++) {
        ret->positions[i] = rec_u(&in);
        same &= ret->positions[i] < q->place_count;
    }
    if (same && !in.bad)
        return 0;
    free(ret->positions);
    return ERR_CORRUPT;
}
