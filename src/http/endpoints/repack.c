/* repack.c - /merge: many traces as one; /split: a trace as files of a given size; /pgzip: plain
 * files as gzip.
 *
 * dftracerctl requests format=tar, extracts it beside the destination, and moves it there once
 * manifest.json, the last member, has arrived. If that has "verified":false, the exit status is 1.
 */
#include "http/endpoints/endpoints.h"
#include "http/endpoints/rewriting.h"
#include "http/request/selection.h"

#include <string.h>

#define OPTIONS struct repack_options
static const struct param_spec selection_any_params[] = {
    SELECTION_PARAMS("", "true", "start", "any"),
    {0},
};
static const struct param_spec verify_params[] = {
    PARAM("verify", BOOL,
          "decompress the output, read the events again and report in the manifest whether they "
          "match",
          .fallback = "false", BIND(verify)),
    {0},
};
static const struct param_spec merge_own[] = {
    PARAM("name", TEXT,
          "name of the trace in a tar archive or directory; .gz is appended if it is compressed",
          .fallback = "combined.pfw", BIND(name)),
    PARAM("order", CHOICE, "file: one file after the other; ts: merge all files by time",
          .fallback = "file", .choices = "file|ts", BIND(order_ts)),
    COMPRESS_PARAM("false"),
    PARAM("gzip_only", BOOL, "skip uncompressed files", .fallback = "false"),
    {0},
};
static const struct param_spec split_own[] = {
    PARAM("app_name", TEXT, "output files are named <app_name>-<n>.pfw, n from 1",
          .fallback = "app", BIND(name)),
    CHUNK_SIZE_PARAM("uncompressed bytes per output file; a file ends with the line that reaches "
                     "this size; at least 4KiB",
                     "4MB", BIND(chunk_bytes)),
    COMPRESS_PARAM("true"),
    {0},
};
static const struct param_spec pgzip_own[] = {
    PARAM("level", UINT, "gzip level, 1-9", .fallback = "5", .min = 1, .max = GZIP_LEVEL_MAX,
          BIND(level)),
    {0},
};
#undef OPTIONS

struct state {
    struct selection chosen;
    struct query *query;
    struct rewriting rewriting;
};

/* ---- parameters ------------------------------------------------------------------------------ */

/* Checks that the parameter is a file name without a path. */
static int check_name(struct request *rq, const char *param, size_t most)
{
    struct text name = text_of(request_text(rq, param));
    bool good = name.len && name.len <= most && !text_eq(name, TEXT(".")) &&
                !text_eq(name, TEXT("..")) && text_is_utf8(name);
    for (size_t i = 0; i < name.len; i++)
        good &= (unsigned char)name.ptr[i] >= 0x20 && name.ptr[i] != '/' && name.ptr[i] != 0x7f;
    return good ? 0
                : err_set_param(&rq->err, ERR_PARAM, param,
                                "`%s` must be a file name of at most %zu bytes without `/` or "
                                "control characters",
                                param, most);
}

/* The name of a single file must end with `.pfw`; the names of several files get a number and that
 * suffix. */
static int read_output_options(struct request *rq, struct repack_options *o)
{
    bool merge = o->kind == REPACK_MERGE;
    int rc = check_name(rq, merge ? "name" : "app_name", merge ? 240 : 200);
    if (rc == 0 && merge && !text_ends(text_of(o->name), TEXT(".pfw")))
        rc = params_refuse(rq, "name", "must end with .pfw");
    if (rc == 0 && o->verify && rq->format == FORMAT_PFW && !request_param(rq, "output")->set)
        rc = params_refuse(
            rq, "verify",
            "requires format=tar or `output`: a single trace cannot contain the result");
    return rc < 0 ? rc : rewriting_level(rq, &o->level);
}

/* Opens the query again, without the plain files. */
static int drop_uncompressed(struct request *rq, struct state *s)
{
    const uint32_t *files;
    size_t n = query_files(s->query, &files), kept = 0;
    uint32_t *positions = arena_alloc(&rq->arena, (n + 1) * sizeof *positions);
    if (!positions)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (snapshot_file(rq->snapshot, files[i])->format == TRACE_GZIP)
            positions[kept++] = files[i];
    if (kept == n)
        return 0;
    s->chosen.positions = positions;
    s->chosen.position_count = kept;
    query_close(s->query);
    s->query = NULL;
    /* Files that have not been read yet may be compressed, too: their format is unknown. */
    bool incomplete = rq->incomplete;
    int rc = selection_open(rq, &s->chosen, &s->query);
    rq->incomplete |= incomplete;
    return rc;
}

static int choose_files(struct request *rq, struct state *s, enum repack_kind kind)
{
    int rc = 0;
    if (kind == REPACK_PGZIP) {
        selection_init(&s->chosen);
        selection_read_files(rq, &s->chosen);
    } else {
        rc = selection_read(rq, &s->chosen);
        /* If the filter leaves out objects, the metadata records that the rest needs are found
         * separately; otherwise all records keep their positions. */
        bool all = !s->chosen.query.len && !s->chosen.preset && !s->chosen.has_time_range &&
                   !s->chosen.has_min_duration && !s->chosen.has_max_duration &&
                   !s->chosen.within.ptr;
        if (!all && !request_param(rq, "phase")->given)
            s->chosen.phases = PHASE_DATA;
    }
    if (rc == 0)
        rc = selection_open(rq, &s->chosen, &s->query);
    if (rc == 0 && kind == REPACK_MERGE && request_flag(rq, "gzip_only"))
        rc = drop_uncompressed(rq, s);
    return rc;
}

/* A compressed file without a tar around it has no name, so there can be only one. */
static int check_single(struct request *rq, const struct state *s)
{
    const uint32_t *files;
    size_t n = query_files(s->query, &files), plain = 0;
    for (size_t i = 0; i < n; i++)
        plain += repack_can_compress(snapshot_file(rq->snapshot, files[i]));
    return plain == 1 ? 0
                      : err_set_param(&rq->err, ERR_FORMAT, "format",
                                      "format=pfw compresses exactly one uncompressed file, but "
                                      "%zu are selected: select one with `file`",
                                      plain);
}

static int open_repack(struct request *rq, enum repack_kind kind)
{
    struct state *s = rq->state;
    struct repack_options *o = rq->options;
    o->kind = kind;
    int rc = kind == REPACK_PGZIP ? 0 : read_output_options(rq, o);
    if (rc == 0)
        rc = choose_files(rq, s, kind);
    if (rc == 0 && kind == REPACK_PGZIP && rq->format == FORMAT_PFW)
        rc = check_single(rq, s);
    if (rc == 0)
        rc = rewriting_open(rq, &s->rewriting);
    if (rc < 0)
        return rc;
    return repack_open(s->query, rq->http->env.pool, &rq->budget, s->rewriting.archive_writer, o,
                       &rq->err, &s->rewriting.transform);
}

static int open_merge(struct request *rq)
{
    return open_repack(rq, REPACK_MERGE);
}

static int open_split(struct request *rq)
{
    return open_repack(rq, REPACK_SPLIT);
}

static int open_pgzip(struct request *rq)
{
    return open_repack(rq, REPACK_PGZIP);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int next_repack(struct request *rq, struct buf *out)
{
    struct state *s = rq->state;
    return rewriting_next(rq, &s->rewriting, out);
}

static void close_repack(struct request *rq)
{
    struct state *s = rq->state;
    rewriting_close(&s->rewriting);
    query_close(s->query);
}

const struct endpoint endpoint_merge = {
    .path = "/merge",
    .summary = "many traces merged into one",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &repacked_type,
    PARAMS(merge_own, selection_any_params, rewriting_params, verify_params, answer_params),
    /* The default is the trace itself, so that it can be written to a file directly. */
    FORMATS(FORMAT_PFW, FORMAT_TAR, FORMAT_JSON),
    .options_size = sizeof(struct repack_options),
    .state_size = sizeof(struct state),
    .open = open_merge,
    .next = next_repack,
    .close = close_repack,
};
const struct endpoint endpoint_split = {
    .path = "/split",
    .summary = "traces split into files of a given size, as a tar archive",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &repacked_type,
    PARAMS(split_own, selection_any_params, rewriting_params, verify_params, answer_params),
    FORMATS(FORMAT_TAR, FORMAT_JSON),
    .options_size = sizeof(struct repack_options),
    .state_size = sizeof(struct state),
    .open = open_split,
    .next = next_repack,
    .close = close_repack,
};
const struct endpoint endpoint_pgzip = {
    .path = "/pgzip",
    .summary = "uncompressed traces, compressed with gzip for random access, as a tar archive",
    .methods = METHOD_GET | METHOD_POST,
    PARAMS(files_params, pgzip_own, answer_params),
    FORMATS(FORMAT_TAR, FORMAT_PFW),
    .options_size = sizeof(struct repack_options),
    .state_size = sizeof(struct state),
    .open = open_pgzip,
    .next = next_repack,
    .close = close_repack,
};
