/* plan.c - makes the plan of a request, as far as both forms are the same. */
#include "answer/aggregate/plan_columns.h"
#include "answer/aggregate/scan.h"

#include <errno.h>

int aggregate_plan_make(struct aggregate_plan *p, const struct aggregate_options *o,
                        struct err *err)
{
    const struct {
        const char *path;
        const struct source **at;
    } sources[] = {
        {"ts", &p->ts}, {"te", &p->te}, {"dur", &p->dur}, {"size", &p->size}, {"bytes", &p->bytes}};
    int rc = 0;

    p->max_groups = query_environment(p->query)->max_groups;
    p->exact = o->exact;
    p->shape = o->shape;
    p->interval_ns = o->interval_ns;
    p->time_format = o->time_format;
    p->general = o->aggregate_count > 0;
    p->other_row = o->top > 0;
    p->bucket_key = p->pid_key = p->hhash_key = -1;
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources) && rc == 0; i++)
        rc = query_source(p->query, text_of(sources[i].path), sources[i].at);
    if (rc < 0)
        return err_set_code(err, rc);
    rc = plan_times(p, o, err);
    if (rc < 0)
        return rc;
    p->split = o->split && p->interval_ns > 0;
    rc = p->general ? plan_general(p, o, err) : plan_pipeline(p, o, err);
    return rc == 0 && plan_grouping(p) < 0 ? err_set_code(err, -ENOMEM) : rc;
}
