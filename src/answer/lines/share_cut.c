/* share_cut.c - makes a piece: finds the target of each object of a chunk by its columns, then
 * divides the text of the chunk into units. */
#include "answer/lines/share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_TARGET UINT16_MAX
/* Longer lines of brackets go to the rest. */
enum { BRACKETS_MAX = 4 };

/* The scans of the groups, for one worker. */
struct share_tools {
    struct scan_worker *scan[1]; /* group_count, each made when first needed */
};

/* ---- the plan -------------------------------------------------------------------------------- */

int share_plan_init(struct share_plan *p, const struct share_options *o)
{
    *p = (struct share_plan){.all = o->all, .groups = o->groups, .group_count = o->group_count};
    pthread_mutex_init(&p->lock, NULL);
    return lines_plan_init(&p->lines, o->all, NULL, true);
}

static void tools_done(const struct share_plan *p, struct share_tools *t)
{
    for (uint32_t i = 0; i < p->group_count; i++)
        scan_worker_free(t->scan[i]);
    free(t);
}

static void piece_free(struct share_piece *s)
{
    free(s->text);
    vec_done(&s->units);
    free(s->start);
    free(s->object_len);
    free(s->group);
    free(s->target);
    free(s->class);
    arena_done(&s->arena);
    free(s);
}

void share_plan_done(struct share_plan *p)
{
    while (p->idle.count)
        tools_done(p, p->idle.at[--p->idle.count]);
    while (p->spare_count)
        piece_free(p->spare[--p->spare_count]);
    vec_done(&p->idle);
    lines_plan_done(&p->lines);
    pthread_mutex_destroy(&p->lock);
}

static struct share_tools *tools_acquire(struct share_plan *p)
{
    struct share_tools *t = NULL;

    pthread_mutex_lock(&p->lock);
    if (p->idle.count)
        t = p->idle.at[--p->idle.count];
    pthread_mutex_unlock(&p->lock);
    return t ? t : calloc(1, sizeof(*t) + p->group_count * sizeof(t->scan[0]));
}

static void tools_release(struct share_plan *p, struct share_tools *t)
{
    pthread_mutex_lock(&p->lock);
    bool kept = vec_push(&p->idle, t) == 0;
    pthread_mutex_unlock(&p->lock);
    if (!kept)
        tools_done(p, t);
}

/* ---- pieces and their memory ----------------------------------------------------------------- */

static struct share_piece *piece_new(struct share_plan *p)
{
    struct share_piece *s = NULL;

    pthread_mutex_lock(&p->lock);
    if (p->spare_count)
        s = p->spare[--p->spare_count];
    pthread_mutex_unlock(&p->lock);
    s = s ? s : calloc(1, sizeof(*s));
    if (s)
        s->charge.budget = query_budget(p->all);
    return s;
}

void share_piece_drop(void *plan, void *piece)
{
    struct share_plan *p = plan;
    struct share_piece *s = piece;

    charge_done(&s->charge);
    arena_done(&s->arena);
    s->groups = NULL;
    s->group_count = s->len = s->rows = 0;
    s->units.count = 0;
    pthread_mutex_lock(&p->lock);
    bool keep = s->cap <= (size_t)16 << 20 && p->spare_count < SHARE_SPARE;
    if (keep)
        p->spare[p->spare_count++] = s;
    pthread_mutex_unlock(&p->lock);
    if (!keep)
        piece_free(s);
}

uint32_t share_piece_file(void *plan, size_t position)
{
    return ((struct share_plan *)plan)->places[position].file;
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct cutter {
    struct share_plan *plan;
    struct share_piece *piece;
    struct lines_refs *refs;
    uint64_t end;     /* of the object before, in the text of the chunk */
    uint32_t group;   /* the query whose rows are being marked */
    uint32_t without; /* number of objects of data without a target */
    int64_t gaps[SCAN_BATCH], lens[SCAN_BATCH], classes[SCAN_BATCH];
};

static int grow_rows(const struct cutter *c, uint32_t rows)
{
    struct share_piece *s = c->piece;
    int rc = charge_add(&s->charge, rows * (sizeof(uint32_t) * 3 + sizeof(uint16_t) + 1));

    if (rc < 0)
        return rc;
#define ROWS_OF(array) \
    do { \
        free(array); \
        (array) = malloc((rows + 1) * sizeof(*(array))); \
        if (!(array)) \
            return -ENOMEM; \
    } while (0)
    ROWS_OF(s->start);
    ROWS_OF(s->object_len);
    ROWS_OF(s->group);
    ROWS_OF(s->target);
    ROWS_OF(s->class);
#undef ROWS_OF
    return 0;
}

static int read_columns(struct cutter *c, const struct scan_batch *b)
{
    static const char *const paths[] = {"@gap", "@len", "@class"};
    int64_t *const to[] = {c->gaps, c->lens, c->classes};
    struct column column;
    int rc = 0;

    for (unsigned i = 0; i < 3 && rc == 0; i++) {
        rc = chunk_find(b->chunk->view, text_of(paths[i]), &column);
        rc = rc == -ENOENT ? ERR_CORRUPT : rc;
        rc = rc < 0 ? rc : column_read_i64(b->chunk->view, &column, b->first, b->rows, to[i]);
    }
    return rc;
}

/* Gets every row, in order, because the query selects all objects. */
static int add_rows(void *arg, struct scan_batch *b)
{
    struct cutter *c = arg;
    struct share_piece *s = c->piece;
    int rc = b->first == s->rows && b->count == b->rows ? 0 : ERR_CORRUPT;

    if (rc == 0 && b->first == 0)
        rc = grow_rows(c, b->chunk->rows);
    rc = rc < 0 ? rc : read_columns(c, b);
    rc = rc < 0 ? rc : refs_batch(c->refs, b, s->group + s->rows);
    for (uint32_t i = 0; rc == 0 && i < b->rows; i++) {
        uint32_t row = s->rows++;
        uint64_t start = c->end + (uint64_t)c->gaps[i];
        c->end = start + (uint64_t)c->lens[i];
        if (c->gaps[i] < 0 || c->lens[i] <= 0 || c->end > s->place.len)
            return ERR_CORRUPT;
        s->start[row] = (uint32_t)start;
        s->object_len[row] = (uint32_t)c->lens[i];
        s->class[row] = (uint8_t)c->classes[i];
        s->target[row] = NO_TARGET;
        c->without += s->class[row] != TRACE_METADATA;
    }
    return rc;
}

static int mark_rows(void *arg, struct scan_batch *b)
{
    struct cutter *c = arg;
    struct share_piece *s = c->piece;

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_place(b, batch_row(b, j));
        if (s->target[row] == NO_TARGET && s->class[row] != TRACE_METADATA) {
            s->target[row] = (uint16_t)c->group;
            c->without--;
        }
    }
    return 0;
}

static int compare_place(const void *key, const void *element)
{
    const struct share_place *x = key;
    const struct scan_place *y = element;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

/* Finds the chunk among the places of a query. Returns false if none of its rows is selected. */
static bool find_place(const struct query *q, const struct share_place *place, size_t *ret)
{
    const struct scan_place *places;
    size_t n = scan_places(q, &places);
    const struct scan_place *found =
        n ? bsearch(place, places, n, sizeof(*places), compare_place) : NULL;

    *ret = found ? (size_t)(found - places) : 0;
    return found != NULL;
}

static int mark_groups(struct cutter *c, struct share_tools *tools)
{
    struct share_plan *p = c->plan;
    size_t position;
    int rc = 0;

    for (c->group = 0; c->group < p->group_count && c->without && rc == 0; c->group++) {
        if (!find_place(p->groups[c->group], &c->piece->place, &position))
            continue;
        struct scan_worker **w = &tools->scan[c->group];
        rc = *w ? 0 : scan_worker_new(p->groups[c->group], w);
        rc = rc < 0 ? rc : scan_chunk(*w, position, mark_rows, c);
    }
    return rc;
}

/* Objects of data without a target go to the rest; records go with the next object of data, else
 * with the previous one, else to the rest. */
static void set_targets(struct share_piece *s, uint16_t rest)
{
    uint16_t with = NO_TARGET;

    for (uint32_t i = 0; i < s->rows; i++) {
        if (s->class[i] != TRACE_METADATA && s->target[i] == NO_TARGET)
            s->target[i] = rest;
    }
    for (uint32_t i = s->rows; i-- > 0;) {
        if (s->class[i] != TRACE_METADATA)
            with = s->target[i];
        s->target[i] = with;
    }
    with = rest;
    for (uint32_t i = 0; i < s->rows; i++) {
        if (s->target[i] == NO_TARGET)
            s->target[i] = with;
        with = s->target[i];
    }
}

static int find_rows(struct cutter *c, struct item_tools *tools)
{
    struct share_piece *s = c->piece;
    size_t position;

    if (s->place.chunk == SHARE_NO_CHUNK || !find_place(c->plan->all, &s->place, &position))
        return 0;
    struct share_tools *own = tools_acquire(c->plan);
    int rc = own ? refs_new(&c->plan->lines, &c->refs) : -ENOMEM;
    rc = rc < 0 ? rc : scan_chunk(tools->scan, position, add_rows, c);
    if (rc == 0 && s->rows)
        rc = refs_groups(c->refs, &s->arena, &s->groups);
    for (uint32_t i = 0; rc == 0 && i < s->rows; i++)
        s->group_count = s->group[i] >= s->group_count ? s->group[i] + 1 : s->group_count;
    rc = rc < 0 ? rc : mark_groups(c, own);
    if (own)
        tools_release(c->plan, own);
    refs_free(c->refs);
    set_targets(s, (uint16_t)c->plan->group_count);
    return rc;
}

/* ---- text ------------------------------------------------------------------------------------ */

static int fetch_text(struct cutter *c, struct item_tools *tools)
{
    struct share_piece *s = c->piece;
    struct trace_text *text;
    int rc = charge_add(&s->charge, s->place.len);

    if (rc == 0 && s->cap < (size_t)s->place.len + 1) {
        free(s->text);
        s->cap = (size_t)s->place.len + 1;
        s->text = malloc(s->cap);
        rc = s->text ? 0 : -ENOMEM;
        s->cap = s->text ? s->cap : 0;
    }
    rc = rc < 0 ? rc : item_tools_text(tools, c->plan->all, s->file, &text);
    rc = rc < 0 ? rc : trace_text_read(text, s->place.offset, s->text, s->place.len);
    rc = lines_check_file(s->file, tools->fd, rc);
    s->len = s->place.len;
    return rc;
}

/* ---- units ----------------------------------------------------------------------------------- */

static bool is_brackets(const char *line, size_t len)
{
    size_t text = len && line[len - 1] == '\n' ? len - 1 : len;

    for (size_t i = 0; i < text; i++) {
        if (text > BRACKETS_MAX || !strchr("[], \t\r", line[i]) || !line[i])
            return false;
    }
    return true;
}

/* Adds lines without an object. The first line of text in no chunk may be the end of a line that
 * began before it, so it is not taken for a line of brackets. */
static int add_others(struct cutter *c, uint32_t from, uint32_t to)
{
    struct share_piece *s = c->piece;
    int rc = 0;

    for (uint32_t at = from, next; at < to && rc == 0; at = next) {
        const char *newline = memchr(s->text + at, '\n', to - at);
        next = newline ? (uint32_t)(newline - s->text) + 1 : to;
        bool whole =
            !(at == 0 && s->place.chunk == SHARE_NO_CHUNK) && (newline || s->place.ends_file);
        bool brackets = whole && is_brackets(s->text + at, next - at);
        bool cut = !newline && s->place.ends_file && !brackets;
        struct share_unit unit = {.from = at,
                                  .lines = newline || cut,
                                  .target =
                                      brackets ? SHARE_BRACKETS : (uint16_t)c->plan->group_count,
                                  .kind = SHARE_OTHER,
                                  .cut = cut};
        rc = vec_push(&s->units, unit);
    }
    return rc;
}

static uint32_t count_lines(const char *text, size_t len)
{
    const char *end = text + len;
    uint32_t lines = 0;

    for (const char *p = text; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        lines++;
    return lines;
}

/* Adds the object of a row with its lines, from `from` to the end of the line, or to the next
 * object if that begins in the same line. */
static int add_object(struct cutter *c, uint32_t row, uint32_t from, uint32_t *ret_end)
{
    struct share_piece *s = c->piece;
    uint32_t end = s->start[row] + s->object_len[row];
    uint32_t next = row + 1 < s->rows ? s->start[row + 1] : s->len;
    const char *newline = memchr(s->text + end, '\n', next - end);
    uint32_t stop = newline ? (uint32_t)(newline - s->text) + 1 : next;
    bool record = s->class[row] == TRACE_METADATA;
    struct share_unit unit = {.from = from,
                              .of = record ? row : s->group[row],
                              .target = s->target[row],
                              .kind = record ? SHARE_RECORD : SHARE_DATA,
                              .cut = !newline,
                              .lines = count_lines(s->text + from, end - from) + 1};

    *ret_end = stop;
    return vec_push(&s->units, unit);
}

static int cut_units(struct cutter *c)
{
    struct share_piece *s = c->piece;
    uint32_t at = 0;
    int rc = 0;

    for (uint32_t row = 0; row < s->rows && rc == 0; row++) {
        uint32_t start = s->start[row];
        const char *newline = start > at ? memrchr(s->text + at, '\n', start - at) : NULL;
        uint32_t line = newline ? (uint32_t)(newline - s->text) + 1 : at;
        if (start < at)
            return ERR_CORRUPT;
        rc = line > at ? add_others(c, at, line) : 0;
        rc = rc < 0 ? rc : add_object(c, row, line, &at);
    }
    rc = rc < 0 ? rc : add_others(c, at, s->len);
    if (rc < 0)
        return rc;
    rc = vec_push(&s->units, {.from = s->len});
    s->units.count -= rc == 0;
    return rc < 0 ? rc : charge_add(&s->charge, s->units.cap * sizeof(*s->units.at));
}

/* ---- a piece --------------------------------------------------------------------------------- */

int share_piece_make(void *plan, struct item_tools *tools, size_t position, void **ret)
{
    struct share_plan *p = plan;
    struct cutter *c = calloc(1, sizeof(*c));
    struct share_piece *s = piece_new(p);
    int rc = c && s ? 0 : -ENOMEM;

    if (rc == 0) {
        c->plan = p;
        c->piece = s;
        s->place = p->places[position];
        s->file = snapshot_file(query_snapshot(p->all), s->place.file);
        rc = find_rows(c, tools);
        rc = rc < 0 ? rc : fetch_text(c, tools);
        rc = rc < 0 ? rc : cut_units(c);
    }
    free(c);
    if (rc < 0) {
        if (s)
            share_piece_drop(p, s);
        return rc;
    }
    *ret = s;
    return 0;
}
