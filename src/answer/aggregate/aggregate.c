/* aggregate.c - /aggregate: plans, scans, orders, and returns rows.
 *
 * The path of a request:
 *   http/endpoints/aggregate.c    reads the parameters, writes the rows (format_aggregate_*)
 *   answer/aggregate/aggregate.c  this file: plan.c -> scan.c -> order.c -> columns.c, row_values.c
 *   engine/group/groups.h         the scan: groups, and what is kept of each
 *
 * All groups come from one scan, or, where memory does not suffice for them, part after part while
 * rows are read (prefixes.h); with `top`, or `sort` then, only the best rows of all parts (rows.h).
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
    size_t end, at;            /* the cursor is at rows[at], and goes to rows[end) */
    size_t want;               /* rows of the next block at most */
    struct column_block block; /* in memory: the rows before the cursor */
    uint64_t skip, left;       /* rows to skip, and to return, after those in memory */
    struct value *values;      /* of a block */
    struct vector_memory memory;
    int64_t numbers[TABLE_BLOCK]; /* of a vector */
    bool *done;                   /* by column: values are there */
    bool named;                   /* columns of system rows are there */
    struct prefixes *prefixes;    /* NULL: all in one scan */
    struct pass pass;
    uint64_t capacity, pass_rows; /* groups that fit into memory; rows of the next pass */
    unsigned passes;
    struct best_rows *best;     /* NULL: rows are read from groups */
    struct value *kept;         /* all rows by their values, of `best`, when they are known; NULL */
    size_t kept_count, kept_at; /* rows; the first row of the current block */
};

static struct aggregate *of(const struct table *t)
{
    return (struct aggregate *)t; /* its first member */
}

static int explain(const struct aggregate *a, int rc, struct err *err)
{
    uint64_t groups = a->plan.max_groups ? a->plan.max_groups : 10000000;

    if (rc == ERR_ROW_LIMIT) {
        err_done(err); /* what the scan said of it */
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
    bool *used = calloc(p->measure_count + 1, sizeof(*used));

    if (!used)
        return -ENOMEM;
    for (unsigned m = p->requested_measures; m < p->measure_count; m++) {
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

static void drop_groups(struct aggregate *a)
{
    if (a->reader.plan)
        row_reader_done(&a->reader);
    groups_free(a->found);
    group_order_done(&a->order, a->plan.budget);
    a->found = NULL;
    a->at = a->end = a->block.count = 0;
}

/* ---- part after part ------------------------------------------------------------------------- */

static bool is_too_much(int rc)
{
    return rc == ERR_MEMORY_LIMIT || rc == ERR_ROW_LIMIT;
}

/* The next pass that has rows, of fewer prefixes where memory does not suffice. ERR_END. */
static int next_pass(struct aggregate *a, struct err *err)
{
    uint64_t rows;
    int rc = 0;

    drop_groups(a);
    while (a->at == a->end) {
        size_t from = rc < 0 ? a->pass.from : a->pass.to;
        if (from == a->prefixes->order.count || a->left == 0)
            return ERR_END;
        a->pass.from = from;
        a->passes++;
        a->pass.to = prefixes_take(a->prefixes, from, a->pass_rows, &rows);
        rc = scan_groups(a, &a->options, err);
        if (rc == 0) { /* the next pass: as many rows as have half of the groups that fit */
            uint64_t groups = a->order.count ? a->order.count : 1, most = rows * 8;
            double wanted = (double)rows * (double)a->capacity / 2 / (double)groups;
            a->pass_rows = wanted > (double)most ? most : (uint64_t)wanted;
            if (a->pass_rows < a->capacity)
                a->pass_rows = a->capacity;
            if (a->at == a->end)
                drop_groups(a);
            continue;
        }
        drop_groups(a);
        if (!is_too_much(rc) || a->pass.to == from + 1)
            return rc;
        err_done(err);
        a->pass_rows = rows / 2;
    }
    return 0;
}

static int begin_passes(struct aggregate *a, const struct aggregate_options *o, struct err *err)
{
    drop_groups(a);
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
    a->options.sort_count = 0; /* of rows of all parts */
    return rc;
}

/* The cursor is at the first row again. */
static void rewind_rows(struct table *t)
{
    struct aggregate *a = of(t);

    a->skip = a->options.offset;
    a->left = a->options.limit;
    if (!a->prefixes || a->kept) {
        set_cursor(a, a->kept ? a->kept_count : a->order.count);
        return;
    }
    drop_groups(a);
    a->pass.from = a->pass.to = 0;
}

/* ---- the best rows --------------------------------------------------------------------------- */

/* Calls `each` with the groups of one part after the other, or with the groups in memory if these
 * are all. */
static int for_parts(struct aggregate *a, int (*each)(struct aggregate *a, void *arg), void *arg,
                     struct err *err)
{
    int rc;

    if (!a->prefixes)
        return each(a, arg);
    drop_groups(a);
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

/* All groups but the best as one row behind them. */
static int add_others_row(struct aggregate *a, struct err *err)
{
    struct others *others;
    int rc = others_new(&a->plan, &others);

    if (rc < 0)
        return rc;
    rc = best_choose(a->best);
    rc = rc < 0 ? rc : for_parts(a, add_others, others, err);
    rc = rc < 0 ? rc : others_values(others, a->kept + a->kept_count * a->plan.column_count);
    a->kept_count += rc == 0;
    others_free(others);
    return rc;
}

static int keep_best(struct aggregate *a, const struct aggregate_options *o, struct err *err)
{
    struct sort_key *keys;
    size_t width;
    uint64_t most = o->top                              ? o->top
                    : o->limit < UINT64_MAX - o->offset ? o->offset + o->limit
                                                        : UINT64_MAX;
    int rc = rows_sort_keys(&a->plan, o, &keys, &width, err);

    rc = rc < 0 ? rc : best_new(&a->plan, keys, width, most, &a->best);
    rc = rc < 0 ? rc : for_parts(a, add_best, NULL, err);
    rc = rc < 0 ? rc : best_take(a->best, &a->kept, &a->kept_count);
    if (rc == 0 && o->top && !best_has_all(a->best))
        rc = add_others_row(a, err);
    rc = rc < 0 || !o->top ? rc : rows_sort_values(&a->plan, o, a->kept, a->kept_count, err);
    if (rc < 0)
        return rc;
    drop_groups(a);
    rewind_rows(&a->table);
    return 0;
}

static int find_groups(struct aggregate *a, const struct aggregate_options *o, struct err *err)
{
    a->options.offset = a->skip = o->offset;
    a->options.limit = a->left = o->limit;
    int rc = scan_groups(a, o, err);
    /* not with a limit of groups from the configuration: it holds for the whole answer */
    bool parted =
        is_too_much(rc) && a->plan.width > 0 && !(rc == ERR_ROW_LIMIT && a->plan.max_groups);
    if (parted)
        rc = begin_passes(a, o, err);
    if (rc == 0 && (o->top || (parted && o->sort_count)))
        rc = keep_best(a, o, err);
    else if (rc == 0 && parted)
        rc = next_pass(a, err);
    if (rc < 0 && rc != ERR_END)
        return rc;
    a->values = malloc((TABLE_BLOCK * a->plan.column_count + 1) * sizeof(*a->values));
    a->done = calloc(a->plan.column_count + 1, sizeof(*a->done));
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

static uint64_t rows_min(const struct table *t)
{
    return of(t)->end - of(t)->at;
}

static int next_block(struct table *t, struct err *err, struct table_block *ret)
{
    struct aggregate *a = of(t);
    int rc = 0;

    if (a->at == a->end)
        rc = a->prefixes && !a->kept ? next_pass(a, err) : ERR_END;
    if (rc < 0)
        return rc == ERR_END ? rc : explain(a, rc, err);
    rc = budget_check(a->plan.budget);
    if (rc < 0)
        return err_set_code(err, rc);
    size_t n = a->end - a->at < a->want ? a->end - a->at : a->want;
    if (a->kept) { /* these rows are values already */
        a->kept_at = a->at;
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
    a->block.next = a->order.rows + a->at;
    a->block.ahead = a->end - a->at < TABLE_BLOCK ? a->end - a->at : TABLE_BLOCK;
    *ret = (struct table_block){n, (uint64_t)a->passes * SETS + rows->set};
    return 0;
}

/* ---- its columns ----------------------------------------------------------------------------- */

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

static void codes(const struct table *t, uint64_t part, size_t column, struct vector *ret)
{
    struct aggregate *a = of(t);
    const struct key_ranks *r = &a->order.set[part % SETS];
    unsigned key = a->plan.outputs[column].of;

    ret->keys = r->width ? r->keys[key] : NULL;
    ret->code_count = r->width ? r->count[key] : 0;
    ret->dictionary = part + 1;
    ret->value = (int)key == a->plan.bucket_key ? bucket_value : key_value;
    ret->arg = &a->plan;
}

static bool read_vector(struct table *t, size_t column, struct vector_memory *m, struct vector *ret)
{
    struct aggregate *a = of(t);
    const struct output_column *what = &a->plan.outputs[column];

    if (a->kept)
        return false;
    bool done = column_fill(&a->reader, &a->order, &a->block, what, m, ret);
    if (done && what->what == OUTPUT_KEY)
        codes(t, (uint64_t)a->passes * SETS + a->block.rows->set, column, ret);
    block_look_ahead(a->found, &a->block, TABLE_BLOCK / a->plan.column_count + 1);
    return done;
}

/* A column that is left out, or is a vector; aggregate_values fills the others. */
static int column_values(struct aggregate *a, size_t column, bool *done)
{
    struct value *to = a->values + column;
    const size_t stride = a->plan.column_count;
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
    struct aggregate *a = of(t);
    bool all = true;
    int rc = 0;

    *ret = a->kept ? a->kept + a->kept_at * a->plan.column_count : a->values;
    for (size_t c = 0; c < a->plan.column_count && rc == 0 && !a->kept; c++) {
        rc = column_values(a, c, &a->done[c]);
        all &= a->done[c];
    }
    for (size_t i = 0; i < a->block.count && !all && rc == 0 && !a->kept; i++)
        rc = aggregate_values(&a->reader, a->block.rows[i], a->done,
                              a->values + i * a->plan.column_count);
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

/* Whether the rows in memory are all rows, one for each group. */
static bool is_whole(const struct aggregate *a)
{
    size_t groups = 0;

    for (unsigned i = 0; i < SETS; i++)
        groups += a->found ? a->found->set[i].map.table.count : 0;
    return !a->prefixes && !a->kept && a->at == 0 && a->end == groups;
}

static unsigned whole_parts(const struct table *t)
{
    return is_whole(of(t)) ? SETS : 0;
}

static int survey(const struct table *t, bool *known, unsigned *ret)
{
    const struct aggregate *a = of(t);

    memset(known, 0, a->plan.column_count * sizeof(*known));
    if (a->prefixes || a->kept)
        return 0;
    return columns_survey(&a->reader, a->order.rows + a->at, a->end - a->at, is_whole(a), known,
                          ret);
}

static const struct table_ops table_ops = {.next = next_block,
                                           .vector = read_vector,
                                           .values = block_values,
                                           .rows_min = rows_min,
                                           .whole_parts = whole_parts,
                                           .codes = codes,
                                           .survey = survey,
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
        rc = rc < 0 ? explain(a, rc, err) : 0;
    }
    if (rc < 0) {
        aggregate_close(a);
        return rc;
    }
    a->table = (struct table){
        .ops = &table_ops, .columns = a->plan.columns, .count = a->plan.column_count};
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
    drop_groups(a);
    process_table_free(a->reader.processes);
    best_free(a->best);
    prefixes_free(a->prefixes);
    free(a->pass.chunks);
    free(a->values);
    free(a->done);
    free(a->block.records);
    free(a->plan.measures);
    free(a->plan.columns);
    free(a->plan.outputs);
    arena_done(&a->arena);
    free(a);
}
