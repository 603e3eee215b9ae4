/* etag.c - validators. */
#include "etag.h"

#include <stdio.h>
#include <string.h>

/* Parameters that make an answer which no generation determines: it goes on, tells how long it took, looks at a file. */
static bool is_fleeting(const struct request *rq)
{
    static const char *const names[] = {"follow", "summary", "check"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (request_flag(rq, names[i]))
            return true;
    return false;
}

void etag_make(struct exchange *x)
{
    const struct http_options *o = x->rq.http->options;
    struct buf key = {0};
    if (is_fleeting(&x->rq))
        return;
    buf_printf(&key, "%s %llu %s", snapshot_uuid(x->rq.snapshot),
               (unsigned long long)snapshot_generation(x->rq.snapshot), o->version);
    for (size_t i = 0; i < o->root_count; i++)
        buf_printf(&key, "\n%s=%s", o->root_labels[i], o->root_paths[i]);
    buf_putc(&key, '\n');
    params_normalised(&x->rq, &key);
    buf_puts(&key, x->rq.format_given ? "+" : "");
    if (!key.error) {
        struct hash128 h = text_hash128((struct text){key.data, key.len});
        x->key = (struct cache_key){h, snapshot_generation(x->rq.snapshot)};
        x->key.hash.low += x->coding;
        x->shared = x->rq.http->cache && !x->rq.endpoint->changes;
        snprintf(x->etag, sizeof x->etag, "W/\"%016llx%016llx\"", (unsigned long long)h.high,
                 (unsigned long long)h.low);
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
