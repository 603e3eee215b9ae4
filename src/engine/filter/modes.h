/* modes.h - the ways in which a test finds the rows of a chunk that pass.
 *
 * Used by:   bind.c, which chooses one; eval.c, packed.c. Private to the folder.
 */
#ifndef DFTRACERD_ENGINE_FILTER_MODES_H
#define DFTRACERD_ENGINE_FILTER_MODES_H

#include "engine/filter/filter.h"

struct test_mode {
    /* Rows of the batch that pass. */
    void (*eval)(struct scan_batch *b, const struct test_state *s, struct bound *bound,
                 uint64_t *mask);
    /* Rows of the whole chunk that pass, from the stored column, which has the values or codes of
     * the bound; `rows` has room for twice as many. NULL: values must be decoded. */
    int (*select)(struct chunk_view *view, const struct column *c, const struct test_state *s,
                  uint64_t *rows);
};
extern const struct test_mode mode_valid; /* those with a value; inverted: those without one */
extern const struct test_mode mode_i64;   /* values of the ranges; inverted: all others */
extern const struct test_mode mode_f64;
extern const struct test_mode mode_codes; /* codes whose bit of the table is set */

/* More ranges than this are looked up, and are single values then. */
enum { RANGES_FEW = 6 };

/* The column that test_mode.select reads. NULL: none, values have to be computed. */
const struct column *mode_column(const struct test_state *s, const struct bound *b);
/* All values from one to another. */
static inline bool mode_is_range(const struct test_state *s)
{
    return s->mode == &mode_i64 && s->count == 1 && !s->inverted;
}

#endif
