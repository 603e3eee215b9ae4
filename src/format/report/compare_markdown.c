/* compare_markdown.c - /compare as a Markdown table for a pull request. */
#include "format/report/compare.h"
#include "format/writer/text_number.h"

#include <ctype.h>
#include <string.h>

struct markdown {
    const struct comparison *c;
    struct buf path, *out;
};

/* Returns true if the character would end a cell or begin other markup. `_` does not within a word
 * (dur_mean), but elsewhere (__init__). */
static bool is_markup(struct text t, size_t i)
{
    bool within = i > 0 && i + 1 < t.len && isalnum((unsigned char)t.ptr[i - 1]) &&
                  isalnum((unsigned char)t.ptr[i + 1]);

    return t.ptr[i] == '_' ? !within : t.ptr[i] && strchr("|\\`*<[~&", t.ptr[i]);
}

static void put_escaped(struct buf *out, struct text t)
{
    for (size_t i = 0; i < t.len; i++) {
        char c = t.ptr[i];
        if (is_markup(t, i))
            buf_putc(out, '\\');
        buf_putc(out, (unsigned char)c < ' ' ? ' ' : c);
    }
}

static void put_metric(struct markdown *p, struct text path, const struct compare_metric *m)
{
    buf_puts(p->out, "| ");
    put_escaped(p->out, path);
    buf_puts(p->out, " | ");
    put_escaped(p->out, text_of(m->name));
    buf_puts(p->out, " | ");
    compare_number(p->out, &m->value, m->unit, false);
    for (size_t v = 0; v + 1 < p->c->side_count; v++) {
        const struct compare_change *c = &m->changes[v];
        const char *bold = c->effect_class >= COMPARE_MEDIUM ? "**" : "";
        bool worse = c->regression && c->effect_class != COMPARE_NEGLIGIBLE;
        buf_puts(p->out, " | ");
        compare_number(p->out, &c->value, m->unit, false);
        buf_puts(p->out, " | ");
        compare_percent(p->out, c);
        buf_printf(p->out, " | %s%s%s%s", bold, c->test ? compare_class_names[c->effect_class] : "",
                   worse ? " worse" : "", bold);
    }
    buf_puts(p->out, " |\n");
}

static void put_metrics(struct markdown *p, const struct compare_group *g)
{
    for (size_t i = 0; i < g->metric_count; i++) {
        if (!compare_is_zero(p->c, &g->metrics[i]))
            put_metric(p, (struct text){p->path.data, p->path.len}, &g->metrics[i]);
    }
}

static void put_node(struct markdown *p, const struct compare_node *n)
{
    size_t before = p->path.len;

    buf_puts(&p->path, before ? " / " : "");
    value_plain(&p->path, &n->name);
    size_t own = p->path.len;
    put_metrics(p, &n->summary);
    for (size_t i = 0; i < n->group_count; i++) {
        buf_puts(&p->path, " / ");
        compare_label(&n->groups[i], &p->path);
        put_metrics(p, &n->groups[i]);
        p->path.len = own;
    }
    for (size_t i = 0; i < n->child_count; i++)
        put_node(p, &n->children[i]);
    p->path.len = before;
}

static void put_note(void *arg, struct text note)
{
    buf_puts(arg, "> ");
    put_escaped(arg, note);
    buf_puts(arg, "\n\n");
}

void format_compare_markdown(const struct comparison *c, struct buf *out)
{
    struct markdown p = {.c = c, .out = out};

    buf_puts(out, "### Comparison\n\n");
    for (size_t i = 0; i < c->side_count; i++) {
        if (i == 0)
            buf_puts(out, "- baseline: ");
        else if (c->side_count == 2)
            buf_puts(out, "- variant: ");
        else
            buf_printf(out, "- variant %zu: ", i);
        put_escaped(out, text_of(i ? c->variants[i - 1] : c->baseline));
        buf_putc(out, '\n');
    }
    buf_printf(out, "- worst regression: %s%s\n\n",
               c->worst_regression < 0 ? "none" : compare_class_names[c->worst_regression],
               c->failed ? " (**failed**)" : "");
    compare_notes(c, put_note, out, out);
    buf_puts(out, "| operation | metric | baseline |");
    for (size_t i = 1; i < c->side_count; i++) {
        if (c->side_count == 2)
            buf_puts(out, " variant | change | significance |");
        else
            buf_printf(out, " variant %zu | change | significance |", i);
    }
    buf_puts(out, "\n|---|---|--:|");
    for (size_t i = 1; i < c->side_count; i++)
        buf_puts(out, "--:|--:|---|");
    buf_putc(out, '\n');
    for (size_t i = 0; i < c->node_count; i++)
        put_node(&p, &c->nodes[i]);
    put_done(out, &p.path);
}
