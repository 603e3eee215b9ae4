/* chunk_builder.c - creates and frees builders and their columns. */
#include "column/chunk/density.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const chunk_default_dimensions[] = {"name",       "cat",        "pid",        "tid",
                                                "args.hhash", "args.fhash", "args.shash", NULL};

static const char *const special_paths[BUILD_SPECIALS] = {"@class", "@gap",  "@len",  "@repaired",
                                                          "size",   "bytes", "@other"};

/* ---- builders -------------------------------------------------------------------------------- */

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
    if (b->error != 0) {
        chunk_builder_free(b);
        return -ENOMEM;
    }
    *ret = b;
    return 0;
}

static void column_done(struct column_build *c)
{
    stage_done(c);
    free(c->valid);
    memset(c, 0, sizeof(*c));
}

static void path_dictionary_free(struct path_dictionary *p)
{
    dictionary_done(&p->dict);
    free(p);
}

void chunk_builder_free(struct chunk_builder *b)
{
    if (b == NULL)
        return;
    for (unsigned i = 0; i < BUILD_COLUMNS_MAX; i++)
        column_done(&b->column[i]);
    for (unsigned i = 0; i < CHUNK_DIMENSIONS_MAX; i++)
        vec_done(&b->hashes[i].hashes);
    for (struct path_dictionary *p = b->dictionaries, *next; p != NULL; p = next) {
        next = p->next;
        path_dictionary_free(p);
    }
    vec_done(&b->row_shape);
    arena_done(&b->arena);
    buf_done(&b->other);
    buf_done(&b->scratch);
    buf_done(&b->values);
    pack_encoder_free(b->encoder);
    density_done(b->density);
    free(b->density);
    free(b);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Columns that nearly every request reads are not compressed. For size and offset, this makes the
 * index 3 % larger, and filtered groups 1.6 times faster. */
static const char *const uncompressed_paths[] = {
    "ts", "dur", "name", "cat", "pid", "tid", "ph", "@class", "size", "bytes", "args.offset", NULL};

/* Starts column number `i` for a path, with the memory of its previous use. Returns 0 or
 * -ENOMEM. */
static int column_start(struct chunk_builder *b, unsigned i, struct text path)
{
    struct column_build *c = &b->column[i], old = *c;
    int dimension = text_find(path, b->options.dimensions);

    if (old.words > 0)
        memset(old.valid, 0, old.words * sizeof(*old.valid));
    *c = (struct column_build){
        .words = old.words,
        .valid = old.valid,
        .path = path,
        .fill = old.fill,
        .skew = old.skew,
        .kept = old.kept,
        .ranges = old.ranges,
        .places = old.places,
        .types = old.types,
        .is_time = text_eq(path, TEXT("ts")) || text_eq(path, TEXT("dur")),
        .always_global =
            text_eq(path, TEXT("name")) || text_eq(path, TEXT("cat")) || trace_path_is_hash(path),
        .uncompressed = text_find(path, uncompressed_paths) >= 0,
        .compress_if_half = text_eq(path, TEXT("ts")),
        .dimension = (int8_t)(dimension < (int)b->dimensions ? dimension : -1),
        .len = UINT32_MAX,
    };
    buf_clear(&c->kept);
    buf_clear(&c->ranges);
    buf_clear(&c->places);
    buf_clear(&c->types);
    return stage_begin(c, i);
}

/* Frees dictionaries of paths that have not occurred for some chunks; if a chunk had too many or
 * too large ones, also all but the first. */
static void dictionaries_begin(struct chunk_builder *b)
{
    unsigned kept = 0;
    size_t bytes = 0;

    for (struct path_dictionary **from = &b->dictionaries, *p = *from; p != NULL; p = *from) {
        bytes += dictionary_bytes(&p->dict);
        if (++p->unused > 64 || kept == BUILD_DICTIONARIES_KEPT ||
            bytes > BUILD_DICTIONARIES_BYTES) {
            *from = p->next;
            path_dictionary_free(p);
            continue;
        }
        dictionary_begin(&p->dict);
        kept++;
        from = &p->next;
    }
}

/* Keeps the memory of a usual number of columns only. */
void chunk_builder_begin(struct chunk_builder *b, const struct trace_scanner *scanner)
{
    for (unsigned i = 0; i < b->columns; i++)
        if (i >= 64 || stage_bytes(&b->column[i]) > 1u << 20)
            column_done(&b->column[i]);
    if (b->values.cap > 1u << 22)
        buf_done(&b->values);
    if (b->row_shape.cap > 1u << 20)
        vec_done(&b->row_shape);
    arena_done(&b->arena);
    memset(b->slot, 0, sizeof(b->slot));
    memset(b->shape_slots, 0, sizeof(b->shape_slots));
    memset(b->hints, 0, sizeof(b->hints));
    b->scanner = scanner;
    b->rows = b->end = b->bad_ts = b->bad_dur = b->other_values = 0;
    b->shape_count = b->step_count = 0;
    b->counts_items = false;
    b->error = 0;
    buf_done(&b->other);
    if (b->scratch.error != 0)
        buf_done(&b->scratch);
    if (b->values.error != 0)
        buf_done(&b->values);
    for (unsigned i = 0; i < CHUNK_DIMENSIONS_MAX; i++)
        b->hashes[i].hashes.count = 0;
    dictionaries_begin(b);
    static const uint8_t types[BUILD_SPECIALS] = {[BUILD_CLASS] = TRACE_INT,
                                                  [BUILD_GAP] = TRACE_INT,
                                                  [BUILD_LEN] = TRACE_INT,
                                                  [BUILD_REPAIRED] = TRACE_BOOL};
    for (unsigned i = 0; i < BUILD_SPECIALS; i++) {
        if (column_start(b, i, text_of(special_paths[i])) < 0)
            b->error = -ENOMEM;
        b->column[i].type = types[i];
    }
    b->columns = BUILD_SPECIALS;
}

/* Paths that look like those of computed columns are stored in "@other". */
static bool is_special(struct text path)
{
    return (path.len > 0 && path.ptr[0] == '@') || text_eq(path, TEXT("size")) ||
           text_eq(path, TEXT("bytes"));
}

uint16_t build_slot(struct chunk_builder *b, uint16_t field)
{
    if (field >= TRACE_FIELDS_MAX) /* TRACE_FIELD_OTHER */
        return BUILD_TO_OTHER;
    if (b->slot[field] != 0)
        return b->slot[field];
    struct text path = trace_field_path(b->scanner, field);
    /* Columns are kept free for the fields that queries find in columns of their own only. */
    unsigned kept = field < TRACE_FIELD_DYNAMIC ? 0 : TRACE_FIELD_DYNAMIC;
    if (b->columns >= BUILD_COLUMNS_MAX - kept || is_special(path))
        return b->slot[field] = BUILD_TO_OTHER;
    path.ptr = arena_strdup(&b->arena, path);
    if (path.ptr == NULL || column_start(b, b->columns, path) < 0) {
        b->error = -ENOMEM;
        return BUILD_TO_OTHER;
    }
    return b->slot[field] = (uint16_t)++b->columns;
}

struct dictionary *build_dictionary(struct chunk_builder *b, struct column_build *c)
{
    struct path_dictionary *p = b->dictionaries;

    while (p != NULL && !text_eq((struct text){p->path, p->len}, c->path))
        p = p->next;
    if (p == NULL) {
        p = calloc(1, sizeof(*p) + c->path.len);
        if (p == NULL)
            return NULL;
        p->len = c->path.len;
        memcpy(p->path, c->path.ptr, p->len);
        p->dict.size_class = text_eq(c->path, TEXT("name"))  ? size_class_of_name
                             : text_eq(c->path, TEXT("cat")) ? size_class_of_cat
                                                             : NULL;
        p->next = b->dictionaries;
        b->dictionaries = p;
        dictionary_begin(&p->dict);
    }
    p->unused = 0;
    return c->dict = &p->dict;
}

/* ---- memory ---------------------------------------------------------------------------------- */

int build_grow_rows(struct chunk_builder *b)
{
    b->row_shape.count = b->rows;
    return vec_reserve(&b->row_shape, 4096);
}

int build_grow_valid(struct column_build *c, uint32_t rows)
{
    uint32_t words = c->words ? c->words : 16;
    while (words < (rows + 63) / 64)
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
