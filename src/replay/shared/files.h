/* files.h - the paths of a trace, and their files below the root.
 *
 * A path is mapped by its text alone: `.` and repeated slashes are removed, `..` removes the part
 * before it, and a path that would leave the root is refused. Absolute and relative paths both
 * begin at the root.
 * Threads: tables are filled by one thread. Paths and files are in shared memory; the process that
 *          performs operations reads them, and sets `made` and `identity` under the lock of the
 *          file (shared.h).
 */
#ifndef DFTRACERD_REPLAY_SHARED_FILES_H
#define DFTRACERD_REPLAY_SHARED_FILES_H

#include "dftracerd/vec.h"
#include "dftracerd/replay.h"

#include "replay/shared/shared.h"

enum first_use { FIRST_UNKNOWN, FIRST_CREATED /* the trace created it */, FIRST_NEEDED };

/* How a call uses a file; see order.h. */
enum touch { TOUCH_CHANGE, TOUCH_USE, TOUCH_WRITE, TOUCH_READ, TOUCHES };

struct file {
    const char *below; /* path relative to the root; "." is the root itself */
    int map;           /* number of the --map, -1: below the root */
    atomic_bool made;  /* this replay has created it: it may be written to and removed */
    atomic_bool early; /* a directory that the trace creates, but that had to exist before */
    /* identity of what was created: a foreign file at its path differs */
    _Atomic uint64_t identity;
    atomic_uint done[TOUCHES]; /* number of calls that have ended */
    atomic_uint waiting;       /* number of threads that wait for others */
    /* The following members are used by the planning thread only. */
    struct file *above; /* result of files_above, valid while the table has this number of files */
    uint32_t above_known;
    uint32_t planned[TOUCHES]; /* number of calls so far */
    uint32_t ended[TOUCHES];   /* number of calls that ended before those that overlap now began */
    uint32_t awaited[TOUCHES]; /* number of calls that an earlier call waits for */
    int64_t end_ns[TOUCHES];   /* latest end */
    uint8_t first;             /* enum first_use */
    bool is_dir, prepared;
    bool unprepared;  /* counted in report.unprepared */
    bool surveyed;    /* the first of two readings has found it */
    bool named;       /* the trace names it; other files are directories above one */
    bool arrives;     /* it arrives with a directory that the trace renames */
    bool changes;     /* the trace creates or removes it */
    bool truncated;   /* its old data is gone: only `size` counts */
    uint64_t size;    /* size that the trace has written */
    uint64_t need;    /* size that is read before it is written */
    uint64_t counted; /* bytes of it that are counted in files.bytes */
};

/* Files whose paths change with that of a directory. In shared memory. */
struct moved {
    struct file *from, *to;
    struct moved *next;
};

struct path {
    struct file *file; /* NULL if the path was refused */
    const char *refusal;
    char name[]; /* as in the trace */
};

struct files {
    struct shared *shared;
    struct intern *names;     /* of paths */
    struct intern *belows;    /* of files: map, and path below it */
    VEC(struct path *) paths; /* by the number of their names; they do not move */
    VEC(struct file *) files; /* by the number in `belows`; NULL: there was no memory */
    size_t named;             /* result of files_named */
    const struct replay_options *options;
    /* disk space of the files at this moment of the trace, and its maximum */
    uint64_t bytes, bytes_peak;
    uint64_t bytes_max; /* calls that would exceed this are not replayed */
};
int files_init(struct files *f, const struct replay_options *o, struct shared *s);
void files_done(struct files *f);
/* Returns a path, borrowed until files_done; NULL without memory. */
struct path *files_path(struct files *f, struct text name);
/* Returns the directory that contains the file; NULL for the root, or without memory. */
struct file *files_parent(struct files *f, const struct file *file);
/* Returns the nearest directory above the file that is in the table; NULL if there is none. */
struct file *files_above(struct files *f, struct file *file);
/* Moves the files in directory `from` to `to`. Returns 0 or -ENOMEM. */
int files_move(struct files *f, struct file *from, struct file *to, struct moved **ret);
/* Marks files that have others below them as directories. */
void files_find_directories(struct files *f);
size_t files_count(const struct files *f);
/* number of files, without directories that the trace does not name */
size_t files_named(const struct files *f);
/* Returns the i-th file; NULL if there was no memory for it. */
struct file *files_at(const struct files *f, size_t i);
/* Before the second reading: forgets sizes and first uses. */
void files_reset(struct files *f);

#endif
