/* query.h - queries: values, columns, and the selection of events. What an answer does with the
 * selected events is in a header of its own: stats.h, aggregate.h, processes.h, timeline.h ...
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
    VALUE_UINT,   /* .u: counts and sizes that the daemon computes */
    VALUE_WIDE,   /* .wide: exact sums beyond 64 bits */
    VALUE_TIME,   /* .wide in ns, printed as decimal microseconds */
    VALUE_DOUBLE, /* .d; NaN and infinity are printed as null */
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
/* Returns the rank of the value's type in that order: null, numbers, booleans, texts, other
 * JSON. */
enum { VALUE_RANK_TEXT = 3 };
int value_rank(const struct value *v);
/* Sets *ret to the value in units of 1/1000, if it is a whole number or a time. Two values with
 * such a number are ordered by it. Returns false for other values, and if it is too large. */
bool value_milli(const struct value *v, __int128 *ret);
/* Returns the nearest double, of times in us; `fallback` if the value is not a number. */
double value_double(const struct value *v, double fallback);
/* Copies the text of a value, if it has one, to the arena. Returns 0 or -ENOMEM. */
int value_keep_text(struct arena *arena, struct value *v);

/* ---- columns --------------------------------------------------------------------------------- */

/* The columns that a query knows by name in every trace. Any other name is that of an argument. */
enum column_unit { UNIT_NONE, UNIT_US, UNIT_BYTES, UNIT_BYTES_PER_S };
struct query_column {
    const char *name;
    const char *type; /* of its values, as /schema writes it; "mixed": texts and numbers */
    enum column_unit unit;
    bool derived;     /* computed, so it exists even where /schema, which lists stored columns,
                         does not have it */
    bool event;       /* a member of `columns` in answers of /event */
    const char *help; /* half a sentence */
};
size_t query_column_count(void);
/* i < query_column_count(); static memory. */
const struct query_column *query_column(size_t i);
/* Returns NULL if there is no column of this name. */
const struct query_column *query_column_find(struct text name);

/* ---- selections ------------------------------------------------------------------------------ */

enum {
    PHASE_EVENTS = 1 << TRACE_EVENT,
    PHASE_COUNTERS = 1 << TRACE_COUNTER,
    PHASE_AGGREGATED = 1 << TRACE_AGGREGATED,
    PHASE_METADATA = 1 << TRACE_METADATA,
    PHASE_DATA = 7,
    PHASE_ANY = 15
};

/* A query that has a name: io, compute or dlio. */
struct query_preset {
    const char *name, *description, *query;
};
/* Returns NULL if there is none of this name. */
const struct query_preset *query_preset(const char *name);

/* The parameters by which all queries select events. Zero means "not given"; texts borrowed for the
 * life of the query. selection_init sets defaults. */
struct selection {
    /* root-relative, label/..., or absolute; globs in files */
    const char *const *dirs, *const *files;
    size_t dir_count, file_count;
    /* the parameters that gave dirs, files and within, which errors name */
    const char *dirs_param, *files_param, *within_param;
    /* positions in the snapshot: these files instead of dirs and files; or NULL */
    const uint32_t *positions;
    size_t position_count;
    bool not_recursive;
    struct text query;                /* DSL; empty = everything */
    const char *preset;               /* name of a query_preset, or NULL */
    bool has_time_range, overlap;     /* overlap: [ts, ts+dur] meets the window */
    int64_t time_from_ns, time_to_ns; /* both inclusive */
    bool has_min_duration, has_max_duration;
    int64_t min_duration_ns, max_duration_ns; /* inclusive */
    unsigned phases;                          /* PHASE_ bits */
    /* ptr not NULL: only events that overlap in time with an event of these files that
     * matches this query (empty: any event) */
    struct text within;
    /* both must belong to the same process, thread or host */
    enum within_scope { WITHIN_PROCESS, WITHIN_THREAD, WITHIN_HOST, WITHIN_ALL } within_scope;
    bool clip;          /* ts and dur are those of the part that lies inside of such events */
    bool allow_missing; /* a `file` or `dir` that does not exist selects nothing; not an error */
};
/* All files, recursive, PHASE_DATA; the parameters `dir`, `file` and `within`. */
void selection_init(struct selection *s);

/* A request whose scans also run on remote ranks: each rank scans the chunks that it has. Every
 * rank processes the request in the same way, up to the scan that rank 0 has requested. Belongs to
 * the thread of the query. */
struct query_remote {
    struct text request; /* borrowed; the request as it is sent to remote ranks */
    unsigned scans;      /* number of scans that have begun */
    uint64_t number;     /* of the message to remote ranks, see query_remote_number */
    struct buf earlier;  /* results of earlier scans that a later one needs, encoded */
    bool local;          /* `earlier` is incomplete: all later scans run on rank 0 only */
    bool was_local;      /* `local` at the time of query_rank_receive */
    /* The rest is for a remote rank. */
    struct buf *answer; /* result of its scan, borrowed; NULL: this is rank 0 */
    bool answered;      /* `answer` is complete */
    unsigned wanted;    /* number of the requested scan, from 0 */
    struct text given;  /* `earlier` of rank 0; borrowed from the message */
    /* If rank 0 reads a stream (engine/cursor/pull.h): the part of it that is requested, as
     * bytes. The request stays open meanwhile. Empty: a scan is requested. */
    struct text part;
    /* Set by the stream; returns -EXDEV if rank 0 itself must make the first part. */
    int (*serve)(void *arg, struct text part, struct buf *answer);
    void *serve_arg;
};
void query_remote_done(struct query_remote *remote);
struct query;
/* A fact that only rank 0 can find is sent to remote ranks, where it replaces the scans of the
 * search. Each search begins with query_rank_receive. If the message of rank 0 has a fact, it sets
 * *ret to it, as bytes that are borrowed from the message, and returns true. Otherwise, as always
 * on rank 0, it returns false; the caller searches, and then calls query_rank_send. */
bool query_rank_receive(struct query *q, struct text *ret);
void query_rank_send(struct query *q, struct text fact);
/* Returns a number for the messages of a scan or stream; never the same twice. */
uint64_t query_remote_number(void);
/* Encodes a message of rank 0. whole: with the request; otherwise the rank has the stream of this
 * number open, and only the part is sent. */
void query_remote_encode(const struct query_remote *remote, const struct budget *b, bool whole,
                         struct text part, struct buf *out);
/* Decodes a message on a remote rank: the request, and the time that is left for it (0: no
 * limit). Texts are borrowed from the message. Returns -EINVAL for an invalid message. */
int query_remote_decode(struct text message, struct query_remote *ret, int64_t *ret_ns);

/* State that all queries share. Borrowed by each query for its life. */
struct query_env {
    struct index *index;
    struct pool *pool; /* query workers; NULL = only the calling thread */
    const char *const *root_paths,
        *const *root_labels; /* to resolve absolute dir/file; labels "" with one root */
    size_t root_count;
    uint64_t max_groups;           /* 0 = 10 M; more is ERR_ROW_LIMIT */
    struct covered_cache *covered; /* see below; NULL = each query computes it again */
    struct query_remote *remote;   /* of the request; NULL = no remote rank takes part */
};
/* Keeps from query to query which calls of a file the column `bytes` leaves out, in at most 16 MiB.
 * *new*; returns NULL without memory. */
struct covered_cache *covered_cache_new(void);
void covered_cache_free(struct covered_cache *c);

/* Opens a query, with a reference to the snapshot of its own; the budget is borrowed. *ret: *new*.
 * Returns 0, ERR_QUERY_SYNTAX (err.position, err.source), ERR_PARAM (err.param), ERR_NOT_FOUND (a
 * `file` without glob, or a `dir`, that does not exist), ERR_PATTERN_LIMIT or -ENOMEM; or an error
 * of the scan for `within`. */
int query_open(const struct query_env *env, struct snapshot *snapshot,
               const struct selection *selection, struct budget *budget, struct err *err,
               struct query **ret);
void query_close(struct query *q);
struct snapshot *query_snapshot(const struct query *q); /* borrowed */
struct index *query_index(const struct query *q);
/* The selected files, ordered by name: positions in the snapshot. */
size_t query_files(const struct query *q, const uint32_t **ret);
/* Returns true if none of these files is pending, being indexed or growing, and no directory that
 * may contain others is unreadable. */
bool query_complete(const struct query *q);
/* Returns true if only dir, file and phase restrict the objects, so that summaries can answer. */
bool query_unfiltered(const struct query *q);

struct query_counters {
    uint64_t files, damaged_files, chunks_total, chunks_scanned, chunks_skipped,
        chunks_from_summary, rows_scanned, rows_selected, name_conflicts;
    uint64_t generation; /* of the snapshot */
};
void query_counters(const struct query *q, struct query_counters *ret);

/* Sets `ret` to the columns of the filter that no object of the selected files has, as written.
 * Only the first QUERY_UNKNOWN_MAX columns are checked, and none of the preset. `ret` has
 * QUERY_UNKNOWN_MAX elements; texts are borrowed from the query. Returns their number, -ENOMEM, or
 * an error of the budget or store. Must not be called while a scan runs. */
enum { QUERY_UNKNOWN_MAX = 16 };
int query_unknown_columns(struct query *q, struct text *ret);

/* Selects files without opening a query (for /info): positions in the snapshot, *new* array. */
int query_select_files(const struct query_env *env, struct snapshot *snapshot,
                       const struct selection *selection, struct err *err, uint32_t **ret,
                       size_t *ret_count);

/* Selects archives: those that the selection names, and those with selected members. */
int query_select_archives(const struct query_env *env, struct snapshot *snapshot,
                          const struct selection *selection, struct err *err, uint32_t **ret,
                          size_t *ret_count);

/* Returns false if an unreadable directory may hold files of the selection; the answer then has
 * only the known ones. */
bool query_selection_is_complete(const struct query_env *env, const struct snapshot *snapshot,
                                 const struct selection *selection);

/* Opens a directory that is named as in `dir`. Returns a *new* descriptor, -ENOENT if no root has
 * it, or -errno. */
int query_open_dir(const struct query_env *env, const char *dir);

/* Parses a query and prints it in canonical form, fully parenthesised: for tests, keys of caches,
 * and fuzzing. */
int query_normalise(struct text dsl, struct err *err, struct buf *out);
/* Sets *ret to the stored column of a path of the language ("ret": args.ret), in the arena. Returns
 * -EINVAL if the column is derived (te, host ...) or the text is no path; -ENOMEM. */
int query_stored_path(struct text path, struct arena *arena, const char **ret);
/* Sets *ret to the value of a key of a scan; its text is borrowed from the query. */
void query_key_value(struct query *q, uint64_t key, struct value *ret);

#endif
