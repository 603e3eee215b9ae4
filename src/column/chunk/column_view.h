/* column_view.h - private to the files of a view: the types that they share. */
#ifndef DFTRACERD_COLUMN_CHUNK_COLUMN_VIEW_H
#define DFTRACERD_COLUMN_CHUNK_COLUMN_VIEW_H

#include "column/chunk/bloom.h"
#include "column/chunk/column.h"

/* The parts of a column, which are read when they are first needed. */
struct column_view {
    struct column_dir dir;
    bool opened, checked; /* checked: its checksum was compared */
    struct pack_stream values;
    void *whole;   /* columns with nulls: all values (int64_t) or codes (uint32_t), without gaps */
    uint32_t *ids; /* TEXT: of all entries */
    int64_t *types, *numbers; /* MIXED: of all entries; types is the allocation of both */
    uint32_t *local;          /* entry -> its number among the local texts, or UINT32_MAX */
    uint64_t *ends;           /* of the local texts in `bytes` */
    char *bytes;
};
struct bitmap_view {
    struct bitmap_dir dir;
    uint64_t *words; /* NULL until needed; one word more than the rows need */
    uint32_t *ranks; /* set bits before each word; one more element for all */
};
struct chunk_view {
    const uint8_t *data;
    size_t len;
    struct chunk_head head;
    struct chunk_texts texts;
    void *owner;
    struct column_view *columns; /* ascending by path; only those in `used` are initialised */
    struct bitmap_view *bitmaps;
    uint64_t *used;               /* a bit for each column that was used */
    struct density_view *density; /* NULL until needed */
};

static inline struct column_view *view_of(const struct column *c)
{
    return (struct column_view *)(uintptr_t)c->opaque;
}

/* chunk_sum.c: returns true if a section lies within the value (with PACK_SLACK after it), or is
 * empty. */
bool view_section_ok(const struct chunk_view *v, const struct section *s);
/* Compares the checksum of a part when this process first reads it. */
enum {
    VIEW_PART_COLUMNS = 0,
    VIEW_PART_FILTERS = 1 << 16,
    VIEW_PART_BITMAPS = 2 << 16,
    VIEW_PART_DENSITY = 3 << 16
};
bool view_sum_ok(const struct chunk_view *v, uint64_t part, const struct section *s, uint32_t sum);
int view_check_column(const struct chunk_view *v, struct column_view *c); /* 0, ERR_CORRUPT */
/* column_read.c: opens c->values at the first call. */
int view_values(struct chunk_view *v, struct column_view *c);
/* Returns the bitmap of a column with nulls, which has a set bit for each value of the column.
 * Returns 0, ERR_CORRUPT or -ENOMEM. */
int view_bitmap(struct chunk_view *v, const struct column_view *c, const struct bitmap_view **ret);
/* Converts a stored number of a column to its value. */
double column_double(enum column_type type, uint8_t scale, int64_t stored);
/* column_texts.c: reads the entries at the first call. */
int view_dictionary(struct chunk_view *v, struct column_view *c);
void view_dictionary_free(struct column_view *c);
void density_view_free(struct density_view *d); /* density_view.c; d may be NULL */
int density_check(struct chunk_view *v);        /* reads all; 0, ERR_CORRUPT or -ENOMEM */

#endif
