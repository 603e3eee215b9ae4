/* passes.c - finds the rows of a pass. */
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
        pass->chunks[i] = (struct chunk_span){0, UINT32_MAX};
    return pass->chunks ? 0 : -ENOMEM;
}

#define NOT_KNOWN UINT32_MAX
struct pass_filter {
    const struct aggregate_plan *plan;
    struct group_map map[SETS]; /* of the prefixes that this worker has met */
    uint32_t *rank[SETS];       /* by their number: place in the order */
    uint32_t cap[SETS];
    bool bound[SETS];       /* the map knows the current chunk */
    struct chunk_span span; /* of the current chunk */
    uint32_t group[SCAN_BATCH];
    uint16_t rows[SCAN_BATCH];
};

int pass_filter_new(const struct aggregate_plan *p, struct pass_filter **ret)
{
    struct pass_filter *f = calloc(1, sizeof(*f));

    if (!f)
        return -ENOMEM;
    f->plan = p;
    for (unsigned i = 0; i < SETS; i++)
        group_map_init(&f->map[i], p->pass->prefixes->plan.key_sources,
                       p->pass->prefixes->plan.width, p->max_groups, p->budget);
    *ret = f;
    return 0;
}

void pass_filter_free(struct pass_filter *f)
{
    if (!f)
        return;
    for (unsigned i = 0; i < SETS; i++) {
        group_map_done(&f->map[i]);
        free(f->rank[i]);
    }
    free(f);
}

void pass_filter_chunk(struct pass_filter *f)
{
    memset(f->bound, 0, sizeof(f->bound));
    f->span = (struct chunk_span){UINT32_MAX, 0};
}

void pass_filter_chunk_end(struct pass_filter *f, size_t position)
{
    f->plan->pass->chunks[position] = f->span;
}

static int look_up(struct pass_filter *f, unsigned set, uint32_t group)
{
    const struct prefixes *x = f->plan->pass->prefixes;
    uint64_t keys[GROUP_KEYS_MAX];
    int rc = plan_keys((void *)&x->plan, group_table_keys(&f->map[set].table, group), keys);

    if (rc < 0)
        return rc;
    int64_t at = group_table_find(&x->found->set[set].map.table, keys);
    if (at < 0)
        return ERR_CORRUPT; /* all rows were there when they were counted */
    f->rank[set][group] = x->rank[set][at];
    return 0;
}

static int grow_ranks(struct pass_filter *f, unsigned set)
{
    uint32_t count = f->map[set].table.count, cap = f->cap[set] ? f->cap[set] : 64;

    if (count <= f->cap[set])
        return 0;
    while (cap < count)
        cap *= 2;
    uint32_t *grown = realloc(f->rank[set], cap * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    for (uint32_t i = f->cap[set]; i < cap; i++)
        grown[i] = NOT_KNOWN;
    f->rank[set] = grown;
    f->cap[set] = cap;
    return 0;
}

/* Rows of the batch that are wanted, into f->rows. */
static int64_t sort_out(struct pass_filter *f, const struct scan_batch *b, unsigned set)
{
    const struct pass *pass = f->plan->pass;
    struct chunk_span span = f->span;
    uint32_t kept = 0;
    int rc = grow_ranks(f, set);

    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        uint32_t group = f->group[j];
        if (f->rank[set][group] == NOT_KNOWN)
            rc = look_up(f, set, group);
        uint32_t rank = f->rank[set][group];
        span.least = rank < span.least ? rank : span.least;
        span.most = rank > span.most ? rank : span.most;
        f->rows[kept] = (uint16_t)batch_row(b, j);
        kept += rank >= pass->from && rank < pass->to;
    }
    f->span = span;
    return rc < 0 ? rc : (int64_t)kept;
}

int pass_filter_batch(struct pass_filter *f, struct scan_batch *b, unsigned set,
                      struct scan_batch *some)
{
    int rc = f->bound[set] ? 0 : group_map_chunk(&f->map[set], b->chunk);

    f->bound[set] = true;
    if (rc == 0)
        rc = group_map_batch(&f->map[set], b, f->group);
    int64_t kept = rc < 0 ? rc : sort_out(f, b, set);
    if (kept <= 0 || kept == b->count)
        return kept < 0 ? (int)kept : kept > 0;
    *some = *b;
    some->mask = NULL; /* what was decoded for the batch is enough for some of its rows */
    some->select = f->rows;
    some->count = (uint32_t)kept;
    return 2;
}
