/* format_info.h - shared by the files that write /info. Private to the format room. */
#ifndef DFTRACERD_FORMAT_INFO_H
#define DFTRACERD_FORMAT_INFO_H

#include "text_number.h"

struct info_totals {
    uint64_t files, ready, pending, failed, damaged, incomplete;
    uint64_t compressed_bytes, text_bytes, index_bytes, chunks, processes, threads, hosts;
    struct trace_counts counts;
    bool has_time;
    __int128 min_ts, max_te;
    int64_t started_ns;
};
/* "ready", "damaged" ... */
const char *info_state(const struct index_file *f);
/* Members `chunk_list` and `columns` of a file. 0, ERR_STORE, ERR_CORRUPT, -ENOMEM. */
int info_columns(struct jw *j, struct index *ix, struct snapshot *s, const struct index_file *f);
void info_text(struct snapshot *s, const uint32_t *files, size_t count, unsigned detail, const struct info_totals *t,
               struct buf *out);

#endif
