/* order.c - rank 0: files that other ranks read. */
#include "index/ingest/hashes.h"
#include "index/ingest/order.h"
#include "index/ingest/read.h"
#include "index/ranks/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { ORDERS_MAX = 16 }; /* orders that a rank has at a time: enough to keep it busy */

/* ---- the list of orders ---------------------------------------------------------------------- */

void order_remove(struct ingest *in, struct order *o)
{
    pthread_mutex_lock(&in->lock);
    for (struct order **at = &in->orders; *at; at = &(*at)->next)
        if (*at == o) {
            *at = o->next;
            break;
        }
    pthread_mutex_unlock(&in->lock);
}

bool order_is_full(struct ingest *in, unsigned rank)
{
    unsigned count = 0;

    pthread_mutex_lock(&in->lock);
    for (const struct order *o = in->orders; rank && o; o = o->next)
        count += o->rank == rank;
    pthread_mutex_unlock(&in->lock);
    return count >= ORDERS_MAX;
}

int order_begin(struct reader *r)
{
    struct order *o = calloc(1, sizeof *o);
    struct buf message = {0};

    if (!o)
        return -ENOMEM;
    o->run = r->run;
    o->rank = r->rank;
    o->expected = UINT64_MAX;
    o->kept = r->kept;
    o->finish = r->finish;
    pthread_mutex_lock(&r->in->lock);
    o->number = ++r->in->order_number;
    o->next = r->in->orders;
    r->in->orders = o;
    pthread_mutex_unlock(&r->in->lock);
    buf_putc(&message, RANK_ORDER);
    order_encode(r, o, &message);
    r->run->order = o;
    int rc = ranks_send(r->ix->ranks, o->rank, &message);
    if (rc == 0)
        return 0;
    r->run->order = NULL;
    order_remove(r->in, o);
    order_free(o);
    return rc;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Sends a number; retries until there is memory for it, because the rank waits for it. */
static void send_number(struct index *ix, unsigned rank, enum rank_message kind, uint64_t number)
{
    int rc;

    do {
        rc = ranks_send_number(ix->ranks, rank, kind, number);
    } while (ingest_again(ix->ingest, rc));
}

void order_send(struct index *ix, unsigned rank, enum rank_message kind, uint32_t order,
                uint64_t number)
{
    int rc;

    do {
        struct buf message = {0};
        buf_putc(&message, kind);
        rec_put_u(&message, order);
        rec_put_u(&message, number);
        rc = ranks_send(ix->ranks, rank, &message);
    } while (ingest_again(ix->ingest, rc));
}

void order_return_credits(struct index *ix, unsigned rank, size_t credits)
{
    if (credits)
        send_number(ix, rank, RANK_CREDITS, credits);
}

struct order *order_find(struct ingest *in, uint32_t number)
{
    struct order *o;

    pthread_mutex_lock(&in->lock);
    for (o = in->stopping ? NULL : in->orders; o && o->number != number;)
        o = o->next;
    pthread_mutex_unlock(&in->lock);
    return o;
}

struct result *order_decode_result(struct ingest *in, struct order *o, struct rec *message)
{
    struct result *r = NULL;
    struct rec rest;
    int rc;

    do {
        rest = *message;
        rc = result_decode(in->ix, o->run, &rest, &r);
    } while (ingest_again(in, rc));
    *message = rest;
    if (rc == 0)
        return r;
    while (!(r = calloc(1, sizeof *r)) && !ingest_stopping(in))
        ingest_rest(in);
    if (r)
        *r = (struct result){.run = o->run, .end = true, .abrupt = true, .error = rc};
    return r;
}

void order_count_result(struct ingest *in, struct order *o)
{
    o->results++;
    if (o->results == o->expected)
        order_remove(in, o);
}

static void finish_order(struct ingest *in, struct order *o, struct result *end)
{
    o->expected = end->abrupt ? o->results : end->seq;
    if (end->error == 0 && o->finish && o->run->hashes_lost &&
        hashes_add_kept(in, o->run, o->kept, end) == -EPIPE)
        end->error = -EPIPE;
    end->finished = o->finish;
    if (o->results == o->expected)
        order_remove(in, o);
    pthread_mutex_lock(&in->lock);
    in->reading--;
    pthread_mutex_unlock(&in->lock);
    ingest_wake_readers(in->ix); /* another order can be sent to the rank */
}

/* Retries until there is memory for them: later messages refer to them. */
static int decode_texts(struct index *ix, unsigned rank, struct rec *message)
{
    struct rec rest;
    int rc;

    do {
        rest = *message;
        rc = ranks_decode_texts(ix->ranks, rank, ix->texts, &rest);
    } while (ingest_again(ix->ingest, rc));
    *message = rest;
    return rc;
}

void order_result(struct index *ix, unsigned rank, struct rec *message)
{
    struct ingest *in = ix->ingest;

    message->ids = ranks_ids(ix->ranks, rank);
    message->bad = decode_texts(ix, rank, message) < 0;
    struct order *o = order_find(in, (uint32_t)rec_u(message));
    struct result *r = o ? order_decode_result(in, o, message) : NULL;
    if (!r)
        return;
    r->rank = rank;
    if (!r->end && atomic_load(&o->run->cancelled) && !o->cancelled) {
        o->cancelled = true;
        send_number(ix, o->rank, RANK_CANCEL, o->number);
    }
    if (r->end)
        finish_order(in, o, r);
    else
        order_count_result(in, o);
    ingest_post(in, r);
}

/* ---- garbage, and the end -------------------------------------------------------------------- */

void orders_forget(struct index *ix, const struct garbage *g)
{
    if (!ranks_is_first(ix->ranks) || g->kind == GARBAGE_SUMMARY)
        return;
    for (unsigned i = 1; i < ranks_count(ix->ranks); i++) {
        struct buf message = {0};
        buf_putc(&message, RANK_FORGET);
        rec_put_u(&message, g->kind);
        rec_put_u(&message, g->file);
        rec_put_u(&message, g->a);
        rec_put_u(&message, g->b);
        ranks_send(ix->ranks, i, &message);
    }
}

/* Drops orders that no reader has begun. */
static void drop_orders(struct ingest *in)
{
    struct order *dropped = NULL, *o;

    pthread_mutex_lock(&in->lock);
    for (struct order **at = &in->orders; (o = *at);) {
        if (o->begun) {
            at = &o->next;
            continue;
        }
        *at = o->next;
        o->next = dropped;
        dropped = o;
    }
    pthread_mutex_unlock(&in->lock);
    for (; (o = dropped);) {
        dropped = o->next;
        run_free(o->run);
    }
}

void orders_stop(struct ingest *in)
{
    struct order *o;

    if (in->ix->ranks && !ranks_is_first(in->ix->ranks))
        drop_orders(in);
    while (ranks_is_first(in->ix->ranks) && (o = in->orders)) {
        struct result *end = calloc(1, sizeof *end);
        if (!end) {
            usleep(10000);
            continue;
        }
        *end = (struct result){.run = o->run, .end = true, .abrupt = true, .error = -EPIPE};
        order_remove(in, o);
        ingest_post(in, end);
    }
}
