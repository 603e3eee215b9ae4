/* etag.c - validators. */
#include "http/exchange/etag.h"

#include <string.h>

/* True for parameters with which the generation does not determine the answer: it continues,
 * reports how long it took, or examines a file. */
static bool has_no_etag(const struct request *rq)
{
    static const char *const names[] = {"follow", "summary", "check"};
    if (rq->endpoint->apart)
        return true;
    for (size_t i = 0; i < rq->param_count; i++)
        if (rq->params[i].given && strcmp(rq->params[i].spec->name, "output") == 0)
            return true; /* the file is written again each time */
    for (size_t i = 0; i < rq->param_count; i++)
        for (size_t k = 0; rq->params[i].given && k < sizeof names / sizeof *names; k++)
            if (rq->params[i].number && strcmp(rq->params[i].spec->name, names[k]) == 0)
                return true;
    return false;
}

static void put_number(struct buf *out, uint64_t number)
{
    char digits[24];
    buf_append(out, digits, num_format_u64(number, digits));
}

/* Appends all that an answer depends on besides the request. */
static void put_dependencies(struct exchange *x, struct buf *out)
{
    const struct http_options *o = x->rq.http->options;
    buf_puts(out, snapshot_uuid(x->rq.snapshot));
    put_number(out, snapshot_generation(x->rq.snapshot));
    buf_puts(out, x->rq.viewer ? "viewer" : ""); /* /info reports less to a viewer */
    buf_puts(out, o->version);
    for (size_t i = 0; i < o->root_count; i++) {
        buf_putc(out, '\n');
        buf_puts(out, o->root_labels[i]);
        buf_putc(out, '=');
        buf_puts(out, o->root_paths[i]);
    }
    buf_putc(out, '\n');
}

static void put_etag(struct exchange *x, struct hash128 h)
{
    memcpy(x->etag, "W/\"", 3);
    hash128_hex(h, x->etag + 3);
    memcpy(x->etag + 3 + 32, "\"", 2);
}

void etag_of_text(struct exchange *x, struct text text)
{
    put_etag(x, text_hash128(text));
}

void etag_make(struct exchange *x)
{
    struct buf key = {0};
    if (has_no_etag(&x->rq) || !snapshot_is_listed(x->rq.snapshot))
        return;
    buf_reserve(&key, 1000);
    put_dependencies(x, &key);
    params_normalised(&x->rq, &key);
    buf_puts(&key, x->rq.format_given ? "+" : "");
    if (!key.error) {
        struct hash128 h = text_hash128((struct text){key.data, key.len});
        x->key = (struct cache_key){h, snapshot_generation(x->rq.snapshot), x->rq.http->site};
        x->key.hash.low += x->coding;
        x->shared = x->rq.http->cache && !x->rq.endpoint->changes;
        put_etag(x, h);
    }
    buf_done(&key);
}

bool etag_matches(const char *header, const char *etag)
{
    struct text rest = text_of(header), item;
    if (!header || strlen(etag) < 2)
        return false;
    while (text_split(&rest, ',', &item)) {
        item = text_trim(item);
        if (text_starts(item, TEXT("W/")))
            item = (struct text){item.ptr + 2, item.len - 2};
        if (text_eq(item, text_of(etag + 2)))
            return true;
    }
    return false;
}
