/* serve.c - makes items for rank 0, as bytes. */
#include "engine/cursor/read_ahead.h"
#include "engine/cursor/pull.h"
#include "engine/cursor/serve.h"
#include "engine/derived/covered.h"

#include <errno.h>
#include <stdlib.h>

/* An answer that is being made. */
struct serving {
    struct server *server;
    const struct item_maker *maker;
    struct charge charge;
    struct buf *texts, facts;
    uint64_t count;
};

void server_init(struct server *s, const struct item_maker *maker)
{
    *s = (struct server){.maker = maker};
    pthread_mutex_init(&s->lock, NULL);
}

void server_done(struct server *s)
{
    if (!s->maker)
        return;
    while (s->idle_count > 0)
        item_tools_free(s->idle[--s->idle_count]);
    pthread_mutex_destroy(&s->lock);
}

/* Returns NULL if all are in use. */
static struct item_tools *tools_pop(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    struct item_tools *tools = s->idle_count ? s->idle[--s->idle_count] : NULL;
    pthread_mutex_unlock(&s->lock);
    return tools;
}

/* Accepts NULL. */
static void tools_push(struct server *s, struct item_tools *tools)
{
    pthread_mutex_lock(&s->lock);
    bool keep = tools && s->idle_count < SERVER_IDLE;
    if (keep)
        s->idle[s->idle_count++] = tools;
    pthread_mutex_unlock(&s->lock);
    if (!keep)
        item_tools_free(tools);
}

/* ---- items ----------------------------------------------------------------------------------- */

static int put_item(struct serving *s, void *item)
{
    size_t before = s->texts->len, facts_before = s->facts.len;
    struct buf facts = {0};
    int rc = item ? s->maker->encode(s->maker->arg, item, s->texts, &facts) : 0;

    rec_put_u(&s->facts, item != NULL);
    rec_put_u(&s->facts, s->texts->len - before);
    rec_put_buf(&s->facts, &facts);
    buf_done(&facts);
    rc = rc < 0 ? rc : s->texts->error ? s->texts->error : s->facts.error;
    rc = rc < 0 ? rc : charge_up_to(&s->charge, s->texts->len + s->facts.len);
    if (rc < 0) {
        s->texts->len = before;
        s->facts.len = facts_before;
    }
    s->count += rc == 0;
    return rc;
}

/* Adds the item, unless making it failed, and drops it. */
static int add_item(struct serving *s, int rc, void *item)
{
    rc = rc < 0 ? rc : put_item(s, item);
    if (item)
        s->maker->drop(s->maker->arg, item);
    return rc;
}

static int make_one(struct serving *s, size_t position)
{
    struct item_tools *tools = tools_pop(s->server);
    void *item = NULL;
    int rc = maker_make(s->maker, &tools, position, &item);

    tools_push(s->server, tools);
    return add_item(s, rc, item);
}

static int make_several(struct serving *s, const struct pull_request *request)
{
    struct read_ahead *a = NULL;
    int rc = read_ahead_new(s->maker, request->positions, request->count, &a);

    while (rc == 0 && s->texts->len + s->facts.len < request->bytes && s->count < request->count) {
        struct err err = {0};
        void *item = NULL;
        rc = read_ahead_next(a, &err, &item);
        rc = add_item(s, rc, item);
        err_done(&err);
    }
    read_ahead_free(a);
    return rc;
}

/* ---- an answer ------------------------------------------------------------------------------- */

static int put_facts(struct server *s, const struct serving *made)
{
    struct buf head = {0};

    rec_put_u(&head, s->maker->query->place_count);
    rec_put_u(&head, made->count);
    pthread_mutex_lock(&s->lock);
    s->sent = query_encode_counters(s->maker->query, &s->sent, &head); /* since the last answer */
    pthread_mutex_unlock(&s->lock);
    uint64_t length = head.len + made->facts.len;
    buf_append(made->texts, head.data, head.len);
    buf_append(made->texts, made->facts.data, made->facts.len);
    buf_append(made->texts, &length, sizeof(length));
    int rc = head.error ? head.error : made->texts->error;
    buf_done(&head);
    return rc;
}

/* Removes the items from the first one on that needs chunks of other ranks. Returns -EXDEV if none
 * is left. */
static int leave_to_rank_0(const struct query *q, struct pull_request *request)
{
    size_t n = 0;

    while (n < request->count && !covered_by_others(q, request->positions[n]))
        n++;
    bool none = n == 0 && request->count > 0;
    request->count = n;
    return none ? -EXDEV : 0;
}

int server_answer(struct server *s, struct text message, struct buf *answer)
{
    struct query *q = s->maker->query;
    struct serving made = {
        .server = s, .maker = s->maker, .charge.budget = query_budget(q), .texts = answer};
    struct pull_request request;
    int rc = answer->len ? -EINVAL : pull_read(q, message, &request);

    if (rc < 0)
        return rc;
    if (request.time_ns)
        query_budget(q)->deadline_ns = clock_mono_ns() + request.time_ns;
    rc = leave_to_rank_0(q, &request);
    if (rc == 0)
        rc = request.count == 1 ? make_one(&made, request.positions[0])
                                : make_several(&made, &request);
    if (made.count) /* rank 0 requests the one that failed again */
        rc = put_facts(s, &made);
    buf_done(&made.facts);
    charge_done(&made.charge);
    free(request.positions);
    return rc;
}
