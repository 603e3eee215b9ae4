/* requests.c - /requests: what is being answered now, for those who may end it
 * (cancel.c). */
#include "http/endpoints/endpoints.h"
#include "http/exchange/exchanges.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct param_spec own_params[] = {
    {"format", PARAM_TEXT, false, NULL, NULL,
     "format of the response; default: chosen by the Accept header"},
    {"pretty", PARAM_BOOL, false, "false", NULL, "print JSON with line breaks and indentation"},
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};
static const struct param_spec *const params[] = {own_params, NULL};
static const enum format formats[] = {FORMAT_JSON, FORMAT_NDJSON, FORMAT_CSV, FORMAT_TEXT};

enum { COLUMN_ID, COLUMN_ENDPOINT, COLUMN_CLIENT, COLUMN_AGE, COLUMN_STATE, COLUMN_SENT, COLUMNS };
static const char *const columns[] = {"id", "endpoint", "client", "age_s", "state", "sent_bytes"};

struct row {
    char id[72], client[INET6_ADDRSTRLEN + 4];
    const char *endpoint, *state;
    int64_t started_ns;
    uint64_t sent;
};
struct state {
    struct row *rows;
    size_t count;
};

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

/* Caller holds its lock. */
static const char *state_of(const struct exchange *x)
{
    if (x->phase >= EXCHANGE_READY)
        return "sending";
    return x->phase == EXCHANGE_WORKING && atomic_load(&x->begun) ? "running" : "waiting";
}

/* Before it is STREAMING libmicrohttpd's thread sets `sent` without the lock. */
static void fill(struct row *row, struct exchange *x)
{
    memcpy(row->id, x->id, sizeof row->id);
    row->endpoint = x->rq.endpoint->path;
    row->started_ns = x->rq.started_ns;
    name_client(x->rq.client, row->client, sizeof row->client);
    pthread_mutex_lock(&x->lock);
    row->state = state_of(x);
    row->sent = x->phase == EXCHANGE_STREAMING ? x->sent : 0;
    pthread_mutex_unlock(&x->lock);
}

/* The oldest first. */
static int compare_rows(const void *a, const void *b)
{
    const struct row *one = a, *other = b;
    if (one->started_ns != other->started_ns)
        return one->started_ns < other->started_ns ? -1 : 1;
    return strcmp(one->id, other->id);
}

/* Addresses stand for many people: one of them is not told what the others ask. */
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
            fill(&s->rows[s->count++], x);
    pthread_mutex_unlock(&all->lock);
    if (!s->rows)
        return -ENOMEM;
    qsort(s->rows, s->count, sizeof *s->rows, compare_rows);
    return 0;
}

static void values_of(const struct row *row, int64_t now_ns, struct value *v)
{
    v[COLUMN_ID] = (struct value){.type = VALUE_TEXT, .text = text_of(row->id)};
    v[COLUMN_ENDPOINT] = (struct value){.type = VALUE_TEXT, .text = text_of(row->endpoint)};
    v[COLUMN_CLIENT] = (struct value){.type = VALUE_TEXT, .text = text_of(row->client)};
    double age_s = (double)((now_ns - row->started_ns) / 1000000) / 1e3;
    v[COLUMN_AGE] = (struct value){.type = VALUE_DOUBLE, .d = age_s};
    v[COLUMN_STATE] = (struct value){.type = VALUE_TEXT, .text = text_of(row->state)};
    v[COLUMN_SENT] = (struct value){.type = VALUE_UINT, .u = row->sent};
}

static void write_json(const struct request *rq, const struct state *s, struct buf *out)
{
    int64_t now = clock_mono_ns();
    struct value v[COLUMNS];
    struct jw j;
    jw_init(&j, out, rq->pretty);
    jw_begin(&j, '{');
    jw_key(&j, "requests");
    jw_begin(&j, '[');
    for (size_t i = 0; i < s->count; i++) {
        values_of(&s->rows[i], now, v);
        jw_begin(&j, '{');
        for (size_t k = 0; k < COLUMNS; k++)
            jw_put_value(&j, columns[k], &v[k]);
        jw_end(&j, '}');
    }
    jw_end(&j, ']');
    jw_end(&j, '}');
    jw_finish(&j);
}

static int write_table(const struct request *rq, const struct state *s, struct buf *out)
{
    int64_t now = clock_mono_ns();
    struct value v[COLUMNS];
    struct format_table *t;
    int rc = format_table_new(rq->format, columns, COLUMNS, &t);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < s->count; i++) {
        values_of(&s->rows[i], now, v);
        format_table_row(t, v, out);
    }
    format_table_end(t, out);
    format_table_free(t);
    return 0;
}

static int next_requests(struct request *rq, struct buf *out)
{
    int rc = 0;
    if (rq->format == FORMAT_JSON)
        write_json(rq, rq->state, out);
    else
        rc = write_table(rq, rq->state, out);
    return rc < 0 ? rc : ERR_END;
}

const struct endpoint endpoint_requests = {
    .path = "/requests",
    .summary = "active requests with their clients, ages and states",
    .methods = METHOD_GET,
    .params = params,
    .formats = formats,
    .format_count = 4,
    .immediate = true,
    .state_size = sizeof(struct state),
    .open = open_requests,
    .next = next_requests,
};
