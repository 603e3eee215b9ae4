/* organize.c - /organize: traces distributed to groups, as a tar. */
#include "http/endpoints/endpoints.h"
#include "http/endpoints/rewriting.h"
#include "http/request/selection.h"

#include <string.h>

#define OPTIONS struct organize_options
static const struct param_spec own_params[] = {
    SELECTION_PARAMS("", "true", "start", "any"),
    PARAM("groups", TEXT,
          "name:query; repeatable; an event goes to the first group whose query matches it, or to "
          "_rest if none does",
          .repeatable = true, .required = true, .example = "['io:cat == \\'POSIX\\'']"),
    CHUNK_SIZE_PARAM("uncompressed bytes per output file, cut at line ends; at least 4KiB",
                     "256MiB", BIND(chunk_bytes)),
    COMPRESS_PARAM("true"),
    PARAM("name", TEXT, "output files are named <group>/<name>-<n>.pfw.gz", .fallback = "trace",
          BIND(name)),
    PARAM("drop_rest", BOOL, "discard events that match no group; /reconstruct cannot restore them",
          .fallback = "false", BIND(drop_rest)),
    {0},
};
#undef OPTIONS

struct state {
    struct selection chosen;
    struct rewriting rewriting;
};

/* Splits "name:query" at the first colon, so queries may contain colons. */
static int read_groups(struct request *rq, struct organize_options *o)
{
    const struct param *p = request_param(rq, "groups");
    struct organize_group *groups = arena_alloc(&rq->arena, (p->count + 1) * sizeof *groups);
    if (!groups)
        return -ENOMEM;
    for (size_t i = 0; i < p->count; i++) {
        const char *colon = strchr(p->items[i], ':');
        if (!colon)
            return err_set_param(&rq->err, ERR_PARAM, "groups",
                                 "group \"%.200s\" must have the form name:query", p->items[i]);
        struct text name = {p->items[i], (size_t)(colon - p->items[i])};
        groups[i].name = arena_strdup(&rq->arena, name);
        groups[i].query = text_of(colon + 1);
    }
    o->groups = groups;
    o->group_count = p->count;
    return rq->arena.error;
}

static int open_organize(struct request *rq)
{
    struct state *s = rq->state;
    struct organize_options *o = rq->options;
    int rc = selection_read(rq, &s->chosen);
    rc = rc < 0 ? rc : rewriting_level(rq, &o->level);
    rc = rc < 0 ? rc : read_groups(rq, o);
    rc = rc < 0 ? rc : rewriting_open(rq, &s->rewriting);
    rc = rc < 0 ? rc
                : organize_open(&rq->http->env, rq->snapshot, &s->chosen, o,
                                s->rewriting.archive_writer, &rq->budget, &rq->err,
                                &s->rewriting.transform);
    if (rc == 0)
        rq->incomplete = !transform_complete(s->rewriting.transform);
    return rc;
}

static int next_organize(struct request *rq, struct buf *out)
{
    struct state *s = rq->state;
    return rewriting_next(rq, &s->rewriting, out);
}

static void close_organize(struct request *rq)
{
    struct state *s = rq->state;
    rewriting_close(&s->rewriting);
}

const struct endpoint endpoint_organize = {
    .path = "/organize",
    .summary = "traces divided into groups by queries, as a tar archive",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &organized_type,
    PARAMS(own_params, rewriting_params, answer_params),
    FORMATS(FORMAT_TAR, FORMAT_JSON),
    .options_size = sizeof(struct organize_options),
    .state_size = sizeof(struct state),
    .open = open_organize,
    .next = next_organize,
    .close = close_organize,
};
