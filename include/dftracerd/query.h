/* query.h - queries: values, columns, and which events are selected. What about them is the subject
 * of one header an answer: stats.h, aggregate.h, processes.h, timeline.h, view.h, rows.h ...
 *
 * Used by:   all answers (src/answer), format, rewrite, http, tools. Defined in src/engine.
 * Path:      selection -> query_open (files pruned by the catalog, DSL compiled, chunks pruned by
 *            zone maps, dictionaries and bloom filters) -> scan (chunks are morsels, batches of
 *            2,048 rows, selection vectors) -> an answer.
 * Threads:   a query and its cursors belong to one thread at a time; inside, work is spread with
 *            pool_run over query_env.pool. budget.cancelled may be set from any thread.
 * Memory:    charged to the budget, which is borrowed until query_close.
 * Determinism: the same selection on the same generation gives the same answer whatever the number
 * of threads.
 * Transactions: none is open between calls: a cursor keeps a position and its snapshot only.
 */
#ifndef DFTRACERD_QUERY_H
#define DFTRACERD_QUERY_H

#include "dftracerd/index.h"

/* ---- values of answers ----------------------------------------------------------------------- */

enum value_type {
    VALUE_NULL,
    VALUE_INT,    /* .i */
    VALUE_UINT,   /* .u: counts and sizes of ours */
    VALUE_WIDE,   /* .wide: exact sums beyond 64 bits */
    VALUE_TIME,   /* .wide in ns, told as decimal microseconds */
    VALUE_DOUBLE, /* .d; NaN and infinity are told as null */
    VALUE_BOOL,   /* .i 0 or 1 */
    VALUE_TEXT,   /* .text UTF-8 */
    VALUE_JSON,   /* .text is JSON already (arrays, {}, integers beyond 64 bits) */
};
struct value {
    enum value_type type;
    union {
        int64_t i;
        uint64_t u;
        double d;
        struct text text;
    };
    __int128 wide;
};
/* Order of answers: null first, then numbers by value, then booleans, then texts by bytes. */
int value_cmp(const struct value *a, const struct value *b);
/* What comes first in that order: null, numbers, booleans, texts, other JSON. */
enum { VALUE_RANK_TEXT = 3 };
int value_rank(const struct value *v);
/* Of whole numbers and times, in units of 1/1000: two that have it are in its order. False: no such
 * value, or it is too large. */
bool value_whole(const struct value *v, __int128 *ret);
/* The nearest double, of times in us; `other` for what is not a number. */
double value_double(const struct value *v, double other);
/* Its text, if it has one, becomes a copy in the arena. 0, -ENOMEM. */
int value_keep(struct arena *arena, struct value *v);

/* ---- columns --------------------------------------------------------------------------------- */

/* The columns that a query knows by name in every trace. Any other name is that of an argument. */
enum column_unit { UNIT_NONE, UNIT_US, UNIT_BYTES, UNIT_BYTES_PER_S };
struct query_column {
    const char *name;
    const char *type; /* of its values, as /schema writes it; "mixed": texts and numbers */
    enum column_unit unit;
    bool derived;     /* computed: there even if /schema, which lists what is stored, has none */
    bool event;       /* a member of `columns` in answers of /event */
    const char *help; /* half a sentence */
};
size_t query_column_count(void);
/* i < query_column_count(); static memory. */
const struct query_column *query_column(size_t i);
/* NULL: no column of this name. */
const struct query_column *query_column_find(struct text name);

/* ---- which events ---------------------------------------------------------------------------- */

enum {
    PHASE_EVENTS = 1 << TRACE_EVENT,
    PHASE_COUNTERS = 1 << TRACE_COUNTER,
    PHASE_AGGREGATED = 1 << TRACE_AGGREGATED,
    PHASE_METADATA = 1 << TRACE_METADATA,
    PHASE_DATA = 7,
    PHASE_ANY = 15
};

/* The parameters by which all queries select events. Zero means "not given"; texts borrowed for the
 * life of the query. selection_init sets defaults. */
struct selection {
    /* root-relative, label/..., or absolute; globs in files */
    const char *const *dirs, *const *files;
    size_t dir_count, file_count;
    const uint32_t *positions; /* in the snapshot: these files, whatever dirs and files; or NULL */
    size_t position_count;
    bool not_recursive;
    struct text query;                /* DSL; empty = everything */
    const char *preset;               /* "io", "compute", "dlio" or NULL */
    bool has_time_range, overlap;     /* overlap: [ts, ts+dur] meets the window */
    int64_t time_from_ns, time_to_ns; /* both inclusive */
    bool has_min_duration, has_max_duration;
    int64_t min_duration_ns, max_duration_ns; /* inclusive */
    unsigned phases;                          /* PHASE_ bits */
    /* ptr not NULL: only what shares time with an event of these files that
     * matches this query (empty: any event) */
    struct text within;
    /* ... in the same one */
    enum within_scope { WITHIN_PROCESS, WITHIN_THREAD, WITHIN_HOST, WITHIN_ALL } within_scope;
    bool clip;       /* dur: what lies inside of such events; ts: from where on */
    bool may_vanish; /* a `file` or `dir` that does not exist is an empty choice */
};
void selection_init(struct selection *s); /* all files, recursive, PHASE_DATA */

/* A request in whose scans other ranks take part, each with the chunks that it has. Every rank does
 * the same with the request, until it comes to the scan that it is asked for. */
struct query_far {
    struct text request; /* borrowed; what the others are told of it */
    unsigned scans;      /* how many there have been */
    uint64_t number;     /* of what other ranks are asked */
    struct buf earlier;  /* what they found, as far as a later one needs it */
    bool alone;          /* some of that cannot be told: the rest is scanned here */
    bool looks_alone;    /* so it was before what query_far_receive was asked for */
    /* on another rank */
    struct buf *answer; /* what its scan found; NULL: this is rank 0 */
    bool answered;
    unsigned wanted;   /* number of the scan that it is asked for */
    struct text given; /* what those before found */
    /* What is wanted is a stream, of which rank 0 asks for parts (engine/cursor/pull.h): it
     * stays open, and makes what is `asked`, as bytes. Empty: a scan. */
    struct text asked;
    /* Set by the stream; -EXDEV: rank 0 itself must make the first part. */
    int (*serve)(void *arg, struct text asked, struct buf *answer);
    void *serve_arg;
};
void query_far_done(struct query_far *far);
/* What rank 0 finds otherwise than by scans that others could do: they are told. `told` is asked
 * before it is looked for: on another rank true, and the bytes (borrowed). `tell` follows what was
 * found; it stands for the scans that were done for it. */
struct query;
bool query_far_receive(struct query *q, struct text *ret);
void query_far_send(struct query *q, struct text fact);
/* What rank 0 asks, and a number for it, which is given once. `whole` false: the rank has the
 * stream of this number open. Another rank reads from it the request, and for how long it may work.
 * -EINVAL. */
uint64_t query_far_number(void);
void query_far_put(const struct query_far *far, const struct budget *b, bool whole,
                   struct text asked, struct buf *out);
int query_far_read(struct text message, struct query_far *ret, int64_t *ret_ns);

/* What all queries share. Borrowed by each query for its life. */
struct query_env {
    struct index *index;
    struct pool *pool; /* query workers; NULL = only the calling thread */
    const char *const *root_paths,
        *const *root_labels; /* to understand absolute dir/file; labels "" with one root */
    size_t root_count;
    uint64_t max_groups;           /* 0 = 10 M; more is ERR_ROW_LIMIT */
    struct covered_cache *covered; /* see below; NULL = found again by each query */
    struct query_far *far;         /* of the request; NULL = all is scanned here */
};
/* Which calls of a file the column bytes leaves out, from query to query: at most 16 MiB. *new*;
 * NULL without memory. */
struct covered_cache *covered_cache_new(void);
void covered_cache_free(struct covered_cache *c);

struct query;
/* Takes a reference to the snapshot. ERR_QUERY_SYNTAX (err.position, err.source), ERR_PARAM
 * (err.param), ERR_NOT_FOUND (a `file` without glob, or a `dir`, that does not exist), -ENOMEM,
 * ERR_PATTERN_LIMIT. budget borrowed. */
int query_open(const struct query_env *env, struct snapshot *snapshot,
               const struct selection *selection, struct budget *budget, struct err *err,
               struct query **ret);
void query_close(struct query *q);
struct snapshot *query_snapshot(const struct query *q); /* borrowed */
struct index *query_index(const struct query *q);
/* Files selected, ordered by name: positions in the snapshot. */
size_t query_files(const struct query *q, const uint32_t **ret);
/* none of them pending, indexing or growing, nor perhaps unseen */
bool query_complete(const struct query *q);
/* True when nothing but dir/file/phase restricts the objects, so that summaries can answer. */
bool query_unfiltered(const struct query *q);

struct query_counters {
    uint64_t files, damaged_files, chunks_total, chunks_scanned, chunks_skipped,
        chunks_from_summary, rows_scanned, rows_selected, name_conflicts;
    uint64_t generation;
};
void query_counters(const struct query *q, struct query_counters *ret);

/* Of the first QUERY_LOOKED_AT columns that the filter names (not its preset) those that no object
 * of the selected files has, as written. `ret`: room for so many; texts borrowed from the query. A
 * count, -ENOMEM, or an error of the budget or store. Between scans. */
enum { QUERY_LOOKED_AT = 16 };
int query_unknown(struct query *q, struct text *ret);

/* Only the choice of files (for /info): positions in the snapshot, *new* array. */
int query_select_files(const struct query_env *env, struct snapshot *snapshot,
                       const struct selection *selection, struct err *err, uint32_t **ret,
                       size_t *ret_count);

/* The choice of archives: those that are chosen themselves, and those that hold what is. */
int query_select_archives(const struct query_env *env, struct snapshot *snapshot,
                          const struct selection *selection, struct err *err, uint32_t **ret,
                          size_t *ret_count);

/* False where a directory that cannot be read may have files that would be chosen: those that are
 * known are answered. */
bool query_select_whole(const struct query_env *env, const struct snapshot *snapshot,
                        const struct selection *selection);

/* A directory as `dir` names it: *new* descriptor; -ENOENT: there is none in a root; -errno. */
int query_open_dir(const struct query_env *env, const char *dir);

/* DSL alone: parse, and print back in canonical form (fully parenthesised): for tests, keys of
 * caches, and fuzzing. */
int query_normalise(struct text dsl, struct err *err, struct buf *out);
/* The column in which the values of a path of the language stand ("ret": args.ret), in the arena.
 * -EINVAL where it is derived (te, host ...) or no path; -ENOMEM. */
int query_stored_path(struct text path, struct arena *arena, const char **ret);
/* The value of a key of a scan; texts borrowed from the query. */
void query_key_value(struct query *q, uint64_t key, struct value *ret);

#endif
