/* map.h - maps the keys of rows to dense numbers of groups.
 *
 * Used by:   groups.h; answers with tables of their own (compare, timeline, lines).
 * Path:      group_map_init names the key sources; for each chunk group_map_chunk chooses the
 *            cheapest method (a dense table indexed by combinations of column codes; hashing of
 *            codes that are bit-packed into a word; hashing of keys); group_map_batch sets the
 *            group number of each selected row. Numbers are dense from 0 and belong to this map:
 *            maps of several workers are merged by group_table_add of their keys, or by
 *            group_map_join if keys are bit-packed.
 * Threads:   one at a time.
 * Memory:    released by group_map_done. Charged to the budget, except for tables by code of a
 *            chunk: at most 1 MiB each.
 */
#ifndef DFTRACERD_ENGINE_GROUP_MAP_H
#define DFTRACERD_ENGINE_GROUP_MAP_H

#include "base/group_table.h"
#include "engine/scan/scan.h"

#define GROUP_KEYS_MAX 32

enum group_method { GROUP_CODES, GROUP_PACKED, GROUP_HASH };
struct group_key { /* one key column in the current chunk */
    const struct source *source;
    bool constant, coded, same; /* same: its codes are those of a key before it */
    uint64_t key;               /* of a constant */
    uint32_t codes, stride; /* number of codes; distance of codes in sums, see group_sum_codes */
    unsigned shift, bits;   /* GROUP_PACKED: of its code within a word */
    const uint64_t *code_keys;
};
/* A word of codes that has occurred in the current chunk. */
struct group_seen {
    uint64_t word;
    uint32_t group;
};
/* Tuples that are bit-packed into words (pack.c). */
struct bit_field {
    unsigned bits, shift;
};
struct group_pack {
    unsigned width;
    struct bit_field field[GROUP_KEYS_MAX];
    struct group_table column[GROUP_KEYS_MAX]; /* its keys by number */
    /* by code of the chunk: number of the key + 1, 0: not seen yet */
    uint32_t *numbers[GROUP_KEYS_MAX], cap[GROUP_KEYS_MAX];
    uint32_t *renamed[GROUP_KEYS_MAX]; /* by number: the number in the map that this one joins */
    struct bit_field joined[GROUP_KEYS_MAX];
    struct charge charge; /* for `renamed` */
};
/* Returns the number of a key in its column. */
static inline uint32_t group_number(uint64_t word, const struct bit_field *at)
{
    return (uint32_t)(word >> at->shift & (((uint64_t)1 << at->bits) - 1));
}
struct group_map {
    struct group_table table; /* of tuples; with `pack`: of words */
    unsigned width;           /* keys a group */
    struct group_pack *pack;  /* NULL: keys are not bit-packed */
    struct group_key keys[GROUP_KEYS_MAX];
    enum group_method method;
    uint32_t *dense; /* GROUP_CODES: group by combination of codes, GROUP_NONE: not seen yet */
    uint32_t dense_cap;
    unsigned bits; /* GROUP_PACKED: of a word */
    /* GROUP_PACKED: hash table of the words in this chunk; its size is a power of two */
    struct group_seen *seen;
    uint32_t seen_mask, seen_count;
    struct charge charge; /* for `seen` */
};
void group_map_init(struct group_map *m, const struct source *const *sources, unsigned width,
                    uint64_t limit, struct budget *budget);
void group_map_done(struct group_map *m);
/* Bit-packs the keys of groups into words as long as they fit (pack.c), for two keys or more and
 * many groups. To be called before the first chunk. group_map_keys and group_map_add then replace
 * the functions of the table. group_map_unpack returns to tuples. */
int group_map_pack(struct group_map *m);
int group_map_unpack(struct group_map *m);
void group_map_keys(const struct group_map *m, uint32_t group, uint64_t *ret);
/* Adds a group, as group_table_add does. */
int64_t group_map_add(struct group_map *m, const uint64_t *keys);
/* Prepares the merge of `from` into `into`: afterwards both have tuples, or both have words. Words
 * of `from` are comparable with those of `into` after group_map_rename was called for them, by any
 * number of threads, each for other groups. `from` can then only be merged. */
int group_map_join(struct group_map *into, struct group_map *from);
void group_map_rename(struct group_map *from, uint32_t first, uint32_t n);
/* For map.c. group_pack_chunk prepares a chunk whose keys have codes. group_pack_words converts
 * words of codes to words of numbers; it returns -ERANGE after a call of group_map_unpack. */
enum { GROUP_PACK_BLOCK = 64 };
void group_pack_done(struct group_map *m);
int group_pack_chunk(struct group_map *m);
int group_pack_words(struct group_map *m, const uint64_t *words, uint32_t n, uint64_t *ret);
/* Returns the bits that numbers below `count` need. */
static inline unsigned group_bits(uint32_t count)
{
    return count > 1 ? 32 - (unsigned)__builtin_clz(count - 1) : 0;
}
/* codes.c, for map.c and words.c: returns the next key, from number *i on, whose codes distinguish
 * rows, and these codes; NULL: there is none. */
const struct group_key *group_next_key(const struct group_map *m, struct scan_batch *b, unsigned *i,
                                       const uint32_t **ret_codes);
/* Returns for each row of the batch the sum of its codes, each times its stride: in `sums`, or
 * borrowed if only one key has codes. */
const uint32_t *group_sum_codes(struct group_map *m, struct scan_batch *b, uint32_t *sums);
void group_words_chunk(struct group_map *m);
int group_words_batch(struct group_map *m, struct scan_batch *b, uint32_t *out);
int group_map_chunk(struct group_map *m, struct scan_chunk *c);
/* out[j]: group of the j-th selected row; `out` has b->count elements. */
int group_map_batch(struct group_map *m, struct scan_batch *b, uint32_t *out);
/* The same if few rows of the chunk are read: group_map_chunk is not needed. Not for maps with
 * bit-packed keys. */
int group_map_few(struct group_map *m, struct scan_batch *b, uint32_t *out);

/* ---- ranks.c --------------------------------------------------------------------------------- */

/* Ranks the keys of a table of width 1 by their values. rank: by number of the key; keys (NULL: not
 * needed): by rank. Returns 0, -ENOMEM or an error of the budget. */
int rank_keys(struct query *q, const struct group_table *distinct, uint32_t *rank, uint64_t *keys);
/* word: the ranks of a group's keys, bit-packed, if they fit. */
struct row_id {
    uint64_t word;
    uint32_t set, group;
};
/* One pass of a stable radix sort by words, by at most RADIX_BITS bits; n > 0. Returns 1; 0 if the
 * bits are the same in all words, so nothing was moved; or an error of the budget (NULL: none). */
enum { RADIX_BITS = 11 };
int rows_radix(const struct row_id *from, struct row_id *to, size_t n, unsigned shift,
               unsigned bits, struct budget *b);

#endif
