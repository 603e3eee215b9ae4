/* stats_together.h - rows that several questions select, counted by category or name in one go. Private to stats_*.c.
 *
 * Way:     scan_share takes questions through a chunk one after the other. Instead of counting, each leaves which rows it
 *          selects (together_take); the first one leaves the product of codes (group.h) of each row as well. Once all went
 *          through, together_tell counts each row once, by product and by who selects it, and gives everybody their part.
 * Threads: one.
 */
#ifndef DFTRACERD_QUERY_STATS_TOGETHER_H
#define DFTRACERD_QUERY_STATS_TOGETHER_H

#include "stats.h"

enum { TOGETHER_LANES = 4, TOGETHER_PRODUCTS = 512 };
enum { TOGETHER_TABLES = COUNT_NAMES + 1 }; /* the first ones: texts, whose codes are the chunk's, whoever asks */

/* Of one chunk. */
struct together_table {
    size_t position;                     /* of its place; SIZE_MAX: none                            */
    uint32_t products, rows, cap;        /* of the chunk; rows that there is room for               */
    uint32_t *product;                   /* by row, in batches that somebody selects from           */
    uint8_t *has;                        /* by batch: these are there                               */
    uint64_t *mask[STATS_SHARE];         /* rows, by who asks: 0 where nothing is selected          */
    struct group_map *map[STATS_SHARE];  /* NULL: who asks selects nothing, or counts by itself     */
    uint32_t (*count)[TOGETHER_LANES];   /* by product and who selects: counts that add up          */
    uint16_t met[TOGETHER_PRODUCTS];     /* products of rows that somebody selects                  */
    uint32_t met_count;
};
struct together {
    struct together_table table[TOGETHER_TABLES];
};
void together_init(struct together *t);
void together_done(struct together *t);
/* Asker `who` counts the batch's selected rows in table i by `map`. -EDOM: it is to do so itself; else 0, -ENOMEM, and what reading
 * codes fails with. */
int together_take(struct together *t, unsigned who, unsigned i, struct group_map *map, struct scan_batch *b);
/* After the place, before any asker begins another: counts. */
void together_count(struct together *t);
/* Then, for each asker and table, *at being 0 at first: one group after the other. 1, 0: no more; errors of group_table_add. */
int together_next(struct together *t, unsigned who, unsigned i, uint32_t *at, struct group_rows *ret);
/* Before the next place. */
void together_clear(struct together *t);

#endif
