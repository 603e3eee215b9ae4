/* ahead.c - inflates the text of one file with several threads: an idle worker inflates a piece of
 * a file that is being read, from where a gzip member seems to begin, or from a checkpoint of the
 * index that is being replaced.
 *
 * The reader uses a piece if it begins exactly where the reader has arrived (see trace.h), and
 * inflates everything else itself. So the result does not depend on pieces, only the time it takes.
 * Pieces have credits like chunks, but never wait for them, and chunks do not wait for the credits
 * of pieces: the reader always makes progress.
 *
 * Everything but inflating and searching is done under ingest.lock.
 */
#include "index/ingest/ahead.h"
#include "index/ingest/share.h"
#include "index/store/checkpoint_record.h"

#include <errno.h>
#include <stdlib.h>

#define PIECE_MIN (64u << 10)
#define PIECE_MAX (4u << 20)
#define FILE_MIN (64u << 10)       /* smaller files do not need help */
#define SEARCH_AHEAD (32ull << 20) /* bytes of the file after the reader that are searched */
#define SEARCH_STEP (1ull << 20)
/* successive unused pieces after which the search ends: the file has no members where they seem to
 * be */
#define LOST_MAX 16

struct slot {
    struct slot *next;
    uint64_t bit;              /* of the file, where the piece begins */
    struct trace_piece *piece; /* NULL if inflating it failed */
    size_t credits;
    bool done, dropped; /* dropped: the thread that fills it frees it */
};

struct ahead {
    struct trace_ahead base;
    struct ahead *next;
    struct ingest *in;
    int fd;
    size_t piece_text;
    uint64_t file_size;
    uint64_t file_at, text_at;           /* position of the reader in the file, and in its text */
    struct slot *slots;                  /* sorted by bit */
    struct slot *taken;                  /* the reader is using it */
    VEC(struct trace_checkpoint) starts; /* if empty, members are searched for */
    size_t start_next;                   /* position of the next one */
    size_t start_bytes;                  /* memory of `starts` */
    uint64_t member;                     /* file offset of the next piece; UINT64_MAX: unknown */
    uint64_t search;                     /* position up to which members were searched for */
    bool planning;                       /* a worker is searching for the next piece */
    bool ended;                          /* no more pieces are inflated */
    unsigned busy;                       /* number of workers that inflate pieces */
    unsigned lost;                       /* number of successive pieces that were not used */
};

/* ---- pieces ---------------------------------------------------------------------------------- */

static size_t piece_credits(const struct ahead *a)
{
    return a->piece_text + a->piece_text / 8; /* the last term: metadata of each block */
}

static bool has_credits(const struct ingest *in, size_t bytes)
{
    return in->ahead_used + bytes <= in->credits_max / 2 &&
           in->credits_used + in->ahead_used + bytes <= in->credits_max &&
           share_has_space(in, bytes);
}

static void take_credits(struct ingest *in, size_t bytes)
{
    in->ahead_used += bytes;
    share_charge(in, bytes);
}

static void give_credits(struct ingest *in, size_t bytes)
{
    in->ahead_used -= bytes;
    share_release(in, bytes);
}

static uint64_t checkpoint_bit(const struct trace_checkpoint *c)
{
    return c->file_offset * 8 + c->bits;
}

static void publish_first(struct ahead *a)
{
    atomic_store(&a->base.first, a->slots ? a->slots->bit : UINT64_MAX);
}

static void slot_free(struct ahead *a, struct slot *s)
{
    trace_piece_free(s->piece);
    give_credits(a->in, s->credits);
    free(s);
    pthread_cond_broadcast(&a->in->credit_cond);
}

/* Returns NULL if there are no credits, or there is a piece at this position already. */
static struct slot *slot_add(struct ahead *a, uint64_t bit)
{
    struct slot **at = &a->slots, *s;

    while (*at && (*at)->bit < bit)
        at = &(*at)->next;
    if ((*at && (*at)->bit == bit) || bit / 8 <= a->file_at ||
        !has_credits(a->in, piece_credits(a)) || !(s = calloc(1, sizeof *s)))
        return NULL;
    s->bit = bit;
    s->credits = piece_credits(a);
    take_credits(a->in, s->credits);
    s->next = *at;
    *at = s;
    publish_first(a);
    return s;
}

static void slot_drop(struct ahead *a, struct slot *s)
{
    s->dropped = true;
    if (s->done)
        slot_free(a, s);
    if (++a->lost == LOST_MAX)
        a->ended = true;
}

static struct trace_piece *piece_take(struct trace_ahead *base, uint64_t bit)
{
    struct ahead *a = (struct ahead *)base;
    struct ingest *in = a->in;
    struct slot *s;

    pthread_mutex_lock(&in->lock);
    a->file_at = bit / 8;
    while ((s = a->slots) && s->bit < bit) {
        a->slots = s->next;
        slot_drop(a, s);
    }
    if (s && s->bit != bit)
        s = NULL;
    /* The thread that fills it never waits for the reader, and does the work that the reader would
     * have to do. */
    while (s && !s->done)
        pthread_cond_wait(&in->ahead_cond, &in->lock);
    if (s) {
        a->slots = s->next;
        a->taken = s;
    }
    if (s && !s->piece) {
        a->taken = NULL;
        slot_free(a, s);
        s = NULL;
    }
    publish_first(a);
    pthread_cond_signal(&in->jobs_cond);
    pthread_mutex_unlock(&in->lock);
    return s ? s->piece : NULL;
}

static void piece_done(struct trace_ahead *base, struct trace_piece *piece, bool used)
{
    struct ahead *a = (struct ahead *)base;

    (void)piece; /* it is that of a->taken */
    pthread_mutex_lock(&a->in->lock);
    if (used) {
        a->in->pieces_used++;
        a->lost = 0;
        slot_free(a, a->taken);
    } else {
        slot_drop(a, a->taken);
    }
    a->taken = NULL;
    pthread_cond_signal(&a->in->jobs_cond);
    pthread_mutex_unlock(&a->in->lock);
}

/* ---- inflating pieces ------------------------------------------------------------------------ */

/* Returns the number of compressed bytes of about half a piece, so that members of different
 * lengths fit. */
static uint64_t piece_distance(const struct ahead *a)
{
    uint64_t bytes = a->text_at ? a->piece_text / 2 * a->file_at / a->text_at : a->piece_text / 20;

    return bytes < 4096 ? 4096 : bytes;
}

static uint64_t search_end(const struct ahead *a)
{
    uint64_t end = a->file_at + SEARCH_AHEAD;

    return end < a->file_size ? end : a->file_size;
}

static bool wants_help(struct ahead *a)
{
    uint64_t from = a->file_at + piece_distance(a);

    if (a->ended || a->planning || !has_credits(a->in, piece_credits(a)))
        return false;
    if (a->starts.count) {
        while (a->start_next < a->starts.count &&
               a->starts.at[a->start_next].file_offset <= a->file_at)
            a->start_next++;
        return a->start_next < a->starts.count;
    }
    if (a->member != UINT64_MAX && a->member <= a->file_at)
        a->member = UINT64_MAX;
    if (a->member == UINT64_MAX && a->search < from)
        a->search = from;
    return a->member != UINT64_MAX || a->search + SEARCH_STEP <= search_end(a) ||
           (a->search < search_end(a) && search_end(a) == a->file_size);
}

/* Returns the next member that is far enough from the last one. */
static uint64_t find_member(struct ahead *a, uint64_t from)
{
    uint64_t end = search_end(a), at = UINT64_MAX;

    if (from >= end)
        return at;
    pthread_mutex_unlock(&a->in->lock);
    if (trace_find_member(a->fd, from, end, &at) < 0)
        at = UINT64_MAX;
    pthread_mutex_lock(&a->in->lock);
    a->search = at == UINT64_MAX ? end : at + 1;
    return at;
}

/* Chooses where the next piece begins, and the bit at which the one after it begins. Returns false
 * if there is none. */
static bool plan_piece(struct ahead *a, struct trace_checkpoint *ret, uint64_t *ret_stop)
{
    *ret_stop = UINT64_MAX;
    if (a->starts.count) {
        *ret = a->starts.at[a->start_next++];
        if (a->start_next < a->starts.count)
            *ret_stop = checkpoint_bit(&a->starts.at[a->start_next]);
        return true;
    }
    a->planning = true;
    if (a->member == UINT64_MAX)
        a->member = find_member(a, a->search);
    uint64_t from = a->member;
    if (from != UINT64_MAX)
        a->member = find_member(a, from + piece_distance(a));
    a->planning = false;
    *ret = (struct trace_checkpoint){.kind = TRACE_AT_MEMBER, .file_offset = from};
    if (a->member != UINT64_MAX)
        *ret_stop = a->member * 8;
    return from != UINT64_MAX;
}

/* Inflates one piece into its slot. Returns the bit at which the next one can follow, or
 * UINT64_MAX. */
static uint64_t fill_slot(struct ahead *a, struct trace_reader *r, struct slot *s, uint64_t stop)
{
    struct ingest *in = a->in;
    struct trace_piece *p = NULL;
    uint64_t end = UINT64_MAX;

    pthread_mutex_unlock(&in->lock);
    pulse_beat();
    ingest_yield(in);
    if (r && trace_piece_read(r, a->piece_text, stop, &p) == 0)
        end = trace_piece_end(p);
    pthread_mutex_lock(&in->lock);
    s->piece = p;
    s->done = true;
    if (s->dropped)
        slot_free(a, s);
    pthread_cond_broadcast(&in->ahead_cond);
    return end < stop && !a->ended && !in->stopping && !in->jobs ? end : UINT64_MAX;
}

static void inflate_from(struct ahead *a, const struct trace_checkpoint *from, uint64_t stop)
{
    struct trace_reader_options options = {a->in->ix->options.engine, 0};
    struct trace_reader *r = NULL;
    struct slot *s = slot_add(a, checkpoint_bit(from));

    if (!s)
        return;
    pthread_mutex_unlock(&a->in->lock);
    if (trace_reader_open(a->fd, &options, from, NULL, &r) < 0)
        r = NULL;
    pthread_mutex_lock(&a->in->lock);
    while (s) {
        uint64_t end = fill_slot(a, r, s, stop);
        s = end == UINT64_MAX ? NULL : slot_add(a, end);
    }
    pthread_mutex_unlock(&a->in->lock);
    trace_reader_close(r);
    pthread_mutex_lock(&a->in->lock);
}

bool ahead_help(struct ingest *in)
{
    struct ahead *a = in->aheads;
    struct trace_checkpoint from;
    uint64_t stop;

    while (a && !wants_help(a))
        a = a->next;
    if (!a || in->stopping)
        return false;
    a->busy++;
    if (plan_piece(a, &from, &stop))
        inflate_from(a, &from, stop);
    a->busy--;
    pthread_cond_broadcast(&in->ahead_cond);
    return true;
}

/* ---- a file that is read --------------------------------------------------------------------- */

/* Loads checkpoints of the index that is being replaced. They are so few that their windows take
 * little memory. */
static void load_starts(struct ahead *a, const struct view *old)
{
    struct kv_key key = kv_key_of_u32(old->pub.id);
    uint64_t max = a->in->credits_max / 8, step = old->pub.text_bytes / (max / 32768 + 1);
    struct kv_cursor c;
    struct kv_read *kv;

    step = step > a->piece_text / 2 ? step : a->piece_text / 2;
    uint64_t next = step;
    if (kv_read_begin(a->in->ix->kv, &kv) < 0)
        return;
    kv_begin(kv, KV_CHECKPOINT, &key, &c);
    while (kv_next(&c) && a->start_bytes < max) {
        struct trace_checkpoint at;
        if (checkpoint_decode(c.key, c.value, &at) < 0 || at.text_offset < next ||
            !(at.in_gzip_member || at.kind == TRACE_AT_MEMBER))
            continue;
        if (vec_reserve(&a->starts, 1) < 0 ||
            checkpoint_clone(&at, &a->starts.at[a->starts.count]) < 0)
            break;
        a->starts.count++;
        a->start_bytes += at.window_len + sizeof at;
        next = at.text_offset + step;
    }
    kv_end(&c);
    kv_read_end(kv);
}

struct trace_ahead *ahead_begin(struct ingest *in, const struct run *run, int fd,
                                const struct trace_reader_info *at)
{
    const struct view *old = run->old;
    uint64_t size = run->index_params->checkpoint_size;
    struct ahead *a;

    if (in->ix->options.no_ahead || at->format != TRACE_GZIP || run->identity.size < FILE_MIN)
        return NULL;
    a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->base = (struct trace_ahead){UINT64_MAX, piece_take, piece_done};
    a->in = in;
    a->fd = fd;
    a->piece_text = size < PIECE_MIN ? PIECE_MIN : size < PIECE_MAX ? size : PIECE_MAX;
    a->file_size = run->identity.size;
    a->file_at = at->file_offset;
    a->text_at = at->text_offset;
    a->member = UINT64_MAX;
    if (run->fresh && old->pub.id && identity_same(&old->identity, &run->identity))
        load_starts(a, old);
    pthread_mutex_lock(&in->lock);
    take_credits(in, a->start_bytes);
    a->next = in->aheads;
    in->aheads = a;
    pthread_cond_broadcast(&in->jobs_cond);
    /* for tests, which need a piece to be complete before the reader has passed it */
    while (in->ix->options.await_ahead && !(a->slots && a->slots->done) &&
           (a->busy > 0 || wants_help(a)) && !in->stopping)
        pthread_cond_wait(&in->ahead_cond, &in->lock);
    pthread_mutex_unlock(&in->lock);
    return &a->base;
}

void ahead_at(struct trace_ahead *base, const struct trace_reader_info *at)
{
    struct ahead *a = (struct ahead *)base;

    if (!a)
        return;
    pthread_mutex_lock(&a->in->lock);
    a->file_at = at->file_offset;
    a->text_at = at->text_offset;
    pthread_mutex_unlock(&a->in->lock);
}

void ahead_end(struct trace_ahead *base)
{
    struct ahead *a = (struct ahead *)base, **at;
    struct ingest *in = a ? a->in : NULL;
    struct slot *s;

    if (!a)
        return;
    pthread_mutex_lock(&in->lock);
    a->ended = true;
    for (at = &in->aheads; *at != a; at = &(*at)->next)
        ;
    *at = a->next;
    while (a->busy > 0)
        pthread_cond_wait(&in->ahead_cond, &in->lock);
    while ((s = a->slots)) {
        a->slots = s->next;
        slot_free(a, s);
    }
    give_credits(in, a->start_bytes);
    pthread_mutex_unlock(&in->lock);
    for (uint32_t i = 0; i < a->starts.count; i++)
        free((void *)a->starts.at[i].window);
    vec_done(&a->starts);
    free(a);
}
