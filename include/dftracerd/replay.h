/* replay.h - performs the recorded calls of a trace again, below one directory.
 *
 * May use:   base, measure, trace, format; zlib (the written trace).   Used by: tools.
 * Input:     event lines (.pfw lines, or rows of /view as NDJSON) in order of time, from a
 *            descriptor.
 * Threads:   replay_run() is called once in a process, by its main thread, while there are no
 *            others. It starts one thread for each (host, pid, tid) of the trace, at most
 *            REPLAY_LANES_MAX; further ones share these. With `processes` these are in a child
 *            process for each (host, pid), at most REPLAY_PROCESSES_MAX (children.h).
 * Memory:    independent of the length of the trace: at most REPLAY_AHEAD_MAX operations are
 *            queued, and a few hundred bytes are kept for each file and descriptor. A thread uses 1
 *            MiB to read and write; more than REPLAY_TRANSFER_MAX at once is done in several calls.
 * Safety:    see root.h. Nothing outside the root is created, changed or removed; only files that
 *            `maps` name are opened outside of it, for reading.
 */
#ifndef DFTRACERD_REPLAY_H
#define DFTRACERD_REPLAY_H

#include "dftracerd/base.h"

enum {
    REPLAY_LANES_MAX = 1024,
    REPLAY_PROCESSES_MAX = 1024,
    REPLAY_AHEAD_MAX = 1 << 18,
    REPLAY_TRANSFER_MAX = 64 << 20,
    REPLAY_MAPS_MAX = 64
};

/* SPARSE: files that are read exist with their sizes, without data on the disk; DATA: they have
 * data; NONE: no files are prepared. */
enum replay_prepare { REPLAY_SPARSE, REPLAY_DATA, REPLAY_NONE };

/* Paths below `from` are those below `to`, which are only read. */
struct replay_map {
    const char *from, *to;
};

/* Lists are comma-separated; NULL: no filter. */
struct replay_filters {
    const char *pid, *not_pid, *tid, *not_tid, *function, *not_function, *category, *not_category;
    int64_t start_us, end_us;         /* inclusive; -1: no limit */
    int64_t min_size, max_size;       /* for events with a size; -1: no limit */
    double sample_rate;               /* 1: all events */
    uint64_t sample_seed, max_events; /* max_events 0: no limit */
};

struct replay_options {
    struct replay_filters filters;
    const char *root;         /* NULL: a new directory below the working directory */
    const char *output_trace; /* a .pfw.gz file of the performed calls; NULL: none */
    struct replay_map maps[REPLAY_MAPS_MAX];
    unsigned map_count;
    enum replay_prepare prepare;
    double speed; /* 2 is twice as fast */
    bool timing, processes, dry_run, sleep_mode, no_sleep, keep, json, verbose, outermost, twice;
};
void replay_options_init(struct replay_options *o);
/* Reads `fd` to its end, replays, and writes the report to `out`. Returns the exit status: 0: at
 * least one event was executed and none failed; 1: none was executed, or an error (err has the
 * text); 2: some failed. A regular file is read twice: first to prepare the files. With `twice`,
 * the input has all events two times, separated by the line
 * {"name":"replay","ph":"M","replay":"again"}. */
int replay_run(const struct replay_options *o, int fd, struct buf *out, struct err *err);

#endif
