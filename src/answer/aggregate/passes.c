/* passes.c - selects the rows of a pass. */
#include "answer/aggregate/passes.h"

#include <errno.h>
#include <stdlib.h>

int pass_begin(struct pass *pass, struct prefixes *x)
{
    const struct scan_place *places;
    size_t count = scan_places(x->plan.query, &places), bytes = count * sizeof(*pass->chunks);
    int rc = budget_charge(x->plan.budget, bytes);

    *pass = (struct pass){.prefixes = x};
    if (rc < 0)
        return rc;
    x->charged += bytes;
    pass->chunks = malloc(bytes + 1);
    for (size_t i = 0; i < count && pass->chunks; i++)
        pass->chunks[i] = (struct rank_range){0, UINT32_MAX};
    return pass->chunks ? 0 : -ENOMEM;
}

struct pass_filter {
    const struct aggregate_plan *plan;
    struct group_map map[SETS];    /* prefixes that this worker has found */
    VEC(uint32_t) rank_plus[SETS]; /* by group of `map`: 1 + rank of the prefix; 0: not known */
    bool bound[SETS];              /* group_map_chunk was called for the current chunk */
    struct rank_range range;       /* of the current chunk */
    uint32_t group[SCAN_BATCH];
    uint16_t rows[SCAN_BATCH];
};

int pass_filter_new(const struct aggregate_plan *p, struct pass_filter **ret)
{
    const struct aggregate_plan *counted = &p->pass->prefixes->plan;
    struct pass_filter *f = calloc(1, sizeof(*f));

    if (!f)
        return -ENOMEM;
    f->plan = p;
    for (unsigned i = 0; i < SETS; i++)
        group_map_init(&f->map[i], counted->key_sources, counted->width, p->max_groups, p->budget);
    *ret = f;
    return 0;
}

void pass_filter_free(struct pass_filter *f)
{
    for (unsigned i = 0; f && i < SETS; i++) {
        group_map_done(&f->map[i]);
        vec_done(&f->rank_plus[i]);
    }
    free(f);
}

void pass_filter_chunk_begin(struct pass_filter *f)
{
    memset(f->bound, 0, sizeof(f->bound));
    f->range = (struct rank_range){UINT32_MAX, 0};
}

void pass_filter_chunk_end(struct pass_filter *f, size_t position)
{
    f->plan->pass->chunks[position] = f->range;
}

static int find_rank(struct pass_filter *f, unsigned set, uint32_t group)
{
    const struct prefixes *x = f->plan->pass->prefixes;
    uint64_t keys[GROUP_KEYS_MAX];
    int rc = plan_keys((void *)&x->plan, group_table_keys(&f->map[set].table, group), keys);

    if (rc < 0)
        return rc;
    int64_t prefix = group_table_find(&x->found->set[set].map.table, keys);
    if (prefix < 0)
        return ERR_CORRUPT; /* the scan that counted the rows has found all prefixes */
    f->rank_plus[set].at[group] = x->rank[set][prefix] + 1;
    return 0;
}

/* Stores the rows of the pass to f->rows. Returns their number, or an error. */
static int64_t select_rows(struct pass_filter *f, const struct scan_batch *b, unsigned set)
{
    const struct pass *pass = f->plan->pass;
    struct rank_range range = f->range;
    uint32_t kept = 0;
    int rc = vec_extend(&f->rank_plus[set], f->map[set].table.count);

    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        uint32_t group = f->group[j];
        if (f->rank_plus[set].at[group] == 0)
            rc = find_rank(f, set, group);
        uint32_t rank = f->rank_plus[set].at[group] - 1;
        range.min = rank < range.min ? rank : range.min;
        range.max = rank > range.max ? rank : range.max;
        f->rows[kept] = (uint16_t)batch_row(b, j);
        kept += rank >= pass->from && rank < pass->to;
    }
    f->range = range;
    return rc < 0 ? rc : (int64_t)kept;
}

int pass_filter_batch(struct pass_filter *f, struct scan_batch *b, unsigned set,
                      struct scan_batch *ret)
{
    int rc = f->bound[set] ? 0 : group_map_chunk(&f->map[set], b->chunk);

    f->bound[set] = true;
    if (rc == 0)
        rc = group_map_batch(&f->map[set], b, f->group);
    int64_t kept = rc < 0 ? rc : select_rows(f, b, set);
    if (kept < 0)
        return (int)kept;
    *ret = *b;
    if (kept == b->count)
        return 0;
    ret->mask = NULL; /* values that were read for the batch include those of some of its rows */
    ret->select = f->rows;
    ret->count = (uint32_t)kept;
    return 0;
}
