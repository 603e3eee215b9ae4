/* chunk_summary.c - adds the columns of a new chunk to groups, threads and processes, at memory
 * speed: codes are looked up in dense tables, not texts in hash tables; durations are sorted by
 * group, and counted group by group. */
#include "index/summary/part.h"

#include <errno.h>
#include <stdlib.h>

enum {
    ROWS = 1024,         /* of a batch */
    SPAN = 32 * ROWS,    /* durations that are sorted at a time */
    DENSE_MAX = 1 << 18, /* entries of the dense table */
    CACHE_BITS = 7,
    LANES = 9
};
#define NO_GROUP UINT32_MAX
#define SQUARES_MAX ((int64_t)1 << 51) /* moments_part is exact below this */

/* One column of a batch; absent columns are all null. */
struct lane {
    struct column col;
    bool present, coded; /* coded: values are codes of the dictionary */
    bool all;            /* present, and without nulls */
    bool ints;           /* `all`, and not coded */
    uint32_t *ids;       /* text id of each code, if coded */
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
    int64_t first, last; /* ns, if these fit; otherwise the last two members */
    bool has_time;
    __int128 min_ts, max_te; /* ns */
};

struct chunk_summary {
    struct part *p;
    struct texts *texts;
    struct arena arena; /* arrays that are as long as dictionaries */
    struct chunk_view *view;
    union {
        struct lane lanes[LANES]; /* in the order of open_lanes() */
        struct {
            struct lane class, name, cat, ts, dur, pid, tid, hhash, hostname;
        };
    };
    uint32_t *dense; /* (class, cat code, name code) -> group + 1 */
    bool by_dense;   /* `dense` has all groups */
    uint32_t cats, names;
    struct hash_index group_index, thread_index;
    VEC(struct group) groups;
    VEC(struct thread) threads;
    uint32_t thread_cache[1 << CACHE_BITS]; /* thread, by some bits of the key's hash */
    bool no_names;                          /* some names have no ids, for lack of memory */
    bool no_memory;                         /* an id is missing */
    /* nano: durations are in ns, otherwise in us; wide: times do not fit 64 bits of ns */
    bool nano, wide;
    int64_t dur_scale, ts_scale; /* factors to ns */
    uint32_t span;               /* number of durations in `work`, with their groups */
    struct work *work;
};
/* Memory that need not be zeroed: half a megabyte. */
struct work {
    struct batch batches[LANES];
    uint32_t group_of[SPAN];
    int64_t durations[SPAN], sorted[SPAN];
};

/* ---- columns --------------------------------------------------------------------------------- */

static uint32_t add_text(struct chunk_summary *s, struct text text)
{
    uint32_t id = texts_add_any(s->texts, text);

    s->no_memory |= id == INDEX_NO_TEXT;
    return id;
}

static uint32_t entry_id(struct chunk_summary *s, const struct column_entry *e)
{
    char scratch[32];

    if (e->type == TRACE_TEXT && e->text_id != INDEX_NO_TEXT)
        return e->text_id;
    if (e->type == TRACE_INT || e->type == TRACE_BOOL)
        return add_text(s, (struct text){scratch, num_format_i64(e->i, scratch)});
    if (e->type == TRACE_DOUBLE)
        return add_text(s, (struct text){scratch, num_format_double(e->d, scratch)});
    return add_text(s, e->text);
}

/* There may be as many names of events as events. */
static uint32_t name_id(struct chunk_summary *s, const struct column_entry *e)
{
    if (e->type != TRACE_TEXT || e->text_id != INDEX_NO_TEXT)
        return entry_id(s, e);
    uint32_t id = texts_add_name(s->texts, e->text);
    s->no_names |= id == INDEX_NO_TEXT;
    return id;
}

static int lane_ids(struct chunk_summary *s, struct lane *l)
{
    struct column_entry e;
    int rc = 0;

    l->ids = arena_alloc(&s->arena, (l->col.entries + 1) * sizeof *l->ids);
    if (!l->ids)
        return -ENOMEM;
    for (uint32_t i = 0; i < l->col.entries && rc == 0; i++) {
        rc = column_entry(s->view, &l->col, i, &e);
        if (rc == 0)
            l->ids[i] = l == &s->name ? name_id(s, &e) : entry_id(s, &e);
    }
    return rc;
}

static int lane_open(struct chunk_summary *s, struct lane *l, const char *path, bool texts)
{
    int rc = chunk_find(s->view, text_of(path), &l->col);

    l->present = rc == 0;
    if (rc)
        return rc == -ENOENT ? 0 : rc;
    l->all = l->col.nulls == 0;
    l->coded = l->col.type == COLUMN_TEXT || l->col.type == COLUMN_MIXED;
    l->ints = l->all && !l->coded;
    return texts && l->coded ? lane_ids(s, l) : 0;
}

static int lane_read(struct chunk_summary *s, struct lane *l, uint32_t first, uint32_t n)
{
    int rc;

    if (!l->present)
        return 0;
    if (l->coded)
        rc = column_read_codes(s->view, &l->col, first, n, l->batch->codes);
    else
        rc = column_read_i64(s->view, &l->col, first, n, l->batch->i64);
    if (rc == 0 && !l->all)
        rc = column_read_valid(s->view, &l->col, first, n, l->batch->valid);
    return rc;
}

static inline bool lane_has(const struct lane *l, uint32_t i)
{
    return l->all || (l->present && l->batch->valid[i / 64] >> (i % 64) & 1);
}

static uint32_t lane_text(struct chunk_summary *s, const struct lane *l, uint32_t i)
{
    char scratch[32];

    if (!lane_has(l, i))
        return INDEX_NO_TEXT;
    if (l->coded)
        return l->ids[l->batch->codes[i]];
    return add_text(s, (struct text){scratch, num_format_i64(l->batch->i64[i], scratch)});
}

static inline int64_t lane_int(const struct lane *l, uint32_t i)
{
    return l->ints || (lane_has(l, i) && !l->coded) ? l->batch->i64[i] : INT64_MIN;
}

static int open_lanes(struct chunk_summary *s)
{
    static const struct {
        const char *path;
        bool texts;
    } columns[LANES] = {
        {"@class"}, {"name", true},       {"cat", true},          {"ts"}, {"dur"}, {"pid"},
        {"tid"},    {"args.hhash", true}, {"args.hostname", true}};
    int rc = 0;

    for (int i = 0; i < LANES && rc == 0; i++) {
        s->lanes[i].batch = &s->work->batches[i];
        rc = lane_open(s, &s->lanes[i], columns[i].path, columns[i].texts);
    }
    if (rc == 0 && !s->class.present && chunk_rows(s->view) > 0)
        rc = ERR_CORRUPT;
    s->names = s->name.present && s->name.coded ? s->name.col.entries + 1 : 1;
    s->cats = s->cat.present && s->cat.coded ? s->cat.col.entries + 1 : 1;
    if (rc == 0 && (uint64_t)s->names * s->cats * 4 <= DENSE_MAX) {
        s->dense = arena_alloc(&s->arena, (size_t)s->names * s->cats * 4 * sizeof *s->dense);
        rc = s->arena.error;
        s->by_dense = (!s->name.present || s->name.coded) && (!s->cat.present || s->cat.coded);
    }
    return rc;
}

static int read_lanes(struct chunk_summary *s, uint32_t first, uint32_t n)
{
    int rc = 0;

    for (int i = 0; i < LANES && rc == 0; i++)
        rc = lane_read(s, &s->lanes[i], first, n);
    return rc;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static uint32_t new_group(struct chunk_summary *s, uint8_t class, uint32_t cat, uint32_t name)
{
    int rc = vec_push(&s->groups, {.class = class, .cat = cat, .name = name});

    return rc < 0 ? NO_GROUP : (uint32_t)s->groups.count - 1;
}

static uint32_t find_group(struct chunk_summary *s, uint8_t class, uint32_t cat, uint32_t name)
{
    uint64_t hash = hash_index_mix((uint64_t) class << 32 | cat, name);

    for (struct hash_match m = hash_index_find(&s->group_index, hash);
         hash_index_next(&s->group_index, &m);) {
        const struct group *known = &s->groups.at[m.position];
        if (known->class == class && known->cat == cat && known->name == name)
            return m.position;
    }
    uint32_t g = new_group(s, class, cat, name);
    return g != NO_GROUP && hash_index_add(&s->group_index, hash, g) == 0 ? g : NO_GROUP;
}

static inline uint32_t get_group(struct chunk_summary *s, uint8_t class, uint32_t i)
{
    if (!s->by_dense)
        return find_group(s, class, lane_text(s, &s->cat, i), lane_text(s, &s->name, i));
    uint32_t cat = lane_has(&s->cat, i) ? s->cat.batch->codes[i] + 1 : 0;
    uint32_t name = lane_has(&s->name, i) ? s->name.batch->codes[i] + 1 : 0;
    uint32_t *slot = &s->dense[((size_t) class * s->cats + cat) * s->names + name];
    if (*slot == 0)
        *slot = new_group(s, class, lane_text(s, &s->cat, i), lane_text(s, &s->name, i)) + 1;
    return *slot - 1;
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct thread *find_thread(struct chunk_summary *s, const struct summary_thread *key,
                                  uint64_t hash)
{
    struct hash_match m = hash_index_find(&s->thread_index, hash);
    uint32_t t = (uint32_t)s->threads.count;

    while (t == s->threads.count && hash_index_next(&s->thread_index, &m))
        if (summary_same_thread(&s->threads.at[m.position].key, key))
            t = m.position;
    if (t == s->threads.count &&
        (vec_push(&s->threads, {.key = *key, .first = INT64_MAX, .last = INT64_MIN}) < 0 ||
         hash_index_add(&s->thread_index, hash, t) < 0))
        return NULL;
    s->thread_cache[hash >> (64 - CACHE_BITS)] = t;
    return &s->threads.at[t];
}

/* Events of a few threads alternate: the last ones are found without the map. */
static inline struct thread *get_thread(struct chunk_summary *s, uint8_t class, uint32_t i)
{
    struct summary_thread key = {
        .class = class, .pid = lane_int(&s->pid, i), .tid = lane_int(&s->tid, i)};

    key.host_is_hash = lane_has(&s->hhash, i);
    if (key.host_is_hash && s->hhash.coded)
        key.host = s->hhash.ids[s->hhash.batch->codes[i]];
    else
        key.host = lane_text(s, key.host_is_hash ? &s->hhash : &s->hostname, i);
    uint64_t hash = hash_index_mix((uint64_t)key.pid * 0x9E3779B97F4A7C15u + (uint64_t)key.tid,
                                   (uint64_t)key.host << 3 | class);
    uint32_t t = s->thread_cache[hash >> (64 - CACHE_BITS)];
    if (t < s->threads.count && summary_same_thread(&s->threads.at[t].key, &key))
        return &s->threads.at[t];
    return find_thread(s, &key, hash);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static inline void add_time(const struct chunk_summary *s, struct thread *t, int64_t ts,
                            int64_t dur)
{
    if (s->wide) {
        __int128 from = (__int128)ts * s->ts_scale;
        times_widen(&t->has_time, &t->min_ts, &t->max_te, from,
                    from + (__int128)dur * s->dur_scale);
        return;
    }
    ts *= s->ts_scale;
    dur = ts + dur * s->dur_scale;
    t->first = ts < t->first ? ts : t->first;
    t->last = dur > t->last ? dur : t->last;
    t->has_time = true;
}

static inline int add_row(struct chunk_summary *s, uint32_t i)
{
    uint8_t class = (uint8_t)s->class.batch->i64[i] & 3;
    uint32_t g = get_group(s, class, i);
    struct thread *t = get_thread(s, class, i);
    struct work *work = s->work;
    bool has_dur = lane_has(&s->dur, i);
    int64_t dur = has_dur ? s->dur.batch->i64[i] : 0;

    if (g == NO_GROUP || !t)
        return -ENOMEM;
    s->groups.at[g].count++;
    if (has_dur) {
        s->groups.at[g].durations++;
        work->group_of[s->span] = g;
        work->durations[s->span++] = dur;
    }
    t->count++;
    t->events += class == TRACE_EVENT;
    if (lane_has(&s->ts, i))
        add_time(s, t, s->ts.batch->i64[i], dur);
    return 0;
}

/* Sorts the durations of the span by group. */
static void sort_span(struct chunk_summary *s)
{
    uint32_t end = 0;

    for (uint32_t g = 0; g < s->groups.count; g++) {
        s->groups.at[g].end = end;
        end += s->groups.at[g].durations;
    }
    for (uint32_t i = 0; i < s->span; i++)
        s->work->sorted[s->groups.at[s->work->group_of[i]].end++] = s->work->durations[i];
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

static int add_durations(struct chunk_summary *s, struct group *g)
{
    const int64_t *v = s->work->sorted + g->end - g->durations;
    struct summary_name *to = summary_get_name(s->p->summary, g->class, g->cat, g->name);

    if (!to)
        return -ENOMEM;
    add_moments(&to->duration, v, g->durations, s->nano);
    histogram_add_all(&to->histogram, v, g->durations, s->nano);
    return sketch_add_all(to->duration_sketch, v, g->durations, s->nano);
}

static int end_span(struct chunk_summary *s)
{
    int rc = 0;

    sort_span(s);
    for (uint32_t g = 0; g < s->groups.count && rc == 0; g++) {
        if (s->groups.at[g].durations > 0)
            rc = add_durations(s, &s->groups.at[g]);
        s->groups.at[g].durations = 0;
    }
    s->span = 0;
    return rc;
}

/* Returns whether all times, durations and ends fit in 64 bits of nanoseconds. */
static bool times_fit(const struct chunk_summary *s)
{
    const struct column *ts = &s->ts.col, *dur = &s->dur.col;
    __int128 shortest = 0, longest = 0;

    if (!s->ts.present || ts->nulls == ts->rows)
        return true;
    __int128 low = (__int128)ts->min * s->ts_scale;
    __int128 high = (__int128)ts->max * s->ts_scale;
    if (s->dur.present && dur->nulls < dur->rows) {
        shortest = (__int128)(dur->min < 0 ? dur->min : 0) * s->dur_scale;
        longest = (__int128)(dur->max > 0 ? dur->max : 0) * s->dur_scale;
    }
    return shortest >= INT64_MIN && low + shortest >= INT64_MIN && longest <= INT64_MAX &&
           high + longest <= INT64_MAX;
}

static int add_rows(struct chunk_summary *s)
{
    uint32_t rows = chunk_rows(s->view);
    int rc = 0;

    s->nano = s->dur.present && s->dur.col.nano;
    s->dur_scale = s->nano ? 1 : 1000;
    s->ts_scale = s->ts.present && s->ts.col.nano ? 1 : 1000;
    s->wide = !times_fit(s);
    for (uint32_t first = 0; first < rows && rc == 0; first += ROWS) {
        uint32_t n = rows - first < ROWS ? rows - first : ROWS;
        rc = read_lanes(s, first, n);
        for (uint32_t i = 0; i < n && rc == 0; i++)
            rc = add_row(s, i);
        if (rc == 0 && (s->span > SPAN - ROWS || first + n == rows))
            rc = end_span(s);
    }
    return rc;
}

/* ---- results --------------------------------------------------------------------------------- */

static int add_groups(struct chunk_summary *s)
{
    for (uint32_t i = 0; i < s->groups.count; i++) {
        const struct group *g = &s->groups.at[i];
        struct summary_name *to = summary_get_name(s->p->summary, g->class, g->cat, g->name);
        if (!to)
            return -ENOMEM;
        to->count += g->count;
    }
    return 0;
}

static int add_thread(struct chunk_summary *s, struct thread *t)
{
    struct summary_thread *to = summary_get_thread(s->p->summary, &t->key);
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
        part_add_process(s->p, &from);
    return s->p->error;
}

static int add_threads(struct chunk_summary *s)
{
    int rc = 0;

    for (uint32_t i = 0; i < s->threads.count && rc == 0; i++) {
        struct thread *t = &s->threads.at[i];
        struct summary_class *to = &s->p->summary->classes[t->key.class];
        if (t->has_time && !s->wide) {
            t->min_ts = t->first;
            t->max_te = t->last;
        }
        to->count += t->count;
        if (t->has_time)
            times_widen(&to->has_time, &to->min_ts, &to->max_te, t->min_ts, t->max_te);
        rc = add_thread(s, t);
    }
    return rc;
}

int part_add_chunk(struct part *p, struct texts *texts, struct chunk_view *view)
{
    struct chunk_summary *s = calloc(1, sizeof *s);

    if (!s || !(s->work = malloc(sizeof *s->work))) {
        free(s);
        return -ENOMEM;
    }
    s->p = p;
    s->texts = texts;
    s->view = view;
    int rc = open_lanes(s);
    if (rc == 0 && s->no_names)
        rc = summary_coarsen(p->summary, SUMMARY_BY_CATEGORY);
    rc = rc ? rc : add_rows(s);
    rc = rc ? rc : add_groups(s);
    rc = rc ? rc : add_threads(s);
    rc = rc ? rc : s->no_memory ? -ENOMEM : 0;
    arena_done(&s->arena);
    vec_done(&s->groups);
    vec_done(&s->threads);
    hash_index_done(&s->group_index);
    hash_index_done(&s->thread_index);
    free(s->work);
    free(s);
    return rc;
}
