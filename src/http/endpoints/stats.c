/* stats.c - /stats: counts, durations and sizes, grouped by any columns. */
#include "dftracerd/stats.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

#include <stdio.h>
#include <string.h>

#define OPTIONS struct stats_options
static const struct param_spec own_params[] = {
    PARAM("report", CHOICE, "report to return", .fallback = "summary",
          .choices = "summary|categories|names|pid_tids|time_range|duration|top-names|top-"
                     "categories|detailed",
          BIND(report)),
    PARAM("group_by", LIST, "columns to group by, comma-separated; pid_tid means pid,tid",
          .example = "['cat','name']", .distinct = true, BIND_LIST(group_by, group_by_count)),
    PARAM("top_n", UINT, "maximum number of rows in top-* reports and of groups; 0 = all",
          .fallback = "10", BIND(top_n)),
    PARAM("top_n_pid_tid", UINT, "maximum number of threads; 0 = all", .fallback = "10",
          BIND(top_n_pid_tid)),
    PARAM("exact", BOOL,
          "compute percentiles from all values instead of from a sketch with an error of 1 %",
          .fallback = "false", BIND(exact)),
    PARAM("scan", BOOL, "read the columns even if summaries would suffice (the result is the same)",
          .fallback = "false", BIND(no_summary)),
    PARAM("per_file", BOOL,
          "with format=json: an array with an element per file, with the keys of the old "
          "dftracer_stats --json",
          .fallback = "false", .formats = FORMAT_BIT(JSON)),
    {0},
};
#undef OPTIONS

struct state {
    struct stats *stats; /* NULL with per_file */
    size_t file;         /* the next file, with per_file */
    struct jw j;
};

static int open_stats(struct request *rq)
{
    struct state *s = rq->state;
    if (request_flag(rq, "per_file"))
        return 0;
    int rc = stats_run(rq->query, rq->options, &rq->err, &s->stats);
    if (rc == 0 && request_text(rq, "query"))
        s->stats->query = request_text(rq, "query");
    return rc;
}

/* ---- a file at a time ------------------------------------------------------------------------ */

/* Returns the path of the file on this machine, or NULL if there is no memory. */
static const char *absolute_path(struct request *rq, const char *name)
{
    const struct query_env *env = &rq->http->env;
    for (size_t i = 0; i < env->root_count; i++) {
        size_t n = strlen(env->root_labels[i]);
        if (n && (strncmp(name, env->root_labels[i], n) != 0 || name[n] != '/'))
            continue;
        const char *rest = n ? name + n + 1 : name;
        size_t size = strlen(env->root_paths[i]) + strlen(rest) + 2;
        char *path = arena_alloc(&rq->arena, size);
        if (path)
            snprintf(path, size, "%s/%s", env->root_paths[i], rest);
        return path;
    }
    return name;
}

static int put_file(struct request *rq, struct state *s, uint32_t position)
{
    const struct index_file *f = snapshot_file(rq->snapshot, position);
    struct query *query = NULL;
    struct stats *stats = NULL;
    struct selection one = rq->chosen;
    one.positions = &position;
    one.position_count = 1;
    int rc = query_open(&rq->http->env, rq->snapshot, &one, &rq->budget, &rq->err, &query);
    rc = rc < 0 ? rc : stats_run(query, rq->options, &rq->err, &stats);
    if (rc == 0)
        format_stats_file(stats, absolute_path(rq, f->name), NULL, &s->j);
    stats_free(stats);
    query_close(query);
    return rc;
}

static int next_file(struct request *rq, struct state *s, struct buf *out)
{
    const uint32_t *files;
    size_t count = query_files(rq->query, &files);
    int rc = 0;
    if (s->file == 0) {
        jw_init(&s->j, out, rq->pretty);
        jw_begin(&s->j, '[');
    }
    s->j.out = out;
    if (s->file < count) {
        uint32_t position = files[s->file++];
        const struct index_file *f = snapshot_file(rq->snapshot, position);
        bool nothing = f->damaged && f->text_bytes == 0;
        if (index_file_is_unread(f) || f->state == INDEX_FAILED || nothing)
            format_stats_file(NULL, absolute_path(rq, f->name),
                              f->error ? f->error : index_state_name(f->state), &s->j);
        else
            rc = put_file(rq, s, position);
    }
    rc = rc < 0 ? rc : rq->arena.error;
    if (rc < 0 || s->file < count)
        return rc;
    jw_end(&s->j, ']');
    jw_finish(&s->j);
    return ERR_END;
}

static int next_stats(struct request *rq, struct buf *out)
{
    struct state *s = rq->state;
    if (!s->stats)
        return next_file(rq, s, out);
    int rc = format_stats(s->stats, rq->format, rq->pretty, out);
    return rc < 0 ? rc : ERR_END;
}

static void close_stats(struct request *rq)
{
    struct state *s = rq->state;
    stats_free(s->stats);
}

const struct endpoint endpoint_stats = {
    .path = "/stats",
    .summary = "statistics of the selected events",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &stats_answer_type,
    .line = &stats_row_type,
    PARAMS(own_params, selection_params, clip_params, answer_params),
    FORMATS(FORMAT_JSON, FORMAT_NDJSON, FORMAT_CSV, FORMAT_TEXT),
    .options_size = sizeof(struct stats_options),
    .queries = true,
    .state_size = sizeof(struct state),
    .open = open_stats,
    .next = next_stats,
    .close = close_stats,
};
