/* lines.c - reads the text of the selected objects of a place: their rows and lengths from the
 * index, which give their positions, and the text from the trace. */
#include "answer/lines/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Up to this number of bytes between two selected objects are read rather than skipped: a call
 * costs about as much. */
enum { GAP_READ = 16 << 10 };
/* Items with longer texts are not reused. */
#define LINES_SPARE_TEXT ((size_t)16 << 20)

int lines_plan_init(struct lines_plan *p, struct query *q, const struct item_order *order,
                    bool references)
{
    *p = (struct lines_plan){.query = q, .references = references, .max = UINT64_MAX};
    if (order)
        p->order = *order;
    pthread_mutex_init(&p->lock, NULL);
    int rc = query_source(q, TEXT("ts"), &p->order.ts);
    rc = rc < 0 ? rc : query_source(q, TEXT("host"), &p->host);
    return rc < 0 ? rc : query_source(q, TEXT("pid"), &p->pid);
}

int lines_check_file(const struct index_file *file, int fd, int rc)
{
    if (rc < 0 && rc != ERR_CORRUPT)
        return rc;
    int same = index_text_check(file, fd);
    return rc == 0 || same == ERR_STALE ? same : rc;
}

/* ---- rows and their positions ---------------------------------------------------------------- */

struct finder {
    struct lines *lines;
    const struct lines_plan *plan;
    struct lines_refs *refs; /* NULL: without references */
    struct column gap, len, repaired;
    bool opened, may_repair; /* the columns were found; some row may be repaired */
    uint32_t row;            /* the next row whose length is to be added */
    uint64_t end;            /* end of the object before it in the text of the chunk */
    int64_t gaps[SCAN_BATCH], lens[SCAN_BATCH], flags[SCAN_BATCH];
};

/* Bytes of all arrays for one object. */
static size_t row_bytes(const struct lines_plan *p)
{
    const struct lines *l = NULL;

    return sizeof(*l->start) + sizeof(*l->offset) + sizeof(*l->len) + sizeof(*l->repair) +
           (p->order.by_key ? sizeof(*l->item.keys) + sizeof(*l->item.order) : 0) +
           (p->references ? sizeof(*l->group) : 0);
}

int lines_grow(struct lines *l, const struct lines_plan *p, uint32_t need)
{
    uint32_t cap = l->item.cap ? l->item.cap : top_rows_at_first(p->order.top, SCAN_BATCH);

    if (need <= l->item.cap)
        return 0;
    while (cap < need)
        cap *= 2;
    int rc = charge_add(&l->item.charge, (cap - l->item.cap) * row_bytes(p));
    if (rc < 0)
        return rc;
#define GROW(array) \
    do { \
        void *grown_array = realloc(array, cap * sizeof(*(array))); \
        if (!grown_array) \
            return -ENOMEM; \
        (array) = grown_array; \
    } while (0)
    GROW(l->start);
    GROW(l->repair);
    GROW(l->offset);
    GROW(l->len);
    if (p->order.by_key)
        GROW(l->item.keys);
    if (p->references)
        GROW(l->group);
#undef GROW
    l->item.cap = cap;
    return 0;
}

static int open_columns(struct finder *f, struct scan_chunk *c)
{
    int rc = chunk_find(c->view, TEXT("@gap"), &f->gap);

    rc = rc < 0 ? rc : chunk_find(c->view, TEXT("@len"), &f->len);
    if (rc < 0)
        return rc == -ENOENT ? ERR_CORRUPT : rc;
    rc = chunk_find(c->view, TEXT("@repaired"), &f->repaired);
    if (rc < 0 && rc != -ENOENT)
        return rc;
    f->may_repair = rc == 0 && f->repaired.max != 0;
    f->opened = true;
    return 0;
}

/* Reads gaps and lengths of `rows` rows from f->row on (a multiple of SCAN_BATCH). */
static int read_lengths(struct finder *f, struct chunk_view *view, uint32_t rows)
{
    int rc = column_read_i64(view, &f->gap, f->row, rows, f->gaps);

    return rc < 0 ? rc : column_read_i64(view, &f->len, f->row, rows, f->lens);
}

/* Advances to row `to`. */
static int skip_rows(struct finder *f, struct chunk_view *view, uint32_t to)
{
    while (f->row < to) {
        int rc = read_lengths(f, view, SCAN_BATCH);
        if (rc < 0)
            return rc;
        for (uint32_t i = 0; i < SCAN_BATCH; i++)
            f->end += (uint64_t)(f->gaps[i] + f->lens[i]);
        f->row += SCAN_BATCH;
    }
    return 0;
}

/* Stores the positions of the selected rows. */
static void add_positions(struct finder *f, const struct scan_batch *b)
{
    struct lines *l = f->lines;
    uint32_t n = l->item.count, j = 0;

    for (uint32_t i = 0; i < b->rows; i++) {
        uint64_t start = f->end + (uint64_t)f->gaps[i];
        f->end = start + (uint64_t)f->lens[i];
        if (j == b->count || (b->select && b->select[j] != i))
            continue;
        l->start[n] = start;
        l->len[n] = (uint32_t)f->lens[i];
        l->repair[n] = f->may_repair && f->flags[i];
        n++;
        j++;
    }
    f->row += b->rows;
}

/* Returns true if no more objects of the place can be returned. */
static bool has_enough(const struct finder *f)
{
    return !f->plan->order.by_key && f->lines->item.count >= f->plan->max;
}

static int find_batch(void *arg, struct scan_batch *b)
{
    struct finder *f = arg;
    struct lines *l = f->lines;
    struct chunk_view *view = b->chunk->view;
    int rc = f->opened ? 0 : open_columns(f, b->chunk);

    rc = rc < 0 ? rc : skip_rows(f, view, b->first);
    rc = rc < 0 ? rc : read_lengths(f, view, b->rows);
    if (rc == 0 && f->may_repair)
        rc = column_read_i64(view, &f->repaired, b->first, b->rows, f->flags);
    rc = rc < 0 ? rc : lines_grow(l, f->plan, l->item.count + b->count);
    if (rc < 0)
        return rc;
    add_positions(f, b);
    if (f->refs)
        rc = refs_batch(f->refs, b, l->group + l->item.count);
    if (f->plan->order.by_key && rc == 0)
        item_add_keys(&l->item, b, &f->plan->order);
    l->item.count += b->count;
    return rc == 0 && has_enough(f) ? ERR_END : rc;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Returns the first object that is not in the same piece of text as object i. With a top, lines
 * stay in memory for long, so the text between them is not read, except one newline. */
static uint32_t piece_end(const struct finder *f, uint32_t i, uint64_t *ret_end)
{
    const struct lines *l = f->lines;
    uint64_t gap = f->plan->order.top ? 1 : GAP_READ;
    uint64_t end = l->start[i] + l->len[i];
    uint32_t k = i + 1;

    for (; k < l->item.count && l->start[k] - end <= gap; k++)
        end = l->start[k] + l->len[k];
    *ret_end = end;
    return k;
}

/* Reads the pieces one after the other into l->text. After each piece is a byte for the '\n' of its
 * last line. */
static int read_pieces(struct finder *f, struct trace_text *text, uint64_t chunk_offset)
{
    struct lines *l = f->lines;
    size_t total = 0;
    uint64_t end;

    for (uint32_t i = 0, next; i < l->item.count; i = next) {
        next = piece_end(f, i, &end);
        total += end - l->start[i] + 1;
    }
    int rc = total > UINT32_MAX / 2 ? ERR_MEMORY_LIMIT : charge_add(&l->item.charge, total);
    if (rc < 0)
        return rc;
    if (!buf_reserve(&l->text, total))
        return -ENOMEM;
    for (uint32_t i = 0, next; i < l->item.count; i = next) {
        next = piece_end(f, i, &end);
        uint64_t from = l->start[i];
        rc = trace_text_read(text, chunk_offset + from, l->text.data + l->text.len, end - from);
        if (rc < 0)
            return rc;
        for (uint32_t k = i; k < next; k++)
            l->offset[k] = (uint32_t)(l->text.len + (l->start[k] - from));
        l->text.len += end - from + 1;
    }
    return 0;
}

/* Ends each line with '\n', unless the next object begins at once (a glued line). */
static void end_lines(struct lines *l)
{
    for (uint32_t i = 0; i < l->item.count; i++) {
        size_t end = (size_t)l->offset[i] + l->len[i];
        bool glued = i + 1 < l->item.count && l->offset[i + 1] == end;
        if (!glued)
            l->text.data[end] = '\n';
    }
}

/* Appends the valid form of repaired objects to the text. */
static int repair_lines(struct finder *f)
{
    struct lines *l = f->lines;
    struct buf one = {0};
    int rc = 0;

    for (uint32_t i = 0; i < l->item.count && rc == 0; i++) {
        if (!l->repair[i])
            continue;
        buf_clear(&one);
        rc = trace_repair(l->text.data + l->offset[i], l->len[i], &one);
        rc = rc < 0 ? rc : charge_add(&l->item.charge, one.len + 1);
        if (rc < 0)
            break;
        l->offset[i] = (uint32_t)l->text.len;
        l->len[i] = (uint32_t)one.len;
        buf_append(&l->text, one.data, one.len);
        buf_putc(&l->text, '\n');
        rc = l->text.error;
    }
    buf_done(&one);
    return rc;
}

static int fetch_text(struct finder *f, struct item_tools *tools, const struct scan_place *place)
{
    struct lines *l = f->lines;
    struct trace_text *text;
    int rc = item_tools_text(tools, f->plan->query, l->item.file, &text);

    rc = rc < 0 ? rc : read_pieces(f, text, l->item.file->chunks[place->chunk].text_offset);
    rc = rc < 0 ? rc : repair_lines(f);
    rc = lines_check_file(l->item.file, tools->fd, rc);
    if (rc == 0)
        end_lines(l);
    return rc;
}

/* ---- an item --------------------------------------------------------------------------------- */

static int find_and_fetch(struct finder *f, struct item_tools *tools, size_t position)
{
    const struct scan_place *places;
    struct lines *l = f->lines;

    scan_places(f->plan->query, &places);
    l->item.position = position;
    l->item.file = snapshot_file(query_snapshot(f->plan->query), places[position].file);
    int rc = f->plan->references ? refs_new(f->plan, &f->refs) : 0;
    rc = rc < 0 ? rc : top_scan(f->plan->order.top, tools->scan, position, find_batch, f);
    if (rc < 0 || l->item.count == 0)
        return rc;
    if (has_enough(f))
        l->item.count = (uint32_t)f->plan->max;
    if (f->refs)
        rc = refs_groups(f->refs, &l->arena, &l->groups);
    if (rc == 0 && f->plan->order.by_key)
        rc = item_sort(&l->item);
    return rc < 0 ? rc : fetch_text(f, tools, &places[position]);
}

static void lines_free(struct lines *l)
{
    free(l->item.keys);
    free(l->item.order);
    free(l->start);
    free(l->repair);
    free(l->offset);
    free(l->len);
    free(l->group);
    buf_done(&l->text);
    arena_done(&l->arena);
    free(l);
}

/* Reuses the memory of a dropped item: the system clears each page of new memory, and texts have
 * megabytes. */
struct lines *lines_new(struct lines_plan *p)
{
    struct lines *l = NULL;

    pthread_mutex_lock(&p->lock);
    if (p->spare_count)
        l = p->spare[--p->spare_count];
    pthread_mutex_unlock(&p->lock);
    if (l && charge_add(&l->item.charge, l->item.cap * row_bytes(p)) == 0)
        return l;
    if (l)
        lines_free(l);
    l = calloc(1, sizeof(*l));
    if (l)
        l->item.charge.budget = query_budget(p->query);
    return l;
}

static bool keep_spare(struct lines_plan *p, struct lines *l)
{
    bool keep = l->item.cap && !l->text.error && l->text.cap <= LINES_SPARE_TEXT;

    if (!keep)
        return false;
    /* Empties it, but keeps the memory of its arrays. */
    free(l->item.order);
    arena_done(&l->arena);
    l->item = (struct item){.keys = l->item.keys, .cap = l->item.cap, .charge = l->item.charge};
    l->groups = NULL;
    buf_clear(&l->text);
    pthread_mutex_lock(&p->lock);
    keep = p->spare_count < LINES_SPARE;
    if (keep)
        p->spare[p->spare_count++] = l;
    pthread_mutex_unlock(&p->lock);
    return keep;
}

int lines_make(void *plan, struct item_tools *tools, size_t position, void **ret)
{
    struct finder *f = calloc(1, sizeof(*f));
    struct lines *l = lines_new(plan);
    int rc = f && l ? 0 : -ENOMEM;

    if (rc == 0) {
        f->plan = plan;
        f->lines = l;
        rc = find_and_fetch(f, tools, position);
        refs_free(f->refs);
    }
    free(f);
    if (rc < 0 || l->item.count == 0) {
        if (l)
            lines_drop(plan, l);
        return rc;
    }
    *ret = l;
    return 0;
}

void lines_drop(void *plan, void *item)
{
    struct lines_plan *p = plan;
    struct lines *l = item;

    charge_done(&l->item.charge);
    if (!keep_spare(p, l))
        lines_free(l);
}

void lines_plan_rest(struct lines_plan *p)
{
    while (p->spare_count)
        lines_free(p->spare[--p->spare_count]);
}

void lines_plan_done(struct lines_plan *p)
{
    lines_plan_rest(p);
    if (p->query)
        pthread_mutex_destroy(&p->lock);
    p->query = NULL;
}
