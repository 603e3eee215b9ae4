/* press.c - files in the making, whose text becomes gzip members by all threads.
 *
 * Members are cut by the text alone and wait in one line for all files; when there are enough for the threads they are compressed
 * together and then written in that order, so bytes and order of files do not depend on the threads.
 */
#include "gzip.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEMBER = 1 << 20, /* of text, and on to the end of the line ...             */
    MEMBER_MOST = MEMBER + TRACE_LINE_MAX +
                  (1 << 16), /* ... longer is no line of a trace, even a mended one */
    WAITING_BYTES = 2 << 20, /* of text, for each thread                              */
    WAITING_PIECES = 64,     /* for each thread: small files ...                      */
    WAITING_MOST = 256,      /* ... each of which is open                             */
    THREAD_BYTES = 3 << 20,  /* what a thread needs: tables, and room for what it makes */
};

/* A member to be; with `name` the last one of its file, which it owns then. */
struct piece {
    struct piece *next;
    struct press_file *file;
    struct buf text, out;
    size_t charged; /* to the budget, for the text */
    char *name;
    uint64_t *bytes;
    struct hash128 *hash;
    int rc;
};

struct press {
    struct pool *pool;
    struct outlet *outlet;
    struct press_options options;
    unsigned threads, pieces; /* at work at once; waiting, at most */
    size_t charged;           /* for the threads          */
    struct piece *first, **last;
    struct piece **jobs;
    unsigned job_count;
    atomic_uint next_job;
    size_t waiting, waiting_bytes;
    pthread_mutex_t lock;      /* of `idle` */
    struct gzip_packer **idle; /* room for one a thread */
    unsigned idle_count;
};

struct press_file {
    struct press *press;
    struct outlet_file *out;
    struct buf text;
    size_t charged; /* for the text */
    uint64_t text_bytes;
    struct hasher hasher;
};

/* Nothing is to be done with the text. */
static bool is_plain(const struct press_options *o)
{
    return !o->level && !o->check;
}

/* ---- memory ---- */

static int charge(const struct press *p, size_t bytes, size_t *charged)
{
    int rc = p->options.budget ? budget_charge(p->options.budget, bytes) : 0;
    *charged += rc == 0 ? bytes : 0;
    return rc;
}

static void release(const struct press *p, size_t charged)
{
    if (p->options.budget)
        budget_release(p->options.budget, charged);
}

/* Room for more text, charged before it is taken. */
static int reserve(struct press_file *f, size_t more)
{
    size_t need = f->text.len + more, cap = f->charged ? f->charged : 4096;
    while (cap < need)
        cap *= 2;
    int rc = cap > f->charged ? charge(f->press, cap - f->charged, &f->charged) : 0;
    return rc < 0 ? rc : buf_reserve(&f->text, more) ? 0 : -ENOMEM;
}

/* There may be more processors than a quarter of the request's memory is for, with what waits for them. */
static unsigned threads_of(const struct pool *pool, const struct budget *budget)
{
    unsigned threads = pool ? pool_threads(pool) + 1 : 1;
    if (!budget || !budget->memory_limit)
        return threads;
    size_t most = budget->memory_limit / 4 / (THREAD_BYTES + 2 * WAITING_BYTES);
    return threads < most ? threads : most ? (unsigned)most : 1;
}

int press_new(struct pool *pool, struct outlet *outlet, const struct press_options *options,
              struct press **ret)
{
    struct press *p = calloc(1, sizeof *p);
    if (!p)
        return -ENOMEM;
    p->pool = pool;
    p->outlet = outlet;
    p->options = *options;
    p->threads = threads_of(pool, options->budget);
    p->pieces = p->threads * WAITING_PIECES;
    if (p->pieces > WAITING_MOST)
        p->pieces = p->threads < WAITING_MOST ? WAITING_MOST : p->threads;
    p->last = &p->first;
    p->jobs = calloc(p->pieces, sizeof *p->jobs);
    p->idle = calloc(p->threads, sizeof *p->idle);
    pthread_mutex_init(&p->lock, NULL);
    int rc = p->jobs && p->idle ? 0 : -ENOMEM;
    if (rc == 0 && !is_plain(options))
        rc = charge(p, (size_t)p->threads * THREAD_BYTES, &p->charged);
    if (rc < 0)
        return press_free(p), rc;
    *ret = p;
    return 0;
}

static void file_free(struct press_file *f)
{
    if (!f)
        return;
    outlet_file_drop(f->out);
    buf_done(&f->text);
    release(f->press, f->charged);
    free(f);
}

static void piece_free(struct press *p, struct piece *piece)
{
    release(p, piece->charged);
    if (piece->name)
        file_free(piece->file);
    free(piece->name);
    buf_done(&piece->text);
    buf_done(&piece->out);
    free(piece);
}

/* Takes the pieces of a file (NULL: all) out of the line. */
static void forget(struct press *p, const struct press_file *f)
{
    struct piece **at = &p->first;
    while (*at) {
        struct piece *piece = *at;
        if (f && piece->file != f) {
            at = &piece->next;
            continue;
        }
        *at = piece->next;
        p->waiting--;
        p->waiting_bytes -= piece->text.len;
        piece_free(p, piece);
    }
    p->last = at;
}

void press_free(struct press *p)
{
    if (!p)
        return;
    forget(p, NULL);
    for (unsigned i = 0; i < p->idle_count; i++)
        gzip_packer_free(p->idle[i]);
    release(p, p->charged);
    free(p->idle);
    free(p->jobs);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

int press_open(struct press *p, struct err *err, struct press_file **ret)
{
    struct press_file *f = aligned_alloc(_Alignof(struct press_file), sizeof *f);
    if (!f)
        return -ENOMEM;
    *f = (struct press_file){.press = p};
    hasher_begin(&f->hasher, 0);
    int rc = outlet_file_new(p->outlet, err, &f->out);
    if (rc < 0)
        return file_free(f), rc;
    *ret = f;
    return 0;
}

void press_drop(struct press_file *f)
{
    if (f)
        forget(f->press, f);
    file_free(f);
}

uint64_t press_text_bytes(const struct press_file *f)
{
    return f->text_bytes;
}

/* ---- compressing ---- */

static struct gzip_packer *take(struct press *p)
{
    struct gzip_packer *packer = NULL;
    pthread_mutex_lock(&p->lock);
    if (p->idle_count)
        packer = p->idle[--p->idle_count];
    pthread_mutex_unlock(&p->lock);
    return packer ? packer : gzip_packer_new(p->options.level);
}

static void give_back(struct press *p, struct gzip_packer *packer)
{
    pthread_mutex_lock(&p->lock);
    if (p->idle_count < p->threads) {
        p->idle[p->idle_count++] = packer;
        packer = NULL;
    }
    pthread_mutex_unlock(&p->lock);
    gzip_packer_free(packer);
}

/* Shows what a reader would get. */
static int check(const struct press *p, const struct piece *piece)
{
    struct buf back = {0};
    int rc = gunzip_member((struct text){piece->out.data, piece->out.len}, piece->text.len, &back);
    if (rc == 0)
        p->options.check(p->options.arg, (struct text){back.data, back.len});
    buf_done(&back);
    return rc;
}

static void compress(struct press *p, struct piece *piece)
{
    if (!piece->text.len && piece->file->text_bytes)
        return; /* the members before it are the whole file */
    struct gzip_packer *packer = p->options.level ? take(p) : NULL;
    piece->rc = -ENOMEM;
    if (!p->options.level) {
        p->options.check(p->options.arg, (struct text){piece->text.data, piece->text.len});
        piece->rc = 0;
        piece->out = piece->text;
        piece->text = (struct buf){0};
    } else if (packer) {
        piece->rc = gzip_packer_member(packer, (struct text){piece->text.data, piece->text.len},
                                       &piece->out);
        give_back(p, packer);
        if (piece->rc == 0 && p->options.check)
            piece->rc = check(p, piece);
    }
    buf_done(&piece->text);
}

/* No more of these run at once than are charged for, whatever the number of jobs. */
static void compress_some(void *arg, unsigned worker)
{
    struct press *p = arg;
    (void)worker;
    for (unsigned i; (i = atomic_fetch_add(&p->next_job, 1)) < p->job_count;)
        compress(p, p->jobs[i]);
}

static int put(struct press_file *f, struct text bytes, struct err *err)
{
    hasher_add(&f->hasher, bytes.ptr, bytes.len);
    return outlet_file_write(f->out, bytes, err);
}

static int hand_over(struct press_file *f, const char *name, uint64_t *bytes, struct hash128 *hash,
                     struct err *err)
{
    struct outlet_file *out = f->out;
    if (bytes)
        *bytes = outlet_file_size(out);
    if (hash)
        *hash = hasher_end(&f->hasher);
    f->out = NULL;
    return outlet_file_finish(out, name, err);
}

static int write_piece(struct piece *piece, struct err *err)
{
    int rc = piece->rc;
    if (rc == 0)
        rc = put(piece->file, (struct text){piece->out.data, piece->out.len}, err);
    if (rc == 0 && piece->name)
        rc = hand_over(piece->file, piece->name, piece->bytes, piece->hash, err);
    return rc;
}

int press_flush(struct press *p, struct err *err)
{
    unsigned n = 0;
    int rc = 0;
    for (struct piece *piece = p->first; piece; piece = piece->next)
        p->jobs[n++] = piece;
    p->job_count = n;
    p->next_job = 0;
    if (n && p->pool)
        rc = pool_run(p->pool, n < p->threads ? n : p->threads, compress_some, p);
    else
        compress_some(p, 0);
    for (unsigned i = 0; i < n && rc == 0; i++)
        rc = write_piece(p->jobs[i], err);
    /* What was not written because of an error is of no use: its file is not whole. */
    p->waiting_bytes = 0;
    forget(p, NULL);
    return rc;
}

/* ---- cutting ---- */

/* The text of the file so far as a piece; `name`: see struct piece. */
static struct piece *piece_new(struct press_file *f, const char *name)
{
    struct piece *piece = calloc(1, sizeof *piece);
    if (!piece || (name && !(piece->name = strdup(name))))
        return free(piece), NULL;
    piece->file = f;
    piece->text = f->text;
    piece->charged = f->charged;
    f->text = (struct buf){0};
    f->charged = 0;
    return piece;
}

static int add_piece(struct press *p, struct piece *piece, struct err *err)
{
    *p->last = piece;
    p->last = &piece->next;
    p->waiting++;
    p->waiting_bytes += piece->text.len;
    bool enough = p->waiting_bytes >= (size_t)p->threads * WAITING_BYTES || p->waiting == p->pieces;
    return enough ? press_flush(p, err) : 0;
}

/* How much of the text belongs to the member in the making; *ret_whole: that completes it. */
static size_t part_of_member(const struct press_file *f, struct text text, bool *ret_whole)
{
    size_t have = f->text.len, from = have + 1 < MEMBER ? MEMBER - 1 - have : 0;
    size_t most = MEMBER_MOST - have < text.len ? MEMBER_MOST - have : text.len;
    const char *end = from < most ? memchr(text.ptr + from, '\n', most - from) : NULL;
    *ret_whole = end || have + most == MEMBER_MOST;
    return end ? (size_t)(end - text.ptr) + 1 : most;
}

int press_text(struct press_file *f, struct text text, struct err *err)
{
    int rc = 0;
    f->text_bytes += text.len;
    if (is_plain(&f->press->options))
        return put(f, text, err);
    while (text.len && rc == 0) {
        bool whole;
        struct piece *piece;
        size_t n = part_of_member(f, text, &whole);
        rc = reserve(f, n);
        buf_append(&f->text, text.ptr, rc == 0 ? n : 0);
        text.ptr += n;
        text.len -= n;
        if (rc == 0 && whole)
            rc = (piece = piece_new(f, NULL)) ? add_piece(f->press, piece, err) : -ENOMEM;
    }
    return rc;
}

int press_finish(struct press_file *f, const char *name, uint64_t *bytes, struct hash128 *hash,
                 struct err *err)
{
    if (is_plain(&f->press->options)) {
        int rc = hand_over(f, name, bytes, hash, err);
        return file_free(f), rc;
    }
    struct piece *last = piece_new(f, name);
    if (!last)
        return press_drop(f), -ENOMEM;
    last->bytes = bytes;
    last->hash = hash;
    return add_piece(f->press, last, err);
}
