/* trace_out.h - writes what was done as a .pfw.gz. Threads: any. */
#ifndef DFT_REPLAY_TRACE_OUT_H
#define DFT_REPLAY_TRACE_OUT_H

#include "perform.h"

struct trace_out;
/* Written to `path`.part, which replaces `path` at the end. *new*; 0 or -errno with err. */
int trace_out_open(const char *path, struct trace_out **ret, struct err *err);
/* A line; the time is that of clock_real_ns. */
void trace_out_put(struct trace_out *t, const struct operation *op, struct text name, struct text cat, int64_t pid, int64_t tid,
                   const struct performed *done, int64_t begin_ns, int64_t taken_ns);
/* NULL: nothing. `keep` false: it is removed. */
int trace_out_close(struct trace_out *t, bool keep, struct err *err);

#endif
