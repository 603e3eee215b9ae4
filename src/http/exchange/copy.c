/* copy.c - keeps a copy of an answer of many steps while it is sent, so that the cache can serve
 * it to the next request. */
#include "http/exchange/work.h"
#include "http/request/selection.h"

/* A cached answer must be the one that all requests would get. `wait=no` requests no indexing, so
 * its answer may stay incomplete. */
struct cache_answer *exchange_answer_of(struct exchange *x, struct buf *body)
{
    const struct request *rq = &x->rq;
    const char *type = rq->content_type ? rq->content_type : format_content_type(rq->format);
    if (rq->status != 200 || (rq->incomplete && selection_indexes_nothing(rq)))
        return NULL;
    return cache_answer_new(body, type, rq->incomplete);
}

void exchange_drop_copy(struct exchange *x)
{
    x->place.copies = false;
    buf_done(&x->copy);
    if (x->copy_bytes)
        cache_unreserve(x->rq.http->cache, x->copy_bytes);
    x->copy_bytes = 0;
}

/* Returns false if there is no space for it. */
static bool add_copy(struct exchange *x, const struct buf *fresh)
{
    buf_append(&x->copy, fresh->data, fresh->len);
    size_t more = x->copy.cap - x->copy_bytes;
    if (x->copy.error || (more && !cache_reserve(x->rq.http->cache, more)))
        return false;
    x->copy_bytes += more;
    return true;
}

void exchange_copy_for_cache(struct exchange *x, const struct buf *fresh, int rc)
{
    if (!x->place.copies || rc == NEXT_TURN)
        return;
    struct cache *cache = x->rq.http->cache;
    size_t longest = cache_longest(cache);
    bool too_long = x->copy.len + fresh->len > longest ||
                    (x->coding == CODING_IDENTITY && x->rq.min_bytes > longest);
    bool continues = (rc == 0 || rc == ERR_END) && !fresh->error && !too_long;
    if (too_long)
        cache_keep(cache, &x->key, NULL);
    if (!continues || !add_copy(x, fresh)) {
        exchange_drop_copy(x);
        return;
    }
    if (rc == 0)
        return;
    struct cache_answer *answer = exchange_answer_of(x, &x->copy);
    if (answer)
        cache_keep(cache, &x->key, answer);
    cache_answer_release(answer);
    exchange_drop_copy(x);
}
