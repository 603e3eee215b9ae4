/* view.c - /view: the selected lines, unmodified, with the metadata records that they refer to, or
 * their number. */
#include "answer/stats/summary.h"
#include "answer/lines/follow_lost.h"
#include "answer/lines/metadata.h"
#include "dftracerd/stats.h"
#include "dftracerd/view.h"
#include "engine/group/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct view {
    struct lines_plan plan;    /* the first member: `arg` of the item maker */
    struct metadata *metadata; /* NULL: no metadata records are returned */
    struct follow *follow;     /* NULL: unreadable lines are an error */
    struct top *top;           /* NULL: not ordered by a column */
    struct cursor *cursor;
    uint64_t written;
};

/* ---- lines of files that change -------------------------------------------------------------- */

/* Returns true if the file has changed, which caused the error, or will be indexed again anyway,
 * for example because its checkpoints are corrupt. ERR_CORRUPT may have other causes, so the file
 * is checked then. */
static bool has_changed(struct query *q, size_t position, int rc)
{
    const struct scan_place *places;
    struct trace_text *text;
    int fd;

    if (rc != ERR_CORRUPT)
        return rc == ERR_STALE || rc == -ENOENT;
    scan_places(q, &places);
    const struct index_file *file = snapshot_file(query_snapshot(q), places[position].file);
    if (file->state != INDEX_READY)
        return true;
    rc = index_text_open(query_index(q), query_snapshot(q), file, &text, &fd);
    if (rc == 0) {
        rc = index_text_check(file, fd);
        trace_text_close(text);
        close(fd);
    }
    return rc == ERR_STALE || rc == ERR_CORRUPT;
}

static int view_make(void *arg, struct item_tools *tools, size_t position, void **ret)
{
    struct view *v = arg;
    int rc = lines_make(&v->plan, tools, position, ret);

    if (rc == 0 || !v->follow || !has_changed(v->plan.query, position, rc))
        return rc;
    item_tools_close_text(tools);
    follow_lose(v->follow, v->plan.query, position);
    return 0;
}

/* Lost lines may be returned later, so nothing after them may be returned now. */
static bool view_refuse(void *arg, const struct item *item)
{
    struct view *v = arg;

    return v->follow && follow_is_lost(v->follow, v->plan.query, item->position);
}

/* ---- the cursor ------------------------------------------------------------------------------ */

static int open_cursor(struct view *v, struct cursor_options *o, struct err *err)
{
    const struct item_maker maker = {.query = v->plan.query,
                                     .arg = &v->plan,
                                     .make = view_make,
                                     .drop = lines_drop,
                                     .encode = lines_encode,
                                     .decode = lines_decode,
                                     .read_text = true};

    v->plan.max = o->limit > UINT64_MAX - o->offset ? UINT64_MAX : o->limit + o->offset;
    o->refuse = view_refuse;
    return cursor_new(&maker, o, err, &v->cursor);
}

static int find_top(struct query *q, const struct view_options *o, struct err *err,
                    struct top **ret)
{
    const struct top_options options = {
        .column = o->order_by, .descending = o->descending, .limit = o->limit, .offset = o->offset};

    return o->order_by ? top_new(q, &options, err, ret) : 0;
}

int view_open(struct query *q, const struct view_options *o, struct err *err, struct view **ret)
{
    bool metadata = !o->no_metadata && !(query_phases(q) & PHASE_METADATA);
    struct cursor_options options = {
        .order_ts = o->order_ts, .limit = o->limit, .offset = o->offset};
    struct view *v = calloc(1, sizeof(*v));

    if (!v)
        return err_set_code(err, -ENOMEM);
    v->follow = o->follow;
    int rc = find_top(q, o, err, &v->top);
    const struct item_order order = {.by_key = o->order_ts || v->top, .top = v->top};
    options.top = v->top;
    rc = rc < 0 ? rc : lines_plan_init(&v->plan, q, &order, metadata);
    if (rc == 0 && metadata)
        rc = metadata_new(q, &v->metadata);
    if (rc == 0)
        rc = open_cursor(v, &options, err);
    if (rc < 0) {
        view_close(v);
        return err_set_code(err, rc);
    }
    *ret = v;
    return 0;
}

int view_continue(struct view *v, struct query *q, struct err *err)
{
    struct cursor_options options = {0};

    cursor_remaining(v->cursor, &options.limit, &options.offset);
    cursor_free(v->cursor);
    v->cursor = NULL;
    lines_plan_done(&v->plan);
    if (v->metadata)
        metadata_continue(v->metadata, q);
    int rc = lines_plan_init(&v->plan, q, NULL, v->metadata != NULL);
    if (rc == 0)
        rc = open_cursor(v, &options, err);
    return rc < 0 ? err_set_code(err, rc) : 0;
}

bool view_may_continue(const struct view *v)
{
    uint64_t limit, offset;

    cursor_remaining(v->cursor, &limit, &offset);
    return limit > 0;
}

/* With follow, the current item is kept: a part of it may have been returned, and its file may
 * change. */
void view_pause(struct view *v)
{
    if (v->cursor)
        cursor_pause(v->cursor, v->follow != NULL);
    lines_plan_rest(&v->plan);
}

void view_close(struct view *v)
{
    if (!v)
        return;
    cursor_free(v->cursor);
    top_free(v->top);
    lines_plan_done(&v->plan);
    metadata_free(v->metadata);
    free(v);
}

/* Returns the end of the run of objects that are contiguous in the text, which are copied at
 * once. */
static uint32_t run_end(const struct lines *l, uint32_t from, uint32_t to, size_t want,
                        size_t *ret_bytes)
{
    uint32_t i = item_index(&l->item, from), k = from + 1;
    size_t start = l->offset[i], end = start + l->len[i];

    while (k < to && end - start < want) {
        i = item_index(&l->item, k);
        if (l->offset[i] != end + 1 || (l->group && !l->groups[l->group[i]].written))
            break;
        end += 1 + l->len[i];
        k++;
    }
    *ret_bytes = end - start;
    return k;
}

/* Writes at most `run` objects of the item, and about `want` bytes. *ret_taken: number of objects
 * written. */
static int write_run(struct view *v, struct lines *l, uint32_t run, size_t want, struct buf *out,
                     uint32_t *ret_taken)
{
    uint32_t at = l->item.at, to = at + run;
    size_t before = out->len, bytes;

    while (at < to && out->len - before < want) {
        uint32_t i = item_index(&l->item, at);
        if (l->group && !l->groups[l->group[i]].written) {
            int rc = metadata_before(v->metadata, l->item.file, &l->groups[l->group[i]], out);
            if (rc < 0)
                return rc;
            l->groups[l->group[i]].written = true;
        }
        at = run_end(l, at, to, want - (out->len - before < want ? out->len - before : want),
                     &bytes);
        buf_reserve(out, bytes + 1);
        buf_append(out, l->text.data + l->offset[i], bytes);
        buf_putc(out, '\n');
    }
    *ret_taken = at - l->item.at;
    return out->error;
}

int view_next(struct view *v, size_t want, struct buf *out, struct err *err)
{
    size_t before = out->len;
    int rc = 0;

    want = want ? want : 1;
    while (rc == 0 && out->len - before < want) {
        struct item *item;
        uint32_t run, taken = 0;
        rc = cursor_next(v->cursor, err, &item, &run);
        if (rc == 0)
            rc = write_run(v, (struct lines *)item, run, want - (out->len - before), out, &taken);
        if (rc == 0)
            cursor_consume(v->cursor, taken);
        v->written += rc == 0 ? taken : 0;
    }
    if (rc == ERR_END && out->len > before)
        return 0;
    return rc == ERR_END ? rc : scan_error(err, rc);
}

uint64_t view_written(const struct view *v)
{
    return v->written;
}

/* ---- counting -------------------------------------------------------------------------------- */

static int count_by_scan(struct query *q, struct err *err, uint64_t *ret)
{
    static const struct group_hooks hooks = {.batch = groups_add_all};
    const struct group_set all = {.width = 0};
    const struct grouping g = {.query = q,
                               .budget = query_budget(q),
                               .set_count = 1,
                               .sets = &all,
                               .hooks = &hooks,
                               .spreads = true};
    struct groups *found = NULL;
    int rc = groups_scan(&g, &found, err);

    if (rc == 0 && found->set[0].map.table.count > 0)
        *ret = *group_count(&found->set[0], 0);
    groups_free(found);
    return rc;
}

int view_count(struct query *q, uint64_t limit, uint64_t offset, struct err *err, uint64_t *ret)
{
    struct stats_plan plan = {.query = q};
    struct stats_options options = {.report = STATS_TIME_RANGE};
    uint64_t n = 0;
    int rc = stats_can_summarise(&plan, &options) ? stats_summary_count(q, &n)
                                                  : count_by_scan(q, err, &n);

    if (rc < 0)
        return err_set_code(err, rc);
    n = n > offset ? n - offset : 0;
    *ret = n < limit ? n : limit;
    return 0;
}
