/* generate.h - declarations that the files of gen-fake-trace, the generator of synthetic traces,
 * share.
 *
 * A *rank* is a process, with its own random numbers, clock, ids and list of written file names. It
 * runs in *batches* (a training step, a validation, a checkpoint); a file interleaves the batches
 * of its ranks by clock. Like real tracers, all formats but unet3d write an event when it ends, so
 * children come before their parents and ids (assigned on entry) are not sorted.
 *
 * Threads: a plan is immutable; a generator belongs to one thread. Memory: a generator has about
 * 1.5 MiB and 3 KB a process of its file, with a bit for each path; a plan 100 bytes a training or
 * validation file.
 */
#ifndef DFTRACERD_TOOLS_GEN_FAKE_TRACE_GENERATE_H
#define DFTRACERD_TOOLS_GEN_FAKE_TRACE_GENERATE_H

#include "dftracerd/query.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

/* ---- the command line (gen_options.c) -------------------------------------------------------- */

struct options {
    const char *dir, *single; /* output: one of them is set */
    const struct generate_format *format;
    uint64_t processes, hosts, epochs, steps;
    uint64_t checkpoint_every, validation_every; /* epochs; 0 = never */
    uint64_t train_files, val_files, step_ms, seed;
    /* number of events over all processes, whatever the number of epochs; 0 = those of the
     * epochs */
    uint64_t events;
    uint64_t files; /* number of files over which processes are distributed; 0 = one each */
    /* bytes of text in a gzip member; 0 = one member, 1 = a member for each line */
    uint64_t member_bytes;
    uint64_t level;           /* level of gzip, 0-9 */
    uint64_t checkpoint_size; /* bytes of text per chunk, for --verify */
    bool plain;               /* write text, not gzip */
    bool shuffle;             /* a step reads any training file, not only those of its process */
    bool verify;
};
/* Parses the arguments. Exits after --help, and with status 2 or 1 if an option is wrong. */
void options_parse(struct options *o, int argc, char **argv);
/* Prints to standard error and exits with 1. Main thread only. */
void fail(const char *message, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* ---- where the files go (gen_place.c) -------------------------------------------------------- */

/* Files are written to DIR.part.PID, or to DIR/.part.PID if DIR exists, and place_end moves them.
 * If the program ends earlier, other than by SIGKILL, they are removed. With --single, the same
 * applies to one file; a device or pipe is written directly. */
void place_begin(const struct options *o);
/* Returns the descriptor of a new temporary file, or -errno; `name` becomes its final path, cut if
 * it does not fit. Any thread. */
int place_open(const struct options *o, uint64_t file, char *name, size_t size);
void place_end(const struct options *o);
/* Returns true if a signal has arrived that ends the program. */
bool place_is_stopped(void);
void place_remove_tree(const char *path);

/* Indexes the files of o->dir in a temporary folder and prints which chunks the index skips
 * (gen_verify.c). */
struct generate_plan;
void verify(const struct options *o, const struct generate_plan *plan);

/* ---- formats (generate_formats.c) ------------------------------------------------------------ */

enum hash_style { HASH_NONE, HASH_16BIT, HASH_DECIMAL, HASH_HEX };

struct rank;
/* Names of files: `before`, a number of at least `digits` digits unless `after` is NULL,
 * `after`. */
struct path_pattern {
    const char *before;
    int digits;
    const char *after;
};
struct generate_format {
    const char *name;
    /* args.version of start events, as written; NULL: no start and end events */
    const char *version;
    enum hash_style hash;    /* HASH_NONE: args.hostname and args.fname instead */
    bool quoted;             /* every top-level value is text */
    bool text_args;          /* Python arguments are text ("epoch":"3") */
    bool links;              /* args.p_idx and args.level */
    bool meta_id;            /* metadata records take an id, too */
    bool codes;              /* ph and type are integers, counters and aggregates are written */
    const char *head, *tail; /* before and after the lines */
    /* names of training files, validation files, the checkpoint and the data folder */
    const struct path_pattern *paths;
    uint64_t first_us, first_pid, pid_step;
    void (*batch)(struct rank *r); /* writes the next batch of a rank */
};
/* Returns a format. "unet3d", the first and the default, is that of dftracer_gen_fake_trace; the
 * others resemble real tracers of their time. */
const struct generate_format *generate_format_find(const char *name); /* NULL: unknown */
const char *generate_format_name(unsigned i);                         /* NULL after the last */

/* ---- plans and generators (generate.c) ------------------------------------------------------- */

/* The file names and hashes that all generators share. */
struct generate_plan {
    struct options o;
    char **paths;     /* training files, validation files, the checkpoint, the data folder */
    uint64_t *hashes; /* hashes of `paths` */
    uint64_t checkpoint, folder, path_count;
};
/* Creates a plan, and copies the options. *new*; returns 0 or -ENOMEM. */
int generate_plan_new(const struct options *o, struct generate_plan **ret);
void generate_plan_free(struct generate_plan *p); /* NULL-safe */

static inline uint64_t generate_file_count(const struct options *o)
{
    return o->files ? o->files : o->processes;
}

/* Generates one file of a plan, piece by piece. The same plan yields the same bytes, whatever the
 * pieces. */
struct generator;
/* *new*; returns 0 or -ENOMEM. */
int generate_open(const struct generate_plan *p, uint64_t file, struct generator **ret);
/* Appends at least `want` bytes, and at most about 1 MiB and a batch of a rank more. Returns 0,
 * ERR_END (these were the last bytes) or -ENOMEM. */
int generate_next(struct generator *g, size_t want, struct buf *out);
uint64_t generate_events(const struct generator *g);     /* so far: without name records */
uint64_t generate_text_bytes(const struct generator *g); /* so far: before compression */
void generate_close(struct generator *g);                /* NULL-safe */

/* A query about traces of a plan in the format unet3d that profits from an index, or that matches
 * nothing (generate_queries.c). */
struct generate_query {
    bool suggested; /* one of the six that are printed at the end */
    char text[160]; /* text of the query */
};
/* Returns false after the last query. */
bool generate_query_at(const struct generate_plan *p, unsigned i, struct generate_query *ret);
/* Appends the text that is printed at the end: events of each process (`events`: an array), totals,
 * queries to try. */
void generate_closing(const struct generate_plan *p, const uint64_t *events, struct buf *out);

/* ---- output: plain text or gzip members (generate_out.c) ------------------------------------- */

enum { OUT_BUFFER = 1 << 20, LINE_MAX_BYTES = 1 << 14 };

struct out {
    struct buf *sink; /* receives the bytes of the file; set while a generator runs */
    bool plain;
    uint64_t member_bytes, in_gzip_member;
    char *text; /* text that has not been compressed yet */
    size_t len;
    z_stream z;
    uint64_t total; /* bytes of text so far */
};

int out_open(struct out *o, const struct options *options); /* -ENOMEM */
/* Compresses the buffered text into the sink; `end` closes the gzip member. */
void out_flush(struct out *o, bool end);
void out_close(struct out *o);

/* Returns a buffer for a line, of LINE_MAX_BYTES bytes. */
static inline char *out_begin(struct out *o)
{
    if (o->len + LINE_MAX_BYTES > OUT_BUFFER)
        out_flush(o, false);
    return o->text + o->len;
}

/* Completes the line, which ends at `end`. */
static inline void out_end(struct out *o, const char *end)
{
    o->len = (size_t)(end - o->text);
    if (o->member_bytes && o->in_gzip_member + o->len >= o->member_bytes)
        out_flush(o, true);
}

/* ---- text: each function writes at p and returns the position after it ----------------------- */

static inline char *put_bytes(char *p, const char *bytes, size_t len)
{
    memcpy(p, bytes, len);
    return p + len;
}
#define PUT(p, literal) put_bytes(p, literal, sizeof(literal) - 1)

static inline char *put_text(char *p, const char *text)
{
    return put_bytes(p, text, strlen(text));
}

static inline char *put_number(char *p, uint64_t n)
{
    return p + num_format_u64(n, p);
}

static inline char *put_signed(char *p, int64_t n)
{
    return p + num_format_i64(n, p);
}

static inline uint64_t mix_bits(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static inline uint64_t hash_text(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return mix_bits(h);
}

static inline char *put_hash(char *p, enum hash_style style, uint64_t hash)
{
    if (style == HASH_16BIT)
        return put_number(p, hash & 0xffff);
    if (style == HASH_DECIMAL)
        return put_number(p, hash);
    *p++ = '"';
    for (int shift = 60; shift >= 0; shift -= 4)
        *p++ = "0123456789abcdef"[hash >> shift & 15];
    *p++ = '"';
    return p;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

enum call {
    C_OPEN,
    C_XSTAT,
    C_LSEEK,
    C_READ,
    C_PREAD,
    C_WRITE,
    C_PWRITE,
    C_FSYNC,
    C_CLOSE,
    C_OPENDIR,
    C_MKDIR,
    C_FOPEN,
    C_FREAD,
    C_FWRITE,
    C_FCLOSE,
    C_CONV3D,
    C_BATCH_NORM,
    C_RELU,
    C_MAX_POOL,
    C_UPSAMPLE,
    C_DICE_LOSS,
    C_BACKWARD,
    C_ALLREDUCE,
    C_OPTIMIZER,
    C_VAL_FORWARD,
    C_FETCH,
    C_TRAIN,
    C_EPOCH,
    C_CHECKPOINT,
    C_VALID,
    C_READER_OPEN,
    C_READER_READ,
    C_START,
    C_END,
    CALLS
};

enum { STACK = 8 };

struct rank {
    uint64_t number, random, clock_us, next_id;
    uint64_t budget, events; /* events that may still be written; events so far */
    uint64_t pid, tid;       /* tid: current thread */
    char host[32];
    uint64_t host_hash, command_hash;
    uint64_t stack[STACK]; /* ids of enclosing events */
    int depth;
    uint64_t epoch, step, epoch_begin_us, epoch_id;
    uint64_t launches;   /* number of kernels that were launched on the device */
    unsigned char *seen; /* a bit for each path whose FH record has been written */
    enum { RANK_NEW, RANK_RUNS, RANK_DONE } state;
    struct twister *twister; /* unet3d only */
    const struct generate_plan *plan;
    struct out *out;
};

static inline uint64_t rank_random(struct rank *r)
{
    return mix_bits(r->random += UINT64_C(0x9e3779b97f4a7c15));
}

static inline uint64_t rank_below(struct rank *r, uint64_t n)
{
    return (uint64_t)((unsigned __int128)rank_random(r) * n >> 64);
}

/* Returns base * uniform(0.7, 1.3). */
static inline uint64_t jitter(struct rank *r, uint64_t base)
{
    return base * 7 / 10 + rank_below(r, base * 6 / 10 + 1);
}

/* One call in 32 is much slower than the others, as on a shared file system. */
static inline uint64_t io_jitter(struct rank *r, uint64_t base)
{
    uint64_t us = jitter(r, base);
    return rank_below(r, 32) ? us : us * (2 + rank_below(r, 99));
}

/* Arguments of an event, beyond its name and times. */
enum arg_kind {
    ARG_INT,    /* a number */
    ARG_OFFSET, /* a number; text in v0 */
    ARG_PYTHON  /* a number; text where text_args */
};
struct arg {
    const char *key;
    enum arg_kind kind;
    int64_t value;
};

struct event {
    enum call call;
    uint64_t id, ts, dur;
    int64_t path;  /* index or -1 */
    uint64_t size; /* bytes transferred, for datacrumbs */
    int count;
    struct arg args[7];
};

static inline void event_add(struct event *e, const char *key, enum arg_kind kind, uint64_t value)
{
    e->args[e->count++] = (struct arg){key, kind, (int64_t)value};
}

/* generate_line.c */
/* `type` is the layer code of v4. */
extern const struct call_info {
    const char *name, *cat;
    int type;
} calls[CALLS];
char *put_event_head(char *p, const struct rank *r, const struct event *e);
char *put_args(char *p, const struct rank *r, const struct event *e);
char *put_meta(char *p, struct rank *r, const char *name, const char *key);
void write_meta(struct rank *r, const char *name, const char *key, const char *value);
void write_hash(struct rank *r, const char *name, const char *text, uint64_t hash);
/* Writes the FH record of a path (-1: none) before its first use. */
void write_path(struct rank *r, int64_t path);
void write_event(struct rank *r, const struct event *e);
/* Counts an object against the rank's share of --events; the last one is reserved for `end`. */
bool rank_spend(struct rank *r);

/* generate_process.c: records of the start and end of a process, and system counters */
void write_rank_head(struct rank *r);
void write_rank_tail(struct rank *r);
void write_counters(struct rank *r);

/* Write the next batch of a rank: generate_work.c, generate_unet3d.c */
void work_batch(struct rank *r);
void unet3d_batch(struct rank *r);

/* generate_steps.c */
/* Returns the training file of a step: process r has the files r, r + processes ..., if there are
 * any. */
uint64_t rank_train_file(const struct rank *r, uint64_t step);
/* Returns true every `every` epochs; 0 = never. */
bool rank_is_due(uint64_t every, uint64_t epoch);

/* generate_twister.c: the 64-bit Mersenne twister (Nishimura 2000) */
struct twister *twister_new(uint64_t seed); /* *new* or NULL; free() */
uint64_t twister_next(struct twister *t);

#endif
