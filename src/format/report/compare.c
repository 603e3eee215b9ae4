/* compare.c - /compare as JSON and as rows. The tables are in compare_text.c. */
#include "format/report/compare.h"
#include "format/writer/text_number.h"

#define NUMBER(name, field, ...) MEMBER(name, field, .type = VALUE_DOUBLE, ##__VA_ARGS__)

/* ---- the sides ------------------------------------------------------------------------------- */

#define OBJECT struct compare_skew
static const struct member skew_members[] = {
    MEMBER("host", host, .type = VALUE_TEXT),
    NUMBER("distance_us", distance),
};
static const struct object_type skew_type = {NULL, MEMBERS(skew_members)};
#undef OBJECT

#define OBJECT struct compare_meta
static const struct member meta_members[] = {
    MEMBER("files", files),
    MEMBER("processes", processes),
    MEMBER("threads", threads),
    MEMBER("events", events),
    NUMBER("total_bytes", bytes, .help = "null: no event has a size"),
    NUMBER("total_io_time_us", io_time, .help = "the metric `time_io`"),
    NUMBER("makespan_us", makespan, .help = "the metric `time_pipeline`"),
    MEMBER_OBJECTS("skewed_hosts", skewed, skewed_count, &skew_type,
                   .help = "hosts whose time range does not overlap that of the other hosts"),
};
static const struct object_type meta_type = {"CompareMeta", MEMBERS(meta_members)};
#undef OBJECT

/* ---- metrics --------------------------------------------------------------------------------- */

static const char *const differences[] = {"none", "mean", "ranks", "both", NULL};

#define OBJECT struct compare_test
static const struct member test_members[] = {
    MEMBER("n_baseline", baseline_count),
    MEMBER("n_variant", variant_count),
    MEMBER("welch_t", welch_t, .nullable = true),
    MEMBER("welch_df", welch_df, .nullable = true),
    MEMBER("welch_p", welch_p, .nullable = true),
    MEMBER("welch_p_holm", welch_p_holm, .nullable = true,
           .help = "corrected by Holm's method for the number of `tests`"),
    MEMBER("mann_whitney_u", mann_whitney_u, .nullable = true),
    MEMBER("mann_whitney_p", mann_whitney_p, .nullable = true),
    MEMBER("mann_whitney_p_holm", mann_whitney_p_holm, .nullable = true),
    MEMBER("cliffs_delta", cliffs_delta, .nullable = true,
           .help = "how much more often a value of the variant is the greater one, -1 to 1"),
    MEMBER("difference", difference, .choices = differences,
           .help = "found by the t-test of the means, by the U test of the ranks, or by both"),
};
static const struct object_type test_type = {"CompareTest", MEMBERS(test_members)};
#undef OBJECT

static const void *test_of(const void *metric, size_t i)
{
    return ((const struct compare_metric *)metric)->changes[i].test;
}

/* The members of each variant: one value, or with several variants a list of values. */
#define OBJECT struct compare_metric
#define CHANGE(name, field, ...) \
    MEMBER_COLUMN(name, changes, change_count, field, .bare = true, ##__VA_ARGS__)
static const struct member metric_members[] = {
    MEMBER("name", name),
    NUMBER("baseline", value),
    NUMBER("baseline_std", std),
    CHANGE("variant", value, .type = VALUE_DOUBLE),
    CHANGE("variant_std", std, .type = VALUE_DOUBLE),
    CHANGE("delta", delta, .type = VALUE_DOUBLE),
    CHANGE("pct_change", percent,
           .help = "delta in percent of the baseline; 100 from a baseline of 0"),
    CHANGE("baseline_zero", baseline_zero, .help = "the baseline is 0 and the variant is not"),
    CHANGE("cohens_d", cohens_d, .help = "effect size: difference of the means in deviations"),
    CHANGE("significance", effect_class, .choices = compare_class_names,
           .help = "class of cohens_d"),
    CHANGE("is_regression", regression, .help = "the metric is worse, by whatever amount"),
    MEMBER_OBJECTS("test", changes, change_count, &test_type, .item = test_of, .bare = true,
                   .when = WHEN(tested), .optional = true),
};
static const struct object_type metric_type = {"CompareMetric", MEMBERS(metric_members)};
#undef OBJECT

/* ---- groups and nodes ------------------------------------------------------------------------ */

static void write_label(struct jw *j, const void *group)
{
    struct buf label = {0};

    compare_label(group, &label);
    jw_text(j, (struct text){label.data, label.len});
    put_done(j->out, &label);
}

#define OBJECT struct compare_group
#define METRICS MEMBER_OBJECTS("metrics", metrics, metric_count, &metric_type)
static const struct member key_members[] = {MEMBER_VALUES_NAMED(keys, key_names, key_count)};
static const struct object_type keys_type = {NULL, MEMBERS(key_members)};
static const struct member group_members[] = {
    MEMBER_WRITTEN("label", write_label, "{'type':'string'}"),
    MEMBER_SELF("keys", &keys_type),
    METRICS,
};
static const struct member summary_members[] = {METRICS};
static const struct object_type group_type = {NULL, MEMBERS(group_members)};
static const struct object_type summary_type = {NULL, MEMBERS(summary_members)};
#undef OBJECT

#define OBJECT struct compare_node
static const struct object_type node_type;
static const struct member node_members[] = {
    MEMBER("name", name),
    MEMBER("query", query),
    MEMBER_IN("summary", summary, &summary_type),
    MEMBER_OBJECTS("groups", groups, group_count, &group_type),
    MEMBER_OBJECTS("children", children, child_count, &node_type),
};
static const struct object_type node_type = {"CompareNode", MEMBERS(node_members)};
#undef OBJECT

/* ---- the answer ------------------------------------------------------------------------------ */

static const char *const regressions[] = {"NONE", "NEGLIGIBLE", "SMALL", "MEDIUM", "LARGE", NULL};

static struct value regression(const void *object)
{
    const struct comparison *c = object;

    return (struct value){.type = VALUE_TEXT,
                          .text = text_of(regressions[c->worst_regression + 1])};
}

static struct value elapsed_ms(const void *object)
{
    const struct comparison *c = object;

    return (struct value){.type = VALUE_DOUBLE, .d = (double)(c->elapsed_ns / 1000) / 1000};
}

static void put_note(void *arg, struct text note)
{
    jw_text(arg, note);
}

static void write_notes(struct jw *j, const void *object)
{
    jw_begin(j, '[');
    compare_notes(object, put_note, j, j->out);
    jw_end(j, ']');
}

#define OBJECT struct comparison
static const struct member members[] = {
    MEMBER("baseline", baseline),
    MEMBER_VALUES("variant", variants, variant_count, .bare = true),
    MEMBER_AT("baseline_meta", meta, &meta_type),
    MEMBER_OBJECTS("variant_meta", variant_meta, variant_count, &meta_type, .bare = true),
    MEMBER("query", query),
    MEMBERS_STATE(generation, complete),
    MEMBER("damaged_files", damaged_files),
    MEMBER_COMPUTED("execution_time_ms", VALUE_DOUBLE, elapsed_ms),
    MEMBER("tests", tests, .help = "number of tests that p-values are corrected for"),
    MEMBER_COMPUTED("regression", VALUE_TEXT, regression, .choices = regressions,
                    .help = "largest class of a metric that is worse"),
    MEMBER("failed", failed, .help = "the regression reaches `fail_on`"),
    MEMBER_WRITTEN("notes", write_notes, "{'type':'array','items':{'type':'string'}}"),
    MEMBER_OBJECTS("nodes", nodes, node_count, &node_type),
};
const struct object_type compare_type = {"Compare", MEMBERS(members)};
#undef OBJECT

/* ---- rows ------------------------------------------------------------------------------------ */

struct compare_row {
    struct text node; /* its path */
    struct value group;
    const char *variant;
    struct compare_metric metric;
    struct compare_change change;
    struct compare_test test;
};

#define OBJECT struct compare_row
#define TEST(field) MEMBER(#field, test.field, .when = WHEN(metric.tested), .nullable = true)
static const struct member row_members[] = {
    MEMBER("node", node),
    MEMBER("group", group, .type = VALUE_TEXT, .help = "null: the summary of the node"),
    MEMBER("metric", metric.name),
    MEMBER("variant_name", variant),
    NUMBER("baseline", metric.value),
    NUMBER("baseline_std", metric.std),
    NUMBER("variant", change.value),
    NUMBER("variant_std", change.std),
    NUMBER("delta", change.delta),
    MEMBER("pct_change", change.percent),
    MEMBER("baseline_zero", change.baseline_zero),
    MEMBER("cohens_d", change.cohens_d),
    MEMBER("significance", change.effect_class, .choices = compare_class_names),
    MEMBER("is_regression", change.regression),
    TEST(welch_p),
    TEST(welch_p_holm),
    TEST(mann_whitney_p),
    TEST(mann_whitney_p_holm),
    TEST(cliffs_delta),
    MEMBER("difference", test.difference, .choices = differences, .when = WHEN(metric.tested)),
};
const struct object_type compare_row_type = {"CompareRow", MEMBERS(row_members)};
#undef OBJECT

struct compare_rows {
    const struct comparison *c;
    const struct format_compare_options *o;
    struct format_table *table;
    struct buf path, *out;
};

static void put_rows(struct compare_rows *r, struct value group, const struct compare_group *g)
{
    struct compare_row row = {.node = {r->path.data, r->path.len}, .group = group};

    for (size_t i = 0; i < g->metric_count; i++) {
        row.metric = g->metrics[i];
        for (size_t v = 0; v < row.metric.change_count; v++) {
            row.variant = r->c->variants[v];
            row.change = row.metric.changes[v];
            if (row.change.test)
                row.test = *row.change.test;
            format_table_object(r->table, &compare_row_type, &row, r->out);
        }
    }
}

static void put_node_rows(struct compare_rows *r, const struct compare_node *n)
{
    size_t len = r->path.len;
    struct buf label = {0};

    buf_puts(&r->path, len ? " / " : "");
    value_plain(&r->path, &n->name);
    put_rows(r, (struct value){.type = VALUE_NULL}, &n->summary);
    for (size_t i = 0; i < n->group_count && !list_must_stop(r->o->budget, i, r->out); i++) {
        buf_clear(&label);
        compare_label(&n->groups[i], &label);
        put_rows(r, (struct value){.type = VALUE_TEXT, .text = {label.data, label.len}},
                 &n->groups[i]);
    }
    for (size_t i = 0; i < n->child_count; i++)
        put_node_rows(r, &n->children[i]);
    r->path.len = len;
    put_done(r->out, &label);
}

int format_compare(const struct comparison *c, const struct format_compare_options *o,
                   struct buf *out)
{
    struct compare_rows r = {.c = c, .o = o, .out = out};

    if (o->format == FORMAT_JSON) {
        format_document(&compare_type, c, o->pretty, o->budget, out);
    } else if (o->format == FORMAT_NDJSON || o->format == FORMAT_CSV) {
        int rc = format_table_of(o->format, &compare_row_type, &r.table);
        if (rc < 0)
            return rc;
        for (size_t i = 0; i < c->node_count; i++)
            put_node_rows(&r, &c->nodes[i]);
        format_table_end(r.table, out);
        format_table_free(r.table);
        put_done(out, &r.path);
    } else if (o->format == FORMAT_MARKDOWN) {
        format_compare_markdown(c, out);
    } else {
        format_compare_text(c, o, out);
    }
    return out->error;
}
