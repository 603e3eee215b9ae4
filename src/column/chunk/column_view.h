/* column_view.h - what the parts of a view share (chunk_view.c, column_read.c, column_texts.c). */
#ifndef DFTRACERD_COLUMN_CHUNK_COLUMN_VIEW_H
#define DFTRACERD_COLUMN_CHUNK_COLUMN_VIEW_H

#include "column/chunk/bloom.h"
#include "column/chunk/column.h"

/* A column's parts as they are first needed. */
struct column_view {
    struct column_dir dir;
    bool opened, checked; /* checked: its checksum is right */
    struct pack_stream values;
    void *whole;   /* columns with nulls: all values (int64_t) or codes (uint32_t), without gaps */
    uint32_t *ids; /* TEXT: of all entries */
    int64_t *types, *numbers; /* MIXED: of all entries; types is the allocation of both */
    uint32_t *local;          /* entry -> its place among the local texts, or UINT32_MAX */
    uint64_t *ends;           /* of the local texts in `bytes` */
    char *bytes;
};
struct bitmap_view {
    struct bitmap_dir dir;
    uint64_t *words; /* NULL until needed; one word more than rows take */
    uint32_t *ranks; /* set bits before each word, and all of them */
};
struct chunk_view {
    const uint8_t *data;
    size_t len;
    struct chunk_head head;
    struct chunk_texts texts;
    void *owner;
    struct column_view *columns; /* ascending by path; only those in `used` are more than room */
    struct bitmap_view *bitmaps;
    uint64_t *used;               /* by column: it was used */
    struct density_view *density; /* NULL until needed */
};

static inline struct column_view *view_of(const struct column *c)
{
    return (struct column_view *)(uintptr_t)c->opaque;
}

/* chunk_sum.c: whether a section lies within the value (with PACK_SLACK behind it). Empty ones
 * do. */
bool view_section_ok(const struct chunk_view *v, const struct section *s);
/* Whether a part has its checksum: computed when this process first reads it. */
enum {
    VIEW_PART_COLUMNS = 0,
    VIEW_PART_FILTERS = 1 << 16,
    VIEW_PART_BITMAPS = 2 << 16,
    VIEW_PART_DENSITY = 3 << 16
};
bool view_sum_ok(const struct chunk_view *v, uint64_t part, const struct section *s, uint32_t sum);
int view_check_column(const struct chunk_view *v, struct column_view *c); /* 0, ERR_CORRUPT */
/* column_read.c: opens c->values, once */
int view_values(struct chunk_view *v, struct column_view *c);
/* The bitmap of a column with nulls; its set bits are as many as the column has values. 0,
 * ERR_CORRUPT, -ENOMEM. */
int view_bitmap(struct chunk_view *v, const struct column_view *c, const struct bitmap_view **ret);
/* A number of a column's stream as the value it stands for. */
double column_double(enum column_type type, uint8_t scale, int64_t stored);
/* column_texts.c: reads the entries, once */
int view_dictionary(struct chunk_view *v, struct column_view *c);
void view_dictionary_free(struct column_view *c);
void density_view_free(struct density_view *d); /* density_view.c; NULL is fine */
int density_check(struct chunk_view *v);        /* reads all. 0, ERR_CORRUPT, -ENOMEM */

#endif
