/* divided.c - a file that is larger than a rank's fair share: one rank reads its text, and sends
 * chunks to other ranks, which scan and keep them.
 *
 *   rank 0                rank that reads           rank that helps
 *   order_begin --order-> reads, inflates  --help,
 *                                            text-> scans
 *   takes results in      <-result--
 *   the order of text     <-result---------------- commits the values
 *
 * Rank 0 may help, too: its results then come from its own scanners. Each chunk goes to the rank
 * that would then have the smallest fraction of its share, so the assignment depends only on the
 * shares (catalog/queue.c) and on the sizes of the chunks. A helping rank has at most TEXTS_OUT
 * chunks of a reader that it has not scanned yet; their credits are held by the reader until then.
 */
#include "index/ingest/ingest.h"
#include "index/ingest/order.h"
#include "index/ingest/read.h"
#include "index/ranks/ranks.h"

#include <errno.h>
#include <stdlib.h>

enum { TEXTS_OUT = 4 };
#define TEXT_HEAD (64u << 10) /* about the size of a chunk's metadata, including its checkpoint */

/* Compares a / b < c / d without rounding and overflow. */
static bool ratio_is_less(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return (unsigned __int128)a * d < (unsigned __int128)c * b;
}

static unsigned next_rank(const struct order *o, uint64_t bytes)
{
    const struct divided_rank *d = o->divided;
    unsigned best = UINT32_MAX;

    for (unsigned i = 0; i < o->divided_count; i++)
        if (d[i].share &&
            (best == UINT32_MAX ||
             ratio_is_less(d[i].given + bytes, d[i].share, d[best].given + bytes, d[best].share)))
            best = i;
    return best;
}

/* Waits until the rank may receive another chunk. Returns false if ingest is stopping or the run
 * has been cancelled: then the chunk is no longer needed. */
static bool wait_for_turn(struct reader *r, struct divided_rank *d)
{
    struct ingest *in = r->in;

    pthread_mutex_lock(&in->lock);
    while (d->out >= TEXTS_OUT && !in->stopping)
        pthread_cond_wait(&in->credit_cond, &in->lock);
    bool ret = !in->stopping && !atomic_load(&r->run->cancelled);
    d->out += ret;
    pthread_mutex_unlock(&in->lock);
    return ret;
}

static int send_help(struct reader *r, unsigned rank)
{
    struct buf message = {0};

    buf_putc(&message, RANK_HELP);
    order_encode(r, r->run->order, &message);
    return ranks_send(r->ix->ranks, rank, &message);
}

static int send_text(struct reader *r, unsigned rank, const struct result *result)
{
    struct buf message = {0};

    buf_reserve(&message, result->chunk.len + TEXT_HEAD);
    buf_putc(&message, RANK_TEXT);
    rec_put_u(&message, r->run->order->number);
    result_encode(r->ix, result, &message);
    rec_put_text(&message, (struct text){result->chunk.text, result->chunk.len});
    return ranks_send(r->ix->ranks, rank, &message);
}

static int send_chunk(struct reader *r, unsigned rank, const struct result *result)
{
    bool knows = rank == 0 || r->run->order->divided[rank].chunks > 0;
    int rc = 0;

    while (!knows && ingest_again(r->in, rc = send_help(r, rank)))
        ;
    while (rc == 0 && ingest_again(r->in, rc = send_text(r, rank, result)))
        ;
    return rc;
}

bool divided_send(struct reader *r, struct result *result)
{
    struct order *o = r->run->order;

    if (!o || !o->divided)
        return false;
    unsigned rank = next_rank(o, result->chunk.len);
    struct divided_rank *d = &o->divided[rank];
    d->given += result->chunk.len;
    if (rank == ranks_own(r->ix->ranks) || !wait_for_turn(r, d))
        return false;
    if (send_chunk(r, rank, result))
        return false; /* the job ends */
    d->chunks++;
    result_free(result);
    return true;
}

uint64_t divided_sent(const struct order *o)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < o->divided_count; i++)
        count += o->divided[i].chunks;
    return count;
}

void divided_end(struct reader *r)
{
    const struct order *o = r->run->order;

    for (unsigned i = 1; i < o->divided_count; i++)
        if (o->divided[i].chunks)
            order_send(r->ix, i, RANK_TEXT_END, o->number, o->divided[i].chunks);
}

void divided_scanned(struct index *ix, unsigned from, struct rec *message)
{
    struct ingest *in = ix->ingest;
    uint32_t number = (uint32_t)rec_u(message);
    size_t credits = rec_u(message);

    pthread_mutex_lock(&in->lock);
    for (struct order *o = in->orders; o; o = o->next)
        if (o->number == number && from < o->divided_count)
            o->divided[from].out--;
    pthread_mutex_unlock(&in->lock);
    ingest_give_credits(in, credits);
}
