/* source.h - what is read in place of a file: text inside another file. */
#ifndef TRACE_SOURCE_H
#define TRACE_SOURCE_H

#include "dftracerd/trace.h"

/* The readers of files are below what makes a source of a text that one of them reads
 * (text_source.c), so they call it by these. */
struct trace_source {
    ssize_t (*read)(struct trace_source *s, void *out, size_t len, uint64_t offset);
    void (*close)(struct trace_source *s);
};

#endif
