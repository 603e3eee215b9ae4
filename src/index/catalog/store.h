/* store.h - the inside of struct index: what is known of files, who may still be reading it, and
 * how it gets in.
 *
 * Used by: catalog*.c, ingest*.c, store*.c, names.c, root.c, resolve.c ... of this module only.
 *
 *   entry     a name that was offered: mutable, under index.lock; lives until the file is gone and
 *             purged
 *   view      what answers see of a file at one moment: immutable, refcounted. The state may differ
 *             between two views of one body; the body holds everything else
 *   run       one pass of ingest over a file: from its start, or on from the last final chunk
 *   part      what is known of some chunks (part.h). A run keeps two: `base`, all chunks but the
 *             last, and `tail`, the last one. The last chunk of a file may have to be read again
 *             when the file grows, and nothing can be subtracted from a sketch
 *   snapshot  the views of one generation. The oldest living one decides what the writer may delete
 *
 * Locks:    index.lock: entries, views published, snapshots, the queue of files. ingest.lock: jobs,
 *           mail, credits; it may be taken within the first, never the other way. Neither is held
 *           during I/O.
 */
#ifndef DFTRACERD_INDEX_CATALOG_STORE_H
#define DFTRACERD_INDEX_CATALOG_STORE_H

#include "index/summary/part.h"
#include "index/catalog/identity.h"
#include "index/catalog/terms.h"

#include <pthread.h>

/* of the tables, and of what is read from a trace; CHUNK_VERSION and the sizes below are part of
 * the schema text, too */
#define STORE_SCHEMA 11
#define DAMAGE_KEPT INDEX_DAMAGE_KEPT
#define GENERATIONS_AHEAD 4096 /* a crash jumps over those that were told but not stored */
#define DIMENSIONS_MAX CHUNK_DIMENSIONS_MAX
/* What a builder holds, by the text of its chunk: measured two and a half times. */
static inline uint64_t builder_bytes(uint64_t text)
{
    return text * 5 / 2;
}

struct filter {
    const uint8_t *bits;
    size_t len;
};
/* Where a member is in the text of its archive. */
struct body_member {
    uint64_t offset, size;
    bool cut; /* the archive ends before it does */
};
/* Members of an archive as they are met, in pieces on their way from reader to writer. */
struct archive_list {
    /* lengths of names only: those are in `names`, one behind the other */
    struct index_member *list;
    uint32_t count, cap;
    struct buf names;
};

/* ---- views ----------------------------------------------------------------------------------- */

struct body {
    atomic_uint refs;
    struct index *ix;      /* for find_checkpoint; set where id is */
    struct index_file pub; /* state is that of the view */
    struct terms *terms;   /* NULL: those of the index */
    struct identity identity;
    struct hash128 text_sum; /* part.h */
    uint32_t summary_version, run_version;
    bool unit_fixed;           /* the trace said its unit */
    bool has_tail, tail_final; /* tail_final: ingest may go on behind the last chunk */
    uint64_t consumed;         /* bytes of the file read so far: progress */
    struct body_member member; /* where pub.archive is */
    const struct part_fact *forks;
    uint32_t fork_count;
    struct filter *filters; /* of each dimension of the terms; NULL: none has any */
    struct arena arena;
};
struct view {
    atomic_uint refs;
    struct body *body;
    struct index_file pub; /* body->pub with the state of now */
    struct index_process *
        linked; /* pub.processes where forks in other files told parents; NULL: those of the body */
    bool hidden;              /* by view_hidden(): pub is empty */
    uint8_t state_before;     /* of a missing file */
    int64_t missing_since_ns; /* real time */
};

/* ---- entries --------------------------------------------------------------------------------- */

struct run;
struct entry {
    const char *name, *path;
    struct view *view;   /* never NULL once offered */
    struct entry *plain; /* of X.gz: X, where that was offered, too */
    struct run *run;     /* being read, or its end not yet committed */
    bool queued, again, rebuild, unit_fixed, offered;
    bool replaced;          /* the view is of another file that had the name; for the next run */
    bool was_corrupt;       /* found so by this process, and indexed again */
    uint64_t device, inode; /* by the last offer */
    bool symlink, linked;   /* linked: a symlink, or a file of several names */
    bool unsettled;         /* which of its names answers is not known yet: it is not seen */
    const struct entry *link_of; /* another name of the same file answers for it */
    bool asked;                  /* on demand: somebody wants it, or it has been read once */
    struct terms *terms;         /* of the next run, when asked for; NULL: those of the last */
    bool record_dirty;           /* its state is to be stored by the next commit */
    enum trace_unit unit;        /* of the next run, when unit_fixed: the trace has said it */
    struct identity seen;        /* by the last stat: size, inode, times */
    int64_t stable_since_ns;     /* monotonic: when `seen` last changed */
    int64_t check_ns;            /* monotonic: not looked at before */
    uint8_t failures;            /* of the system, in a row: readings that ended so */
    bool no_memory;              /* the last reading ended for lack of memory */
    struct entry *next_queued;
    bool is_archive;
    struct entry *members; /* of an archive */
    struct entry *archive; /* of a member; and its neighbours: */
    struct entry *next_member, *previous_member;
    struct body_member member;
    bool listed; /* by the last walk of the archive */
};

/* ---- snapshots ------------------------------------------------------------------------------- */

struct resolver;
struct root;
struct held;
struct snapshot {
    atomic_uint refs;
    struct index *ix;
    uint64_t generation;
    bool listed;
    struct held *held; /* or NULL */
    uint32_t count;
    struct view **views;
    uint32_t archive_count;
    struct view **archives;
    char *part_uuid;                /* of snapshot_filter(), else NULL */
    struct snapshot *older, *newer; /* living ones, under index.lock */
    /* Of what is made when first asked for. Two locks: a scan resolves hashes while it has a chunk
     * open, and the root summary reads the store while it is made. */
    pthread_mutex_t lock, resolver_lock;
    struct resolver *resolver; /* under resolver_lock */
    struct root *root;         /* under lock */
};

/* ---- line ids (names.c) ---------------------------------------------------------------------- */

struct line_range {
    uint32_t first, count, file, chunk, version;
    struct text *texts;
    char *bytes;
};

struct garbage {
    uint64_t generation;
    uint8_t kind;
    uint32_t file, a, b;
};
enum garbage_kind { GARBAGE_FILE, GARBAGE_CHUNK, GARBAGE_SUMMARY };

struct ingest;
struct index {
    char *path, uuid[40];
    struct index_options options; /* with defaults filled in */
    struct terms *terms;
    uint64_t checkpoint_most, commit_bytes;
    int64_t settle_ns, purge_ns;
    int lock_fd;
    struct kv *kv;
    struct texts *texts;
    struct ingest *ingest; /* NULL: read only */
    bool read_only;

    pthread_mutex_t lock;
    pthread_cond_t files_cond; /* the queue of files is not empty, or ingest stops */
    struct entry **entries;    /* by name, once sorted */
    uint32_t entry_count, entry_cap, archive_count;
    uint32_t sorted_count;      /* so many of the first entries are in order */
    struct intern *entry_names; /* name -> position in by_id */
    struct entry **by_id;
    uint32_t by_id_cap;
    struct entry *queue_head, *queue_tail;
    struct arena strings;
    struct held *held; /* directories that cannot be read, or NULL: none (held.c) */
    bool listed;
    uint32_t link_count; /* entries that are linked */
    bool links_dirty;    /* names came, went, or lead to other files (links.c) */
    bool full;           /* the store can grow no more: readers wait (ingest/full.c) */
    bool forgotten;      /* a file went since */
    bool gone;           /* there are entries that catalog_drop_gone may free, now or later */
    int store_error;
    uint64_t read_again;    /* how often files were looked at again after failures of the system */
    uint64_t upkeeps;       /* of index_progress */
    uint64_t files_corrupt; /* whose values in the store were wrong, since it was opened */
    uint32_t *lost, lost_count, lost_cap; /* ids of those that were found so when it was opened */
    char *rebuilt; /* why the store that was there has been removed, or NULL */
    uint64_t generation, generation_stored, generation_opened;
    struct index_progress progress; /* sums over all entries (index/files.c) */
    int64_t progress_until_ns; /* monotonic: not summed up again before, while files are queued */
    struct snapshot *current;  /* of the present state, or NULL: made when asked for */
    struct snapshot *oldest, *newest;
    struct part_fact *forks; /* of the files of the last snapshot: who forked whom (forks.c) */
    uint32_t fork_count, fork_cap;
    struct map fork_map;
    bool forks_dirty; /* processes came or went since */
    uint32_t next_file;
    atomic_uint records_dirty;
    void (*on_change)(void *arg);
    void *on_change_arg;
    atomic_int queries;
    atomic_bool stopping; /* index_close has begun: what takes long ends */

    pthread_rwlock_t lines_lock;
    struct line_range *lines;
    uint32_t line_range_count, line_range_cap, line_count;

    pthread_mutex_t root_lock;
    struct root *root; /* newest one made */
};

/* ---- catalog.c: entries, views; all under index.lock unless said otherwise ------------------- */

struct entry *catalog_entry(struct index *ix, const char *name, const char *path, bool make);
/* What an offer has found at the path (st NULL: nothing): it may be of several names (links.c). */
void catalog_note_link(struct index *ix, struct entry *e, const void *stat, bool symlink);
void catalog_queue(struct index *ix, struct entry *e, bool front);
/* It is to be indexed anew. Visible at once: a client that waits for the index from now on waits
 * for this. */
void catalog_rebuild(struct index *ix, struct entry *e);
/* Listed, but not to be read before somebody asks for it. */
bool catalog_is_unasked(const struct index *ix, const struct entry *e);
/* Something that answers tell has changed. */
void catalog_changed(struct index *ix);
void catalog_publish(struct index *ix, struct entry *e, struct view *v); /* takes v */
/* What a run has found; not told where the file has gone or is another one meanwhile. */
void catalog_publish_run(struct index *ix, struct entry *e, struct view *v);
/* The entry that answers for this one: another name of its file, or for X.gz the X of the same
 * text. NULL: none. */
const struct entry *catalog_duplicate_of(const struct entry *e);
/* It counts nowhere: missing, a duplicate, or not known yet whether it is one. */
bool catalog_is_hidden(const struct entry *e);
/* One that waits to be read is told with its size. */
void catalog_show_size(struct index *ix, struct entry *e);
/* Whether a reader has to look at it, by what the last offer has seen. */
bool catalog_is_news(const struct entry *e, int64_t mono_ns);
void catalog_notify(struct index *ix); /* without the lock */
void catalog_done(struct index *ix);
/* It is missing from now on; -ENOMEM. */
int catalog_forget(struct index *ix, struct entry *e);
/* One that was missing is there again, as a file like this. */
void catalog_revive(struct index *ix, struct entry *e, const struct identity *now);
/* held.c: immutable; NULL is none. */
struct held *held_ref(struct held *h);
void held_release(struct held *h);
size_t held_count(const struct held *h);
const char *held_dir(const struct held *h, size_t i);
/* One of them is above this name. */
bool held_covers(const struct held *h, const char *name);
/* catalog_gone.c: entries of names that are gone and not in the store are freed. */
void catalog_drop_gone(struct index *ix);

struct body *body_new(void);
void body_identify(struct body *b, const struct identity *file);
/* Room for the filter of one of the terms' dimensions; NULL without memory. */
uint8_t *body_filter(struct body *b, unsigned dimension, size_t len);
/* Borrows the list, which lives in the body's arena; 0, -ENOMEM. */
int body_processes(struct body *b, const struct index_process *list, uint32_t count);
void body_release(struct body *b);
struct view *
view_of_body(struct body *b,
             enum index_state state); /* *new*, takes the reference; NULL without memory */
struct view *view_with_state(struct view *v, enum index_state state);
/* PENDING, and nothing told of it: it is of a file that had gone when another one came under its
 * name. */
struct view *view_hidden(struct view *old);
struct view *view_empty(const struct entry *e, enum index_state state);
struct view *view_ref(struct view *v);
void view_release(struct view *v);
static inline struct view *view_of_file(const struct index_file *f)
{
    return (struct view *)((char *)f - __builtin_offsetof(struct view, pub));
}

/* ---- store_error.c; without the lock --------------------------------------------------------- */

/* Why indexing stopped; 0: it goes on. ERR_CORRUPT stays until the index is opened again. */
void set_store_error(struct index *ix, int error);
/* The store is corrupt as a whole: nothing more is written, and the next start rebuilds it. */
void index_tell_damaged(struct index *ix);

/* ---- snapshot.c; under index.lock ------------------------------------------------------------ */

/* Generation of the oldest living snapshot, UINT64_MAX: none. */
uint64_t snapshot_oldest(struct index *ix);

/* ---- links.c: one file of several names; under index.lock ------------------------------------ */

/* Decides which names answer, and queues what is to be read. */
void links_settle(struct index *ix);

/* ---- forks.c: parents that other files know; under index.lock -------------------------------- */

void forks_link(struct index *ix);
void forks_done(struct index *ix);

/* ---- catalog_record.c: the value of table `file`, and what is loaded at start ---------------- */

void file_encode(struct index *ix, const struct view *v, struct buf *out);
int file_decode(struct index *ix, uint32_t id, struct text value,
                struct view **ret); /* without chunks and names */
int catalog_load(struct index *ix, struct kv_read *r, struct err *err);
struct kv_key path_key(const char *name);

/* ---- names.c --------------------------------------------------------------------------------- */

/* Ids for the lines of a chunk, of which file, chunk, version and count are given; *ret_first is
 * INDEX_NO_TEXT when no more ids are left. -ENOMEM. */
int lines_register(struct index *ix, const struct line_range *chunk, uint32_t *ret_first);
void lines_done(struct index *ix);
/* Value of table `name`. */
int names_encode(struct index *ix, const struct part *p, struct buf *out);
int names_decode(struct index *ix, struct text value, struct index_name **ret, uint32_t *ret_count,
                 struct text **ret_lines, char **ret_bytes); /* the last two may be NULL */
void names_sort(struct index_name *names, uint32_t count);
void names_merge(const struct index_name *a, uint32_t a_count, const struct index_name *b,
                 uint32_t b_count, struct index_name *out);

/* ---- ingest/again.c: when what the system did not let us read is tried again; under index.lock */

/* Memory, descriptors, the disk: another time it may not come. */
bool again_is_system(int error);
/* What answers tell of a run that ended with this error. */
void again_text(int error, char *text, size_t size);
/* Read, but not to its end. */
bool again_is_wanted(const struct entry *e);
/* After a run, whose view has been published: not looked at before so long. */
int64_t again_delay_ns(struct entry *e, const struct run *run);
/* Of a run that has nothing else to do, without the lock: reading goes on where it ended. buf:
 * `len` bytes. */
bool again_reads(const struct run *run, int fd, char *buf, size_t len);

/* ---- ingest ---------------------------------------------------------------------------------- */

struct span {
    struct index_chunk pub;
    uint64_t bytes;
};
struct run {
    struct entry *entry;
    uint32_t id, version;
    bool fresh;     /* a new id: from the start */
    bool stored;    /* some of it is in the store, or in the batch */
    bool committed; /* some of it is in the store */
    bool rebuild;   /* it was asked for */
    bool abandoned; /* the store is full: as if it had not begun, or not gone on */
    uint32_t summary_version;
    uint8_t action; /* enum run_action */
    struct terms *terms;
    struct view *old;     /* what was known when it began */
    int64_t begin_ns;     /* monotonic */
    struct view *archive; /* of a member: what was known of its archive then; NULL */
    struct body_member member;
    struct archive_list members; /* of an archive, so far */
    struct hash128 text_sum;     /* of an archive, at its end */
    atomic_bool cancelled;
    enum trace_unit unit;
    bool unit_fixed;
    struct identity identity;
    struct part *base, *tail;
    bool has_tail, tail_final;
    struct index_chunk *chunks;
    uint32_t chunk_count, chunk_cap;
    struct body *named;          /* of the last view: its names are sorted */
    struct trace_damage *damage; /* the first DAMAGE_KEPT */
    uint32_t damage_count, damage_cap;
    uint64_t index_bytes;
    struct trace_reader_info info;
    int error; /* reading ended with it */
    /* its name does not lead to it: it has gone, or a directory above is closed */
    bool unreachable;
    bool ended, finished; /* finished: the file was taken not to grow any more */
    uint32_t old_id;      /* what this run replaces, 0 = none */
    struct hashes *hashes[DIMENSIONS_MAX];
    bool hashes_lost; /* the run began in the middle: those of the chunks before are not in it */
    uint64_t next_seq;
    struct result *waiting; /* results that came too early */
    bool dirty;
    struct run *next_dirty;
};

enum run_action { RUN_NOTHING, RUN_TOUCH /* only the identity is new */, RUN_READ };

/* A chunk on its way from reader to worker to writer, or the end of a run. */
struct result {
    struct result *next;
    struct run *run;
    uint64_t seq;
    bool end;
    bool walked; /* no chunk: what was found in an archive */
    struct archive_list members;
    struct trace_chunk chunk; /* text freed by the worker */
    uint64_t text_len;
    struct trace_reader_info info;
    struct buf value;
    uint32_t rows, version;
    struct part *part;
    struct trace_checkpoint *checkpoints;
    uint32_t checkpoint_count;
    struct trace_damage *damage;
    uint32_t damage_count;
    uint64_t *hashes[DIMENSIONS_MAX];
    uint32_t hash_count[DIMENSIONS_MAX];
    struct hashes
        *before[DIMENSIONS_MAX]; /* of an end: those of the chunks before the run; all or none */
    bool other; /* values of dimensions may be in "@other": there is no telling which */
    int error;
    size_t credits;
};
struct ingest_worker {
    pthread_t thread;
    struct ingest *in;
    struct pulse pulse;
};
struct ingest {
    struct index *ix;
    pthread_mutex_t lock;
    pthread_cond_t jobs_cond, mail_cond, credit_cond, ahead_cond;
    struct result *jobs, **jobs_end, *mail, **mail_end;
    size_t credits_used, credits_max;
    size_t ahead_used; /* of them too, but chunks do not wait for these */
    struct ahead *aheads;
    uint64_t pieces_used;
    bool stopping, readers_gone, workers_gone;
    unsigned active;  /* runs and jobs not yet with the writer */
    unsigned reading; /* runs that readers are at */
    pthread_t *readers, writer;
    struct ingest_worker *workers;
    unsigned reader_count, worker_count;
    bool writer_started;
};
/* ingest/share.c: what all indexes of index_options.share may have together. */
/* a scanner waits for its turn, which is never held during I/O */
void share_enter(struct ingest *in);
bool share_leave(struct ingest *in); /* whether others wait for theirs */
/* Bytes of text in flight: of credits and of what is read ahead. */
void share_charge(struct ingest *in, size_t bytes);
void share_release(struct ingest *in, size_t bytes);
bool share_has_room(const struct ingest *in, size_t bytes);
int ingest_start(struct index *ix, struct err *err);
void ingest_stop(struct index *ix);
void ingest_wake(struct index *ix); /* the writer has something to look at */
/* ingest/read.c */
void *ingest_reader_main(void *ingest);
/* ingest/ahead.c: a reader's text inflated ahead. NULL where that does not pay; `fd` stays open
 * until the end, which comes after the reader is closed. */
struct trace_ahead *ahead_begin(struct ingest *in, const struct run *run, int fd,
                                const struct trace_reader_info *at);
void ahead_at(struct trace_ahead *a, const struct trace_reader_info *at); /* where it is now */
void ahead_end(struct trace_ahead *a);
/* By a thread that has nothing else to do, under ingest.lock, which is given up meanwhile. False:
 * nothing was to be done. */
bool ahead_help(struct ingest *in);
/* ingest/scan.c */
void *ingest_worker_main(void *ingest_worker);
void result_free(struct result *r);
/* ingest/write.c */
void *ingest_writer_main(void *ingest);
void ingest_yield(struct ingest *in);
bool ingest_stopping(struct ingest *in);
void ingest_rest(struct ingest *in); /* there is no memory: 50 ms later there may be some */
int ingest_take_credits(struct ingest *in, size_t bytes); /* waits; -EPIPE when stopping */
void ingest_give_credits(struct ingest *in, size_t bytes);
void ingest_post(struct ingest *in, struct result *r); /* to the writer */
void run_free(struct run *r);
/* Of the file, or of the archive's text where it is a member. */
static inline uint64_t run_bytes(const struct run *r)
{
    return r->archive ? r->member.size : r->identity.size;
}
int run_add_damage(struct run *run, const struct trace_damage *list, uint32_t count);
void garbage_delete(struct kv_batch *b, const struct garbage *g);
/* ingest/file.c: a run as a view */
struct view *run_view(struct index *ix, struct run *r, enum index_state state);
struct hashes *hashes_new(const struct terms *t, unsigned dimension);
void hashes_free(struct hashes *h);
void hashes_add(struct hashes *h, uint64_t hash);
void hashes_give_up(struct hashes *h); /* there are others */
void hashes_merge(struct hashes *into, const struct hashes *from);
/* The filter of the body for this dimension; none where there are too many. 0, -ENOMEM. */
int hashes_filter(const struct hashes *h, struct body *b, unsigned dimension);
/* ingest/values.c: those of a stored chunk, a set a dimension. 0, or what chunk_open and
 * column_read return. */
int hashes_add_chunk(struct index *ix, const struct index_file *file, uint32_t chunk,
                     struct hashes *const *to);

/* ---- root.c, resolve.c ----------------------------------------------------------------------- */

void root_release(struct root *r);
void resolver_free(struct resolver *r);

#endif
