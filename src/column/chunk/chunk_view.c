/* chunk_view.c - opens an encoded chunk. Head and directory are checked here, the first time;
 * columns when they are read. */
#include "column/chunk/column_hash.h"
#include "column/chunk/column_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

uint64_t chunk_hash(const struct chunk_head *head, const void *dir)
{
    return XXH3_64bits_withSeed(dir, head->dir_len, XXH3_64bits(head, sizeof(*head)));
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int check_hash(const struct chunk_head *h, const uint8_t *value)
{
    struct chunk_head blank = *h;

    blank.dir_hash = 0;
    return chunk_hash(&blank, value + sizeof(*h)) == h->dir_hash ? 0 : ERR_CORRUPT;
}

static int check_head(const struct chunk_head *h, size_t len)
{
    if (h->magic != CHUNK_MAGIC || h->version != CHUNK_VERSION || h->length != len ||
        h->rows > CHUNK_ROWS_MAX || h->dir_len > len - sizeof(*h) - CHUNK_TAIL ||
        h->dir_len <
            h->columns * sizeof(struct column_dir) + h->bitmaps * sizeof(struct bitmap_dir))
        return ERR_CORRUPT;
    return 0;
}

/* The checksum was right, so this only finds bugs of a writer and crafted values. It is cheap, and
 * keeps readers simple. */
static int check_column(const struct chunk_view *v, const struct column_dir *d)
{
    bool coded = d->type == COLUMN_TEXT || d->type == COLUMN_MIXED;

    if (d->type < COLUMN_INT || d->type > COLUMN_MIXED || d->nulls >= v->head.rows ||
        d->path > v->head.dir_len || d->path_len > v->head.dir_len - d->path)
        return ERR_CORRUPT;
    if ((d->nulls > 0) != (d->bitmap != COLUMN_NO_BITMAP) ||
        (d->nulls > 0 && d->bitmap >= v->head.bitmaps))
        return ERR_CORRUPT;
    if (coded != (d->entries > 0) || d->entries > v->head.rows || d->locals > d->entries)
        return ERR_CORRUPT;
    if (d->type == COLUMN_DOUBLE && d->scale > COLUMN_SCALES_MAX && d->scale != COLUMN_SCALE_RAW)
        return ERR_CORRUPT;
    return view_section_ok(v, &d->values) && view_section_ok(v, &d->ids) &&
                   view_section_ok(v, &d->lens) && view_section_ok(v, &d->bytes) &&
                   view_section_ok(v, &d->filter)
               ? 0
               : ERR_CORRUPT;
}

static struct text column_path(const struct chunk_view *v, const struct column_dir *d)
{
    return (struct text){(const char *)v->data + sizeof(struct chunk_head) + d->path, d->path_len};
}

/* Returns the directory entry, which may have any alignment. */
static const uint8_t *entry_at(const struct chunk_view *v, unsigned i)
{
    return v->data + sizeof(struct chunk_head) + i * sizeof(struct column_dir);
}

static int check_directory(const struct chunk_view *v)
{
    struct text before = {NULL, 0};
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < v->head.columns; i++) {
        struct column_dir d;
        memcpy(&d, entry_at(v, i), sizeof(d));
        rc = check_column(v, &d);
        if (rc == 0 && i > 0 && text_cmp(before, column_path(v, &d)) >= 0)
            rc = ERR_CORRUPT;
        before = column_path(v, &d);
    }
    for (unsigned i = 0; rc == 0 && i < v->head.bitmaps; i++)
        if (!view_section_ok(v, &v->bitmaps[i].dir.section))
            rc = ERR_CORRUPT;
    return rc;
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Everything is in one allocation, because a request opens many chunks. */
static struct chunk_view *view_alloc(const struct chunk_head *head, const void *value)
{
    size_t words = head->columns / 64u + 1u;
    struct chunk_view *v =
        malloc(sizeof(*v) + words * sizeof(*v->used) + head->columns * sizeof(*v->columns) +
               head->bitmaps * sizeof(*v->bitmaps));

    if (v == NULL)
        return NULL;
    *v = (struct chunk_view){.head = *head};
    v->used = (uint64_t *)(void *)(v + 1);
    memset(v->used, 0, words * sizeof(*v->used));
    v->columns = (struct column_view *)(void *)(v->used + words);
    v->bitmaps = (struct bitmap_view *)(void *)(v->columns + head->columns);
    v->data = value;
    const uint8_t *bitmaps = entry_at(v, head->columns);
    for (unsigned i = 0; i < head->bitmaps; i++) {
        v->bitmaps[i] = (struct bitmap_view){0};
        memcpy(&v->bitmaps[i].dir, bitmaps + i * sizeof(struct bitmap_dir),
               sizeof(struct bitmap_dir));
    }
    return v;
}

int chunk_view_new(const void *value, size_t len, const struct chunk_texts *texts,
                   struct chunk_view **ret)
{
    atomic_bool *valid = texts ? texts->valid : NULL;
    bool check = !valid || !atomic_load_explicit(valid, memory_order_relaxed);
    struct chunk_head head;

    if (len < sizeof(struct chunk_head) + CHUNK_TAIL)
        return ERR_CORRUPT;
    memcpy(&head, value, sizeof(head));
    int rc = check_head(&head, len);
    if (rc == 0 && check)
        rc = check_hash(&head, value);
    if (rc < 0)
        return rc;
    struct chunk_view *v = view_alloc(&head, value);
    if (v == NULL)
        return -ENOMEM;
    v->len = len;
    if (texts != NULL)
        v->texts = *texts;
    rc = check ? check_directory(v) : 0;
    if (rc < 0) {
        free(v);
        return rc;
    }
    if (check && valid)
        atomic_store_explicit(valid, true, memory_order_relaxed);
    *ret = v;
    return 0;
}

void chunk_view_free(struct chunk_view *v)
{
    if (v == NULL)
        return;
    for (unsigned i = 0; i < v->head.columns; i += 64)
        for (uint64_t used = v->used[i / 64]; used; used &= used - 1) {
            struct column_view *c = &v->columns[i + (unsigned)__builtin_ctzll(used)];
            pack_close(&c->values);
            free(c->whole);
            view_dictionary_free(c);
        }
    for (unsigned i = 0; i < v->head.bitmaps; i++) {
        free(v->bitmaps[i].words);
        free(v->bitmaps[i].ranks);
    }
    density_view_free(v->density);
    free(v);
}

void chunk_view_set_owner(struct chunk_view *v, void *owner)
{
    v->owner = owner;
}
void *chunk_view_owner(const struct chunk_view *v)
{
    return v->owner;
}
const struct chunk_texts *chunk_view_texts(const struct chunk_view *v)
{
    return &v->texts;
}
uint32_t chunk_view_number(const struct chunk_view *v)
{
    return v->head.number;
}
uint32_t chunk_rows(const struct chunk_view *v)
{
    return v->head.rows;
}
bool chunk_counts_items(const struct chunk_view *v)
{
    return v->head.flags & CHUNK_COUNTS_ITEMS;
}
uint32_t chunk_column_count(const struct chunk_view *v)
{
    return v->head.columns;
}

/* ---- columns --------------------------------------------------------------------------------- */

void chunk_column(const struct chunk_view *v, uint32_t i, struct column *ret)
{
    struct column_view *c = &v->columns[i];
    /* Only columns that a request uses are initialised. The view caches them, so it is logically
     * const. */
    if (!(v->used[i / 64] >> i % 64 & 1)) {
        v->used[i / 64] |= (uint64_t)1 << i % 64;
        memset(c, 0, sizeof(*c));
        memcpy(&c->dir, entry_at(v, i), sizeof(c->dir));
    }
    const struct column_dir *d = &c->dir;

    *ret = (struct column){
        .path = column_path(v, d),
        .type = d->type,
        .nano = d->flags & COLUMN_NANO,
        .constant = d->flags & COLUMN_CONSTANT,
        .rows = v->head.rows,
        .nulls = d->nulls,
        .entries = d->entries,
        .opaque = c,
    };
    if (d->type == COLUMN_DOUBLE) {
        memcpy(&ret->min_f64, &d->min, sizeof(d->min));
        memcpy(&ret->max_f64, &d->max, sizeof(d->max));
    } else {
        ret->min = d->min;
        ret->max = d->max;
    }
}

int chunk_find(const struct chunk_view *v, struct text path, struct column *ret)
{
    uint32_t low = 0, high = v->head.columns;

    while (low < high) {
        uint32_t mid = (low + high) / 2;
        struct column_dir d;
        memcpy(&d, entry_at(v, mid), sizeof(d));
        int order = text_cmp(column_path(v, &d), path);
        if (order == 0) {
            chunk_column(v, mid, ret);
            return 0;
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return -ENOENT;
}

/* ---- pruning --------------------------------------------------------------------------------- */

/* Columns with few entries have no filter: the entries are compared. The view only caches what
 * it has read, so it is logically const. */
static bool entries_may_have(const struct chunk_view *cv, const struct column *c, uint64_t hash)
{
    struct chunk_view *v = (struct chunk_view *)(uintptr_t)cv;
    struct column_entry e;

    for (uint32_t i = 0; i < c->entries; i++)
        if (column_entry(v, c, i, &e) < 0 || column_hash_entry(&e) == hash)
            return true;
    return false;
}

bool chunk_may_have(const struct chunk_view *v, const struct column *c, uint64_t hash)
{
    const struct column_dir *d = &view_of(c)->dir;

    if (d->filter.len > 0 &&
        !view_sum_ok(v, VIEW_PART_FILTERS + (uint64_t)(view_of(c) - v->columns), &d->filter,
                     d->filter_sum))
        return true;
    if (d->filter.len > 0)
        return bloom_may_have(v->data + d->filter.offset, d->filter.len, hash);
    switch (c->type) {
    case COLUMN_TEXT:
    case COLUMN_MIXED:
        return c->entries > 64 || entries_may_have(v, c, hash);
    case COLUMN_BOOL:
        return hash == column_hash_bool(c->min) || hash == column_hash_bool(c->max);
    case COLUMN_INT:
        return !c->constant || hash == column_hash_i64(c->min);
    default:
        return true;
    }
}
