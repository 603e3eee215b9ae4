/* gather.c - keeps a copy of an answer of many steps while it is sent, so that the cache can serve
 * it to the next request. */
#include "http/exchange/work.h"

/* A cached answer must be the one that all requests would get. `wait=no` requests no indexing, so
 * its answer may stay incomplete. */
struct cache_answer *exchange_answer_of(struct exchange *x, struct buf *body)
{
    const struct request *rq = &x->rq;
    const struct param *wait = request_param(rq, "wait");
    bool no_wait = wait && wait->given && text_eq(wait->text, TEXT("no"));
    const char *type = rq->content_type ? rq->content_type : format_content_type(rq->format);
    if (rq->status != 200 || (rq->incomplete && no_wait))
        return NULL;
    return cache_answer_new(body, type, rq->incomplete);
}

void exchange_scatter(struct exchange *x)
{
    x->place.gathers = false;
    buf_done(&x->gathered);
    if (x->gathered_bytes)
        cache_gathered(x->rq.http->cache, x->gathered_bytes);
    x->gathered_bytes = 0;
}

/* Returns false if there is no space for it. */
static bool add_copy(struct exchange *x, const struct buf *fresh)
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
                    (x->coding == CODING_IDENTITY && x->rq.min_bytes > longest);
    bool continues = (rc == 0 || rc == ERR_END) && !fresh->error && !too_long;
    if (too_long)
        cache_keep(cache, &x->key, NULL);
    if (!continues || !add_copy(x, fresh)) {
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
