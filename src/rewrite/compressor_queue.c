/* compressor_queue.c - the queue of future members: jobs of the pool compress them, the caller's
 * thread writes them in order.
 *
 * The caller continues with the next text meanwhile; if the queue is full, it compresses, too.
 */
#include "rewrite/compressor.h"

#include <stdlib.h>

/* duration of a job, after which it queues again behind others */
#define JOB_NS (20 * 1000000ll)
/* Waking a thread for less text than this takes longer than compressing it. */
#define JOB_BYTES (256u << 10)

int compressor_queue_init(struct compressor *p)
{
    p->last = &p->first;
    p->references = 1;
    p->idle_encoders = calloc(p->threads, sizeof *p->idle_encoders);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->done, NULL);
    return p->idle_encoders ? 0 : -ENOMEM;
}

/* Drops a reference, and releases the lock, which the caller holds. */
static void drop_reference(struct compressor *p)
{
    bool last = --p->references == 0;
    pthread_mutex_unlock(&p->lock);
    if (last) {
        pthread_cond_destroy(&p->done);
        pthread_mutex_destroy(&p->lock);
        free(p);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

void compressor_file_free(struct compressor_file *f)
{
    if (!f)
        return;
    archive_writer_file_drop(f->out);
    buf_done(&f->text);
    charge_done(&f->charge);
    free(f);
}

int compressor_file_write(struct compressor_file *f, struct text bytes, struct err *err)
{
    hasher_add(&f->hasher, bytes.ptr, bytes.len);
    return archive_writer_file_write(f->out, bytes, err);
}

int compressor_file_finish(struct compressor_file *f, const char *name, uint64_t *ret_bytes,
                           struct hash128 *ret_hash, struct err *err)
{
    struct archive_writer_file *out = f->out;
    if (ret_bytes)
        *ret_bytes = archive_writer_file_size(out);
    if (ret_hash)
        *ret_hash = hasher_end(&f->hasher);
    f->out = NULL;
    return archive_writer_file_finish(out, name, err);
}

/* ---- one piece ------------------------------------------------------------------------------- */

static void piece_free(struct compressor_piece *piece)
{
    charge_done(&piece->charge);
    if (piece->name)
        compressor_file_free(piece->file);
    free(piece->name);
    buf_done(&piece->text);
    buf_done(&piece->out);
    free(piece);
}

/* Removes an encoder from the idle ones, or returns a *new* one; NULL without memory. */
static struct gzip_encoder *idle_encoder(struct compressor *p)
{
    struct gzip_encoder *encoder = NULL;
    pthread_mutex_lock(&p->lock);
    if (p->idle_encoder_count)
        encoder = p->idle_encoders[--p->idle_encoder_count];
    pthread_mutex_unlock(&p->lock);
    return encoder ? encoder : gzip_encoder_new(p->options.level);
}

/* Passes the text that a reader would get to `check`. */
static int check_piece(const struct compressor *p, const struct compressor_piece *piece)
{
    struct buf back = {0};
    int rc = gunzip_member((struct text){piece->out.data, piece->out.len}, piece->text.len, &back);
    if (rc == 0)
        p->options.check(p->options.arg, (struct text){back.data, back.len});
    buf_done(&back);
    return rc;
}

static int compress_piece(struct compressor *p, struct compressor_piece *piece)
{
    const struct text text = {piece->text.data, piece->text.len};
    if (!text.len && piece->file->text_bytes)
        return 0; /* the members before it are the whole file */
    if (!p->options.level) {
        p->options.check(p->options.arg, text);
        piece->out = piece->text;
        piece->text = (struct buf){0};
        return 0;
    }
    struct gzip_encoder *encoder = idle_encoder(p);
    if (!encoder)
        return -ENOMEM;
    int rc = gzip_encoder_member(encoder, text, &piece->out);
    pthread_mutex_lock(&p->lock);
    p->idle_encoders[p->idle_encoder_count++] = encoder;
    pthread_mutex_unlock(&p->lock);
    return rc == 0 && p->options.check ? check_piece(p, piece) : rc;
}

static int write_piece(struct compressor_piece *piece, struct err *err)
{
    int rc = piece->rc;
    if (rc == 0)
        rc =
            compressor_file_write(piece->file, (struct text){piece->out.data, piece->out.len}, err);
    if (rc == 0 && piece->name)
        rc = compressor_file_finish(piece->file, piece->name, piece->ret_bytes, piece->ret_hash,
                                    err);
    return rc;
}

/* ---- compression; the caller holds the lock -------------------------------------------------- */

/* Compresses the first piece that waits. Returns false if there is none. */
static bool compress_next(struct compressor *p)
{
    struct compressor_piece *piece = p->todo;
    if (!piece)
        return false;
    p->todo = piece->next;
    p->todo_bytes -= piece->text_len;
    piece->state = PIECE_RUNNING;
    pthread_mutex_unlock(&p->lock);
    piece->rc = compress_piece(p, piece);
    buf_done(&piece->text);
    pulse_beat();
    pthread_mutex_lock(&p->lock);
    piece->state = PIECE_DONE;
    pthread_cond_signal(&p->done);
    return true;
}

/* A job of the pool. It may run after compressor_queue_leave: then there is nothing to do. */
static void run_job(void *arg)
{
    struct compressor *p = arg;
    int64_t until = clock_mono_ns() + JOB_NS;
    pthread_mutex_lock(&p->lock);
    while (compress_next(p))
        if (p->todo && clock_mono_ns() > until && pool_submit(p->pool, run_job, p) == 0) {
            pthread_mutex_unlock(&p->lock);
            return;
        }
    p->jobs--;
    drop_reference(p);
}

/* Starts jobs. Without a job, the caller compresses a piece when it has to be written. */
static void start_jobs(struct compressor *p)
{
    for (size_t bytes = p->todo_bytes; p->pool && bytes >= JOB_BYTES && p->jobs + 1 < p->threads;) {
        if (pool_submit(p->pool, run_job, p) < 0)
            return;
        p->jobs++;
        p->references++;
        bytes -= bytes < COMPRESSOR_MEMBER_BYTES ? bytes : COMPRESSOR_MEMBER_BYTES;
    }
}

static void wait_done(struct compressor *p)
{
    pulse_rest();
    pthread_cond_wait(&p->done, &p->lock);
    pulse_beat();
}

/* ---- the queue ------------------------------------------------------------------------------- */

static struct compressor_piece *take_out(struct compressor *p, struct compressor_piece **at)
{
    struct compressor_piece *piece = *at;
    if (p->todo == piece)
        p->todo = piece->next;
    if (piece->state == PIECE_WAITING)
        p->todo_bytes -= piece->text_len;
    *at = piece->next;
    p->last = piece->next ? p->last : at;
    p->count--;
    p->bytes -= piece->text_len;
    return piece;
}

/* Writes pieces that are done, until the queue has less than `count` pieces and `bytes` of text, or
 * is empty. */
static int write_done(struct compressor *p, size_t count, size_t bytes, struct err *err)
{
    int rc = 0;
    pthread_mutex_lock(&p->lock);
    start_jobs(p);
    while (rc == 0 && p->first) {
        if (p->first->state == PIECE_DONE) {
            struct compressor_piece *piece = take_out(p, &p->first);
            pthread_mutex_unlock(&p->lock);
            rc = write_piece(piece, err);
            piece_free(piece);
            pthread_mutex_lock(&p->lock);
        } else if (p->count < count && p->bytes < bytes) {
            break;
        } else if (!compress_next(p)) {
            wait_done(p);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return rc;
}

int compressor_queue_add(struct compressor *p, struct compressor_piece *piece, struct err *err)
{
    pthread_mutex_lock(&p->lock);
    *p->last = piece;
    p->last = &piece->next;
    p->count++;
    p->bytes += piece->text_len;
    p->todo = p->todo ? p->todo : piece;
    p->todo_bytes += piece->text_len;
    pthread_mutex_unlock(&p->lock);
    return write_done(p, p->pieces, (size_t)p->threads * COMPRESSOR_WAITING_BYTES, err);
}

int compressor_flush(struct compressor *p, struct err *err)
{
    return write_done(p, 0, 0, err);
}

void compressor_queue_remove(struct compressor *p, const struct compressor_file *f)
{
    pthread_mutex_lock(&p->lock);
    p->todo = f ? p->todo : NULL;
    for (struct compressor_piece **at = &p->first; *at;) {
        if (f && (*at)->file != f)
            at = &(*at)->next;
        else if ((*at)->state == PIECE_RUNNING)
            wait_done(p);
        else
            piece_free(take_out(p, at));
    }
    pthread_mutex_unlock(&p->lock);
}

void compressor_queue_leave(struct compressor *p)
{
    for (unsigned i = 0; i < p->idle_encoder_count; i++)
        gzip_encoder_free(p->idle_encoders[i]);
    free(p->idle_encoders);
    pthread_mutex_lock(&p->lock);
    drop_reference(p);
}
