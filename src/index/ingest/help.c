/* help.c - a rank that scans chunks of a file that another one reads (divided.c). */
#include "index/ingest/ingest.h"
#include "index/ingest/order.h"
#include "index/ranks/ranks.h"

#include <errno.h>
#include <stdlib.h>

void help_begin(struct index *ix, struct rec *message)
{
    order_add(ix, message, true);
}

void help_text(struct index *ix, unsigned from, struct rec *message)
{
    struct ingest *in = ix->ingest;
    struct order *o = order_find(in, (uint32_t)rec_u(message));
    struct result *r = o ? order_decode_result(in, o, message) : NULL;

    if (!r)
        return;
    do {
        struct rec rest = *message;
        struct text text = rec_text(&rest);
        r->error = rest.bad ? ERR_CORRUPT : trace_chunk_copy(text, &r->chunk);
    } while (ingest_again(in, r->error));
    r->reader = from;
    r->reader_credits = r->credits;
    r->credits = 0;
    if (ranks_is_first(ix->ranks))
        order_count_result(in, o);
    if (r->error)
        ingest_post(in, r);
    else
        ingest_scan(in, r);
}

void help_scanned(struct index *ix, struct result *r)
{
    order_send(ix, r->reader, RANK_SCANNED, r->run->order->number, r->reader_credits);
}

/* Posts the end of the order, to be applied after `chunks` chunks. */
static void post_end(struct ingest *in, struct order *o, uint64_t chunks)
{
    struct result *end;

    while (!(end = calloc(1, sizeof *end)))
        ingest_rest(in);
    *end = (struct result){.run = o->run, .end = true, .seq = chunks};
    ingest_post(in, end);
}

/* Marks an order as ended. Returns NULL if it has ended already, or there is none. */
static struct order *mark_ended(struct ingest *in, uint32_t number, bool any)
{
    struct order *o;

    pthread_mutex_lock(&in->lock);
    for (o = in->orders; o && (!o->helps || o->ended || (!any && o->number != number));)
        o = o->next;
    if (o)
        o->ended = true;
    pthread_mutex_unlock(&in->lock);
    return o;
}

void help_end(struct index *ix, struct rec *message)
{
    uint32_t number = (uint32_t)rec_u(message);
    struct order *o = mark_ended(ix->ingest, number, false);

    if (o)
        post_end(ix->ingest, o, rec_u(message));
}

void help_stop(struct ingest *in)
{
    struct order *o;

    while ((o = mark_ended(in, 0, true)))
        post_end(in, o, 0);
}
