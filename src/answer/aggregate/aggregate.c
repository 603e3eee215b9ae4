/* aggregate.c - /aggregate: plans, scans, orders, and returns rows.
 *
 * Path:  plan.c -> scan.c -> engine/group/order.h -> columns.c, row_values.c
 *
 * All groups come from one scan. If memory does not suffice for them, they come from several passes
 * while rows are read (prefixes.h). With `top`, or with `sort` and several passes, only the best
 * rows of all passes are kept (rows.h).
 *
 */
#include "answer/aggregate/columns.h"
#include "answer/aggregate/prefixes.h"
#include "answer/aggregate/process.h"
#include "answer/aggregate/rows.h"
#include "answer/aggregate/scan.h"

#include <errno.h>
#include <stdlib.h>

struct aggregate {
    struct table table;
    struct aggregate_plan plan;
    struct arena arena;
    struct aggregate_options options; /* of rows; texts in the arena */
    struct groups *found;
    struct row_reader reader;
    struct group_order order;
    size_t at, end;               /* rows in memory that are still to be returned: [at, end) */
    size_t want;                  /* maximum number of rows of the next block */
    struct column_block block;    /* the current block; not used with `kept` */
    uint64_t skip, left;          /* rows to skip, then to return, after those in memory */
    struct value *values;         /* of the current block, row by row */
    struct vector_memory memory;  /* for column_values */
    int64_t numbers[TABLE_BLOCK]; /* of `memory` */
    bool *done;                   /* by column: `values` are filled */
    bool named;                   /* columns of system rows were added */
    struct prefixes *prefixes;    /* NULL: all groups come from one scan */
    struct pass pass;
    uint64_t capacity;  /* groups that fit into memory */
    uint64_t pass_rows; /* of the next pass */
    unsigned passes;
    struct best_rows *best; /* NULL: rows are read from groups */
    /* Values of all rows, and their positions there in the order of the answer; borrowed from
     * `best`. NULL: they are not known yet, or rows are read from groups. */
    struct value *kept;
    uint32_t *kept_order;
    size_t kept_count;
};

/* The table is the first member. */
static struct aggregate *table_aggregate(const struct table *t)
{
    return (struct aggregate *)t;
}

/* Sets the error; the texts of limits name the parameters of the request. */
static int aggregate_error(const struct aggregate *a, int rc, struct err *err)
{
    uint64_t groups = a->plan.max_groups ? a->plan.max_groups : 10000000;

    if (rc == ERR_ROW_LIMIT) {
        err_done(err);
        return err_set(
            err, rc,
            "more than %llu groups; choose fewer columns, longer intervals or fewer objects",
            (unsigned long long)groups);
    }
    if (rc == ERR_MEMORY_LIMIT) {
        err_done(err);
        return err_set(err, rc,
                       "the groups exceed the memory limit of a query (%llu MiB); choose fewer "
                       "columns, longer intervals or fewer objects%s",
                       (unsigned long long)(a->plan.budget->memory_limit >> 20),
                       a->best ? ", or fewer rows (`top`, or `limit` with `sort`)" : "");
    }
    return err_set_code(err, rc);
}

/* Finds the measures of system rows that have a value, and adds their columns. */
static int name_system_columns(struct aggregate *a, const struct groups *found)
{
    struct aggregate_plan *p = &a->plan;
    const struct groups_of_set *s = &found->set[SET_SYSTEM];
    const struct set_doubles *d = &found->doubles.set[SET_SYSTEM];
    bool *used = calloc(p->measures.count + 1, sizeof(*used));

    if (!used)
        return -ENOMEM;
    for (unsigned m = p->requested_measures; m < p->measures.count; m++) {
        for (uint32_t g = 0; g < s->map.table.count && !used[m]; g++) {
            const struct int_moments *c = group_slot(s, g, m);
            used[m] = c->count || c->more >> 1;
        }
        for (uint32_t g = 0; g < d->table.count && !used[m]; g++)
            used[m] = doubles_at(d, g, m)->m.count > 0;
    }
    int rc = plan_system_columns(p, used);
    free(used);
    a->named = rc == 0;
    return rc;
}

/* ---- the groups of one scan ------------------------------------------------------------------ */

/* Selects, by `offset` and `limit`, which of the `count` rows in memory are returned. */
static void set_cursor(struct aggregate *a, size_t count)
{
    uint64_t skipped = a->skip < count ? a->skip : count;
    uint64_t returned = a->left < count - skipped ? a->left : count - skipped;

    a->skip -= skipped;
    a->left -= returned;
    a->at = skipped;
    a->end = skipped + returned;
}

static int scan_groups(struct aggregate *a, const struct aggregate_options *o, struct err *err)
{
    struct aggregate_plan *p = &a->plan;
    int rc = groups_scan(&p->grouping, &a->found, err);

    a->reader.plan = p;
    a->reader.found = a->found;
    if (rc == 0)
        rc = groups_order(a->found, 0, SETS, &a->order);
    if (rc == 0 && p->classes && !a->named)
        rc = name_system_columns(a, a->found);
    if (rc == 0 && (o->parents || p->boundary_count) && p->classes && !a->reader.processes)
        rc = process_table_new(p, err, &a->reader.processes);
    if (rc == 0)
        rc = row_reader_begin(&a->reader);
    if (rc == 0 && p->general)
        rc = rows_choose(&a->reader, o, a->order.rows, &a->order.count, err);
    if (rc == 0)
        set_cursor(a, a->order.count);
    return rc;
}

static void free_groups(struct aggregate *a)
{
    if (a->reader.plan)
        row_reader_done(&a->reader);
    groups_free(a->found);
    group_order_done(&a->order, a->plan.budget);
    a->found = NULL;
    a->at = a->end = a->block.count = 0;
}

/* ---- passes ---------------------------------------------------------------------------------- */

static bool is_limit_error(int rc)
{
    return rc == ERR_MEMORY_LIMIT || rc == ERR_ROW_LIMIT;
}

/* Scans until a pass has rows to return; of fewer prefixes if memory does not suffice. Returns 0,
 * ERR_END, or an error of the scan. */
static int next_pass(struct aggregate *a, struct err *err)
{
    uint64_t rows;
    int rc = 0;

    free_groups(a);
    while (a->at == a->end) {
        size_t from = rc < 0 ? a->pass.from : a->pass.to;
        if (from == a->prefixes->order.count || a->left == 0)
            return ERR_END;
        a->pass.from = from;
        a->passes++;
        a->pass.to = prefixes_take(a->prefixes, from, a->pass_rows, &rows);
        rc = scan_groups(a, &a->options, err);
        if (rc == 0) { /* the next pass shall have half of the groups that fit into memory */
            uint64_t groups = a->order.count ? a->order.count : 1, max = rows * 8;
            double wanted = (double)rows * (double)a->capacity / 2 / (double)groups;
            a->pass_rows = wanted > (double)max ? max : (uint64_t)wanted;
            if (a->pass_rows < a->capacity)
                a->pass_rows = a->capacity;
            if (a->at == a->end)
                free_groups(a);
            continue;
        }
        free_groups(a);
        if (!is_limit_error(rc) || a->pass.to == from + 1)
            return rc;
        err_done(err);
        a->pass_rows = rows / 2;
    }
    return 0;
}

static int begin_passes(struct aggregate *a, const struct aggregate_options *o, struct err *err)
{
    free_groups(a);
    err_done(err);
    uint64_t groups = a->plan.budget->memory_limit /
                      groups_bytes_each(&a->plan.sets[a->plan.classes ? SET_SYSTEM : SET_EVENT]);
    a->capacity = a->pass_rows =
        a->plan.budget->memory_limit && groups < 5000000 ? groups + 1 : 5000000;
    int rc = prefixes_find(&a->plan, a->capacity, err, &a->prefixes);
    if (rc < 0)
        return rc;
    rc = pass_begin(&a->pass, a->prefixes);
    a->plan.pass = &a->pass;
    if (rc == 0 && a->plan.classes && !a->named)
        rc = name_system_columns(a, a->prefixes->found);
    a->options = *o;
    a->options.having = o->having ? arena_strdup(&a->arena, text_of(o->having)) : NULL;
    if (rc == 0 && o->having && !a->options.having)
        rc = -ENOMEM;
    a->options.sort_count = 0; /* rows of all passes are sorted, not those of one */
    return rc;
}

static void rewind_rows(struct table *t)
{
    struct aggregate *a = table_aggregate(t);

    a->skip = a->options.offset;
    a->left = a->options.limit;
    if (!a->prefixes || a->kept) {
        set_cursor(a, a->kept ? a->kept_count : a->order.count);
        return;
    }
    free_groups(a);
    a->pass.from = a->pass.to = 0;
}

/* ---- the best rows --------------------------------------------------------------------------- */

/* Calls `each` for the groups of each pass, or once if all groups are in memory. */
static int each_pass(struct aggregate *a, int (*each)(struct aggregate *a, void *arg), void *arg,
                     struct err *err)
{
    int rc;

    if (!a->prefixes)
        return each(a, arg);
    free_groups(a);
    a->pass.from = a->pass.to = 0;
    a->skip = 0;
    a->left = UINT64_MAX;
    while ((rc = next_pass(a, err)) == 0 && (rc = each(a, arg)) == 0)
        continue;
    return rc == ERR_END ? 0 : rc;
}

static int add_best(struct aggregate *a, void *arg)
{
    (void)arg;
    return best_add(a->best, &a->reader, a->order.rows, a->order.count);
}

static int add_others(struct aggregate *a, void *arg)
{
    return others_add(arg, &a->reader, a->best, a->order.rows, a->order.count);
}

/* Adds all other groups as the last row. */
static int add_others_row(struct aggregate *a, struct err *err)
{
    struct others *others;
    int rc = others_new(&a->plan, &others);

    if (rc < 0)
        return rc;
    rc = best_index_keys(a->best);
    rc = rc < 0 ? rc : each_pass(a, add_others, others, err);
    rc = rc < 0 ? rc : others_values(others, a->kept + a->kept_count * a->plan.columns.count);
    if (rc == 0) {
        a->kept_order[a->kept_count] = (uint32_t)a->kept_count;
        a->kept_count++;
    }
    others_free(others);
    return rc;
}

static int keep_best(struct aggregate *a, const struct aggregate_options *o, struct err *err)
{
    struct sort_key *keys;
    size_t width;
    uint64_t max = o->top                              ? o->top
                   : o->limit < UINT64_MAX - o->offset ? o->offset + o->limit
                                                       : UINT64_MAX;
    int rc = rows_sort_keys(&a->plan, o, &keys, &width, err);

    rc = rc < 0 ? rc : best_new(&a->plan, keys, width, max, &a->best);
    rc = rc < 0 ? rc : each_pass(a, add_best, NULL, err);
    rc = rc < 0 ? rc : best_finish(a->best, &a->kept, &a->kept_order, &a->kept_count);
    if (rc == 0 && o->top && !best_has_all(a->best))
        rc = add_others_row(a, err);
    if (rc == 0 && o->top)
        rc = rows_sort_values(&a->plan, o, a->kept, a->kept_order, a->kept_count, err);
    if (rc < 0)
        return rc;
    free_groups(a);
    rewind_rows(&a->table);
    return 0;
}

static int find_groups(struct aggregate *a, const struct aggregate_options *o, struct err *err)
{
    a->options.offset = a->skip = o->offset;
    a->options.limit = a->left = o->limit;
    int rc = scan_groups(a, o, err);
    /* A limit of groups in the configuration limits the whole answer, not a pass. */
    bool in_passes =
        is_limit_error(rc) && a->plan.width > 0 && !(rc == ERR_ROW_LIMIT && a->plan.max_groups);
    if (in_passes)
        rc = begin_passes(a, o, err);
    if (rc == 0 && (o->top || (in_passes && o->sort_count)))
        rc = keep_best(a, o, err);
    else if (rc == 0 && in_passes)
        rc = next_pass(a, err);
    if (rc < 0 && rc != ERR_END)
        return rc;
    a->values = malloc((TABLE_BLOCK * a->plan.columns.count + 1) * sizeof(*a->values));
    a->done = calloc(a->plan.columns.count + 1, sizeof(*a->done));
    return a->values && a->done ? 0 : -ENOMEM;
}

struct table *aggregate_table(struct aggregate *a)
{
    return &a->table;
}

__int128 aggregate_interval(const struct aggregate *a)
{
    return a->plan.bucket_key < 0 ? 0 : a->plan.interval_ns;
}

/* ---- the table ------------------------------------------------------------------------------- */

static uint64_t min_rows(const struct table *t)
{
    return table_aggregate(t)->end - table_aggregate(t)->at;
}

/* Copies the next rows of `kept` to `values`. */
static void copy_kept(struct aggregate *a, size_t n)
{
    const size_t columns = a->plan.columns.count;

    for (size_t i = 0; i < n; i++)
        memcpy(a->values + i * columns, a->kept + a->kept_order[a->at + i] * columns,
               columns * sizeof(*a->values));
}

static int next_block(struct table *t, struct err *err, struct table_block *ret)
{
    struct aggregate *a = table_aggregate(t);
    int rc = 0;

    if (a->at == a->end)
        rc = a->prefixes && !a->kept ? next_pass(a, err) : ERR_END;
    if (rc < 0)
        return rc == ERR_END ? rc : aggregate_error(a, rc, err);
    rc = budget_check(a->plan.budget);
    if (rc < 0)
        return err_set_code(err, rc);
    size_t n = a->end - a->at < a->want ? a->end - a->at : a->want;
    if (a->kept) {
        copy_kept(a, n);
        a->at += n;
        *ret = (struct table_block){n, 0};
        return 0;
    }
    const struct row_id *rows = a->order.rows + a->at;
    while (rows[n - 1].set != rows->set)
        n--;
    rc = block_gather(a->found, &a->block, rows, n);
    if (rc < 0)
        return err_set_code(err, rc);
    a->at += n;
    a->block.ahead = a->order.rows + a->at;
    a->block.ahead_count = a->end - a->at < TABLE_BLOCK ? a->end - a->at : TABLE_BLOCK;
    *ret = (struct table_block){n, (uint64_t)a->passes * SETS + rows->set};
    return 0;
}

/* ---- columns of a block ---------------------------------------------------------------------- */

static int bucket_value(void *plan, uint64_t key, struct value *ret)
{
    const struct aggregate_plan *p = plan;

    return aggregate_key_value(p, (unsigned)p->bucket_key, key, ret);
}

static int key_value(void *plan, uint64_t key, struct value *ret)
{
    const struct aggregate_plan *p = plan;

    return aggregate_key_value(p, (unsigned)p->bucket_key + 1, key, ret);
}

static void read_codes(const struct table *t, uint64_t part, size_t column, struct vector *ret)
{
    struct aggregate *a = table_aggregate(t);
    const struct key_ranks *r = &a->order.set[part % SETS];
    unsigned key = a->plan.outputs.at[column].of;

    ret->keys = r->width ? r->keys[key] : NULL;
    ret->code_count = r->width ? r->count[key] : 0;
    ret->dictionary = part + 1;
    ret->value = (int)key == a->plan.bucket_key ? bucket_value : key_value;
    ret->arg = &a->plan;
}

static bool read_vector(struct table *t, size_t column, struct vector_memory *m, struct vector *ret)
{
    struct aggregate *a = table_aggregate(t);
    const struct output_column *what = &a->plan.outputs.at[column];

    if (a->kept)
        return false;
    bool done = column_fill(&a->reader, &a->order, &a->block, what, m, ret);
    if (done && what->what == OUTPUT_KEY)
        read_codes(t, (uint64_t)a->passes * SETS + a->block.rows->set, column, ret);
    block_prefetch(a->found, &a->block, TABLE_BLOCK / a->plan.columns.count + 1);
    return done;
}

/* Fills the values of a column that is left out or available as a vector. Sets *done to false for
 * other columns, which aggregate_values fills. */
static int column_values(struct aggregate *a, size_t column, bool *done)
{
    struct value *to = a->values + column;
    const size_t stride = a->plan.columns.count;
    struct vector v;
    int rc = 0;

    *done = true;
    if (a->table.left_out && a->table.left_out[column]) {
        for (size_t i = 0; i < a->block.count; i++)
            to[i * stride] = (struct value){.type = VALUE_NULL};
        return 0;
    }
    *done = read_vector(&a->table, column, &a->memory, &v);
    for (size_t i = 0; *done && i < a->block.count && rc == 0; i++) {
        /* Equal codes are mostly next to each other. */
        if (v.kind == VECTOR_CODE && i > 0 && v.codes[i] == v.codes[i - 1])
            to[i * stride] = to[(i - 1) * stride];
        else
            rc = vector_value(&v, i, &to[i * stride]);
    }
    return rc;
}

static int block_values(struct table *t, struct err *err, const struct value **ret)
{
    struct aggregate *a = table_aggregate(t);
    bool all = true;
    int rc = 0;

    *ret = a->values;
    for (size_t c = 0; c < a->plan.columns.count && rc == 0 && !a->kept; c++) {
        rc = column_values(a, c, &a->done[c]);
        all &= a->done[c];
    }
    for (size_t i = 0; i < a->block.count && !all && rc == 0 && !a->kept; i++)
        rc = aggregate_values(&a->reader, a->block.rows[i], a->done,
                              a->values + i * a->plan.columns.count);
    return scan_error(err, rc);
}

int aggregate_next(struct aggregate *a, size_t want, struct err *err, const struct value **ret,
                   size_t *ret_count)
{
    struct table_block block;

    a->want = want < TABLE_BLOCK ? want : TABLE_BLOCK;
    int rc = next_block(&a->table, err, &block);
    a->want = TABLE_BLOCK;
    rc = rc < 0 ? rc : block_values(&a->table, err, ret);
    *ret_count = rc < 0 ? 0 : block.count;
    return rc;
}

/* ---- before the first row -------------------------------------------------------------------- */

/* Returns true if the rows in memory are all rows, one for each group. */
static bool is_whole(const struct aggregate *a)
{
    size_t groups = 0;

    for (unsigned i = 0; i < SETS; i++)
        groups += a->found ? a->found->set[i].map.table.count : 0;
    return !a->prefixes && !a->kept && a->at == 0 && a->end == groups;
}

static unsigned whole_parts(const struct table *t)
{
    return is_whole(table_aggregate(t)) ? SETS : 0;
}

static int survey_columns(const struct table *t, bool *known, unsigned *ret)
{
    const struct aggregate *a = table_aggregate(t);

    memset(known, 0, a->plan.columns.count * sizeof(*known));
    if (a->prefixes || a->kept)
        return 0;
    return columns_survey(&a->reader, a->order.rows + a->at, a->end - a->at, is_whole(a), known,
                          ret);
}

static const struct table_ops table_ops = {.next = next_block,
                                           .vector = read_vector,
                                           .values = block_values,
                                           .rows_min = min_rows,
                                           .whole_parts = whole_parts,
                                           .codes = read_codes,
                                           .survey = survey_columns,
                                           .rewind = rewind_rows};

/* ---- open and close -------------------------------------------------------------------------- */

int aggregate_open(struct query *q, const struct aggregate_options *o, struct err *err,
                   struct aggregate **ret)
{
    struct aggregate *a = calloc(1, sizeof(*a));

    if (!a)
        return err_set_code(err, -ENOMEM);
    a->plan = (struct aggregate_plan){.query = q, .budget = query_budget(q), .arena = &a->arena};
    a->want = TABLE_BLOCK;
    a->memory.i = a->numbers;
    int rc = aggregate_plan_make(&a->plan, o, err);
    if (rc == 0) {
        rc = find_groups(a, o, err);
        rc = rc < 0 ? aggregate_error(a, rc, err) : 0;
    }
    if (rc < 0) {
        aggregate_close(a);
        return rc;
    }
    a->table = (struct table){
        .ops = &table_ops, .columns = a->plan.columns.at, .count = a->plan.columns.count};
    *ret = a;
    return 0;
}

int aggregate_boundaries(const struct aggregate *a, struct aggregate_boundary **ret,
                         size_t *ret_count)
{
    *ret = NULL;
    *ret_count = 0;
    return a->reader.processes ? process_boundaries(a->reader.processes, ret, ret_count) : 0;
}

void aggregate_close(struct aggregate *a)
{
    if (!a)
        return;
    free_groups(a);
    process_table_free(a->reader.processes);
    best_free(a->best);
    prefixes_free(a->prefixes);
    free(a->pass.chunks);
    free(a->values);
    free(a->done);
    free(a->block.records);
    vec_done(&a->plan.measures);
    vec_done(&a->plan.columns);
    vec_done(&a->plan.outputs);
    arena_done(&a->arena);
    free(a);
}
