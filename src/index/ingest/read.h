/* read.h - the inside of a reader.
 *
 *   plan.c    what is to be done with a file
 *   read.c    the thread: takes files from the queue
 *   read_text.c  the text of a file or member, chunk by chunk
 *   found.c   opens the text; checkpoints and damage
 *   walk.c    walks archives
 *
 * Used by:   these files, and file.c. Threads: a reader belongs to its thread.
 */
#ifndef DFTRACERD_INDEX_INGEST_READ_H
#define DFTRACERD_INDEX_INGEST_READ_H

#include "index/catalog/catalog.h"
#include "index/ingest/flow.h"
#include "index/ingest/run.h"

struct reader {
    struct ingest *in;
    struct index *ix;
    struct run *run;
    unsigned rank; /* that reads what this reader takes */
    int fd;
    struct trace_reader *trace;
    struct trace_chunker *chunker;
    struct trace_checkpoint from;
    bool resumed, finish;
    uint64_t skip_to, seq;
    uint32_t kept; /* stored chunks that the run goes on behind */
    size_t checkpoints_taken, damage_taken;
    struct trace_ahead *ahead;
    char *edge;                   /* EDGE_BYTES */
    struct trace_source *source;  /* of a member: its part of the archive */
    struct archive_place *place;  /* of the thread: where the member before was */
    struct trace_damage extra[4]; /* that the trace reader does not tell: for the next result */
    unsigned extra_count;
};

/* read_text.c: the text of r->run, which is open, to results; what a run ends with; the rest. */
int reader_text(struct reader *r);
void reader_end(struct reader *r, int error);
void reader_close(struct reader *r);

/* It should be gzip. */
static inline bool run_named_gzip(const struct run *r)
{
    struct text name = text_of(r->entry->name);

    return text_ends(name, TEXT(".gz")) || text_ends(name, TEXT(".tgz"));
}

/* Chooses the action of r->run, and where it goes on. -errno when the file cannot be read, -EINVAL
 * when it is none. */
int reader_plan(struct reader *r, bool rebuild);
/* Opens r->trace, from the start or where it goes on. 0, -ENOMEM, -errno. */
int reader_open(struct reader *r);
/* *new*, of r->run and r->seq; NULL without memory. */
struct result *reader_result(struct reader *r);
/* Checkpoints, and damage in the text below an offset, since the last time. 0, -ENOMEM. */
int reader_take_below(struct reader *r, struct result *to, uint64_t below);
/* All checkpoints and damage since the last time, and where the reader is. 0, -ENOMEM. */
int reader_take_found(struct reader *r, struct result *to);
void reader_note_damage(struct reader *r, enum trace_damage_kind kind, uint64_t text_offset);
/* All of an archive, instead of chunks. 0, -EPIPE, ERR_NO_ARCHIVE, -errno, -ENOMEM. */
int reader_walk(struct reader *r);

#endif
