/* compare_peaks.c - what windows, threads and hosts say of a side: by compare_windows.c, or, where that cannot, from the rows of
 * /aggregate by (keys, window, host, pid, tid). */
#include "clocks.h"
#include "compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Columns of the rows behind those of the groups. */
enum { AT_WINDOW, AT_HOST, AT_PID, AT_TID, PLACES };
static const char *const place_names[PLACES] = {"time_bucket", "host", "pid", "tid"};

#define NOWHERE SIZE_MAX

struct walk {
    struct node_work *work;
    struct side *side;
    size_t keys[GROUP_KEYS_MAX];       /* columns of the group's keys; of missing ones NOWHERE */
    size_t at[PLACES], columns, group; /* group: that of the row before */
    struct value window;               /* the present one, its text is never a text */
    bool open;
    double peak[PEAKS];
    struct intern *processes, *threads, *host_names;
    struct buf key;
    struct clock_host *hosts; /* windows: from the first to the end of the last */
    size_t host_cap;
};

/* ---- peaks ---------------------------------------------------------------------------------------------- */

static void close_window(struct walk *w)
{
    struct side_group *g = &w->side->groups[w->group];

    for (unsigned i = 0; i < PEAKS && w->open; i++) {
        if (!isnan(w->peak[i]))
            moments_f64_add(&g->peaks[i], w->peak[i]);
        w->peak[i] = NAN;
    }
    w->open = false;
}

static bool same_keys(const struct walk *w, const struct value *row)
{
    const struct value *keys = w->side->groups[w->group].keys;

    for (size_t i = 0; i < w->side->plan.group_width; i++) {
        if (w->keys[i] != NOWHERE && value_cmp(&keys[i], &row[w->keys[i]]) != 0)
            return false;
    }
    return true;
}

static double number(const struct value *v)
{
    return v->type == VALUE_DOUBLE ? v->d
           : v->type == VALUE_INT  ? (double)v->i
           : v->type == VALUE_UINT ? (double)v->u
           : v->type == VALUE_WIDE ? (double)v->wide
                                   : NAN;
}

static void add_peak(struct walk *w, unsigned peak, double value)
{
    if (!isnan(value) && !(w->peak[peak] >= value))
        w->peak[peak] = value;
}

/* Rows and groups are both in the order of their keys. */
static int add_row(struct walk *w, const struct value *row)
{
    const struct value *window = &row[w->at[AT_WINDOW]], *told = row + w->columns;

    while (!same_keys(w, row)) {
        close_window(w);
        if (++w->group == w->side->group_count)
            return ERR_CORRUPT;
    }
    if (w->open && value_cmp(window, &w->window) != 0)
        close_window(w);
    if (window->type != VALUE_NULL) { /* an event without ts is in none */
        w->open = true;
        w->window = *window;
        add_peak(w, PEAK_COUNT, number(&told[0]));
        add_peak(w, PEAK_MEAN, number(&told[1]));
    }
    return 0;
}

/* ---- threads and hosts -------------------------------------------------------------------------------------- */

static void put_key(struct buf *key, const struct value *v)
{
    buf_append(key, &v->type, sizeof(v->type));
    if (v->type == VALUE_TEXT || v->type == VALUE_JSON) {
        buf_append(key, &v->text.len, sizeof(v->text.len));
        buf_text(key, v->text);
    } else if (v->type != VALUE_NULL) {
        buf_append(key, &v->i, sizeof(v->i));
    }
}

static int64_t key_id(struct walk *w, struct intern *all)
{
    return w->key.error ? w->key.error : intern_add(all, (struct text){w->key.data, w->key.len});
}

static int grow_hosts(struct walk *w, size_t count)
{
    if (count <= w->host_cap)
        return 0;
    size_t cap = w->host_cap ? w->host_cap * 2 : 16;
    struct clock_host *grown = realloc(w->hosts, cap * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    memset(grown + w->host_cap, 0, (cap - w->host_cap) * sizeof(*grown));
    w->hosts = grown;
    w->host_cap = cap;
    return 0;
}

static int add_host(struct walk *w, int64_t id, const struct value *row)
{
    const struct value *window = &row[w->at[AT_WINDOW]];
    int64_t interval = w->work->run->options->interval_ns;
    int rc = id < 0 ? (int)id : grow_hosts(w, (size_t)id + 1);

    if (rc < 0 || window->type != VALUE_TIME || row[w->at[AT_HOST]].type == VALUE_NULL)
        return rc;
    struct clock_host *h = &w->hosts[id];
    int64_t from = clamp_ns(window->wide), to = clamp_ns(window->wide + interval);
    if (h->events == 0) {
        *h = (struct clock_host){.name = row[w->at[AT_HOST]], .from_ns = from, .to_ns = to};
        rc = compare_keep_value(w->work->run->result, &h->name);
    }
    h->from_ns = from < h->from_ns ? from : h->from_ns;
    h->to_ns = to > h->to_ns ? to : h->to_ns;
    h->events += row[w->columns].u;
    return rc;
}

static int add_thread(struct walk *w, const struct value *row)
{
    buf_clear(&w->key);
    put_key(&w->key, &row[w->at[AT_HOST]]);
    int rc = add_host(w, key_id(w, w->host_names), row);
    put_key(&w->key, &row[w->at[AT_PID]]);
    int64_t id = rc < 0 ? rc : key_id(w, w->processes);
    put_key(&w->key, &row[w->at[AT_TID]]);
    id = id < 0 ? id : key_id(w, w->threads);
    return id < 0 ? (int)id : 0;
}

/* ---- clocks ------------------------------------------------------------------------------------------------- */

int side_clocks(struct node_work *work, struct side *s, struct clock_host *hosts, size_t count)
{
    struct compare_meta *meta = &s->meta;

    if (work->run->options->interval_ns == 0 || count < 2)
        return 0;
    meta->skewed_count = clocks_apart(hosts, count, false);
    meta->skewed =
        arena_alloc(&work->run->result->arena, (meta->skewed_count + 1) * sizeof(*meta->skewed));
    if (!meta->skewed)
        return -ENOMEM;
    for (size_t i = 0; i < meta->skewed_count; i++)
        meta->skewed[i] = (struct compare_skew){hosts[i].name, stats_time(hosts[i].distance_ns)};
    return 0;
}

/* Those that had a window. */
static int judge_clocks(struct walk *w)
{
    size_t count = 0;

    for (size_t i = 0; i < w->host_cap; i++) {
        if (w->hosts[i].events)
            w->hosts[count++] = w->hosts[i];
    }
    return side_clocks(w->work, w->side, w->hosts, count);
}

/* ---- rows -------------------------------------------------------------------------------------------------- */

static int take_rows(struct walk *w, struct aggregate *a)
{
    const struct value *rows;
    size_t count, width;
    const struct aggregate_column *columns;
    int rc = 0;

    width = aggregate_columns(a, &columns);
    while (rc == 0 && (rc = aggregate_next(a, 2048, w->work->run->err, &rows, &count)) == 0) {
        for (size_t i = 0; i < count && rc == 0; i++) {
            rc = add_row(w, rows + i * width);
            rc = rc < 0 ? rc : add_thread(w, rows + i * width);
        }
    }
    close_window(w);
    return rc == ERR_END ? 0 : rc;
}

/* The columns of the groups and, where they are not among these, window, host, pid and tid. */
static void choose_columns(struct walk *w, const char **columns)
{
    const struct compare_node *node = w->work->node;

    for (size_t i = 0; i < node->group_by_count; i++) {
        w->keys[i] = w->side->missing[i] ? NOWHERE : w->columns;
        if (!w->side->missing[i])
            columns[w->columns++] = node->group_by[i];
    }
    for (unsigned p = 0; p < PLACES; p++) {
        size_t i = 0;
        while (i < w->columns && strcmp(columns[i], place_names[p]) != 0)
            i++;
        w->at[p] = i;
        if (i == w->columns)
            columns[w->columns++] = place_names[p];
    }
}

/* The general way: rows of /aggregate. */
static int peaks_of_rows(struct node_work *work, struct side *s)
{
    static const char *const told[] = {"@count=count", "@mean=mean:dur"};
    const char *columns[GROUP_KEYS_MAX + PLACES];
    struct walk w = {.work = work, .side = s, .peak = {NAN, NAN}};
    struct aggregate *a = NULL;

    choose_columns(&w, columns);
    struct aggregate_options o = {.interval_ns = work->run->options->interval_ns,
                                  .group_by = columns,
                                  .group_by_count = w.columns,
                                  .aggregates = told,
                                  .aggregate_count = 2,
                                  .limit = UINT64_MAX};
    w.processes = intern_new();
    w.threads = intern_new();
    w.host_names = intern_new();
    int rc = w.processes && w.threads && w.host_names
                 ? aggregate_open(s->query, &o, work->run->err, &a)
                 : -ENOMEM;
    rc = rc < 0 ? rc : take_rows(&w, a);
    rc = rc < 0 ? rc : judge_clocks(&w);
    if (rc == 0) {
        s->meta.processes = intern_count(w.processes);
        s->meta.threads = intern_count(w.threads);
    }
    aggregate_close(a);
    intern_free(w.processes);
    intern_free(w.threads);
    intern_free(w.host_names);
    buf_done(&w.key);
    free(w.hosts);
    return rc;
}

int side_peaks(struct node_work *work, struct side *s)
{
    int rc = side_windows(work, s);

    return rc == -EDOM ? peaks_of_rows(work, s) : rc;
}
