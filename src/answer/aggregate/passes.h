/* passes.h - all groups one part after another, where memory does not suffice for them at
 * once. Private.
 *
 * Groups are told in the order of their keys, so those that begin with the same first keys stand
 * together. The rows of each such prefix are counted first, then the columns are scanned again for
 * each run of prefixes whose groups fit into memory. Where a key is a time, and prefixes with its
 * values would be too many themselves, they have stretches of time instead. Nothing is written to
 * disk: the first scan notes which prefixes each chunk has, and those without any of a run are not
 * opened again; and the answer is the one of a single scan to the last bit, for every group is
 * summed up within one of them.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_PASSES_H
#define DFTRACERD_ANSWER_AGGREGATE_PASSES_H

#include "answer/aggregate/aggregate.h"

/* What the first scans found: prefixes of all sets in the order of the answer, with their rows. */
struct prefixes {
    /* the query's, but for the number of keys and all that is not counted */
    struct aggregate_plan plan;
    struct measure *measures;
    struct aggregate_found *found;
    struct aggregate_fine fine;
    struct aggregate_order order;
    size_t charged;
    uint32_t *rank[SETS]; /* place in `order` by group */
};
/* As few keys as leave no prefix with more than `rows` rows, where that can be. ERR_ROW_LIMIT,
 * ERR_MEMORY_LIMIT ... */
int prefixes_find(const struct aggregate_plan *p, uint64_t rows, struct err *err,
                  struct prefixes **ret);
void prefixes_free(struct prefixes *x);
/* The end of the run of prefixes from `from` on (one at least) that has at most `rows` rows;
 * *ret_rows: how many. */
size_t prefixes_take(const struct prefixes *x, size_t from, uint64_t rows, uint64_t *ret_rows);

/* What a chunk has rows of: places in `order`. */
struct chunk_span {
    uint32_t least, most;
};
/* One scan: the prefixes [from, to). */
struct pass {
    const struct prefixes *prefixes;
    /* by position in scan_places; of those that were not scanned yet, everything */
    struct chunk_span *chunks;
    size_t from, to;
};
/* Room for chunks. ERR_MEMORY_LIMIT, -ENOMEM. */
int pass_begin(struct pass *pass, struct prefixes *x);
void pass_done(struct pass *pass);
/* The chunk has no row of the pass. */
bool pass_skips(const struct pass *pass, size_t position);
/* A worker's: which rows of a batch are of the pass. */
struct pass_filter;
int pass_filter_new(const struct aggregate_plan *p, struct pass_filter **ret);
void pass_filter_free(struct pass_filter *f);
void pass_filter_chunk(struct pass_filter *f);
/* All of its rows were seen. */
void pass_filter_chunk_end(struct pass_filter *f, size_t position);
/* 1: all; 0: none; 2: *some are, borrowed until the next call. Negative: error. */
int pass_filter_batch(struct pass_filter *f, struct scan_batch *b, unsigned set,
                      struct scan_batch *some);

#endif
