/* read.c - /read: a part of one file's text, by bytes or lines, unmodified. */
#include "dftracerd/text_range.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

#include <stdlib.h>
#include <string.h>

static const struct param_spec own_params[] = {
    PARAM("file", TEXT, "path of the trace file", .required = true, .example = "'rank_0.pfw.gz'"),
    PARAM("mode", CHOICE,
          "bytes: bytes [start, end) of the text; line_bytes: the whole lines in that range; "
          "lines: lines start to end by number",
          .fallback = "bytes", .choices = "bytes|line_bytes|lines"),
    PARAM("start", INT, "first byte, or first line (counted from 1); -1 = the beginning",
          .fallback = "-1"),
    PARAM("end", INT, "byte after the last one, or last line; -1 = the end", .fallback = "-1"),
    PARAM("check", BOOL, "read nothing; report whether the index matches the file",
          .fallback = "false"),
    {0},
};

struct state {
    const struct index_file *file;
    struct text_range *range;
    /* for `check` */
    const char *path, *state;
    bool current;
};

#define OBJECT struct state
static const struct member members[] = {
    MEMBER("path", path),
    MEMBER("state", state),
    MEMBER("current", current, .help = "the index matches the file"),
};
static const struct object_type read_check_type = {"ReadCheck", MEMBERS(members)};
#undef OBJECT

static enum text_mode mode_of(const struct request *rq)
{
    return (enum text_mode)request_uint(rq, "mode"); /* the choices have the order of the enum */
}

static int read_position(struct request *rq, const char *name, uint64_t otherwise, uint64_t *ret)
{
    int64_t v = (int64_t)request_uint(rq, name);
    if (v < -1 || (v == 0 && mode_of(rq) == TEXT_LINES))
        return err_set_param(&rq->err, ERR_PARAM, name, "bad value \"%.40s\" for `%s`: expected %s",
                             request_text(rq, name), name,
                             mode_of(rq) == TEXT_LINES ? "a line number from 1, or -1"
                                                       : "a byte offset, or -1");
    *ret = v < 0 ? otherwise : (uint64_t)v;
    return 0;
}

static int find_file(struct request *rq, const struct index_file **ret)
{
    const char *name = request_text(rq, "file");
    struct selection chosen;
    uint32_t *files = NULL;
    size_t count = 0;
    if (!name || !*name)
        return params_refuse(rq, "file", "must name one trace file");
    selection_init(&chosen);
    chosen.files = &name;
    chosen.file_count = 1;
    int rc = query_select_files(&rq->http->env, rq->snapshot, &chosen, &rq->err, &files, &count);
    /* Names may contain the special characters of globs. */
    bool glob = strpbrk(name, "*?[") &&
                (count != 1 || strcmp(snapshot_file(rq->snapshot, files[0])->name, name) != 0);
    if (rc == 0 && glob)
        rc = params_refuse(rq, "file", "must name one trace file");
    if (rc == 0 && count != 1)
        rc = err_set_param(&rq->err, ERR_NOT_FOUND, "file", "no such trace file: %s", name);
    if (rc == 0)
        *ret = snapshot_file(rq->snapshot, files[0]);
    free(files);
    return rc;
}

static int open_range(struct request *rq, struct state *s)
{
    enum text_mode mode = mode_of(rq);
    uint64_t start, end;
    int rc = read_position(rq, "start", mode == TEXT_LINES, &start);
    if (rc == 0)
        rc = read_position(rq, "end", UINT64_MAX, &end);
    if (rc < 0)
        return rc;
    if (start > end)
        return params_refuse(rq, "end", "must not be before `start`");
    if (s->file->state == INDEX_FAILED)
        return err_set(&rq->err, ERR_CORRUPT, "%s: %s", s->file->name,
                       s->file->error ? s->file->error : "the file could not be read");
    return text_range_open(rq->http->options->index, rq->snapshot, s->file, mode, start, end,
                           &rq->budget, &rq->err, &s->range);
}

/* Checks that the file can be read, without reading its text. */
static int open_check(struct request *rq, struct state *s)
{
    struct text_range *range = NULL;
    struct err ignored = {0};
    rq->format = FORMAT_JSON;
    s->path = s->file->name;
    s->state = index_file_state(s->file);
    s->current = s->file->state == INDEX_READY &&
                 text_range_open(rq->http->options->index, rq->snapshot, s->file, TEXT_BYTES, 0, 0,
                                 &rq->budget, &ignored, &range) == 0;
    text_range_close(range);
    err_done(&ignored);
    return 0;
}

static int open_read(struct request *rq)
{
    struct state *s = rq->state;
    int rc = find_file(rq, &s->file);
    if (rc < 0)
        return rc;
    enum index_state state = s->file->state;
    rq->incomplete = state == INDEX_PENDING || state == INDEX_INDEXING || state == INDEX_GROWING;
    if (request_flag(rq, "check"))
        return open_check(rq, s);
    if (rq->format == FORMAT_JSON)
        return err_set_param(&rq->err, ERR_FORMAT, "format",
                             "the text of a file requires format text");
    return open_range(rq, s);
}

static int next_read(struct request *rq, struct buf *out)
{
    const struct state *s = rq->state;
    return s->range ? text_range_next(s->range, out, &rq->err)
                    : format_object(&read_check_type, s, rq->pretty, out);
}

static void close_read(struct request *rq)
{
    struct state *s = rq->state;
    text_range_close(s->range);
}

const struct endpoint endpoint_read = {
    .path = "/read",
    .summary = "part of the text of a file, by bytes or lines",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &read_check_type,
    PARAMS(own_params, answer_params),
    FORMATS(FORMAT_TEXT, FORMAT_JSON),
    .state_size = sizeof(struct state),
    .open = open_read,
    .next = next_read,
    .close = close_read,
};
