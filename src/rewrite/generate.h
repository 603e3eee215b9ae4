/* generate.h - what the files of the generator of synthetic traces share.
 *
 * A *rank* is a process: its own random numbers, clock, ids and file names seen. A rank runs in *batches* (a training step,
 * a validation, a checkpoint); a file interleaves the batches of its ranks by clock. As real tracers do, the formats but
 * unet3d write an event when it ends, so children stand before their parents and ids (taken on entry) are not sorted.
 */
#ifndef DFT_REWRITE_GENERATE_H
#define DFT_REWRITE_GENERATE_H

#include "dftracerd/rewrite.h"

#include <string.h>
#include <zlib.h>

/* ---- formats (generate_options.c) ---------------------------------------------------------------- */

enum hash_style { HASH_NONE, HASH_16BIT, HASH_DECIMAL, HASH_HEX };

struct rank;
/* Names of files: `before`, a number of at least `digits` digits unless `after` is NULL, `after`. */
struct path_pattern { const char *before; int digits; const char *after; };
struct generate_format {
    const char *name;
    const char *version;     /* args.version of start, as written; NULL: no start and end events      */
    enum hash_style hash;    /* HASH_NONE: args.hostname and args.fname instead                        */
    bool quoted;             /* every top-level value is text                                          */
    bool text_args;          /* Python arguments are text ("epoch":"3")                                */
    bool links;              /* args.p_idx and args.level                                              */
    bool meta_id;            /* metadata records take an id, too                                       */
    bool codes;              /* ph and type are integers, counters and aggregates are written          */
    const char *head, *tail; /* around the lines                                                       */
    const struct path_pattern *paths; /* of training files, validation files, the checkpoint, the data folder */
    uint64_t first_us, first_pid, pid_step;
    void (*batch)(struct rank *r);    /* the next batch of a rank                                      */
};

struct generate_plan {
    struct generate_options o;
    char **paths;            /* training files, validation files, the checkpoint, the data folder      */
    uint64_t *hashes;        /* of paths                                                               */
    uint64_t checkpoint, folder, path_count;
};

/* ---- output: plain text or gzip members (generate_out.c) ------------------------------------------ */

enum { OUT_BUFFER = 1 << 20, LINE_ROOM = 1 << 14 };

struct out {
    struct buf *sink;        /* where the packed bytes go: set while a generator runs                  */
    bool plain;
    uint64_t member_bytes, in_member;
    char *text;              /* not yet packed                                                         */
    size_t len;
    z_stream z;
    uint64_t total;          /* bytes of text                                                          */
};

int out_open(struct out *o, const struct generate_options *options); /* -ENOMEM */
/* Gives the buffered text to the sink; `end` closes the gzip member. */
void out_flush(struct out *o, bool end);
void out_close(struct out *o);

/* Where LINE_ROOM bytes may be written. */
static inline char *out_begin(struct out *o)
{
    if (o->len + LINE_ROOM > OUT_BUFFER)
        out_flush(o, false);
    return o->text + o->len;
}

/* The line ends at `end`. */
static inline void out_end(struct out *o, const char *end)
{
    o->len = (size_t)(end - o->text);
    if (o->member_bytes && o->in_member + o->len >= o->member_bytes)
        out_flush(o, true);
}

/* ---- text: each puts something at p and gives the place behind it ------------------------------- */

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

static inline uint64_t mix(uint64_t x)
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
    return mix(h);
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

/* ---- ranks ---------------------------------------------------------------------------------------- */

enum call {
    C_OPEN, C_XSTAT, C_LSEEK, C_READ, C_PREAD, C_WRITE, C_PWRITE, C_FSYNC, C_CLOSE, C_OPENDIR,
    C_MKDIR, C_FOPEN, C_FREAD, C_FWRITE, C_FCLOSE, C_CONV3D, C_BATCH_NORM, C_RELU, C_MAX_POOL,
    C_UPSAMPLE, C_DICE_LOSS, C_BACKWARD, C_ALLREDUCE, C_OPTIMIZER, C_VAL_FORWARD, C_FETCH, C_TRAIN,
    C_EPOCH, C_CHECKPOINT, C_VALID, C_READER_OPEN, C_READER_READ, C_START, C_END, CALLS
};

enum { STACK = 8 };

struct rank {
    uint64_t number, random, clock_us, next_id, budget, events;
    uint64_t pid, tid;       /* tid: of the thread at work                                             */
    char host[32];
    uint64_t host_hash, command_hash;
    uint64_t stack[STACK];   /* ids of the enclosing events                                            */
    int depth;
    uint64_t epoch, step, epoch_begin_us, epoch_id;
    uint64_t launches;       /* of kernels on the device                                               */
    unsigned char *seen;     /* a bit for each path whose FH record is written                         */
    enum { RANK_NEW, RANK_RUNS, RANK_DONE } state;
    struct twister *twister; /* unet3d only                                                            */
    const struct generate_plan *plan;
    struct out *out;
};

static inline uint64_t rank_random(struct rank *r)
{
    return mix(r->random += UINT64_C(0x9e3779b97f4a7c15));
}

static inline uint64_t rank_below(struct rank *r, uint64_t n)
{
    return (uint64_t)((unsigned __int128)rank_random(r) * n >> 64);
}

/* base * uniform(0.7, 1.3) */
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

/* What an event says about itself, beyond its name and times. */
enum arg_kind {
    ARG_INT,                 /* a number                                                               */
    ARG_OFFSET,              /* a number; text in v0                                                   */
    ARG_PYTHON               /* a number; text where text_args                                         */
};
struct arg { const char *key; enum arg_kind kind; int64_t value; };

struct event {
    enum call call;
    uint64_t id, ts, dur;
    int64_t path;            /* index or -1                                                            */
    uint64_t size;           /* bytes moved, for datacrumbs                                            */
    int count;
    struct arg args[7];
};

static inline void event_add(struct event *e, const char *key, enum arg_kind kind, uint64_t value)
{
    e->args[e->count++] = (struct arg){ key, kind, (int64_t)value };
}

/* generate_line.c */
extern const struct call_info { const char *name, *cat; int type; } calls[CALLS]; /* type: layer code of v4 */
char *put_event_head(char *p, const struct rank *r, const struct event *e);
char *put_args(char *p, const struct rank *r, const struct event *e);
char *put_meta(char *p, struct rank *r, const char *name, const char *key);
void write_meta(struct rank *r, const char *name, const char *key, const char *value);
void write_hash(struct rank *r, const char *name, const char *text, uint64_t hash);
/* The FH record of a path (-1: none), before its first use. */
void write_path(struct rank *r, int64_t path);
void write_event(struct rank *r, const struct event *e);
/* Counts an object against the rank's share of --events; the last one is kept for `end`. */
bool rank_spend(struct rank *r);

/* generate_process.c: what a process says when it starts and ends, and system counters */
void write_rank_head(struct rank *r);
void write_rank_tail(struct rank *r);
void write_counters(struct rank *r);

/* The next batch of a rank: generate_work.c, generate_unet3d.c */
void work_batch(struct rank *r);
void unet3d_batch(struct rank *r);
/* The training file of a step: r, r + processes ... are those of process r, if there are any. */
uint64_t rank_train_file(const struct rank *r, uint64_t step);
/* Every `every` epochs; 0 = never. */
bool rank_is_due(uint64_t every, uint64_t epoch);

/* generate_twister.c: the 64-bit Mersenne twister (Nishimura 2000) */
struct twister *twister_new(uint64_t seed);  /* *new* or NULL; free() */
uint64_t twister_next(struct twister *t);

#endif
