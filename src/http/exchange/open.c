/* open.c - from a checked request to its first bytes: its snapshot, whether the index is
 * ready, an answer that is there already or being made by another request, open(). */
#include "http/access/viewer.h"
#include "http/exchange/etag.h"
#include "http/exchange/exchanges.h"
#include "http/exchange/readiness.h"
#include "http/exchange/steps.h"
#include "http/exchange/work.h"

#include "dftracerd/failpoint.h"

#include <errno.h>
#include <string.h>

#define REJUDGE_NS 1000000000ll
#define JUDGE_REST 10 /* times as long as it took: not judged again before */

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
    x->not_modified = etag_matches(x->if_none_match, x->etag);
    return x->not_modified;
}

/* ---- answers shared with other requests ------------------------------------------------------ */

/* Takes the reference. Caller holds the lock, or nobody else knows x. */
static void take_whole(struct exchange *x, struct cache_answer *answer)
{
    x->whole = answer;
    x->ended = true;
    x->rq.content_type = answer->content_type;
    x->rq.incomplete = answer->incomplete;
}

bool exchange_find(struct exchange *x)
{
    struct cache_answer *answer = x->shared ? cache_find(x->rq.http->cache, &x->key) : NULL;
    if (answer)
        take_whole(x, answer);
    return answer != NULL;
}

/* The leader's first step (or turn) is its whole answer, or it is not for sharing. Takes the bytes
 * with the answer it returns; those that joined are still to be told of that. */
static struct cache_answer *settle(struct exchange *x, int rc, struct buf *fresh,
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
static pool_job *take_job(struct exchange *x, enum exchange_phase phase, pool_job *job)
{
    x->job = true;
    x->refs++;
    x->phase = phase;
    return job;
}

static int submit(struct exchange *x, enum exchange_phase phase, pool_job *job)
{
    int rc = exchange_queue(x, take_job(x, phase, job));
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
    if (submit(x, EXCHANGE_WORKING, job_open) == 0)
        return;
    exchange_opening(x, -1);
    exchange_answer_now(x, ERR_CANCELLED);
}

/* The leader is done. It may have been answered otherwise meanwhile. */
static void on_settled(struct cache_place *place, struct cache_answer *answer)
{
    struct exchange *x = (struct exchange *)((char *)place - offsetof(struct exchange, place));
    exchange_opening(x, -1);
    pthread_mutex_lock(&x->lock);
    if (x->phase == EXCHANGE_JOINED && answer) {
        take_whole(x, cache_answer_ref(answer));
        x->phase = EXCHANGE_READY;
        exchange_resume(x);
    } else if (x->phase == EXCHANGE_JOINED) {
        open_alone(x);
    }
    pthread_mutex_unlock(&x->lock);
    exchange_unref(x);
}

/* True: it has to be opened, and counts as such. Else it has an answer, or gets one. Caller holds
 * the lock. */
static bool needs_work(struct exchange *x)
{
    struct cache_answer *answer;
    enum cache_turn turn = CACHE_ALONE;
    x->place.call = on_settled;
    x->place.budget = &x->rq.budget;
    if (x->shared)
        turn = cache_lookup(x->rq.http->cache, &x->key, &x->place, &answer);
    if (turn == CACHE_HIT) {
        take_whole(x, answer);
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

static int open_one(struct exchange *x)
{
    x->stepped_ns = clock_mono_ns();
    atomic_store(&x->begun, true);
    int rc = budget_check(&x->rq.budget);
    if (rc == 0)
        rc = failpoint("query.open") ? -errno : steps_open(&x->rq);
    return rc < 0 ? rc : readiness_check_strict(&x->rq);
}

static void job_turn(void *arg);

/* There is nothing to send yet: the next job goes on, behind those that others have submitted. */
static bool take_turn(struct exchange *x)
{
    pthread_mutex_lock(&x->lock);
    bool going_on = !x->abandoned;
    if (going_on)
        exchange_set_deadline(x);
    pthread_mutex_unlock(&x->lock);
    return going_on && exchange_queue(x, job_turn) == 0;
}

/* Caller holds the lock. Takes the reference to `whole`, or what is fresh. */
static void make_ready(struct exchange *x, struct cache_answer *whole, struct cache_place *joined,
                       struct buf *fresh, int rc)
{
    if (whole) {
        take_whole(x, whole);
        x->joined = joined;
    } else {
        exchange_hand_over(x, fresh, rc);
    }
    x->phase = EXCHANGE_READY;
    exchange_resume(x);
}

/* After a step of the job of x: takes its reference. */
static void opened(struct exchange *x, int rc, struct buf fresh)
{
    struct cache_place *joined;
    struct cache_answer *whole = settle(x, rc, &fresh, &joined);
    if (!whole)
        cache_deliver(joined, NULL);
    if (rc == NEXT_TURN && take_turn(x))
        return;
    rc = rc == NEXT_TURN ? ERR_CANCELLED
                         : rc; /* the daemon is stopping, or there is an answer already */
    if (!whole)
        exchange_gather(x, &fresh, rc);
    exchange_opening(x, -1);
    pthread_mutex_lock(&x->lock);
    x->job = false;
    bool late = x->abandoned; /* its client has got another answer */
    if (!late)
        make_ready(x, whole, joined, &fresh, rc);
    pthread_mutex_unlock(&x->lock);
    if (late && whole) {
        cache_deliver(joined, whole);
        cache_answer_release(whole);
    }
    buf_done(&fresh);
    exchange_unref(x);
}

/* Ends the job of an open x, and takes its reference. */
static void job_turn(void *arg)
{
    struct exchange *x = arg;
    struct buf fresh = {0};
    int rc = exchange_step(x, true, &fresh);
    opened(x, rc, fresh);
}

static void open_now(struct exchange *x)
{
    int rc = open_one(x);
    if (rc < 0)
        opened(x, rc, (struct buf){0});
    else
        job_turn(x);
}

static void job_open(void *arg)
{
    readiness_want(arg);
    open_now(arg);
}

/* ---- wait=ready ------------------------------------------------------------------------------ */

/* Those that see a part of the files only come here for a worker to find out which, too. */
static bool only_looks(const struct exchange *x)
{
    const char *wait = request_text(&x->rq, "wait");
    return x->rq.viewer && (!wait || strcmp(wait, "no") == 0);
}

/* Is the index ready for it? Then the snapshot that this was judged on stays pinned. */
static bool judge(struct exchange *x)
{
    x->stepped_ns = clock_mono_ns();
    exchange_pin(x);
    if (x->rq.snapshot && (only_looks(x) || readiness_of(x)))
        return true;
    exchange_unpin(x);
    x->judged_ns = clock_mono_ns() - x->stepped_ns;
    return false;
}

/* Nobody else touches a parked request but those who answer it under its lock. True: this job goes
 * on to open(). */
static bool unpark(struct exchange *x)
{
    if (!only_looks(x)) /* its clock has begun */
        exchange_set_deadline(x);
    exchange_validate(x);
    pthread_mutex_lock(&x->lock);
    bool parked = x->phase == EXCHANGE_PARKED || x->phase == EXCHANGE_LOOKING;
    bool work = parked && !x->not_modified && needs_work(x);
    if (parked && x->not_modified) {
        x->phase = EXCHANGE_READY;
        x->ended = true;
    }
    if (x->phase == EXCHANGE_READY)
        exchange_resume(x);
    x->job = work;
    pthread_mutex_unlock(&x->lock);
    return work;
}

/* Without memory to find out it would wait for nothing. */
static void stay_parked(struct exchange *x)
{
    pthread_mutex_lock(&x->lock);
    x->job = false;
    if (x->phase == EXCHANGE_LOOKING)
        exchange_answer_now(x, -ENOMEM);
    pthread_mutex_unlock(&x->lock);
}

static void job_judge(void *arg)
{
    struct exchange *x = arg;
    bool ready = judge(x);
    if (!ready)
        stay_parked(x);
    bool work = ready && unpark(x);
    if (only_looks(x)) /* begun by exchange_start */
        exchange_opening(x, -1);
    if (work)
        open_now(x);
    else
        exchange_unref(x);
}

/* Now and then without a reason, should a change have gone untold. */
static bool is_rejudged(struct exchange *x, int64_t age, int64_t gap_ns)
{
    gap_ns += x->judged_ns * JUDGE_REST;
    return age >= REJUDGE_NS + gap_ns ||
           (age >= gap_ns && x->seen_changes != atomic_load(&x->rq.http->exchanges->changes));
}

void exchange_rejudge(struct exchange *x, int64_t now, int64_t gap_ns)
{
    pthread_mutex_lock(&x->lock);
    if (x->phase == EXCHANGE_PARKED && !x->job && is_rejudged(x, now - x->stepped_ns, gap_ns) &&
        submit(x, EXCHANGE_PARKED, job_judge) < 0)
        exchange_answer_now(x, ERR_CANCELLED);
    pthread_mutex_unlock(&x->lock);
}

pool_job *exchange_start(struct exchange *x, bool park)
{
    bool looks = park && only_looks(x);
    if (park && !looks)
        return take_job(x, EXCHANGE_PARKED, job_judge);
    if (!looks)
        return needs_work(x) ? take_job(x, EXCHANGE_WORKING, job_open) : NULL;
    exchange_set_deadline(x);
    exchange_opening(x, 1);
    return take_job(x, EXCHANGE_LOOKING, job_judge);
}

void exchange_submit(struct exchange *x, pool_job *job)
{
    if (exchange_queue(x, job) == 0)
        return;
    if (job == job_open || only_looks(x))
        exchange_opening(x, -1);
    pthread_mutex_lock(&x->lock);
    x->job = false;
    if (x->phase != EXCHANGE_READY)
        exchange_answer_now(x, ERR_CANCELLED);
    pthread_mutex_unlock(&x->lock);
    exchange_unref(x);
}
