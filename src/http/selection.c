/* selection.c - the parameters by which every query chooses its events (API.md section 3). */
#include "endpoint.h"

#include <string.h>

const struct param_spec selection_params[] = {
    {"dir", PARAM_TEXT, true, NULL, NULL, "subtree of the root; repeatable; default all"},
    {"file", PARAM_TEXT, true, NULL, NULL, "path or glob of trace files; repeatable"},
    {"recursive", PARAM_BOOL, false, "true", NULL, "also directories below dir"},
    {"query", PARAM_TEXT, false, NULL, NULL,
     "filter, for instance: cat == \"POSIX\" and dur > 1ms"},
    {"preset", PARAM_CHOICE, false, NULL, "io|compute|dlio",
     "a predefined selection, ANDed with the query"},
    {"time_range", PARAM_TIME_RANGE, false, NULL, NULL,
     "from,to: events that start in this window (microseconds)"},
    {"time", PARAM_CHOICE, false, "start", "start|overlap",
     "overlap: events whose duration meets the window"},
    {"min_duration", PARAM_DURATION, false, NULL, NULL, "shortest duration, inclusive"},
    {"max_duration", PARAM_DURATION, false, NULL, NULL, "longest duration, inclusive"},
    {"phase", PARAM_CHOICE, false, "data", "events|counters|aggregated|metadata|data|any",
     "which kinds of objects"},
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};
const struct param_spec answer_params[] = {
    {"format", PARAM_TEXT, false, NULL, NULL, "representation of the answer; else by Accept"},
    {"pretty", PARAM_BOOL, false, "false", NULL, "JSON with line breaks, for people"},
    {"wait", PARAM_CHOICE, false, "no", "no|ready|fresh",
     "ready: answer when the chosen files are indexed; fresh: as they are by now; no: with what is "
     "there"},
    {"timeout", PARAM_DURATION, false, NULL, NULL, "longest time this request may take"},
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};
const struct param_spec page_params[] = {
    {"limit", PARAM_UINT, false, NULL, NULL, "at most so many rows"},
    {"offset", PARAM_UINT, false, "0", NULL, "rows to leave out at the start"},
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};

static const struct {
    const char *name;
    unsigned phases;
} phase_names[] = {
    {"events", PHASE_EVENTS},     {"counters", PHASE_COUNTERS}, {"aggregated", PHASE_AGGREGATED},
    {"metadata", PHASE_METADATA}, {"data", PHASE_DATA},         {"any", PHASE_ANY},
};

static unsigned phases_of(const char *name)
{
    for (size_t i = 0; name && i < sizeof phase_names / sizeof *phase_names; i++)
        if (strcmp(name, phase_names[i].name) == 0)
            return phase_names[i].phases;
    return PHASE_DATA;
}

/* All values of a parameter, whether it is repeatable or not. */
static const char *const *values_of(const struct request *rq, const char *name, size_t *ret_count)
{
    const struct param *p = request_param(rq, name);
    *ret_count = !p || !p->set ? 0 : p->spec->repeatable ? p->count : 1;
    return !*ret_count           ? NULL
           : p->spec->repeatable ? (const char *const *)p->items
                                 : (const char *const *)&p->text.ptr;
}

void selection_read_files(struct request *rq, struct selection *s)
{
    const struct param *recursive = request_param(rq, "recursive");
    s->dirs = values_of(rq, "dir", &s->dir_count);
    s->files = values_of(rq, "file", &s->file_count);
    s->not_recursive = recursive && !request_flag(rq, "recursive");
}

int selection_read(struct request *rq, struct selection *ret)
{
    selection_init(ret);
    selection_read_files(rq, ret);
    const struct param *query = request_param(rq, "query"),
                       *range = request_param(rq, "time_range");
    if (query->set)
        ret->query = query->text;
    ret->preset = request_text(rq, "preset");
    ret->phases = phases_of(request_text(rq, "phase"));
    const char *time = request_text(rq, "time");
    ret->overlap = time && strcmp(time, "overlap") == 0;
    if (range->set) {
        ret->has_time_range = true;
        ret->time_from_ns = range->ns;
        ret->time_to_ns = range->ns_to;
        if (range->ns > range->ns_to)
            return err_set_param(&rq->err, ERR_PARAM, "time_range",
                                 "`time_range` ends before it starts");
    }
    const struct param *min = request_param(rq, "min_duration"),
                       *max = request_param(rq, "max_duration");
    ret->has_min_duration = min->set;
    ret->min_duration_ns = min->ns;
    ret->has_max_duration = max->set;
    ret->max_duration_ns = max->ns;
    return 0;
}

int selection_open(struct request *rq, const struct selection *s, struct query **ret)
{
    int rc = query_open(&rq->http->env, rq->snapshot, s, &rq->budget, &rq->err, ret);
    if (rc == 0)
        rq->incomplete = !query_complete(*ret);
    return rc;
}
