/* exchange.c - an answer while it is computed and sent: steps of work, pending bytes, waiting,
 * cancellation. */
#include "http/exchange/exchange.h"

#include "http/access/viewer.h"
#include "http/exchange/exchanges.h"
#include "http/exchange/site.h"
#include "http/exchange/steps.h"
#include "http/exchange/work.h"
#include "http/request/problem.h"

#include "dftracerd/rewrite.h"

#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define STALLED_NS 1000000000ll /* a client that has read nothing for this long is not waited for */
#define TRIM_NS (3 * 1000000000ll) /* likewise: its memory that can be refilled is freed */

struct exchange *exchange_new(struct http *h, const char *uri)
{
    struct exchange *x = calloc(1, sizeof *x);
    if (!x || !(x->uri = arena_strdup(&x->rq.arena, text_of(uri))))
        return free(x), NULL;
    x->http = h;
    x->in.uri_at = uri;
    x->refs = 1;
    x->fd = -1;
    x->step_bytes = EXCHANGE_STEP_BYTES;
    x->coding_level = ENCODER_LEVEL;
    x->rq.status = 200;
    x->rq.started_ns = clock_mono_ns();
    pthread_mutex_init(&x->lock, NULL);
    return x;
}

/* This runs on libmicrohttpd's thread, not on the worker: each resumption may wake that thread,
 * which would preempt the worker and read new requests of the clients that were resumed first,
 * while the other joined requests still wait. */
void exchange_answer_joined(struct exchange *x)
{
    cache_deliver(x->joined, x->whole);
    x->joined = NULL;
}

static void exchange_free(struct exchange *x)
{
    if (x->place.leads)
        cache_deliver(cache_settle(x->rq.http->cache, &x->place, NULL, false), NULL);
    exchange_answer_joined(x);
    cache_answer_release(x->whole);
    exchange_drop_copy(x);
    steps_close(&x->rq);
    viewer_unref(x->rq.viewer);
    /* Gives back the client and the memory still charged to it. */
    budget_release(&x->rq.budget, atomic_load(&x->rq.budget.memory_used));
    clients_release(x->rq.http->exchanges->clients, x->rq.client);
    site_leave(x->site);
    encoder_free(x->encoder);
    spool_free(x->rq.upload);
    err_done(&x->rq.err);
    arena_done(&x->rq.arena);
    buf_done(&x->in.body);
    buf_done(&x->pending);
    buf_done(&x->queued);
    buf_done(&x->spare);
    pthread_mutex_destroy(&x->lock);
    free(x);
}

void exchange_unref(struct exchange *x)
{
    pthread_mutex_lock(&x->lock);
    int left = --x->refs;
    pthread_mutex_unlock(&x->lock);
    if (left == 0)
        exchange_free(x);
}

/* ---- memory and jobs ------------------------------------------------------------------------- */

int exchange_queue(struct exchange *x, pool_job *job)
{
    return pool_submit_to(x->rq.http->env.pool, x->rq.client ? &x->rq.client->lane : NULL, job, x);
}

void exchange_opening(struct exchange *x, int delta)
{
    atomic_fetch_add(&x->rq.http->exchanges->opens, (unsigned)delta);
    if (x->rq.client)
        atomic_fetch_add(&x->rq.client->opens, (unsigned)delta);
    atomic_fetch_add(&x->site->queued, delta);
}

void exchange_suspend(struct exchange *x)
{
    x->suspended = true;
    x->rq.http->exchanges->transport->suspend(x->connection);
}

void exchange_resume(struct exchange *x)
{
    if (!x->suspended || !x->connection)
        return;
    x->suspended = false;
    x->rq.http->exchanges->transport->resume(x->connection);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* A step that ended because of time or NEXT_WAIT, not because of its size, has all there is for
 * now: flush it to the client. */
static enum encode_end encode_end_of(const struct exchange *x, const struct buf *plain, int rc)
{
    if (rc == ERR_END)
        return ENCODE_FINISH;
    return rc != 0 || plain->len < x->step_bytes ? ENCODE_FLUSH : ENCODE_MORE;
}

static int encode_step(struct exchange *x, struct buf *plain, enum encode_end end, struct buf *out)
{
    if (!x->encoder) {
        int rc = encoder_new(x->coding, x->coding_level, &x->encoder);
        if (rc < 0)
            return rc;
    }
    return encoder_put(x->encoder, (struct text){plain->data, plain->len}, end, out);
}

int exchange_step(struct exchange *x, bool first, struct buf *out)
{
    bool coded = x->coding != CODING_IDENTITY;
    struct buf own = {0}, *plain = coded ? &own : out;
    int rc = steps_run(&x->rq, x->step_bytes, plain);
    bool broken = rc < 0 && rc != ERR_END;
    if (broken && !first) {
        /* Once streaming, errors are reported in-band and the connection is closed without the
         * final chunk. */
        if (x->rq.format == FORMAT_NDJSON && !plain->error)
            problem_in_band(plain, &x->rq.err, rc, x->id);
    }
    if (coded && rc != NEXT_TURN && !(broken && first)) {
        int encoded = encode_step(x, plain, encode_end_of(x, plain, rc), out);
        rc = encoded < 0 ? encoded : rc;
    }
    buf_done(&own);
    return rc;
}

/* Keeps the buffer for the next step. */
static void recycle_buffer(struct exchange *x, struct buf *used)
{
    if (x->spare.cap < used->cap) {
        struct buf other = x->spare;
        x->spare = *used;
        buf_clear(&x->spare);
        *used = other;
    }
    buf_done(used);
}

/* Makes the queued bytes the pending ones when nothing is pending any more. */
static void promote_queued(struct exchange *x)
{
    if (x->read_at < x->pending.len)
        return;
    recycle_buffer(x, &x->pending);
    x->pending = x->queued;
    x->queued = (struct buf){0};
    x->read_at = 0;
    if (x->output != OUTPUT_MORE) /* the next bytes may come late */
        buf_done(&x->spare);
}

void exchange_hand_over(struct exchange *x, struct buf *fresh, int rc)
{
    if (fresh->error)
        rc = fresh->error;
    if (fresh->len)
        x->queued = *fresh;
    else
        recycle_buffer(x, fresh);
    *fresh = (struct buf){0};
    if (rc == NEXT_WAIT) {
        x->output = OUTPUT_WAITING;
        x->waited = true;
        x->wake_ns = x->rq.wait_ms ? clock_mono_ns() + x->rq.wait_ms * 1000000 : 0;
    } else if (rc != 0 && rc != NEXT_TURN) {
        x->output = OUTPUT_ENDED;
        x->error = rc == ERR_END ? 0 : rc;
    }
    promote_queued(x);
}

static void job_more(void *arg);

/* Submits the next step if less than half a step is pending. Caller holds the lock. */
static void submit_next(struct exchange *x)
{
    if (x->job || x->output != OUTPUT_MORE || x->queued.len ||
        x->pending.len - x->read_at >= x->step_bytes / 2)
        return;
    x->job = true;
    x->trimmed = false;
    x->refs++;
    if (exchange_queue(x, job_more) < 0) {
        x->job = false;
        x->refs--;
        x->output = OUTPUT_ENDED;
        x->error = ERR_CANCELLED;
    }
}

void exchange_set_deadline(struct exchange *x)
{
    const struct http_limits *l = &x->rq.http->options->limits;
    /* changed by http_reload */
    int64_t longest_ms = __atomic_load_n(&l->query_time_ms, __ATOMIC_RELAXED);
    int64_t until = clock_mono_ns() + longest_ms * 1000000;
    /* After a wait, the client's timeout is the end of the stream: see rq.ending. */
    bool own = x->until_ns && !x->waited && x->until_ns < until;
    x->place.limit_ns = until;
    x->rq.budget.deadline_ns = own ? x->until_ns : until;
}

static void job_more(void *arg)
{
    struct exchange *x = arg;
    pthread_mutex_lock(&x->lock);
    struct buf fresh = x->spare;
    x->spare = (struct buf){0};
    x->step_bytes = x->sent < EXCHANGE_LONG_BYTES ? EXCHANGE_STEP_BYTES : EXCHANGE_LONG_STEP_BYTES;
    pthread_mutex_unlock(&x->lock);
    x->stepped_ns = clock_mono_ns();
    x->seen_changes = atomic_load(&x->rq.http->exchanges->changes);
    x->rq.ending = x->waited && x->until_ns && x->stepped_ns >= x->until_ns;
    /* The daemon's limit counts work only: the download of a slow client may take any time. */
    exchange_set_deadline(x);
    int rc = exchange_step(x, false, &fresh);
    exchange_copy_for_cache(x, &fresh, rc);
    pthread_mutex_lock(&x->lock);
    exchange_hand_over(x, &fresh, rc);
    x->job = false;
    submit_next(x);
    exchange_resume(x);
    pthread_mutex_unlock(&x->lock);
    exchange_unref(x);
}

/* Copies at most `max` of the pending bytes. */
static size_t copy_pending(struct exchange *x, char *out, size_t max)
{
    size_t copied = 0;
    while (copied < max && x->read_at < x->pending.len) {
        size_t left = x->pending.len - x->read_at, n = left < max - copied ? left : max - copied;
        memcpy(out + copied, x->pending.data + x->read_at, n);
        x->read_at += n;
        copied += n;
        promote_queued(x);
    }
    x->sent += copied;
    return copied;
}

ssize_t exchange_read(struct exchange *x, char *out, size_t max)
{
    pthread_mutex_lock(&x->lock);
    ssize_t n = -2;
    if (x->phase != EXCHANGE_GONE) {
        n = (ssize_t)copy_pending(x, out, max);
        submit_next(x);
        if (n == 0 && x->output == OUTPUT_ENDED)
            n = x->error ? -2 : -1;
        else if (n == 0)
            exchange_suspend(x);
    }
    pthread_mutex_unlock(&x->lock);
    return n;
}

static void job_trim(void *arg)
{
    struct exchange *x = arg;
    if (x->rq.endpoint->trim)
        x->rq.endpoint->trim(&x->rq);
    exchange_drop_copy(x);
    pthread_mutex_lock(&x->lock);
    x->job = false;
    submit_next(x);
    if (x->output == OUTPUT_ENDED) /* there was no memory for the job */
        exchange_resume(x);
    pthread_mutex_unlock(&x->lock);
    exchange_unref(x);
}

bool exchange_trim(struct exchange *x, int64_t now)
{
    pthread_mutex_lock(&x->lock);
    bool idle =
        x->phase == EXCHANGE_STREAMING && !x->job && x->output != OUTPUT_ENDED && !x->trimmed;
    bool can = idle && (x->rq.endpoint->trim || x->copy.cap);
    bool trim = can && now - x->stepped_ns > TRIM_NS;
    if (trim) {
        buf_done(&x->spare);
        x->job = x->trimmed = true;
        x->refs++;
        if (exchange_queue(x, job_trim) < 0) {
            x->job = trim = false;
            x->refs--;
        }
    }
    pthread_mutex_unlock(&x->lock);
    return trim;
}

/* Caller holds the lock. */
static bool is_due(struct exchange *x, int64_t now, int64_t gap_ns)
{
    if (atomic_load(&x->rq.budget.cancelled) || (x->wake_ns && now >= x->wake_ns) ||
        (x->until_ns && now >= x->until_ns))
        return true;
    return x->seen_changes != atomic_load(&x->rq.http->exchanges->changes) &&
           now - x->stepped_ns >= gap_ns;
}

/* Before STREAMING, libmicrohttpd's thread may be making the response's headers from x->rq, which a
 * step could change. */
void exchange_wake(struct exchange *x, int64_t now, int64_t gap_ns)
{
    pthread_mutex_lock(&x->lock);
    if (x->output == OUTPUT_WAITING && x->phase == EXCHANGE_STREAMING && is_due(x, now, gap_ns)) {
        x->output = OUTPUT_MORE;
        submit_next(x);
        if (x->output == OUTPUT_ENDED)
            exchange_resume(x);
    }
    pthread_mutex_unlock(&x->lock);
}

void exchange_answer_now(struct exchange *x, int code)
{
    x->aborted_in = x->phase;
    x->phase = EXCHANGE_READY;
    x->output = OUTPUT_ENDED;
    x->error = code;
    exchange_resume(x);
}

/* Stops the work that the client no longer wants, unless other clients wait for it, too. Caller
 * holds the lock. */
static void stop_work(struct exchange *x, int code)
{
    bool joined = false;
    bool unwanted =
        !x->rq.http || !x->rq.http->cache || cache_leave(x->rq.http->cache, &x->place, &joined);
    if (unwanted)
        budget_cancel(&x->rq.budget, code);
    if (joined) { /* what on_settled would have released, which is not called any more */
        x->refs--;
        exchange_opening(x, -1);
    }
}

/* Caller holds the lock. */
static void cancel_locked(struct exchange *x, int code, bool client_gone)
{
    stop_work(x, code);
    if (x->phase >= EXCHANGE_PARKED && x->phase <= EXCHANGE_WORKING)
        exchange_answer_now(x, code);
    if (client_gone) {
        x->phase = EXCHANGE_GONE;
        exchange_resume(x);
    }
}

void exchange_cancel(struct exchange *x, int code, bool client_gone)
{
    pthread_mutex_lock(&x->lock);
    cancel_locked(x, code, client_gone);
    pthread_mutex_unlock(&x->lock);
}

void exchange_cancel_by_request(struct exchange *x)
{
    pthread_mutex_lock(&x->lock);
    if (!x->cancelled_ns)
        x->cancelled_ns = clock_mono_ns();
    cancel_locked(x, ERR_CANCELLED, false);
    pthread_mutex_unlock(&x->lock);
}

void exchange_close_cancelled(struct exchange *x, int64_t now)
{
    pthread_mutex_lock(&x->lock);
    if (x->cancelled_ns && now - x->cancelled_ns > STALLED_NS && x->connection &&
        x->phase == EXCHANGE_STREAMING) {
        x->phase = EXCHANGE_GONE;
        exchange_resume(x);
        shutdown(x->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&x->lock);
}

/* The calls of exchange_read do not show whether the client reads: a slow one reads for seconds
 * until the socket has space for more, and libmicrohttpd sends a complete answer without them. */
static bool is_being_read(struct exchange *x, int64_t now)
{
    int unread = 0;
    ioctl(x->fd, SIOCOUTQ, &unread);
    uint64_t read = x->sent - (uint64_t)unread;
    if (!x->read_ns || read != x->read) {
        x->read = read;
        x->read_ns = now;
    }
    return now - x->read_ns < STALLED_NS;
}

bool exchange_is_active(struct exchange *x, int64_t now)
{
    pthread_mutex_lock(&x->lock);
    bool active = x->phase > EXCHANGE_PARKED;
    if (x->phase == EXCHANGE_STREAMING) /* before, libmicrohttpd's thread sets `sent` */
        active = x->output != OUTPUT_WAITING && (x->job || is_being_read(x, now));
    pthread_mutex_unlock(&x->lock);
    return active;
}

void exchange_completed(struct exchange *x)
{
    stop_work(x, ERR_CANCELLED);
    x->connection = NULL;
}
