/* index.c - /index: indexing progress (GET), and reindexing (POST); `follow` continues until
 * indexing is done. */
#include "http/access/viewer.h"
#include "http/endpoints/endpoints.h"
#include "http/metrics/progress.h"
#include "http/request/selection.h"

#include <stdlib.h>

#define LINE_NS 500000000ll /* minimum time between two lines of `follow` */
#define DIMENSIONS_MAX 25   /* in addition to the seven that every file has */

#define OPTIONS struct index_file_options
static const struct param_spec own_params[] = {
    PARAM("force", BOOL,
          "POST: index all selected files again; otherwise only those that failed or that no "
          "request has selected yet",
          .fallback = "false", .post = true),
    PARAM("dimensions", LIST,
          "POST: additional columns with bloom filters in these files, for example ret,args.level",
          .post = true),
    PARAM("checkpoint_size", BYTES,
          "POST: uncompressed bytes per chunk in these files, 64KiB to 1GiB", .post = true,
          .min = INDEX_CHECKPOINT_MIN, .max = INDEX_CHECKPOINT_MAX, BIND(checkpoint_size)),
    PARAM("false_positive_rate", NUMBER,
          "POST: false-positive rate of the bloom filters in these files, at least 0.000001 and "
          "below 1",
          .post = true, .min = 1e-6, .max = 0.999999, BIND(bloom_rate)),
    PARAM("expected_entries", UINT,
          "POST: minimum capacity of a bloom filter in these files, in distinct values, 1 to "
          "1048576",
          .post = true, .min = 1, .max = INDEX_EXPECTED_MAX, BIND(expected_entries)),
    PARAM("follow", BOOL, "stream progress lines until indexing is complete", .fallback = "false"),
    PARAM("timeout", DURATION, "with follow: end the stream after this time at the latest",
          .example = "'30s'"),
    PARAM("pretty", BOOL, "print JSON with line breaks and indentation", .fallback = "false",
          .not_with = "follow"),
    {0},
};
#undef OPTIONS

struct state {
    const struct index_file_options *options; /* NULL: those of the index */
    uint64_t queued;
    struct progress_stream stream; /* with `follow` */
};

/* ---- parameters ------------------------------------------------------------------------------ */

/* Reads column names as in queries; the index stores them by path. */
static int read_dimensions(struct request *rq, struct index_file_options *o)
{
    const struct param *p = request_param(rq, "dimensions");
    const char **paths = arena_alloc(&rq->arena, (p->count + 1) * sizeof *paths);
    if (!paths)
        return -ENOMEM;
    if (p->count > DIMENSIONS_MAX)
        return err_set_param(&rq->err, ERR_PARAM, "dimensions",
                             "`dimensions` has %zu columns; at most %d are allowed", p->count,
                             DIMENSIONS_MAX);
    for (size_t i = 0; i < p->count; i++) {
        int rc = query_stored_path(text_of(p->items[i]), &rq->arena, &paths[i]);
        if (rc == -EINVAL)
            return err_set_param(&rq->err, ERR_PARAM, "dimensions",
                                 "`dimensions`: %.100s is not a column of the traces", p->items[i]);
        if (rc < 0)
            return rc;
    }
    o->extra_dimensions = p->count ? paths : NULL;
    return 0;
}

/* Without parameters s->options stays NULL, and files are read with the options of the index. */
static int read_options(struct request *rq, struct state *s)
{
    struct index_file_options *o = rq->options;
    if (o->checkpoint_size || o->bloom_rate > 0 || o->expected_entries ||
        request_param(rq, "dimensions")->set)
        s->options = o;
    return read_dimensions(rq, o);
}

static int choose_files(struct request *rq, const struct state *s, struct snapshot *snapshot,
                        uint32_t **ret, size_t *ret_count)
{
    struct selection chosen;
    selection_init(&chosen);
    selection_read_files(rq, &chosen);
    chosen.allow_missing = s->stream.sent_ns != 0;
    return query_select_files(&rq->http->env, snapshot, &chosen, &rq->err, ret, ret_count);
}

/* ---- reindexing ------------------------------------------------------------------------------ */

static int rebuild_file(struct request *rq, struct state *s, const struct index_file *f)
{
    struct index *ix = rq->http->options->index;
    bool unrequested = f->state == INDEX_PENDING && index_is_unrequested(ix, f->name);
    if (f->state != INDEX_FAILED && !unrequested && !request_flag(rq, "force"))
        return 0;
    int rc = unrequested && !s->options ? index_request_file(ix, f->name)
                                        : index_rebuild(ix, f->name, s->options);
    s->queued += rc == 0;
    return rc == ERR_NOT_FOUND ? 0 : rc; /* the file was deleted just now */
}

/* Whole archives are no files of the snapshot; they are walked again if their members are read
 * again. */
static int rebuild_archives(struct request *rq, const struct state *s, struct snapshot *snapshot)
{
    struct index *ix = rq->http->options->index;
    struct selection chosen;
    uint32_t *archives = NULL;
    size_t count = 0;
    selection_init(&chosen);
    selection_read_files(rq, &chosen);
    int rc = query_select_archives(&rq->http->env, snapshot, &chosen, &rq->err, &archives, &count);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct index_file *a = snapshot_archive(snapshot, archives[i]);
        if (a->state != INDEX_READY || a->damaged)
            continue;
        rc = index_rebuild(ix, a->name, s->options);
        rc = rc == ERR_NOT_FOUND ? 0 : rc;
    }
    free(archives);
    return rc;
}

static int rebuild_chosen(struct request *rq, struct state *s)
{
    uint32_t *files = NULL;
    size_t count = 0;
    int rc = read_options(rq, s);
    if (rc < 0)
        return rc;
    struct snapshot *snapshot = index_snapshot(rq->http->options->index); /* POST is for admins */
    rc = choose_files(rq, s, snapshot, &files, &count);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = rebuild_file(rq, s, snapshot_file(snapshot, files[i]));
    if (rc == 0 && request_flag(rq, "force"))
        rc = rebuild_archives(rq, s, snapshot);
    free(files);
    snapshot_release(snapshot);
    if (rc == -EINVAL) /* the index refuses the options */
        return err_set_param(
            &rq->err, ERR_PARAM, "dimensions",
            "`dimensions`: too many columns, a name that is too long, or not a column");
    return rc;
}

/* ---- progress -------------------------------------------------------------------------------- */

static int read_progress(struct request *rq, const struct state *s, struct index_progress *ret)
{
    struct index *ix = rq->http->options->index;
    uint32_t *files = NULL;
    size_t count = 0;
    index_progress(ix, ret);
    if (!request_param(rq, "dir")->count && !request_param(rq, "file")->count &&
        request_flag(rq, "recursive") && !rq->viewer)
        return 0;
    struct snapshot *snapshot = request_snapshot(rq);
    if (!snapshot)
        return -ENOMEM;
    int rc = choose_files(rq, s, snapshot, &files, &count);
    progress_count(ix, snapshot, files, count, ret);
    free(files);
    snapshot_release(snapshot);
    return rc;
}

static int open_index(struct request *rq)
{
    struct state *s = rq->state;
    bool follow = request_flag(rq, "follow");
    rq->format = follow ? FORMAT_NDJSON : rq->format;
    int rc = rq->post ? rebuild_chosen(rq, s) : 0;
    struct index_progress p; /* read before the answer begins, so that a missing file is an error */
    return rc < 0 ? rc : read_progress(rq, s, &p);
}

/* Ranks count all files, so viewers do not see them. */
static int write_progress(struct request *rq, const struct index_progress *p, struct buf *out)
{
    const struct state *s = rq->state;
    struct progress_report r;
    struct index_rank_progress *ranks = NULL;
    size_t count = 0;
    int rc = rq->viewer ? 0 : index_rank_progress(rq->http->options->index, &ranks, &count);
    if (rc < 0)
        return rc;
    progress_report(rq, p, &r);
    r.ranks = ranks;
    r.rank_count = count;
    if (rq->post)
        r.queued = (struct value){.type = VALUE_UINT, .u = s->queued};
    format_object(&progress_report_type, &r, rq->pretty, out);
    free(ranks);
    return 0;
}

/* Writes a line when something has changed, or after a long silence. */
static int follow_progress(struct request *rq, struct state *s, struct buf *out)
{
    struct index_progress p;
    int rc = read_progress(rq, s, &p);
    if (rc < 0)
        return rc;
    bool last = progress_is_done(&p) || p.store_error || rq->ending;
    if (!progress_is_due(rq, &s->stream, &p, 0, LINE_NS, last))
        return NEXT_WAIT;
    rc = write_progress(rq, &p, out);
    return rc < 0 ? rc : last ? ERR_END : NEXT_WAIT;
}

static int next_index(struct request *rq, struct buf *out)
{
    struct index_progress p;
    if (request_flag(rq, "follow"))
        return follow_progress(rq, rq->state, out);
    int rc = read_progress(rq, rq->state, &p);
    rc = rc < 0 ? rc : write_progress(rq, &p, out);
    return rc < 0 ? rc : ERR_END;
}

const struct endpoint endpoint_index = {
    .path = "/index",
    .summary = "indexing progress; POST indexes files again",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &progress_report_type,
    .line = &progress_report_type,
    PARAMS(files_params, own_params),
    FORMATS(FORMAT_JSON, FORMAT_NDJSON),
    .immediate = true,
    .apart = true,
    .changes = true,
    .admin = true,
    .options_size = sizeof(struct index_file_options),
    .state_size = sizeof(struct state),
    .open = open_index,
    .next = next_index,
};
