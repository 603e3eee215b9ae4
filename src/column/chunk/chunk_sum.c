/* chunk_sum.c - checks the positions and checksums of the parts of an encoded chunk. Each
 * checksum is compared when this process first reads the part. */
#include "column/chunk/column_view.h"

#include <stdatomic.h>
#include <xxhash.h>

/* A cache of parts whose checksum was right, by some bits of their number. Numbers are derived
 * from the checksum of the directory, which has the checksums of all parts: so they identify the
 * content, wherever it is stored. */
enum { KNOWN_BITS = 18 };
static _Atomic uint64_t known[1 << KNOWN_BITS];

uint32_t chunk_sum(const void *data, size_t len)
{
    return (uint32_t)XXH3_64bits(data, len);
}

bool view_section_ok(const struct chunk_view *v, const struct section *s)
{
    return s->len == 0 ||
           (s->offset >= sizeof(struct chunk_head) && s->offset <= v->len - CHUNK_TAIL &&
            s->len <= v->len - CHUNK_TAIL - s->offset);
}

static void extend_section(struct section *all, const struct section *part)
{
    uint32_t end = all->offset + all->len;

    if (part->len == 0)
        return;
    if (all->len == 0 || part->offset < all->offset)
        all->offset = part->offset;
    end = part->offset + part->len > end ? part->offset + part->len : end;
    all->len = end - all->offset;
}

struct section column_body(const struct column_dir *d)
{
    struct section all = {0};

    extend_section(&all, &d->ids);
    extend_section(&all, &d->lens);
    extend_section(&all, &d->bytes);
    extend_section(&all, &d->values);
    return all;
}

bool view_sum_ok(const struct chunk_view *v, uint64_t part, const struct section *s, uint32_t sum)
{
    uint64_t key = (v->head.dir_hash ^ (part + 1) * 0x9E3779B97F4A7C15u) | 1;
    _Atomic uint64_t *slot = &known[key >> (64 - KNOWN_BITS)];

    if (v->texts.just_built || s->len == 0 ||
        atomic_load_explicit(slot, memory_order_relaxed) == key)
        return true;
    if (chunk_sum(v->data + s->offset, s->len) != sum) {
        if (v->texts.corrupt)
            v->texts.corrupt(v->texts.file);
        return false;
    }
    atomic_store_explicit(slot, key, memory_order_relaxed);
    return true;
}

int view_check_column(const struct chunk_view *v, struct column_view *c)
{
    if (c->checked)
        return 0;
    struct section body = column_body(&c->dir);
    c->checked = view_sum_ok(v, VIEW_PART_COLUMNS + (uint64_t)(c - v->columns), &body, c->dir.sum);
    return c->checked ? 0 : ERR_CORRUPT;
}
