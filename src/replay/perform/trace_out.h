/* trace_out.h - writes the performed calls as a .pfw.gz: gzip members of about 256 KiB of lines.
 *
 * The file is written to `path`.part, which replaces `path` at the end. With --processes each
 * process writes the lines of its threads to a part of its own, a file without a name, and the
 * parts are put together at the end.
 * Threads: trace_out_put: any thread.
 */
#ifndef DFTRACERD_REPLAY_PERFORM_TRACE_OUT_H
#define DFTRACERD_REPLAY_PERFORM_TRACE_OUT_H

#include "replay/perform/perform.h"

struct trace_out;
/* *new*; `path` is borrowed until trace_out_close. Returns 0, -ENOMEM, or -errno with
 * err. */
int trace_out_open(const char *path, struct trace_out **ret, struct err *err);
/* Writes a line; `begin_ns` is a time of clock_real_ns. */
void trace_out_put(struct trace_out *t, const struct operation *op, const struct performed *done,
                   int64_t begin_ns, int64_t taken_ns);
/* NULL-safe. `keep` false: the file is removed. Returns 0, or -errno with err if lines are missing:
 * then it is removed, too. */
int trace_out_close(struct trace_out *t, bool keep, struct err *err);

/* Creates a nameless file for a part beside the trace. Returns a descriptor or -errno. */
int trace_out_part(const struct trace_out *t);
/* Opens the part for writing, in its process. *complete: how many bytes of it are complete
 * members. */
int trace_out_open_part(int fd, _Atomic uint64_t *complete, struct trace_out **ret);
int trace_out_close_part(struct trace_out *t); /* returns 0, or -errno if lines are missing */
/* Appends the first `complete` bytes of a part. `code` < 0: why lines are missing; then the file
 * will not be kept. */
void trace_out_join(struct trace_out *t, int fd, uint64_t complete, int code);

#endif
