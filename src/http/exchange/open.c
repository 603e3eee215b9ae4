/* open.c - from a checked request to its first bytes: its snapshot, whether the index is ready, the
 * cache, open(). */
#include "http/access/viewer.h"
#include "http/exchange/etag.h"
#include "http/exchange/exchanges.h"
#include "http/exchange/readiness.h"
#include "http/exchange/steps.h"
#include "http/exchange/work.h"

#include "dftracerd/failpoint.h"

#include <errno.h>
#include <string.h>

#define RECHECK_NS 1000000000ll
#define RECHECK_FACTOR 10 /* a check is not repeated before this multiple of the time it took */

void exchange_pin(struct exchange *x)
{
    x->seen_changes = atomic_load(&x->rq.http->exchanges->changes);
    x->rq.snapshot = request_snapshot(&x->rq);
}

void exchange_unpin(struct exchange *x)
{
    if (x->rq.snapshot)
        snapshot_release(x->rq.snapshot);
    x->rq.snapshot = NULL;
}

bool exchange_validate(struct exchange *x)
{
    etag_make(x);
    x->not_modified = etag_matches(x->in.if_none_match, x->etag);
    return x->not_modified;
}

/* ---- answers shared with other requests ------------------------------------------------------ */

/* The reference becomes owned by x. Caller holds the lock, or no other thread has x. */
static void adopt_answer(struct exchange *x, struct cache_answer *answer)
{
    x->whole = answer;
    x->output = OUTPUT_ENDED;
    x->rq.content_type = answer->content_type;
    x->rq.incomplete = answer->incomplete;
}

bool exchange_find(struct exchange *x)
{
    struct cache_answer *answer = x->shared ? cache_find(x->rq.http->cache, &x->key) : NULL;
    if (answer)
        adopt_answer(x, answer);
    return answer != NULL;
}

/* Settles the flight that x leads. Its first step (or turn) must be its whole answer to be shared.
 * The bytes are *stolen* if it returns an answer, which the caller then delivers to those that
 * joined. */
static struct cache_answer *settle_flight(struct exchange *x, int rc, struct buf *fresh,
                                          struct cache_place **ret_joined)
{
    *ret_joined = NULL;
    const struct request *rq = &x->rq;
    if (!x->place.leads)
        return NULL;
    bool too_long = rc == 0 || rc == NEXT_WAIT || rc == NEXT_TURN ||
                    fresh->len > cache_longest(rq->http->cache);
    struct cache_answer *answer = rc == ERR_END && !too_long ? exchange_answer_of(x, fresh) : NULL;
    *ret_joined = cache_settle(rq->http->cache, &x->place, answer, too_long);
    x->place.leads = false;
    return answer;
}

/* Caller holds the lock. */
static pool_job *claim_job(struct exchange *x, enum exchange_phase phase, pool_job *job)
{
    x->job = true;
    x->refs++;
    x->phase = phase;
    return job;
}

static int submit_job(struct exchange *x, enum exchange_phase phase, pool_job *job)
{
    int rc = exchange_queue(x, claim_job(x, phase, job));
    if (rc == 0)
        return 0;
    x->job = false;
    x->refs--;
    return rc;
}

static void job_open(void *arg);

/* Caller holds the lock. */
static void open_alone(struct exchange *x)
{
    exchange_set_deadline(x);
    exchange_opening(x, 1);
    if (submit_job(x, EXCHANGE_WORKING, job_open) == 0)
        return;
    exchange_opening(x, -1);
    exchange_answer_now(x, ERR_CANCELLED);
}

/* Called when the leader is done. The request may have been answered otherwise meanwhile. */
static void on_settled(struct cache_place *place, struct cache_answer *answer)
{
    struct exchange *x = (struct exchange *)((char *)place - offsetof(struct exchange, place));
    pthread_mutex_lock(&x->lock);
    exchange_opening(x, -1); /* under the lock, because the request joins and is counted under it */
    if (x->phase == EXCHANGE_JOINED && answer) {
        adopt_answer(x, cache_answer_ref(answer));
        x->phase = EXCHANGE_READY;
        exchange_resume(x);
    } else if (x->phase == EXCHANGE_JOINED) {
        open_alone(x);
    }
    pthread_mutex_unlock(&x->lock);
    exchange_unref(x);
}

/* Returns true if the request has to be opened, and counts it as opening. Otherwise it has an
 * answer, or will get one. Caller holds the lock. */
static bool needs_work(struct exchange *x)
{
    struct cache_answer *answer;
    enum cache_turn turn = CACHE_ALONE;
    x->place.call = on_settled;
    x->place.budget = &x->rq.budget;
    if (x->shared)
        turn = cache_lookup(x->rq.http->cache, &x->key, &x->place, &answer);
    if (turn == CACHE_HIT) {
        adopt_answer(x, answer);
        x->phase = EXCHANGE_READY;
        return false;
    }
    exchange_opening(x, 1);
    if (turn == CACHE_JOIN) {
        x->refs++;
        x->phase = EXCHANGE_JOINED;
        return false;
    }
    x->phase = EXCHANGE_WORKING;
    return true;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void job_turn(void *arg);

/* There is nothing to send yet: the next job continues after those that other requests have
 * submitted. */
static bool yield_turn(struct exchange *x)
{
    pthread_mutex_lock(&x->lock);
    bool wanted = x->phase == EXCHANGE_WORKING;
    if (wanted)
        exchange_set_deadline(x);
    pthread_mutex_unlock(&x->lock);
    return wanted && exchange_queue(x, job_turn) == 0;
}

/* Ends a step of the job of x, and releases the job's reference unless there is another step. */
static void finish_opening(struct exchange *x, int rc, struct buf fresh)
{
    struct cache_place *joined;
    struct cache_answer *whole = settle_flight(x, rc, &fresh, &joined);
    if (!whole)
        cache_deliver(joined, NULL);
    if (rc == NEXT_TURN && yield_turn(x))
        return;
    if (rc == NEXT_TURN) /* the daemon is stopping, or there is an answer already */
        rc = ERR_CANCELLED;
    if (!whole)
        exchange_copy_for_cache(x, &fresh, rc);
    exchange_opening(x, -1);
    pthread_mutex_lock(&x->lock);
    x->job = false;
    bool late = x->phase != EXCHANGE_WORKING; /* its client has got another answer, or left */
    if (!late && whole) {
        adopt_answer(x, whole);
        x->joined = joined;
    } else if (!late) {
        exchange_hand_over(x, &fresh, rc);
    }
    if (!late) {
        x->phase = EXCHANGE_READY;
        exchange_resume(x);
    }
    pthread_mutex_unlock(&x->lock);
    if (late && whole) {
        cache_deliver(joined, whole);
        cache_answer_release(whole);
    }
    buf_done(&fresh);
    exchange_unref(x);
}

/* Runs a step of an open x. */
static void job_turn(void *arg)
{
    struct exchange *x = arg;
    struct buf fresh = {0};
    int rc = exchange_step(x, true, &fresh);
    finish_opening(x, rc, fresh);
}

static void open_now(struct exchange *x)
{
    x->stepped_ns = clock_mono_ns();
    atomic_store(&x->begun, true);
    int rc = budget_check(&x->rq.budget);
    if (rc == 0)
        rc = failpoint("query.open") ? -errno : steps_open(&x->rq);
    if (rc < 0)
        finish_opening(x, rc, (struct buf){0});
    else
        job_turn(x);
}

static void job_open(void *arg)
{
    readiness_request_files(arg);
    open_now(arg);
}

/* ---- wait=ready ------------------------------------------------------------------------------ */

/* A request that sees only a part of the files comes here even without waiting, for a worker to
 * find out which. */
static bool is_filter_only(const struct exchange *x)
{
    const char *wait = request_text(&x->rq, "wait");
    return x->rq.viewer && (!wait || strcmp(wait, "no") == 0);
}

/* Returns true if the index is ready for the request; the snapshot that was checked stays pinned.
 */
static bool check_ready(struct exchange *x)
{
    x->stepped_ns = clock_mono_ns();
    exchange_pin(x);
    if (x->rq.snapshot && (is_filter_only(x) || readiness_check(x)))
        return true;
    exchange_unpin(x);
    x->check_ns = clock_mono_ns() - x->stepped_ns;
    return false;
}

/* A parked request is used by no other thread, except those that answer it under its lock. Returns
 * true if this job has to open() it. */
static bool unpark_request(struct exchange *x)
{
    if (!is_filter_only(x)) /* its deadline is running already */
        exchange_set_deadline(x);
    exchange_validate(x);
    pthread_mutex_lock(&x->lock);
    bool parked = x->phase == EXCHANGE_PARKED || x->phase == EXCHANGE_FILTERING;
    bool work = parked && !x->not_modified && needs_work(x);
    if (parked && x->not_modified) {
        x->phase = EXCHANGE_READY;
        x->output = OUTPUT_ENDED;
    }
    if (x->phase == EXCHANGE_READY)
        exchange_resume(x);
    x->job = work;
    pthread_mutex_unlock(&x->lock);
    return work;
}

/* `stopped`: why indexing had stopped before the check, or 0. */
static void stay_parked(struct exchange *x, int stopped)
{
    pthread_mutex_lock(&x->lock);
    x->job = false;
    if (x->phase == EXCHANGE_FILTERING) /* without memory it would wait for nothing */
        exchange_answer_now(x, -ENOMEM);
    else if (x->phase == EXCHANGE_PARKED && stopped)
        exchange_answer_now(x, stopped);
    pthread_mutex_unlock(&x->lock);
}

static void job_check_ready(void *arg)
{
    struct exchange *x = arg;
    int stopped = index_store_error(x->rq.http->options->index);
    bool ready = check_ready(x);
    if (!ready)
        stay_parked(x, stopped);
    bool work = ready && unpark_request(x);
    if (is_filter_only(x)) /* counted by exchange_start */
        exchange_opening(x, -1);
    if (work)
        open_now(x);
    else
        exchange_unref(x);
}

/* True after a change and, in case a notification was missed, every now and then. */
static bool is_recheck_due(struct exchange *x, int64_t age, int64_t gap_ns)
{
    gap_ns += x->check_ns * RECHECK_FACTOR;
    return age >= RECHECK_NS + gap_ns ||
           (age >= gap_ns && x->seen_changes != atomic_load(&x->rq.http->exchanges->changes));
}

void exchange_recheck(struct exchange *x, int64_t now, int64_t gap_ns)
{
    pthread_mutex_lock(&x->lock);
    if (x->phase == EXCHANGE_PARKED && !x->job && is_recheck_due(x, now - x->stepped_ns, gap_ns) &&
        submit_job(x, EXCHANGE_PARKED, job_check_ready) < 0)
        exchange_answer_now(x, ERR_CANCELLED);
    pthread_mutex_unlock(&x->lock);
}

pool_job *exchange_start(struct exchange *x, bool park)
{
    bool filters = park && is_filter_only(x);
    if (park && !filters)
        return claim_job(x, EXCHANGE_PARKED, job_check_ready);
    if (!filters)
        return needs_work(x) ? claim_job(x, EXCHANGE_WORKING, job_open) : NULL;
    exchange_set_deadline(x);
    exchange_opening(x, 1);
    return claim_job(x, EXCHANGE_FILTERING, job_check_ready);
}

void exchange_submit(struct exchange *x, pool_job *job)
{
    if (exchange_queue(x, job) == 0)
        return;
    if (job == job_open || is_filter_only(x))
        exchange_opening(x, -1);
    pthread_mutex_lock(&x->lock);
    x->job = false;
    if (x->phase < EXCHANGE_READY)
        exchange_answer_now(x, ERR_CANCELLED);
    pthread_mutex_unlock(&x->lock);
    exchange_unref(x);
}
