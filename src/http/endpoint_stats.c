/* endpoint_stats.c - /stats: counts, durations, sizes, by any columns. */
#include "endpoint.h"

#include <string.h>

static const enum format formats[] = {FORMAT_JSON, FORMAT_NDJSON, FORMAT_CSV, FORMAT_TEXT};

static const struct param_spec own_params[] = {
    {"report", PARAM_CHOICE, false, "summary",
     "summary|categories|names|pid_tids|time_range|duration|top-names|top-categories|detailed",
     "report to return"},
    {"group_by", PARAM_LIST, false, NULL, NULL,
     "columns to group by, comma-separated; pid_tid means pid,tid"},
    {"top_n", PARAM_UINT, false, "10", NULL,
     "maximum number of rows in top-* reports and of groups; 0 = all"},
    {"top_n_pid_tid", PARAM_UINT, false, "10", NULL, "maximum number of threads; 0 = all"},
    {"exact", PARAM_BOOL, false, "false", NULL,
     "compute percentiles from all values instead of from a sketch with an error of 1 %"},
    {"scan", PARAM_BOOL, false, "false", NULL,
     "read the columns even if summaries would suffice (the result is the same)"},
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};
static const struct param_spec *const params[] = {own_params, selection_params, clip_params,
                                                  answer_params, NULL};

/* Several end when the last one does, so they are worked for together no longer than one job works before it gives way. Of more
 * rows than four that count go through in that time little would be saved. */
#define SHARE_ROWS 10000000
#define SHARE_NS (100 * 1000000ll)

_Static_assert(STATS_SHARE >= ENDPOINT_SHARE, "all of them at once");

struct state {
    struct query *query;
    struct stats *stats;
};

static void read_options(const struct request *rq, struct stats_options *o)
{
    const struct param *group_by = request_param(rq, "group_by");
    stats_report_parse(text_of(request_text(rq, "report")), &o->report);
    o->group_by = (const char *const *)group_by->items;
    o->group_by_count = group_by->count;
    o->exact = request_flag(rq, "exact");
    o->no_summary = request_flag(rq, "scan");
    o->top_n = request_uint(rq, "top_n");
    o->top_n_pid_tid = request_uint(rq, "top_n_pid_tid");
}

static int open_stats(struct request *rq)
{
    struct stats_options options = {0};
    struct state *s = rq->state = arena_alloc(&rq->arena, sizeof *s);
    if (!s)
        return -ENOMEM;
    read_options(rq, &options);
    struct selection chosen;
    int rc = selection_read(rq, &chosen);
    if (rc == 0)
        rc = selection_open(rq, &chosen, &s->query);
    return rc < 0 ? rc : stats_open(s->query, &options, &rq->err, &s->stats);
}

/* Windows of time have few chunks, and each its own; the events of `within` are looked for by open(), which may take long. */
static bool can_share(const struct request *rq)
{
    const struct state *s = rq->state;

    if (request_param(rq, "time_range")->set || request_param(rq, "within")->set)
        return false;
    return !s || stats_rows_to_scan(s->stats) <= SHARE_ROWS;
}

static void share_stats(struct request **all, size_t count, bool *ret_done)
{
    struct stats *some[STATS_SHARE];
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (can_share(all[i]))
            some[n++] = ((struct state *)all[i]->state)->stats;
    stats_share(some, n, clock_mono_ns() + SHARE_NS);
    for (size_t i = 0; i < count; i++)
        ret_done[i] = stats_rows_to_scan(((struct state *)all[i]->state)->stats) == 0;
}

static int next_stats(struct request *rq, struct buf *out)
{
    struct state *s = rq->state;
    const char *query = request_text(rq, "query");
    int rc = stats_find(s->stats, &rq->err);
    rc = rc < 0 ? rc : format_stats(s->stats, query ? query : "", rq->format, rq->pretty, out);
    return rc < 0 ? rc : ERR_END;
}

static void close_stats(struct request *rq)
{
    struct state *s = rq->state;
    if (!s)
        return;
    stats_free(s->stats);
    query_close(s->query);
}

const struct endpoint endpoint_stats = {
    .path = "/stats",
    .summary = "statistics of the selected events",
    .methods = METHOD_GET | METHOD_POST,
    .params = params,
    .formats = formats,
    .format_count = 4,
    .open = open_stats,
    .next = next_stats,
    .can_share = can_share,
    .share = share_stats,
    .close = close_stats,
};
