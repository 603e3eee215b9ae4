/* bins.c - counts of a sample by the bins of sketches. */
#include "dftracerd/vec.h"
#include "engine/group/sample.h"

#include <assert.h>

struct bins {
    VEC(struct sample_bin) list;
    int error;
};

static void bins_add(void *arg, uint32_t bin, uint64_t count)
{
    struct bins *b = arg;
    struct sample_bin *last = b->list.count ? &b->list.at[b->list.count - 1] : NULL;

    if (last && last->bin == bin) {
        last->count += count;
        return;
    }
    int rc = vec_push(&b->list, {bin, count});
    b->error = rc < 0 ? rc : b->error;
}

/* For lists of at most SKETCH_EXACT values; bins of longer ones, with `exact`, are never needed. */
static int add_list(struct bins *b, struct sample *s)
{
    uint64_t ranks[SKETCH_EXACT];
    struct value v[SKETCH_EXACT];

    assert(s->n <= SKETCH_EXACT);
    for (uint32_t i = 0; i < s->n; i++)
        ranks[i] = i + 1;
    int rc = sample_ranks(s, ranks, s->n, s->kind == SAMPLE_NANO, 0, 0, v);
    for (uint32_t i = 0; i < s->n && rc == 0; i++) {
        double value = v[i].type == VALUE_TIME  ? (double)v[i].wide / 1000
                       : v[i].type == VALUE_INT ? (double)v[i].i
                                                : v[i].d;
        bins_add(b, sketch_bin(value), 1);
    }
    return rc;
}

static void add_pages(struct bins *b, const struct sample_pages *p)
{
    if (p->negative)
        sketch_each_bin(p->negative, bins_add, b);
    if (p->zeros)
        bins_add(b, sketch_bin(0), p->zeros);
    if (p->tiny)
        sketch_each_bin(p->tiny, bins_add, b);
    for (unsigned i = 0; i < SAMPLE_OCTAVES * SAMPLE_PAGE; i++) {
        unsigned octave = i / SAMPLE_PAGE, bin = i % SAMPLE_PAGE;
        uint64_t count = (p->page[octave] ? p->page[octave][bin] : 0) +
                         (p->wide[octave] ? p->wide[octave][bin] : 0);
        uint64_t bits = (i + SAMPLE_BASE) << 45;
        double lowest;
        memcpy(&lowest, &bits, sizeof(lowest));
        if (count)
            bins_add(b, sketch_bin(lowest), count);
    }
}

int sample_bins(struct sample *s, struct sample_bin **ret, size_t *ret_count)
{
    struct bins b = {0};
    int rc = s->paged ? 0 : add_list(&b, s);

    if (s->paged)
        add_pages(&b, s->data);
    rc = rc < 0 ? rc : b.error;
    if (rc < 0) {
        vec_done(&b.list);
        return rc;
    }
    *ret = b.list.at;
    *ret_count = b.list.count;
    return 0;
}
