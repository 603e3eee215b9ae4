/* requests.c - /requests: the unfinished requests, for users that may end them (cancel.c). */
#include "http/endpoints/endpoints.h"
#include "http/exchange/exchanges.h"
#include "http/request/selection.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    char id[72], client[INET6_ADDRSTRLEN + 4];
    const char *endpoint, *state;
    double age_s;
    uint64_t sent;
    int64_t started_ns;
};
struct state {
    struct row *rows;
    size_t count;
};

/* ---- members --------------------------------------------------------------------------------- */

static const char *const states[] = {"waiting", "running", "sending", NULL};

#define OBJECT struct row
static const struct member row_members[] = {
    MEMBER("id", id, .help = "its `X-Request-Id`, for /cancel; several requests may have the same"),
    MEMBER("endpoint", endpoint, .help = "its path, without parameters"),
    MEMBER("client", client,
           .help = "`uid 1000`; if no user is known, the address, of IPv6 the network: "
                   "`2001:db8::/64`"),
    MEMBER("age_s", age_s, .help = "seconds since its first line arrived"),
    MEMBER("state", state, .choices = states,
           .help = "`waiting`: for the index, for its turn, or for the answer to an equal request; "
                   "`running`: started, no answer yet"),
    MEMBER("sent_bytes", sent, .help = "bytes of the body sent so far"),
};
static const struct object_type row_type = {"RunningRequest", MEMBERS(row_members)};
#undef OBJECT

#define OBJECT struct state
static const struct member members[] = {
    MEMBER_OBJECTS("requests", rows, count, &row_type),
};
static const struct object_type requests_type = {"Requests", MEMBERS(members)};
#undef OBJECT

/* ---- the request ----------------------------------------------------------------------------- */

static void name_client(const struct client *c, char *out, size_t size)
{
    static const unsigned char v4[12] = {[10] = 0xff, [11] = 0xff};
    char text[INET6_ADDRSTRLEN] = "";
    if (c->uid != ACCESS_NOBODY) {
        snprintf(out, size, "uid %lu", (unsigned long)c->uid);
    } else if (memcmp(c->address, v4, sizeof v4) == 0) {
        inet_ntop(AF_INET, c->address + sizeof v4, out, (socklen_t)size);
    } else {
        inet_ntop(AF_INET6, c->address, text, sizeof text);
        snprintf(out, size, "%s/64", text);
    }
}

/* Caller holds the lock of x. */
static const char *state_of(const struct exchange *x)
{
    if (x->phase >= EXCHANGE_READY)
        return "sending";
    return x->phase == EXCHANGE_WORKING && atomic_load(&x->begun) ? "running" : "waiting";
}

/* Before it is STREAMING, libmicrohttpd's thread sets `sent` without the lock. */
static void fill_row(struct row *row, struct exchange *x)
{
    memcpy(row->id, x->id, sizeof row->id);
    row->endpoint = x->rq.endpoint->path;
    row->started_ns = x->rq.started_ns;
    row->age_s = (double)((clock_mono_ns() - x->rq.started_ns) / 1000000) / 1e3;
    name_client(x->rq.client, row->client, sizeof row->client);
    pthread_mutex_lock(&x->lock);
    row->state = state_of(x);
    row->sent = x->phase >= EXCHANGE_STREAMING ? x->sent : 0;
    pthread_mutex_unlock(&x->lock);
}

/* Sorts the oldest first. */
static int compare_rows(const void *a, const void *b)
{
    const struct row *one = a, *other = b;
    if (one->started_ns != other->started_ns)
        return one->started_ns < other->started_ns ? -1 : 1;
    return strcmp(one->id, other->id);
}

/* Many people may share an address, so such a client must not see the requests of the others. */
static int open_requests(struct request *rq)
{
    struct exchanges *all = rq->http->exchanges;
    struct state *s = rq->state;
    if (!rq->admin && rq->client->uid == ACCESS_NOBODY)
        return err_set(&rq->err, -EPERM,
                       "only admins may list all requests; local users see their own");
    pthread_mutex_lock(&all->lock);
    s->rows = arena_alloc(&rq->arena, (all->count + 1) * sizeof *s->rows);
    for (struct exchange *x = all->first; s->rows && x; x = x->next)
        if (rq->admin || x->rq.client == rq->client)
            fill_row(&s->rows[s->count++], x);
    pthread_mutex_unlock(&all->lock);
    if (!s->rows)
        return -ENOMEM;
    qsort(s->rows, s->count, sizeof *s->rows, compare_rows);
    return 0;
}

static int next_requests(struct request *rq, struct buf *out)
{
    const struct state *s = rq->state;
    if (rq->format == FORMAT_JSON)
        return format_object(&requests_type, s, rq->pretty, out);
    int rc = format_list(rq->format, &row_type, s->rows, s->count, out);
    return rc < 0 ? rc : ERR_END;
}

const struct endpoint endpoint_requests = {
    .path = "/requests",
    .summary = "active requests with their clients, ages and states",
    .methods = METHOD_GET,
    .answer = &requests_type,
    .line = &row_type,
    PARAMS(format_params),
    FORMATS(FORMAT_JSON, FORMAT_NDJSON, FORMAT_CSV, FORMAT_TEXT),
    .immediate = true,
    .state_size = sizeof(struct state),
    .open = open_requests,
    .next = next_requests,
};
