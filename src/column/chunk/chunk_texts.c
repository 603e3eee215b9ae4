/* chunk_texts.c - writes the dictionaries of TEXT and MIXED columns, and lists the distinct values
 * of dimensions.
 *
 * Texts become global if they are names, categories or hashes, or if their column has few distinct
 * values (at most GLOBAL_MAX, each twice on average). Other texts - dates, paths that occur once,
 * text made of numbers - would fill the global table without being grouped by; they are stored in
 * the chunk, where zstd compresses them well. */
#include "column/chunk/chunk_build.h"
#include "column/chunk/column_hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GLOBAL_MAX 4096u

uint32_t section_begin(struct buf *out, size_t start, size_t expected)
{
    size_t align = expected >= 1024 ? 64 : 8, at = out->len - start;
    static const char zero[64];

    buf_append(out, zero, (align - at % align) % align);
    return (uint32_t)(out->len - start);
}

struct section section_end(const struct buf *out, size_t start, uint32_t begin)
{
    return (struct section){begin, (uint32_t)(out->len - start - begin)};
}

static bool is_text(uint8_t type)
{
    return type == TRACE_TEXT || type == TRACE_JSON || type == TRACE_BIG;
}

/* Writes the lengths and bytes of local texts: those with ids[i] == INDEX_NO_TEXT, or, for MIXED
 * (ids NULL), all texts. */
static void put_locals(struct chunk_builder *b, const struct dictionary *d, const int64_t *ids,
                       size_t start, struct buf *out, struct column_dir *dir)
{
    struct buf bytes = {0};
    int64_t *lens = malloc((d->used.count + 1) * sizeof(*lens));

    dir->locals = 0;
    for (uint32_t i = 0; lens != NULL && i < d->used.count; i++) {
        struct text t = dictionary_text(d, i);
        if (ids ? ids[i] != INDEX_NO_TEXT : !is_text(dictionary_of(d, i)->type))
            continue;
        lens[dir->locals++] = (int64_t)t.len;
        buf_append(&bytes, t.ptr, t.len);
    }
    if (dir->locals > 0) {
        uint32_t begin = section_begin(out, start, 0);
        pack_encode(b->encoder, lens, dir->locals, PACK_MAY_COMPRESS, out);
        dir->lens = section_end(out, start, begin);
        begin = section_begin(out, start, 0);
        pack_encode_bytes(b->encoder, bytes.data, bytes.len, out);
        dir->bytes = section_end(out, start, begin);
    }
    if (lens == NULL || bytes.error != 0)
        out->error = -ENOMEM;
    free(lens);
    buf_done(&bytes);
}

/* ---- TEXT ------------------------------------------------------------------------------------ */

static uint32_t global_id(struct chunk_builder *b, struct dictionary *d, uint32_t code)
{
    struct dictionary_text *t = &d->texts.at[d->used.at[code]];

    if (t->id == INDEX_NO_TEXT && b->options.intern)
        t->id = b->options.intern(b->options.arg, dictionary_text(d, code));
    return t->id;
}

void build_texts(struct chunk_builder *b, const struct column_build *c, size_t start,
                 struct buf *out, struct column_dir *dir)
{
    struct dictionary *d = c->dict;
    bool global =
        c->always_global || (d->used.count <= GLOBAL_MAX && d->used.count <= stage_count(c) / 2);
    int64_t *ids = build_scratch(b, d->used.count, out);
    bool any = false;

    if (ids == NULL)
        return;
    for (uint32_t i = 0; i < d->used.count; i++) {
        ids[i] = global ? global_id(b, d, i) : INDEX_NO_TEXT;
        any |= ids[i] != INDEX_NO_TEXT;
    }
    dir->entries = (uint32_t)d->used.count;
    if (any) {
        uint32_t begin = section_begin(out, start, d->used.count * 2);
        pack_encode(b->encoder, ids, d->used.count, PACK_NO_DICT, out);
        dir->ids = section_end(out, start, begin);
    }
    put_locals(b, d, ids, start, out, dir);
}

/* ---- MIXED ----------------------------------------------------------------------------------- */

static uint8_t type_of(const struct column_build *c, uint32_t i)
{
    return c->as_double                     ? TRACE_DOUBLE
           : c->type == BUILD_SEVERAL_TYPES ? (uint8_t)c->types.data[i]
                                            : c->type;
}

/* Replaces all values by codes of (type, value). Before, texts have codes of the column's
 * dictionary. */
static int mixed_codes(const struct column_build *c, int64_t *values, struct dictionary *d)
{
    for (uint32_t i = 0; i < stage_count(c); i++) {
        uint8_t type = type_of(c, i);
        const char *ptr = (const char *)&values[i];
        uint32_t len = 8;
        if (is_text(type)) {
            struct text t = dictionary_text(c->dict, (uint32_t)values[i]);
            ptr = t.ptr;
            len = (uint32_t)t.len;
        }
        const struct dictionary_slot *e = dictionary_add(d, type, ptr, len);
        if (e == NULL)
            return -ENOMEM;
        values[i] = e->code;
    }
    return 0;
}

static int put_typed(struct chunk_builder *b, const struct dictionary *d, size_t start,
                     struct buf *out, struct column_dir *dir)
{
    int64_t *both = build_scratch(b, 2 * d->used.count, out);

    if (both == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < d->used.count; i++) {
        uint8_t type = dictionary_of(d, i)->type;
        both[i] = type;
        both[d->used.count + i] = 0;
        if (!is_text(type))
            memcpy(&both[d->used.count + i], dictionary_text(d, i).ptr, 8);
    }
    uint32_t begin = section_begin(out, start, 0);
    int rc = pack_encode(b->encoder, both, 2 * d->used.count, PACK_MAY_COMPRESS, out);
    dir->ids = section_end(out, start, begin);
    return rc;
}

int build_mixed(struct chunk_builder *b, const struct column_build *c, int64_t *values,
                size_t start, struct buf *out, struct column_dir *dir)
{
    struct dictionary d = {0}; /* of typed values; numbers as their 8 bytes */
    int rc;

    dictionary_begin(&d);
    rc = mixed_codes(c, values, &d);

    if (rc == 0)
        rc = put_typed(b, &d, start, out, dir);
    if (rc == 0) {
        dir->entries = (uint32_t)d.used.count;
        put_locals(b, &d, NULL, start, out, dir);
        rc = out->error;
    }
    dictionary_done(&d);
    return rc;
}

/* ---- distinct values of dimensions ----------------------------------------------------------- */

static int hash_new(struct dictionary *d, uint8_t type, int64_t value, struct hash_list *l)
{
    size_t before = d->used.count;
    double real;

    if (dictionary_add(d, type, (const char *)&value, sizeof(value)) == NULL)
        return -ENOMEM;
    if (d->used.count == before)
        return 0;
    memcpy(&real, &value, sizeof(real));
    return vec_push(&l->hashes, type == TRACE_BOOL  ? column_hash_bool(value != 0)
                                : type == TRACE_INT ? column_hash_i64(value)
                                                    : column_hash_f64(real));
}

static int hash_mixed(const struct column_build *c, const int64_t *values, struct dictionary *d,
                      struct hash_list *l)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < stage_count(c); i++)
        if (!is_text(type_of(c, i)))
            rc = hash_new(d, type_of(c, i), values[i], l);
    return rc;
}

/* Adds the hashes of values of one type. Only the last value of each run is looked up. */
static int hash_runs(uint8_t type, const int64_t *values, uint32_t n, struct dictionary *d,
                     struct hash_list *l)
{
    uint64_t ends[PACK_BLOCK + 8];
    int rc = n > 0 ? hash_new(d, type, values[n - 1], l) : 0;

    for (uint32_t i = 0; i + 1 < n && rc == 0; i += PACK_BLOCK) {
        size_t many = n - i < PACK_BLOCK + 1 ? n - i : PACK_BLOCK + 1;
        size_t runs = pack_kernels()->changes(values + i, many, ends);
        for (size_t k = 0; k < runs && rc == 0; k++)
            rc = hash_new(d, type, values[i + ends[k]], l);
    }
    return rc;
}

int build_hashes(struct chunk_builder *b, const struct column_build *c)
{
    struct hash_list *l = &b->hashes[c->dimension];
    size_t texts = c->dict != NULL ? c->dict->used.count : 0;
    int rc = vec_reserve(&l->hashes, texts);

    for (uint32_t i = 0; rc == 0 && i < texts; i++)
        l->hashes.at[l->hashes.count++] = dictionary_hash(c->dict, i);
    if (rc != 0 || is_text(c->type))
        return rc;
    int64_t *values = stage_values(b, c);
    if (values == NULL)
        return -ENOMEM;
    /* A dictionary of their 8 bytes finds each distinct number once. */
    struct dictionary d = {0};
    dictionary_begin(&d);
    if (c->type == BUILD_SEVERAL_TYPES && !c->as_double)
        rc = hash_mixed(c, values, &d, l);
    else
        rc = hash_runs(type_of(c, 0), values, stage_count(c), &d, l);
    dictionary_done(&d);
    return rc;
}
