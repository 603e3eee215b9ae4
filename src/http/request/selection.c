/* selection.c - the parameters with which every query selects its events: files, times, classes,
 * filter. */
#include "http/request/selection.h"
#include "http/request/spread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct param_spec files_params[] = {
    FILES_PARAMS("", "true"),
    {0},
};
const struct param_spec selection_params[] = {
    SELECTION_PARAMS("", "true", "start", "data"),
    {0},
};
const struct param_spec selection_events_params[] = {
    SELECTION_PARAMS("", "true", "start", "events"),
    {0},
};
const struct param_spec clip_params[] = {
    CLIP_PARAM(""),
    {0},
};
#define PRETTY_PARAM \
    PARAM("pretty", BOOL, "print JSON with line breaks and indentation", .fallback = "false")
#define FORMAT_PARAMS \
    PARAM("format", TEXT, "format of the response; default: chosen by the Accept header"), \
        PRETTY_PARAM
const struct param_spec pretty_params[] = {
    PRETTY_PARAM,
    {0},
};
const struct param_spec format_params[] = {
    FORMAT_PARAMS,
    {0},
};
const struct param_spec answer_params[] = {
    FORMAT_PARAMS,
    PARAM(
        "wait", CHOICE,
        "ready: wait until the selected files are indexed; fresh: also include everything written "
        "to them before the request; no: do not wait, and do not trigger indexing (--on-demand)",
        .fallback = "no", .choices = "no|ready|fresh"),
    PARAM("strict", BOOL,
          "refuse the request if no trace file is selected (404) or the answer would be incomplete "
          "(409)",
          .fallback = "false"),
    PARAM("timeout", DURATION, "maximum time for this request, including waiting",
          .example = "'30s'"),
    {0},
};
const struct param_spec page_params[] = {
    PAGE_PARAMS(),
    {0},
};

/* In the order of the choices of `phase`. */
static const unsigned phases[] = {PHASE_EVENTS,   PHASE_COUNTERS, PHASE_AGGREGATED,
                                  PHASE_METADATA, PHASE_DATA,     PHASE_ANY};

/* Returns NULL if the parameter is not set. */
static const struct param *find_param(const struct request *rq, const char *prefix,
                                      const char *name)
{
    char whole[64];
    snprintf(whole, sizeof whole, "%s%s", prefix, name);
    const struct param *p = request_param(rq, whole);
    return p && p->set ? p : NULL;
}

/* Leaves all unchanged if `p` is NULL. A parameter that is not repeatable has one value. */
static void read_values(const struct param *p, const char *const **values, size_t *count,
                        const char **param)
{
    if (!p)
        return;
    *param = p->spec->name;
    *count = p->spec->repeatable ? p->count : 1;
    *values =
        p->spec->repeatable ? (const char *const *)p->items : (const char *const *)&p->text.ptr;
}

static void change_files(const struct request *rq, const char *prefix, struct selection *s)
{
    const struct param *recursive = find_param(rq, prefix, "recursive");
    read_values(find_param(rq, prefix, "dir"), &s->dirs, &s->dir_count, &s->dirs_param);
    read_values(find_param(rq, prefix, "file"), &s->files, &s->file_count, &s->files_param);
    if (recursive)
        s->not_recursive = !recursive->number;
}

void selection_read_files(struct request *rq, struct selection *s)
{
    change_files(rq, "", s);
}

static int change_times(struct request *rq, const char *prefix, struct selection *s)
{
    const struct param *range = find_param(rq, prefix, "time_range"),
                       *time = find_param(rq, prefix, "time");
    if (time)
        s->overlap = time->number; /* start|overlap */
    if (!range)
        return 0;
    s->has_time_range = true;
    s->time_from_ns = range->ns;
    s->time_to_ns = range->ns_to;
    if (range->ns > range->ns_to)
        return err_set_param(&rq->err, ERR_PARAM, range->spec->name, "`%s` ends before it starts",
                             range->spec->name);
    return 0;
}

static int change_within(struct request *rq, const char *prefix, struct selection *s)
{
    const struct param *within = find_param(rq, prefix, "within"),
                       *clip = find_param(rq, prefix, "clip"),
                       *scope = find_param(rq, prefix, "within_scope"),
                       *alone = scope ? scope : clip;
    if (within) {
        s->within = within->text;
        s->within_param = within->spec->name;
    }
    if (scope)
        s->within_scope = (enum within_scope)scope->number; /* the choices have its order */
    if (clip)
        s->clip = clip->number;
    if (alone && !s->within.ptr)
        return err_set_param(&rq->err, ERR_PARAM, alone->spec->name, "`%s` requires `%swithin`",
                             alone->spec->name, prefix);
    return 0;
}

int selection_change(struct request *rq, const char *prefix, struct selection *s)
{
    const struct param *query = find_param(rq, prefix, "query"),
                       *preset = find_param(rq, prefix, "preset"),
                       *phase = find_param(rq, prefix, "phase"),
                       *min = find_param(rq, prefix, "min_duration"),
                       *max = find_param(rq, prefix, "max_duration");
    change_files(rq, prefix, s);
    if (query)
        s->query = query->text;
    if (preset)
        s->preset = preset->text.ptr;
    if (phase)
        s->phases = phases[phase->number];
    if (min) {
        s->has_min_duration = true;
        s->min_duration_ns = min->ns;
    }
    if (max) {
        s->has_max_duration = true;
        s->max_duration_ns = max->ns;
    }
    int rc = change_within(rq, prefix, s);
    return rc < 0 ? rc : change_times(rq, prefix, s);
}

int selection_read(struct request *rq, struct selection *ret)
{
    selection_init(ret);
    return selection_change(rq, "", ret);
}

bool selection_indexes_nothing(const struct request *rq)
{
    const struct param *wait = request_param(rq, "wait");
    return !wait || (wait->given && text_eq(wait->text, TEXT("no")));
}

int selection_check_files(struct request *rq, const struct selection *s, const char *name)
{
    uint32_t *files = NULL;
    size_t count = 0;
    int rc = query_select_files(&rq->http->env, rq->snapshot, s, &rq->err, &files, &count);
    free(files);
    if (rc == 0 && count == 0)
        rc = err_set(&rq->err, ERR_NOT_FOUND, "no trace files found%s%s", name ? " for " : "",
                     name ? name : "");
    return rc;
}

int selection_check_strict(struct request *rq)
{
    struct index_progress p;
    struct selection chosen;
    if (!request_flag(rq, "strict"))
        return 0;
    selection_init(&chosen);
    selection_read_files(rq, &chosen);
    /* /reconstruct has no `file`: its `dir` selects no trace files. /compare checks its sides. */
    bool one = request_param(rq, "file") && !request_param(rq, "baseline.file");
    int rc = one ? selection_check_files(rq, &chosen, NULL) : 0;
    if (rc < 0 || !rq->incomplete)
        return rc;
    index_progress(rq->http->options->index, &p);
    return err_set(&rq->err, -EEXIST, "the answer would be incomplete: %s",
                   p.directories_unreadable ? "some directories cannot be read"
                                            : "some files are pending or may still be growing");
}

int selection_open(struct request *rq, const struct selection *s, struct query **ret)
{
    const struct query_env env = request_env(rq);
    int rc = query_open(&env, rq->snapshot, s, &rq->budget, &rq->err, ret);
    if (rc < 0)
        return rc;
    rq->incomplete = !query_complete(*ret);
    rc = rq->incomplete ? selection_check_strict(rq) : 0;
    if (rc < 0) {
        query_close(*ret);
        *ret = NULL;
    }
    return rc;
}

int selection_open_file(struct request *rq, const char *param, const char *path, struct text query,
                        struct query **ret, uint32_t *ret_file)
{
    struct selection one;
    const uint32_t *files;
    selection_init(&one);
    one.files = &path;
    one.file_count = 1;
    one.files_param = param;
    one.phases = PHASE_ANY;
    one.query = query;
    int rc = selection_open(rq, &one, ret);
    if (rc == 0 && query_files(*ret, &files) != 1)
        return params_refuse(rq, param, "must name one trace file");
    if (rc == 0)
        *ret_file = files[0];
    return rc;
}
