/* gather.c - an answer of many steps, gathered while it is sent, so that the next one who
 * asks has it from memory. */
#include "http/exchange/work.h"

/* What was made for others must be what all would get. `wait=no` asks for no file, so that answer
 * may stay incomplete. */
static bool is_for_all(const struct exchange *x)
{
    const struct param *wait = request_param(&x->rq, "wait");
    bool content = wait && wait->given && text_eq(wait->text, TEXT("no"));
    return x->rq.status == 200 && !(x->rq.incomplete && content);
}

struct cache_answer *exchange_answer_of(struct exchange *x, struct buf *body)
{
    const struct request *rq = &x->rq;
    const char *type = rq->content_type ? rq->content_type : format_content_type(rq->format);
    return is_for_all(x) ? cache_answer_new(body, type, rq->incomplete) : NULL;
}

void exchange_scatter(struct exchange *x)
{
    x->place.gathers = false;
    buf_done(&x->gathered);
    if (x->gathered_bytes)
        cache_gathered(x->rq.http->cache, x->gathered_bytes);
    x->gathered_bytes = 0;
}

/* False: there is no room for it. */
static bool add(struct exchange *x, const struct buf *fresh)
{
    buf_append(&x->gathered, fresh->data, fresh->len);
    size_t more = x->gathered.cap - x->gathered_bytes;
    if (x->gathered.error || (more && !cache_gather(x->rq.http->cache, more)))
        return false;
    x->gathered_bytes += more;
    return true;
}

void exchange_gather(struct exchange *x, const struct buf *fresh, int rc)
{
    if (!x->place.gathers || rc == NEXT_TURN)
        return;
    struct cache *cache = x->rq.http->cache;
    size_t longest = cache_longest(cache);
    bool too_long = x->gathered.len + fresh->len > longest ||
                    (x->coding == CODING_IDENTITY && x->rq.least_bytes > longest);
    bool going_on = (rc == 0 || rc == ERR_END) && !fresh->error && !too_long;
    if (too_long)
        cache_keep(cache, &x->key, NULL);
    if (!going_on || !add(x, fresh)) {
        exchange_scatter(x);
        return;
    }
    if (rc == 0)
        return;
    struct cache_answer *answer = exchange_answer_of(x, &x->gathered);
    if (answer)
        cache_keep(cache, &x->key, answer);
    cache_answer_release(answer);
    exchange_scatter(x);
}
