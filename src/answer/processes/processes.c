/* processes.c - /processes: totals of the selected objects of each process. */
#include "answer/processes/processes.h"
#include "dftracerd/aggregate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BY_HOST, BY_PID, BY_TID, BY_CAT, KEYS };
enum { OF_COUNT = KEYS, OF_DUR, OF_BYTES, OF_FIRST, OF_LAST_TS, OF_LAST_TE };

struct process_sums {
    struct process_list *list;
    struct process_info *row; /* the current one; NULL: none */
    bool has_tid;             /* `tid` is set */
    struct value tid;         /* of the last row: an integer or null */
    __int128 bytes;
    double bytes_f64;
    bool any_bytes, any_double;
};

/* ---- rows ------------------------------------------------------------------------------------ */

static void end_process(struct process_sums *w)
{
    if (!w->row)
        return;
    if (w->any_double)
        w->row->bytes = (struct value){.type = VALUE_DOUBLE, .d = w->bytes_f64 + (double)w->bytes};
    else if (w->any_bytes)
        w->row->bytes = (struct value){.type = VALUE_WIDE, .wide = w->bytes};
    w->row = NULL;
}

static int begin_process(struct process_sums *w, const struct value *keys)
{
    int rc =
        vec_push(&w->list->rows,
                 {.host = keys[BY_HOST], .pid = keys[BY_PID].i, .io_time = {.type = VALUE_TIME}});

    if (rc < 0)
        return rc;
    w->row = &w->list->rows.at[w->list->rows.count - 1];
    w->has_tid = w->any_bytes = w->any_double = false;
    w->bytes = 0;
    w->bytes_f64 = 0;
    return value_keep_text(&w->list->arena, &w->row->host);
}

/* Sets *into to the smaller (sign < 0) or larger of two times. */
static void widen_time(struct value *into, const struct value *v, int sign)
{
    if (v->type == VALUE_TIME &&
        (into->type == VALUE_NULL || (sign < 0 ? v->wide < into->wide : v->wide > into->wide)))
        *into = *v;
}

static bool is_io(const struct value *cat)
{
    return cat->type == VALUE_TEXT &&
           (text_eq_nocase(cat->text, TEXT("POSIX")) || text_eq_nocase(cat->text, TEXT("STDIO")));
}

static int add_row(struct process_sums *w, const struct value *row)
{
    struct process_info *p = w->row;
    int rc = 0;

    w->list->events += row[OF_COUNT].u;
    if (row[BY_PID].type != VALUE_INT) {
        w->list->without_process += row[OF_COUNT].u;
        return 0;
    }
    if (!p || p->pid != row[BY_PID].i || value_cmp(&p->host, &row[BY_HOST]) != 0) {
        end_process(w);
        rc = begin_process(w, row);
        p = w->row;
    }
    if (rc < 0)
        return rc;
    p->threads += !w->has_tid || value_cmp(&w->tid, &row[BY_TID]) != 0;
    w->has_tid = true;
    w->tid = row[BY_TID];
    p->events += row[OF_COUNT].u;
    if (is_io(&row[BY_CAT]) && row[OF_DUR].type == VALUE_TIME)
        p->io_time.wide += row[OF_DUR].wide;
    const struct value *bytes = &row[OF_BYTES];
    w->any_bytes = w->any_bytes || bytes->type != VALUE_NULL;
    if (bytes->type == VALUE_INT)
        w->bytes += bytes->i;
    else if (bytes->type == VALUE_UINT)
        w->bytes += bytes->u;
    else if (bytes->type == VALUE_WIDE)
        w->bytes += bytes->wide;
    else if (bytes->type == VALUE_DOUBLE) {
        w->bytes_f64 += bytes->d;
        w->any_double = true;
    }
    widen_time(&p->first, &row[OF_FIRST], -1);
    widen_time(&p->last, &row[OF_LAST_TS], 1);
    widen_time(&p->last, &row[OF_LAST_TE], 1);
    return 0;
}

static int read_rows(struct query *q, struct process_list *l, struct err *err)
{
    static const char *const keys[KEYS] = {"host", "pid", "tid", "cat"};
    static const char *const aggregates[] = {"@count=count",  "@dur=sum:dur", "@bytes=sum:bytes",
                                             "@first=min:ts", "@ts=max:ts",   "@te=max:te"};
    struct aggregate_options o = {.group_by = keys,
                                  .group_by_count = KEYS,
                                  .aggregates = aggregates,
                                  .aggregate_count = sizeof(aggregates) / sizeof(*aggregates),
                                  .limit = UINT64_MAX};
    struct process_sums w = {.list = l};
    struct aggregate *a = NULL;
    const struct value *rows;
    size_t count;
    int rc = aggregate_open(q, &o, err, &a);
    size_t width = rc == 0 ? aggregate_table(a)->count : 0;

    while (rc == 0 && (rc = aggregate_next(a, 2048, err, &rows, &count)) == 0) {
        for (size_t i = 0; i < count && rc == 0; i++)
            rc = add_row(&w, rows + i * width);
    }
    end_process(&w);
    aggregate_close(a);
    return rc == ERR_END ? 0 : rc;
}

int processes_run(struct query *q, struct err *err, struct process_list **ret)
{
    struct process_list *l = calloc(1, sizeof(*l));

    if (!l)
        return err_set_code(err, -ENOMEM);
    l->rows.budget = l->arena.budget = query_budget(q);
    int rc = read_rows(q, l, err);
    rc = rc < 0 ? rc : process_add_facts(q, l);
    rc = rc < 0 ? rc : process_make_tree(l);
    if (rc == -ENOMEM && l->arena.error < 0)
        rc = l->arena.error; /* the limit may have been reached */
    if (rc < 0) {
        processes_free(l);
        return err_set_code(err, rc);
    }
    query_counters(q, &l->counters);
    l->complete = query_complete(q);
    *ret = l;
    return 0;
}

void processes_free(struct process_list *l)
{
    if (!l)
        return;
    vec_done(&l->rows);
    arena_done(&l->arena);
    free(l);
}
