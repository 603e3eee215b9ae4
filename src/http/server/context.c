/* context.c - fills in the context of requests. */
#include "http/server/context.h"

#include "http/exchange/cache.h"
#include "http/server/routes.h"

#define SPOOL_BYTES (16ull << 30)

void context_fill_limits(struct http_limits *l, unsigned workers)
{
    l->requests = l->requests ? l->requests : 2 * workers;
    l->queue = l->queue ? l->queue : 256;
    l->query_time_ms = l->query_time_ms ? l->query_time_ms : 300000;
    l->query_memory = l->query_memory ? l->query_memory : (size_t)1 << 30;
    l->total_memory = l->total_memory ? l->total_memory : (size_t)4 << 30;
    l->spool_bytes = l->spool_bytes ? l->spool_bytes : SPOOL_BYTES;
    l->answer_memory = l->answer_memory ? l->answer_memory : CACHE_BYTES;
    l->connections = l->connections ? l->connections : 16384;
    l->arrival_ms = l->arrival_ms ? l->arrival_ms : 60000;
    l->idle_ms = l->idle_ms ? l->idle_ms : 120000;
    l->link_ms = l->link_ms ? l->link_ms : 900000;
    l->client_requests = l->client_requests ? l->client_requests : (l->requests + l->queue + 1) / 2;
    l->client_memory = l->client_memory ? l->client_memory : l->total_memory / 2;
    l->client_connections =
        l->client_connections ? l->client_connections : (l->connections + 1) / 2;
}

struct http_context context_of(const struct http_options *options, struct pool *pool)
{
    return (struct http_context){
        .options = options,
        .endpoints = routes,
        .env = {.index = options->index,
                .pool = pool,
                .root_paths = options->root_paths,
                .root_labels = options->root_labels,
                .root_count = options->root_count,
                .covered = covered_cache_new()},
        .started_ns = clock_mono_ns(),
        .started_real_ns = clock_real_ns(),
    };
}
