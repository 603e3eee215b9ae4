/* cancel.c - /cancel: ends a request that is being answered, by its id. */
#include "http/endpoints/endpoints.h"
#include "http/exchange/exchanges.h"

static const struct param_spec own_params[] = {
    {"id", PARAM_TEXT, false, NULL, NULL, "X-Request-Id of the request to cancel", true, "12"},
    {"pretty", PARAM_BOOL, false, "false", NULL, "print JSON with line breaks and indentation"},
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};
static const struct param_spec *const params[] = {own_params, NULL};
static const enum format formats[] = {FORMAT_JSON};

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
    if (!s->id)
        return err_set_param(&rq->err, ERR_PARAM, "id",
                             "`id` is required: the X-Request-Id of a request");
    s->ended = exchanges_end(rq->http->exchanges, s->id, rq->admin ? NULL : rq->client);
    if (s->ended)
        return 0;
    return err_set(&rq->err, ERR_NOT_FOUND, "no active request has this id%s",
                   rq->admin ? "" : ", or it belongs to another client");
}

static int next_cancel(struct request *rq, struct buf *out)
{
    return format_object(&cancelled_type, rq->state, rq->pretty, out);
}

const struct endpoint endpoint_cancel = {
    .path = "/cancel",
    .summary = "cancel an active request",
    .methods = METHOD_POST,
    .answer = &cancelled_type,
    .params = params,
    .formats = formats,
    .format_count = 1,
    .immediate = true,
    .changes = true,
    .state_size = sizeof(struct state),
    .open = open_cancel,
    .next = next_cancel,
};
