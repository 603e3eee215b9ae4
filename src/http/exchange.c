/* exchange.c - the work side of a request: open, produce, hand over, cancel. */
#include "exchange.h"
#include "problem.h"

#include <stdlib.h>
#include <string.h>

#define STEP_NS (100 * 1000000ll)        /* a job ends after this time if it has anything to show */

struct exchange *exchange_new(struct http *h, const char *uri)
{
    struct exchange *x = calloc(1, sizeof *x);
    if (!x || !(x->uri = strdup(uri)))
        return free(x), NULL;
    x->http = h;
    x->refs = 1;
    x->fd = -1;
    x->rq.status = 200;
    x->rq.started_ns = clock_mono_ns();
    pthread_mutex_init(&x->lock, NULL);
    return x;
}

static void exchange_free(struct exchange *x)
{
    if (x->rq.endpoint && x->rq.endpoint->close)
        x->rq.endpoint->close(&x->rq);
    if (x->rq.snapshot)
        snapshot_release(x->rq.snapshot);
    encoder_free(x->encoder);
    err_done(&x->rq.err);
    arena_done(&x->rq.arena);
    buf_done(&x->body);
    buf_done(&x->pending);
    pthread_mutex_destroy(&x->lock);
    free(x->uri);
    free(x->path);
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

/* Runs next() until a step's worth is there. 0 more to come, ERR_END, or why it broke. */
static int produce(struct exchange *x, struct buf *out)
{
    int64_t until = clock_mono_ns() + STEP_NS;
    int rc = 0;
    while (rc == 0 && out->len < EXCHANGE_STEP_BYTES && !(out->len && clock_mono_ns() > until)) {
        rc = budget_check(&x->rq.budget);
        if (rc == 0)
            rc = x->rq.endpoint->next(&x->rq, out);
        if (out->error)
            rc = out->error;
    }
    return rc;
}

/* After the first byte an error can only be told in the stream, and by not ending it properly. */
static void tell_broken(struct exchange *x, int rc, struct buf *out)
{
    if (x->rq.format == FORMAT_NDJSON)
        problem_in_band(out, &x->rq.err, rc, x->id);
}

static int encode(struct exchange *x, struct buf *plain, bool finish, struct buf *out)
{
    if (!x->encoder) {
        int rc = encoder_new(x->coding, &x->encoder);
        if (rc < 0)
            return rc;
    }
    return encoder_put(x->encoder, (struct text){plain->data, plain->len}, finish, out);
}

/* One step of work: fills `out` with what the client is to get. */
static int step(struct exchange *x, bool first, struct buf *out)
{
    struct buf plain = {0};
    int rc = produce(x, &plain);
    if (rc < 0 && rc != ERR_END && !first)
        tell_broken(x, rc, &plain);
    if (x->coding == CODING_IDENTITY || (rc < 0 && rc != ERR_END && first)) {
        *out = plain;
        return rc;
    }
    int coded = encode(x, &plain, rc == ERR_END, out);
    buf_done(&plain);
    return coded < 0 ? coded : rc;
}

/* Makes the step's bytes visible to the content reader. Caller holds the lock. */
static void hand_over(struct exchange *x, struct buf *fresh, int rc)
{
    if (x->read_at == x->pending.len) {
        buf_done(&x->pending);
        x->pending = *fresh;
        x->read_at = 0;
    } else {
        buf_append(&x->pending, fresh->data, fresh->len);
        buf_done(fresh);
        if (x->pending.error)
            rc = x->pending.error;
    }
    if (rc != 0) {
        x->ended = true;
        x->error = rc == ERR_END ? 0 : rc;
    }
}

static void job_more(void *arg);

/* Submits the next step when there is room. Caller holds the lock. */
static void want_more(struct exchange *x)
{
    if (x->job || x->ended || x->pending.len - x->read_at >= EXCHANGE_ROOM_BYTES)
        return;
    x->job = true;
    x->refs++;
    if (pool_submit(http_pool(x->http), job_more, x) < 0) {
        x->job = false;
        x->refs--;
        x->ended = true;
        x->error = ERR_CANCELLED;
    }
}

static void set_deadline(struct exchange *x)
{
    int64_t limit = x->http ? x->rq.http->options->limits.query_time_ms * 1000000 : 0;
    x->rq.budget.deadline_ns = limit ? clock_mono_ns() + limit : 0;
}

static void job_more(void *arg)
{
    struct exchange *x = arg;
    struct buf fresh = {0};
    /* The deadline is for work: a slow client's download may take as long as it likes. */
    set_deadline(x);
    int rc = step(x, false, &fresh);
    pthread_mutex_lock(&x->lock);
    hand_over(x, &fresh, rc);
    x->job = false;
    want_more(x);
    http_resume(x);
    pthread_mutex_unlock(&x->lock);
    exchange_unref(x);
}

static int open_endpoint(struct exchange *x)
{
    int rc = budget_check(&x->rq.budget);
    if (rc < 0)
        return rc;
    return x->rq.endpoint->open(&x->rq);
}

static void job_open(void *arg)
{
    struct exchange *x = arg;
    struct buf fresh = {0};
    int rc = open_endpoint(x);
    if (rc == 0 && !x->head)
        rc = step(x, true, &fresh);
    else if (rc == 0)
        rc = ERR_END;
    http_opened(x);
    pthread_mutex_lock(&x->lock);
    hand_over(x, &fresh, rc);
    x->job = false;
    x->phase = EXCHANGE_READY;
    http_resume(x);
    pthread_mutex_unlock(&x->lock);
    exchange_unref(x);
}

int exchange_submit_open(struct exchange *x)
{
    x->phase = EXCHANGE_WORKING;
    x->job = true;
    x->refs++;
    int rc = pool_submit(http_pool(x->http), job_open, x);
    if (rc < 0) {
        x->job = false;
        x->refs--;
    }
    return rc;
}

ssize_t exchange_read(struct exchange *x, char *out, size_t max)
{
    pthread_mutex_lock(&x->lock);
    size_t n = x->pending.len - x->read_at;
    ssize_t rc;
    if (x->gone) {
        rc = -2;
    } else if (n) {
        n = n < max ? n : max;
        memcpy(out, x->pending.data + x->read_at, n);
        x->read_at += n;
        x->sent += n;
        want_more(x);
        rc = (ssize_t)n;
    } else if (x->ended) {
        rc = x->error ? -2 : -1;
    } else {
        want_more(x);
        rc = x->ended ? -2 : 0;
        if (rc == 0)
            http_suspend(x);
    }
    pthread_mutex_unlock(&x->lock);
    return rc;
}

void exchange_cancel(struct exchange *x, int code, bool client_gone)
{
    budget_cancel(&x->rq.budget, code);
    pthread_mutex_lock(&x->lock);
    x->gone |= client_gone;
    /* A running job notices the budget and resumes; nobody else would wake a parked or idle connection. */
    if (!x->job || client_gone) {
        if (x->phase == EXCHANGE_PARKED) {
            x->phase = EXCHANGE_READY;
            x->ended = true;
            x->error = code;
            http_opened(x);
        }
        http_resume(x);
    }
    pthread_mutex_unlock(&x->lock);
}
