/* events.c - finds the events that are steps of a training loop, and reads their rows. */
#include "answer/dlio/events.h"
#include "dftracerd/aggregate.h"
#include "dftracerd/rows.h"
#include "engine/lang/dsl.h"

#include <stdlib.h>
#include <string.h>

/* Generations of event names, the newest first. A trace has the names of one; the first generation
 * with a loop body is used.
 *    0  DLIO since October 2025 (`dft_ai`), and other programs with that interface of pydftracer
 *    1  DLIO of 2024 and 2025, whose data loaders contain the loop
 *    2  DLIO 2.0.0, whose main program contains it
 *    3  dlio_profiler of 2023, which named loops after their function
 */
enum { GENERATIONS = 4 };
static const struct dlio_name {
    const char *cat, *name;
} names[GENERATIONS][DLIO_KINDS] = {
    {{"dataloader", "fetch.block"},
     {"dataloader", "fetch.iter"},
     {"data", "preprocess"},
     {"data", "item"}},
    {{"data_loader", "loop.yield"},
     {"data_loader", "loop.iter"},
     {"reader", "FormatReader.preprocess"},
     {"data_loader", "TorchDataset.__getitem__"}},
    {{"dlio_benchmark", "loop.yield"},
     {"dlio_benchmark", "loop.iter"},
     {"reader", "FormatReader.preprocess"},
     {"data_loader", "TorchDataset.__getitem__"}},
    {{"dlio_benchmark", "_train"},
     {"dlio_benchmark", "_train.iter"},
     {"reader", "FormatReader.preprocess"},
     {"data_loader", "TorchDataset.__getitem__"}},
};

/* The column cat is compared here, because tracers write it in upper or lower case. */
int dlio_events_query(struct arena *arena, struct text query, struct text *ret)
{
    struct buf list = {0};
    buf_puts(&list, "name in [");
    for (int i = 0; i < GENERATIONS * DLIO_KINDS; i++)
        buf_printf(&list, "%s\"%s\"", i ? ", " : "", names[i / DLIO_KINDS][i % DLIO_KINDS].name);
    buf_putc(&list, ']');
    int rc =
        list.error ? list.error : query_and(arena, query, (struct text){list.data, list.len}, ret);
    buf_done(&list);
    return rc;
}

/* ---- processes ------------------------------------------------------------------------------- */

struct process {
    struct value host, pid;
    uint32_t place; /* its position among all, by host and pid */
};
struct processes {
    struct intern *keys;     /* host and pid; ids are positions in `all` */
    VEC(struct process) all; /* in the order in which they were found */
    struct arena texts;
    struct buf key;
};

/* Returns the number of a process, which is added if it is new, or an error. */
static int64_t find_process(struct processes *p, const struct value *host, const struct value *pid)
{
    buf_clear(&p->key);
    if (host->type == VALUE_TEXT)
        buf_text(&p->key, host->text);
    buf_printf(&p->key, "%c%d %lld", 0, host->type,
               (long long)(pid->type == VALUE_INT ? pid->i : -1));
    if (p->key.error)
        return p->key.error;
    uint32_t before = intern_count(p->keys);
    int64_t id = intern_add(p->keys, (struct text){p->key.data, p->key.len});
    if (id < (int64_t)before)
        return id;
    int rc = vec_push(&p->all, {.host = *host, .pid = *pid});
    if (rc < 0)
        return rc;
    if (host->type == VALUE_TEXT) {
        const char *copy = arena_strdup(&p->texts, host->text);
        if (!copy)
            return p->texts.error;
        p->all.at[id].host.text.ptr = copy;
    }
    return id;
}

static int by_host_and_pid(const void *a, const void *b, void *arg)
{
    const struct process *all = arg, *x = &all[*(const uint32_t *)a],
                         *y = &all[*(const uint32_t *)b];
    int cmp = value_cmp(&x->host, &y->host);
    return cmp ? cmp : value_cmp(&x->pid, &y->pid);
}

static int order_processes(struct dlio_events *e, struct processes *p)
{
    uint32_t *order = malloc((e->processes + 1) * sizeof *order);
    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < e->processes; i++)
        order[i] = i;
    int rc =
        sort_items(order, e->processes, sizeof *order, by_host_and_pid, p->all.at, e->all.budget);
    for (uint32_t i = 0; i < e->processes; i++)
        p->all.at[order[i]].place = i;
    free(order);
    for (size_t i = 0; rc == 0 && i < e->all.count; i++)
        e->all.at[i].process = p->all.at[e->all.at[i].process].place;
    return rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

enum { COL_CAT, COL_NAME, COL_HOST, COL_PID, COL_TS, COL_DUR, COLS };

/* An event while all generations are read: `kind` is its position in `names`. */
struct reading {
    struct dlio_events *e;
    struct processes processes;
    uint64_t found[GENERATIONS * DLIO_KINDS], invalid[GENERATIONS * DLIO_KINDS], rows;
};

/* Returns the number of the first generation and kind with this pair; -1 if there is none. */
static int pair_number(const struct value *cat, const struct value *name)
{
    if (cat->type != VALUE_TEXT || name->type != VALUE_TEXT)
        return -1;
    for (int i = 0; i < GENERATIONS * DLIO_KINDS; i++) {
        const struct dlio_name *n = &names[i / DLIO_KINDS][i % DLIO_KINDS];
        if (text_eq(name->text, text_of(n->name)) && text_eq_nocase(cat->text, text_of(n->cat)))
            return i;
    }
    return -1;
}

/* Reads whole nanoseconds in 64 bits; returns false for others, and for less than `min`. */
static bool read_time(const struct value *v, int64_t min, int64_t *ret)
{
    if (v->type != VALUE_TIME || v->wide < min || v->wide > INT64_MAX)
        return false;
    *ret = (int64_t)v->wide;
    return true;
}

static int add_row(struct reading *r, const struct value *row)
{
    struct dlio_event event = {.order = r->rows++};
    int number = pair_number(&row[COL_CAT], &row[COL_NAME]);
    if (number < 0)
        return 0;
    r->found[number]++;
    event.kind = (uint8_t)number;
    if (!read_time(&row[COL_TS], INT64_MIN, &event.ts_ns) ||
        !read_time(&row[COL_DUR], 0, &event.dur_ns)) {
        r->invalid[number]++;
        return 0;
    }
    int64_t process = find_process(&r->processes, &row[COL_HOST], &row[COL_PID]);
    if (process < 0)
        return (int)process;
    event.process = (uint32_t)process;
    return vec_push(&r->e->all, event);
}

static int read_rows(struct query *q, struct reading *r, struct err *err)
{
    static const char *const columns[] = {
        [COL_CAT] = "cat", [COL_NAME] = "name", [COL_HOST] = "host",
        [COL_PID] = "pid", [COL_TS] = "ts",     [COL_DUR] = "dur"};
    struct rows_options o = {.columns = columns, .column_count = COLS, .limit = UINT64_MAX};
    struct rows *rows = NULL;
    const struct value *values;
    size_t count;
    int rc = rows_open(q, &o, err, &rows);
    while (rc == 0 && (rc = rows_next(rows, err, &values, &count)) == 0)
        for (size_t i = 0; i < count && rc == 0; i++)
            rc = add_row(r, values + i * COLS);
    rows_close(rows);
    return rc == ERR_END ? 0 : rc;
}

/* ---- choice of a generation ------------------------------------------------------------------ */

/* Returns the number of the first generation that has the same pair. */
static int first_number(int generation, int kind)
{
    for (int g = 0; g < generation; g++)
        if (strcmp(names[g][kind].name, names[generation][kind].name) == 0 &&
            strcmp(names[g][kind].cat, names[generation][kind].cat) == 0)
            return g * DLIO_KINDS + kind;
    return generation * DLIO_KINDS + kind;
}

/* Keeps the events of one generation: one with a loop body, else one with any event of a loop, else
 * the newest. */
static void keep_generation(struct reading *r, struct dlio_report *report)
{
    struct dlio_events *e = r->e;
    int kinds[GENERATIONS * DLIO_KINDS], generation = -1;
    size_t kept = 0;
    for (int i = 0; i < DLIO_KINDS * GENERATIONS && generation < 0; i++)
        if (r->found[first_number(i % GENERATIONS, i / GENERATIONS)] > 0)
            generation = i % GENERATIONS;
    generation = generation < 0 ? 0 : generation;
    for (int i = 0; i < GENERATIONS * DLIO_KINDS; i++) {
        kinds[i] = DLIO_KINDS;
        report->other_events += r->found[i];
    }
    for (int k = 0; k < DLIO_KINDS; k++) {
        int number = first_number(generation, k);
        struct dlio_times *t = &report->times[k];
        kinds[number] = k;
        t->cat = names[generation][k].cat;
        t->name = names[generation][k].name;
        t->events = r->found[number];
        t->invalid = r->invalid[number];
        report->other_events -= t->events;
    }
    for (size_t i = 0; i < e->all.count; i++) {
        struct dlio_event *to = &e->all.at[kept];
        *to = e->all.at[i];
        to->kind = (uint8_t)kinds[to->kind];
        kept += to->kind < DLIO_KINDS;
    }
    e->all.count = kept;
}

static int by_kind_and_time(const void *a, const void *b, void *arg)
{
    const struct dlio_event *x = a, *y = b;
    (void)arg;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->ts_ns != y->ts_ns)
        return x->ts_ns < y->ts_ns ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

int dlio_events_read(struct query *q, struct dlio_report *r, struct err *err,
                     struct dlio_events *ret)
{
    struct reading reading = {.e = ret};
    struct processes *p = &reading.processes;
    *ret = (struct dlio_events){.all = {.budget = query_budget(q)}};
    p->all.budget = p->texts.budget = ret->all.budget;
    p->keys = intern_new();
    int rc = p->keys ? read_rows(q, &reading, err) : -ENOMEM;
    if (rc == 0) {
        ret->processes = intern_count(p->keys);
        rc = order_processes(ret, p);
    }
    if (rc == 0) {
        keep_generation(&reading, r);
        rc = sort_items(ret->all.at, ret->all.count, sizeof *ret->all.at, by_kind_and_time, NULL,
                        ret->all.budget);
        for (size_t i = 0, k = 0; k <= DLIO_KINDS; k++) {
            while (i < ret->all.count && ret->all.at[i].kind < k)
                i++;
            ret->begin[k] = i;
        }
    }
    intern_free(p->keys);
    vec_done(&p->all);
    buf_done(&p->key);
    arena_done(&p->texts);
    return rc;
}

/* ---- error text if nothing is found ---------------------------------------------------------- */

/* Writes "dataloader: fetch.block, fetch.iter; data: preprocess, item; ..." */
static void list_names(struct buf *out)
{
    const char *listed[GENERATIONS * DLIO_KINDS];
    size_t count = 0;
    for (int i = 0; i < GENERATIONS * DLIO_KINDS; i++) {
        const char *cat = names[i / DLIO_KINDS][i % DLIO_KINDS].cat;
        size_t at = 0;
        while (at < count && strcmp(listed[at], cat) != 0)
            at++;
        if (at < count)
            continue;
        listed[count++] = cat;
        buf_printf(out, "%s%s: ", count > 1 ? "; " : "", cat);
        for (int j = i, n = 0; j < GENERATIONS * DLIO_KINDS; j++) {
            const struct dlio_name *other = &names[j / DLIO_KINDS][j % DLIO_KINDS];
            if (strcmp(other->cat, cat) == 0 && first_number(j / DLIO_KINDS, j % DLIO_KINDS) == j)
                buf_printf(out, "%s%s", n++ ? ", " : "", other->name);
        }
    }
}

/* Writes the most frequent categories and names of the selection. */
static int list_found(struct query *q, struct err *err, struct buf *out)
{
    static const char *const keys[] = {"cat", "name"}, *const counts[] = {"count"},
                             *const sort[] = {"-count"};
    struct aggregate_options o = {.group_by = keys,
                                  .group_by_count = 2,
                                  .aggregates = counts,
                                  .aggregate_count = 1,
                                  .sort = sort,
                                  .sort_count = 1,
                                  .limit = 4};
    struct aggregate *a = NULL;
    const struct value *rows;
    size_t count = 0;
    int rc = aggregate_open(q, &o, err, &a);
    size_t width = rc == 0 ? aggregate_table(a)->count : 0;
    rc = rc < 0 ? rc : aggregate_next(a, 4, err, &rows, &count);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct value *row = rows + i * width;
        struct text cat = row[0].type == VALUE_TEXT ? row[0].text : TEXT("-"),
                    name = row[1].type == VALUE_TEXT ? row[1].text : TEXT("-");
        buf_printf(out, "%s%.*s/%.*s (%llu)", i ? ", " : "", (int)(cat.len < 20 ? cat.len : 20),
                   cat.ptr, (int)(name.len < 20 ? name.len : 20), name.ptr,
                   (unsigned long long)row[2].u);
    }
    aggregate_close(a);
    return rc == ERR_END ? 0 : rc;
}

int dlio_events_missing(struct query *q, const struct dlio_report *r, struct err *err)
{
    struct buf expected = {0}, found = {0};
    bool any = r->times[DLIO_ITER].events || r->times[DLIO_PREPROCESS].events ||
               r->times[DLIO_ITEM].events;
    list_names(&expected);
    int rc = list_found(q, err, &found);
    buf_putc(&expected, '\0');
    buf_putc(&found, '\0');
    rc = rc < 0 ? rc : expected.error ? expected.error : found.error;
    if (rc == 0 && r->times[DLIO_BLOCK].events > 0)
        rc = err_set(err, ERR_NOT_FOUND, "no event %s/%s has a time and a duration",
                     r->times[DLIO_BLOCK].cat, r->times[DLIO_BLOCK].name);
    else if (rc == 0)
        rc = err_set(err, ERR_NOT_FOUND, "no event of a %s. Looked for %s. Found %s",
                     any ? "training loop's body" : "data loader", expected.data,
                     found.data[0] ? found.data : "no events");
    buf_done(&expected);
    buf_done(&found);
    return rc;
}
