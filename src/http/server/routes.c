/* routes.c - the table of all endpoints. */
#include "http/server/routes.h"

#include "http/endpoints/endpoints.h"
#include "http/openapi/openapi.h"
#include "http/page/page.h"

const struct endpoint *const routes[] = {
    &endpoint_page,     &endpoint_healthz,     &endpoint_readyz,      &endpoint_info,
    &endpoint_stats,    &endpoint_view,        &endpoint_aggregate,   &endpoint_event_count,
    &endpoint_schema,   &endpoint_read,        &endpoint_metrics,     &endpoint_checks,
    &endpoint_openapi,  &endpoint_index,       &endpoint_merge,       &endpoint_split,
    &endpoint_pgzip,    &endpoint_tar,         &endpoint_store,       &endpoint_stored,
    &endpoint_open,     &endpoint_compare,     &endpoint_call_tree,   &endpoint_processes,
    &endpoint_organize, &endpoint_reconstruct, &endpoint_timeline,    &endpoint_histogram,
    &endpoint_event,    &endpoint_find,        &endpoint_suggest,     &endpoint_progress,
    &endpoint_cancel,   &endpoint_requests,    &endpoint_dlio_config, NULL,
};
