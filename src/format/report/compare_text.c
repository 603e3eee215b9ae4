/* compare_text.c - /compare as text: a tree of metrics with a column for each side. */
#include "dftracerd/vec.h"
#include "format/report/compare.h"
#include "format/writer/text_number.h"

#include <string.h>

static void put_with_std(struct buf *out, const struct compare_metric *m, const struct value *v,
                         const struct value *std)
{
    compare_number(out, v, m->unit, false);
    if (value_double(std, 0) > 0) {
        buf_puts(out, " (\u00b1");
        compare_number(out, std, m->unit, false);
        buf_putc(out, ')');
    }
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* A line of the table; its cells follow each other in `text`. */
struct line {
    size_t *ends; /* of cells in `text`; 0: there is no such cell */
    size_t begin; /* of the first cell */
    const struct compare_metric *metric;
};
struct metric_table {
    const struct comparison *c;
    const struct format_compare_options *o;
    size_t columns;
    VEC(struct line) lines;
    size_t *widths;
    struct buf text, prefix;
    struct arena arena;
    int error; /* of adding lines; sticky */
};

/* Number of cells of a variant: with a single variant also the delta. */
static unsigned cells_of_variant(const struct comparison *c)
{
    return c->side_count == 2 ? 4 : 3;
}

/* Appends a line; returns NULL after an error. */
static struct line *add_line(struct metric_table *t, const struct compare_metric *m)
{
    size_t *ends = arena_alloc(&t->arena, t->columns * sizeof(*ends));

    if (t->error == 0)
        t->error = ends ? vec_push(&t->lines, {.ends = ends, .begin = t->text.len, .metric = m})
                        : t->arena.error;
    return t->error < 0 ? NULL : &t->lines.at[t->lines.count - 1];
}

static void end_cell(struct metric_table *t, struct line *l, size_t cell)
{
    size_t begin = cell ? l->ends[cell - 1] : l->begin;

    if (t->text.error)
        return;
    l->ends[cell] = t->text.len;
    size_t width = text_width((struct text){t->text.data + begin, t->text.len - begin});
    t->widths[cell] = width > t->widths[cell] ? width : t->widths[cell];
}

static const char *const marks[COMPARE_CLASSES] = {"~", "*", "**", "***"};

static void put_cells(struct metric_table *t, struct line *l, const struct compare_metric *m)
{
    size_t cell = 1;

    put_with_std(&t->text, m, &m->value, &m->std);
    end_cell(t, l, cell++);
    for (size_t v = 0; v + 1 < t->c->side_count; v++) {
        const struct compare_change *c = &m->changes[v];
        put_with_std(&t->text, m, &c->value, &c->std);
        end_cell(t, l, cell++);
        if (cells_of_variant(t->c) == 4) {
            compare_number(&t->text, &c->delta, m->unit, true);
            end_cell(t, l, cell++);
        }
        compare_percent(&t->text, c);
        end_cell(t, l, cell++);
        buf_puts(&t->text, marks[c->effect_class]);
        end_cell(t, l, cell++);
    }
}

/* ---- the tree -------------------------------------------------------------------------------- */

static void put_line(struct metric_table *t, struct text label, bool root, bool last,
                     const struct compare_metric *m)
{
    const char *branch = t->o->terminal ? last ? "\u2514\u2500\u2500 " : "\u251c\u2500\u2500 "
                         : last         ? "`-- "
                                        : "+-- ";
    struct line *l = add_line(t, m);

    if (!l)
        return;
    buf_text(&t->text, (struct text){t->prefix.data, t->prefix.len});
    buf_puts(&t->text, root ? "" : branch);
    buf_text(&t->text, label);
    end_cell(t, l, 0);
    if (m)
        put_cells(t, l, m);
}

/* Lengthens the prefix for the children of a line; returns its length before. */
static size_t lengthen_prefix(struct metric_table *t, bool root, bool last)
{
    size_t len = t->prefix.len;

    if (!root)
        buf_puts(&t->prefix, last ? "    " : t->o->terminal ? "\u2502   " : "|   ");
    return len;
}

/* Returns "dur" for "dur_mean": the other metrics of one such family are its children. */
static struct text family_of(const char *name)
{
    static const char *const families[] = {"dur_", "size_", "time_"};

    for (unsigned i = 0; i < 3; i++) {
        if (text_starts(text_of(name), text_of(families[i])))
            return (struct text){name, strlen(families[i]) - 1};
    }
    return (struct text){NULL, 0};
}

/* Returns the next metric that is shown. */
static size_t next_shown(const struct metric_table *t, const struct compare_group *g, size_t i)
{
    while (i < g->metric_count && compare_is_zero(t->c, &g->metrics[i]))
        i++;
    return i;
}

static void put_family(struct metric_table *t, const struct compare_group *g, size_t from,
                       size_t to)
{
    struct text name = family_of(g->metrics[from].name);

    for (size_t i = from, next; i < to; i = next) {
        next = next_shown(t, g, i + 1);
        put_line(t, text_of(g->metrics[i].name + name.len + 1), false, next >= to, &g->metrics[i]);
    }
}

static void put_metrics(struct metric_table *t, const struct compare_group *g)
{
    for (size_t i = next_shown(t, g, 0), next; i < g->metric_count; i = next) {
        struct text name = family_of(g->metrics[i].name);
        next = next_shown(t, g, i + 1);
        while (name.len && next < g->metric_count &&
               text_eq(family_of(g->metrics[next].name), name))
            next = next_shown(t, g, next + 1);
        bool last = next >= g->metric_count;
        if (name.len == 0) {
            put_line(t, text_of(g->metrics[i].name), false, last, &g->metrics[i]);
            continue;
        }
        put_line(t, name, false, last, NULL);
        size_t len = lengthen_prefix(t, false, last);
        put_family(t, g, i, next);
        t->prefix.len = len;
    }
}

static void put_branch(struct metric_table *t, struct text label, bool last,
                       const struct compare_group *g)
{
    put_line(t, label, false, last, NULL);
    size_t len = lengthen_prefix(t, false, last);
    put_metrics(t, g);
    t->prefix.len = len;
}

static void put_node(struct metric_table *t, const struct compare_node *n, bool root, bool last)
{
    struct buf label = {0};

    value_plain(&label, &n->name);
    put_line(t, (struct text){label.data, label.len}, root, last, NULL);
    size_t len = lengthen_prefix(t, root, last);
    put_branch(t, TEXT("SUMMARY"), n->group_count + n->child_count == 0, &n->summary);
    for (size_t i = 0; i < n->group_count && !list_must_stop(t->o->budget, i, &t->text); i++) {
        buf_clear(&label);
        compare_label(&n->groups[i], &label);
        put_branch(t, (struct text){label.data, label.len},
                   i + 1 == n->group_count && n->child_count == 0, &n->groups[i]);
    }
    for (size_t i = 0; i < n->child_count; i++)
        put_node(t, &n->children[i], false, i + 1 == n->child_count);
    t->prefix.len = len;
    put_done(&t->text, &label);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_header(struct metric_table *t)
{
    struct line *l = add_line(t, NULL);
    static const char *const of_variant[] = {"delta", "change", "sig"};
    size_t cell = 0, given = cells_of_variant(t->c);

    if (!l)
        return;
    buf_puts(&t->text, "metric");
    end_cell(t, l, cell++);
    buf_puts(&t->text, "baseline");
    end_cell(t, l, cell++);
    for (size_t v = 1; v < t->c->side_count; v++) {
        if (t->c->side_count == 2)
            buf_puts(&t->text, "variant");
        else
            buf_printf(&t->text, "variant %zu", v);
        end_cell(t, l, cell++);
        for (size_t i = 4 - given; i < 3; i++) {
            buf_puts(&t->text, of_variant[i]);
            end_cell(t, l, cell++);
        }
    }
}

static const char *color_of(const struct metric_table *t, const struct line *l, size_t cell)
{
    unsigned given = cells_of_variant(t->c);

    if (!t->o->color || !l->metric || cell < 2 || (cell - 2) % given + 2 < given)
        return NULL;
    const struct compare_change *c = &l->metric->changes[(cell - 2) / given];
    return c->effect_class >= COMPARE_MEDIUM  ? c->regression ? "\033[31m" : "\033[32m"
           : c->effect_class == COMPARE_SMALL ? "\033[33m"
                                              : "\033[2m";
}

static void write_line(const struct metric_table *t, const struct line *l, struct buf *out)
{
    for (size_t i = 0; i < t->columns; i++) {
        size_t begin = i ? l->ends[i - 1] : l->begin, end = l->ends[i] ? l->ends[i] : begin;
        bool last = i + 1 == t->columns || l->ends[i + 1] == 0;
        const char *color = color_of(t, l, i);
        if (i && l->ends[i] == 0)
            break; /* a line without numbers ends here */
        struct text cell = {t->text.data + begin, end - begin};
        buf_puts(out, i ? " | " : "");
        buf_puts(out, color ? color : "");
        put_padded(out, cell, last ? 0 : i == 0 ? -(int)t->widths[i] : (int)t->widths[i]);
        buf_puts(out, color ? "\033[0m" : "");
    }
    buf_putc(out, '\n');
}

static void write_rule(const struct metric_table *t, struct buf *out)
{
    for (size_t i = 0; i < t->columns; i++) {
        buf_puts(out, i ? "-+-" : "");
        for (size_t k = 0; k < t->widths[i]; k++)
            buf_putc(out, '-');
    }
    buf_putc(out, '\n');
}

static void put_note(void *arg, struct text note)
{
    buf_puts(arg, "Note: ");
    buf_text(arg, note);
    buf_putc(arg, '\n');
}

void format_compare_text(const struct comparison *c, const struct format_compare_options *o,
                         struct buf *out)
{
    struct metric_table t = {.c = c, .o = o};

    t.columns = 2 + (c->side_count - 1) * cells_of_variant(c);
    t.widths = arena_alloc(&t.arena, t.columns * sizeof(*t.widths));
    t.error = t.widths ? 0 : -ENOMEM;
    buf_printf(out, "Comparison:\n  baseline: %s\n", c->baseline);
    for (size_t i = 1; i < c->side_count; i++) {
        if (c->side_count == 2)
            buf_printf(out, "  variant:  %s\n\n", c->variants[i - 1]);
        else
            buf_printf(out, "  variant %zu: %s\n%s", i, c->variants[i - 1],
                       i + 1 == c->side_count ? "\n" : "");
    }
    if (t.widths)
        put_header(&t);
    for (size_t i = 0; i < c->node_count && t.error == 0 && t.text.error == 0; i++)
        put_node(&t, &c->nodes[i], true, true);
    t.error = t.error ? t.error : t.text.error ? t.text.error : t.prefix.error;
    for (size_t i = 0; t.error == 0 && i < t.lines.count && !list_must_stop(o->budget, i, out);
         i++) {
        write_line(&t, &t.lines.at[i], out);
        if (i == 0)
            write_rule(&t, out);
    }
    out->error = out->error ? out->error : t.error;
    buf_putc(out, '\n');
    compare_notes(c, put_note, out, out);
    buf_printf(out, "Completed in %.1f ms\n", (double)c->elapsed_ns / 1e6);
    vec_done(&t.lines);
    buf_done(&t.text);
    buf_done(&t.prefix);
    arena_done(&t.arena);
}
