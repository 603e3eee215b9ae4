/* sample.h - the values of one group, for percentiles and histograms.
 *
 * A sample is a list of values while it has at most SKETCH_EXACT of them (with memory->exact
 * always); larger ones count values by bin. The bins are those of struct sketch (measure.h), in one
 * page of 128 counters per octave, so that a value is added with three instructions and no call.
 * The results equal those of a struct sketch of the same values.
 * Threads: one at a time. Memory: charged to the budget; released as a whole by sample_memory_done.
 */
#ifndef DFTRACERD_ENGINE_GROUP_SAMPLE_H
#define DFTRACERD_ENGINE_GROUP_SAMPLE_H

#include "base/recbuf.h"
#include "dftracerd/measure.h"
#include "dftracerd/query.h"

#include <string.h>

struct sample_memory {
    struct budget *budget;
    bool exact; /* keep all values */
    void *blocks;
    char *next;
    size_t left, block_bytes, charged;
    int error;                  /* of the last sample_alloc that returned NULL */
    struct sample_pages *pages; /* list of all pages */
};
void sample_memory_init(struct sample_memory *m, struct budget *budget, bool exact);
void sample_memory_done(struct sample_memory *m);
/* Returns zeroed memory, aligned to 16 bytes, until sample_memory_done; NULL: see m->error. */
void *sample_alloc(struct sample_memory *m, size_t bytes);

/* Octaves with pages: [2^-10, 2^64). Other values are "odd". */
#define SAMPLE_LOWEST (-10)
#define SAMPLE_OCTAVES (64 - SAMPLE_LOWEST)
#define SAMPLE_PAGE 128 /* bins an octave */
#define SAMPLE_BASE ((uint64_t)(1023 + SAMPLE_LOWEST) * SAMPLE_PAGE)

/* integers; ns, printed in us; doubles */
enum sample_kind { SAMPLE_WHOLE, SAMPLE_NANO, SAMPLE_DOUBLE };
struct sample_pages {
    uint32_t *page[SAMPLE_OCTAVES]; /* counts since the last fold */
    uint64_t *wide[SAMPLE_OCTAVES]; /* counts that were folded, or that have more than 31 bits */
    uint64_t zeros;
    struct sketch *negative, *tiny, *huge; /* below 0; before the first octave; after the last */
    struct sample_pages *next;             /* of this memory, which frees their sketches */
};
struct sample { /* zero-initialise */
    /* list: uint64_t, ordered as the values are; paged: struct sample_pages; sent: pages as bytes,
     * which can only be merged into another sample */
    void *data;
    uint32_t n, cap; /* of the list; sent: number of bytes */
    uint8_t kind;    /* enum sample_kind: the finest of all values */
    bool paged, sent;
};

/* The slow paths of adding a value. They return 0, -ENOMEM or ERR_MEMORY_LIMIT. */
int sample_add_listed(struct sample_memory *m, struct sample *s, int64_t value,
                      enum sample_kind kind);
int sample_add_listed_f64(struct sample_memory *m, struct sample *s, double value);
int sample_add_odd(struct sample_memory *m, struct sample *s, double value);

/* Counts `value` (in whole units), if s->paged. Returns false if sample_add_odd must be called. */
static inline bool sample_bin(struct sample *s, double value)
{
    struct sample_pages *pages = s->data;
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    uint64_t bin = (bits >> 45) - SAMPLE_BASE;
    if (__builtin_expect(bin >= SAMPLE_OCTAVES * SAMPLE_PAGE, 0))
        return false;
    uint32_t *page = pages->page[bin / SAMPLE_PAGE];
    if (__builtin_expect(page == NULL, 0))
        return false;
    page[bin % SAMPLE_PAGE]++;
    return true;
}

/* Returns the number of values in a bin. */
static inline uint64_t sample_bin_count(const struct sample_pages *p, unsigned octave, unsigned bin)
{
    return (p->page[octave] ? p->page[octave][bin] : 0) +
           (p->wide[octave] ? p->wide[octave][bin] : 0);
}
/* Returns the bin of a sketch that has the same values as a bin of the pages, counted over all
 * octaves. */
static inline uint32_t sample_sketch_bin(unsigned bin)
{
    uint64_t bits = (bin + SAMPLE_BASE) << 45;
    double lowest;

    memcpy(&lowest, &bits, sizeof(lowest));
    return sketch_bin(lowest);
}

static inline int sample_add_i64(struct sample_memory *m, struct sample *s, int64_t value,
                                 bool nano)
{
    if (!s->paged)
        return sample_add_listed(m, s, value, nano ? SAMPLE_NANO : SAMPLE_WHOLE);
    s->kind |= nano;
    double whole = nano ? (double)value / 1000 : (double)value;
    return __builtin_expect(sample_bin(s, whole), 1) ? 0 : sample_add_odd(m, s, whole);
}

static inline int sample_add_f64(struct sample_memory *m, struct sample *s, double value)
{
    if (!s->paged)
        return sample_add_listed_f64(m, s, value);
    s->kind = SAMPLE_DOUBLE;
    return __builtin_expect(sample_bin(s, value), 1) ? 0 : sample_add_odd(m, s, value);
}

/* `from` may be in another memory. It is not changed. */
int sample_merge(struct sample_memory *m, struct sample *into, const struct sample *from);
uint64_t sample_count(const struct sample *s);
/* Sets *ret to the values of these ranks (1 to sample_count, ascending), as VALUE_INT, VALUE_TIME
 * (if `time`) or VALUE_DOUBLE. Values from bins are limited to [min, max], in whole units. Sorts
 * the list. Returns 0 or -ENOMEM. */
int sample_ranks(struct sample *s, const uint64_t *ranks, unsigned count, bool time, double min,
                 double max, struct value *ret);
/* Converts a number of units to a value of the answer. */
struct value sample_value(double value, enum sample_kind kind, bool time);
/* Encodes and decodes a sample; `s` is empty before decoding. keep: it is for merging only, so
 * pages stay where they are in the bytes. Returns 0, -ENOMEM or ERR_MEMORY_LIMIT; if the bytes are
 * invalid, it sets r->bad or returns ERR_CORRUPT. */
void sample_encode(const struct sample *s, struct buf *out);
int sample_decode(struct sample_memory *m, struct rec *r, bool keep, struct sample *s);
/* Returns the counts of a sketch with the same values, by ascending bin, as a *new* array; sorts
 * the list. Returns 0 or -ENOMEM. */
struct sample_bin {
    uint32_t bin;
    uint64_t count;
};
int sample_bins(struct sample *s, struct sample_bin **ret, size_t *ret_count);
/* Adds all values (integers and times only). */
void sample_histogram(const struct sample *s, struct histogram *h);
/* Moves the 32-bit counters of pages to wide ones. To be called before 2^32 values were added to a
 * sample of the memory. */
#define SAMPLE_FOLD_ROWS 0x7FFFFFFFu
int sample_fold(struct sample_memory *m);

#endif
