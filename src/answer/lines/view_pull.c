/* view_pull.c - asks other ranks for items. An answer is: the number of places; for each item one
 * more than its length, as 8 bytes, and its bytes; 8 bytes of zero; counters. */
#include "answer/lines/view_pull.h"

#include <errno.h>
#include <stdlib.h>

struct puller {
    struct pull *all;
    pthread_t thread;
    unsigned rank;
    bool begun;
    atomic_bool opened; /* the rank has the stream open, perhaps */
};
struct pull {
    const struct pull_client *client;
    struct query *query;
    struct query_far far; /* as it was when the stream began: borrows request and earlier */
    unsigned count;
    struct puller *list; /* by rank */
};

/* ---- a run ----------------------------------------------------------------------------------- */

static void put_asked(const struct pull *p, const struct pull_run *run, struct buf *out)
{
    const struct budget *b = query_budget(p->query);
    int64_t left = b->deadline_ns ? b->deadline_ns - clock_mono_ns() : 0;

    rec_put_i(out, b->deadline_ns && left < 1 ? 1 : left);
    rec_put_u(out, p->query->place_count);
    rec_put_u(out, run->bytes);
    rec_put_u(out, run->count);
    for (unsigned i = 0; i < run->count; i++)
        rec_put_u(out, run->items[i].position);
}

static int send(struct puller *own, bool whole, struct text asked, struct buf *answer)
{
    const struct pull *p = own->all;
    struct buf message = {0};

    atomic_store(&own->opened, true);
    query_far_put(&p->far, query_budget(p->query), whole, asked, &message);
    int rc = message.error
                 ? message.error
                 : index_ask_rank(query_index(p->query), own->rank, query_snapshot(p->query),
                                  (struct text){message.data, message.len}, answer);
    buf_done(&message);
    return rc;
}

static void take_counters(struct query *q, struct rec *in)
{
    struct query_counters c = {0};

    c.chunks_scanned = rec_u(in);
    c.chunks_skipped = rec_u(in);
    c.rows_scanned = rec_u(in);
    c.rows_selected = rec_u(in);
    c.name_conflicts = rec_u(in);
    query_count(q, &c);
}

static int take_item(const struct ahead_maker *m, struct rec *in, uint64_t len,
                     struct pull_item *ret)
{
    struct text bytes = {(const char *)in->ptr, (size_t)len};

    if (len > (size_t)(in->end - in->ptr))
        return ERR_CORRUPT;
    in->ptr += len;
    ret->item = NULL;
    ret->bytes = len;
    return len ? m->decode(m->arg, ret->position, bytes, &ret->item) : 0;
}

/* One that has another idea of the request, so of its places, is not believed. */
static int take_answer(struct pull *p, struct pull_run *run, const struct buf *answer)
{
    struct rec in = rec_of((struct text){answer->data, answer->len});
    uint64_t length;
    int rc = rec_u(&in) == p->query->place_count ? 0 : ERR_CORRUPT;

    while (rc == 0 && rec_array(&in, &length, sizeof(length)) && length) {
        rc = run->made == run->count ? ERR_CORRUPT
                                     : take_item(p->client->maker, &in, length - 1,
                                                 &run->items[run->made]);
        run->made += rc == 0;
    }
    if (rc == 0)
        take_counters(p->query, &in);
    return rc < 0 ? rc : in.bad ? ERR_CORRUPT : 0;
}

static int ask(struct puller *own, struct pull_run *run)
{
    struct pull *p = own->all;
    struct charge charge = {.budget = query_budget(p->query)};
    struct buf asked = {0}, answer = {0};
    int rc = charge_add(&charge, run->bytes);

    put_asked(p, run, &asked);
    rc = rc < 0 ? rc : asked.error;
    struct text text = {asked.data, asked.len};
    bool open = atomic_load(&own->opened);
    if (rc == 0)
        rc = open ? send(own, false, text, &answer) : ERR_NOT_FOUND;
    if (rc == ERR_NOT_FOUND)
        rc = send(own, true, text, &answer);
    rc = rc < 0 ? rc : charge_up_to(&charge, answer.len);
    rc = rc < 0 ? rc : take_answer(p, run, &answer);
    buf_done(&asked);
    buf_done(&answer);
    charge_done(&charge);
    return rc;
}

static void *work(void *arg)
{
    struct puller *own = arg;
    const struct pull_client *c = own->all->client;
    struct pull_run run = {.count = 0};

    while (c->take(c->arg, own->rank, &run)) {
        run.made = 0;
        run.rc = ask(own, &run);
        c->done(c->arg, own->rank, &run);
    }
    return NULL;
}

/* ---- all ranks ------------------------------------------------------------------------------- */

int pull_new(const struct pull_client *client, struct pull **ret)
{
    struct query *q = client->maker->query;
    const struct query_far *far = query_environment(q)->far;

    *ret = NULL;
    if (!far || far->answer || far->alone || !client->maker->encode)
        return 0;
    struct pull *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    p->client = client;
    p->query = q;
    p->far = *far;
    p->far.number = query_far_number();
    p->count = index_rank_count(query_index(q));
    p->list = calloc(p->count, sizeof(*p->list));
    for (unsigned i = 0; p->list && i < p->count; i++) {
        p->list[i].all = p;
        p->list[i].rank = i;
    }
    if (!p->list) {
        pull_free(p);
        return -ENOMEM;
    }
    *ret = p;
    return 0;
}

unsigned pull_rank(const struct pull *p, size_t position)
{
    const struct scan_place *place = &p->query->places[position];
    const struct index_file *file = snapshot_file(query_snapshot(p->query), place->file);
    unsigned rank = index_chunk_rank(query_index(p->query), file, place->chunk);

    return rank < p->count ? rank : 0;
}

int pull_begin(struct pull *p, unsigned rank)
{
    struct puller *own = &p->list[rank];

    if (!own->begun)
        own->begun = pthread_create(&own->thread, NULL, work, own) == 0;
    return own->begun ? 0 : -EAGAIN;
}

void pull_stop(struct pull *p)
{
    for (unsigned i = 1; i < p->count; i++)
        if (atomic_load(&p->list[i].opened))
            index_stop_rank(query_index(p->query), i, p->far.number);
}

/* What comes to the ranks late is of a number that is used no more. */
void pull_end(struct pull *p)
{
    for (unsigned i = 1; i < p->count; i++) {
        if (p->list[i].begun)
            pthread_join(p->list[i].thread, NULL);
        p->list[i].begun = false;
    }
    pull_stop(p);
    for (unsigned i = 1; i < p->count; i++)
        atomic_store(&p->list[i].opened, false);
    p->far.number = query_far_number();
}

void pull_free(struct pull *p)
{
    if (!p)
        return;
    free(p->list);
    free(p);
}

/* ---- the rank -------------------------------------------------------------------------------- */

int pull_read(const struct query *q, struct text asked, struct pull_asked *ret)
{
    struct rec in = rec_of(asked);

    *ret = (struct pull_asked){.time_ns = rec_i(&in)};
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
