/* aggregate_passes.c - counts the rows of prefixes, and sorts out the rows of a pass. */
#include "aggregate_passes.h"

#include <errno.h>
#include <stdlib.h>

/* ---- prefixes ------------------------------------------------------------------------------------------ */

/* Keys that may tell passes apart: of a row that is shared out among buckets those before the bucket. */
static unsigned most_keys(const struct aggregate_plan *p)
{
    return p->split && p->bucket_key >= 0 ? (unsigned)p->bucket_key : p->width;
}

static int plan_prefix(struct prefixes *x, const struct aggregate_plan *p, unsigned width)
{
    x->measures = malloc((p->measure_count + 1) * sizeof(*x->measures));
    if (!x->measures)
        return -ENOMEM;
    if (p->measure_count)
        memcpy(x->measures, p->measures, p->measure_count * sizeof(*x->measures));
    for (unsigned i = 0; i < p->measure_count; i++)
        x->measures[i].sample = false;
    x->plan = *p;
    x->plan.measures = x->measures;
    x->plan.width = width;
    x->plan.keep_count = 0;
    x->plan.exact = x->plan.shape = x->plan.split = x->plan.intervals = false;
    x->plan.tally = true;
    return 0;
}

static int rank_prefixes(struct prefixes *x)
{
    size_t bytes = x->order.count * sizeof(uint32_t);
    int rc = budget_charge(x->plan.budget, bytes);

    if (rc < 0)
        return rc;
    x->charged = bytes;
    for (unsigned i = 0; i < SETS; i++) {
        x->rank[i] = malloc((x->found->set[i].map.table.count + 1) * sizeof(**x->rank));
        if (!x->rank[i])
            return -ENOMEM;
    }
    for (size_t i = 0; i < x->order.count; i++)
        x->rank[x->order.rows[i].set][x->order.rows[i].group] = (uint32_t)i;
    return 0;
}

static uint64_t rows_of(const struct prefixes *x, size_t i)
{
    return set_record(&x->found->set[x->order.rows[i].set], x->order.rows[i].group)->count;
}

static int count_prefixes(const struct aggregate_plan *p, unsigned width, struct err *err,
                          struct prefixes **ret)
{
    struct prefixes *x = calloc(1, sizeof(*x));

    if (!x)
        return -ENOMEM;
    int rc = plan_prefix(x, p, width);
    if (rc == 0)
        rc = aggregate_scan(&x->plan, &x->found, &x->fine, err);
    if (rc == 0)
        rc = aggregate_order(p->query, x->found, &x->order);
    if (rc == 0)
        rc = rank_prefixes(x);
    if (rc < 0) {
        prefixes_free(x);
        return rc;
    }
    *ret = x;
    return 0;
}

static bool is_fine_enough(const struct prefixes *x, uint64_t rows)
{
    for (size_t i = 0; i < x->order.count; i++) {
        if (rows_of(x, i) > rows)
            return false;
    }
    return true;
}

/* More keys until prefixes are small, or would need a fair part of the memory themselves. */
int prefixes_find(const struct aggregate_plan *p, uint64_t rows, struct err *err,
                  struct prefixes **ret)
{
    struct prefixes *x = NULL, *finer = NULL;
    int rc = 0;

    for (unsigned width = 1; width <= most_keys(p); width++) {
        rc = count_prefixes(p, width, err, &finer);
        if (x && (rc == ERR_MEMORY_LIMIT || rc == ERR_ROW_LIMIT)) {
            err_done(err);
            break;
        }
        prefixes_free(x);
        if (rc < 0)
            return rc;
        x = finer;
        if (is_fine_enough(x, rows) || x->order.count > rows / 16)
            break;
    }
    *ret = x;
    return x ? 0 : ERR_MEMORY_LIMIT;
}

void prefixes_free(struct prefixes *x)
{
    if (!x)
        return;
    fine_done(&x->plan, &x->fine);
    found_free(x->found);
    budget_release(x->plan.budget, x->charged);
    for (unsigned i = 0; i < SETS; i++)
        free(x->rank[i]);
    order_done(&x->order, x->plan.budget);
    free(x->measures);
    free(x);
}

size_t prefixes_take(const struct prefixes *x, size_t from, uint64_t rows, uint64_t *ret_rows)
{
    size_t to = from;

    for (*ret_rows = 0; to < x->order.count; to++) {
        uint64_t more = rows_of(x, to);
        if (to > from && *ret_rows + more > rows)
            break;
        *ret_rows += more;
    }
    return to;
}

/* ---- rows of a pass ------------------------------------------------------------------------------------ */

enum { NOT_KNOWN, UNWANTED, WANTED };
struct pass_filter {
    const struct aggregate_plan *plan;
    struct group_map map[SETS]; /* of the prefixes that this worker has met                 */
    uint8_t *wanted[SETS];      /* by their number                                          */
    uint32_t cap[SETS];
    bool bound[SETS]; /* the map knows the present chunk                          */
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
        group_map_init(&f->map[i], p->key_sources, p->pass->prefixes->plan.width, p->max_groups,
                       p->budget);
    *ret = f;
    return 0;
}

void pass_filter_free(struct pass_filter *f)
{
    if (!f)
        return;
    for (unsigned i = 0; i < SETS; i++) {
        group_map_done(&f->map[i]);
        free(f->wanted[i]);
    }
    free(f);
}

void pass_filter_chunk(struct pass_filter *f)
{
    memset(f->bound, 0, sizeof(f->bound));
}

static int look_up(struct pass_filter *f, unsigned set, uint32_t group)
{
    const struct pass *pass = f->plan->pass;
    const struct prefixes *x = pass->prefixes;
    uint64_t told[GROUP_KEYS_MAX];
    int rc = plan_keys(&x->plan, group_table_keys(&f->map[set].table, group), told);

    if (rc < 0)
        return rc;
    int64_t at = group_table_find(&x->found->set[set].map.table, told);
    if (at < 0)
        return ERR_CORRUPT; /* all rows were there when they were counted */
    uint32_t rank = x->rank[set][at];
    f->wanted[set][group] = rank >= pass->from && rank < pass->to ? WANTED : UNWANTED;
    return 0;
}

static int grow_wanted(struct pass_filter *f, unsigned set)
{
    uint32_t count = f->map[set].table.count, cap = f->cap[set] ? f->cap[set] : 64;

    if (count <= f->cap[set])
        return 0;
    while (cap < count)
        cap *= 2;
    uint8_t *grown = realloc(f->wanted[set], cap);
    if (!grown)
        return -ENOMEM;
    memset(grown + f->cap[set], NOT_KNOWN, cap - f->cap[set]);
    f->wanted[set] = grown;
    f->cap[set] = cap;
    return 0;
}

/* Rows of the batch that are wanted, into f->rows. */
static int64_t sort_out(struct pass_filter *f, const struct scan_batch *b, unsigned set)
{
    uint32_t kept = 0;
    int rc = grow_wanted(f, set);

    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        uint32_t group = f->group[j];
        if (f->wanted[set][group] == NOT_KNOWN)
            rc = look_up(f, set, group);
        f->rows[kept] = (uint16_t)batch_row(b, j);
        kept += f->wanted[set][group] == WANTED;
    }
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
