/* gen.h - the generator of synthetic traces, gen-fake-trace: what its files share.
 *
 * May use: zlib only, no room of the daemon. The same options give the same bytes.
 *
 * A *rank* is a process: its own random numbers, clock, ids and file names seen. A rank runs in
 * *batches* (a training step, a validation, a checkpoint); a file interleaves the batches of its
 * ranks by clock. An event is written when it ends, so children stand before their parents and ids
 * (taken on entry) are not sorted, as with the real tracers.
 */
#ifndef GEN_FAKE_TRACE_H
#define GEN_FAKE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

/* ---- options (gen_options.c) ------------------------------------------------------------------- */

enum hash_style { HASH_NONE, HASH_16BIT, HASH_DECIMAL, HASH_HEX };

/* What one generation of the writer looks like. */
struct format {
    const char *name;
    const char *version;     /* args.version of start, as written; NULL: no start and end events      */
    enum hash_style hash;    /* HASH_NONE: args.hostname and args.fname instead                        */
    bool quoted;             /* every top-level value is text                                          */
    bool text_args;          /* Python arguments are text ("epoch":"3")                                */
    bool links;              /* args.p_idx and args.level                                              */
    bool meta_id;            /* metadata records take an id, too                                       */
    bool codes;              /* ph and type are integers, counters and aggregates are written          */
    const char *head, *tail; /* around the lines                                                       */
};

struct options {
    const char *dir, *single;
    const struct format *format;
    uint64_t ranks, hosts, epochs, steps, checkpoint_every, validation_every;
    uint64_t train_files, val_files, step_ms, seed, events, files;
    uint64_t member_bytes;   /* 0: one member; 1: a member for each line                               */
    int level;
    bool plain, shuffle;
};

/* Prints to standard error and ends with 2. */
void die(const char *message, ...) __attribute__((noreturn, format(printf, 1, 2)));
void options_parse(struct options *o, int argc, char **argv);

/* ---- output: plain text or gzip members (gen_out.c) -------------------------------------------- */

enum { OUT_BUFFER = 1 << 20, LINE_ROOM = 1 << 14 };

struct out {
    const char *path;
    int fd;
    bool plain;
    uint64_t member_bytes, in_member;
    char *text;              /* not yet compressed or written                                          */
    size_t len;
    unsigned char *packed;
    z_stream z;
    uint64_t total;          /* bytes of text                                                          */
};

void out_open(struct out *o, const char *path, const struct options *opt);
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

#define PUT(p, literal) (memcpy(p, literal, sizeof(literal) - 1), (p) + sizeof(literal) - 1)

static inline char *put_text(char *p, const char *text)
{
    size_t len = strlen(text);
    memcpy(p, text, len);
    return p + len;
}

static inline char *put_number(char *p, uint64_t n)
{
    static const char pairs[] = "0001020304050607080910111213141516171819"
                                "2021222324252627282930313233343536373839"
                                "4041424344454647484950515253545556575859"
                                "6061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    char digits[20];
    int at = 20;
    while (n >= 100) {
        memcpy(digits + (at -= 2), pairs + n % 100 * 2, 2);
        n /= 100;
    }
    if (n >= 10)
        memcpy(digits + (at -= 2), pairs + n * 2, 2);
    else
        digits[--at] = (char)('0' + n);
    memcpy(p, digits + at, (size_t)(20 - at));
    return p + 20 - at;
}

static inline char *put_signed(char *p, int64_t n)
{
    if (n < 0)
        *p++ = '-';
    return put_number(p, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
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

struct world {
    const struct options *o;
    char **paths;            /* training files, validation files, the checkpoint, the data folder      */
    uint64_t *hashes;        /* of paths                                                               */
    uint64_t checkpoint, folder, path_count;
};

enum { STACK = 8 };

struct rank {
    uint64_t number, random, clock_us, next_id, budget, events;
    uint64_t pid, tid;       /* tid: of the thread at work                                             */
    char host[32];
    uint64_t host_hash;
    uint64_t stack[STACK];   /* ids of the enclosing events                                            */
    int depth;
    uint64_t epoch, step, epoch_begin_us, epoch_id;
    uint64_t launches;       /* of kernels on the device                                               */
    unsigned char *seen;     /* a bit for each path whose FH record is written                         */
    enum { RANK_NEW, RANK_RUNS, RANK_DONE } state;
    const struct world *world;
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

/* gen_line.c */
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

/* gen_process.c: what a process says when it starts and ends, and system counters */
void write_rank_head(struct rank *r);
void write_rank_tail(struct rank *r);
void write_counters(struct rank *r);

/* gen_work.c: the next batch of a rank */
void rank_batch(struct rank *r);

#endif
