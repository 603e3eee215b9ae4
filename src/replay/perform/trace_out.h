/* trace_out.h - writes what was done as a .pfw.gz: gzip members of about 256 KiB of lines.
 *
 * The file is written to `path`.part, which replaces `path` at the end. With --processes each
 * process writes the lines of its threads to a part of its own, a file without a name, and the
 * parts are put together at the end.
 * Threads: trace_out_put by any.
 */
#ifndef DFTRACERD_REPLAY_PERFORM_TRACE_OUT_H
#define DFTRACERD_REPLAY_PERFORM_TRACE_OUT_H

#include "replay/perform/perform.h"

struct trace_out;
/* *new*; 0 or -errno with err. */
int trace_out_open(const char *path, struct trace_out **ret, struct err *err);
/* A line; `begin_ns` is a time of clock_real_ns. */
void trace_out_put(struct trace_out *t, const struct operation *op, const struct performed *done,
                   int64_t begin_ns, int64_t taken_ns);
/* NULL: nothing. `keep` false: it is removed. */
int trace_out_close(struct trace_out *t, bool keep, struct err *err);

/* A file for a part beside the trace: a descriptor or -errno. */
int trace_out_part(const struct trace_out *t);
/* Writes to the part, in the process that has it. *complete: how many bytes of it are whole
 * members. */
int trace_out_open_part(int fd, _Atomic uint64_t *complete, struct trace_out **ret);
int trace_out_close_part(struct trace_out *t); /* 0, or -errno: it lacks lines */
/* Appends the first `complete` bytes of a part. `code` < 0: why it lacks lines, and the file is not
 * to be kept. */
void trace_out_join(struct trace_out *t, int fd, uint64_t complete, int code);

#endif
