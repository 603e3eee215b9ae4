/* reconstruct.c - /reconstruct: the original traces from the output of /organize. */
#include "http/endpoints/endpoints.h"
#include "http/endpoints/rewriting.h"
#include "http/request/selection.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS struct reconstruct_options
static const struct param_spec own_params[] = {
    PARAM("dir", TEXT,
          "directory written by /organize, in a served directory or below the output directory; "
          "required unless the body of a POST is a tar archive of it",
          .required = true, .example = "'organized'"),
    PARAM("compress", CHOICE,
          "true: compress all files with gzip; false: compress none and remove .gz from their "
          "names; as_was: compress those whose names end in .gz",
          .fallback = "as_was", .choices = "as_was|false|true", BIND(form)),
    {0},
};
#undef OPTIONS

struct state {
    int dir;
    struct archive *archive;
    struct rewriting rewriting;
};

static int open_dir(struct request *rq, struct state *s)
{
    const char *dir = request_text(rq, "dir");
    if (!dir || !*dir)
        return params_refuse(rq, "dir", "must name a directory written by /organize");
    /* The output contains lines of files that the viewer may not read. */
    if (rq->viewer)
        return err_set_param(&rq->err, -EPERM, "dir",
                             "this daemon checks file permissions: only the user that runs it and "
                             "clients with the admin token may use `dir`");
    const char *base = rq->http->options->output_dir;
    s->dir = query_open_dir(&rq->http->env, dir);
    if (s->dir == -ENOENT && base)
        s->dir = reconstruct_open_dir(base, dir);
    if (s->dir == -ENOENT || s->dir == -ENOTDIR)
        return err_set_param(&rq->err, ERR_NOT_FOUND, "dir", "no such directory: %s", dir);
    if (s->dir == -ENAMETOOLONG)
        return params_refuse(rq, "dir", "has a component that is too long");
    return s->dir < 0 ? err_set_param(&rq->err, s->dir, "dir", "%s: %s", dir, strerror(-s->dir))
                      : 0;
}

static int open_input(struct request *rq, struct state *s)
{
    const struct param *dir = request_param(rq, "dir");
    if (!rq->upload)
        return open_dir(rq, s);
    if (dir->set)
        return err_set_param(&rq->err, ERR_PARAM, "dir", "give `dir` or a tar archive, not both");
    return archive_open(rq->upload, index_path(rq->http->options->index), rq->http->spools,
                        &rq->budget, &rq->err, &s->archive);
}

static int open_reconstruct(struct request *rq)
{
    struct reconstruct_options *o = rq->options;
    struct state *s = rq->state;
    s->dir = -1;
    int rc = open_input(rq, s);
    o->archive = s->archive;
    o->level = GZIP_LEVEL_DEFAULT;
    rc = rc < 0 ? rc : rewriting_open(rq, &s->rewriting);
    rc = rc < 0 ? rc
                : reconstruct_open(s->dir, rq->http->env.pool, o, s->rewriting.archive_writer,
                                   &rq->budget, &rq->err, &s->rewriting.transform);
    if (rc == ERR_CORRUPT && rq->upload)
        rc = rq->err.code = ERR_PARAM; /* the error is in the upload */
    if (rc == 0)
        rq->incomplete = !transform_complete(s->rewriting.transform);
    if (rc == 0 && rq->incomplete && request_flag(rq, "strict"))
        rc = err_set(&rq->err, -EEXIST,
                     "the answer would be incomplete: when /organize wrote the directory, some "
                     "files were pending, growing or unreadable");
    return rc;
}

static int next_reconstruct(struct request *rq, struct buf *out)
{
    struct state *s = rq->state;
    return rewriting_next(rq, &s->rewriting, out);
}

static void close_reconstruct(struct request *rq)
{
    struct state *s = rq->state;
    rewriting_close(&s->rewriting);
    archive_free(s->archive);
    if (s->dir >= 0)
        close(s->dir);
}

const struct endpoint endpoint_reconstruct = {
    .path = "/reconstruct",
    .summary = "original traces, restored from the output of /organize, as a tar archive",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &reconstructed_type,
    PARAMS(own_params, rewriting_params, answer_params),
    FORMATS(FORMAT_TAR, FORMAT_JSON),
    .apart = true,
    .takes_tar = true,
    .options_size = sizeof(struct reconstruct_options),
    .state_size = sizeof(struct state),
    .open = open_reconstruct,
    .next = next_reconstruct,
    .close = close_reconstruct,
};
