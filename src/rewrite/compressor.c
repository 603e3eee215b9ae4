/* compressor.c - compresses the text of files as gzip members with all threads.
 *
 * Members are cut by the text alone and wait in one queue for all files (compressor_queue.c), so
 * bytes and order of files do not depend on the threads.
 */
#include "rewrite/compressor.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* bytes of text; the line that completes a member fits, even a repaired one */
    MEMBER_MAX = COMPRESSOR_MEMBER_BYTES + TRACE_LINE_MAX + (1 << 16),
    /* pieces in the queue for each thread, of small files; and in all, because each file is open */
    WAITING_PIECES = 64,
    WAITING_MAX = 256,
    THREAD_BYTES = 3 << 20, /* memory of a thread: tables, and space for its output */
};

/* The text is neither compressed nor checked. */
static bool is_plain(const struct compressor_options *o)
{
    return !o->level && !o->check;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Reserves space for more text, and charges it first. */
static int reserve_text(struct compressor_file *f, size_t more)
{
    size_t need = f->text.len + more, cap = f->charge.bytes ? f->charge.bytes : 4096;
    while (cap < need)
        cap *= 2;
    int rc = charge_up_to(&f->charge, cap);
    return rc < 0 ? rc : buf_reserve(&f->text, more) ? 0 : -ENOMEM;
}

/* Returns the number of threads that a quarter of the request's memory allows, with the text that
 * waits for them. */
static unsigned threads_allowed(const struct pool *pool, const struct budget *budget)
{
    unsigned threads = pool ? pool_threads(pool) + 1 : 1;
    if (!budget || !budget->memory_limit)
        return threads;
    size_t max = budget->memory_limit / 4 / (THREAD_BYTES + 2 * COMPRESSOR_WAITING_BYTES);
    return threads < max ? threads : max ? (unsigned)max : 1;
}

int compressor_new(struct pool *pool, struct archive_writer *archive_writer,
                   const struct compressor_options *options, struct compressor **ret)
{
    struct compressor *p = calloc(1, sizeof *p);
    if (!p)
        return -ENOMEM;
    p->pool = pool;
    p->archive_writer = archive_writer;
    p->options = *options;
    p->charge.budget = options->budget;
    p->threads = threads_allowed(pool, options->budget);
    p->pieces = p->threads * WAITING_PIECES;
    if (p->pieces > WAITING_MAX)
        p->pieces = p->threads < WAITING_MAX ? WAITING_MAX : p->threads;
    int rc = compressor_queue_init(p);
    if (rc == 0 && !is_plain(options))
        rc = charge_add(&p->charge, (size_t)p->threads * THREAD_BYTES);
    if (rc < 0)
        compressor_free(p);
    else
        *ret = p;
    return rc;
}

void compressor_free(struct compressor *p)
{
    if (!p)
        return;
    compressor_queue_remove(p, NULL);
    charge_done(&p->charge);
    compressor_queue_leave(p);
}

int compressor_open(struct compressor *p, struct err *err, struct compressor_file **ret)
{
    struct compressor_file *f = aligned_alloc(_Alignof(struct compressor_file), sizeof *f);
    if (!f)
        return -ENOMEM;
    *f = (struct compressor_file){.compressor = p, .charge.budget = p->options.budget};
    hasher_begin(&f->hasher, 0);
    int rc = archive_writer_file_new(p->archive_writer, err, &f->out);
    if (rc < 0)
        compressor_file_free(f);
    else
        *ret = f;
    return rc;
}

void compressor_drop(struct compressor_file *f)
{
    if (f)
        compressor_queue_remove(f->compressor, f);
    compressor_file_free(f);
}

uint64_t compressor_text_bytes(const struct compressor_file *f)
{
    return f->text_bytes;
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* Returns a *new* piece, which owns the text of the file so far; NULL without memory. `name`: see
 * struct compressor_piece. */
static struct compressor_piece *piece_new(struct compressor_file *f, const char *name)
{
    struct compressor_piece *piece = calloc(1, sizeof *piece);
    if (!piece || (name && !(piece->name = strdup(name)))) {
        free(piece);
        return NULL;
    }
    piece->file = f;
    piece->text = f->text;
    piece->text_len = f->text.len;
    piece->charge = f->charge;
    f->text = (struct buf){0};
    f->charge.bytes = 0;
    return piece;
}

/* Returns the bytes of the text that belong to the current member; *ret_whole: they complete it. */
static size_t part_of_member(const struct compressor_file *f, struct text text, bool *ret_whole)
{
    size_t have = f->text.len,
           from = have + 1 < COMPRESSOR_MEMBER_BYTES ? COMPRESSOR_MEMBER_BYTES - 1 - have : 0;
    size_t max = MEMBER_MAX - have < text.len ? MEMBER_MAX - have : text.len;
    const char *end = from < max ? memchr(text.ptr + from, '\n', max - from) : NULL;
    *ret_whole = end || have + max == MEMBER_MAX;
    return end ? (size_t)(end - text.ptr) + 1 : max;
}

int compressor_text(struct compressor_file *f, struct text text, struct err *err)
{
    int rc = 0;
    f->text_bytes += text.len;
    if (is_plain(&f->compressor->options))
        return compressor_file_write(f, text, err);
    while (text.len && rc == 0) {
        bool whole;
        struct compressor_piece *piece;
        size_t n = part_of_member(f, text, &whole);
        rc = reserve_text(f, n);
        buf_append(&f->text, text.ptr, rc == 0 ? n : 0);
        text.ptr += n;
        text.len -= n;
        if (rc == 0 && whole)
            rc = (piece = piece_new(f, NULL)) ? compressor_queue_add(f->compressor, piece, err)
                                              : -ENOMEM;
    }
    return rc;
}

int compressor_finish(struct compressor_file *f, const char *name, uint64_t *ret_bytes,
                      struct hash128 *ret_hash, struct err *err)
{
    if (is_plain(&f->compressor->options)) {
        int rc = compressor_file_finish(f, name, ret_bytes, ret_hash, err);
        compressor_file_free(f);
        return rc;
    }
    struct compressor_piece *last = piece_new(f, name);
    if (!last) {
        compressor_drop(f);
        return -ENOMEM;
    }
    last->ret_bytes = ret_bytes;
    last->ret_hash = ret_hash;
    return compressor_queue_add(f->compressor, last, err);
}
