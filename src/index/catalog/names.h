/* names.h - metadata records of files: the values of table `name`, and the ids of their lines.
 *
 * Used by:   catalog, ingest. Threads: any; lines_done after the others.
 */
#ifndef DFTRACERD_INDEX_CATALOG_NAMES_H
#define DFTRACERD_INDEX_CATALOG_NAMES_H

#include "index/catalog/index.h"
#include "index/summary/part.h"

/* The fields of struct index_name without kind, row and line. */
extern const struct record_field name_fields[];

/* The lines of the metadata records of a chunk. */
struct line_range {
    uint32_t first, count; /* ids, without TEXTS_LINES */
    uint32_t file, chunk, version;
    struct text *texts; /* NULL: not loaded yet */
    char *bytes;        /* of `texts` */
};
/* Reserves ids for the lines of a chunk. `file`, `chunk`, `version` and `count` of the range are
 * given. *ret_first is INDEX_NO_TEXT if no ids are left. Returns 0 or -ENOMEM. */
int lines_register(struct index *ix, const struct line_range *chunk, uint32_t *ret_first);
void lines_done(struct index *ix);
/* Encodes and decodes a value of table `name`. `ret`, or the last two, may be NULL. */
int names_encode(struct index *ix, const struct part *p, struct buf *out);
int names_decode(struct index *ix, struct rec value, struct index_name **ret, uint32_t *ret_count,
                 struct text **ret_lines, char **ret_bytes);
/* Translates a value of another rank, which contains text ids of that rank. The part receives its
 * names. Returns 0, ERR_CORRUPT or -ENOMEM. */
int names_translate(struct index *ix, struct rec value, struct part *p, struct buf *ret);
void names_sort(struct index_name *names, uint32_t count);
void names_merge(const struct index_name *a, uint32_t a_count, const struct index_name *b,
                 uint32_t b_count, struct index_name *out);

#endif
