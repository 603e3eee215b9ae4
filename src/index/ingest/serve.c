/* serve.c - a rank other than 0: reads files for rank 0, and keeps the values of their chunks. */
#include "index/catalog/names.h"
#include "index/ingest/ingest.h"
#include "index/ingest/order.h"
#include "index/ingest/read.h"
#include "index/ingest/write.h"
#include "index/ranks/ranks.h"
#include "index/store/checkpoint_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- messages -------------------------------------------------------------------------------- */

void order_add(struct index *ix, const struct rec *message, bool helps)
{
    struct ingest *in = ix->ingest;
    struct order *o, **at = &in->orders;
    int rc;

    do {
        struct rec again = *message;
        rc = order_decode(ix, &again, &o);
    } while (ingest_again(in, rc));
    if (rc)
        return;
    o->begun = o->helps = helps;
    pthread_mutex_lock(&in->lock);
    in->active += helps;
    while (*at)
        at = &(*at)->next;
    *at = o;
    pthread_mutex_unlock(&in->lock);
}

void order_receive(struct index *ix, struct rec *message)
{
    order_add(ix, message, false);
    ingest_wake_readers(ix);
}

void order_cancel(struct index *ix, struct rec *message)
{
    struct ingest *in = ix->ingest;
    uint32_t number = (uint32_t)rec_i(message);

    pthread_mutex_lock(&in->lock);
    for (struct order *o = in->orders; o; o = o->next)
        if (o->number == number)
            atomic_store(&o->run->cancelled, RUN_CANCELLED);
    pthread_mutex_unlock(&in->lock);
}

void order_forget(struct index *ix, const struct garbage *g)
{
    struct ingest *in = ix->ingest;

    pthread_mutex_lock(&in->lock);
    (void)vec_push(&in->forgotten, *g); /* out of memory: the next start deletes it */
    pthread_mutex_unlock(&in->lock);
    ingest_wake(ix);
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Deletes the chunks of files that are not in the list, which is sorted. */
static void forget_others(struct index *ix, const uint32_t *ids, size_t count)
{
    struct kv_cursor c;
    struct kv_read *r;
    uint32_t last = 0;

    if (kv_read_begin(ix->kv, &r) < 0)
        return;
    kv_begin(r, KV_CHUNK, NULL, &c);
    while (kv_next(&c) || kv_skip(&c)) {
        uint32_t id = c.key.len >= 4 ? kv_get_u32((const uint8_t *)c.key.ptr) : 0;
        if (id != last && !bsearch(&id, ids, count, sizeof id, compare_ids))
            order_forget(ix, &(struct garbage){.kind = GARBAGE_FILE, .file = id});
        last = id;
    }
    kv_end(&c);
    kv_read_end(r);
}

void order_keep(struct index *ix, struct rec *message)
{
    uint64_t count = rec_count(message, 1);
    uint32_t *ids = malloc((count + 1) * sizeof *ids);

    for (uint64_t i = 0; ids && i < count; i++)
        ids[i] = (uint32_t)rec_u(message);
    if (ids && count)
        qsort(ids, count, sizeof *ids, compare_ids);
    if (ids && !message->bad)
        forget_others(ix, ids, count);
    free(ids);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct run *order_next(struct ingest *in)
{
    struct run *run = NULL;

    if (!in->ix->ranks || ranks_is_first(in->ix->ranks))
        return NULL;
    pthread_mutex_lock(&in->lock);
    for (struct order *o = in->orders; o && !run; o = o->next)
        if (!o->begun) {
            o->begun = true;
            run = o->run;
        }
    pthread_mutex_unlock(&in->lock);
    return run;
}

void order_read(struct reader *r)
{
    const struct order *o = r->run->order;

    r->finish = o->finish;
    r->skip_to = o->skip_to;
    r->resumed = o->resumed;
    int rc = o->resumed ? checkpoint_clone(&o->from, &r->from) : 0;
    r->fd = open(o->entry.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    rc = rc ? rc : r->fd < 0 ? -errno : reader_text(r);
    divided_end(r);
    reader_end(r, rc);
    reader_close(r);
}

/* ---- the writer ------------------------------------------------------------------------------ */

static void append_served(struct writer *w, struct result *r)
{
    r->next = NULL;
    *w->served_end = r;
    w->served_end = &r->next;
}

/* Workers may still be scanning chunks when the reader has reached the end. */
void serve_result(struct writer *w, struct result *r)
{
    struct order *o = r->run->order;
    struct kv_key key = kv_key_of_chunk(r->run->id, (uint32_t)r->chunk.number, r->run->version);

    if (kv_batch_is_empty(w->batch) && !w->dirty && !w->served)
        w->first_ns = clock_mono_ns();
    if (r->end) {
        o->end = r;
    } else {
        if (!r->error && r->value.data)
            kv_put_buf(w->batch, KV_CHUNK, &key, &r->value);
        o->served++;
        append_served(w, r);
    }
    if (!o->end || o->served + divided_sent(o) < o->end->seq)
        return;
    append_served(w, o->end);
    pthread_mutex_lock(&w->in->lock);
    w->in->active--;
    pthread_mutex_unlock(&w->in->lock);
}

/* Removes the chunk from the batch, and records the error. */
static void drop_chunk(struct writer *w, struct result *r, int error)
{
    struct kv_key key = kv_key_of_chunk(r->run->id, (uint32_t)r->chunk.number, r->run->version);

    if (!r->end)
        kv_batch_forget(w->batch, KV_CHUNK, 0, &key);
    r->error = r->error ? r->error : error;
}

/* Retries until there is memory for the message. */
static void send_result(struct index *ix, const struct result *r)
{
    struct ingest *in = ix->ingest;
    uint32_t texts;
    int rc;

    do {
        struct buf message = {0};
        buf_putc(&message, RANK_RESULT);
        texts = text_ids_encode(ix->texts, in->texts_sent, &message);
        rec_put_u(&message, r->run->order->number);
        result_encode(ix, r, &message);
        rc = ranks_send(ix->ranks, 0, &message);
    } while (ingest_again(in, rc));
    if (rc == 0)
        in->texts_sent = texts;
}

void serve_committed(struct writer *w, int error)
{
    struct result *r = w->served, *next;

    w->served = NULL;
    w->served_end = &w->served;
    for (; r; r = next) {
        next = r->next;
        if (error)
            drop_chunk(w, r, error);
        if (!r->end || !r->run->order->helps)
            send_result(w->ix, r);
        if (r->end) {
            order_remove(w->in, r->run->order);
            run_free(r->run);
        }
        result_free(r);
    }
}

void serve_forgotten(struct writer *w)
{
    struct ingest *in = w->in;

    pthread_mutex_lock(&in->lock);
    for (size_t i = 0; i < in->forgotten.count; i++) {
        garbage_delete(w->batch, &in->forgotten.at[i]);
        w->files_deleted += in->forgotten.at[i].kind == GARBAGE_FILE;
    }
    in->forgotten.count = 0;
    pthread_mutex_unlock(&in->lock);
}
