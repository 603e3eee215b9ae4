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
    for (uint32_t i = 0; i < s->n && rc == 0; i++)
        bins_add(b, sketch_bin(value_double(&v[i], 0)), 1);
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
        uint64_t count = sample_bin_count(p, i / SAMPLE_PAGE, i % SAMPLE_PAGE);
        if (count)
            bins_add(b, sample_sketch_bin(i), count);
    }
    if (p->huge)
        sketch_each_bin(p->huge, bins_add, b);
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
