/* compare.c - /compare as JSON and as rows. Tables for people are in compare_text.c.
 */
#include "format/report/compare.h"

#include <stdio.h>

#include "format/writer/text_number.h"

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_meta(struct jw *j, const struct compare_meta *m)
{
    jw_begin(j, '{');
    jw_put_uint(j, "files", m->files);
    jw_put_uint(j, "processes", m->processes);
    jw_put_uint(j, "threads", m->threads);
    jw_put_uint(j, "events", m->events);
    jw_put_value(j, "total_bytes", &m->bytes);
    jw_put_value(j, "total_io_time_us", &m->io_time);
    jw_put_value(j, "makespan_us", &m->makespan);
    jw_key(j, "skewed_hosts");
    jw_begin(j, '[');
    for (size_t i = 0; i < m->skewed_count; i++) {
        jw_begin(j, '{');
        jw_put_value(j, "host", &m->skewed[i].host);
        jw_put_value(j, "distance_us", &m->skewed[i].distance);
        jw_end(j, '}');
    }
    jw_end(j, ']');
    jw_end(j, '}');
}

static void put_test(struct jw *j, const struct compare_test *t)
{
    jw_begin(j, '{');
    jw_put_uint(j, "n_baseline", t->baseline_count);
    jw_put_uint(j, "n_variant", t->variant_count);
    jw_put_double(j, "welch_t", t->welch_t);
    jw_put_double(j, "welch_df", t->welch_df);
    jw_put_double(j, "welch_p", t->welch_p);
    jw_put_double(j, "welch_p_holm", t->welch_p_holm);
    jw_put_double(j, "mann_whitney_u", t->mann_whitney_u);
    jw_put_double(j, "mann_whitney_p", t->mann_whitney_p);
    jw_put_double(j, "mann_whitney_p_holm", t->mann_whitney_p_holm);
    jw_put_double(j, "cliffs_delta", t->cliffs_delta);
    jw_put_str(j, "difference", compare_difference_name(t));
    jw_end(j, '}');
}

/* The members of a metric that each variant has: one value, or with several variants a list of
 * theirs. */
enum { M_VARIANT, M_STD, M_DELTA, M_PERCENT, M_ZERO, M_D, M_CLASS, M_WORSE, M_TEST, MEMBERS };
static const char *const member_names[MEMBERS] = {"variant",      "variant_std",   "delta",
                                                  "pct_change",   "baseline_zero", "cohens_d",
                                                  "significance", "is_regression", "test"};

static void put_member(struct jw *j, const struct compare_change *c, unsigned member)
{
    switch (member) {
    case M_VARIANT:
        jw_value(j, &c->value);
        break;
    case M_STD:
        jw_value(j, &c->std);
        break;
    case M_DELTA:
        jw_value(j, &c->delta);
        break;
    case M_PERCENT:
        jw_double(j, c->percent);
        break;
    case M_ZERO:
        jw_bool(j, c->baseline_zero);
        break;
    case M_D:
        jw_double(j, c->cohens_d);
        break;
    case M_CLASS:
        jw_str(j, compare_class_name(c->significance));
        break;
    case M_WORSE:
        jw_bool(j, c->regression);
        break;
    default:
        put_test(j, c->test);
    }
}

static void put_metric(struct jw *j, const struct comparison *c, const struct compare_metric *m)
{
    size_t variants = c->side_count - 1;

    jw_begin(j, '{');
    jw_put_str(j, "name", m->name);
    jw_put_value(j, "baseline", &m->value);
    jw_put_value(j, "baseline_std", &m->std);
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (i == M_TEST && !m->changes[0].test)
            continue;
        jw_key(j, member_names[i]);
        if (variants > 1)
            jw_begin(j, '[');
        for (size_t v = 0; v < variants; v++)
            put_member(j, &m->changes[v], i);
        if (variants > 1)
            jw_end(j, ']');
    }
    jw_end(j, '}');
}

static void put_metrics(struct jw *j, const struct comparison *c, const struct compare_group *g)
{
    jw_key(j, "metrics");
    jw_begin(j, '[');
    for (size_t i = 0; i < g->metric_count; i++)
        put_metric(j, c, &g->metrics[i]);
    jw_end(j, ']');
}

static void put_group(struct jw *j, const struct comparison *c, const struct compare_node *n,
                      const struct compare_group *g)
{
    struct buf label = {0};

    compare_label(n, g, &label);
    jw_begin(j, '{');
    jw_put_text(j, "label", (struct text){label.data, label.len});
    jw_key(j, "keys");
    jw_begin(j, '{');
    for (size_t i = 0; i < n->group_by_count; i++)
        jw_put_value(j, n->group_by[i], &g->keys[i]);
    jw_end(j, '}');
    put_metrics(j, c, g);
    jw_end(j, '}');
    put_done(j->out, &label);
}

static void put_node(struct jw *j, const struct comparison *c,
                     const struct format_compare_options *o, const struct compare_node *n)
{
    jw_begin(j, '{');
    jw_put_value(j, "name", &n->name);
    jw_put_str(j, "query", n->query);
    jw_key(j, "summary");
    jw_begin(j, '{');
    put_metrics(j, c, &n->summary);
    jw_end(j, '}');
    jw_key(j, "groups");
    jw_begin(j, '[');
    for (size_t i = 0; i < n->group_count && !compare_is_over(o, i, j->out); i++)
        put_group(j, c, n, &n->groups[i]);
    jw_end(j, ']');
    jw_key(j, "children");
    jw_begin(j, '[');
    for (size_t i = 0; i < n->child_count; i++)
        put_node(j, c, o, &n->children[i]);
    jw_end(j, ']');
    jw_end(j, '}');
}

static void put_note(void *arg, struct text note)
{
    jw_text(arg, note);
}

/* One, or a list of several. */
static void put_variants(struct jw *j, const struct comparison *c,
                         const struct format_compare_options *o)
{
    bool several = c->side_count > 2;

    jw_key(j, "variant");
    if (several)
        jw_begin(j, '[');
    for (size_t i = 1; i < c->side_count; i++)
        jw_str(j, o->labels[i]);
    if (several)
        jw_end(j, ']');
    jw_key(j, "baseline_meta");
    put_meta(j, &c->meta[0]);
    jw_key(j, "variant_meta");
    if (several)
        jw_begin(j, '[');
    for (size_t i = 1; i < c->side_count; i++)
        put_meta(j, &c->meta[i]);
    if (several)
        jw_end(j, ']');
}

static void put_json(const struct comparison *c, const struct format_compare_options *o,
                     struct buf *out)
{
    struct jw writer, *j = &writer;

    jw_init(j, out, o->pretty);
    jw_begin(j, '{');
    jw_put_str(j, "baseline", o->labels[0]);
    put_variants(j, c, o);
    jw_put_str(j, "query", o->query);
    jw_put_uint(j, "generation", c->generation);
    jw_put_bool(j, "complete", c->complete);
    jw_put_uint(j, "damaged_files", c->damaged_files);
    jw_put_double(j, "execution_time_ms", (double)(c->elapsed_ns / 1000) / 1000);
    jw_put_uint(j, "tests", c->tests);
    jw_put_str(j, "regression",
               c->regression < 0 ? "NONE" : compare_class_name((enum compare_class)c->regression));
    jw_put_bool(j, "failed", compare_failed(c, o));
    jw_key(j, "notes");
    jw_begin(j, '[');
    compare_notes(c, o, put_note, j);
    jw_end(j, ']');
    jw_key(j, "nodes");
    jw_begin(j, '[');
    for (size_t i = 0; i < c->node_count; i++)
        put_node(j, c, o, &c->nodes[i]);
    jw_end(j, ']');
    jw_end(j, '}');
    jw_finish(j);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const char *const columns[] = {"node",         "group",          "metric",
                                      "variant_name", "baseline",       "baseline_std",
                                      "variant",      "variant_std",    "delta",
                                      "pct_change",   "baseline_zero",  "cohens_d",
                                      "significance", "is_regression",  "welch_p",
                                      "welch_p_holm", "mann_whitney_p", "mann_whitney_p_holm",
                                      "cliffs_delta", "difference"};
enum { COLUMNS = sizeof(columns) / sizeof(*columns), FIRST_OF_TEST = 14 };

struct rows {
    const struct comparison *c;
    const struct format_compare_options *o;
    struct format_table *table;
    struct buf path, *out;
};

static struct value text_value(const char *s)
{
    return (struct value){.type = VALUE_TEXT, .text = text_of(s)};
}

static struct value double_value(double d)
{
    return (struct value){.type = VALUE_DOUBLE, .d = d};
}

static struct value bool_value(bool b)
{
    return (struct value){.type = VALUE_BOOL, .i = b};
}

static void put_row(struct rows *r, struct value group, const struct compare_metric *m, size_t v)
{
    const struct compare_change *c = &m->changes[v];
    struct value row[COLUMNS] = {{.type = VALUE_TEXT, .text = {r->path.data, r->path.len}},
                                 group,
                                 text_value(m->name),
                                 text_value(r->o->labels[v + 1]),
                                 m->value,
                                 m->std,
                                 c->value,
                                 c->std,
                                 c->delta,
                                 double_value(c->percent),
                                 bool_value(c->baseline_zero),
                                 double_value(c->cohens_d),
                                 text_value(compare_class_name(c->significance)),
                                 bool_value(c->regression)};
    const struct compare_test *t = c->test;

    if (t) {
        const struct value test[] = {
            double_value(t->welch_p),        double_value(t->welch_p_holm),
            double_value(t->mann_whitney_p), double_value(t->mann_whitney_p_holm),
            double_value(t->cliffs_delta),   text_value(compare_difference_name(t))};
        for (size_t i = 0; i < sizeof(test) / sizeof(*test); i++)
            row[FIRST_OF_TEST + i] = test[i];
    }
    format_table_row(r->table, row, r->out);
}

static void put_rows(struct rows *r, struct value group, const struct compare_group *g)
{
    for (size_t i = 0; i < g->metric_count; i++) {
        for (size_t v = 0; v + 1 < r->c->side_count; v++)
            put_row(r, group, &g->metrics[i], v);
    }
}

static void put_node_rows(struct rows *r, const struct compare_node *n)
{
    size_t len = r->path.len;
    struct buf label = {0};

    buf_puts(&r->path, len ? " / " : "");
    value_plain(&r->path, &n->name);
    put_rows(r, (struct value){.type = VALUE_NULL}, &n->summary);
    for (size_t i = 0; i < n->group_count && !compare_is_over(r->o, i, r->out); i++) {
        buf_clear(&label);
        compare_label(n, &n->groups[i], &label);
        put_rows(r, (struct value){.type = VALUE_TEXT, .text = {label.data, label.len}},
                 &n->groups[i]);
    }
    for (size_t i = 0; i < n->child_count; i++)
        put_node_rows(r, &n->children[i]);
    r->path.len = len;
    put_done(r->out, &label);
}

static int put_all_rows(const struct comparison *c, const struct format_compare_options *o,
                        struct buf *out)
{
    struct rows r = {.c = c, .o = o, .out = out};
    int rc = format_table_new(o->format, columns, COLUMNS, &r.table);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < c->node_count; i++)
        put_node_rows(&r, &c->nodes[i]);
    format_table_end(r.table, out);
    format_table_free(r.table);
    put_done(out, &r.path);
    return 0;
}

int format_compare(const struct comparison *c, const struct format_compare_options *o,
                   struct buf *out)
{
    int rc = 0;

    if (o->format == FORMAT_JSON)
        put_json(c, o, out);
    else if (o->format == FORMAT_NDJSON || o->format == FORMAT_CSV)
        rc = put_all_rows(c, o, out);
    else if (o->format == FORMAT_MARKDOWN)
        format_compare_markdown(c, o, out);
    else
        format_compare_text(c, o, out);
    return rc < 0 ? rc : out->error;
}
