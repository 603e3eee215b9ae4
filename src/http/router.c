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
    &endpoint_gen_fake_trace,
    NULL,
};

const struct endpoint *const *router_table(void)
{
    return table;
}

const struct endpoint *router_find(struct text path)
{
    for (size_t i = 0; table[i]; i++)
        if (text_eq(path, text_of(table[i]->path)))
            return table[i];
    return NULL;
}

void router_allow(const struct endpoint *e, char *out, size_t size)
{
    snprintf(out, size, "%s%s%sOPTIONS", e->methods & METHOD_GET ? "GET, HEAD, " : "",
             e->methods & METHOD_POST ? "POST, " : "",
             e->methods & METHOD_DELETE ? "DELETE, " : "");
}
