/* chunk_summary.c - adds the columns of a new chunk to groups, threads and processes, at memory
 * speed: codes are looked up in dense tables, not texts in hash tables; durations are sorted by
 * group, and counted group by group. */
#include "index/summary/part.h"

#include <errno.h>
#include <stdlib.h>

enum { ROWS = 1024, SPAN = 32 * ROWS, DENSE_MAX = 1 << 18, CACHE_BITS = 7, LANES = 11 };
#define NO_GROUP UINT32_MAX
#define SQUARES_MAX ((int64_t)1 << 51) /* moments_part is exact below this */

/* One column of a batch; absent columns are all null. */
struct lane {
    struct column col;
    bool there, coded, all; /* all: present, and without nulls */
    bool ints;              /* `all`, and not coded */
    uint32_t *ids;          /* text id of each code, if coded */
    struct batch *batch;
};
/* The values of a column in some rows. */
struct batch {
    int64_t i64[ROWS];
    uint32_t codes[ROWS];
    uint64_t valid[ROWS / 64];
};
struct group {
    uint8_t class;
    uint32_t cat, name;
    uint64_t count;
    /* durations of the current span; end: where they end among the sorted ones */
    uint32_t durations, end;
};
struct thread {
    struct summary_thread key;
    uint64_t count, events;
    int64_t first, last; /* ns, if these fit; otherwise the next two members */
    bool has_time;
    __int128 min_ts, max_te;
};

struct digest {
    struct part *p;
    struct texts *texts;
    struct arena arena; /* arrays that are as long as dictionaries */
    struct chunk_view *view;
    union {
        struct lane lanes[LANES]; /* in the order of open_lanes() */
        struct {
            struct lane class, name, cat, ts, dur, pid, tid, hhash, hostname, ph, bad_dur;
        };
    };
    uint8_t *ph_is_x; /* for each code of ph */
    uint32_t *dense;  /* (class, cat code, name code) -> group + 1 */
    bool by_dense;    /* `dense` has all groups */
    uint32_t cats, names;
    struct hash_index group_index, thread_index;
    VEC(struct group) groups;
    VEC(struct thread) threads;
    uint32_t thread_cache[1 << CACHE_BITS]; /* thread, by some bits of the key's hash */
    bool no_names;                          /* some names have no ids, for lack of memory */
    /* nano: durations in ns; wide: times do not fit 64 bits of ns */
    bool nano, wide;
    int64_t dur_scale, ts_scale;
    uint32_t span; /* number of durations in `work`, with their groups */
    struct work *work;
};
/* Memory that need not be zeroed: half a megabyte. */
struct work {
    struct batch batches[LANES];
    uint32_t group_of[SPAN];
    int64_t durations[SPAN], sorted[SPAN];
};

/* ---- columns --------------------------------------------------------------------------------- */

static uint32_t entry_id(struct texts *texts, const struct column_entry *e)
{
    char scratch[32];

    if (e->type == TRACE_TEXT && e->text_id != INDEX_NO_TEXT)
        return e->text_id;
    if (e->type == TRACE_INT || e->type == TRACE_BOOL)
        return texts_add_any(texts, (struct text){scratch, num_format_i64(e->i, scratch)});
    if (e->type == TRACE_DOUBLE)
        return texts_add_any(texts, (struct text){scratch, num_format_double(e->d, scratch)});
    return texts_add_any(texts, e->text);
}

/* There may be as many names of events as events. */
static uint32_t name_id(struct digest *d, const struct column_entry *e)
{
    uint32_t id;

    if (e->type != TRACE_TEXT || e->text_id != INDEX_NO_TEXT)
        return entry_id(d->texts, e);
    id = texts_add_name(d->texts, e->text);
    d->no_names |= id == INDEX_NO_TEXT;
    return id;
}

static int lane_ids(struct digest *d, struct lane *l)
{
    struct column_entry e;
    int rc = 0;

    l->ids = arena_alloc(&d->arena, (l->col.entries + 1) * sizeof *l->ids);
    if (!l->ids)
        return -ENOMEM;
    for (uint32_t i = 0; i < l->col.entries && rc == 0; i++) {
        rc = column_entry(d->view, &l->col, i, &e);
        if (rc == 0)
            l->ids[i] = l == &d->name ? name_id(d, &e) : entry_id(d->texts, &e);
    }
    return rc;
}

static int lane_open(struct digest *d, struct lane *l, const char *path, bool texts)
{
    int rc = chunk_find(d->view, text_of(path), &l->col);

    l->there = rc == 0;
    if (rc)
        return rc == -ENOENT ? 0 : rc;
    l->all = l->col.nulls == 0;
    l->coded = l->col.type == COLUMN_TEXT || l->col.type == COLUMN_MIXED;
    l->ints = l->all && !l->coded;
    return texts && l->coded ? lane_ids(d, l) : 0;
}

static int lane_read(struct digest *d, struct lane *l, uint32_t first, uint32_t n)
{
    int rc;

    if (!l->there)
        return 0;
    if (l->coded)
        rc = column_read_codes(d->view, &l->col, first, n, l->batch->codes);
    else
        rc = column_read_i64(d->view, &l->col, first, n, l->batch->i64);
    if (rc == 0 && !l->all)
        rc = column_read_valid(d->view, &l->col, first, n, l->batch->valid);
    return rc;
}

static inline bool lane_has(const struct lane *l, uint32_t i)
{
    return l->all || (l->there && l->batch->valid[i / 64] >> (i % 64) & 1);
}

static uint32_t lane_text(struct digest *d, const struct lane *l, uint32_t i)
{
    char scratch[32];

    if (!lane_has(l, i))
        return INDEX_NO_TEXT;
    if (l->coded)
        return l->ids[l->batch->codes[i]];
    return texts_add_any(d->texts,
                         (struct text){scratch, num_format_i64(l->batch->i64[i], scratch)});
}

static inline int64_t lane_int(const struct lane *l, uint32_t i)
{
    return l->ints || (lane_has(l, i) && !l->coded) ? l->batch->i64[i] : INT64_MIN;
}

/* Reads ph, which is only needed to decide which events without a dur have 0 and which have
 * none. */
static int open_phase(struct digest *d)
{
    struct column_entry e;
    int rc = 0;

    if (!d->ph.coded)
        return 0;
    d->ph_is_x = arena_alloc(&d->arena, d->ph.col.entries + 1);
    if (!d->ph_is_x)
        return -ENOMEM;
    for (uint32_t i = 0; i < d->ph.col.entries && rc == 0; i++) {
        rc = column_entry(d->view, &d->ph.col, i, &e);
        if (rc == 0)
            d->ph_is_x[i] = (e.type == TRACE_TEXT && text_eq(e.text, TEXT("X"))) ||
                            (e.type == TRACE_INT && e.i == 1);
    }
    return rc;
}

static bool is_x(const struct digest *d, uint32_t i)
{
    if (!lane_has(&d->ph, i) || lane_has(&d->bad_dur, i))
        return false;
    return d->ph.coded ? d->ph_is_x[d->ph.batch->codes[i]] : d->ph.batch->i64[i] == 1;
}

static int open_lanes(struct digest *d)
{
    static const struct {
        const char *path;
        bool texts;
    } columns[LANES] = {
        {"@class"}, {"name", true},       {"cat", true},           {"ts"}, {"dur"},     {"pid"},
        {"tid"},    {"args.hhash", true}, {"args.hostname", true}, {"ph"}, {"@bad_dur"}};
    int rc = 0;

    for (int i = 0; i < LANES && rc == 0; i++) {
        d->lanes[i].batch = &d->work->batches[i];
        rc = lane_open(d, &d->lanes[i], columns[i].path, columns[i].texts);
    }
    rc = rc ? rc : open_phase(d);
    if (rc == 0 && !d->class.there && chunk_rows(d->view) > 0)
        rc = ERR_CORRUPT;
    d->names = d->name.there && d->name.coded ? d->name.col.entries + 1 : 1;
    d->cats = d->cat.there && d->cat.coded ? d->cat.col.entries + 1 : 1;
    if (rc == 0 && (uint64_t)d->names * d->cats * 4 <= DENSE_MAX) {
        d->dense = arena_alloc(&d->arena, (size_t)d->names * d->cats * 4 * sizeof *d->dense);
        rc = d->arena.error;
        d->by_dense = (!d->name.there || d->name.coded) && (!d->cat.there || d->cat.coded);
    }
    return rc;
}

static int read_lanes(struct digest *d, uint32_t first, uint32_t n)
{
    int rc = 0;

    for (struct lane *l = d->lanes; l < &d->ph && rc == 0; l++)
        rc = lane_read(d, l, first, n);
    /* If every row has a dur, ph is not needed. */
    if (rc == 0 && !(d->dur.there && d->dur.all))
        rc = lane_read(d, &d->ph, first, n);
    if (rc == 0 && !d->dur.all)
        rc = lane_read(d, &d->bad_dur, first, n);
    return rc;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static uint32_t new_group(struct digest *d, uint8_t class, uint32_t cat, uint32_t name)
{
    int rc = vec_push(&d->groups, {.class = class, .cat = cat, .name = name});

    return rc < 0 ? NO_GROUP : (uint32_t)d->groups.count - 1;
}

static uint32_t group_slow(struct digest *d, uint8_t class, uint32_t cat, uint32_t name)
{
    uint64_t hash = hash_index_mix((uint64_t) class << 32 | cat, name);
    uint32_t g;

    for (struct hash_match m = hash_index_find(&d->group_index, hash);
         hash_index_next(&d->group_index, &m);) {
        const struct group *known = &d->groups.at[m.position];

        if (known->class == class && known->cat == cat && known->name == name)
            return m.position;
    }
    g = new_group(d, class, cat, name);
    return g != NO_GROUP && hash_index_add(&d->group_index, hash, g) == 0 ? g : NO_GROUP;
}

static inline uint32_t group_of(struct digest *d, uint8_t class, uint32_t i)
{
    uint32_t cat, name, *slot;

    if (!d->by_dense)
        return group_slow(d, class, lane_text(d, &d->cat, i), lane_text(d, &d->name, i));
    cat = lane_has(&d->cat, i) ? d->cat.batch->codes[i] + 1 : 0;
    name = lane_has(&d->name, i) ? d->name.batch->codes[i] + 1 : 0;
    slot = &d->dense[((size_t) class * d->cats + cat) * d->names + name];
    if (*slot == 0)
        *slot = new_group(d, class, lane_text(d, &d->cat, i), lane_text(d, &d->name, i)) + 1;
    return *slot - 1;
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct thread *thread_slow(struct digest *d, const struct summary_thread *key, uint64_t hash)
{
    struct hash_match m = hash_index_find(&d->thread_index, hash);
    uint32_t t = (uint32_t)d->threads.count;

    while (t == d->threads.count && hash_index_next(&d->thread_index, &m))
        if (summary_same_thread(&d->threads.at[m.position].key, key))
            t = m.position;
    if (t == d->threads.count &&
        (vec_push(&d->threads, {.key = *key, .first = INT64_MAX, .last = INT64_MIN}) < 0 ||
         hash_index_add(&d->thread_index, hash, t) < 0))
        return NULL;
    d->thread_cache[hash >> (64 - CACHE_BITS)] = t;
    return &d->threads.at[t];
}

/* Events of a few threads alternate: the last ones are found without the map. */
static inline struct thread *thread_of(struct digest *d, uint8_t class, uint32_t i)
{
    struct summary_thread key = {
        .class = class, .pid = lane_int(&d->pid, i), .tid = lane_int(&d->tid, i)};
    uint64_t hash;
    uint32_t t;

    key.host_is_hash = lane_has(&d->hhash, i);
    if (key.host_is_hash && d->hhash.coded)
        key.host = d->hhash.ids[d->hhash.batch->codes[i]];
    else
        key.host = lane_text(d, key.host_is_hash ? &d->hhash : &d->hostname, i);
    hash = hash_index_mix((uint64_t)key.pid * 0x9E3779B97F4A7C15u + (uint64_t)key.tid,
                          (uint64_t)key.host << 3 | class);
    t = d->thread_cache[hash >> (64 - CACHE_BITS)];
    if (t < d->threads.count && summary_same_thread(&d->threads.at[t].key, &key))
        return &d->threads.at[t];
    return thread_slow(d, &key, hash);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void see_time(bool *has, __int128 *min, __int128 *max, __int128 ts, __int128 te)
{
    if (!*has || ts < *min)
        *min = ts;
    if (!*has || te > *max)
        *max = te;
    *has = true;
}

static inline void add_time(const struct digest *d, struct thread *t, int64_t ts, int64_t dur)
{
    if (d->wide) {
        __int128 from = (__int128)ts * d->ts_scale;

        see_time(&t->has_time, &t->min_ts, &t->max_te, from, from + (__int128)dur * d->dur_scale);
        return;
    }
    ts *= d->ts_scale;
    dur = ts + dur * d->dur_scale;
    t->first = ts < t->first ? ts : t->first;
    t->last = dur > t->last ? dur : t->last;
    t->has_time = true;
}

static inline int add_row(struct digest *d, uint32_t i)
{
    uint8_t class = (uint8_t)d->class.batch->i64[i] & 3;
    uint32_t g = group_of(d, class, i);
    struct thread *t = thread_of(d, class, i);
    struct work *work = d->work;
    bool has_dur = lane_has(&d->dur, i);
    int64_t dur = has_dur ? d->dur.batch->i64[i] : 0;

    if (g == NO_GROUP || !t)
        return -ENOMEM;
    d->groups.at[g].count++;
    if (has_dur || (class == TRACE_EVENT && is_x(d, i))) {
        d->groups.at[g].durations++;
        work->group_of[d->span] = g;
        work->durations[d->span++] = dur;
    }
    t->count++;
    t->events += class == TRACE_EVENT;
    if (lane_has(&d->ts, i))
        add_time(d, t, d->ts.batch->i64[i], dur);
    return 0;
}

/* Sorts the durations of the span by group. */
static void sort_span(struct digest *d)
{
    uint32_t end = 0;

    for (uint32_t g = 0; g < d->groups.count; g++) {
        d->groups.at[g].end = end;
        end += d->groups.at[g].durations;
    }
    for (uint32_t i = 0; i < d->span; i++)
        d->work->sorted[d->groups.at[d->work->group_of[i]].end++] = d->work->durations[i];
}

static void add_moments(struct moments *to, const int64_t *v, uint32_t n, bool nano)
{
    struct moments_part part = {.count = n, .min = v[0], .max = v[0]};

    for (uint32_t i = 0; i < n; i++) {
        part.min = v[i] < part.min ? v[i] : part.min;
        part.max = v[i] > part.max ? v[i] : part.max;
        part.sum += v[i];
        part.squares += (unsigned __int128)((__int128)v[i] * v[i]);
    }
    if (part.max < SQUARES_MAX && part.min > -SQUARES_MAX) {
        moments_add_part(to, &part, nano);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        moments_add(to, v[i], nano);
}

static int add_durations(struct digest *d, struct group *g)
{
    const int64_t *v = d->work->sorted + g->end - g->durations;
    struct summary_name *to = summary_name_of(d->p->summary, g->class, g->cat, g->name);

    if (!to)
        return -ENOMEM;
    add_moments(&to->duration, v, g->durations, d->nano);
    histogram_add_all(&to->histogram, v, g->durations, d->nano);
    return sketch_add_all(to->duration_sketch, v, g->durations, d->nano);
}

static int end_span(struct digest *d)
{
    int rc = 0;

    sort_span(d);
    for (uint32_t g = 0; g < d->groups.count && rc == 0; g++) {
        if (d->groups.at[g].durations > 0)
            rc = add_durations(d, &d->groups.at[g]);
        d->groups.at[g].durations = 0;
    }
    d->span = 0;
    return rc;
}

/* Returns whether all times, and their ends, fit in 64 bits of nanoseconds. */
static bool times_fit(const struct digest *d)
{
    const struct column *ts = &d->ts.col, *dur = &d->dur.col;
    __int128 low, high;

    if (!d->ts.there || ts->nulls == ts->rows)
        return true;
    low = (__int128)ts->min * d->ts_scale;
    high = (__int128)ts->max * d->ts_scale;
    if (d->dur.there && dur->nulls < dur->rows) {
        low += (__int128)(dur->min < 0 ? dur->min : 0) * d->dur_scale;
        high += (__int128)(dur->max > 0 ? dur->max : 0) * d->dur_scale;
    }
    return low >= INT64_MIN && high <= INT64_MAX;
}

static int digest_rows(struct digest *d)
{
    uint32_t rows = chunk_rows(d->view);
    int rc = 0;

    d->nano = d->dur.there && d->dur.col.nano;
    d->dur_scale = d->nano ? 1 : 1000;
    d->ts_scale = d->ts.there && d->ts.col.nano ? 1 : 1000;
    d->wide = !times_fit(d);
    for (uint32_t first = 0; first < rows && rc == 0; first += ROWS) {
        uint32_t n = rows - first < ROWS ? rows - first : ROWS;

        rc = read_lanes(d, first, n);
        for (uint32_t i = 0; i < n && rc == 0; i++)
            rc = add_row(d, i);
        if (rc == 0 && (d->span > SPAN - ROWS || first + n == rows))
            rc = end_span(d);
    }
    return rc;
}

/* ---- results --------------------------------------------------------------------------------- */

static int give_groups(struct digest *d)
{
    for (uint32_t i = 0; i < d->groups.count; i++) {
        const struct group *g = &d->groups.at[i];
        struct summary_name *to = summary_name_of(d->p->summary, g->class, g->cat, g->name);

        if (!to)
            return -ENOMEM;
        to->count += g->count;
    }
    return 0;
}

static int give_thread(struct digest *d, struct thread *t)
{
    struct summary_thread *to = summary_thread_of(d->p->summary, &t->key);
    bool timed = t->has_time && t->key.class == TRACE_EVENT;
    struct index_process from = {.host = t->key.host,
                                 .host_is_hash = t->key.host_is_hash,
                                 .pid = t->key.pid,
                                 .objects = t->count,
                                 .events = t->events,
                                 .has_time = timed,
                                 .min_ts = t->min_ts,
                                 .max_te = t->max_te};

    if (!to)
        return -ENOMEM;
    to->count += t->count;
    if (t->key.pid != INT64_MIN)
        part_add_process(d->p, &from);
    return d->p->error;
}

static int give_threads(struct digest *d)
{
    int rc = 0;

    for (uint32_t i = 0; i < d->threads.count && rc == 0; i++) {
        struct thread *t = &d->threads.at[i];
        struct summary_class *to = &d->p->summary->classes[t->key.class];

        if (t->has_time && !d->wide) {
            t->min_ts = t->first;
            t->max_te = t->last;
        }
        to->count += t->count;
        if (t->has_time)
            see_time(&to->has_time, &to->min_ts, &to->max_te, t->min_ts, t->max_te);
        rc = give_thread(d, t);
    }
    return rc;
}

int part_add_chunk(struct part *p, struct texts *texts, struct chunk_view *view)
{
    struct digest *d = calloc(1, sizeof *d);
    int rc;

    if (!d || !(d->work = malloc(sizeof *d->work))) {
        free(d);
        return -ENOMEM;
    }
    d->p = p;
    d->texts = texts;
    d->view = view;
    rc = open_lanes(d);
    if (rc == 0 && d->no_names)
        rc = summary_coarsen(p->summary, SUMMARY_BY_CATEGORY);
    if (rc == 0)
        rc = digest_rows(d);
    if (rc == 0)
        rc = give_groups(d);
    if (rc == 0)
        rc = give_threads(d);
    arena_done(&d->arena);
    vec_done(&d->groups);
    vec_done(&d->threads);
    hash_index_done(&d->group_index);
    hash_index_done(&d->thread_index);
    free(d->work);
    free(d);
    return rc;
}
