/* tests.c - makes the tests of a query from a selection. */
#include "engine/filter/filter.h"
#include "engine/lang/path.h"
#include "engine/plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Categories match in any letter case, for tracers write POSIX and posix. */
static const struct query_preset presets[] = {
    {"io", "POSIX, STDIO I/O operations",
     "cat ~* \"^(posix|stdio)\\\\z\" and name in [\"read\", \"write\", \"open\", \"close\", "
     "\"pread\", \"pwrite\", \"pread64\", \"pwrite64\", \"readv\", \"writev\", \"fopen\", "
     "\"fclose\", \"fread\", \"fwrite\", \"lseek\", \"stat\", \"fstat\", \"lseek64\", "
     "\"fstat64\"]"},
    {"compute", "AI/HPC compute and framework operations",
     "cat ~* \"^(compute|comm|device|ai_framework|ai_root)\\\\z\""},
    {"dlio", "DLIO benchmark operations",
     "cat ~* \"^(compute|data|dataloader|comm|device|checkpoint|pipeline|ai_framework|ai_root|"
     "dlio_benchmark|reader|storage|config|data_loader)\\\\z\""},
};

const struct query_preset *query_preset(const char *name)
{
    for (size_t i = 0; i < sizeof(presets) / sizeof(*presets); i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}

static int parse_preset(struct query *q, const char *name, struct err *err)
{
    const struct query_preset *preset = query_preset(name);

    if (!preset)
        return err_set_param(err, ERR_PARAM, "preset",
                             "unknown preset \"%s\": expected io, compute or dlio", name);
    return dsl_parse(text_of(preset->query), err, &q->preset);
}

/* Adds a test to q->root, and unless it is a part of time_range (window), to q->timeless. Until the
 * first one of these, both are the same test. */
static void and_node(struct query *q, const struct dsl_node *node, bool window)
{
    bool same = q->timeless == q->root;

    if (!node)
        return;
    struct test *t = test_compile(q, node);
    q->root = test_both(q, q->root, t);
    if (!window)
        q->timeless = same ? q->root : test_both(q, q->timeless, t);
}

void query_and_time(struct query *q, const char *path, enum compare op, int64_t ns, bool window)
{
    struct dsl_node *n = arena_alloc(&q->arena, sizeof(*n));
    struct literal *l = arena_alloc(&q->arena, sizeof(*l));

    if (!n || !l)
        return;
    *l = (struct literal){.type = LITERAL_TIME, .ns = {ns, false}};
    *n = (struct dsl_node){
        .op = DSL_COMPARE, .compare = op, .path = text_of(path), .literals = l, .literal_count = 1};
    if (path_resolve(n->path, &q->arena, &n->info) == 0)
        and_node(q, n, window);
}

static void and_ranges(struct query *q, const struct selection *s)
{
    if (s->has_time_range) {
        query_and_time(q, "ts", COMPARE_LE, s->time_to_ns, true);
        query_and_time(q, s->overlap ? "te" : "ts", COMPARE_GE, s->time_from_ns, true);
    }
    if (s->has_min_duration)
        query_and_time(q, "dur", COMPARE_GE, s->min_duration_ns, false);
    if (s->has_max_duration)
        query_and_time(q, "dur", COMPARE_LE, s->max_duration_ns, false);
}

int query_make_tests(struct query *q, const struct selection *s, struct err *err)
{
    int rc = dsl_parse(s->query, err, &q->dsl);

    if (rc == ERR_QUERY_SYNTAX && err && !err->param[0])
        snprintf(err->param, sizeof(err->param), "query");
    if (rc == 0 && s->preset)
        rc = parse_preset(q, s->preset, err);
    q->unfiltered = !q->dsl.root && !s->preset && !s->has_time_range && !s->has_min_duration &&
                    !s->has_max_duration && !s->within.ptr;
    if (rc < 0)
        return rc;
    if ((s->phases & PHASE_ANY) != PHASE_ANY)
        q->root = test_classes(q, s->phases);
    q->timeless = q->root;
    and_ranges(q, s);
    and_node(q, q->preset.root, false);
    and_node(q, q->dsl.root, false);
    return q->arena.error;
}
