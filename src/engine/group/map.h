/* map.h - from the keys of rows to dense numbers of groups.
 *
 * Used by:   groups.h; answers with tables of their own (compare, timeline, lines).
 * Way:       group_map_init names the key sources; for each chunk group_map_chunk chooses the
 *            cheapest way (a dense table over products of column codes; hashing of codes in a word,
 *            or of keys); group_map_batch gives the group number of each selected row. Numbers
 *            are dense from 0 and belong to this map: maps of several workers are put together by
 *            group_table_add of their keys, or, of a packed one, as group_map_join says.
 * Threads:   one at a time.
 * Memory:    charged to the budget, released by group_map_done.
 */
#ifndef DFTRACERD_ENGINE_GROUP_MAP_H
#define DFTRACERD_ENGINE_GROUP_MAP_H

#include "base/group_table.h"
#include "engine/scan/scan.h"

#define GROUP_KEYS_MAX 32

enum group_way { GROUP_CODES, GROUP_PACKED, GROUP_HASH };
struct group_key { /* one key column in the present chunk */
    const struct source *source;
    bool constant, coded, same; /* same: its codes are those of a key before it */
    uint64_t key;               /* of a constant */
    uint32_t codes, stride;
    unsigned shift, bits; /* GROUP_PACKED: of its code within a word */
    const uint64_t *code_keys;
};
struct group_seen {
    uint64_t word;
    uint32_t group;
};
/* Tuples as words (pack.c). */
struct group_place {
    unsigned bits, shift;
};
struct group_pack {
    unsigned width;
    struct group_place place[GROUP_KEYS_MAX];
    struct group_table column[GROUP_KEYS_MAX]; /* its keys by number */
    /* number + 1 by code of the chunk, 0: not met */
    uint32_t *numbers[GROUP_KEYS_MAX], cap[GROUP_KEYS_MAX];
    uint32_t *renamed[GROUP_KEYS_MAX]; /* by number: the one in the map that this one joins */
    struct group_place joined[GROUP_KEYS_MAX];
    struct charge charge; /* for `renamed` */
};
/* Of a key in its column. */
static inline uint32_t group_number(uint64_t word, const struct group_place *at)
{
    return (uint32_t)(word >> at->shift & (((uint64_t)1 << at->bits) - 1));
}
struct group_map {
    struct group_table table; /* of tuples, or of words where `pack` is there */
    unsigned width;           /* keys a group */
    struct group_pack *pack;
    struct group_key keys[GROUP_KEYS_MAX];
    enum group_way way;
    uint32_t *dense; /* GROUP_CODES: group of each product of codes, GROUP_NONE = not met */
    uint32_t dense_cap;
    unsigned bits; /* GROUP_PACKED: of a word */
    /* GROUP_PACKED: words of codes met in this chunk, a power of two of places */
    struct group_seen *seen;
    uint32_t seen_mask, seen_count;
    struct charge charge; /* for `seen` */
};
void group_map_init(struct group_map *m, const struct source *const *sources, unsigned width,
                    uint64_t limit, struct budget *budget);
void group_map_done(struct group_map *m);
/* Before the first chunk, of two keys and more: as long as it can be, groups are kept as words
 * (pack.c). For whom there are many of them; it takes group_map_keys and group_map_add
 * instead of those of the table. */
int group_map_pack(struct group_map *m);
int group_map_unpack(struct group_map *m);
void group_map_keys(const struct group_map *m, uint32_t group, uint64_t *ret);
/* As group_table_add. */
int64_t group_map_add(struct group_map *m, const uint64_t *keys);
/* Before groups of `from` are put into `into`: both have tuples then, or words that are alike once
 * group_map_rename was called for them (any number of threads, each for groups of its own), after
 * which `from` is of no use but for that. */
int group_map_join(struct group_map *into, struct group_map *from);
void group_map_rename(struct group_map *from, uint32_t first, uint32_t n);
/* For map.c: the chunk's keys were looked at; words of codes to words of numbers (-ERANGE:
 * the map was unpacked). */
enum { GROUP_PACK_BLOCK = 64 };
void group_pack_done(struct group_map *m);
int group_pack_chunk(struct group_map *m);
int group_pack_words(struct group_map *m, const uint64_t *words, uint32_t n, uint64_t *ret);
static inline unsigned group_bits(uint32_t count)
{
    return count > 1 ? 32 - (unsigned)__builtin_clz(count - 1) : 0;
}
/* codes.c, for map.c and words.c: the next key, from number *i on, whose codes distinguish rows,
 * with these (NULL: there is none); of all rows of the batch the sum of codes, each times its
 * stride: in `room`, or borrowed, where one key has codes. */
const struct group_key *group_next_key(const struct group_map *m, struct scan_batch *b, unsigned *i,
                                       const uint32_t **ret_codes);
const uint32_t *group_sum_codes(struct group_map *m, struct scan_batch *b, uint32_t *room);
void group_words_chunk(struct group_map *m);
int group_words_batch(struct group_map *m, struct scan_batch *b, uint32_t *out);
int group_map_chunk(struct group_map *m, struct scan_chunk *c);
/* out[j]: group of the j-th selected row; `out` has room for b->count. */
int group_map_batch(struct group_map *m, struct scan_batch *b, uint32_t *out);
/* The same where so few rows are looked at that knowing the chunk does not pay: group_map_chunk
 * need not have been called for it. Not of a map that is packed. */
int group_map_few(struct group_map *m, struct scan_batch *b, uint32_t *out);

/* ---- ranks.c --------------------------------------------------------------------------- */

/* Ranks of the keys of a table of width 1: from 0 on in the order of values, by number of the key;
 * and the keys in that order (NULL: not wanted). -ENOMEM; why the query is to stop. */
int rank_keys(struct query *q, const struct group_table *distinct, uint32_t *rank, uint64_t *keys);
/* word: the ranks of a group's keys side by side, where they fit. */
struct row_id {
    uint64_t word;
    uint32_t set, group;
};
/* One pass of a stable sort by words, by at most RADIX_BITS bits. 1; 0: all have the same, and
 * nothing was moved; or why the budget (NULL: none) says to stop. n: one at least. */
enum { RADIX_BITS = 11 };
int rows_radix(const struct row_id *from, struct row_id *to, size_t n, unsigned shift,
               unsigned bits, struct budget *b);

#endif
