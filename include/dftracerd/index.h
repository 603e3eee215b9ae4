/* index.h - the index of trace files: their chunks of typed columns (column.h), names and
 * summaries, and how files are indexed.
 *
 * May use:   base, measure, trace, column; LMDB (src/index/store/kv*.c only). Used by: engine,
 *            answer, rewrite, http, daemon, tools.
 * Path: index_offer(file) -> queue -> reader thread (trace_chunker) -> workers (trace_scan ->
 *            chunk_builder) -> one writer (LMDB commit, new snapshot). Requests: index_snapshot ->
 *            chunk_open -> column_read.
 * Threads:   struct index: any thread. A snapshot is immutable: any thread. A chunk_view and its
 *            columns: the thread that opened them.
 * Lifetime:  chunk data are borrowed from the LMDB map until chunk_close; keep that short (never
 *            while a client drains). A snapshot keeps all chunks it names readable until
 *            snapshot_release, whatever is re-indexed meanwhile.
 * Caveats:   the store is a cache: if it is corrupt or has another schema version, it is removed
 *            and rebuilt.
 *            LMDB must not live on a network file system: index_open refuses those (ERR_STORE with
 *            the reason).
 * Times:     in catalog structures int128 nanoseconds; in columns int64 microseconds or nanoseconds
 *            (column.nano).
 */
#ifndef DFTRACERD_INDEX_H
#define DFTRACERD_INDEX_H

#include "dftracerd/column.h"
#include "dftracerd/measure.h"
#include "dftracerd/trace.h"

/* ---- opening --------------------------------------------------------------------------------- */

struct index;
/* Limits that all indexes of a process share. Together they run as many scan threads, and have as
 * much text in flight, as one index alone may have (and one more chunk each). *new*; NULL without
 * memory. Free it after the indexes are closed. */
struct index_share;
struct index_share *index_share_new(void);
void index_share_free(struct index_share *s); /* NULL-safe */
/* An index may be spread over the processes of one job, its ranks. The index of rank 0 has the
 * catalog and all metadata of files; the other ranks read files for it, and keep the chunks of
 * these in indexes of their own. All have the same options but for `path`. The calls may come from
 * any thread. */
struct index_ranks {
    unsigned rank, count; /* of this process; number of ranks, at most INDEX_RANKS_MAX */
    /* Sends a message, which is copied. Messages arrive in order. Returns -ENOMEM or -EPIPE on
     * failure. */
    int (*send)(void *arg, unsigned to, struct text message);
    /* Sends a request and waits for its answer, which is appended. Returns -ENOMEM, -EPIPE, or the
     * error of the other rank. */
    int (*request)(void *arg, unsigned to, struct text request, struct buf *answer);
    /* Sends a request to several ranks, and does not wait. *request becomes owned by the callee, on
     * errors too. `answered` is called for each rank, by a thread that it must not block; it may
     * steal the answer. Returns -ENOMEM or -EPIPE if the request was sent to none. */
    int (*request_all)(void *arg, const unsigned *to, unsigned count, struct buf *request,
                       void (*answered)(void *arg, unsigned from, int rc, struct buf *answer),
                       void *answered_arg);
    void *arg;
    /* Returns the node of a rank, a text that lives as long as the job. NULL: nodes have no names.
     * */
    const char *(*host)(void *arg, unsigned rank);
};
#define INDEX_RANKS_MAX 4096
struct index_options {
    /* directory of data.mdb, created with mode 0700 if missing; its owner and file system are
     * checked */
    const char *path;
    uint64_t checkpoint_size; /* bytes of text a chunk, default 4 MiB (0) */
    unsigned workers;         /* scan threads, 0 = number of CPUs */
    uint64_t memory;          /* bytes that the process may use; 0 = memory_limit() */
    /* bytes of text and columns in flight while indexing, 0 = 160 MiB, or a sixth of
     * `memory` */
    size_t memory_limit;
    uint64_t map_size; /* LMDB address space, 0 = 64 GiB (grown when full) */
    /* maximum size of data.mdb: indexing then stops with ERR_STORE_FULL; 0 = no limit */
    uint64_t map_max;
    enum trace_engine engine;
    /* NULL-terminated paths that have bloom filters; NULL = name, cat, pid, tid, args.hhash,
     * args.fhash, args.shash */
    const char *const *dimensions;
    double bloom_rate;  /* false-positive rate, 0 = 0.01 */
    bool read_only;     /* inspection: no ingest, and no lock for writing */
    unsigned commit_ms; /* maximum delay between reading and commit, 0 = 500 */
    /* files are only listed until index_request_file (INDEX_PENDING, not counted as pending) */
    bool on_demand;
    int64_t purge_ms; /* how long a file must be missing before it is forgotten; 0 = one hour */
    bool no_ahead;    /* a file is inflated by one thread alone (differential tests) */
    /* reading a file waits for the first piece that another thread inflates (tests) */
    bool await_ahead;
    /* called by the thread that reads a file, after each chunk (tests) */
    void (*on_chunk)(void *arg);
    void *on_chunk_arg;
    unsigned upkeep_ms; /* interval of checks of missing and growing files, 0 = one second */
    /* a file counts as complete if it has not changed for this time; 0 = 10 s, < 0 = at once */
    int64_t settle_ms;
    struct index_share *share; /* NULL: this index alone */
    /* maximum number of members of an archive that are indexed as files, 0 = 100,000 */
    uint32_t archive_traces;
    const struct index_ranks *ranks; /* NULL: this process alone; borrowed until index_close */
};
int index_open(const struct index_options *options, struct err *err, struct index **ret);
/* Stops ingest at the next chunk, commits what is done, and closes the index. All snapshots must
 * have been released. */
void index_close(struct index *ix);
/* Returns "NFS", "Lustre" ... if `path` is on a file system that index_open refuses; NULL if it is
 * not, or if this cannot be determined. */
const char *index_refused_filesystem(const char *path);
/* Handle messages (one thread, in order) and requests (any thread) of another rank. */
void index_receive(struct index *ix, unsigned from, struct text message);
int index_answer(struct index *ix, unsigned from, struct text request, struct buf *answer);
const char *index_path(const struct index *ix);
/* Returns whether every file has a bloom filter for this path. */
bool index_is_dimension(const struct index *ix, struct text path);
/* Returns why index_open removed the previous index, or NULL. Borrowed until index_close. */
const char *index_rebuilt(const struct index *ix);
uint64_t index_bytes(const struct index *ix); /* size of data.mdb in use */
#define INDEX_TABLES_MAX 16
struct index_store {
    uint64_t page_bytes, pages, free_pages, map_bytes; /* of data.mdb; free_pages will be reused */
    struct {
        const char *name;
        uint64_t pages;
    } tables[INDEX_TABLES_MAX];
    unsigned table_count;
    /* open reads; used and available slots in LMDB's table of readers, for all processes */
    unsigned readers, reader_slots, reader_slots_max;
};
/* Returns false while the store is being reopened. */
bool index_store_stat(const struct index *ix, struct index_store *ret);

/* ---- files in -------------------------------------------------------------------------------- */

/* Reports that a file exists: `name` as answers print it (root-relative or label/...), `path` to
 * open. Compares the file with the catalog (inode, size, mtime, ctime; then hashes of head and
 * tail), and queues it if it is new or has changed. Cheap. Returns 0, -ENOMEM or -EROFS. */
int index_offer(struct index *ix, const char *name, const char *path);
/* Reports that a file is gone. It becomes INDEX_MISSING, and is purged later. Returns 0,
 * ERR_NOT_FOUND (also for members of archives) or -ENOMEM. */
int index_forget(struct index *ix, const char *name);
/* Reports all directories that cannot be read now, by name (copied; "": all there is). Missing
 * files below them are not purged, and snapshots report that there may be more files. A change of
 * the list starts a new generation. Returns 0, or -ENOMEM: then the previous list stays. */
int index_set_unreadable_dirs(struct index *ix, const char *const *dirs, size_t count);
/* Reports that all files that exist at start have been offered. From then on index_progress is
 * meaningful, answers may be complete, and missing files are purged. Starts a new generation,
 * unless nothing has changed since the store was last open. */
void index_listed(struct index *ix);
/* Options for indexing one file again; zero selects the default of the index. They are stored with
 * the file, and used again when its indexing resumes after a crash, when it grows, and when another
 * file replaces it. */
#define INDEX_CHECKPOINT_MIN (64u << 10)
#define INDEX_CHECKPOINT_MAX (1u << 30)
#define INDEX_EXPECTED_MAX (1u << 20)
struct index_file_options {
    /* bytes of text per chunk, INDEX_CHECKPOINT_MIN ... MAX; limited to a fifth of
     * index_options.memory_limit, see index_file.checkpoint_size */
    uint64_t checkpoint_size;
    /* NULL-terminated paths that have bloom filters besides those of the index, in each chunk
     * and in the file; together at most 32; paths of 1 ... 4,096 bytes that do not begin with
     * '@' */
    const char *const *extra_dimensions;
    double bloom_rate; /* false-positive rate, 1e-6 <= rate < 1 */
    /* number of different values that the filters of the file are sized for. A dimension with more
     * values has no filter (0: the limit is 65,536). At most INDEX_EXPECTED_MAX */
    uint64_t expected_entries;
};
/* Discards and rebuilds what the index has of a file (POST /index force). `options` is copied; NULL
 * selects the defaults of the index. Returns ERR_NOT_FOUND, -EINVAL (options out of range), -ENOMEM
 * or -EROFS on failure. */
int index_rebuild(struct index *ix, const char *name, const struct index_file_options *options);
/* Requests that a file is indexed (index_options.on_demand). Does nothing if it was requested
 * before or has been indexed once, also by an earlier process. Cheap. Returns 0, ERR_NOT_FOUND or
 * -EROFS. */
int index_request_file(struct index *ix, const char *name);
/* Returns whether the file is pending and no request has selected it. */
bool index_is_unrequested(struct index *ix, const char *name);

struct index_progress {
    bool listed;                                              /* index_listed was called */
    uint64_t files, files_ready, files_failed, files_pending; /* pending includes indexing */
    uint64_t files_unasked;     /* on_demand: listed, but not requested; counted in `files` only */
    uint64_t bytes, bytes_done; /* compressed */
    /* Reading them ended with an error of the system, not because of their content. They are
     * retried after a second, and then less and less often (up to 10 minutes). */
    uint64_t files_unreadable;
    uint64_t read_again;             /* number of such retries since index_open */
    uint64_t directories_unreadable; /* as reported with index_set_unreadable_dirs */
    /* files whose values in the store were found corrupt since index_open: they are indexed again
     * */
    uint64_t files_corrupt;
    uint64_t upkeeps;      /* number of checks of missing and growing files */
    uint64_t pieces_ahead; /* pieces of text that idle workers inflated and a reader used */
    /* 0, or why indexing stopped (ERR_STORE_FULL, ERR_ADDRESS_SPACE, -ENOSPC ...; -ENOMEM: there
     * was too little memory to read a file). It resumes by itself when there is space, which
     * forgotten files free at once. */
    int store_error;
    /* node where indexing stopped, if it is not this one; borrowed; NULL otherwise */
    const char *store_error_host;
};
/* While files are queued, the result may be a moment old. */
void index_progress(struct index *ix, struct index_progress *ret);
int index_store_error(struct index *ix); /* Returns index_progress.store_error alone: cheap. */
/* Progress of each rank, over the files that are assigned to it. Files that no request has selected
 * yet are not assigned, and no file is before index_listed. Archives and their members are assigned
 * to rank 0. */
struct index_rank_progress {
    uint32_t rank;
    const char *host;              /* its node; borrowed until index_close; "": unknown */
    uint64_t files, files_pending; /* as in index_progress, and so on */
    uint64_t bytes, bytes_done;
};
/* *ret: *new*, all ranks in order; empty if this process is alone or is not rank 0. Returns 0 or
 * -ENOMEM. */
int index_rank_progress(struct index *ix, struct index_rank_progress **ret, size_t *ret_count);
/* Returns the longest time that a thread that builds columns has worked without progress. */
int64_t index_silence_ns(const struct index *ix);
struct index_file;
/* Returns how many compressed bytes of the file are indexed. */
uint64_t index_file_bytes_done(const struct index_file *file);
/* Sets the function that index threads call after each commit and state change. It must not block;
 * there is only one. */
void index_on_change(struct index *ix, void (*call)(void *arg), void *arg);
/* Ingest yields between chunks while a query runs: counts +1 / -1. */
void index_query_running(struct index *ix, int delta);

/* ---- catalog --------------------------------------------------------------------------------- */

enum index_state {
    INDEX_PENDING,
    INDEX_INDEXING,
    INDEX_READY,
    INDEX_GROWING,
    INDEX_FAILED,
    INDEX_MISSING
};
const char *index_state_name(enum index_state s);

struct index_chunk {
    uint32_t number, version; /* key of the chunk value */
    uint32_t rows;            /* objects */
    uint32_t text_len;
    uint64_t text_offset; /* position of the chunk in the text of the file */
    uint16_t home;        /* index that has the columns: 0 this one, else that of another rank */
};
/* Why a member of an archive is not a file of the index. */
enum index_skip {
    INDEX_SKIP_NONE,      /* it is a file of the index: ARCHIVE/MEMBER */
    INDEX_SKIP_KIND,      /* a directory, a link, a device, or a file with holes */
    INDEX_SKIP_NO_TRACE,  /* named neither *.pfw nor *.pfw.gz */
    INDEX_SKIP_NAME,      /* has "..", control characters, or is too long */
    INDEX_SKIP_REPLACED,  /* another member of that name comes later */
    INDEX_SKIP_INCOMPLETE /* its text is not complete yet */
};
const char *index_skip_name(enum index_skip skip); /* Returns a phrase; NULL for INDEX_SKIP_NONE. */
struct index_member {
    struct text name;
    uint8_t kind; /* enum trace_tar_kind */
    uint8_t skip; /* enum index_skip */
    bool cut;     /* the archive ends before the end of the member; size is the part that exists */
    uint64_t offset, size; /* position and length in the text of the archive */
    int64_t mtime_s;
};
/* Return whether a file has the name of a trace, or of an archive. */
bool index_is_trace(struct text name);   /* *.pfw, *.pfw.gz */
bool index_is_archive(struct text name); /* *.tar.gz, *.tgz, *.tar */
/* What /info reports of a file. Immutable within a snapshot. Strings are borrowed from the
 * snapshot. */
struct index_file {
    uint32_t id; /* changes whenever the file is indexed again; 0: nothing has been read yet */
    enum index_state state;
    bool damaged;            /* damage_count > 0 (invalid lines do not count) */
    const char *name, *path; /* path of the archive if the file is a member */
    const char *archive;     /* name of the archive if the file is a member; NULL otherwise */
    bool is_archive;         /* it has members instead of chunks */
    const char *error;       /* why the state is FAILED, or the first damage in words; NULL */
    enum trace_format format;
    uint64_t device, inode, compressed_bytes, text_bytes, members, index_bytes, checkpoint_size;
    uint64_t file_bytes; /* size of the file at `path`; for a member more than compressed_bytes */
    int64_t mtime_ns, ctime_ns;
    struct trace_counts counts;
    bool has_time;           /* min_ts and max_te are over *events* with a ts */
    __int128 min_ts, max_te; /* ns */
    bool negative_durations; /* of some events: their ts may be after max_te */
    enum trace_unit unit;
    bool finished;              /* an `end` event or a `]` line was seen */
    const char *tracer_version; /* from the first start event; NULL if there is none */
#define INDEX_DAMAGE_KEPT 1000  /* length of the list */
    uint32_t damage_count;
    const struct trace_damage *damage;
    uint32_t chunk_count;
    const struct index_chunk *chunks; /* in text order */
    uint32_t name_count;
    const struct index_name *names; /* sorted by (kind, hash, position) */
    uint32_t process_count;
    const struct index_process *processes; /* sorted by (host, pid) */
    const uint32_t *by_pid; /* positions in `processes`, sorted by pid, then ascending */
    uint32_t archive_member_count;
    const struct index_member *archive_members; /* in the order of the archive */
};
/* Returns index_state_name of a file, or `damaged` if a part of a ready file is unreadable.
 * index_file_states lists all texts that it may return for a file of a snapshot, up to NULL. */
const char *index_file_state(const struct index_file *f);
extern const char *const index_file_states[];
/* Returns whether nothing of the file has been read, because it is pending, reading it failed, or
 * its first reading has not ended yet. Its format is unknown. */
static inline bool index_file_is_unread(const struct index_file *f)
{
    return f->id == 0;
}
/* Returns whether answers lack some or all of the file: such files are counted in `damaged_files`.
 * */
static inline bool index_file_is_incomplete(const struct index_file *f)
{
    return f->damaged || f->state == INDEX_FAILED;
}
/* Returns the chunk that has an object of the file (counted from 0); *object becomes its row in the
 * chunk. Returns chunk_count if the file has fewer objects. */
static inline uint32_t index_file_chunk(const struct index_file *f, uint64_t *object)
{
    uint32_t chunk = 0;

    while (chunk < f->chunk_count && *object >= f->chunks[chunk].rows)
        *object -= f->chunks[chunk++].rows;
    return chunk;
}

struct snapshot;
/* Returns the latest snapshot, a reference. Never NULL after index_open. */
struct snapshot *index_snapshot(struct index *ix);
/* Returns a snapshot that has only the files for which keep() returns true. *new*; another
 * reference to `s` if all are kept; NULL without memory. keep() is called without a lock. */
struct snapshot *snapshot_filter(struct snapshot *s,
                                 bool (*keep)(void *arg, const struct index_file *f), void *arg);
struct snapshot *snapshot_ref(struct snapshot *s);
void snapshot_release(struct snapshot *s);
uint64_t snapshot_generation(const struct snapshot *s);
/* Returns whether the snapshot was made after index_listed. An earlier one may lack files. */
bool snapshot_is_listed(const struct snapshot *s);
/* Directories that were unreadable (index_set_unreadable_dirs), in the order of their names: below
 * them there may be unknown files, and the state of known files may be old. */
size_t snapshot_unreadable_count(const struct snapshot *s);
/* borrowed from the snapshot */
const char *snapshot_unreadable(const struct snapshot *s, size_t i);
/* Identifies the store and the files that snapshot_filter kept, for ETags. */
const char *snapshot_uuid(const struct snapshot *s);
uint32_t snapshot_file_count(const struct snapshot *s); /* without MISSING files */
/* ordered by name bytes */
const struct index_file *snapshot_file(const struct snapshot *s, uint32_t i);
/* All archives, ordered by name bytes. The members of an archive that is ready and complete are
 * files of the snapshot; the archive itself is not. */
uint32_t snapshot_archive_count(const struct snapshot *s);
const struct index_file *snapshot_archive(const struct snapshot *s, uint32_t i);
/* Returns NULL if there is none. */
const struct index_file *snapshot_find_archive(const struct snapshot *s, const char *name);

/* Files that are known but are not in snapshots: X.gz with the text of X, another name of a file,
 * or a file that has vanished. *new*; names are borrowed until index_close. The list is that of the
 * present moment, not of a snapshot. Returns 0 or -ENOMEM. */
struct index_hidden {
    const char *name;
    const char *duplicate_of; /* NULL: it has vanished */
};
int index_hidden(struct index *ix, struct index_hidden **ret, size_t *ret_count);

/* ---- texts ----------------------------------------------------------------------------------- */

/* Texts have ids that are equal iff the texts are equal, for the life of the process (ids of the
 * store, and beyond 1 M texts or 64 MiB ids of the running process). Ids say nothing about order.
 */
struct text index_text(const struct index *ix, uint32_t id); /* borrowed until index_close */
/* Returns INDEX_NO_TEXT if no chunk can contain the text by its id. */
uint32_t index_text_find(const struct index *ix, struct text text);
uint32_t index_text_count(const struct index *ix);

/* ---- names and processes --------------------------------------------------------------------- */

enum index_name_kind {
    INDEX_FH,
    INDEX_HH,
    INDEX_SH,
    INDEX_THREAD_NAME,
    INDEX_PROCESS_NAME,
    INDEX_PR,
    INDEX_CM
};
/* A metadata record of a file. */
struct index_name {
    uint8_t kind;
    uint32_t hash;       /* text id of args.value for FH, HH, SH; INDEX_NO_TEXT else */
    uint32_t value;      /* text id of args.name */
    int64_t pid;         /* INT64_MIN if absent */
    uint32_t chunk, row; /* its chunk, and its row in the chunk */
    uint32_t line;       /* for index_name_line */
};
/* Returns the whole record as valid JSON, borrowed until index_close; it is read from the store on
 * first use. The text is empty if there are too many records to keep their lines in memory. Returns
 * 0, -ENOMEM, ERR_STORE, or ERR_CORRUPT: then the file is indexed again. */
int index_name_line(struct index *ix, const struct index_file *file, const struct index_name *name,
                    struct text *ret);
enum index_parent {
    INDEX_PARENT_UNKNOWN,
    INDEX_PARENT_START,
    INDEX_PARENT_FORK,
    INDEX_PARENT_SPAWN
};
/* A process seen in a file. */
struct index_process {
    uint32_t host; /* text id of hhash (preferred) or hostname, as in the objects; INDEX_NO_TEXT */
    bool host_is_hash;
    /* ppid: start.args.ppid, else the process whose fork returned pid; INT64_MIN if unknown */
    int64_t pid, ppid;
    uint8_t parent_by;      /* source of ppid: enum index_parent */
    bool started, finished; /* the tracer wrote a start or an end record */
    int64_t rank; /* from a PR record or the process_name "Rank N"; INT64_MIN if unknown */
    uint32_t cmd_hash, exec_hash, cwd_hash; /* text ids or INDEX_NO_TEXT */
    uint64_t objects, events;
    bool has_time;
    __int128 min_ts, max_te; /* ns, over its events */
};
/* Returns the positions in file->processes of the processes with this pid, ascending; borrowed. */
const uint32_t *index_processes_of_pid(const struct index_file *file, int64_t pid,
                                       uint32_t *ret_count);
/* Returns the name of a hash by the records of this file alone, the first one in text order;
 * INDEX_NO_TEXT if there is none. */
uint32_t index_name_in_file(const struct index_file *file, enum index_name_kind kind,
                            uint32_t hash);
/* Returns the name of a hash as an object of `file` (of process `pid`, INT64_MIN if unknown) means
 * it: the file's own name first, then that of the parent process's file, then that of all files of
 * the snapshot if they agree. Otherwise returns INDEX_NO_TEXT (unknown, or conflicting:
 * *ret_conflict, which may be NULL). If a file has several names for a hash, the first one in text
 * order is used. */
uint32_t index_resolve(const struct snapshot *s, const struct index_file *file, int64_t pid,
                       enum index_name_kind kind, uint32_t hash, bool *ret_conflict);

/* ---- chunks: their columns are read with column.h -------------------------------------------- */

/* Opens chunk `i` of a file of the snapshot, and begins a read transaction. Returns 0, ERR_STORE,
 * ERR_CORRUPT or -ENOMEM. */
int chunk_open(struct index *ix, const struct snapshot *s, const struct index_file *file,
               uint32_t i, struct chunk_view **ret);
void chunk_close(struct chunk_view *v);
/* Returns the rank that has the chunk. On a rank other than 0, it returns 0 if this rank has it. */
unsigned index_chunk_rank(const struct index *ix, const struct index_file *file, uint32_t i);
unsigned index_rank_count(const struct index *ix); /* 1 if this process is alone */
/* Sends a request from rank 0 to another rank, whose handler (index_on_request) answers it. The
 * other rank then has a snapshot of the same files, in which it can open its own chunks. The answer
 * is appended. Returns -ENOMEM, -EPIPE, or the error of the other rank. */
int index_request_rank(struct index *ix, unsigned rank, const struct snapshot *s,
                       struct text request, struct buf *answer);
/* Sends a request to several ranks, without waiting: see request_all of struct index_ranks. */
int index_request_ranks(struct index *ix, const unsigned *ranks, unsigned count,
                        const struct snapshot *s, struct text request,
                        void (*answered)(void *arg, unsigned from, int rc, struct buf *answer),
                        void *arg);
/* Cancels the request that contains this number. Returns 0, -ENOMEM or -EPIPE. */
int index_stop_rank(struct index *ix, unsigned rank, uint64_t number);
/* What another rank does with these requests, in any thread. `answer` gets NULL for a snapshot that
 * the rank does not know, and returns -ESRCH if it needs it. */
struct index_rank_handler {
    int (*answer)(void *arg, struct snapshot *s, struct text request, struct buf *answer);
    void (*stop)(void *arg, uint64_t number);
    void *arg;
};
void index_on_request(struct index *ix, const struct index_rank_handler *handler); /* copied */
/* Reports that the stored values of a file are corrupt: it is indexed again, and counted in
 * index_progress.files_corrupt. chunk_open detects some corruption by itself. If pages of LMDB are
 * inconsistent, indexing ends with ERR_CORRUPT, and the next index_open rebuilds the store. Must
 * not be called with locks of the index held; any thread. */
void index_file_corrupt(struct index *ix, const struct index_file *file);
/* chunk_may_have for a whole file and one dimension, of the index or of the file; returns true if
 * unknown. Reads memory only. */
bool index_file_may_have(struct index *ix, const struct index_file *file, struct text path,
                         uint64_t hash);

/* ---- checkpoints: text of rows --------------------------------------------------------------- */

/* Opens the file's text for reading by position. Returns ERR_STALE if the file has changed. One
 * thread at a time. The caller ends with trace_text_close and close(*ret_fd), before it releases
 * the snapshot. */
int index_text_open(struct index *ix, const struct snapshot *s, const struct index_file *file,
                    struct trace_text **ret, int *ret_fd);
/* Returns the number of positions from which the file can be decompressed; 0 if unknown. */
uint64_t index_checkpoints(struct index *ix, const struct index_file *file);
/* Checks, after reading from ret_fd, whether the chunks were made from this text. Only this detects
 * a file that was rewritten in place. Returns 0, ERR_STALE, -errno or -ENOMEM. Cheap if the file
 * has not changed since. */
int index_text_check(const struct index_file *file, int fd);

/* ---- summaries: answers without a scan ------------------------------------------------------- */

struct summary_name { /* by (class, cat, name) */
    uint8_t class;
    uint32_t cat, name; /* text ids, INDEX_NO_TEXT = null */
    uint64_t count;
    struct moments duration;        /* of objects that have one */
    struct sketch *duration_sketch; /* us */
    struct histogram histogram;
};
struct summary_thread { /* ordered by (class, host, pid, tid); host as in struct index_process */
    uint8_t class;
    bool host_is_hash;
    uint32_t host;
    uint32_t file; /* position in the snapshot of a file that resolves the host hash */
    /* name of the host hash in the records of its files; INDEX_NO_TEXT: they have none. Files with
     * different names have different threads. */
    uint32_t own_name;
    int64_t pid, tid; /* INT64_MIN = null */
    uint64_t count;
};
/* count: all objects; times: those with ts */
struct summary_class {
    bool has_time;
    __int128 min_ts, max_te;
    uint64_t count;
};
/* A summary has entries by name for at most this number of names (fewer where memory is short):
 * each takes 2 KB, for every file and for all files together. */
#define SUMMARY_NAMES_MAX 16384
enum summary_detail {
    SUMMARY_BY_NAME,
    /* more names than SUMMARY_NAMES_MAX: `name` is INDEX_NO_TEXT in all entries */
    SUMMARY_BY_CATEGORY,
    SUMMARY_BY_CLASS, /* more categories than that: `cat` is INDEX_NO_TEXT, too */
};
struct summary {
    enum summary_detail detail; /* independent of whether the file was read in parts or at once */
    uint32_t name_count, thread_count;
    struct summary_name *names;
    struct summary_thread *threads;
    struct summary_class classes[4];
};
/* The summary of one file (*new*, from the store), or of all files of the snapshot that have chunks
 * (borrowed from the snapshot). It covers exactly the objects in the chunks of the snapshot. */
int index_file_summary(struct index *ix, const struct snapshot *s, uint32_t file,
                       struct summary **ret);
void summary_free(struct summary *s);
/* Adds `other` to `into`, which starts as summary_new returns it. */
int summary_merge(struct summary *into, const struct summary *other);
struct summary *summary_new(void);
int index_total_summary(struct index *ix, const struct snapshot *s, const struct summary **ret);

/* ---- inspection ------------------------------------------------------------------------------ */

/* Writes the whole store in a canonical text form (ids replaced by texts, files by name) that is
 * equal for equal content, however it was made: tests compare it after kill -9. `out` is flushed by
 * `flush` when it is large. */
int index_dump(struct index *ix, struct buf *out, int (*flush)(void *arg, struct buf *out),
               void *arg);
/* Checks that every value decodes and every reference resolves. */
int index_check(struct index *ix, struct err *err);

#endif
