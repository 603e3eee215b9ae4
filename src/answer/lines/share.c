/* share.c - returns the units of all pieces in order, in stretches of one target; keeps track of
 * the metadata records that each output file has. */
#include "answer/lines/metadata.h"
#include "answer/lines/share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GAP_PIECE (4u << 20) /* maximum bytes of a piece of text in no chunk */
#define STRETCH (1u << 20)   /* a stretch ends with the unit that reaches this length */
enum { FRAME_BYTES = 4 };    /* the lines `[` and `]` of an output file */

struct share_target {
    bool open;                 /* it has an output file */
    enum trace_unit unit;      /* of times in the output file */
    uint64_t bytes;            /* of the output file so far */
    struct metadata *metadata; /* records in the output file */
};

/* Records of the current file in text order. */
struct records {
    const struct index_file *file;
    uint32_t *order; /* indexes in file->names */
    uint32_t at;
};

struct sharing {
    struct share_plan plan;
    struct query **groups;
    VEC(struct share_place) places;
    uint64_t file_bytes;
    bool units; /* times of some files are not in microseconds */
    struct read_ahead *ahead;
    struct share_piece *piece;
    uint32_t unit;  /* the next one of the piece */
    uint8_t *seen;  /* a bit for each target and reference group: its output file has the records */
    uint32_t last;  /* target of the previous stretch; UINT32_MAX: it was of another file */
    uint32_t file;  /* of the previous stretch: position in the snapshot */
    bool line_open; /* the last line of `last` has not ended */
    struct share_target *targets; /* those of the groups, then the rest */
    uint32_t target_count;
    struct records records;
    struct buf added;
};

/* ---- places ---------------------------------------------------------------------------------- */

static int add_gap(struct sharing *s, uint32_t file, uint64_t from, uint64_t to, bool ends_file)
{
    int rc = 0;

    while (from < to && rc == 0) {
        uint32_t len = to - from < GAP_PIECE ? (uint32_t)(to - from) : GAP_PIECE;
        rc = vec_push(&s->places, {.file = file,
                                   .chunk = SHARE_NO_CHUNK,
                                   .offset = from,
                                   .len = len,
                                   .ends_file = ends_file && from + len == to});
        from += len;
    }
    return rc;
}

/* Adds the whole text of a file: its chunks, and the text between them. */
static int add_file(struct sharing *s, uint32_t position)
{
    const struct index_file *f = snapshot_file(query_snapshot(s->plan.all), position);
    uint64_t at = 0;
    int rc = 0;

    s->units = s->units || f->unit != TRACE_US;
    for (uint32_t i = 0; i < f->chunk_count && rc == 0; i++) {
        const struct index_chunk *c = &f->chunks[i];
        uint64_t end = c->text_offset + c->text_len;
        if (c->text_offset < at || end > f->text_bytes)
            return ERR_CORRUPT;
        rc = add_gap(s, position, at, c->text_offset, false);
        if (rc == 0 && c->text_len)
            rc = vec_push(&s->places, {.file = position,
                                       .chunk = i,
                                       .offset = c->text_offset,
                                       .len = c->text_len,
                                       .ends_file = end == f->text_bytes});
        at = end;
    }
    return rc < 0 ? rc : add_gap(s, position, at, f->text_bytes, true);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_ahead(struct sharing *s)
{
    struct item_maker maker = {.query = s->plan.all,
                               .arg = &s->plan,
                               .make = share_piece_make,
                               .drop = share_piece_drop,
                               .read_text = true,
                               .file_of = share_piece_file};
    size_t *positions = malloc((s->places.count + 1) * sizeof(*positions));

    if (!positions)
        return -ENOMEM;
    for (size_t i = 0; i < s->places.count; i++)
        positions[i] = i;
    s->plan.places = s->places.at;
    int rc = read_ahead_new(&maker, positions, s->places.count, &s->ahead);
    free(positions);
    return rc;
}

static int open_sharing(struct sharing *s, const struct share_options *o)
{
    const uint32_t *files;
    size_t count = query_files(o->all, &files);
    struct share_options own = *o;
    int rc = 0;

    s->target_count = o->group_count + 1;
    s->targets = calloc(s->target_count, sizeof(*s->targets));
    s->groups = malloc(s->target_count * sizeof(*s->groups));
    if (s->groups && o->group_count)
        memcpy(s->groups, o->groups, o->group_count * sizeof(*s->groups));
    own.groups = s->groups;
    rc = share_plan_init(&s->plan, &own);
    if (!s->targets || !s->groups)
        rc = -ENOMEM;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = add_file(s, files[i]);
    return rc < 0 ? rc : open_ahead(s);
}

int share_open(const struct share_options *o, struct err *err, struct sharing **ret)
{
    struct sharing *s = calloc(1, sizeof(*s));

    if (!s)
        return err_set_code(err, -ENOMEM);
    s->file_bytes = o->file_bytes;
    s->last = UINT32_MAX;
    int rc = open_sharing(s, o);
    if (rc < 0) {
        share_close(s);
        return err_set_code(err, rc);
    }
    *ret = s;
    return 0;
}

void share_close(struct sharing *s)
{
    if (!s)
        return;
    read_ahead_free(s->ahead);
    if (s->piece)
        share_piece_drop(&s->plan, s->piece);
    if (s->plan.all)
        share_plan_done(&s->plan);
    for (uint32_t i = 0; s->targets && i < s->target_count; i++)
        metadata_free(s->targets[i].metadata);
    free(s->targets);
    free(s->groups);
    vec_done(&s->places);
    free(s->seen);
    free(s->records.order);
    buf_done(&s->added);
    free(s);
}

/* ---- records of the text --------------------------------------------------------------------- */

static int compare_records(const void *a, const void *b, void *arg)
{
    const struct index_name *names = arg;
    const struct index_name *x = &names[*(const uint32_t *)a], *y = &names[*(const uint32_t *)b];

    if (x->chunk != y->chunk)
        return x->chunk < y->chunk ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int order_records(struct records *r, const struct index_file *f)
{
    free(r->order);
    *r = (struct records){.file = f, .order = malloc((f->name_count + 1) * sizeof(*r->order))};
    if (!r->order)
        return -ENOMEM;
    for (uint32_t i = 0; i < f->name_count; i++)
        r->order[i] = i;
    qsort_r(r->order, f->name_count, sizeof(*r->order), compare_records, (void *)f->names);
    return 0;
}

/* Notes that the output file gets a record of the text. */
static int note_record(struct sharing *s, struct share_target *t, uint32_t row)
{
    const struct index_file *f = s->piece->file;
    struct records *r = &s->records;
    uint32_t chunk = f->chunks[s->piece->place.chunk].number;
    int rc = r->file == f ? 0 : order_records(r, f);

    for (; rc == 0 && r->at < f->name_count; r->at++) {
        const struct index_name *n = &f->names[r->order[r->at]];
        if (n->chunk > chunk || (n->chunk == chunk && n->row > row))
            break;
        if (n->chunk == chunk && n->row == row)
            rc = metadata_have(t->metadata, f, n);
    }
    return rc;
}

/* ---- lines before a unit --------------------------------------------------------------------- */

static uint8_t *seen_at(const struct sharing *s, uint32_t target, uint32_t group, uint8_t *ret_bit)
{
    size_t bit = (size_t)target * s->piece->group_count + group;

    *ret_bit = (uint8_t)(1u << bit % 8);
    return &s->seen[bit / 8];
}

static int begin_piece(struct sharing *s, struct err *err)
{
    void *piece = NULL;
    int rc = read_ahead_next(s->ahead, err, &piece);

    if (rc < 0)
        return rc;
    s->piece = piece;
    s->unit = 0;
    free(s->seen);
    s->seen = calloc((size_t)s->target_count * s->piece->group_count / 8 + 1, 1);
    return s->seen ? 0 : -ENOMEM;
}

static int begin_file(struct sharing *s, struct share_target *t)
{
    uint32_t target = (uint32_t)(t - s->targets);
    uint8_t bit;

    metadata_free(t->metadata);
    t->metadata = NULL;
    t->open = true;
    t->bytes = FRAME_BYTES;
    t->unit = s->piece->file->unit;
    for (uint32_t g = 0; g < s->piece->group_count; g++) {
        uint8_t *seen = seen_at(s, target, g, &bit);
        *seen &= (uint8_t)~bit;
    }
    return metadata_new(s->plan.all, &t->metadata);
}

static struct text unit_text(const struct share_piece *p, uint32_t unit)
{
    return (struct text){p->text + p->units.at[unit].from,
                         p->units.at[unit + 1].from - p->units.at[unit].from};
}

static bool needs_records(const struct sharing *s, const struct share_unit *u)
{
    uint8_t bit;

    return u->kind == SHARE_DATA && !(*seen_at(s, u->target, u->of, &bit) & bit);
}

static int add_records(struct sharing *s, const struct share_unit *u)
{
    uint8_t bit, *seen = seen_at(s, u->target, u->of, &bit);

    *seen |= bit;
    return metadata_before(s->targets[u->target].metadata, s->piece->file, &s->piece->groups[u->of],
                           &s->added);
}

/* Returns true if a line could be read as the rest of the line before it, because it does not
 * begin an object (READING.md rule 6). If another line precedes it in the source, an empty line
 * separates them. */
static bool may_continue_line(struct text line)
{
    size_t i = 0;

    while (i < line.len && (unsigned char)line.ptr[i] <= ' ')
        i++;
    return i < line.len && line.ptr[i] != '{';
}

/* Returns true if a new output file must begin: all times of a file have one unit (READING.md). */
static bool is_full(const struct sharing *s, const struct share_target *t, uint64_t more)
{
    return (t->bytes > FRAME_BYTES && t->bytes + more > s->file_bytes) ||
           t->unit != s->piece->file->unit;
}

/* Adds the record that names the unit: the first one of a file is valid. */
static void add_unit_record(struct sharing *s, const struct share_target *t)
{
    static const char *const names[] = {
        [TRACE_US] = "US", [TRACE_NS] = "NS", [TRACE_MS] = "MS", [TRACE_SEC] = "SEC"};

    if (s->units)
        buf_printf(&s->added,
                   "{\"name\":\"CM\",\"cat\":\"dftracer\",\"ph\":\"M\",\"args\":{\"name\":"
                   "\"time_metric\",\"value\":\"%s\"}}\n",
                   names[t->unit]);
}

/* Sets s->added to the lines to write before the unit. */
static int before_unit(struct sharing *s, const struct share_unit *u, struct share *ret)
{
    struct share_target *t = &s->targets[u->target];
    struct text text = unit_text(s->piece, s->unit);
    bool continues = s->line_open && s->last == u->target;
    bool begins = !continues && (!t->open || is_full(s, t, text.len));
    int rc = 0;

    if (!begins) {
        if (!continues && s->last != u->target && may_continue_line(text))
            buf_putc(&s->added, '\n');
        rc = needs_records(s, u) ? add_records(s, u) : 0;
        begins = !continues && is_full(s, t, s->added.len + text.len);
    }
    if (rc < 0 || !begins)
        return rc;
    ret->begins = true;
    buf_clear(&s->added);
    rc = begin_file(s, t);
    add_unit_record(s, t);
    return rc == 0 && needs_records(s, u) ? add_records(s, u) : rc;
}

/* ---- stretches ------------------------------------------------------------------------------- */

/* Adds the unit to the stretch. */
static int append_unit(struct sharing *s, const struct share_unit *u, struct share *ret)
{
    size_t len = unit_text(s->piece, s->unit).len;

    ret->text.len += len;
    ret->lines += u->lines;
    ret->objects += u->kind == SHARE_DATA;
    ret->cut = u->cut;
    s->line_open = u->lines == 0 && u->target != SHARE_BRACKETS;
    s->unit++;
    if (u->target == SHARE_BRACKETS)
        return 0;
    struct share_target *t = &s->targets[u->target];
    t->bytes += len + u->cut;
    return u->kind == SHARE_RECORD ? note_record(s, t, u->of) : 0;
}

static bool can_follow(const struct sharing *s, const struct share *sofar)
{
    const struct share_unit *u = &s->piece->units.at[s->unit];

    if (s->unit == s->piece->units.count || u->target != sofar->target || sofar->cut ||
        sofar->text.len >= STRETCH)
        return false;
    return u->target == SHARE_BRACKETS ||
           (!needs_records(s, u) &&
            !is_full(s, &s->targets[u->target], unit_text(s->piece, s->unit).len));
}

static int make_stretch(struct sharing *s, struct share *ret)
{
    const struct share_unit *u = &s->piece->units.at[s->unit];
    int rc = 0;

    if (s->file != s->piece->place.file)
        s->last = UINT32_MAX;
    s->file = s->piece->place.file;
    if (s->line_open && u->target != s->last)
        return ERR_CORRUPT;
    *ret = (struct share){
        .file = s->piece->place.file, .target = u->target, .text.ptr = s->piece->text + u->from};
    buf_clear(&s->added);
    if (u->target != SHARE_BRACKETS)
        rc = before_unit(s, u, ret);
    rc = rc < 0 ? rc : append_unit(s, u, ret);
    while (rc == 0 && can_follow(s, ret))
        rc = append_unit(s, &s->piece->units.at[s->unit], ret);
    s->last = ret->target;
    ret->added = (struct text){s->added.data, s->added.len};
    for (size_t i = 0; i < s->added.len; i++)
        ret->added_lines += s->added.data[i] == '\n';
    if (u->target != SHARE_BRACKETS)
        s->targets[u->target].bytes += s->added.len;
    return rc < 0 ? rc : s->added.error;
}

int share_next(struct sharing *s, struct err *err, struct share *ret)
{
    int rc = 0;

    while (rc == 0 && (!s->piece || s->unit == s->piece->units.count)) {
        if (s->piece)
            share_piece_drop(&s->plan, s->piece);
        s->piece = NULL;
        rc = begin_piece(s, err);
    }
    rc = rc < 0 ? rc : make_stretch(s, ret);
    return rc < 0 && rc != ERR_END ? err_set_code(err, rc) : rc;
}
