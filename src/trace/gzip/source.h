/* source.h - what is read in place of a file: text inside another file. */
#ifndef DFTRACERD_TRACE_GZIP_SOURCE_H
#define DFTRACERD_TRACE_GZIP_SOURCE_H

#include "dftracerd/trace.h"

/* The readers of files are below what makes a source of a text that one of them reads
 * (text_source.c), so they call it by these. read: as
 * pread, but for the error: -errno or what the finder of checkpoints returned; -EIO where the text
 * no longer has these bytes. */
struct trace_source {
    ssize_t (*read)(struct trace_source *s, void *out, size_t len, uint64_t offset);
    void (*close)(struct trace_source *s);
};

#endif
