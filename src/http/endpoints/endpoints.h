/* endpoints.h - the descriptors of this folder, one file each (or few that share their functions).
 * Used by the table of http/server. */
#ifndef DFTRACERD_HTTP_ENDPOINTS_ENDPOINTS_H
#define DFTRACERD_HTTP_ENDPOINTS_ENDPOINTS_H

#include "http/request/endpoint.h"

extern const struct endpoint endpoint_healthz, endpoint_readyz, endpoint_info, endpoint_stats,
    endpoint_view, endpoint_aggregate, endpoint_event_count, endpoint_schema, endpoint_read,
    endpoint_metrics, endpoint_index, endpoint_compare, endpoint_store, endpoint_stored,
    endpoint_open, endpoint_call_tree, endpoint_processes, endpoint_merge, endpoint_split,
    endpoint_pgzip, endpoint_organize, endpoint_reconstruct, endpoint_timeline, endpoint_histogram,
    endpoint_event, endpoint_find, endpoint_suggest, endpoint_progress, endpoint_cancel,
    endpoint_requests, endpoint_tar, endpoint_dlio_config, endpoint_checks;

#endif
