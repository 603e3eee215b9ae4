/* call_tree.c - writes /call-tree piece by piece, without recursion. */
#include "format/report/call_tree.h"

#include <errno.h>
#include <stdlib.h>

enum { PIECE = 64 << 10 };

static bool has_part(const struct format_call_tree_options *o, enum call_tree_part part)
{
    if (part == CALL_TREE_ALL)
        return !o->focus;
    return o->focus && (part == CALL_TREE_CALLEES ? o->callees : o->callers);
}

/* Begins the next part that is to be written, if there is one. */
static void begin_part(struct format_call_tree *f)
{
    while (f->part < CALL_TREE_PARTS && !f->nodes[f->part])
        f->part++;
    if (f->part < CALL_TREE_PARTS)
        call_tree_begin(f->tree, f->part);
}

int format_call_tree_new(struct call_tree *t, const struct format_call_tree_options *o,
                         struct format_call_tree **ret)
{
    const enum format f = o->format;
    if (f != FORMAT_JSON && f != FORMAT_TEXT && f != FORMAT_COLLAPSED && f != FORMAT_NDJSON &&
        f != FORMAT_PERFETTO)
        return ERR_FORMAT;
    struct format_call_tree *new = calloc(1, sizeof(*new));
    if (!new)
        return -ENOMEM;
    new->tree = t;
    new->o = *o;
    call_tree_totals(t, &new->lines.totals);
    new->analysis = call_tree_analysis(t);
    new->lanes.heap.budget = o->budget;
    for (unsigned part = 0; part < CALL_TREE_PARTS; part++)
        new->nodes[part] = has_part(o, part) ? call_tree_begin(t, part) : 0;
    document_begin(&new->document, &format_call_tree_type, new, o->pretty);
    new->document.jw.budget = o->budget;
    begin_part(new);
    *ret = new;
    return 0;
}

void format_call_tree_free(struct format_call_tree *f)
{
    if (!f)
        return;
    perfetto_free(f->perfetto);
    perfetto_thread_done(&f->lanes);
    buf_done(&f->path);
    buf_done(&f->scratch);
    vec_done(&f->ends);
    vec_done(&f->lane_tids);
    free(f);
}

/* ---- collapsed and text ---------------------------------------------------------------------- */

static int put_stack(struct format_call_tree *f, const struct call_tree_node *n, struct buf *out)
{
    char digits[64];
    int rc = call_tree_cut_path(f, n->depth);

    if (rc < 0)
        return rc;
    call_tree_write_label(f->tree, n, &f->path);
    rc = call_tree_end_frame(f, n->depth);
    __int128 us = (n->rest_ns + 500) / 1000; /* speedscope accepts whole numbers only */
    if (rc < 0 || n->depth == 0 || us <= 0)
        return rc;
    buf_append(out, f->path.data, f->path.len);
    buf_putc(out, ' ');
    buf_append(out, digits, num_format_i128(us, digits));
    buf_putc(out, '\n');
    return 0;
}

static int next_nodes(struct format_call_tree *f, struct buf *out)
{
    size_t start = out->len;
    int rc = 0;

    if (!f->begun && f->o.format == FORMAT_TEXT)
        call_tree_text_head(f, out);
    f->begun = true;
    for (unsigned i = 0; f->part < CALL_TREE_PARTS && out->len - start < PIECE; i++) {
        rc = i % 1024 ? out->error : budget_check(f->o.budget);
        const struct call_tree_node *n = rc < 0 ? NULL : call_tree_next(f->tree);
        if (n && f->o.format == FORMAT_COLLAPSED)
            rc = put_stack(f, n, out);
        else if (n)
            call_tree_text_node(f, n, out);
        if (rc < 0)
            return rc;
        if (n)
            continue;
        f->part++;
        begin_part(f);
    }
    if (f->part < CALL_TREE_PARTS)
        return 0;
    if (f->o.format == FORMAT_TEXT)
        call_tree_text_tail(f, out);
    return ERR_END;
}

int format_call_tree_next(struct format_call_tree *f, struct buf *out)
{
    bool events = f->o.format == FORMAT_NDJSON || f->o.format == FORMAT_PERFETTO;
    int rc = f->o.format == FORMAT_JSON ? document_next(&f->document, out)
             : events                   ? call_tree_events_next(f, out)
                                        : next_nodes(f, out);

    return out->error ? out->error : rc;
}
