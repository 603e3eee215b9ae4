/* rewrite.h - new traces: out of nothing (synthetic ones), and the tar streams in which traces leave the daemon.
 *
 * May use:   base, measure, trace, index, query, format; zlib.    Used by: http, tools.
 * Threads:   a generate_plan is immutable: any thread. Everything else belongs to one thread at a time.
 * Memory:    bounded whatever the length of the traces: a generator holds about 1.5 MiB and 3 KB a process of its file, a
 *            plan 100 bytes a training or validation file, a spool nothing (its bytes are in a file).
 */
#ifndef DFTRACERD_REWRITE_H
#define DFTRACERD_REWRITE_H

#include "dftracerd/format.h"

/* ---- synthetic traces of a 3D U-Net training --------------------------------------------------------------- */

/* What a generation of the tracer writes. "unet3d" is what dftracer_gen_fake_trace writes, the others are as real tracers
 * of their time. */
struct generate_format;
const struct generate_format *generate_format_find(const char *name);    /* NULL: unknown */
const char *generate_format_name(unsigned i);                            /* NULL after the last; 0 is the default */

struct generate_options {
    const struct generate_format *format;
    uint64_t processes, hosts, epochs, steps;
    uint64_t checkpoint_every, validation_every;      /* epochs; 0 = never                                       */
    uint64_t train_files, val_files, step_ms, seed;
    uint64_t events;         /* over all processes, whatever the number of epochs; 0 = what the epochs have         */
    uint64_t files;          /* processes are dealt out to so many files; 0 = one each                             */
    uint64_t member_bytes;   /* of text in a gzip member; 0 = one member, 1 = a member for each line               */
    int level;               /* of gzip, 0-9                                                                       */
    bool plain;              /* text, not gzip                                                                     */
    bool shuffle;            /* a step reads any training file, not one of the process's own                       */
};
/* The numbers that have a name, by which requests and command lines give them. */
struct generate_number { const char *name; size_t offset; uint64_t fallback, least, most; };
extern const struct generate_number generate_numbers[];                  /* ends with name NULL */
uint64_t *generate_number_at(struct generate_options *o, const struct generate_number *n);
void generate_defaults(struct generate_options *o);
/* ERR_PARAM: err.param names the number (as in generate_numbers) that is out of its limits. */
int generate_check(const struct generate_options *o, struct err *err);
/* More lines than this are never written; saturates. For limits; not of options with `events`. */
uint64_t generate_lines_most(const struct generate_options *o);

/* Checked options, with the file names and hashes that all generators of them share. */
struct generate_plan;
int generate_plan_new(const struct generate_options *o, struct err *err, struct generate_plan **ret); /* *new*; copies */
void generate_plan_free(struct generate_plan *p);
const struct generate_options *generate_plan_options(const struct generate_plan *p);
uint64_t generate_plan_files(const struct generate_plan *p);

/* One file of a plan, piece by piece. The same plan gives the same bytes, whatever the pieces. */
struct generator;
int generate_open(const struct generate_plan *p, uint64_t file, struct generator **ret);  /* *new*; -ENOMEM */
/* Appends at least `want` bytes, and at most about 1 MiB of text more than that. 0, ERR_END (there is no more; the last
 * bytes came with it) or -ENOMEM. */
int generate_next(struct generator *g, size_t want, struct buf *out);
uint64_t generate_events(const struct generator *g);                     /* so far: without name records            */
uint64_t generate_text_bytes(const struct generator *g);                 /* so far: before compression              */
void generate_close(struct generator *g);

/* A question about traces of a plan in the format unet3d, which indexing helps to answer (or which has no answer). */
struct generate_query {
    const char *kind;        /* "single", "and", "or", "negative"                                              */
    bool suggested;          /* one of the six that the closing text shows                                     */
    char text[160];          /* in the query language                                                          */
};
bool generate_query_at(const struct generate_plan *p, unsigned i, struct generate_query *ret); /* false after the last */
/* What dftracer_gen_fake_trace says at its end: events of each process (`events`: an array), totals, queries to try. */
void generate_closing(const struct generate_plan *p, const uint64_t *events, struct buf *out);

/* What an index makes of the questions: files with matching events, chunks that needed no look. */
struct generate_verdict { struct generate_query query; uint64_t events, files, files_total, chunks_skipped, chunks_total; };
/* Asks question `i` about the files of `files` (whose query is not used). ERR_END after the last; errors of query_open. */
int generate_verify(const struct generate_plan *p, unsigned i, const struct query_env *env, struct snapshot *snapshot,
                    const struct selection *files, struct budget *budget, struct err *err, struct generate_verdict *ret);
/* A line of the table that `--verify` prints; `v` NULL: its head. */
void generate_verdict_text(const struct generate_verdict *v, struct buf *out);

/* ---- tar streams ------------------------------------------------------------------------------------------------ */

/* Ustar members, one after the other; the size of each is told before its bytes. A name beyond 100 bytes that does not
 * fit into prefix and name, or is not ASCII, has a pax record; so has a size of 8 GiB or more (and the number in base 256
 * in the header, for readers that skip pax). Owner and group are 0. Zero-initialise. */
struct tar { uint64_t left; unsigned padding; };
struct tar_entry { struct text name; uint64_t size; int64_t mtime_s; /* >= 0 */ unsigned mode; /* 0 = 0644 */ };
/* -EINVAL: the name is empty, absolute, has a NUL or a `..`, ends with `/`, or is longer than 4,000 bytes. The buffer's error is sticky. */
int tar_begin(struct tar *t, const struct tar_entry *e, struct buf *out);
void tar_data(struct tar *t, struct text data, struct buf *out);         /* asserts that it is not more than was told */
/* So many bytes that the caller appends to `out` itself count as data. */
void tar_count(struct tar *t, size_t len);
void tar_end(struct tar *t, struct buf *out);                            /* asserts that all has come */
void tar_finish(struct tar *t, struct buf *out);                         /* after the last member */

/* ---- spool: bytes that wait until their number is known ----------------------------------------------------------- */

/* A file without a name in `dir`: it takes disk space as long as it is not empty and is gone with the process. */
struct spool;
int spool_new(const char *dir, struct err *err, struct spool **ret);     /* *new*; -errno of the directory, -ENOMEM */
int spool_write(struct spool *s, struct text data, struct err *err);     /* -ENOSPC, -EDQUOT, -EIO ... */
uint64_t spool_size(const struct spool *s);
/* Appends the next bytes, from the first on. 0, ERR_END when all were read, -errno, -ENOMEM. */
int spool_read(struct spool *s, size_t most, struct buf *out, struct err *err);
int spool_clear(struct spool *s, struct err *err);                       /* empty again */
void spool_free(struct spool *s);

#endif
