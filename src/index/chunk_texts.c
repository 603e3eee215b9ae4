/* chunk_texts.c - writes the dictionaries of TEXT and MIXED columns, and lists the distinct values of dimensions.
 *
 * Which texts become global: names, categories and hashes always; of other columns those whose values repeat (at most
 * GLOBAL_MAX distinct ones, each twice on average). The rest - dates, paths seen once, text made of numbers - would fill
 * the table of all texts with what nobody groups by; it stays in the chunk, where zstd packs it well. */
#include "chunk_build.h"

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

static int64_t *scratch_i64(struct chunk_builder *b, size_t n)
{
    buf_clear(&b->scratch);
    return (int64_t *)(void *)buf_reserve(&b->scratch, (n + 1) * sizeof(int64_t));
}

static bool is_text(uint8_t type) { return type == TRACE_TEXT || type == TRACE_JSON || type == TRACE_BIG; }

/* Lengths and bytes of the entries that are not skipped: ids[i] == INDEX_NO_TEXT, or (ids NULL) texts of a MIXED one. */
static void put_locals(struct chunk_builder *b, const struct dictionary *d, const int64_t *ids, size_t start,
                       struct buf *out, struct column_dir *dir)
{
    struct buf bytes = {0};
    int64_t *lens = malloc((d->count + 1) * sizeof(*lens));
    bool all = d->count > 0;

    dir->locals = 0;
    for (uint32_t i = 0; i < d->count; i++)
        all &= ids ? ids[i] == INDEX_NO_TEXT : is_text(d->entries[i].type);
    for (uint32_t i = 0; lens != NULL && i < d->count; i++) {
        const struct dictionary_entry *e = &d->entries[i];
        if (ids ? ids[i] != INDEX_NO_TEXT : !is_text(e->type))
            continue;
        lens[dir->locals++] = e->len;
        if (!all)
            buf_append(&bytes, d->bytes + e->at, e->len);
    }
    if (dir->locals > 0) {
        uint32_t begin = section_begin(out, start, 0);
        pack_encode(b->encoder, lens, dir->locals, PACK_MAY_COMPRESS, out);
        dir->lens = section_end(out, start, begin);
        begin = section_begin(out, start, 0);
        pack_encode_bytes(b->encoder, all ? d->bytes : bytes.data, all ? d->bytes_len : bytes.len, out);
        dir->bytes = section_end(out, start, begin);
    }
    if (lens == NULL || bytes.error != 0)
        out->error = -ENOMEM;
    free(lens);
    buf_done(&bytes);
}

/* ---- TEXT ------------------------------------------------------------------------------------------------ */

void build_texts(struct chunk_builder *b, struct column_build *c, size_t start, struct buf *out, struct column_dir *dir)
{
    const struct dictionary *d = &c->dict;
    bool global = c->always_global || (d->count <= GLOBAL_MAX && d->count <= c->count / 2);
    int64_t *ids = scratch_i64(b, d->count);
    bool any = false;

    if (ids == NULL) {
        out->error = -ENOMEM;
        return;
    }
    for (uint32_t i = 0; i < d->count; i++) {
        const struct dictionary_entry *e = &d->entries[i];
        struct text t = {d->bytes + e->at, e->len};
        ids[i] = global && b->options.intern ? b->options.intern(b->options.arg, t) : INDEX_NO_TEXT;
        any |= ids[i] != INDEX_NO_TEXT;
    }
    dir->entries = d->count;
    if (any) {
        uint32_t begin = section_begin(out, start, d->count * 2);
        pack_encode(b->encoder, ids, d->count, PACK_NO_DICT, out);
        dir->ids = section_end(out, start, begin);
    }
    put_locals(b, d, ids, start, out, dir);
}

/* ---- MIXED ----------------------------------------------------------------------------------------------- */

static uint8_t type_of(const struct column_build *c, uint32_t i) { return c->types ? c->types[i] : c->type; }

/* Codes of (type, value) for all values, in place; texts keep theirs of the column's dictionary until here. */
static int mixed_codes(struct column_build *c, struct dictionary *d)
{
    for (uint32_t i = 0; i < c->count; i++) {
        uint8_t type = type_of(c, i);
        const char *ptr = (const char *)&c->values[i];
        uint32_t len = 8;
        bool new;
        if (is_text(type)) {
            const struct dictionary_entry *e = &c->dict.entries[c->values[i]];
            ptr = c->dict.bytes + e->at;
            len = e->len;
        }
        int64_t code = dictionary_code(d, type, ptr, len, &new);
        if (code < 0)
            return -ENOMEM;
        c->values[i] = code;
    }
    return 0;
}

static int put_typed(struct chunk_builder *b, const struct dictionary *d, size_t start, struct buf *out,
                     struct column_dir *dir)
{
    int64_t *both = scratch_i64(b, 2 * (size_t)d->count);

    if (both == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < d->count; i++) {
        const struct dictionary_entry *e = &d->entries[i];
        both[i] = e->type;
        both[d->count + i] = 0;
        if (!is_text(e->type))
            memcpy(&both[d->count + i], d->bytes + e->at, 8);
    }
    uint32_t begin = section_begin(out, start, 0);
    int rc = pack_encode(b->encoder, both, 2 * (size_t)d->count, PACK_MAY_COMPRESS, out);
    dir->ids = section_end(out, start, begin);
    return rc;
}

int build_mixed(struct chunk_builder *b, struct column_build *c, size_t start, struct buf *out, struct column_dir *dir)
{
    struct dictionary d = {0};
    int rc = mixed_codes(c, &d);

    if (rc == 0)
        rc = put_typed(b, &d, start, out, dir);
    if (rc == 0) {
        dir->entries = d.count;
        put_locals(b, &d, NULL, start, out, dir);
        rc = out->error;
    }
    /* From here on the column's dictionary is that of the typed values: build_hashes was before. */
    dictionary_done(&c->dict);
    c->dict = d;
    return rc;
}

/* ---- distinct values of dimensions --------------------------------------------------------------------------- */

static int add_hash(struct hash_list *l, uint64_t hash)
{
    if (l->count == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64;
        uint64_t *hashes = realloc(l->hashes, cap * sizeof(*hashes));
        if (hashes == NULL)
            return -ENOMEM;
        l->hashes = hashes;
        l->cap = cap;
    }
    l->hashes[l->count++] = hash;
    return 0;
}

static uint64_t hash_number(uint8_t type, int64_t bits)
{
    double d;

    if (type == TRACE_BOOL)
        return column_hash_bool(bits != 0);
    if (type == TRACE_INT)
        return column_hash_i64(bits);
    memcpy(&d, &bits, sizeof(d));
    return column_hash_f64(d);
}

/* Numbers: each distinct one once, found by a dictionary of their 8 bytes. */
static int hash_numbers(struct column_build *c, struct hash_list *l)
{
    struct dictionary d = {0};
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < c->count; i++) {
        bool new;
        if (is_text(type_of(c, i)) || (i > 0 && c->values[i] == c->values[i - 1] && type_of(c, i) == type_of(c, i - 1)))
            continue;
        if (dictionary_code(&d, type_of(c, i), (const char *)&c->values[i], 8, &new) < 0)
            rc = -ENOMEM;
        else if (new)
            rc = add_hash(l, hash_number(type_of(c, i), c->values[i]));
    }
    dictionary_done(&d);
    return rc;
}

int build_hashes(struct chunk_builder *b, struct column_build *c)
{
    struct hash_list *l = &b->hashes[c->dimension];
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < c->dict.count; i++)
        rc = add_hash(l, text_hash((struct text){c->dict.bytes + c->dict.entries[i].at, c->dict.entries[i].len}));
    if (rc == 0 && !is_text(c->type))
        rc = hash_numbers(c, l);
    return rc;
}
