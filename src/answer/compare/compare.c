/* compare.c - /compare: computes node after node, then the correction for the number of tests. */
#include "answer/compare/compare.h"
#include "engine/lang/dsl.h"
#include "engine/plan/seen.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

const char *const compare_class_names[] = {"NEGLIGIBLE", "SMALL", "MEDIUM", "LARGE", NULL};

/* ---- queries --------------------------------------------------------------------------------- */

int query_and(struct arena *arena, struct text a, struct text b, struct text *ret)
{
    struct buf joined = {0};

    a = text_trim(a);
    b = text_trim(b);
    if (a.len && b.len)
        buf_printf(&joined, "(%.*s) AND (%.*s)", (int)a.len, a.ptr, (int)b.len, b.ptr);
    else
        buf_text(&joined, a.len ? a : b);
    const char *copy =
        joined.error
            ? NULL
            : arena_strdup(arena, (struct text){joined.len ? joined.data : "", joined.len});
    *ret = (struct text){copy, joined.len};
    buf_done(&joined);
    return copy ? 0 : -ENOMEM;
}

/* Errors contain the name of the node. */
static int check_query(struct compare_run *run, const struct compare_node_options *o)
{
    struct text query = text_trim(text_of(o->query));
    struct buf ignored = {0};
    struct err err = {0};
    int rc = query.len ? query_normalise(query, &err, &ignored) : 0;

    buf_done(&ignored);
    if (rc >= 0)
        return 0;
    if (run->err && run->err->code == 0 && err.source) {
        run->err->source = err.source;
        run->err->position = err.position;
        err.source = NULL;
    }
    err_set_param(run->err, rc, "nodes", "node \"%.100s\": %s", o->name, err.text);
    err_done(&err);
    return rc;
}

/* ---- one node -------------------------------------------------------------------------------- */

static int expand_columns(struct compare_run *run, const struct compare_node_options *o,
                          struct compare_node *node)
{
    static const char *const pair[] = {"pid", "tid"};
    const char **columns =
        arena_alloc(&run->result->arena, (o->group_by_count * 2 + 1) * sizeof(*columns));
    size_t n = 0;

    if (!columns)
        return -ENOMEM;
    for (size_t i = 0; i < o->group_by_count; i++) {
        bool is_pair = strcmp(o->group_by[i], "pid_tid") == 0;
        if (strcmp(o->group_by[i], "time_bucket") == 0)
            return err_set_param(
                run->err, ERR_PARAM, "group_by",
                "`group_by`: time_bucket is not supported, because two runs have no common times");
        for (unsigned k = 0; k < (is_pair ? 2 : 1); k++) {
            const char *column = is_pair ? pair[k] : o->group_by[i];
            size_t at = 0;
            while (at < n && strcmp(columns[at], column) != 0)
                at++;
            columns[at] = at < n ? columns[at] : arena_strdup(&run->result->arena, text_of(column));
            if (!columns[at])
                return -ENOMEM;
            n += at == n;
        }
    }
    if (n > GROUP_KEYS_MAX - 4)
        return err_set_param(run->err, ERR_PARAM, "group_by",
                             "`group_by`: at most %d columns are allowed", GROUP_KEYS_MAX - 4);
    node->group_by = columns;
    node->group_by_count = n;
    return 0;
}

static int read_quantiles(struct node_work *w)
{
    struct arena *arena = &w->run->result->arena;
    const struct compare_node_options *o = w->options;

    w->quantiles = arena_alloc(arena, (o->percentile_count + 1) * sizeof(*w->quantiles));
    if (!w->quantiles)
        return -ENOMEM;
    for (size_t i = 0; i < o->percentile_count; i++) {
        struct quantile q;
        size_t at = 0;
        int rc = quantile_parse(arena, text_of(o->percentiles[i]), 1, &q);
        if (rc == -EINVAL)
            return err_set_param(w->run->err, ERR_PARAM, "percentiles",
                                 "`percentiles`: \"%.40s\" is not a number from 0 to 1",
                                 o->percentiles[i]);
        if (rc < 0)
            return rc;
        while (at < w->quantile_count && w->quantiles[at].part < q.part)
            at++;
        if (at < w->quantile_count && w->quantiles[at].part == q.part)
            continue;
        memmove(&w->quantiles[at + 1], &w->quantiles[at],
                (w->quantile_count++ - at) * sizeof(*w->quantiles));
        w->quantiles[at] = q;
    }
    return 0;
}

static int scan_sides(struct node_work *w)
{
    const struct compare_options *o = w->run->options;
    int rc = 0;

    for (size_t i = 0; i < o->side_count && rc == 0; i++) {
        struct selection s = o->sides[i];
        rc = query_and(&w->run->result->arena, s.query, text_of(w->node->query), &s.query);
        rc = rc < 0 ? rc : side_open(w, &s, &w->sides[i]);
    }
    rc = rc < 0 ? rc : sides_scan(w);
    for (unsigned again = 0; again < 2; again++) { /* sides that are scanned again come last */
        for (size_t i = 0; i < o->side_count && rc == 0; i++) {
            if (side_lacks_memory(&w->sides[i]) == (again == 1))
                rc = side_groups(w, &w->sides[i]);
        }
    }
    for (size_t i = 0; i < w->node->group_by_count && rc == 0; i++) {
        struct side *baseline = &w->sides[0];
        bool missing = true; /* on all sides */
        for (size_t s = 0; s < o->side_count; s++)
            missing = missing && w->sides[s].missing[i];
        if (missing)
            rc = query_check_argument(baseline->query, baseline->keys[i], "group_by", w->run->err);
    }
    return rc;
}

/* The answer has the metadata of the sides of the first node. A file on several sides counts once.
 */
static int keep_meta(struct compare_run *run, const struct side *sides)
{
    struct comparison *c = run->result;
    uint32_t count = snapshot_file_count(run->snapshot);
    const uint32_t *files;

    if (c->meta)
        return 0;
    c->meta = arena_alloc(&c->arena, c->side_count * sizeof(*c->meta));
    bool *seen = c->meta ? calloc((size_t)count + 1, sizeof(*seen)) : NULL;
    if (!seen)
        return -ENOMEM;
    c->variant_meta = c->meta + 1;
    c->complete = true;
    for (size_t s = 0; s < c->side_count; s++) {
        c->meta[s] = sides[s].meta;
        c->complete = c->complete && query_complete(sides[s].query);
        for (size_t n = query_files(sides[s].query, &files); n > 0; n--) {
            uint32_t file = files[n - 1];
            c->damaged_files +=
                !seen[file] && index_file_is_incomplete(snapshot_file(run->snapshot, file));
            seen[file] = true;
        }
    }
    free(seen);
    return 0;
}

static int compute_node(struct node_work *w)
{
    size_t sides = w->run->options->side_count;
    int rc = read_quantiles(w);

    w->sides = calloc(sides, sizeof(*w->sides));
    if (!w->sides)
        return -ENOMEM;
    sample_memory_init(&w->memory, w->run->budget, false);
    rc = rc < 0 ? rc : scan_sides(w);
    rc = rc < 0 ? rc : table_make(w);
    rc = rc < 0 ? rc : keep_meta(w->run, w->sides);
    sample_memory_done(&w->memory);
    for (size_t i = 0; i < sides; i++)
        side_done(&w->sides[i]);
    free(w->sides);
    return rc;
}

static int node_run(struct compare_run *run, const struct compare_node_options *o,
                    struct text above, bool top, struct compare_node *ret)
{
    struct node_work w = {.run = run, .options = o, .node = ret, .top = top};
    struct arena *arena = &run->result->arena;
    struct text query;

    if (++run->node_count > COMPARE_NODES_MAX)
        return err_set_param(run->err, ERR_PARAM, "nodes", "`nodes`: at most %d nodes are allowed",
                             COMPARE_NODES_MAX);
    const char *name = arena_strdup(arena, text_of(o->name));
    int rc = name ? check_query(run, o) : -ENOMEM;
    rc = rc < 0 ? rc : query_and(arena, above, text_of(o->query), &query);
    rc = rc < 0 ? rc : expand_columns(run, o, ret);
    if (rc < 0)
        return rc;
    ret->name = (struct value){.type = VALUE_TEXT, .text = text_of(name)};
    ret->query = query.ptr;
    rc = compute_node(&w);
    for (size_t i = 0; i < o->child_count && rc == 0; i++)
        rc = node_run(run, &o->children[i], text_of(ret->query), false,
                      &ret->children[ret->child_count++]);
    return rc;
}

/* Corrects over all rows, for each kind of test and variant. */
static int correct_tests(struct compare_run *run)
{
    double **p = malloc((run->tests.count + 1) * sizeof(*p));

    if (!p)
        return -ENOMEM;
    for (size_t v = 0; v + 1 < run->options->side_count; v++) {
        for (unsigned kind = 0; kind < 2; kind++) {
            size_t n = 0;
            for (size_t i = 0; i < run->tests.count; i++) {
                struct compare_test *t = run->tests.at[i].test;
                if (run->tests.at[i].variant == v)
                    p[n++] = kind ? &t->mann_whitney_p_holm : &t->welch_p_holm;
            }
            holm_correct(p, n);
            run->result->tests = n;
        }
    }
    free(p);
    for (size_t i = 0; i < run->tests.count; i++) {
        const double alpha = 0.05;
        struct compare_test *t = run->tests.at[i].test;
        bool means = t->welch_p_holm < alpha,
             ranks = t->mann_whitney_p_holm < alpha; /* false if NAN */
        t->difference = means && ranks ? COMPARE_BOTH
                        : means        ? COMPARE_MEAN
                        : ranks        ? COMPARE_RANKS
                                       : COMPARE_SAME;
    }
    return 0;
}

static int run_all(struct compare_run *run)
{
    const struct compare_options *o = run->options;
    struct comparison *c = run->result;
    int rc = 0;

    c->nodes = arena_alloc(&c->arena, (o->node_count + 1) * sizeof(*c->nodes));
    if (!c->nodes)
        return -ENOMEM;
    for (size_t i = 0; i < o->node_count && rc == 0; i++)
        rc = node_run(run, &o->nodes[i], TEXT(""), true, &c->nodes[c->node_count++]);
    return rc < 0 ? rc : correct_tests(run);
}

int compare_run(const struct query_env *env, struct snapshot *snapshot,
                const struct compare_options *options, struct budget *budget, struct err *err,
                struct comparison **ret)
{
    struct compare_run run = {.env = env,
                              .snapshot = snapshot,
                              .options = options,
                              .budget = budget,
                              .err = err,
                              .tests = {.budget = budget}};
    int64_t started_ns = clock_mono_ns();
    struct comparison *c = run.result = calloc(1, sizeof(*c));

    assert(options->side_count >= 2 && options->side_count <= COMPARE_SIDES_MAX);
    if (!c)
        return err_set_code(err, -ENOMEM);
    c->arena.budget = budget;
    c->side_count = options->side_count;
    c->variant_count = c->side_count - 1;
    c->baseline = options->labels ? options->labels[0] : NULL;
    c->variants = options->labels ? options->labels + 1 : NULL;
    c->query = options->query;
    c->generation = snapshot_generation(snapshot);
    c->worst_regression = -1;
    int rc = run_all(&run);
    vec_done(&run.tests);
    if (rc == -ENOMEM && c->arena.error < 0)
        rc = c->arena.error; /* the limit of the arena may have been reached */
    if (rc < 0) {
        comparison_free(c);
        return err_set_code(err, rc);
    }
    c->failed = options->fail_on >= 0 && c->worst_regression >= options->fail_on;
    c->elapsed_ns = clock_mono_ns() - started_ns;
    *ret = c;
    return 0;
}

void comparison_free(struct comparison *c)
{
    if (!c)
        return;
    arena_done(&c->arena);
    free(c);
}
