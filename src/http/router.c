/* router.c - the endpoint table. */
#include "endpoint.h"

#include <stdio.h>

static const struct endpoint *const table[] = {
    &endpoint_page,
    &endpoint_healthz,
    &endpoint_readyz,
    &endpoint_info,
    &endpoint_stats,
    &endpoint_view,
    &endpoint_aggregate,
    &endpoint_event_count,
    &endpoint_schema,
    &endpoint_read,
    &endpoint_metrics,
    &endpoint_openapi,
    &endpoint_index,
    &endpoint_merge,
    &endpoint_split,
    &endpoint_pgzip,
    &endpoint_tar,
    &endpoint_gen_fake_trace,
    &endpoint_store,
    &endpoint_stored,
    &endpoint_open,
    &endpoint_compare,
    &endpoint_call_tree,
    &endpoint_processes,
    &endpoint_organize,
    &endpoint_reconstruct,
    &endpoint_timeline,
    &endpoint_histogram,
    &endpoint_event,
    &endpoint_find,
    &endpoint_suggest,
    &endpoint_progress,
    &endpoint_cancel,
    &endpoint_requests,
    NULL,
};

const struct endpoint *const *router_table(void)
{
    return table;
}

static bool matches(const char *pattern, struct text path)
{
    struct text rest = text_of(pattern), want, got;
    while (text_split(&rest, '/', &want)) {
        if (!text_split(&path, '/', &got))
            return false;
        bool any = want.len && *want.ptr == '{';
        if (any ? !got.len : !text_eq(want, got))
            return false;
    }
    return !path.ptr;
}

const struct endpoint *router_find(struct text path)
{
    for (size_t i = 0; table[i]; i++)
        if (matches(table[i]->path, path))
            return table[i];
    return NULL;
}

void router_allow(const struct endpoint *e, char *out, size_t size)
{
    snprintf(out, size, "%s%s%sOPTIONS", e->methods & METHOD_GET ? "GET, HEAD, " : "",
             e->methods & METHOD_POST ? "POST, " : "",
             e->methods & METHOD_DELETE ? "DELETE, " : "");
}
