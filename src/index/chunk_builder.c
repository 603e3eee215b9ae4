/* chunk_builder.c - takes the events of a chunk apart into columns. This runs for every value of every event: about 15
 * of them, at 2 to 3 ns each. */
#include "chunk_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const chunk_default_dimensions[] = {"name", "cat", "pid", "tid", "args.hhash", "args.fhash", "args.shash", NULL};

static const char *const special_paths[BUILD_SPECIALS] = {"@class", "@gap", "@len", "@repaired", "@bad_dur", "size", "@other"};

/* ---- life ----------------------------------------------------------------------------------------------- */

static int dimension_of(const struct chunk_builder *b, struct text path)
{
    for (unsigned i = 0; i < b->dimensions; i++)
        if (text_eq(path, text_of(b->options.dimensions[i])))
            return (int)i;
    return -1;
}

int chunk_builder_new(const struct chunk_options *options, struct chunk_builder **ret)
{
    struct chunk_builder *b = aligned_alloc(64, sizeof(*b));

    if (b == NULL)
        return -ENOMEM;
    memset(b, 0, sizeof(*b));
    b->options = *options;
    if (b->options.dimensions == NULL)
        b->options.dimensions = chunk_default_dimensions;
    while (b->dimensions < CHUNK_DIMENSIONS_MAX && b->options.dimensions[b->dimensions] != NULL)
        b->dimensions++;
    if (pack_encoder_new(&b->encoder) < 0) {
        free(b);
        return -ENOMEM;
    }
    chunk_builder_begin(b, NULL);
    *ret = b;
    return 0;
}

/* All columns grow in step, so their ends would meet in the same few sets of the first cache if the arrays began at the
 * same place of a page: each begins elsewhere. */
static void *skewed(struct column_build *c) { return c->values ? (char *)c->values - c->skew : NULL; }

static void column_done(struct column_build *c)
{
    free(skewed(c));
    free(c->types);
    free(c->valid);
    dictionary_done(&c->dict);
    memset(c, 0, sizeof(*c));
}

void chunk_builder_free(struct chunk_builder *b)
{
    if (b == NULL)
        return;
    for (unsigned i = 0; i < BUILD_COLUMNS_MAX; i++)
        column_done(&b->column[i]);
    for (unsigned i = 0; i < CHUNK_DIMENSIONS_MAX; i++)
        free(b->hashes[i].hashes);
    arena_done(&b->arena);
    buf_done(&b->other);
    buf_done(&b->scratch);
    pack_encoder_free(b->encoder);
    free(b);
}

size_t chunk_builder_bytes(const struct chunk_builder *b)
{
    size_t bytes = sizeof(*b) + b->other.cap + b->scratch.cap + pack_encoder_bytes(b->encoder);

    for (unsigned i = 0; i < BUILD_COLUMNS_MAX; i++) {
        const struct column_build *c = &b->column[i];
        bytes += c->cap * (sizeof(*c->values) + (c->types != NULL)) + c->words * 8 + dictionary_bytes(&c->dict);
    }
    for (unsigned i = 0; i < CHUNK_DIMENSIONS_MAX; i++)
        bytes += b->hashes[i].cap * sizeof(uint64_t);
    return bytes;
}

/* Makes column number `i` one of `path`; the memory of the column that was there before is used again. */
static struct column_build *column_start(struct chunk_builder *b, unsigned i, struct text path)
{
    struct column_build *c = &b->column[i];

    c->path = path;
    c->type = 0;
    c->count = 0;
    c->sparse = false;
    if (c->values == NULL)
        c->skew = (uint16_t)(i * 7 % 60 * 64);
    c->is_time = text_eq(path, TEXT("ts")) || text_eq(path, TEXT("dur"));
    c->always_global = text_eq(path, TEXT("name")) || text_eq(path, TEXT("cat")) || trace_path_is_hash(path);
    c->keep_packed = c->is_time || text_eq(path, TEXT("name")) || text_eq(path, TEXT("cat")) ||
                     text_eq(path, TEXT("pid")) || text_eq(path, TEXT("tid")) ||
                     text_eq(path, TEXT("ph")) || text_eq(path, TEXT("@class")) || /* what nearly every question reads */
                     text_eq(path, TEXT("size")) || text_eq(path, TEXT("args.offset")); /* 3 % larger, filtered groups 1.6x faster */
    c->nano = false;
    c->dimension = (int8_t)dimension_of(b, path);
    dictionary_clear(&c->dict);
    free(c->types);
    c->types = NULL;
    if (c->words > 0)
        memset(c->valid, 0, c->words * sizeof(*c->valid));
    return c;
}

/* Keeps the memory of columns that a usual chunk has; a chunk of wild ones is not kept for ever. */
void chunk_builder_begin(struct chunk_builder *b, const struct trace_scanner *scanner)
{
    for (unsigned i = 0; i < b->columns; i++)
        if (i >= 64 || b->column[i].cap > 1u << 18)
            column_done(&b->column[i]);
    arena_done(&b->arena);
    memset(&b->arena, 0, sizeof(b->arena));
    memset(b->slot, 0, sizeof(b->slot));
    b->scanner = scanner;
    b->rows = b->end = b->bad_ts = b->bad_dur = b->other_values = 0;
    b->error = 0;
    buf_done(&b->other);
    if (b->scratch.error != 0)
        buf_done(&b->scratch);
    for (unsigned i = 0; i < CHUNK_DIMENSIONS_MAX; i++)
        b->hashes[i].count = 0;
    for (unsigned i = 0; i < BUILD_SPECIALS; i++)
        column_start(b, i, text_of(special_paths[i]));
    b->columns = BUILD_SPECIALS;
}

/* ---- values ---------------------------------------------------------------------------------------------- */

static int grow_values(struct column_build *c)
{
    uint32_t cap = c->cap ? c->cap * 2 : 64;
    char *values = realloc(skewed(c), cap * sizeof(*c->values) + c->skew);

    if (values == NULL)
        return -ENOMEM;
    c->values = (int64_t *)(void *)(values + c->skew);
    if (c->types != NULL) {
        uint8_t *types = realloc(c->types, cap);
        if (types == NULL)
            return -ENOMEM;
        c->types = types;
    }
    c->cap = cap;
    return 0;
}

static int grow_valid(const struct chunk_builder *b, struct column_build *c)
{
    uint32_t words = c->words ? c->words : 16;
    while (words <= b->rows / 64)
        words *= 2;
    if (words == c->words)
        return 0;
    uint64_t *valid = realloc(c->valid, words * sizeof(*valid));
    if (valid == NULL)
        return -ENOMEM;
    memset(valid + c->words, 0, (words - c->words) * sizeof(*valid));
    c->valid = valid;
    c->words = words;
    return 0;
}

int build_make_sparse(struct chunk_builder *b, struct column_build *c)
{
    if (c->sparse)
        return 0;
    if (grow_valid(b, c) < 0)
        return -ENOMEM;
    memset(c->valid, 0xff, c->count / 64 * 8);
    if (c->count % 64 != 0)
        c->valid[c->count / 64] = ((uint64_t)1 << c->count % 64) - 1;
    c->sparse = true;
    return 0;
}

/* The column's first value, or its first one of another type. */
static int change_type(struct column_build *c, uint8_t type)
{
    if (c->type == 0) {
        c->type = type;
        return 0;
    }
    if (c->type != BUILD_MANY) {
        c->types = malloc(c->cap);
        if (c->types == NULL)
            return -ENOMEM;
        memset(c->types, c->type, c->count);
        c->type = BUILD_MANY;
    }
    return 0;
}

/* Adds a value of the row at hand (b->rows). 0 or -ENOMEM. */
static inline __attribute__((always_inline)) int put(struct chunk_builder *b, struct column_build *c, uint8_t type,
                                                     int64_t value)
{
    uint32_t row = b->rows, count = c->count;

    if (__builtin_expect(count == c->cap, 0) && grow_values(c) < 0)
        return -ENOMEM;
    if (__builtin_expect(c->type != type, 0)) {
        if (change_type(c, type) < 0)
            return -ENOMEM;
        if (c->types != NULL)
            c->types[count] = type;
    }
    if (c->sparse || count != row) {
        if (__builtin_expect(!c->sparse, 0) && build_make_sparse(b, c) < 0)
            return -ENOMEM;
        if (__builtin_expect(row / 64 >= c->words, 0) && grow_valid(b, c) < 0)
            return -ENOMEM;
        c->valid[row / 64] |= (uint64_t)1 << (row % 64);
    }
    c->values[count] = value;
    c->count = count + 1;
    return 0;
}

static inline __attribute__((always_inline)) int put_text(struct chunk_builder *b, struct column_build *c, uint8_t type, const char *ptr, uint32_t len)
{
    bool new;
    int64_t code = dictionary_code(&c->dict, type, ptr, len, &new);

    if (code < 0)
        return -ENOMEM;
    if (__builtin_expect(new, 0) && (c->always_global)) {
        struct text t = {ptr, len};
        if (text_eq(c->path, TEXT("name")))
            c->dict.entries[code].mark = size_mark_name(t);
        else if (text_eq(c->path, TEXT("cat")))
            c->dict.entries[code].mark = size_mark_cat(t);
    }
    return put(b, c, type, code);
}

/* ---- times -------------------------------------------------------------------------------------------------- */

/* The time of `row` does not fit. All values of @bad_dur are alike, so that they may come in any order. */
static void count_bad(struct chunk_builder *b, const struct column_build *c, uint32_t row)
{
    uint32_t at_hand = b->rows;

    if (!text_eq(c->path, TEXT("dur"))) {
        b->bad_ts++;
        return;
    }
    b->bad_dur++;
    b->rows = row;
    if (put(b, &b->column[BUILD_BAD_DUR], TRACE_BOOL, 1) < 0)
        b->error = -ENOMEM;
    b->rows = at_hand;
}

/* Microseconds so far, and now a nanosecond value: the whole column becomes nanoseconds. */
static void to_nano(struct chunk_builder *b, struct column_build *c)
{
    uint32_t from = 0, kept = 0;

    if (build_make_sparse(b, c) < 0) {
        b->error = -ENOMEM;
        return;
    }
    for (uint32_t w = 0; w < c->words; w++)
        for (uint64_t left = c->valid[w]; left != 0; left &= left - 1) {
            int64_t ns;
            if (__builtin_mul_overflow(c->values[from++], (int64_t)1000, &ns)) {
                c->valid[w] &= ~(left & -left);
                count_bad(b, c, w * 64 + (uint32_t)__builtin_ctzll(left));
                continue;
            }
            c->values[kept++] = ns;
        }
    c->count = kept;
    c->nano = true;
}

static int put_time(struct chunk_builder *b, struct column_build *c, const struct trace_value *v)
{
    int64_t value = v->i;

    if (c->count == 0)
        c->nano = v->nano;
    else if (v->nano && !c->nano)
        to_nano(b, c);
    if (c->nano && !v->nano && __builtin_mul_overflow(value, (int64_t)1000, &value)) {
        count_bad(b, c, b->rows);
        return 0;
    }
    return put(b, c, TRACE_INT, value);
}

/* ---- "@other" ------------------------------------------------------------------------------------------------ */

static void put_json_text(struct buf *out, struct text t)
{
    buf_putc(out, '"');
    for (size_t i = 0; i < t.len; i++) {
        unsigned char ch = (unsigned char)t.ptr[i];
        if (ch == '"' || ch == '\\')
            buf_putc(out, '\\');
        if (ch < 0x20)
            buf_printf(out, "\\u%04x", ch);
        else
            buf_putc(out, (char)ch);
    }
    buf_putc(out, '"');
}

static void put_json_value(struct buf *out, const struct trace_value *v)
{
    char number[64];

    switch (v->type) {
    case TRACE_INT:
        buf_append(out, number, num_format_i64(v->i, number));
        break;
    case TRACE_DOUBLE:
        buf_append(out, number, num_format_double(v->d, number));
        break;
    case TRACE_BOOL:
        buf_puts(out, v->i ? "true" : "false");
        break;
    case TRACE_TEXT:
        put_json_text(out, (struct text){v->ptr, v->len});
        break;
    default:
        buf_append(out, v->ptr, v->len);
    }
}

static int put_other(struct chunk_builder *b, const struct trace_value *v)
{
    buf_putc(&b->other, b->other.len ? ',' : '{');
    if (v->field == TRACE_FIELD_OTHER) {
        buf_append(&b->other, v->ptr, v->len);
    } else {
        put_json_text(&b->other, trace_field_path(b->scanner, v->field));
        buf_putc(&b->other, ':');
        put_json_value(&b->other, v);
    }
    b->other_values++;
    return b->other.error;
}

static int end_other(struct chunk_builder *b)
{
    int rc;

    buf_putc(&b->other, '}');
    rc = b->other.error;
    if (rc == 0)
        rc = put_text(b, &b->column[BUILD_OTHER], TRACE_TEXT, b->other.data, (uint32_t)b->other.len);
    buf_clear(&b->other);
    return rc;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* A field's first value in this chunk. Paths that would be taken for ours go to "@other". */
static uint16_t new_slot(struct chunk_builder *b, uint16_t field)
{
    struct text path = trace_field_path(b->scanner, field), kept;

    if (b->columns == BUILD_COLUMNS_MAX || (path.len > 0 && path.ptr[0] == '@') || text_eq(path, TEXT("size")) ||
        path.len > UINT16_MAX)
        return BUILD_TO_OTHER;
    kept = (struct text){arena_strdup(&b->arena, path), path.len};
    if (kept.ptr == NULL) {
        b->error = -ENOMEM;
        return BUILD_TO_OTHER;
    }
    column_start(b, b->columns, kept);
    return (uint16_t)++b->columns;
}

static int add_value(struct chunk_builder *b, const struct trace_value *v)
{
    uint16_t slot = v->field < TRACE_FIELDS_MAX + 64 ? b->slot[v->field] : BUILD_TO_OTHER;
    struct column_build *c;

    if (__builtin_expect(slot == 0, 0))
        slot = b->slot[v->field] = new_slot(b, v->field);
    if (__builtin_expect(slot == BUILD_TO_OTHER, 0))
        return put_other(b, v);
    c = &b->column[slot - 1];
    if (v->type >= TRACE_TEXT)
        return put_text(b, c, v->type, v->ptr, v->len);
    if (c->is_time)
        return put_time(b, c, v);
    return put(b, c, v->type, v->i);
}

static const struct trace_value *seen_number(const struct chunk_builder *b, unsigned field)
{
    const struct trace_value *v;

    if (!(b->seen_mask >> field & 1))
        return NULL;
    v = b->seen[field];
    return v->type == TRACE_INT || v->type == TRACE_DOUBLE ? v : NULL;
}

/* The mark of the event's name or category: that of the text put last into the column. */
static uint8_t seen_mark(const struct chunk_builder *b, unsigned field)
{
    if (!(b->seen_mask >> field & 1) || b->slot[field] == 0 || b->slot[field] == BUILD_TO_OTHER ||
        b->seen[field]->type != TRACE_TEXT)
        return 0;
    const struct dictionary *d = &b->column[b->slot[field] - 1].dict;
    return d->count ? d->entries[d->last].mark : 0;
}

#define BIT(field) ((uint64_t)1 << (field))
_Static_assert(TRACE_FIELD_DYNAMIC <= 64, "seen_mask has a bit for each known field");

static int add_size(struct chunk_builder *b)
{
    struct size_args args = {
        .ret = seen_number(b, TRACE_FIELD_RET),
        .size = seen_number(b, TRACE_FIELD_SIZE),
        .image_size = seen_number(b, TRACE_FIELD_IMAGE_SIZE),
        .size_sum = seen_number(b, TRACE_FIELD_SIZE_SUM),
        .ret_sum = seen_number(b, TRACE_FIELD_RET_SUM),
    };
    struct size_value s = size_of_object(seen_mark(b, TRACE_FIELD_CAT), seen_mark(b, TRACE_FIELD_NAME), &args);

    if (s.type == TRACE_DOUBLE)
        memcpy(&s.i, &s.d, sizeof(s.i));
    return s.type ? put(b, &b->column[BUILD_SIZE], s.type, s.i) : 0;
}

static int add_place(struct chunk_builder *b, const struct trace_event *event)
{
    int rc = put(b, &b->column[BUILD_CLASS], TRACE_INT, event->class);

    rc |= put(b, &b->column[BUILD_GAP], TRACE_INT, (int64_t)event->offset - b->end);
    rc |= put(b, &b->column[BUILD_LEN], TRACE_INT, event->len);
    rc |= put(b, &b->column[BUILD_REPAIRED], TRACE_BOOL, event->repaired != 0);
    if (__builtin_expect(event->bad_dur, 0))
        rc |= put(b, &b->column[BUILD_BAD_DUR], TRACE_BOOL, 1);
    b->end = event->offset + event->len;
    return rc ? -ENOMEM : 0;
}

int chunk_builder_add(struct chunk_builder *b, const struct trace_event *event)
{
    uint64_t seen = 0;
    int rc = 0;

    if (b->error == 0 && b->rows == CHUNK_ROWS_MAX)
        b->error = -EOVERFLOW;
    if (b->error != 0)
        return b->error;
    for (const struct trace_value *v = event->values, *end = v + event->count; v < end; v++) {
        if (v->field < TRACE_FIELD_DYNAMIC) {
            b->seen[v->field] = v;
            seen |= BIT(v->field);
        }
        rc |= add_value(b, v);
    }
    b->seen_mask = seen;
    rc |= add_place(b, event);
    if (seen & (BIT(TRACE_FIELD_RET) | BIT(TRACE_FIELD_SIZE) | BIT(TRACE_FIELD_IMAGE_SIZE) |
                BIT(TRACE_FIELD_SIZE_SUM) | BIT(TRACE_FIELD_RET_SUM)))
        rc |= add_size(b);
    if (b->other.len > 0)
        rc |= end_other(b);
    b->rows++;
    if (rc != 0)                     /* nothing else can go wrong in here */
        b->error = -ENOMEM;
    return b->error;
}
