/* modes.h - the methods by which a test finds the rows of a chunk that pass.
 *
 * Used by:   bind.c, which chooses one; eval.c, packed.c. Private to the folder.
 */
#ifndef DFTRACERD_ENGINE_FILTER_MODES_H
#define DFTRACERD_ENGINE_FILTER_MODES_H

#include "engine/filter/filter.h"

/* Returns the number of words of a bitmap of rows. */
static inline uint32_t mask_words(uint32_t rows)
{
    return (rows + 63) / 64;
}

struct test_mode {
    /* Finds the rows of the batch that pass. */
    void (*eval)(struct scan_batch *b, const struct test_state *s, struct binding *binding,
                 uint64_t *mask);
    /* Finds the rows of the whole chunk that pass, from the stored column that has the values or
     * codes of the source; `rows` has memory for two bitmaps. NULL: values must be decoded. */
    int (*select)(struct chunk_view *view, const struct column *c, const struct test_state *s,
                  uint64_t *rows);
};
extern const struct test_mode mode_valid; /* those with a value; inverted: those without one */
extern const struct test_mode mode_i64;   /* values of the ranges; inverted: all others */
extern const struct test_mode mode_f64;
extern const struct test_mode mode_codes; /* codes whose bit of the table is set */

/* If there are more ranges than this, they are single values, and are searched. */
enum { RANGES_FEW = 6 };

/* Returns the column that test_mode.select reads, or NULL if values have to be computed. */
const struct column *mode_column(const struct test_state *s, const struct binding *b);
/* Returns true if the test is for a single range. */
static inline bool mode_is_range(const struct test_state *s)
{
    return s->mode == &mode_i64 && s->count == 1 && !s->inverted;
}

#endif
