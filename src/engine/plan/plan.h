/* plan.h - what a query is made of: files, sources, the tree of tests; and the state of a worker.
 * Private to the files plan, select, predicate, source, scan, keys; answers use scan.h.
 */
#ifndef DFTRACERD_ENGINE_PLAN_PLAN_H
#define DFTRACERD_ENGINE_PLAN_PLAN_H

#include <pthread.h>

#include "dftracerd/kernel.h"
#include "engine/lang/dsl.h"
#include "engine/scan/scan.h"

/* ---- memory that is kept from chunk to chunk ------------------------------------------------- */

struct grow {
    void *data;
    size_t cap;
};
/* At least `bytes`, contents lost when it grows; aligned to 64. NULL: no memory. */
void *grow_to(struct grow *g, size_t bytes);
void grow_done(struct grow *g);

/* ---- sources --------------------------------------------------------------------------------- */

struct source {
    unsigned id;      /* position in scan_worker.bound */
    struct text path; /* as asked */
    struct path_info info;
    struct source *part
        [3]; /* DUR: column dur, ph, @bad_dur; TE: ts, DUR; BUCKET: ts; COLUMN with `other`: both */
    __int128 interval_ns, origin_ns;                     /* BUCKET */
    enum { CLIP_NONE, CLIP_TS, CLIP_DUR, CLIP_TE } clip; /* see within.h */
    bool folded;                                         /* see source_fold.c */
    const struct group_table *kept;
    struct source *next;
};

/* How the values of a source come about in one chunk. */
enum form {
    FORM_NULL,
    FORM_STORED, /* as column */
    FORM_MAPPED, /* codes of a stored column into an own dictionary */
    FORM_CODED,  /* own codes of the whole chunk into an own dictionary */
    FORM_SINGLE, /* every row has own entry 0 */
    FORM_DUR,
    FORM_TE,
    FORM_BUCKET,
    FORM_ZERO, /* computed a batch at a time */
    FORM_ROWS, /* own int64 of the whole chunk */
    FORM_RANK, /* of the pid, part[0], in a table: rows_memory, rows_valid */
    /* the rank of the pid and the host, a batch at a time; of rows that are wanted only */
    FORM_PROCESS,
    FORM_CLIP /* computed a batch at a time, of selected rows only */
};
/* A lane holds an array of the batch it was filled for (scan_batch.number). */
struct lane {
    struct grow memory;
    uint32_t batch;
    bool few; /* only rows that were still of interest are filled in */
    const uint64_t *valid;
};

/* A source in the chunk that the worker is at. */
struct bound {
    const struct source *source;
    uint64_t serial; /* of the chunk it was bound to; 0 = never */
    enum form form;
    enum scan_shape shape;
    bool nano, nulls;     /* nulls: some row may be null */
    struct column column; /* STORED, MAPPED, DUR (type 0: the chunk has none) */
    int64_t min, max;     /* INT, TIME, BOOL: every value is between them (not always tight) */
    /* dictionary of TEXT and MIXED; code `entries` means null */
    uint32_t entries;
    const uint32_t *ids;        /* STORED TEXT */
    struct column_entry *entry; /* MAPPED, CODED, SINGLE */
    const uint32_t *remap;      /* MAPPED: stored code to own code; NULL: the same */
    struct grow entry_memory, remap_memory, rows_memory, rows_valid;
    struct arena arena; /* texts of entries that are nowhere else */
    /* BUCKET: in the unit of ts; RANK: how many pids the table has, and the first */
    int64_t step, base;
    /* DUR */
    bool x_all, x_none;
    struct grow x_table;
    struct bound *part[3];
    /* filled when asked */
    struct lane i64, f64, keys, codes, valid;
    struct grow key_table;
    bool has_key_table;
    uint32_t code_count; /* scan_codes: 0 not asked, UINT32_MAX impossible */
    uint32_t code_limit;
    struct bound *codes_of; /* scan_codes: whose dense_codes they are; NULL: others */
    /* source_dense.c: how many values rows have (0: not asked); as they come; the number of each
     * row's; 1 + the number by distance from min */
    uint32_t dense_count;
    struct grow dense_values, dense_codes, dense_numbers;
    uint64_t only_serial; /* of the chunk whose selected rows all have `only_code` */
    uint32_t only_code;
};

/* ---- tests ----------------------------------------------------------------------------------- */

enum tri { TRI_NONE, TRI_SOME, TRI_ALL };
struct test {
    enum { TEST_AND, TEST_OR, TEST_NOT, TEST_LEAF, TEST_CLASS } type;
    unsigned id; /* position in scan_worker.tests */
    unsigned cost;
    struct test **children;
    size_t child_count;
    const struct source *source; /* LEAF; CLASS: "@class" */
    const struct dsl_node *node; /* LEAF: operator and literals */
    unsigned classes;            /* CLASS: PHASE_ bits */
    uint32_t *text_ids;          /* LEAF with text literals and ==, !=, IN: global ids, sorted */
    size_t text_id_count;
    struct text *texts; /* ... and the texts, sorted by bytes */
    size_t text_count;
};
/* So many values of a list are compared one after the other, more are looked up. */
#define TEST_FEW 6
/* A test in the chunk that the worker is at. */
struct test_state {
    enum tri tri;
    enum tri known; /* what was found out although pruning is switched off */
    enum { MODE_VALID, MODE_I64, MODE_I64_SET, MODE_F64, MODE_F64_SET, MODE_CODES } mode;
    bool inverted;
    int64_t lo, hi;
    double lo_f64, hi_f64;
    size_t set_count;
    struct grow set;
    struct grow table;    /* bitmap over codes */
    uint32_t only_code;   /* one code is true; UINT32_MAX: more */
    struct grow rows;     /* bitmap of the whole chunk: rows that pass */
    uint64_t rows_serial; /* of the chunk that it is of */
    struct grow seen;     /* by global text id: 0 not judged, 1 false, 2 true */
};

/* ---- query ----------------------------------------------------------------------------------- */

/* entries of a chunk that get keys or names until the budget is asked */
enum { KEY_SHARDS = 16, ENTRIES_LOOKED = 2048 };
struct key_shard {
    pthread_mutex_t lock;
    struct intern *texts;
    size_t charged;
};

struct query {
    struct query_env env;
    struct snapshot *snapshot;
    struct budget *budget, own_budget;
    uint32_t *files;
    size_t file_count;
    unsigned phases;
    bool unfiltered, complete, no_pruning;
    struct arena arena;
    struct dsl dsl, preset;
    struct test *root;     /* NULL: everything */
    struct test *timeless; /* the same without time_range */
    struct within *within; /* NULL: not asked for; see within.h */
    unsigned test_count;
    struct source *sources;
    unsigned source_count;
    struct scan_place *places;
    size_t place_count;
    pthread_mutex_t lock; /* counters */
    struct query_counters counters;
    struct rank_table *_Atomic ranks; /* see source_rank.c; NULL until asked for */
    struct covered_files *covered;    /* see covered_files.c; NULL until it is used */
    struct key_shard keys[KEY_SHARDS];
};

struct resolve_slot {
    uint64_t key;
    uint32_t name;
    bool depends, used;
};
struct scan_worker {
    struct query *query;
    struct scan_chunk chunk;
    const struct test *root; /* of the chunk: the query's, or the one without time_range */
    struct scan_batch batch;
    uint64_t serial; /* of the chunk, from 1 */
    int error;       /* of a column that was asked for its shape: the chunk fails */
    struct bound **bound;
    unsigned bound_count;
    struct test_state *tests;
    const uint64_t *rows; /* of the chunk that pass the filter; NULL: see each batch */
    uint64_t mask[SCAN_WORDS];
    /* Rows of the batch that may still be selected, NULL: all. What nobody can see need not be
     * found out. */
    const uint64_t *interest;
    uint16_t select[SCAN_BATCH + 64];
    uint32_t few[SCAN_BATCH];
    struct grow besides, taken; /* of test_take */
    bool gathers;
    struct gathered {
        struct scan_batch batch;
        uint32_t count, made; /* rows that wait; batches of this chunk that were told */
        uint32_t places[SCAN_BATCH];
        uint64_t mask[SCAN_WORDS];
    } gathered;
    struct resolve_slot *resolved; /* of resolved_file, open addressing */
    size_t resolved_cap, resolved_used;
    const struct index_file *resolved_file;
    bool resolved_all;              /* names of the file's own records */
    struct query_counters counters; /* of this worker, added when it ends */
};

/* ---- select.c -------------------------------------------------------------------------------- */

/* True when `name` matches: '*' and '?' do not cross '/', "**" does, [a-z], [!a-z], backslash. */
bool glob_match(const char *pattern, const char *name);

/* ---- plan.c ---------------------------------------------------------------------------------- */

int source_of(struct query *q, struct text path, struct source **ret);
/* A source of its own beside `stored`; te of two such. Only within.c knows them. */
int source_clipped(struct query *q, struct source *stored, int clip, struct source **ret);
int source_clipped_te(struct query *q, struct source *ts, struct source *dur, struct source **ret);
/* A query of one file of the same snapshot, with the same budget and environment, that has no test
 * yet. */
int query_open_file(const struct query *of, uint32_t file, struct query **ret);
/* Of each `cat in [...]`. */
void query_ignore_case_of_cat(struct dsl_node *n);
/* Of the objects that q->root selects, those whose time `path` compares so with ns. window: it is
 * one of time_range. */
int query_and_time(struct query *q, const char *path, enum compare op, int64_t ns, bool window);
/* All chunks of the selected files which the catalog does not rule out, for q->root. */
int query_make_places(struct query *q);
/* For tests of this module: nothing is ruled out before a row is looked at. */
void query_disable_pruning(struct query *q);

/* ---- predicate_*.c --------------------------------------------------------------------------- */

int test_compile(struct query *q, const struct dsl_node *node, struct test **ret);
int test_classes(struct query *q, unsigned phases, struct test **ret);
int test_both(struct query *q, struct test *a, struct test *b,
              struct test **ret); /* either may be NULL */
/* False: no object of the file can pass. */
bool test_may_match_file(const struct query *q, const struct test *t,
                         const struct index_file *file);
/* Judges the test for the chunk the worker is at. */
int test_bind(struct scan_worker *w, const struct test *t, enum tri *ret);
/* After that: tells sources of which selected rows can have one value only. */
int test_bind_only(struct scan_worker *w, const struct test *root);
/* After test_bind gave TRI_SOME: rows of the whole chunk that pass, borrowed until the next one.
 * NULL: packed columns do not tell, so each batch is looked at. */
int test_select_root(struct scan_worker *w, const struct test *t, const uint64_t **ret);
/* The same of a LEAF or CLASS, into its `rows`, and the source it is bound to. -EDOM: values must
 * be looked at. */
int test_select(struct scan_worker *w, const struct test *t, struct bound **ret);
/* Whether rows whose missing dur is 0 pass, too: dur_zeros. */
bool test_misses_zeros(const struct test_state *s, const struct bound *b);
/* After test_bind gave TRI_SOME: the values of a source (durations) of all rows that pass, in one
 * pass over its blocks; borrowed until the next chunk. -EDOM: not with these tests, or rows without
 * a value count, too. */
int test_take(struct scan_worker *w, const struct test *root, const struct source *s,
              struct scan_values *ret);
/* After test_bind gave TRI_SOME: rows of the batch that pass. */
int test_eval(struct scan_worker *w, struct scan_batch *b, const struct test *t, uint64_t *mask);
/* The same for the root: children of an AND are told which rows are left. */
int test_eval_root(struct scan_worker *w, struct scan_batch *b, const struct test *t,
                   uint64_t *mask);
void mask_fill(const struct scan_batch *b, uint64_t *mask); /* all rows of the batch */
bool mask_is_full(const struct scan_batch *b, const uint64_t *mask);
/* One value: 1, 0, or an error. */
int test_entry(const struct test *t, const struct column_entry *e);

/* ---- source_*.c ------------------------------------------------------------------------------ */

int source_bind(struct scan_worker *w, const struct source *s, struct bound **ret);
int bind_text(struct scan_worker *w, struct bound *b); /* HOST FILE CMD EXEC */
/* Text id of the name of a process's host; of the only one a pid has in a file, by name.
 * INDEX_NO_TEXT: none. */
uint32_t process_host(struct query *q, const struct index_file *file,
                      const struct index_process *p);
uint32_t only_host_of_pid(struct query *q, const struct index_file *file, int64_t pid);
struct rank_table;
void rank_table_free(struct rank_table *t);
struct covered_files;
void covered_files_free(struct covered_files *f, struct budget *budget);
int bind_rank(struct scan_worker *w, struct bound *b);
/* FORM_RANK, of a pid that rows have; false: none */
bool rank_of_pid(const struct bound *b, int64_t pid, int64_t *ret);
/* FORM_PROCESS: of each row, and a bit in `valid`, which is empty, where it has one. */
int ranks_of_rows(struct scan_batch *batch, struct bound *b, int64_t *out, uint64_t *valid);
/* Fills dense_*: -EDOM: no integers that all are there and close enough, or few rows are wanted. */
int bound_dense(struct scan_worker *w, struct bound *b);
/* Of scan_codes and batch_codes: by the numbers of bound_dense. -EDOM as there, or more than
 * `limit`. */
int bound_dense_codes(struct scan_worker *w, struct bound *b, uint32_t limit);
int batch_dense_codes(struct scan_batch *batch, struct bound *b, const uint32_t **ret);
int bind_other(struct scan_worker *w, struct bound *b, const struct column *other,
               struct text path);                      /* "@other" */
int bind_both(struct scan_worker *w, struct bound *b); /* top-level and argument in one chunk */
/* The parts of a source but for the rows whose bit is set. */
int bind_without(struct scan_worker *w, struct bound *b, const uint64_t *without);
int bind_null(struct bound *b);
int bind_column(struct scan_worker *w, struct bound *b, const struct column *c);
int bind_bytes(struct scan_worker *w, struct bound *b);
/* A new source in the query's list. */
int source_add(struct query *q, struct text path, struct source **ret);
/* The key by which the source groups; and, where it tells powers of two of integers, codes of
 * these. */
uint64_t fold_key(struct query *q, const struct source *s, uint64_t key);
bool fold_has_codes(const struct bound *b);
int fold_make_codes(struct bound *b);
int fold_batch_codes(struct scan_batch *batch, struct bound *b, uint32_t *out);
/* An entry of the dictionary of a bound TEXT or MIXED source; code < entries. */
int bound_entry(struct scan_worker *w, struct bound *b, uint32_t code, struct column_entry *ret);
int bound_codes(struct scan_batch *batch, struct bound *b,
                const uint32_t **ret); /* null rows: `entries` */
int bound_i64(struct scan_batch *batch, struct bound *b, const int64_t **ret,
              const uint64_t **ret_valid);
int bound_f64(struct scan_batch *batch, struct bound *b, const double **ret,
              const uint64_t **ret_valid);
int bound_valid(struct scan_batch *batch, struct bound *b,
                const uint64_t **ret); /* NULL: all are valid */
/* FORM_DUR with a stored column: adds the rows of the batch whose dur is missing and therefore 0.
 */
int dur_zeros(struct scan_batch *batch, struct bound *b, uint64_t *mask);
void bound_free(struct bound *b);
/* us to ns where asked for, clamped to int64. */
int64_t time_in(int64_t value, bool nano, bool to_nano);

/* ---- batch_times.c --------------------------------------------------------------------------- */

struct batch_times {
    const int64_t *ts, *dur; /* by row; NULL: none has one */
    const uint64_t *ts_valid, *dur_valid;
    bool ts_nano, dur_nano;
};
/* Of the rows of a batch. 0, or what batch_i64 returns, but for -EDOM. */
int batch_times(struct scan_batch *b, const struct source *ts, const struct source *dur,
                struct batch_times *ret);
/* In ns, beyond 64 bits the nearest that fits. False: the row has no ts. *ret_te is ts + dur, ts
 * where there is no dur. */
static inline bool batch_times_of(const struct batch_times *t, uint32_t row, int64_t *ret_ts,
                                  int64_t *ret_te)
{
    if (!t->ts || !batch_is_valid(t->ts_valid, row))
        return false;
    *ret_ts = *ret_te = time_in(t->ts[row], t->ts_nano, true);
    if (t->dur && batch_is_valid(t->dur_valid, row) &&
        __builtin_add_overflow(*ret_ts, time_in(t->dur[row], t->dur_nano, true), ret_te))
        *ret_te = t->dur[row] < 0 ? INT64_MIN : INT64_MAX;
    return true;
}
/* Start of the bucket of a time, relative to the base. */
/* The greatest multiple of `step` (> 0) that is not above the value. */
static inline __int128 floor_to(__int128 value, __int128 step)
{
    __int128 rest = value % step;

    return value - rest - (rest < 0 ? step : 0);
}
int64_t bucket_floor(int64_t value, int64_t base, int64_t step);

/* ---- keys.c ---------------------------------------------------------------------------------- */

int keys_init(struct query *q);
void keys_done(struct query *q);
int key_of_entry(struct query *q, const struct column_entry *e, uint64_t *ret);
int key_of_i64(struct query *q, int64_t value, uint64_t *ret);
int key_of_f64(struct query *q, double value, uint64_t *ret);
int key_of_time(struct query *q, int64_t value, bool nano, uint64_t *ret);
int key_of_bool(int64_t value, uint64_t *ret);
bool keys_mark(struct query *q, unsigned kind, uint32_t hash); /* true the first time */
/* Inline forms for loops: 0 when the value needs key_of_... */
#define KEY_SHIFT 60
enum key_tag { KEY_INT = 1, KEY_US, KEY_NS, KEY_TEXT, KEY_STORED, KEY_BOOL };
static inline bool key_fits(int64_t v)
{
    return v >= -((int64_t)1 << 59) && v < (int64_t)1 << 59;
}
static inline uint64_t key_make(enum key_tag tag, int64_t v)
{
    return (uint64_t)tag << KEY_SHIFT | ((uint64_t)v & (((uint64_t)1 << KEY_SHIFT) - 1));
}
static inline enum key_tag key_tag(uint64_t key)
{
    return (enum key_tag)(key >> KEY_SHIFT);
}
static inline int64_t key_payload(uint64_t key)
{
    return (int64_t)(key << 4) >> 4;
}

/* ---- scan_*.c -------------------------------------------------------------------------------- */

/* scan_chunk with the hooks of a sink; `opened` is told before the first batch. */
struct chunk_hooks {
    void *arg;
    int (*plan)(void *arg, struct scan_chunk *c); /* as in scan_sink */
    int (*begin)(void *arg, struct scan_chunk *c);
    int (*batch)(void *arg, struct scan_batch *b);
    int (*end)(void *arg, struct scan_chunk *c);
    const struct source *only; /* as in scan_sink; NULL: batches */
    int (*values)(void *arg, const struct scan_values *v);
    const atomic_bool *stop;
};
int chunk_run(struct scan_worker *w, size_t position, const struct chunk_hooks *hooks);
/* The rows of the chunk that anybody can see where they are so few that only these should be read;
 * borrowed until the next call. NULL: read all. */
const uint32_t *batch_few(const struct scan_batch *b, uint32_t *ret_count);
/* Sets up batch number `first / SCAN_BATCH` without any selection (all rows): for whole-chunk work
 * while binding. */
void batch_at(struct scan_worker *w, uint32_t first, struct scan_batch *ret);

#endif
