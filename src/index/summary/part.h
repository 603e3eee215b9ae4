/* part.h - metadata of some chunks of a file: counters, names, processes, groups. Parts of chunks
 * merge into the part of a file without loss, in chunk order; a part is stored with each commit, so
 * that a crash loses nothing.
 *
 * May use:   base, measure, trace; texts, recbuf, chunk.h. Used by: ingest, catalog,
 *            summaries.
 * Threads:   a part belongs to one thread at a time.
 * Errors:    a part is sticky: -ENOMEM in `error`, checked by the writer.
 */
#ifndef DFTRACERD_INDEX_SUMMARY_PART_H
#define DFTRACERD_INDEX_SUMMARY_PART_H

#include "column/chunk/chunk.h"
#include "dftracerd/hash_index.h"
#include "dftracerd/vec.h"
#include "index/store/record.h"

/* A fact about a process from one record. Facts are applied when all processes are known. */
enum part_fact_kind {
    FACT_PPID,
    FACT_RANK,
    FACT_CMD,
    FACT_EXEC,
    FACT_CWD,
    FACT_START,
    FACT_END,
    FACT_FORK, /* value = child, as for the next kind */
    FACT_SPAWN
};
struct part_fact {
    uint8_t kind; /* enum part_fact_kind */
    bool host_is_hash;
    uint32_t host;
    int64_t pid, value;
};
static inline bool fact_is_fork(const struct part_fact *f)
{
    return f->kind == FACT_FORK || f->kind == FACT_SPAWN;
}
static inline uint8_t fact_parent_by(const struct part_fact *f)
{
    return f->kind == FACT_SPAWN ? INDEX_PARENT_SPAWN : INDEX_PARENT_FORK;
}

/* Texts of the current chunk whose ids are looked up together: hash and value of each name. */
struct part_lookup {
    uint32_t count;                /* of texts */
    uint32_t name[TEXTS_MANY / 2]; /* positions in part.names */
    struct text text[TEXTS_MANY];  /* borrowed from the text of the chunk */
};

struct part {
    int error;
    struct trace_counts counts;
    /* sum of the chunks' hashes, each seeded by its position: equal texts have equal sums */
    struct hash128 text_sum;
    bool finished;
    uint8_t unit_seen; /* enum trace_unit + 1 of the first time_metric, 0 = none */
    uint32_t version;  /* text id of the tracer's version, or INDEX_NO_TEXT */
    VEC(struct index_process) processes;
    struct hash_index process_index;
    VEC(struct part_fact) facts;
    struct summary *summary;
    /* `line`: position of the record in the chunk, until it gets an id (names.h) */
    VEC(struct index_name) names;
    struct part_lookup *lookup; /* only while scanning; else NULL */
    struct buf lines; /* lines of the names of one chunk, each followed by a newline; not merged */
};
/* Widens a span of time, which is not set before the first call. */
static inline void times_widen(bool *has_time, __int128 *min_ts, __int128 *max_te, __int128 ts,
                               __int128 te)
{
    if (!*has_time || ts < *min_ts)
        *min_ts = ts;
    if (!*has_time || te > *max_te)
        *max_te = te;
    *has_time = true;
}

struct part *part_new(void);
void part_free(struct part *p);
/* Adds `from` to `into`; names are copied, lines are not. */
void part_merge(struct part *into, const struct part *from);
void part_merge_facts(struct part *into, const struct part *from); /* without names and summary */
void part_add_process(struct part *p, const struct index_process *from); /* counts and times only */
extern const struct record_field counts_fields[]; /* of struct trace_counts */
/* Encode and decode a part without names and lines. */
void part_encode(const struct part *p, const struct texts *texts, struct buf *out);
int part_decode(struct rec *r, struct texts *texts, struct part **ret); /* ERR_CORRUPT, -ENOMEM */

/* metadata_records.c */
extern const struct text metadata_kind_names[INDEX_CM + 1]; /* by enum index_name_kind */
/* Called for each event while scanning. `row`: its row in chunk `number`. Returns false if this
 * event added nothing, and other events of its name will not either. */
bool part_add_metadata(struct part *p, struct texts *texts, const struct trace_event *event,
                       const char *chunk_text, uint32_t number, uint32_t row);
/* Must be called after the last event of a chunk, while its text is in memory. */
void part_end_metadata(struct part *p, struct texts *texts);
/* chunk_summary.c: adds the columns of a new chunk. Returns 0, ERR_CORRUPT or -ENOMEM. */
int part_add_chunk(struct part *p, struct texts *texts, struct chunk_view *view);

/* Returns processes as answers show them: objects without a host join the only host that their pid
 * has in the file; facts are applied; sorted by (host, pid). *new* array of *ret_count. */
int part_processes(const struct part *p, struct index_process **ret, uint32_t *ret_count);
/* process_order.c: sorts positions of processes by pid, then ascending. */
void process_order(const struct index_process *list, uint32_t count, uint32_t *ret_order);
/* Returns the process of a pid that has a host; NULL if there is none, or several. */
const struct index_process *process_find_single(const struct index_process *list,
                                                const uint32_t *order, uint32_t count, int64_t pid);
int64_t part_parse_rank(struct text t); /* "12" and "Rank 12" -> 12; INT64_MIN: no rank */

/* summary.c: rows of a summary's structs, without histograms and sketches */
extern const struct record_field summary_name_fields[], summary_thread_fields[],
    summary_class_fields[];
void summary_encode(const struct summary *s, const struct texts *texts, struct buf *out);
int summary_decode(struct rec *r, struct texts *texts, struct summary **ret);
/* Sets the number of names beyond which summaries have no entries by name; at most
 * SUMMARY_NAMES_MAX. Must be called before any summary exists. */
void summary_limit_names(uint32_t count);
/* Reduces the detail of a summary to `detail`, unless it is less already. Returns 0 or -ENOMEM. */
int summary_coarsen(struct summary *s, enum summary_detail detail);
/* Return an entry, which is added if it is new; NULL without memory. */
struct summary_name *summary_get_name(struct summary *s, uint8_t class, uint32_t cat,
                                      uint32_t name);
struct summary_thread *summary_get_thread(struct summary *s, const struct summary_thread *key);
static inline bool summary_same_thread(const struct summary_thread *a,
                                       const struct summary_thread *b)
{
    return a->tid == b->tid && a->pid == b->pid && a->host == b->host &&
           a->host_is_hash == b->host_is_hash && a->class == b->class;
}
int summary_add_name(struct summary *s, const struct summary_name *from);
/* Adds threads without a host to those of the only host of their pid. Returns 0 or -ENOMEM. */
int summary_resolve_hosts(struct summary *s, const struct index_file *f);
struct summary *summary_clone(const struct summary *s);

/* summary_record.c: the value of table `summary`. Either part may be NULL in the result. Returns 0,
 * ERR_CORRUPT, -ENOENT or -ENOMEM. */
int summary_load(struct texts *texts, struct kv_read *r, uint32_t file, uint32_t version,
                 struct part **ret_base, struct part **ret_tail);
void summary_store(const struct texts *texts, const struct part *base, const struct part *tail,
                   struct buf *out);

#endif
