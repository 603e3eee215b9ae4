/* spread.c - encodes a request for other ranks. */
#include "http/request/endpoint.h"
#include "http/request/spread.h"

#include <errno.h>
#include <string.h>

static void put_param(struct buf *out, bool *first, const char *name, const char *value)
{
    buf_putc(out, *first ? '?' : '&');
    *first = false;
    buf_puts(out, name);
    buf_putc(out, '=');
    buf_percent(out, text_of(value));
}

/* True for parameters that concern the answer as a whole, which this rank makes. */
static bool is_kept_here(const char *name)
{
    static const char *const names[] = {"wait", "timeout", "strict", "format"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Writes the parameters that the client has given as those of a URL, and the chosen format. */
static void put_target(const struct request *rq, struct buf *out)
{
    bool first = true;
    buf_puts(out, rq->endpoint->path);
    for (size_t i = 0; i < rq->param_count; i++) {
        const struct param *p = &rq->params[i];
        if (!p->given || is_kept_here(p->spec->name))
            continue;
        if (!p->spec->repeatable)
            put_param(out, &first, p->spec->name, p->text.ptr);
        for (size_t k = 0; p->spec->repeatable && k < p->count; k++)
            put_param(out, &first, p->spec->name, p->items[k]);
    }
    if (rq->format_given && !rq->own_format)
        put_param(out, &first, "format", format_name(rq->format));
}

int request_spread(struct request *rq)
{
    struct buf target = {0};
    if (rq->remote || !rq->http->env.index || index_rank_count(rq->http->env.index) < 2 ||
        rq->upload || rq->stored || rq->own_format || rq->endpoint->changes)
        return 0;
    struct query_remote *remote = arena_alloc(&rq->arena, sizeof *remote);
    put_target(rq, &target);
    if (remote)
        *remote = (struct query_remote){
            .request = {arena_strdup(&rq->arena, (struct text){target.data, target.len}),
                        target.len}};
    int rc = remote ? target.error ? target.error : rq->arena.error : -ENOMEM;
    buf_done(&target);
    if (rc == 0)
        rq->remote = remote;
    return rc;
}

void request_spread_done(struct request *rq)
{
    if (rq->remote)
        query_remote_done(rq->remote);
    rq->remote = NULL;
}

struct query_env request_env(const struct request *rq)
{
    struct query_env env = rq->http->env;
    env.remote = rq->remote;
    return env;
}
