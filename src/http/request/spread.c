/* spread.c - a request as other ranks are told of it. */
#include "http/request/endpoint.h"
#include "http/request/spread.h"

#include <errno.h>
#include <string.h>

static void put_encoded(struct buf *out, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";

    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        bool plain = (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= 'a' && *p <= 'z') || *p == '-' || *p == '_' || *p == '.';
        if (plain) {
            buf_putc(out, (char)*p);
            continue;
        }
        buf_putc(out, '%');
        buf_putc(out, digits[*p >> 4]);
        buf_putc(out, digits[*p & 15]);
    }
}

static void put_param(struct buf *out, bool *first, const char *name, const char *value)
{
    buf_putc(out, *first ? '?' : '&');
    *first = false;
    buf_puts(out, name);
    buf_putc(out, '=');
    put_encoded(out, value);
}

/* All that the client has given, however: as parameters of a URL. What it waits for is over. */
static void put_target(const struct request *rq, struct buf *out)
{
    bool first = true;

    buf_puts(out, rq->endpoint->path);
    for (size_t i = 0; i < rq->param_count; i++) {
        const struct param *p = &rq->params[i];
        if (!p->given || strcmp(p->spec->name, "wait") == 0 ||
            strcmp(p->spec->name, "timeout") == 0 || strcmp(p->spec->name, "format") == 0)
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

    if (rq->far || !rq->http->env.index || index_rank_count(rq->http->env.index) < 2 ||
        rq->upload || rq->stored || rq->own_format || rq->endpoint->changes)
        return 0;
    struct query_far *far = arena_alloc(&rq->arena, sizeof *far);
    put_target(rq, &target);
    if (far)
        *far = (struct query_far){
            .request = {arena_strdup(&rq->arena, (struct text){target.data, target.len}),
                        target.len}};
    int rc = far ? target.error ? target.error : rq->arena.error : -ENOMEM;
    buf_done(&target);
    if (rc == 0)
        rq->far = far;
    return rc;
}

void request_spread_done(struct request *rq)
{
    if (rq->far)
        query_far_done(rq->far);
    rq->far = NULL;
}

struct query_env request_env(const struct request *rq)
{
    struct query_env env = rq->http->env;

    env.far = rq->far;
    return env;
}
