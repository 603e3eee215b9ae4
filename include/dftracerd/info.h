/* info.h - /info: totals over the selected files, and the metadata of each.
 *
 * Used by:   format, http.
 * Path:      info_open adds up the files of the snapshot, and reads processes from summaries ->
 *            struct info -> info_type, which makes each file when it is written.
 * Memory:    the arena, and the columns of one file.
 * Threads:   as query.h says.
 */
#ifndef DFTRACERD_INFO_H
#define DFTRACERD_INFO_H

#include "dftracerd/member.h"

struct info_totals {
    uint64_t files, ready, pending, failed, damaged;
    uint64_t compressed_bytes, text_bytes, index_bytes, chunks, processes, threads, hosts;
    struct trace_counts counts;
    uint64_t objects; /* of `counts`: events, counters, aggregated, metadata */
    bool has_time;
    __int128 min_ts, max_te;
    double bytes_per_event; /* NaN without events */
};
struct info_root {
    const char *path, *label, *network; /* label, network: may be NULL */
};
/* Members hidden from users that see only a part of the files are NULL, or not visible. */
struct info_index {
    const char *path, *error, *cpu, *inflate;
    uint64_t bytes;
    bool visible; /* `bytes` */
};
struct info_options {
    bool only_chosen; /* nothing about files that are not in the snapshot, nor about the index */
    unsigned detail;  /* 0 totals, 1 with files, 2 with their chunks and columns */
    bool all;         /* no file was named: vanished files are listed, too */
    bool complete;
    bool only_files; /* for the text: processes and hidden files are omitted */
};
struct info_file;
struct info {
    const struct query_env *env;
    struct snapshot *snapshot;
    struct info_options options;
    uint64_t generation;
    struct info_root *roots;
    size_t root_count;
    struct info_index index;
    struct info_totals totals;
    bool detailed; /* the three lists */
    struct index_hidden *duplicates;
    const char **missing;
    size_t duplicate_count, missing_count;
    const uint32_t *files; /* positions in the snapshot */
    size_t file_count;
    /* With columns, set these before the info is written: a query that fails sets err and
     * out->error. */
    struct budget *budget;
    struct err *err;
    struct buf *out;
    struct info_file *file; /* the last one that was written */
    struct arena arena;
    int64_t started_ns;
};
extern const struct object_type info_type;
/* Returns *new*; env, snapshot and files are borrowed until info_close. Returns -ENOMEM, or errors
 * of summaries. */
int info_open(const struct query_env *env, struct snapshot *s, const uint32_t *files, size_t count,
              const struct info_options *options, struct info **ret);
void info_close(struct info *i);

#endif
