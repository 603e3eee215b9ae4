/* info.h - shared by the files that write /info. Private to the format module. */
#ifndef DFTRACERD_FORMAT_REPORT_INFO_H
#define DFTRACERD_FORMAT_REPORT_INFO_H

#include "dftracerd/schema.h"
#include "format/writer/text_number.h"

struct format_info {
    const struct query_env *env;
    struct snapshot *snapshot;
    const uint32_t *files;
    size_t count, next; /* next: the file to be written */
    struct format_info_options options;
    enum format format;
    struct jw jw;
    bool begun;
    struct index_hidden *hidden;
    size_t hidden_count;
};
struct info_totals {
    uint64_t files, ready, pending, failed, damaged;
    uint64_t compressed_bytes, text_bytes, index_bytes, chunks, processes, threads, hosts;
    struct trace_counts counts;
    bool has_time;
    __int128 min_ts, max_te;
    int64_t started_ns;
};
/* "ready", "damaged" ... */
const char *info_state(const struct index_file *f);
/* Members `chunk_list` and `columns` of a file. 0, or what /schema of this file says. */
/* in the snapshot */
int info_columns(struct format_info *i, uint32_t position, struct budget *budget, struct err *err);
void info_text(struct snapshot *s, const uint32_t *files, size_t count, unsigned detail,
               const struct info_totals *t, struct buf *out);

#endif
