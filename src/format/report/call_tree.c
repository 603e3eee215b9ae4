/* call_tree.c - the folded tree, node after node: nothing recurs, and a piece of it is
 * written at a time. */
#include "format/report/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 64 << 10, INDENT_MOST = 64 };

bool call_tree_has_part(const struct format_call_tree *f, enum call_tree_part part)
{
    if (part == CALL_TREE_ALL)
        return !f->o.focus;
    return f->o.focus && (part == CALL_TREE_CALLEES ? f->o.callees : f->o.callers);
}

int format_call_tree_new(struct call_tree *t, struct query *q,
                         const struct format_call_tree_options *o, struct format_call_tree **ret)
{
    const enum format f = o->format;
    if (f != FORMAT_JSON && f != FORMAT_TEXT && f != FORMAT_COLLAPSED && f != FORMAT_NDJSON &&
        f != FORMAT_PERFETTO)
        return ERR_FORMAT;
    *ret = calloc(1, sizeof(**ret));
    if (!*ret)
        return -ENOMEM;
    (*ret)->tree = t;
    (*ret)->query = q;
    (*ret)->o = *o;
    (*ret)->last = -1;
    (*ret)->lanes.heap.budget = o->budget;
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
    buf_done(&f->thread_json);
    vec_done(&f->ends);
    vec_done(&f->told);
    free(f);
}

/* ---- collapsed ------------------------------------------------------------------------------- */

static int put_stack(struct format_call_tree *f, const struct call_tree_node *n, struct buf *out)
{
    char room[64];
    int rc = call_tree_cut_path(f, n->depth);

    if (rc < 0)
        return rc;
    call_tree_label(f->tree, n, &f->path);
    rc = call_tree_end_frame(f, n->depth);
    __int128 us = (n->rest_ns + 500) / 1000; /* speedscope takes whole numbers only */
    if (rc < 0 || n->kind == CALL_TREE_TOP || us <= 0)
        return rc;
    buf_append(out, f->path.data, f->path.len);
    buf_putc(out, ' ');
    buf_append(out, room, num_format_i128(us, room));
    buf_putc(out, '\n');
    return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Of very deep trees only so much: each line would be as long as the tree is deep. */
static void put_line(const struct format_call_tree *f, int64_t depth, struct buf *out)
{
    int64_t most = 1 + (depth < INDENT_MOST ? depth : INDENT_MOST);

    if (!f->o.pretty)
        return;
    buf_putc(out, '\n');
    for (int64_t i = 0; i < most; i++)
        buf_puts(out, "  ");
}

static void close_nodes(struct format_call_tree *f, int64_t down_to, struct buf *out)
{
    for (; f->last >= down_to; f->last--)
        buf_puts(out, "]}");
}

static void put_member(struct buf *out, const char *key, const struct value *v)
{
    buf_puts(out, key);
    value_json(out, v);
}

static void put_time(struct buf *out, const char *key, __int128 ns, bool null)
{
    struct value v = {.type = null ? VALUE_NULL : VALUE_TIME, .wide = ns};

    put_member(out, key, &v);
}

static void put_name(const struct format_call_tree *f, const struct call_tree_node *n,
                     struct buf *out)
{
    if (n->kind == CALL_TREE_GROUP) {
        buf_puts(out, "{\"group\":{");
        for (size_t i = 0; i < n->group_count; i++) {
            buf_puts(out, i ? "," : "");
            jw_escape(out, text_of(call_tree_column(f->tree, i)));
            put_member(out, ":", &n->group[i]);
        }
        buf_putc(out, '}');
        return;
    }
    put_member(out, "{\"name\":", &n->name);
    if (n->kind == CALL_TREE_CALL)
        put_member(out, ",\"cat\":", &n->cat);
}

static void put_node(struct format_call_tree *f, const struct call_tree_node *n, struct buf *out)
{
    struct value count = {.type = VALUE_UINT, .u = n->count};
    bool none = n->min_ns > n->max_ns;

    if (f->last >= (int64_t)n->depth) {
        close_nodes(f, n->depth, out);
        buf_putc(out, ',');
    }
    if (n->depth)
        put_line(f, n->depth, out);
    put_name(f, n, out);
    put_member(out, ",\"count\":", &count);
    put_time(out, ",\"total\":", n->total_ns, false);
    put_time(out, ",\"self\":", n->self_ns, false);
    put_time(out, ",\"min\":", n->min_ns, none);
    put_time(out, ",\"max\":", n->max_ns, none);
    buf_puts(out, ",\"children\":[");
    f->last = n->depth;
}

static void begin_part(struct format_call_tree *f, struct buf *out)
{
    static const char *const names[] = {"tree", "callees", "callers"};

    f->last = -1;
    if (f->o.format != FORMAT_JSON)
        return;
    f->jw.out = out;
    jw_key(&f->jw, names[f->part]);
    f->jw.after_key = false; /* its value is written by put_node */
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int write_node(struct format_call_tree *f, const struct call_tree_node *n, struct buf *out)
{
    if (f->o.format == FORMAT_JSON)
        put_node(f, n, out);
    else if (f->o.format == FORMAT_TEXT)
        call_tree_text_node(f, n, out);
    else
        return put_stack(f, n, out);
    return 0;
}

/* 0: there is more of the part. */
static int write_nodes(struct format_call_tree *f, struct buf *out)
{
    struct call_tree_node n;
    size_t start = out->len;
    int rc = 0;

    for (unsigned i = 0; rc == 0 && out->len - start < PIECE && !out->error; i++) {
        rc = i % 1024 ? 0 : budget_check(f->o.budget);
        rc = rc < 0 ? rc : call_tree_next(f->tree, &n);
        rc = rc < 0 ? rc : write_node(f, &n, out);
    }
    if (rc == ERR_END && f->o.format == FORMAT_JSON)
        close_nodes(f, 0, out);
    return rc;
}

static int write_parts(struct format_call_tree *f, struct buf *out)
{
    while (f->part < CALL_TREE_PARTS && !call_tree_has_part(f, f->part))
        f->part++;
    if (f->part == CALL_TREE_PARTS) {
        f->stage = TREE_TAIL;
        return 0;
    }
    if (!f->in_part) {
        int rc = call_tree_begin(f->tree, f->part);
        if (rc < 0)
            return rc;
        begin_part(f, out);
        f->in_part = true;
    }
    int rc = write_nodes(f, out);
    if (rc != ERR_END)
        return rc;
    f->in_part = false;
    f->part++;
    return 0;
}

static void write_head(struct format_call_tree *f, struct buf *out)
{
    f->stage = TREE_PART;
    if (f->o.format == FORMAT_JSON)
        call_tree_json_head(f, out);
    else if (f->o.format == FORMAT_TEXT)
        call_tree_text_head(f, out);
}

static void write_tail(struct format_call_tree *f, struct buf *out)
{
    if (f->o.format == FORMAT_TEXT)
        call_tree_text_tail(f, out);
    if (f->o.format != FORMAT_JSON)
        return;
    f->jw.out = out;
    jw_end(&f->jw, '}');
    jw_finish(&f->jw);
}

int format_call_tree_next(struct format_call_tree *f, struct buf *out)
{
    bool events = f->o.format == FORMAT_NDJSON || f->o.format == FORMAT_PERFETTO;
    int rc = 0;

    if (f->stage == TREE_HEAD && events) {
        rc = call_tree_events_begin(f, out);
        f->stage = TREE_PART;
    } else if (f->stage == TREE_HEAD) {
        write_head(f, out);
    } else if (events) {
        rc = call_tree_events_next(f, out);
    } else if (f->stage == TREE_PART) {
        rc = write_parts(f, out);
    } else {
        write_tail(f, out);
        rc = ERR_END;
    }
    return out->error ? out->error : rc;
}
