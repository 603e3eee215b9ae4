/* files.h - the paths of a trace, and the files below the root that they mean.
 *
 * A path is mapped by its text alone: `.` and repeated slashes go, `..` removes the part before it,
 * and a path that would leave the root is refused. Absolute and relative paths both begin at the
 * root.
 * Threads: tables are filled by one thread. Paths and files are in shared memory; the process that
 *          performs operations reads them, and sets `made` and `identity` under the lock of the
 *          file (shared.h).
 */
#ifndef DFTRACERD_REPLAY_SHARED_FILES_H
#define DFTRACERD_REPLAY_SHARED_FILES_H

#include "dftracerd/vec.h"
#include "dftracerd/replay.h"

#include "replay/shared/shared.h"

enum first_use { FIRST_UNKNOWN, FIRST_CREATED /* by the trace */, FIRST_NEEDED };

/* What a call does with a file; see order.h. */
enum touch { TOUCH_CHANGE, TOUCH_USE, TOUCH_WRITE, TOUCH_READ, TOUCHES };

struct file {
    const char *below; /* relative to its root; "." is the root itself */
    int map;           /* number of the --map, -1: below the root */
    atomic_bool made;  /* by this replay: may be written to and removed */
    atomic_bool early; /* a directory that the trace makes, but that had to be there before */
    _Atomic uint64_t identity; /* of what was made: something else at its path is not ours */
    atomic_uint done[TOUCHES]; /* calls that have ended */
    atomic_uint waiting;       /* threads that wait for others */
    /* Of the planning thread. */
    struct file *above; /* of files_above, when the table had as many files */
    uint32_t above_known;
    uint32_t planned[TOUCHES]; /* calls so far */
    uint32_t ended[TOUCHES]; /* of them, those that ended before the ones that overlap now began */
    int64_t end_ns[TOUCHES]; /* the latest end */
    uint8_t first;           /* enum first_use */
    bool is_dir, prepared;
    bool surveyed;    /* the first of two times had it */
    bool named;       /* by the trace; others are directories above one */
    bool arrives;     /* with a directory that the trace renames */
    bool changes;     /* the trace makes or removes it */
    bool truncated;   /* what it had before is gone: `size` alone counts */
    uint64_t size;    /* as far as the trace has written it */
    uint64_t need;    /* of what is read before it is written */
    uint64_t counted; /* bytes of it that are in files.bytes */
};

/* Files whose paths change with that of a directory. In shared memory. */
struct moved {
    struct file *from, *to;
    struct moved *next;
};

struct path {
    struct file *file; /* NULL: refused */
    const char *refusal;
    char name[]; /* as in the trace */
};

struct files {
    struct shared *shared;
    struct intern *names, *belows;
    VEC(struct path *) paths; /* by the number of their names; they do not move */
    VEC(struct file *) files;
    size_t named;
    const struct replay_options *options;
    /* that the files have on the disk at this moment of the trace, and had at most */
    uint64_t bytes, bytes_peak;
    uint64_t bytes_max; /* calls that would need more are not replayed */
};
int files_init(struct files *f, const struct replay_options *o, struct shared *s);
void files_done(struct files *f);
/* Borrowed until files_done; NULL: no memory. */
struct path *files_path(struct files *f, struct text name);
/* The directory it is in; NULL: it is the root (or no memory). */
struct file *files_parent(struct files *f, const struct file *file);
/* The nearest directory above it that is in the table; NULL: none. */
struct file *files_above(struct files *f, struct file *file);
/* What is in the directory `from` is in `to` then: 0 or -ENOMEM. */
int files_move(struct files *f, struct file *from, struct file *to, struct moved **ret);
/* Files that have others below them are directories. */
void files_find_directories(struct files *f);
size_t files_count(const struct files *f);
size_t files_named(const struct files *f); /* without directories that the trace does not name */
/* The i-th; NULL where there was no memory for it. */
struct file *files_at(const struct files *f, size_t i);
/* For the second time: sizes and first uses are forgotten. */
void files_again(struct files *f);

#endif
