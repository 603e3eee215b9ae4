/* call_tree_text.c - a call tree as text, indented by two spaces for each level. */
#include "format/report/call_tree.h"

#include "format/writer/text_number.h"

enum { INDENT_MAX = 64, NAME_WIDTH = 44 };

static void put_ns(struct buf *out, __int128 ns)
{
    char digits[64];

    buf_append(out, digits, num_format_milli128(ns, digits));
    buf_puts(out, "us");
}

static void put_row(struct buf *out, const char *label, uint64_t u)
{
    buf_printf(out, "%-20s ", label);
    put_commas(out, u);
    buf_putc(out, '\n');
}

void call_tree_text_head(struct format_call_tree *f, struct buf *out)
{
    const struct call_tree_totals *t = &f->lines.totals;

    put_row(out, "Events in the tree:", t->in_tree);
    put_row(out, "Threads:", t->threads);
    put_row(out, "Levels:", t->levels);
    put_row(out, "Partial overlaps:", t->partial_overlaps);
    if (t->other_phases)
        put_row(out, "Other phases:", t->other_phases);
    if (t->untimed)
        put_row(out, "Without times:", t->untimed);
    for (size_t i = 0; i < t->host_count; i++) {
        buf_puts(out, "Separate host:       ");
        value_plain(out, &t->hosts_apart[i].name);
        buf_puts(out, ", ");
        put_ns(out, t->hosts_apart[i].gap_ns);
        buf_puts(out, " apart from the events of the other hosts: its clock is wrong, or it ran at "
                      "another time\n");
    }
    if (t->in_tree + t->untimed == 0)
        buf_puts(out, "No events of phase X are selected.\n");
}

/* Nodes deeper than the indentation have their depth as a number. */
void call_tree_text_node(struct format_call_tree *f, const struct call_tree_node *n,
                         struct buf *out)
{
    if (n->depth == 0)
        buf_putc(out, '\n');
    put_spaces(out, 2 * (size_t)(n->depth < INDENT_MAX ? n->depth : INDENT_MAX));
    if (n->depth > INDENT_MAX)
        buf_printf(out, "(%u) ", n->depth);
    if (n->is_group)
        call_tree_write_label(f->tree, n, out);
    else
        value_plain(out, &n->name);
    if (n->is_call) {
        buf_puts(out, " [");
        value_plain(out, &n->cat);
        buf_putc(out, ']');
    }
    buf_printf(out, " count=%llu total=", (unsigned long long)n->count);
    put_ns(out, n->total_ns);
    if (n->is_call) {
        buf_puts(out, " self=");
        put_ns(out, n->self_ns);
    }
    buf_putc(out, '\n');
}

/* ---- analysis -------------------------------------------------------------------------------- */

static void put_label(const struct call_tree_sum *s, bool names, struct buf *label)
{
    buf_clear(label);
    if (names)
        value_plain(label, &s->name);
    buf_puts(label, names ? " [" : "");
    value_plain(label, &s->cat);
    buf_puts(label, names ? "]" : "");
}

static void put_sum(const struct call_tree_sum *s, const struct buf *label, struct buf *out)
{
    put_padded(out, (struct text){label->data, label->len}, -NAME_WIDTH);
    buf_printf(out, "  count=%llu total=", (unsigned long long)s->count);
    put_ns(out, s->total_ns);
    buf_puts(out, " self=");
    put_ns(out, s->self_ns);
    struct value mean = {.type = s->count ? VALUE_DOUBLE : VALUE_NULL,
                         .d = s->count ? (double)s->total_ns / 1000 / (double)s->count : 0};
    buf_puts(out, " mean=");
    put_fixed(out, &mean, 3);
    buf_puts(out, "us\n");
}

static void put_durations(const struct call_tree_durations *a, struct buf *out)
{
    const double numbers[] = {a->mean_us, a->median_us, a->p95_us, a->p99_us};
    static const char *const names[] = {"mean", "median", "p95", "p99"};

    if (!a->known)
        return;
    buf_puts(out, "\nDurations: min=");
    put_ns(out, a->min_ns);
    for (unsigned i = 0; i < 4; i++) {
        struct value v = {.type = VALUE_DOUBLE, .d = numbers[i]};
        buf_printf(out, " %s=", names[i]);
        put_fixed(out, &v, 3);
        buf_puts(out, "us");
    }
    buf_puts(out, " max=");
    put_ns(out, a->max_ns);
    buf_putc(out, '\n');
}

static void put_tables(const struct call_tree_analysis *a, struct buf *label, struct buf *out)
{
    buf_puts(out, "\nMost called:\n");
    for (size_t i = 0; i < a->most_called_count; i++) {
        put_label(&a->most_called[i], true, label);
        put_sum(&a->most_called[i], label, out);
    }
    buf_puts(out, "\nCategories:\n");
    for (size_t i = 0; i < a->category_count; i++) {
        put_label(&a->categories[i], false, label);
        put_sum(&a->categories[i], label, out);
    }
    buf_puts(out, "\nLevels:\n");
    for (size_t i = 0; i < a->depth_count; i++) {
        buf_clear(label);
        buf_printf(label, "%u", a->depths[i].depth);
        put_sum(&a->depths[i], label, out);
    }
    buf_puts(out, "\nHottest paths:\n");
    for (size_t i = 0; i < a->hottest_count; i++) {
        const struct call_tree_sum *s = &a->hottest[i];
        if (s->path) {
            buf_clear(label);
            buf_puts(label, s->path);
        } else {
            put_label(s, true, label);
        }
        put_sum(s, label, out);
    }
}

static void put_critical(const struct call_tree_path *p, struct buf *out)
{
    value_plain(out, &p->host);
    buf_putc(out, ' ');
    value_plain(out, &p->pid);
    buf_putc(out, ':');
    value_plain(out, &p->tid);
    buf_putc(out, '\n');
    for (size_t i = 0; i < p->count; i++) {
        const struct call_tree_event *e = call_tree_path_event(p, i);
        put_spaces(out, 2 * (i + 1 < INDENT_MAX ? i + 1 : INDENT_MAX));
        value_plain(out, &e->name);
        buf_puts(out, " [");
        value_plain(out, &e->cat);
        buf_puts(out, "] dur=");
        put_ns(out, e->dur_ns);
        buf_puts(out, " ts=");
        put_ns(out, e->ts_ns);
        buf_putc(out, '\n');
    }
}

void call_tree_text_tail(struct format_call_tree *f, struct buf *out)
{
    const struct call_tree_analysis *a = f->analysis;
    struct buf label = {0};

    if (!a)
        return;
    put_durations(&a->duration, out);
    put_tables(a, &label, out);
    if (a->critical) {
        buf_puts(out, "\nCritical path: ");
        put_critical(a->critical, out);
        buf_puts(out, "\nCritical paths of the threads:\n");
    }
    for (size_t i = 0; i < a->path_count; i++)
        put_critical(&a->paths[i], out);
    put_done(out, &label);
}
