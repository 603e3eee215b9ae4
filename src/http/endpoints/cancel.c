/* cancel.c - /cancel: ends an unfinished request, by its id. */
#include "http/endpoints/endpoints.h"
#include "http/exchange/steps.h"
#include "http/exchange/exchanges.h"
#include "http/request/selection.h"

static const struct param_spec own_params[] = {
    PARAM("id", TEXT, "X-Request-Id of the request to cancel", .required = true, .example = "12"),
    {0},
};

struct state {
    const char *id;
    uint32_t ended;
};

#define OBJECT struct state
static const struct member members[] = {
    MEMBER("id", id),
    MEMBER("ended", ended, .help = "number of requests with this id"),
};
static const struct object_type cancelled_type = {"Cancelled", MEMBERS(members)};
#undef OBJECT

static int open_cancel(struct request *rq)
{
    struct state *s = rq->state;
    s->id = request_text(rq, "id");
    s->ended = exchanges_cancel(rq->http->exchanges, s->id, rq->admin ? NULL : rq->client);
    if (s->ended)
        return 0;
    return err_set(&rq->err, ERR_NOT_FOUND, "no active request has this id%s",
                   rq->admin ? "" : ", or it belongs to another client");
}

const struct endpoint endpoint_cancel = {
    .path = "/cancel",
    .summary = "cancel an active request",
    .methods = METHOD_POST,
    .answer = &cancelled_type,
    PARAMS(own_params, pretty_params),
    FORMATS(FORMAT_JSON),
    .immediate = true,
    .changes = true,
    .state_size = sizeof(struct state),
    .open = open_cancel,
    .next = steps_write_state,
};
