/* read.h - the inside of a reader.
 *
 *   plan.c    decides what to do with a file
 *   read.c    the thread: takes files from the queue
 *   read_text.c  the text of a file or member, chunk by chunk
 *   found.c   opens the text; checkpoints and damage
 *   walk.c    walks archives
 *
 * Used by:   these files, file.c, and orders (order.h). Threads: a reader belongs to its thread.
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
    unsigned rank; /* the rank whose queue it reads */
    int fd;
    struct trace_reader *trace;
    struct trace_chunker *chunker;
    bool resumed;                 /* reading begins at `from` */
    struct trace_checkpoint from; /* its window is owned */
    bool finish;      /* the file counts as complete: its last line may lack a newline */
    uint64_t skip_to; /* offset in the text: everything before it is skipped */
    uint64_t seq;     /* number of the next result */
    uint32_t kept;    /* number of stored chunks after which the run continues */
    size_t checkpoints_moved, damage_moved; /* of those that `trace` has found, into results */
    struct trace_ahead *ahead;
    char *edge;                  /* EDGE_BYTES */
    struct trace_source *source; /* a member: its part of the archive */
    struct archive_place *place; /* kept by the thread: position after the previous member */
    /* damage that the trace reader does not report, for the next result */
    struct trace_damage extra[4];
    unsigned extra_count;
};

/* read_text.c: reads the text of r->run, which is open, into results; makes the result that ends
 * the run; closes all. */
int reader_text(struct reader *r);
void reader_end(struct reader *r, int error);
void reader_close(struct reader *r);

/* Returns whether the name of the file says that it is gzip. */
static inline bool run_is_named_gzip(const struct run *r)
{
    struct text name = text_of(r->entry->name);

    return text_ends(name, TEXT(".gz")) || text_ends(name, TEXT(".tgz"));
}

/* Chooses the action of r->run, and where it begins. Returns -errno if the file cannot be read,
 * -EINVAL if it is not a regular file. */
int reader_plan(struct reader *r, bool rebuild);
/* Opens r->trace, at the start or where the run continues. Returns 0, -ENOMEM or -errno. */
int reader_open(struct reader *r);
/* Returns a *new* result of r->run with number r->seq; NULL without memory. */
struct result *reader_result(struct reader *r);
/* Moves all checkpoints, and damage in the text below an offset, into the result. Returns 0 or
 * -ENOMEM. */
int reader_move_below(struct reader *r, struct result *to, uint64_t below);
/* Moves all checkpoints and damage, and the position of the reader, into the result. Returns 0 or
 * -ENOMEM. */
int reader_move_found(struct reader *r, struct result *to);
void reader_note_damage(struct reader *r, enum trace_damage_kind kind, uint64_t text_offset);
/* Reads an archive to its end, instead of chunks. Returns 0, -EPIPE, ERR_NO_ARCHIVE, -errno or
 * -ENOMEM. */
int reader_walk(struct reader *r);

#endif
