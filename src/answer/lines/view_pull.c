/* view_pull.c - asks other ranks for items. An answer is: the texts of all items;
 * behind them the number of places and of items, counters, and of each item whether there is one,
 * the length of its text, and its facts; at last the length of all that, as 8 bytes. */
#include "answer/lines/view_pull.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_USUAL = 8, THREADS_MOST = 64 };

struct pull {
    const struct pull_client *client;
    struct query *query;
    struct query_far far; /* as it was when the stream began: borrows request and earlier */
    unsigned ranks;
    atomic_bool *opened; /* by rank: it has the stream open, perhaps */
    pthread_t threads[THREADS_MOST];
    unsigned thread_count, thread_most;
};

/* ---- a run ----------------------------------------------------------------------------------- */

static void put_pull_request(const struct pull *p, const struct pull_run *run, struct buf *out)
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

static int send(struct pull *p, unsigned rank, bool whole, struct text asked, struct buf *answer)
{
    struct buf message = {0};

    atomic_store(&p->opened[rank], true);
    query_far_put(&p->far, query_budget(p->query), whole, asked, &message);
    int rc = message.error
                 ? message.error
                 : index_request_rank(query_index(p->query), rank, query_snapshot(p->query),
                                      (struct text){message.data, message.len}, answer);
    buf_done(&message);
    return rc;
}

/* An answer that is read. */
struct taking {
    struct buf *answer;
    struct rec facts;
    size_t texts, at; /* bytes of texts; those that were taken */
};

static int open_answer(struct buf *answer, struct taking *ret)
{
    uint64_t length = 0;

    if (answer->len < sizeof(length))
        return ERR_CORRUPT;
    size_t end = answer->len - sizeof(length);
    memcpy(&length, answer->data + end, sizeof(length));
    if (length > end)
        return ERR_CORRUPT;
    *ret = (struct taking){.answer = answer, .texts = end - length};
    ret->facts = rec_of((struct text){answer->data + ret->texts, length});
    return 0;
}

/* The memory of the answer may become that of an item which has all texts of it: its facts are
 * behind them. */
static int take_item(const struct ahead_maker *m, struct taking *t, struct pull_item *ret)
{
    bool there = rec_u(&t->facts);
    size_t length = rec_u(&t->facts);
    struct text bytes = rec_text(&t->facts);
    struct rec facts = rec_of(bytes);

    if (t->facts.bad || length > t->texts - t->at)
        return ERR_CORRUPT;
    struct text text = {t->answer->data + t->at, length};
    bool whole = length && length == t->texts;
    t->at += length;
    ret->item = NULL;
    ret->bytes = length + bytes.len;
    return there ? m->decode(m->arg, ret->position, &facts, text, whole ? t->answer : NULL,
                             &ret->item)
                 : 0;
}

/* One that has another idea of the request, so of its places, is not believed. */
static int take_answer(struct pull *p, struct pull_run *run, struct buf *answer)
{
    struct taking t;
    int rc = open_answer(answer, &t);

    if (rc < 0)
        return rc;
    bool same = rec_u(&t.facts) == p->query->place_count;
    uint64_t count = rec_u(&t.facts);
    if (!same || count == 0 || count > run->count)
        return ERR_CORRUPT;
    query_take_counters(p->query, &t.facts);
    for (uint64_t i = 0; i < count && rc == 0; i++) {
        rc = take_item(p->client->maker, &t, &run->items[i]);
        run->made += rc == 0;
    }
    return rc;
}

static int ask(struct pull *p, struct pull_run *run)
{
    struct charge charge = {.budget = query_budget(p->query)};
    struct buf asked = {0}, answer = {0};
    int rc = charge_add(&charge, run->room);

    put_pull_request(p, run, &asked);
    rc = rc < 0 ? rc : asked.error;
    struct text text = {asked.data, asked.len};
    if (rc == 0)
        rc = run->known ? send(p, run->rank, false, text, &answer) : ERR_NOT_FOUND;
    if (rc == ERR_NOT_FOUND)
        rc = send(p, run->rank, true, text, &answer);
    rc = rc < 0 ? rc : charge_up_to(&charge, answer.len);
    rc = rc < 0 ? rc : take_answer(p, run, &answer);
    buf_done(&asked);
    buf_done(&answer);
    charge_done(&charge);
    return rc;
}

static void *work(void *arg)
{
    struct pull *p = arg;
    const struct pull_client *c = p->client;
    struct pull_run run = {.count = 0};

    while (c->take(c->arg, &run)) {
        run.made = 0;
        run.rc = ask(p, &run);
        c->done(c->arg, &run);
    }
    return NULL;
}

/* ---- all ranks ------------------------------------------------------------------------------- */

static unsigned threads_for(unsigned ranks)
{
    return ranks < THREADS_USUAL ? THREADS_USUAL : ranks > THREADS_MOST ? THREADS_MOST : ranks;
}

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
    p->ranks = index_rank_count(query_index(q));
    p->thread_most = threads_for(p->ranks);
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

bool pull_add(struct pull *p)
{
    bool added = p->thread_count < p->thread_most &&
                 pthread_create(&p->threads[p->thread_count], NULL, work, p) == 0;

    p->thread_count += added;
    return p->thread_count > 0;
}

void pull_stop(struct pull *p)
{
    for (unsigned i = 1; i < p->ranks; i++)
        if (atomic_load(&p->opened[i]))
            index_stop_rank(query_index(p->query), i, p->far.number);
}

/* What comes to the ranks late is of a number that is used no more. */
void pull_end(struct pull *p)
{
    while (p->thread_count > 0)
        pthread_join(p->threads[--p->thread_count], NULL);
    pull_stop(p);
    for (unsigned i = 1; i < p->ranks; i++)
        atomic_store(&p->opened[i], false);
    p->far.number = query_far_number();
}

void pull_free(struct pull *p)
{
    if (!p)
        return;
    free(p->opened);
    free(p);
}

/* ---- the rank -------------------------------------------------------------------------------- */

int pull_read(const struct query *q, struct text asked, struct pull_request *ret)
{
    struct rec in = rec_of(asked);

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
