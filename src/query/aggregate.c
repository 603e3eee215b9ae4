/* aggregate.c - /aggregate: plans, scans, orders, and gives rows. */
#include "aggregate.h"
#include "aggregate_rows.h"

#include <errno.h>
#include <stdlib.h>

enum { ROWS_BATCH = 2048 }; /* rows told at once at most */

struct aggregate {
    struct aggregate_plan plan;
    struct arena arena;
    struct aggregate_found *found;
    struct aggregate_fine fine;
    struct teller_state teller;
    struct row_id *rows;
    size_t row_count, first, end, at; /* the cursor gives [first, end) */
    struct value *values;
    size_t charged;
};

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
                       "the groups need more than the %llu MiB of memory that a query may have; "
                       "choose fewer columns, "
                       "longer intervals or fewer objects",
                       (unsigned long long)(a->plan.budget->memory_limit >> 20));
    }
    return err_set(err, rc, "%s", err_text(rc));
}

/* Which measures of system rows have any value. */
static int name_system_columns(struct aggregate *a)
{
    struct aggregate_plan *p = &a->plan;
    const struct aggregate_set *s = &a->found->set[SET_SYSTEM];
    bool *used = calloc(p->measure_count + 1, sizeof(*used));

    if (!used)
        return -ENOMEM;
    for (unsigned m = p->plain_measures; m < p->measure_count; m++) {
        for (uint32_t g = 0; g < s->map.table.count && !used[m]; g++) {
            const struct cell *c = &set_record(s, g)->cells[m];
            used[m] = c->count || c->more >> 1;
        }
        for (uint32_t g = 0; a->fine.fine[SET_SYSTEM] && g < a->fine.cap[SET_SYSTEM] && !used[m];
             g++)
            used[m] = a->fine.fine[SET_SYSTEM][m][g].m.count > 0;
    }
    int rc = plan_system_columns(p, used);
    free(used);
    return rc;
}

static int prepare(struct aggregate *a, const struct aggregate_options *o, struct err *err)
{
    struct aggregate_plan *p = &a->plan;
    int rc = aggregate_order(p->query, a->found, &a->rows, &a->row_count);

    if (rc == 0) {
        a->charged = a->row_count * sizeof(*a->rows);
        rc = budget_charge(p->budget, a->charged);
        a->charged = rc < 0 ? 0 : a->charged;
    }
    if (rc == 0 && p->classes)
        rc = name_system_columns(a);
    if (rc == 0 && (o->parents || p->boundary_count) && p->classes)
        rc = process_table_new(p, err, &a->teller.processes);
    if (rc == 0)
        rc = teller_begin(&a->teller);
    if (rc == 0 && p->general)
        rc = rows_choose(&a->teller, o, &a->rows, &a->row_count, err);
    a->values = rc < 0 ? NULL : malloc((ROWS_BATCH * p->column_count + 1) * sizeof(*a->values));
    if (rc == 0 && !a->values)
        rc = -ENOMEM;
    a->first = o->offset < a->row_count ? o->offset : a->row_count;
    a->end = o->limit < a->row_count - a->first ? a->first + o->limit : a->row_count;
    a->at = a->first;
    return rc;
}

int aggregate_open(struct query *q, const struct aggregate_options *o, struct err *err,
                   struct aggregate **ret)
{
    struct aggregate *a = calloc(1, sizeof(*a));

    if (!a)
        return err_set(err, -ENOMEM, "%s", err_text(-ENOMEM));
    a->plan = (struct aggregate_plan){.query = q, .budget = query_budget(q), .arena = &a->arena};
    int rc = aggregate_plan_make(&a->plan, o, err);
    if (rc == 0) {
        rc = aggregate_scan(&a->plan, &a->found, &a->fine, err);
        a->teller = (struct teller_state){.plan = &a->plan, .found = a->found, .fine = &a->fine};
        rc = rc < 0 ? rc : prepare(a, o, err);
        rc = rc < 0 ? explain(a, rc, err) : 0;
    }
    if (rc < 0) {
        aggregate_close(a);
        return rc;
    }
    *ret = a;
    return 0;
}

size_t aggregate_columns(const struct aggregate *a, const struct aggregate_column **ret)
{
    *ret = a->plan.columns;
    return a->plan.column_count;
}

uint64_t aggregate_rows(const struct aggregate *a)
{
    return a->end - a->first;
}

int aggregate_next(struct aggregate *a, size_t want, struct err *err, const struct value **ret,
                   size_t *ret_count)
{
    size_t n = a->end - a->at;

    n = n < want ? n : want;
    n = n < ROWS_BATCH ? n : ROWS_BATCH;
    if (a->at == a->end)
        return ERR_END;
    int rc = budget_check(a->plan.budget);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = aggregate_tell(&a->teller, a->rows[a->at + i], a->values + i * a->plan.column_count);
    if (rc < 0)
        return err_set(err, rc, "%s", err_text(rc));
    a->at += n;
    *ret = a->values;
    *ret_count = n;
    return 0;
}

void aggregate_rewind(struct aggregate *a)
{
    a->at = a->first;
}

int aggregate_boundaries(const struct aggregate *a, struct aggregate_boundary **ret,
                         size_t *ret_count)
{
    *ret = NULL;
    *ret_count = 0;
    return a->teller.processes ? process_boundaries(a->teller.processes, ret, ret_count) : 0;
}

void aggregate_close(struct aggregate *a)
{
    if (!a)
        return;
    if (a->teller.plan)
        teller_done(&a->teller);
    process_table_free(a->teller.processes);
    found_free(a->found);
    fine_done(&a->plan, &a->fine);
    budget_release(a->plan.budget, a->charged);
    free(a->rows);
    free(a->values);
    free(a->plan.measures);
    free(a->plan.columns);
    free(a->plan.tellers);
    arena_done(&a->arena);
    free(a);
}
