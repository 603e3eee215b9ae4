/* events.c - single events, each with its enclosing one, by a stack of open events as in fold.c. */
#include "answer/calltree/call_tree.h"

#include <errno.h>
#include <stdlib.h>

static void fill_event(const struct call_tree *t, const struct call_lane *l, size_t *near,
                       const struct call_item *i, struct call_tree_event *ret)
{
    const struct call_name *n = call_item_name(t, i);
    int64_t ts = i->ts, dur = i->te - i->ts;

    if (t->clips)
        dur = within_length(&l->covered, near, i->ts, i->te, &ts);

    *ret = (struct call_tree_event){.event_id = i->id,
                                    .has_event_id = i->id != CALL_NO_ID,
                                    .thread = i->lane,
                                    .name = n->name,
                                    .cat = n->cat,
                                    .ts_ns = ts,
                                    .dur_ns = dur};
}

/* Returns the next event, of the next thread that has one. */
static const struct call_item *next_item(struct call_tree *t)
{
    struct call_events *e = &t->events;

    while (e->lane < t->lane_count && e->at == t->lanes[e->lane].count) {
        e->lane++;
        e->at = e->near = 0;
        e->depth = 0;
    }
    return e->lane < t->lane_count ? &t->items[t->lanes[e->lane].first + e->at++] : NULL;
}

static int nest_event(struct call_tree *t, const struct call_item *i, struct call_tree_event *ret)
{
    struct call_events *e = &t->events;
    bool crosses = false;

    for (; e->depth; e->depth--) {
        const struct call_open *around = &e->opened.at[e->depth - 1];
        if (call_contains(around->ts, around->te, i))
            break;
        crosses |= i->ts < around->te && around->te < i->te;
    }
    t->totals.partial_overlaps += crosses;
    int rc = vec_reserve(&e->opened, e->depth + 1);
    if (rc < 0)
        return rc;
    fill_event(t, &t->lanes[e->lane], &e->near, i, ret);
    ret->id = (uint64_t)(i - t->items) + 1;
    ret->parent = e->depth ? e->opened.at[e->depth - 1].id : 0;
    ret->depth = (uint32_t)e->depth;
    ret->thread = e->lane;
    e->opened.at[e->depth++] = (struct call_open){.ts = i->ts, .te = i->te, .id = ret->id};
    t->totals.levels = e->depth > t->totals.levels ? e->depth : t->totals.levels;
    return 0;
}

int call_tree_next_event(struct call_tree *t, struct call_tree_event *ret)
{
    const struct call_item *i;

    while ((i = next_item(t))) {
        int rc = t->events.at % 4096 ? 0 : budget_check(t->budget);
        rc = rc < 0 ? rc : nest_event(t, i, ret);
        if (rc < 0 || t->options.max_depth == 0 || ret->depth < t->options.max_depth)
            return rc;
    }
    return ERR_END;
}

int call_tree_starts(const struct call_tree *t, void (*see)(void *arg, int64_t ts_ns), void *arg)
{
    struct call_tree_event e;
    int rc = 0;

    for (uint32_t lane = 0; lane < t->lane_count && rc == 0; lane++) {
        const struct call_lane *l = &t->lanes[lane];
        size_t near = 0;
        for (size_t i = 0; i < l->count && rc == 0; i++) {
            rc = i % 4096 ? 0 : budget_check(t->budget);
            fill_event(t, l, &near, &t->items[l->first + i], &e);
            see(arg, e.ts_ns);
        }
    }
    return rc;
}

void call_tree_thread(const struct call_tree *t, uint32_t thread, struct call_tree_thread *ret)
{
    const struct call_lane *l = &t->lanes[thread];

    *ret = (struct call_tree_thread){l->host, l->pid, l->tid, l->count};
}

const struct call_tree_event *call_tree_path_event(const struct call_tree_path *p, size_t i)
{
    const struct call_lane *l = &p->tree->lanes[p->thread];
    struct call_tree_event *e = &p->tree->events.in_path;
    size_t near = 0;

    fill_event(p->tree, l, &near, &p->tree->items[l->first + l->chain[i]], e);
    e->depth = (uint32_t)i;
    e->thread = p->thread;
    return e;
}

/* ---- names in paths -------------------------------------------------------------------------- */

void call_tree_write_name(const struct value *v, struct buf *out)
{
    char digits[64];

    switch (v->type) {
    case VALUE_TEXT:
    case VALUE_JSON:
        for (size_t i = 0; i < v->text.len; i++) {
            unsigned char c = (unsigned char)v->text.ptr[i];
            buf_putc(out, c == ';' ? ':' : c < 32 || c == 127 ? ' ' : (char)c);
        }
        return;
    case VALUE_INT:
        buf_append(out, digits, num_format_i64(v->i, digits));
        return;
    case VALUE_TIME:
        buf_append(out, digits, num_format_milli128(v->wide, digits));
        return;
    case VALUE_DOUBLE:
        buf_append(out, digits, num_format_double(v->d, digits));
        return;
    case VALUE_BOOL:
        buf_puts(out, v->i ? "true" : "false");
        return;
    default:
        buf_putc(out, '-');
    }
}

void call_tree_write_label(const struct call_tree *t, const struct call_tree_node *n,
                           struct buf *out)
{
    if (!n->is_group) {
        call_tree_write_name(&n->name, out);
        return;
    }
    for (unsigned i = 0; i < t->group_count; i++) {
        const struct value column = {.type = VALUE_TEXT, .text = text_of(t->options.group_by[i])};
        buf_puts(out, i ? "," : "");
        call_tree_write_name(&column, out);
        buf_putc(out, '=');
        call_tree_write_name(&n->group[i], out);
    }
}
