/* source.h - text inside another file, which is read as if it were a file. */
#ifndef DFTRACERD_TRACE_GZIP_SOURCE_H
#define DFTRACERD_TRACE_GZIP_SOURCE_H

#include "dftracerd/trace.h"

/* Function pointers, because text_source.c, which makes a source of a text, is a layer above the
 * readers that read from it. read: as pread, but errors are returned: -errno, an error of the
 * trace_find_checkpoint function, or -EIO if the text no longer has these bytes. */
struct trace_source {
    ssize_t (*read)(struct trace_source *s, void *out, size_t len, uint64_t offset);
    void (*close)(struct trace_source *s);
};

#endif
