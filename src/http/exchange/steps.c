/* steps.c - the work of an endpoint for one request. */
#include "http/exchange/steps.h"
#include "http/request/selection.h"
#include "http/request/spread.h"

#define STEP_NS (100 * 1000000ll) /* a step ends after this time if it has anything to show */

int steps_open(struct request *rq)
{
    size_t size = rq->endpoint->state_size;
    rq->state = size ? arena_alloc(&rq->arena, size) : NULL;
    int rc = rq->arena.error ? rq->arena.error : request_spread(rq);
    if (rc == 0 && rq->endpoint->queries)
        rc = selection_read(rq, &rq->chosen);
    if (rc == 0 && rq->endpoint->queries)
        rc = selection_open(rq, &rq->chosen, &rq->query);
    rc = rc < 0 ? rc : rq->endpoint->open(rq);
    return rc < 0 ? rc : selection_check_strict(rq);
}

int steps_run(struct request *rq, size_t bytes, struct buf *out)
{
    int64_t until = clock_mono_ns() + STEP_NS;
    int rc = 0;
    rq->wait_ms = 0;
    while (rc == 0 && out->len < bytes && !(out->len && clock_mono_ns() > until)) {
        rc = budget_check(&rq->budget);
        if (rc == 0)
            rc = rq->endpoint->next(rq, out);
        if (out->error)
            rc = out->error;
        else if (rc == NEXT_TURN && (out->len || clock_mono_ns() < until))
            rc = 0;
    }
    return rc == NEXT_WAIT && rq->ending ? ERR_END : rc;
}

int steps_write_state(struct request *rq, struct buf *out)
{
    return format_object(rq->endpoint->answer, rq->state, rq->pretty, out);
}

void steps_close(struct request *rq)
{
    if (rq->state && rq->endpoint->close)
        rq->endpoint->close(rq);
    query_close(rq->query);
    request_spread_done(rq);
    if (rq->snapshot)
        snapshot_release(rq->snapshot);
    rq->state = NULL;
    rq->query = NULL;
    rq->snapshot = NULL;
}
