/* aggregate.h - the parts of /aggregate: what is asked, what a scan found, what is told. Private to
 * aggregate*.c.
 *
 * Way:       plan.c with _pipeline.c, _fields.c and _general.c (options to struct
 *            aggregate_plan) -> scan.c (one pass, with counters.c for counters
 *            and split.c for shared buckets) fills struct aggregate_found (for a part of
 *            the groups, where memory does not suffice: passes.c) -> order.c
 *            sorts and ranks the keys -> columns.c fills columns of a block of rows from
 *            ranks and records, tell.c tells what is not so simple; aggregate.c is the
 *            door.
 * Sets:      the rows of the three classes of the pipeline are three sets of groups; the general
 *            form has one.
 * Exactness: integers are summed exactly in any order; doubles by chunk in row order, and chunks in
 *            (file, chunk) order: answers are equal to the last bit whatever the number of threads.
 *            With other chunks, sums of doubles may differ in the last bits.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_AGGREGATE_H
#define DFTRACERD_ANSWER_AGGREGATE_AGGREGATE_H

#include "dftracerd/aggregate.h"
#include "engine/group/group.h"
#include "engine/group/sample.h"

#include <errno.h>
#include <pthread.h>

enum { SET_EVENT, SET_PROFILE, SET_SYSTEM, SETS };
/* measures of the pipeline: these two, then the fields, then arguments of system rows */
enum { M_DUR, M_SIZE, M_FIELDS };

/* A quantity that is summed up in each group. */
struct measure {
    const char *name;
    const struct source *source;
    const struct source *also;                    /* counted only where this is there, too; NULL */
    const struct source *sum, *plain, *min, *max; /* what counters have instead (fields) */
    bool time, sample, system;                    /* system: an argument of system rows only */
    enum value_type type; /* of columns that have such values: see aggregate_column */
};

/* What has to be kept by value: the first, the last, or all different values of a column in each
 * group. */
struct keep {
    enum { KEEP_FIRST, KEEP_LAST, KEEP_DISTINCT } what;
    const struct source *source;
};

enum key_part { KEY_WHOLE, KEY_DIRNAME, KEY_BASENAME };
struct aggregate_key {
    const char *name;
    const struct source *source;
    enum key_part part;   /* of a text */
    enum value_type type; /* see aggregate_column */
};

enum tell {
    TELL_CLASS,
    TELL_KEY,
    TELL_COUNT,
    TELL_TS,
    TELL_TE,
    TELL_SUM,
    TELL_MIN,
    TELL_MAX,
    TELL_MEAN,
    TELL_STD,
    TELL_SKEW,
    TELL_KURTOSIS,
    TELL_QUANTILE,
    TELL_KEEP,
    TELL_BUSY,
    TELL_CONCURRENCY,
    TELL_BANDWIDTH,
    TELL_BOUNDARY,
    TELL_PARENT,
    TELL_ROOT
};
/* of: number of the key, measure, keep or boundary */
struct teller {
    enum tell what;
    unsigned of, quantile;
};
/* q as an exact fraction: part / whole. */
struct quantile {
    const char *name;
    uint64_t part, whole;
};

struct boundary {
    const char *event, *field, *output;
};

struct aggregate_plan {
    struct query *query;
    struct budget *budget;
    struct arena *arena;
    uint64_t max_groups;
    bool general, classes; /* classes: three sets; else all objects are one */
    bool exact, shape, split, intervals, other_row; /* other_row: "(other)" may be one */
    __int128 interval_ns, origin_ns;
    enum aggregate_time time_format;
    const struct source *class, *ts, *te, *dur, *size, *bytes;
    /* of counters */
    const struct source *dft_cnt, *freq, *count, *time, *args_dur, *dur_sum, *dur_min, *dur_max;
    const struct source *size_sum, *size_min, *size_max, *ret_sum, *ret_min, *ret_max, *cat;
    struct aggregate_key keys[GROUP_KEYS_MAX];
    const struct source *key_sources[GROUP_KEYS_MAX];
    unsigned width;
    int bucket_key, pid_key, hhash_key; /* number of the key, -1 none */
    bool parts;                         /* some key is a part of a text */
    struct measure *measures;
    unsigned measure_count, measure_cap, plain_measures; /* plain: those of all sets */
    struct keep *keeps;
    unsigned keep_count;
    struct quantile *quantiles;
    unsigned quantile_count;
    struct boundary *boundaries;
    unsigned boundary_count;
    struct aggregate_column *columns;
    struct teller *tellers;
    size_t column_count, column_cap;
    const struct pass *pass; /* the groups of this scan, NULL: all (passes.h) */
    bool tally;              /* only the rows of groups and measures of system rows alone */
};

/* One measure of one group. Integers of one unit; what does not fit is in `more`: 1 + its number,
 * shifted by the unit. */
struct cell {
    int64_t min, max, sum;
    uint64_t squares;
    uint32_t count, more;
};
struct record {
    uint64_t count;
    struct cell cells[];
};
/* ns; before each record of the pipeline, which tells it */
struct extent {
    __int128 min_ts, max_te;
};

/* Doubles (and all values where skew and kurtosis are asked for). */
struct fine {
    struct moments_f64 m;
    double m3, m4;
};
struct fine_entry {
    uint32_t group;
    uint16_t set, measure;
    struct fine fine;
};

struct pick {
    __int128 ts;
    uint64_t key;
    uint32_t place, row;
    bool has;
};
struct interval {
    uint32_t group;
    int64_t from, to;
}; /* ns */

struct aggregate_set {
    struct group_map map;
    bool bound; /* the map knows the present chunk */
    char *records;
    size_t stride, head; /* head: bytes before each record, for its span */
    uint32_t cap, ready; /* groups with room; those whose records are made */
    unsigned measures;
    struct sample **samples;       /* by measure; NULL where none are wanted */
    struct pick **picks;           /* by keep */
    uint32_t **fine_at, *fine_cap; /* by measure: by group: entry + 1 of the present chunk */
};
static inline struct record *set_record(const struct aggregate_set *s, uint32_t group)
{
    return (struct record *)(s->records + s->head + group * s->stride);
}

static inline struct extent *record_extent(struct record *r)
{
    return (struct extent *)(void *)r - 1;
}

static inline void extent_widen(struct extent *s, __int128 from, __int128 to)
{
    s->min_ts = from < s->min_ts ? from : s->min_ts;
    s->max_te = to > s->max_te ? to : s->max_te;
}

static inline void record_look(const struct aggregate_set *s, uint32_t group)
{
    const char *r = s->records + group * s->stride;

    for (size_t at = 0; at < s->stride; at += 64)
        memory_look(r + at);
    memory_look(r + s->stride - 1); /* it may begin in the middle of a line */
}

/* What one worker, and in the end all together, found. */
struct aggregate_found {
    const struct aggregate_plan *plan;
    struct sample_memory memory;
    struct aggregate_set set[SETS];
    struct moments *more; /* see struct cell */
    uint32_t more_count, more_cap;
    struct group_table *distinct; /* by keep: (set's group, key) */
    struct interval *intervals;   /* of set 0 */
    size_t interval_count, interval_cap;
    size_t charged;
};
int found_new(const struct aggregate_plan *plan, struct aggregate_found **ret);
void found_free(struct aggregate_found *f);
/* Memory of a group at most, without percentiles of many values. */
size_t found_group_bytes(const struct aggregate_plan *p);
/* Room for all groups of a set; records are not made. */
int set_room(struct aggregate_found *f, unsigned set);
void record_begin(const struct aggregate_set *s, uint32_t group);
/* Room for all groups of a set, with empty records. */
int set_grow(struct aggregate_found *f, unsigned set);
/* Group g of `from` to the record `to`. shared: NULL, or what guards what records share while other
 * threads merge, too. */
int merge_group(struct aggregate_found *into, struct aggregate_found *from, unsigned set,
                uint32_t to, uint32_t g, pthread_mutex_t *shared);
int interval_add(struct aggregate_found *f, uint32_t group, int64_t from, int64_t to);
void pick_merge(struct pick *into, const struct pick *from, bool last);
/* `from` is used up, but still to be freed. */
int aggregate_merge(struct aggregate_found *into, struct aggregate_found *from);
/* Keys of a group as they are told: parts of texts taken. */
int plan_keys(const struct aggregate_plan *p, const uint64_t *keys, uint64_t *ret);

/* Adds a value, or `n` values of which the sum, least and greatest are known (INT64_MAX, INT64_MIN:
 * not known). */
int cell_add(struct aggregate_found *f, struct cell *c, int64_t value, bool nano);
int cell_add_many(struct aggregate_found *f, struct cell *c, uint64_t n, int64_t sum, int64_t min,
                  int64_t max, bool nano);
/* The quick way; false: cell_add must do it. */
#define CELL_ORDINARY (1ll << 32)
#define CELL_COUNT_MAX (1u << 30)
static inline bool cell_add_quickly(struct cell *c, int64_t value, bool nano)
{
    uint64_t squares;

    if ((uint64_t)(value + CELL_ORDINARY - 1) >= 2 * CELL_ORDINARY - 1 || (c->more & 1) != nano ||
        c->count >= CELL_COUNT_MAX ||
        __builtin_add_overflow(c->squares, (uint64_t)value * (uint64_t)value, &squares))
        return false;
    c->squares = squares;
    c->sum += value;
    c->min = value < c->min ? value : c->min;
    c->max = value > c->max ? value : c->max;
    c->count++;
    return true;
}
void cell_moments(const struct aggregate_found *f, const struct cell *c, struct moments *ret);
/* False: cell_merge must do it. */
bool cell_merge_quickly(struct cell *c, const struct cell *other);
int cell_merge(struct aggregate_found *f, struct cell *c, const struct aggregate_found *from,
               const struct cell *other);
void fine_add(struct fine *f, double value, bool shape);
void fine_merge(struct fine *f, const struct fine *other);

/* Doubles of groups, merged in (file, chunk) order. */
struct aggregate_fine {
    struct group_table table[SETS];
    struct fine **fine[SETS]; /* by measure, by group */
    uint32_t cap[SETS];
    size_t charged;
};
const struct fine *fine_find(const struct aggregate_plan *p, const struct aggregate_fine *d,
                             unsigned set, const uint64_t *keys, unsigned measure);
int fine_grow(const struct aggregate_plan *p, struct aggregate_fine *d, unsigned set,
              uint32_t count);
void fine_done(const struct aggregate_plan *p, struct aggregate_fine *d);

int aggregate_scan(const struct aggregate_plan *plan, struct aggregate_found **found,
                   struct aggregate_fine *fine, struct err *err);

/* ---- a worker of the scan, for scan.c, _counters.c, _split.c ----------------------- */

struct aggregate_worker {
    struct aggregate_found *found;
    const struct aggregate_plan *plan;
    struct fine_entry *entries; /* of the present chunk, in the order of first touch */
    uint32_t entry_count, entry_cap;
    uint64_t rows;                          /* since the last fold */
    bool only_events;                       /* the file has no counters */
    struct pass_filter *filter;             /* with plan->pass */
    struct aggregate_slots *slots;          /* NULL: the plan wants more than sums */
    uint32_t group[SCAN_BATCH];             /* of the selected rows */
    uint16_t rows_of[SETS + 1][SCAN_BATCH]; /* rows of the batch by set */
};
struct fine *worker_fine(struct aggregate_worker *w, unsigned set, unsigned measure,
                         uint32_t group);
static inline int64_t clamp_ns(__int128 ns)
{
    return ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}
/* Sorts the rows of a batch that are no events by their class: numbers into rows_of, how many into
 * ret. */
int counters_sort(struct aggregate_worker *w, struct scan_batch *b, const uint16_t *rows,
                  uint32_t count, uint32_t ret[SETS]);
/* dur, size and fields of counters whose groups are w->group. */
int counters_add(struct aggregate_worker *w, struct scan_batch *b, unsigned set);
/* Rows that meet several buckets are shared out; all others go the common way. */
int split_add(struct aggregate_worker *w, struct scan_batch *b, unsigned set);
/* slots.c: the quick way of batches of which only integers are summed up. *ret: *new*, or
 * NULL. */
int slots_new(const struct aggregate_plan *p, struct aggregate_slots **ret);
void slots_free(const struct aggregate_plan *p, struct aggregate_slots *s);
void slots_chunk(struct aggregate_worker *w, struct scan_chunk *c);
/* Whether slots_add can do all that is to be done with the batch; the set's map knows the chunk. */
bool slots_want(const struct aggregate_worker *w, const struct scan_batch *b);
int slots_add(struct aggregate_worker *w, struct scan_batch *b);
/* To be called before `found` is looked at. */
int slots_end(struct aggregate_worker *w);
/* One value of one measure. */
int value_add(struct aggregate_worker *w, unsigned set, unsigned measure, uint32_t group,
              int64_t value, bool nano);
int value_add_f64(struct aggregate_worker *w, unsigned set, unsigned measure, uint32_t group,
                  double value);

/* ---- order and telling ----------------------------------------------------------------------- */

/* The different keys of a set's groups, in the order of their values: a key is as good as its rank.
 */
struct key_ranks {
    unsigned width;
    uint32_t groups;                /* those from here on were made later, and have no ranks */
    uint32_t count[GROUP_KEYS_MAX]; /* by number of the key: how many there are */
    uint64_t *keys[GROUP_KEYS_MAX]; /* by rank */
    unsigned shift[GROUP_KEYS_MAX], bits[GROUP_KEYS_MAX]; /* of a rank within the word */
    uint32_t *ranks; /* by group, by number of the key; NULL: all fit into the word */
};
enum { KEY_OTHER = 15 }; /* tag of the first key of "(other)"; see keys.c */
/* All groups by class, then keys. */
struct aggregate_order {
    struct row_id *rows;
    size_t count, charged;
    struct key_ranks set[SETS];
};
/* For order_done, whatever it returns. */
int aggregate_order(struct query *q, const struct aggregate_found *f, struct aggregate_order *ret);
void order_done(struct aggregate_order *o, struct budget *budget);
struct process_table;
/* One measure of the row at hand. */
struct told {
    bool done, has_quantiles, weighted;
    struct moments m;
    struct moments_f64 all; /* valid where is_f64 */
    bool is_f64;
    const struct fine *fine;
    uint64_t count;
};
struct teller_state { /* all that rows are told from */
    const struct aggregate_plan *plan;
    struct aggregate_found *found;
    struct aggregate_fine *fine;
    struct process_table *processes;
    int64_t *busy;       /* ns by group of set 0; NULL */
    uint64_t **distinct; /* by keep, by group; NULL where another thing is kept */
    size_t charged;
    struct told *told;       /* by measure */
    struct value *quantiles; /* by measure, by quantile */
};
int teller_begin(struct teller_state *t);
void teller_done(struct teller_state *t);
/* Texts are borrowed from the query and the plan. number: of the key. */
int aggregate_tell_key(const struct aggregate_plan *p, unsigned number, uint64_t key,
                       struct value *ret);
/* done: by column, what is not to be told; NULL. */
int aggregate_tell(struct teller_state *t, struct row_id row, const bool *done,
                   struct value *values);

/* process.c: who forked whom, and which boundary a time of a process lies in. */
int process_table_new(const struct aggregate_plan *p, struct err *err, struct process_table **ret);
void process_table_free(struct process_table *t);
void process_tell_parent(const struct process_table *t, int64_t pid, uint32_t hhash,
                         struct value *parent, struct value *root);
/* See aggregate_boundaries. */
int process_boundaries(const struct process_table *t, struct aggregate_boundary **ret,
                       size_t *ret_count);
struct value process_tell_boundary(const struct process_table *t, unsigned boundary, int64_t pid,
                                   uint32_t hhash, __int128 at_ns);

/* ---- plan ------------------------------------------------------------------------------------ */

int aggregate_plan_make(struct aggregate_plan *p, const struct aggregate_options *o,
                        struct err *err);
/* One of metric_fields. */
int plan_field(struct aggregate_plan *p, const struct aggregate_options *o, const char *path,
               struct err *err);
/* Whether a column of this name may be one that no event has. */
bool plan_is_optional(const struct aggregate_options *o, const char *path);
/* Numeric arguments that counters have: measures of system rows. ERR_ROW_LIMIT: too many of them.
 */
int plan_system_measures(struct aggregate_plan *p, struct err *err);
/* Columns of those that have a value; `used` by measure. */
int plan_system_columns(struct aggregate_plan *p, const bool *used);
/* ERR_PARAM where a column is nowhere, or is text everywhere. */
int plan_check_numeric(const struct aggregate_plan *p, const struct measure *m, const char *param,
                       struct err *err);
static inline const char *without_args(const char *path)
{
    return strncmp(path, "args.", 5) == 0 ? path + 5 : path;
}
/* Type of a column of the query language; `other`: of arguments, which have any values. */
enum value_type plan_type(const char *path, enum value_type other);
int plan_measure(struct aggregate_plan *p, const char *name, const char *path, unsigned *ret);
static inline int no_memory(struct err *err)
{
    return err_set(err, -ENOMEM, "%s", err_text(-ENOMEM));
}
int plan_column(struct aggregate_plan *p, const char *name, enum value_type type,
                enum aggregate_unit unit, struct teller t);
/* "<name>_<suffix>" */
int plan_stat_column(struct aggregate_plan *p, const char *name, const char *suffix,
                     enum value_type type, enum aggregate_unit unit, struct teller t);
/* origin_ns and interval_ns (times.c). */
int plan_times(struct aggregate_plan *p, const struct aggregate_options *o, struct err *err);
/* First and last ts of the selected rows (both 0: none). */
int plan_span(const struct aggregate_plan *p, __int128 *ret_least, __int128 *ret_most,
              struct err *err);
/* A bucket in the form that was asked for. */
int bucket_tell(const struct aggregate_plan *p, struct value *v);
static inline const char *bucket_name(const struct aggregate_plan *p)
{
    return p->time_format == AGGREGATE_TIME_US ? "time_bucket" : "time";
}
static inline enum value_type bucket_type(const struct aggregate_plan *p)
{
    return p->time_format == AGGREGATE_TIME_ISO ? VALUE_TEXT : VALUE_TIME;
}
int plan_pipeline(struct aggregate_plan *p, const struct aggregate_options *o, struct err *err);
int plan_general(struct aggregate_plan *p, const struct aggregate_options *o, struct err *err);
/* "0.999" or "99.9" (of = 1 or 100) as a fraction with its name ("p99.9"); -EINVAL. */
int quantile_parse(struct arena *arena, struct text t, unsigned of, struct quantile *ret);

#endif
