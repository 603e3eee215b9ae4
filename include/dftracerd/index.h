/* index.h - the store: files, chunks of typed columns (column.h), names, summaries; and how they
 * get in.
 *
 * May use:   base, measure, trace, column; LMDB (src/index/store/kv*.c only). Used by: engine,
 *            answer, rewrite, http, daemon, tools.
 * Way:       index_offer(file) -> queue -> reader thread (trace_chunker) -> workers (trace_scan ->
 *            chunk_builder) -> one writer (LMDB commit, new snapshot). Requests: index_snapshot ->
 *            chunk_open -> column_read.
 * Threads:   struct index: any thread. A snapshot is immutable: any thread. A chunk_view and its
 *            columns: the thread that opened them.
 * Lifetime:  chunk data are borrowed from the LMDB map until chunk_close; keep that short (never
 *            while a client drains). A snapshot keeps all chunks it names readable until
 *            snapshot_release, whatever is re-indexed meanwhile.
 * Caveats:   the store is a cache: on damage or another schema version it is removed and rebuilt.
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
/* Limits of all indexes of a process together: so many scan threads work at a time, and so much
 * text is in flight, as one index alone may have (and a chunk more for each). *new*; NULL without
 * memory. Freed after the indexes are closed. */
struct index_share;
struct index_share *index_share_new(void);
void index_share_free(struct index_share *s); /* NULL-safe */
/* An index may be spread over the processes of one job, its ranks. That of rank 0 has the catalog
 * and all that is known of files; the others read files for it, and keep the chunks of these in
 * indexes of their own. All have the same options but for `path`. The calls may come from any
 * thread. */
struct index_ranks {
    unsigned rank, count; /* of this process; of all, at most INDEX_RANKS_MAX */
    /* Sends a message (copied); they arrive in order. -ENOMEM, -EPIPE. */
    int (*send)(void *arg, unsigned to, struct text message);
    /* Asks, and waits; the answer is appended. -ENOMEM, -EPIPE, or the other one's error. */
    int (*request)(void *arg, unsigned to, struct text request, struct buf *answer);
    /* Asks several, and does not wait. Takes the request, on errors too. `answered` is called for
     * each of them, by a thread that it must not hold up; it may take the answer. -ENOMEM, -EPIPE:
     * none is asked. */
    int (*request_all)(void *arg, const unsigned *to, unsigned count, struct buf *request,
                       void (*answered)(void *arg, unsigned from, int rc, struct buf *answer),
                       void *of_answers);
    void *arg;
    /* The node of a rank: a text that stays. May be NULL: they have no names. */
    const char *(*host)(void *arg, unsigned rank);
};
#define INDEX_RANKS_MAX 4096
struct index_options {
    /* directory for data.mdb; made 0700 if missing; owner and file system checked */
    const char *path;
    uint64_t checkpoint_size; /* bytes of text a chunk, default 4 MiB (0) */
    unsigned workers;         /* scan threads, 0 = number of CPUs */
    uint64_t memory;          /* that the process may use; 0 = memory_limit() */
    /* bytes of text and columns in flight while indexing, 0 = 160 MiB, or a sixth of
     * `memory` */
    size_t memory_limit;
    uint64_t map_size; /* LMDB address space, 0 = 64 GiB (grown when full) */
    /* data.mdb grows no further: indexing stops with ERR_STORE_FULL; 0 = no limit */
    uint64_t map_max;
    enum trace_engine engine;
    /* NULL-terminated paths with bloom filters; NULL = name, cat, pid, tid,
     * args.hhash, args.fhash, args.shash */
    const char *const *dimensions;
    double bloom_rate;  /* false-positive rate, 0 = 0.01 */
    bool read_only;     /* inspection: no ingest, no lock taken for writing */
    unsigned commit_ms; /* what was read is committed after so long at the latest, 0 = 500 */
    bool on_demand; /* files are listed (INDEX_PENDING, not counted as pending) until index_want */
    int64_t purge_ms; /* a file that has been missing for so long is forgotten; 0 = one hour */
    bool no_ahead;    /* a file is inflated by one thread alone (differential tests) */
    /* reading a file waits for the first piece that another thread inflates (tests) */
    bool await_ahead;
    /* called by the thread that reads a file, behind each chunk (tests) */
    void (*on_chunk)(void *arg);
    void *on_chunk_arg;
    unsigned upkeep_ms; /* missing and growing files are looked at so often, 0 = each second */
    /* a file that has not changed for so long grows no more; 0 = 10 s, < 0 = at once */
    int64_t settle_ms;
    struct index_share *share; /* NULL: this index alone */
    /* so many members of an archive are files, 0 = 100,000; the rest is left out */
    uint32_t archive_traces;
    const struct index_ranks *ranks; /* NULL: this process alone; borrowed until index_close */
};
int index_open(const struct index_options *options, struct err *err, struct index **ret);
/* Stops ingest at the next chunk, commits what is done, closes. All snapshots must have been
 * released. */
void index_close(struct index *ix);
/* "NFS", "Lustre" ... where `path` is on a file system that index_open refuses; NULL else, also
 * when it cannot be told. */
const char *index_network_name(const char *path);
/* What came from another rank. Messages: by one thread, in order. Requests: by any. */
void index_receive(struct index *ix, unsigned from, struct text message);
int index_answer(struct index *ix, unsigned from, struct text request, struct buf *answer);
const char *index_path(const struct index *ix);
/* one of the paths with bloom filters in every file */
bool index_is_dimension(const struct index *ix, struct text path);
/* Why the index that was there has been removed when it was opened, or NULL. Borrowed until
 * index_close. */
const char *index_rebuilt(const struct index *ix);
uint64_t index_bytes(const struct index *ix); /* size of data.mdb in use */
#define INDEX_TABLES_MAX 16
struct index_store {
    uint64_t page_bytes, pages, free_pages, map_bytes; /* of data.mdb; free: to be used again */
    struct {
        const char *name;
        uint64_t pages;
    } tables[INDEX_TABLES_MAX];
    unsigned table_count;
    /* reads open now; LMDB's table of readers, of all processes */
    unsigned readers, reader_slots, reader_slots_max;
};
/* false: it is being opened again */
bool index_store_stat(const struct index *ix, struct index_store *ret);

/* ---- files in -------------------------------------------------------------------------------- */

/* Says that a file exists: `name` as answers tell it (root-relative or label/...), `path` to open.
 * Compared with the catalog (inode, size, mtime, ctime; then head and tail hash); queued if new or
 * changed, else nothing. Cheap. */
int index_offer(struct index *ix, const char *name, const char *path);
/* The file is gone: state missing; purged later. */
int index_forget(struct index *ix, const char *name);
/* All directories that cannot be read now, by their names ("": all there is); copied. They say
 * nothing of their files: what is missing below them is not purged, and snapshots tell that there
 * may be more. A change of them is a generation. Nothing is purged before index_listed either. 0,
 * -ENOMEM (then those of the last call stay). */
int index_hold(struct index *ix, const char *const *dirs, size_t count);
/* All files that exist at start have been offered: progress is meaningful from now on, and answers
 * may be complete. The generation moves, but where nothing has changed since the store was left:
 * then it stands for what it stood for. */
void index_listed(struct index *ix);
/* How a file is to be indexed anew; zero = as the index does it. Kept with the file, so that going
 * on (after a crash, or when it grows, or is another one of that name) does the same. */
#define INDEX_CHECKPOINT_MIN (64u << 10)
#define INDEX_CHECKPOINT_MAX (1u << 30)
#define INDEX_EXPECTED_MAX (1u << 20)
struct index_file_options {
    /* bytes of text a chunk, INDEX_CHECKPOINT_MIN ... MAX; at most a fifth of
     * index_options.memory_limit is taken: index_file.checkpoint_size tells */
    uint64_t checkpoint_size;
    const char *const *
        /* NULL-terminated; have bloom filters besides those of the index, in each chunk
         * and in all; together at most 32; paths of 1 ... 4,096 bytes, none from '@' on */
        extra_dimensions;
    double bloom_rate; /* false-positive rate, 1e-6 <= rate < 1 */
    /* the file's filters have room for so many values, and a dimension with up to so
     * many has one (without: 65,536); at most INDEX_EXPECTED_MAX */
    uint64_t expected_entries;
};
/* Throws away and rebuilds what is known of a file (POST /index force). `options` may be NULL: as
 * the index does it; copied. ERR_NOT_FOUND, -EINVAL (options out of range), -ENOMEM, -EROFS. */
int index_rebuild(struct index *ix, const char *name, const struct index_file_options *options);
/* With index_options.on_demand: somebody asks for this file, index it. Nothing where it is asked
 * for already, or has been indexed once (by an earlier process, too). Cheap. ERR_NOT_FOUND. */
int index_want(struct index *ix, const char *name);
/* Pending, but nobody asked for it. */
bool index_is_unrequested(struct index *ix, const char *name);

struct index_progress {
    bool listed;                                              /* index_listed was called */
    uint64_t files, files_ready, files_failed, files_pending; /* pending includes indexing */
    uint64_t files_unasked;     /* on_demand: listed, but nobody asked for them; in `files` only */
    uint64_t bytes, bytes_done; /* compressed */
    /* an error of the system, not their content, ended their reading: they are tried
     * again, after a second and then less and less often (up to 10 minutes) */
    uint64_t files_unreadable;
    uint64_t read_again;             /* so often since index_open */
    uint64_t directories_unreadable; /* as index_hold has named them */
    /* whose values in the store were wrong since index_open: they are indexed again */
    uint64_t files_corrupt;
    uint64_t upkeeps;      /* how often missing and growing files have been looked at */
    uint64_t pieces_ahead; /* of text that idle workers inflated and a reader used */
    /* 0, or why indexing stopped (ERR_STORE_FULL, ERR_ADDRESS_SPACE, -ENOSPC ...; -ENOMEM: a
     * file could not be read for lack of memory); it goes on by itself when there is
     * room, which forgotten files make at once */
    int store_error;
    const char *store_error_host; /* where it is not that of this process; borrowed; NULL */
};
/* while files are queued: as it was a moment ago */
void index_progress(struct index *ix, struct index_progress *ret);
int index_store_error(struct index *ix); /* index_progress.store_error alone: cheap */
/* How far each rank is: files that have their rank, so not those that no request has selected yet,
 * and none before index_listed. An archive and its members are of rank 0. */
struct index_rank_progress {
    uint32_t rank;
    const char *host;              /* its node; borrowed until index_close; "": unknown */
    uint64_t files, files_pending; /* as in index_progress, and so on */
    uint64_t bytes, bytes_done;
};
/* *ret: *new*, of all ranks in order. Without other ranks, or on one that is not rank 0: none. 0,
 * -ENOMEM. */
int index_rank_progress(struct index *ix, struct index_rank_progress **ret, size_t *ret_count);
/* The longest time that a thread which makes columns has worked without getting on. */
int64_t index_silence_ns(const struct index *ix);
struct index_file;
/* compressed bytes of a snapshot's file that are indexed */
uint64_t index_file_done(const struct index_file *file);
/* Called (from index threads, must not block) after each commit and state change; one watcher. */
void index_on_change(struct index *ix, void (*call)(void *arg), void *arg);
/* While any query runs, ingest yields between chunks: counts +1 / -1. */
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
    uint64_t text_offset; /* of the chunk's text in the file's text */
    uint16_t home;        /* whose store has the value: 0 this one, else of another rank */
};
/* A member of an archive, as its header tells it. */
enum index_skip {
    INDEX_SKIP_NOT,      /* it is a file of the index: ARCHIVE/MEMBER */
    INDEX_SKIP_KIND,     /* a directory, a link, a device, or a file with holes */
    INDEX_SKIP_NO_TRACE, /* named neither *.pfw nor *.pfw.gz */
    INDEX_SKIP_NAME,     /* has "..", control characters, or is too long */
    INDEX_SKIP_REPLACED, /* another one of that name comes later */
    INDEX_SKIP_COMING    /* its text is not all there yet */
};
const char *index_skip_name(enum index_skip skip); /* why, in words; NULL for INDEX_SKIP_NOT */
struct index_member {
    struct text name;
    uint8_t kind;          /* enum trace_tar_kind */
    uint8_t skip;          /* enum index_skip */
    bool cut;              /* the archive ends before it does; size is what is there */
    uint64_t offset, size; /* in the archive's text */
    int64_t mtime_s;
};
bool index_is_archive(struct text name); /* *.tar.gz, *.tgz, *.tar */
/* Everything /info tells of a file. Immutable within a snapshot. Strings borrowed from the
 * snapshot. */
struct index_file {
    uint32_t id; /* new for each (re)indexing; 0: of what is unread */
    enum index_state state;
    bool damaged;            /* damage_count > 0 (invalid lines are not damage) */
    const char *name, *path; /* path: of a member, that of its archive */
    const char *archive;     /* of a member: the archive's name; NULL */
    bool is_archive;         /* it has members instead of chunks */
    const char *error;       /* why FAILED, or the first damage in words; NULL */
    enum trace_format format;
    uint64_t device, inode, compressed_bytes, text_bytes, members, index_bytes, checkpoint_size;
    uint64_t file_bytes; /* of the file at `path`: of a member more than compressed_bytes */
    int64_t mtime_ns, ctime_ns;
    struct trace_counts counts;
    bool has_time;           /* min_ts and max_te are over *events* with a ts */
    __int128 min_ts, max_te; /* ns */
    enum trace_unit unit;
    bool finished;              /* an `end` event or a `]` line was seen */
    const char *tracer_version; /* of the first start event, NULL */
#define INDEX_DAMAGE_KEPT 1000  /* in the list */
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
/* index_state_name of a file, and "damaged" if a part of a ready one cannot be read; which of these
 * texts a file of a snapshot may have, up to NULL. */
const char *index_file_state(const struct index_file *f);
extern const char *const index_file_states[];
/* Nothing of it has been read: pending, failed, or the first look at it has not come to an end yet.
 * Its format is unknown. */
static inline bool index_file_is_unread(const struct index_file *f)
{
    return f->id == 0;
}
/* Answers lack some of it, or all: what `damaged_files` counts. */
static inline bool index_file_lacks(const struct index_file *f)
{
    return f->damaged || f->state == INDEX_FAILED;
}
/* The chunk of an object of the file (from 0 on), which becomes its row; chunk_count: the file does
 * not have so many. */
static inline uint32_t index_file_chunk(const struct index_file *f, uint64_t *object)
{
    uint32_t chunk = 0;

    while (chunk < f->chunk_count && *object >= f->chunks[chunk].rows)
        *object -= f->chunks[chunk++].rows;
    return chunk;
}

struct snapshot;
struct snapshot *index_snapshot(struct index *ix); /* *new*; never NULL after index_open */
/* The files for which keep() says so: all else is as if it were not there, whatever is asked.
 * *new*; another reference to `s` where all are kept; NULL without memory. keep() is called without
 * a lock. */
struct snapshot *snapshot_filter(struct snapshot *s,
                                 bool (*keep)(void *arg, const struct index_file *f), void *arg);
struct snapshot *snapshot_ref(struct snapshot *s);
void snapshot_release(struct snapshot *s);
uint64_t snapshot_generation(const struct snapshot *s);
/* It was taken after index_listed: before, there may be files that nobody has seen yet. */
bool snapshot_is_listed(const struct snapshot *s);
/* Directories that could not be read then (index_hold), by name bytes: below them there may be
 * files that nobody has seen, and what is told of the others is as they were. */
size_t snapshot_unreadable_count(const struct snapshot *s);
/* borrowed from the snapshot */
const char *snapshot_unreadable(const struct snapshot *s, size_t i);
/* of the store and what is kept of it, for ETags */
const char *snapshot_uuid(const struct snapshot *s);
uint32_t snapshot_file_count(const struct snapshot *s); /* MISSING ones are not in it */
/* ordered by name bytes */
const struct index_file *snapshot_file(const struct snapshot *s, uint32_t i);
/* All archives, ordered by name bytes. One that is ready and whole is no file of the snapshot, only
 * its members are. */
uint32_t snapshot_archive_count(const struct snapshot *s);
const struct index_file *snapshot_archive(const struct snapshot *s, uint32_t i);
/* or NULL */
const struct index_file *snapshot_find_archive(const struct snapshot *s, const char *name);

/* Files that are known but answer nothing, by name: X.gz with the text of X, another name of a
 * file, or one that has vanished. *new*; names borrowed until index_close. Of the present moment.
 * -ENOMEM. */
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
/* INDEX_NO_TEXT when no chunk can have it as a global text */
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
    int64_t pid;         /* INT64_MIN when absent */
    uint32_t chunk, row; /* where it stands: chunk number and row in the chunk */
    uint32_t line;       /* for index_name_line */
};
/* The whole record in its valid form, borrowed until index_close; it is read from the store when
 * first asked for. Empty where memory has too many records to tell their lines. 0, -ENOMEM,
 * ERR_STORE; ERR_CORRUPT: the file is indexed again. */
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
    uint32_t host; /* text id of hhash (preferred) or hostname as in its objects; INDEX_NO_TEXT */
    bool host_is_hash;
    /* ppid INT64_MIN when unknown: start.args.ppid, else the process whose fork returned pid */
    int64_t pid, ppid;
    uint8_t parent_by;      /* enum index_parent: which of these told it */
    bool started, finished; /* has a start, an end record of the tracer */
    int64_t rank;           /* PR rank, or process_name "Rank N"; INT64_MIN when unknown */
    uint32_t cmd_hash, exec_hash, cwd_hash; /* text ids or INDEX_NO_TEXT */
    uint64_t objects, events;
    bool has_time;
    __int128 min_ts, max_te; /* ns, over its events */
};
/* Positions in file->processes of those with this pid, ascending; borrowed. */
const uint32_t *index_processes_of_pid(const struct index_file *file, int64_t pid,
                                       uint32_t *ret_count);
/* The name that a record of the file itself gives a hash, its first one (text order);
 * INDEX_NO_TEXT: none does. */
uint32_t index_name_in(const struct index_file *file, enum index_name_kind kind, uint32_t hash);
/* The name behind a hash as an object of `file` (of process `pid`, INT64_MIN if unknown) means it:
 * its own file first, then the parent process's file, then all files of the snapshot if they agree;
 * else INDEX_NO_TEXT (unknown or conflicting: *ret_conflict, may be NULL). Where one file has
 * several names for a hash, its first one (text order) is taken. */
uint32_t index_resolve(const struct snapshot *s, const struct index_file *file, int64_t pid,
                       enum index_name_kind kind, uint32_t hash, bool *ret_conflict);

/* ---- chunks: their columns are read with column.h -------------------------------------------- */

/* Opens chunk `i` of a file of the snapshot: starts a read transaction. 0, ERR_STORE, ERR_CORRUPT,
 * -ENOMEM. */
int chunk_open(struct index *ix, const struct snapshot *s, const struct index_file *file,
               uint32_t i, struct chunk_view **ret);
void chunk_close(struct chunk_view *v);
/* Which rank has it: 0 this one. On a rank other than 0: whether another one has it. */
unsigned index_chunk_rank(const struct index *ix, const struct index_file *file, uint32_t i);
unsigned index_rank_count(const struct index *ix); /* 1: this process alone */
/* Rank 0 asks another one, which answers by what index_on_request has named; it has a snapshot of
 * the same files then, in which the chunks that it has can be opened. The answer is appended. Its
 * error; -ENOMEM, -EPIPE. */
int index_request_rank(struct index *ix, unsigned rank, const struct snapshot *s,
                       struct text request, struct buf *answer);
/* The same of several, without waiting: see ask_all of struct index_ranks. */
int index_request_ranks(struct index *ix, const unsigned *ranks, unsigned count,
                        const struct snapshot *s, struct text request,
                        void (*answered)(void *arg, unsigned from, int rc, struct buf *answer),
                        void *arg);
/* The number that a request says of itself: its answer is needed no longer. -ENOMEM, -EPIPE. */
int index_stop_rank(struct index *ix, unsigned rank, uint64_t number);
/* What another rank does about these. Any thread. `answer`: s NULL where the rank does not know the
 * snapshot; -ESRCH: it needs it. */
struct index_rank_handler {
    int (*answer)(void *arg, struct snapshot *s, struct text request, struct buf *answer);
    void (*stop)(void *arg, uint64_t number);
    void *arg;
};
void index_on_request(struct index *ix, const struct index_rank_handler *asked); /* copied */
/* What the index has of a file is corrupt: the file is indexed again, and counted in
 * index_progress.files_corrupt. chunk_open finds some by itself. Where pages of LMDB make no sense,
 * indexing ends with ERR_CORRUPT, and the next index_open rebuilds all. Not under locks of the
 * index; any thread. */
void index_file_corrupt(struct index *ix, const struct index_file *file);
/* chunk_may_have for a whole file and one of the dimensions, its own included; true when unknown.
 * Looks at memory only. */
bool index_file_may_have(struct index *ix, const struct index_file *file, struct text path,
                         uint64_t hash);

/* ---- checkpoints: text of rows --------------------------------------------------------------- */

/* A reader of the file's text by position. Refuses a changed file with ERR_STALE. One thread at a
 * time. The caller ends with trace_text_close and close(*ret_fd), before it releases the snapshot.
 */
int index_text_open(struct index *ix, const struct snapshot *s, const struct index_file *file,
                    struct trace_text **ret, int *ret_fd);
/* From how many places its text can be read; 0 where there is no telling. */
uint64_t index_checkpoints(struct index *ix, const struct index_file *file);
/* After reading from ret_fd: is that still the text of which the chunks were made? A file that is
 * written anew in place shows only now. 0, ERR_STALE, -errno, -ENOMEM. Cheap where the file has not
 * changed since. */
int index_text_check(const struct index_file *file, int fd);

/* ---- summaries: answers without a scan ------------------------------------------------------- */

struct summary_name { /* by (class, cat, name) */
    uint8_t class;
    uint32_t cat, name; /* text ids, INDEX_NO_TEXT = null */
    uint64_t count;
    struct moments duration; /* an X event without dur counts as 0, other objects are left out */
    struct sketch *duration_sketch; /* us */
    struct histogram histogram;
};
struct summary_thread { /* by (class, host, pid, tid); host told as in struct index_process */
    uint8_t class;
    bool host_is_hash;
    uint32_t host;
    uint32_t file;    /* position of a file in the snapshot where that host hash can be resolved */
    int64_t pid, tid; /* INT64_MIN = null */
    uint64_t count;
};
/* count of all objects; times of those
 * with ts */
struct summary_class {
    bool has_time;
    __int128 min_ts, max_te;
    uint64_t count;
};
/* Of more names than that (fewer where memory is short) there is no entry each: some 2 KB they are,
 * for every file and for all. */
#define SUMMARY_NAMES_MAX 16384
enum summary_detail {
    SUMMARY_BY_NAME,
    /* more names than SUMMARY_NAMES_MAX: `name` is INDEX_NO_TEXT in all entries */
    SUMMARY_BY_CATEGORY,
    SUMMARY_BY_CLASS, /* more categories than that: `cat`, too */
};
struct summary {
    enum summary_detail detail; /* the same however a file was read, in parts or at once */
    uint32_t name_count, thread_count;
    struct summary_name *names;
    struct summary_thread *threads;
    struct summary_class classes[4];
};
/* Of one file (*new*, from the store) or of all files of the snapshot that have chunks (borrowed
 * from the snapshot): exactly the objects that a scan of the snapshot's chunks would meet. */
int index_file_summary(struct index *ix, const struct snapshot *s, uint32_t file,
                       struct summary **ret);
void summary_free(struct summary *s);
/* into starts zeroed from summary_new */
int summary_merge(struct summary *into, const struct summary *other);
struct summary *summary_new(void);
int index_root_summary(struct index *ix, const struct snapshot *s, const struct summary **ret);

/* ---- inspection ------------------------------------------------------------------------------ */

/* Writes the whole store in a canonical text form (ids replaced by texts, files by name) that is
 * equal for equal content, however it came about: what kill -9 tests compare. `out` is flushed by
 * `flush` whenever it is large. */
int index_dump(struct index *ix, struct buf *out, int (*flush)(void *arg, struct buf *out),
               void *arg);
/* every value decodes, every reference resolves */
int index_check(struct index *ix, struct err *err);

#endif
