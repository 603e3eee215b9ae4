/* spread.c - an index that is spread over several ranks: connects them when it is opened, and
 * handles their messages. */
#include "index/catalog/catalog.h"
#include "index/ingest/order.h"
#include "index/mirror.h"
#include "index/ranks/ranks.h"
#include "index/spread.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_SHARE 16 /* 1/16 of the memory limit is used for chunks of other ranks */

int spread_init(struct index *ix)
{
    const struct index_ranks *links = ix->options.ranks;

    if (!links || links->count <= 1)
        return queues_init(ix);
    if (links->count > INDEX_RANKS_MAX)
        return -E2BIG;
    ix->ranks = ranks_new(links);
    ix->remote_cache =
        ix->ranks ? remote_cache_new(ix->ranks, ix->options.memory / CACHE_SHARE) : NULL;
    ix->mirror = links->rank > 0 ? mirror_new() : NULL;
    return ix->remote_cache && (ix->mirror || links->rank == 0) ? queues_init(ix) : -ENOMEM;
}

/* ---- homes ----------------------------------------------------------------------------------- */

/* Uuids of the stores that have or had chunks, in the order of their homes, which start at 1. */
struct homes {
    VEC(char *) uuids;
};

static void homes_done(struct homes *h)
{
    for (size_t i = 0; i < h->uuids.count; i++)
        free(h->uuids.at[i]);
    vec_done(&h->uuids);
}

static int homes_add(struct homes *h, struct text uuid)
{
    char *copy = strndup(uuid.len ? uuid.ptr : "", uuid.len);
    int rc = copy ? vec_push(&h->uuids, copy) : -ENOMEM;

    if (rc)
        free(copy);
    return rc;
}

static int homes_load(struct index *ix, struct homes *h)
{
    struct kv_key key = kv_key_of_name("homes");
    struct kv_read *r;
    struct text value;
    int rc = kv_read_begin(ix->kv, &r);

    if (rc)
        return rc;
    rc = kv_get(r, KV_META, &key, &value);
    struct rec rec = rec_of(rc ? (struct text){NULL, 0} : value);
    while (rc == 0 && rec.ptr < rec.end && !rec.bad)
        rc = homes_add(h, rec_text(&rec));
    kv_read_end(r);
    return rc == -ENOENT ? 0 : rc ? rc : rec.bad ? ERR_CORRUPT : 0;
}

static int homes_store(struct index *ix, const struct homes *h)
{
    struct kv_batch *b = kv_batch_new();
    struct kv_key key = kv_key_of_name("homes");
    struct buf value = {0};

    for (size_t i = 0; i < h->uuids.count; i++)
        rec_put_text(&value, text_of(h->uuids.at[i]));
    if (b)
        kv_put_buf(b, KV_META, &key, &value);
    buf_done(&value);
    int rc = b ? kv_commit(ix->kv, b) : -ENOMEM;
    kv_batch_free(b);
    return rc;
}

/* Sets *ret to the home of a store, which is added if it is new. */
static int homes_find_or_add(struct homes *h, struct text uuid, unsigned *ret)
{
    for (size_t i = 0; i < h->uuids.count; i++) {
        *ret = (unsigned)i + 1;
        if (text_eq(text_of(h->uuids.at[i]), uuid))
            return 0;
    }
    *ret = (unsigned)h->uuids.count + 1;
    return *ret > UINT16_MAX ? -EOVERFLOW : homes_add(h, uuid);
}

/* ---- connecting ------------------------------------------------------------------------------ */

static int connect_rank(struct index *ix, unsigned rank, struct homes *h)
{
    struct buf request = {0}, answer = {0};
    unsigned home;

    buf_putc(&request, RANK_HELLO);
    int rc = ranks_request(ix->ranks, rank, &request, &answer);
    struct rec rec = rec_of((struct text){answer.data, answer.len});
    rc = rc ? rc : homes_find_or_add(h, rec_text(&rec), &home);
    rc = rc ? rc : ranks_decode_texts(ix->ranks, rank, ix->texts, &rec);
    if (rc == 0)
        ranks_set_home(ix->ranks, rank, home);
    buf_done(&request);
    buf_done(&answer);
    return rc;
}

/* Returns UINT_MAX if the store of the chunk is not available. */
static unsigned rank_of_chunk(const struct index *ix, const struct index_chunk *c)
{
    unsigned rank = c->home ? ranks_at(ix->ranks, c->home) : 0;

    return c->home && !rank ? UINT_MAX : rank;
}

static bool has_all_chunks(const struct index *ix, const struct index_file *f)
{
    for (uint32_t i = 0; i < f->chunk_count; i++)
        if (rank_of_chunk(ix, &f->chunks[i]) == UINT_MAX)
            return false;
    return true;
}

static bool has_chunks_at(const struct index *ix, const struct index_file *f, unsigned rank)
{
    for (uint32_t i = 0; i < f->chunk_count; i++)
        if (rank_of_chunk(ix, &f->chunks[i]) == rank)
            return true;
    return false;
}

/* Treats the file as if another one had replaced it. */
static int mark_for_rebuild(struct index *ix, struct entry *e)
{
    struct view *v = view_hidden(e->view);

    if (!v)
        return -ENOMEM;
    e->replaced = e->rebuild = true;
    catalog_publish(ix, e, v);
    return 0;
}

/* A file with a chunk that is no longer available is read again. Any other completely read file is
 * assigned to the ranks that have its chunks. One that was still being read (INDEX_INDEXING) is
 * assigned later: much of it may be left. */
static int assign_files(struct index *ix)
{
    int rc = 0;

    for (size_t i = 0; i < ix->entries.count && rc == 0; i++) {
        struct entry *e = ix->entries.at[i];
        const struct index_file *f = &e->view->pub;
        if (!has_all_chunks(ix, f))
            rc = ix->read_only ? 0 : mark_for_rebuild(ix, e);
        else if (ix->ranks && f->chunk_count && f->state != INDEX_INDEXING)
            rc = queue_assign(ix, e);
    }
    return rc;
}

/* Sends to a rank the list of files whose chunks it keeps. */
static int send_keep(struct index *ix, unsigned rank)
{
    struct buf ids = {0}, message = {0};
    uint64_t count = 0;

    for (size_t i = 0; i < ix->entries.count; i++) {
        const struct entry *e = ix->entries.at[i];
        if (!has_all_chunks(ix, &e->view->pub) || !has_chunks_at(ix, &e->view->pub, rank))
            continue;
        rec_put_u(&ids, e->view->pub.id);
        count++;
    }
    buf_putc(&message, RANK_KEEP);
    rec_put_u(&message, count);
    buf_append(&message, ids.data, ids.len);
    message.error = message.error ? message.error : ids.error;
    buf_done(&ids);
    return ranks_send(ix->ranks, rank, &message);
}

int spread_connect(struct index *ix, struct err *err)
{
    struct homes h = {0};
    bool first = ranks_is_first(ix->ranks);
    unsigned count = first ? ranks_count(ix->ranks) : 1;
    int rc = first ? homes_load(ix, &h) : 0, unreachable = 0;
    size_t known = h.uuids.count;

    for (unsigned i = 1; i < count && rc == 0; i++)
        rc = unreachable = connect_rank(ix, i, &h);
    if (rc == 0 && h.uuids.count > known)
        rc = homes_store(ix, &h);
    rc = rc ? rc : assign_files(ix);
    for (unsigned i = 1; i < count && rc == 0; i++)
        rc = unreachable = send_keep(ix, i);
    homes_done(&h);
    if (unreachable)
        return err_set(err, rc, "the other ranks cannot be reached: %s", err_text(rc));
    return rc ? err_set(err, rc, "cannot assign files to ranks: %s", err_text(rc)) : 0;
}

/* ---- messages of other ranks ----------------------------------------------------------------- */

static void forget_garbage(struct index *ix, struct rec *message)
{
    struct garbage g = {.kind = (uint8_t)rec_choice(message, GARBAGE_SUMMARY)};

    g.file = (uint32_t)rec_u(message);
    g.a = (uint32_t)rec_u(message);
    g.b = (uint32_t)rec_u(message);
    if (!message->bad)
        order_forget(ix, &g);
}

static void record_error(struct index *ix, unsigned rank, int error)
{
    pthread_mutex_lock(&ix->lock);
    ranks_set_error(ix->ranks, rank, error);
    catalog_changed(ix);
    pthread_mutex_unlock(&ix->lock);
    catalog_notify(ix);
}

void index_receive(struct index *ix, unsigned from, struct text message)
{
    struct rec rec = rec_of(message);

    switch ((enum rank_message)rec_u(&rec)) {
    case RANK_KEEP:
        order_keep(ix, &rec);
        break;
    case RANK_ORDER:
        order_receive(ix, &rec);
        break;
    case RANK_CANCEL:
        order_cancel(ix, &rec);
        break;
    case RANK_CREDITS:
        ingest_give_credits(ix->ingest, (size_t)rec_i(&rec));
        break;
    case RANK_FORGET:
        forget_garbage(ix, &rec);
        break;
    case RANK_STOP:
        if (ix->rank_handler.stop)
            ix->rank_handler.stop(ix->rank_handler.arg, (uint64_t)rec_i(&rec));
        break;
    case RANK_ERROR:
        record_error(ix, from, (int)rec_i(&rec));
        break;
    case RANK_RESULT:
        order_result(ix, from, &rec);
        break;
    case RANK_HELP:
        help_begin(ix, &rec);
        break;
    case RANK_TEXT:
        help_text(ix, from, &rec);
        break;
    case RANK_TEXT_END:
        help_end(ix, &rec);
        break;
    case RANK_SCANNED:
        divided_scanned(ix, from, &rec);
        break;
    }
}

int index_answer(struct index *ix, unsigned from, struct text request, struct buf *answer)
{
    struct rec rec = rec_of(request);

    (void)from;
    switch ((enum rank_request)rec_u(&rec)) {
    case RANK_HELLO:
        rec_put_text(answer, text_of(ix->uuid));
        /* rank 0 has all texts with ids below this */
        ix->ingest->texts_sent = text_ids_encode(ix->texts, 0, answer);
        return answer->error;
    case RANK_CHUNK:
        return remote_chunk_answer(ix->kv, &rec, answer);
    case RANK_SCAN:
        return mirror_answer(ix, &rec, answer);
    case RANK_KNOWN_FILES:
        return mirror_known_files(ix, &rec, answer);
    case RANK_ADD_SNAPSHOT:
        return mirror_add_snapshot(ix, &rec);
    case RANK_CHECKPOINT:
        return remote_checkpoint_answer(ix->kv, &rec, answer);
    }
    return -EINVAL;
}
