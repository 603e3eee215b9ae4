/* sample.h - the values of one group that percentiles and histograms are made of.
 *
 * A sample is a list of values while it has at most SKETCH_EXACT of them (always, with
 * memory->exact), and counts per bin beyond: the bins of struct sketch (measure.h), kept as one
 * page of 128 counters per octave, so that a kernel adds a value with three instructions and no
 * call. The answers equal those of a struct sketch of the same values.
 * Threads: one at a time. Memory: charged to the budget; released as a whole by sample_memory_done.
 */
#ifndef DFTRACERD_ENGINE_GROUP_SAMPLE_H
#define DFTRACERD_ENGINE_GROUP_SAMPLE_H

#include "base/recbuf.h"
#include "dftracerd/query.h"

#include <string.h>

struct sample_memory {
    struct budget *budget;
    bool exact; /* keep all values */
    void *blocks;
    char *next;
    size_t left, block_bytes, charged;
    int error;                  /* of the last sample_alloc that gave NULL */
    struct sample_pages *pages; /* all of them */
};
void sample_memory_init(struct sample_memory *m, struct budget *budget, bool exact);
void sample_memory_done(struct sample_memory *m);
/* Zeroed, 16-byte aligned, until sample_memory_done; NULL: see m->error. */
void *sample_alloc(struct sample_memory *m, size_t bytes);

#define SAMPLE_LOWEST (-10) /* octaves with pages: [2^-10, 2^64); the rest is odd */
#define SAMPLE_OCTAVES (64 - SAMPLE_LOWEST)
#define SAMPLE_PAGE 128 /* bins an octave */
#define SAMPLE_BASE ((uint64_t)(1023 + SAMPLE_LOWEST) * SAMPLE_PAGE)

/* integers, ns told in us, doubles */
enum sample_kind { SAMPLE_WHOLE, SAMPLE_NANO, SAMPLE_DOUBLE };
struct sample_pages {
    uint32_t *page[SAMPLE_OCTAVES]; /* what was counted lately, or merged */
    uint64_t *wide[SAMPLE_OCTAVES]; /* what was folded, or merged and has more bits */
    uint64_t zeros;
    struct sketch *negative, *tiny; /* below 0; between 0 and the first octave */
    struct sample_pages *next;      /* of this memory: their sketches are freed with it */
};
struct sample { /* zero-initialise */
    /* list: uint64_t that order as the values do; else struct sample_pages, or if `sent`, these as
     * bytes: it can only be merged into another */
    void *data;
    uint32_t n, cap; /* of the list; or so many bytes */
    uint8_t kind;    /* enum sample_kind: the finest of all values */
    bool paged, sent;
};

/* Slow ways: 0, -ENOMEM, ERR_MEMORY_LIMIT. */
int sample_add_listed(struct sample_memory *m, struct sample *s, int64_t value,
                      enum sample_kind kind);
int sample_add_listed_f64(struct sample_memory *m, struct sample *s, double value);
int sample_add_odd(struct sample_memory *m, struct sample *s, double value);

/* Counts `value` (in whole units); false: sample_add_odd must do it. Only when s->paged. */
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

/* `from` may live in another memory; it stays as it is. */
int sample_merge(struct sample_memory *m, struct sample *into, const struct sample *from);
uint64_t sample_count(const struct sample *s);
/* Values of these ranks (1 to sample_count, ascending): as VALUE_INT, VALUE_TIME (`time`) or
 * VALUE_DOUBLE. What bins tell is kept within [min, max], in whole units. Sorts the list. 0,
 * -ENOMEM. */
int sample_ranks(struct sample *s, const uint64_t *ranks, unsigned count, bool time, double min,
                 double max, struct value *ret);
/* How a whole number of units, or a fraction, is told. */
struct value sample_value(double value, enum sample_kind kind, bool time);
/* As bytes; `s` is empty before. keep: it is for merging only, and pages stay where they are in the
 * bytes. 0, -ENOMEM, ERR_MEMORY_LIMIT; r->bad. */
void sample_encode(const struct sample *s, struct buf *out);
int sample_decode(struct sample_memory *m, struct rec *r, bool keep, struct sample *s);
/* How many values each bin of a sketch would have, ascending; a list is sorted. *new* array. 0,
 * -ENOMEM. */
struct sample_bin {
    uint32_t bin;
    uint64_t count;
};
int sample_bins(struct sample *s, struct sample_bin **ret, size_t *ret_count);
/* Adds all values (integers and times only). */
void sample_histogram(const struct sample *s, struct histogram *h);
/* Counters of pages have 32 bits: to be called for all samples of a memory before 2^32 values were
 * added to one. */
#define SAMPLE_FOLD_ROWS 0x7FFFFFFFu
int sample_fold(struct sample_memory *m);

#endif
