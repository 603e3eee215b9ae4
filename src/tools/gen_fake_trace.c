/* gen_fake_trace.c - writes synthetic traces of a 3D U-Net training: for measuring, demos and tests.
 *
 * May use: zlib only, no room of the daemon. The same options give the same bytes.
 *
 * A *rank* is a process: its own random numbers, clock, ids and file names seen. A rank runs in
 * *batches* (a training step, a validation, a checkpoint); a file interleaves the batches of its
 * ranks by clock. An event is written when it ends, so children stand before their parents and ids
 * (taken on entry) are not sorted, as with the real tracers.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

/* ---- options --------------------------------------------------------------------------------- */

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

static const struct format formats[] = {
    { "v3", "\"v3.0.0\"", HASH_HEX, .head = "[\n", .tail = "]\n" },
    { "v4", "\"v4.0.0\"", HASH_HEX, .codes = true, .head = "", .tail = "" },
    { "v108", "100008", HASH_DECIMAL, .text_args = true, .links = true, .meta_id = true,
      .head = "[\n", .tail = "]" },
    { "v105", "100005", HASH_16BIT, .text_args = true, .links = true, .meta_id = true,
      .head = "[\n", .tail = "]" },
    { "v0", NULL, HASH_NONE, .quoted = true, .head = "[\n ", .tail = "" },
    { "g0", NULL, HASH_NONE, .head = "[\n", .tail = "" },
    { "datacrumbs", NULL, HASH_NONE, .head = "[\n", .tail = "" },
};
enum { FORMATS = sizeof formats / sizeof *formats };

struct options {
    const char *dir, *single;
    const struct format *format;
    uint64_t ranks, hosts, epochs, steps, checkpoint_every, validation_every;
    uint64_t train_files, val_files, step_ms, seed, events, files;
    uint64_t member_bytes;   /* 0: one member; 1: a member for each line                               */
    int level;
    bool plain, shuffle;
};

static const char usage_text[] =
    "usage: gen-fake-trace [OPTIONS] --output-dir DIR\n"
    "       gen-fake-trace [OPTIONS] --single FILE\n"
    "Writes synthetic DFTracer traces of a 3D U-Net training. Equal options give equal bytes.\n\n"
    "  -o, --output-dir DIR       where the files rank_<r>.pfw.gz go\n"
    "      --single FILE          all processes into one file (- is standard output)\n"
    "      --files N              all processes into N files trace_<n>.pfw.gz\n"
    "  -p, --num-processes N      processes (8)\n"
    "  -H, --num-hosts N          hosts (4)\n"
    "  -e, --num-epochs N         training epochs (500)\n"
    "  -s, --steps-per-epoch N    steps of an epoch (1000)\n"
    "      --checkpoint-every N   a checkpoint every N epochs, 0: never (5)\n"
    "      --validation-every N   a validation every N epochs, 0: never (2)\n"
    "      --num-train-files N    training files (8)\n"
    "      --num-val-files N      validation files (2)\n"
    "      --step-duration-ms N   base duration of a step (100)\n"
    "      --seed N               random seed (42)\n"
    "      --events N             events over all processes, whatever the number of epochs\n"
    "      --shuffle              a step reads any training file, not one of the process's own\n"
    "      --format F             v3 (default), v4, v108, v105, v0, g0 or datacrumbs\n"
    "  -z, --compress N           gzip level 1-9, 0: plain text (6)\n"
    "      --level N              gzip level 0-9, 0: a gzip file of stored blocks\n"
    "      --plain                plain text: .pfw files\n"
    "      --members SIZE|event   a new gzip member after SIZE bytes of text (16M), or each event\n"
    "      --reference            what the benchmarks read: 4.84 M events, 1.1 GB of text, 64\n"
    "                             processes on 8 hosts, 5,000 files (options after it override)\n"
    "  -h, --help                 this text\n";

static void die(const char *message, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void die(const char *message, ...)
{
    va_list args;
    va_start(args, message);
    fputs("gen-fake-trace: ", stderr);
    vfprintf(stderr, message, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

/* A whole number; with `units`, K, M and G (1024 steps) may follow. */
static uint64_t parse_number(const char *option, const char *text, bool units)
{
    char *end;
    errno = 0;
    uint64_t n = strtoull(text, &end, 10);
    bool bad = text[0] < '0' || text[0] > '9' || errno;
    uint64_t factor = 1;
    if (units && *end) {
        bad |= !strchr("KMG", *end);
        factor = UINT64_C(1) << (*end == 'K' ? 10 : *end == 'M' ? 20 : 30);
        end++;
    }
    if (bad || *end || n > UINT64_MAX / factor)
        die("bad value of --%s: %s", option, text);
    return n * factor;
}

static const struct format *parse_format(const char *text)
{
    for (int i = 0; i < FORMATS; i++)
        if (strcmp(text, formats[i].name) == 0)
            return &formats[i];
    die("unknown --format %s (v3, v4, v108, v105, v0, g0, datacrumbs)", text);
}

enum {
    OPT_SINGLE = 256, OPT_FILES, OPT_CHECKPOINT, OPT_VALIDATION, OPT_TRAIN, OPT_VAL, OPT_STEP_MS,
    OPT_SEED, OPT_EVENTS, OPT_SHUFFLE, OPT_FORMAT, OPT_LEVEL, OPT_PLAIN, OPT_MEMBERS, OPT_REFERENCE
};
static const struct option long_options[] = {
    { "output-dir", 1, 0, 'o' }, { "num-processes", 1, 0, 'p' }, { "num-hosts", 1, 0, 'H' },
    { "num-epochs", 1, 0, 'e' }, { "steps-per-epoch", 1, 0, 's' }, { "compress", 1, 0, 'z' },
    { "single", 1, 0, OPT_SINGLE }, { "files", 1, 0, OPT_FILES },
    { "checkpoint-every", 1, 0, OPT_CHECKPOINT }, { "validation-every", 1, 0, OPT_VALIDATION },
    { "num-train-files", 1, 0, OPT_TRAIN }, { "num-val-files", 1, 0, OPT_VAL },
    { "step-duration-ms", 1, 0, OPT_STEP_MS }, { "seed", 1, 0, OPT_SEED },
    { "events", 1, 0, OPT_EVENTS }, { "shuffle", 0, 0, OPT_SHUFFLE }, { "format", 1, 0, OPT_FORMAT },
    { "level", 1, 0, OPT_LEVEL }, { "plain", 0, 0, OPT_PLAIN }, { "members", 1, 0, OPT_MEMBERS },
    { "reference", 0, 0, OPT_REFERENCE }, { "help", 0, 0, 'h' }, { 0 }
};

static const char *option_name(int code)
{
    for (const struct option *o = long_options; o->name; o++)
        if (o->val == code)
            return o->name;
    return "?";
}

static void set_reference(struct options *o)
{
    o->events = 4840000;
    o->ranks = 64;
    o->hosts = 8;
    o->train_files = 4989;   /* with 10 for validation and the checkpoint: 5,000 */
    o->val_files = 10;
    o->steps = 100;
    o->shuffle = true;
}

static uint64_t *option_number(struct options *o, int code)
{
    switch (code) {
    case 'p': return &o->ranks;
    case 'H': return &o->hosts;
    case 'e': return &o->epochs;
    case 's': return &o->steps;
    case OPT_FILES: return &o->files;
    case OPT_CHECKPOINT: return &o->checkpoint_every;
    case OPT_VALIDATION: return &o->validation_every;
    case OPT_TRAIN: return &o->train_files;
    case OPT_VAL: return &o->val_files;
    case OPT_STEP_MS: return &o->step_ms;
    case OPT_SEED: return &o->seed;
    case OPT_EVENTS: return &o->events;
    default: return NULL;
    }
}

static void parse_option(struct options *o, int code, const char *text)
{
    uint64_t *number = option_number(o, code);
    if (number) {
        *number = parse_number(option_name(code), text, false);
        return;
    }
    switch (code) {
    case 'h': fputs(usage_text, stdout); exit(0);
    case 'o': o->dir = text; break;
    case OPT_SINGLE: o->single = text; break;
    case OPT_SHUFFLE: o->shuffle = true; break;
    case OPT_PLAIN: o->plain = true; break;
    case OPT_REFERENCE: set_reference(o); break;
    case OPT_FORMAT: o->format = parse_format(text); break;
    case OPT_MEMBERS:
        o->member_bytes = strcmp(text, "event") == 0 ? 1 : parse_number("members", text, true);
        break;
    case OPT_LEVEL:
    case 'z': {
        uint64_t level = parse_number(option_name(code), text, false);
        if (level > 9)
            die("bad value of --%s: %s", option_name(code), text);
        o->level = (int)level;
        o->plain = code == 'z' && level == 0;
        break;
    }
    default: fputs("try: gen-fake-trace --help\n", stderr); exit(2);
    }
}

static void parse_options(struct options *o, int argc, char **argv)
{
    int code;
    while ((code = getopt_long(argc, argv, "o:p:H:e:s:z:h", long_options, NULL)) != -1)
        parse_option(o, code, optarg);
    if (optind < argc)
        die("unexpected argument: %s", argv[optind]);
    if (!o->dir == !o->single)
        die("one of --output-dir and --single is needed (try --help)");
    if (!o->ranks || !o->hosts || !o->steps || !o->train_files || !o->step_ms)
        die("numbers of processes, hosts, steps, training files and milliseconds must be positive");
    if (o->ranks > 100000 || o->train_files > 10000000 || o->val_files > 10000000)
        die("too many processes or files");
    if (o->step_ms > 86400000)
        die("--step-duration-ms is more than a day");
    if (o->files > o->ranks)
        die("--files must not be more than the number of processes");
    if (o->events && o->events < 2 * o->ranks)
        die("--events must be at least 2 for each process");
}

/* ---- output: plain text or gzip members --------------------------------------------------------- */

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

static void write_all(struct out *o, const void *data, size_t len)
{
    const char *p = data;
    while (len) {
        ssize_t n = write(o->fd, p, len);
        if (n < 0 && errno != EINTR)
            die("%s: %s", o->path, strerror(errno));
        if (n > 0) {
            p += n;
            len -= (size_t)n;
        }
    }
}

static void out_open(struct out *o, const char *path, const struct options *opt)
{
    *o = (struct out){ .path = path, .plain = opt->plain, .member_bytes = opt->member_bytes };
    bool to_stdout = strcmp(path, "-") == 0;
    o->fd = to_stdout ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (o->fd < 0)
        die("%s: %s", path, strerror(errno));
    o->text = malloc(OUT_BUFFER);
    o->packed = malloc(OUT_BUFFER);
    if (!o->text || !o->packed)
        die("no memory");
    if (!o->plain && deflateInit2(&o->z, opt->level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY))
        die("no memory");
}

/* Gives the buffered text to the file; `end` closes the gzip member. */
static void out_flush(struct out *o, bool end)
{
    o->total += o->len;
    o->in_member += o->len;
    if (o->plain) {
        write_all(o, o->text, o->len);
    } else if (o->in_member || !end) {
        o->z.next_in = (unsigned char *)o->text;
        o->z.avail_in = (unsigned)o->len;
        do {
            o->z.next_out = o->packed;
            o->z.avail_out = OUT_BUFFER;
            deflate(&o->z, end ? Z_FINISH : Z_NO_FLUSH);
            write_all(o, o->packed, OUT_BUFFER - o->z.avail_out);
        } while (!o->z.avail_out);
        if (end) {
            deflateReset(&o->z);
            o->in_member = 0;
        }
    }
    o->len = 0;
}

/* Room for a line. */
static char *out_begin(struct out *o)
{
    if (o->len + LINE_ROOM > OUT_BUFFER)
        out_flush(o, false);
    return o->text + o->len;
}

static void out_end(struct out *o, char *end)
{
    o->len = (size_t)(end - o->text);
    if (o->member_bytes && o->in_member + o->len >= o->member_bytes)
        out_flush(o, true);
}

static void out_close(struct out *o)
{
    out_flush(o, true);
    if (!o->plain)
        deflateEnd(&o->z);
    if (o->fd != STDOUT_FILENO && close(o->fd))
        die("%s: %s", o->path, strerror(errno));
    free(o->text);
    free(o->packed);
}

/* ---- text ---------------------------------------------------------------------------------------- */

#define PUT(p, literal) (memcpy(p, literal, sizeof(literal) - 1), (p) + sizeof(literal) - 1)

static char *put_text(char *p, const char *text)
{
    size_t len = strlen(text);
    memcpy(p, text, len);
    return p + len;
}

static char *put_number(char *p, uint64_t n)
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

static char *put_signed(char *p, int64_t n)
{
    if (n < 0)
        *p++ = '-';
    return put_number(p, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t hash_text(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return mix(h);
}

static char *put_hash(char *p, enum hash_style style, uint64_t hash)
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

/* ---- ranks ----------------------------------------------------------------------------------------- */

enum call {
    C_OPEN, C_XSTAT, C_LSEEK, C_READ, C_PREAD, C_WRITE, C_PWRITE, C_FSYNC, C_CLOSE, C_OPENDIR,
    C_MKDIR, C_FOPEN, C_FREAD, C_FWRITE, C_FCLOSE, C_CONV3D, C_BATCH_NORM, C_RELU, C_MAX_POOL,
    C_UPSAMPLE, C_DICE_LOSS, C_BACKWARD, C_ALLREDUCE, C_OPTIMIZER, C_VAL_FORWARD, C_FETCH, C_TRAIN,
    C_EPOCH, C_CHECKPOINT, C_VALID, C_READER_OPEN, C_READER_READ, C_START, C_END, CALLS
};
/* type: the layer code of v4 */
static const struct { const char *name, *cat; int type; } calls[CALLS] = {
    [C_OPEN] = { "open64", "POSIX", 3 }, [C_XSTAT] = { "__xstat64", "POSIX", 3 },
    [C_LSEEK] = { "lseek64", "POSIX", 3 }, [C_READ] = { "read", "POSIX", 3 },
    [C_PREAD] = { "pread64", "POSIX", 3 }, [C_WRITE] = { "write", "POSIX", 3 },
    [C_PWRITE] = { "pwrite64", "POSIX", 3 }, [C_FSYNC] = { "fsync", "POSIX", 3 },
    [C_CLOSE] = { "close", "POSIX", 3 }, [C_OPENDIR] = { "opendir", "POSIX", 3 },
    [C_MKDIR] = { "mkdir", "POSIX", 3 }, [C_FOPEN] = { "fopen64", "STDIO", 3 },
    [C_FREAD] = { "fread", "STDIO", 3 }, [C_FWRITE] = { "fwrite", "STDIO", 3 },
    [C_FCLOSE] = { "fclose", "STDIO", 3 }, [C_CONV3D] = { "conv3d", "compute", 6 },
    [C_BATCH_NORM] = { "batch_norm", "compute", 6 }, [C_RELU] = { "relu", "compute", 6 },
    [C_MAX_POOL] = { "max_pool", "compute", 6 }, [C_UPSAMPLE] = { "upsample", "compute", 6 },
    [C_DICE_LOSS] = { "dice_loss", "compute", 6 }, [C_BACKWARD] = { "backward", "compute", 6 },
    [C_ALLREDUCE] = { "allreduce", "compute", 6 }, [C_OPTIMIZER] = { "optimizer_step", "compute", 6 },
    [C_VAL_FORWARD] = { "val_forward", "compute", 6 }, [C_FETCH] = { "fetch.block", "ai_framework", 6 },
    [C_TRAIN] = { "train.block", "ai_framework", 6 }, [C_EPOCH] = { "epoch.block", "ai_framework", 6 },
    [C_CHECKPOINT] = { "checkpoint.block", "ai_framework", 6 },
    [C_VALID] = { "valid.block", "ai_framework", 6 }, [C_READER_OPEN] = { "NPZReader.open", "reader", 6 },
    [C_READER_READ] = { "NPZReader.read_index", "reader", 6 }, [C_START] = { "start", "dftracer", 1 },
    [C_END] = { "end", "dftracer", 1 },
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

static const char command[] = "/usr/bin/python3;/opt/unet3d/train.py;--workload=unet3d_h100;"
                              "--data-folder=/lustre/project/unet3d/data;--batch-size=4";
static const char program[] = "python3";

static uint64_t rank_random(struct rank *r)
{
    return mix(r->random += UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t rank_below(struct rank *r, uint64_t n)
{
    return (uint64_t)((unsigned __int128)rank_random(r) * n >> 64);
}

/* base * uniform(0.7, 1.3) */
static uint64_t jitter(struct rank *r, uint64_t base)
{
    return base * 7 / 10 + rank_below(r, base * 6 / 10 + 1);
}

/* One call in 32 is much slower than the others, as on a shared file system. */
static uint64_t io_jitter(struct rank *r, uint64_t base)
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

static void add(struct event *e, const char *key, enum arg_kind kind, uint64_t value)
{
    e->args[e->count++] = (struct arg){ key, kind, (int64_t)value };
}

/* ---- writing one line ----------------------------------------------------------------------------- */

static char *put_head(char *p, const struct format *f, const struct rank *r, const char *name,
                      const char *cat, int type)
{
    const char *quote = f->quoted ? "\"" : "";
    p = put_text(PUT(p, "\"name\":\""), name);
    p = put_text(PUT(p, "\",\"cat\":\""), cat);
    if (f->codes)
        p = put_number(PUT(p, "\",\"type\":"), (uint64_t)type);
    else
        p = PUT(p, "\"");
    p = put_text(put_number(put_text(PUT(p, ",\"pid\":"), quote), r->pid), quote);
    return put_text(put_number(put_text(PUT(p, ",\"tid\":"), quote), r->tid), quote);
}

static char *put_times(char *p, const struct format *f, uint64_t ts, uint64_t dur)
{
    if (f->quoted) {
        p = put_number(PUT(p, ",\"ts\":\""), ts);
        p = put_number(PUT(p, "\",\"dur\":\""), dur);
        return PUT(p, "\",\"ph\":\"X\"");
    }
    p = put_number(PUT(p, ",\"ts\":"), ts);
    p = put_number(PUT(p, ",\"dur\":"), dur);
    return f->codes ? PUT(p, ",\"ph\":1") : PUT(p, ",\"ph\":\"X\"");
}

/* A metadata record of the rank: HH, FH, SH, thread_name, process_name, PR, CM. */
static char *put_meta(char *p, struct rank *r, const char *name, const char *key)
{
    const struct format *f = r->world->o->format;
    *p++ = '{';
    if (f->meta_id)
        p = PUT(put_number(PUT(p, "\"id\":"), r->next_id++), ",");
    p = put_head(p, f, r, name, "dftracer", 1);
    p = f->codes ? PUT(p, ",\"ph\":4,\"args\":{") : PUT(p, ",\"ph\":\"M\",\"args\":{");
    if (f->hash != HASH_16BIT)
        p = PUT(put_hash(PUT(p, "\"hhash\":"), f->hash, r->host_hash), ",");
    p = put_text(PUT(p, "\"name\":\""), key);
    return PUT(p, "\",\"value\":");
}

static void write_meta(struct rank *r, const char *name, const char *key, const char *value)
{
    char *p = put_text(put_meta(out_begin(r->out), r, name, key), value);
    out_end(r->out, PUT(p, "}}\n"));
}

static void write_hash(struct rank *r, const char *name, const char *text, uint64_t hash)
{
    char *p = put_meta(out_begin(r->out), r, name, text);
    p = put_hash(p, r->world->o->format->hash, hash);
    out_end(r->out, PUT(p, "}}\n"));
}

static char *put_arg(char *p, const struct format *f, const struct arg *a)
{
    bool text = (a->kind == ARG_OFFSET && f->quoted) || (a->kind == ARG_PYTHON && f->text_args);
    p = put_text(PUT(p, ",\""), a->key);
    p = text ? PUT(p, "\":\"") : PUT(p, "\":");
    p = put_signed(p, a->value);
    return text ? PUT(p, "\"") : p;
}

/* `,"args":{"hhash":...` and, where there is one, the file; open for more. */
static char *put_args(char *p, const struct rank *r, const struct event *e)
{
    const struct format *f = r->world->o->format;
    if (f->hash == HASH_NONE) {
        p = PUT(put_text(PUT(p, ",\"args\":{\"hostname\":\""), r->host), "\"");
        if (e->path >= 0)
            p = PUT(put_text(PUT(p, ",\"fname\":\""), r->world->paths[e->path]), "\"");
    } else {
        p = put_hash(PUT(p, ",\"args\":{\"hhash\":"), f->hash, r->host_hash);
        if (e->path >= 0)
            p = put_hash(PUT(p, ",\"fhash\":"), f->hash, r->world->hashes[e->path]);
    }
    if (f->links) {
        p = put_signed(PUT(p, ",\"p_idx\":"), r->depth ? (int64_t)r->stack[r->depth - 1] : -1);
        p = put_number(PUT(p, ",\"level\":"), (uint64_t)r->depth + 1);
    }
    for (int i = 0; i < e->count; i++)
        p = put_arg(p, f, &e->args[i]);
    return p;
}

static char *put_event_head(char *p, const struct rank *r, const struct event *e)
{
    const struct format *f = r->world->o->format;
    p = f->quoted ? PUT(put_number(PUT(p, "{\"id\":\""), e->id), "\",")
                  : PUT(put_number(PUT(p, "{\"id\":"), e->id), ",");
    p = put_head(p, f, r, calls[e->call].name, calls[e->call].cat, calls[e->call].type);
    return put_times(p, f, e->ts, e->dur);
}

/* The Python writer of 2023: blanks, fractions of microseconds, the rank as pid, no args. */
static char *put_g0(char *p, struct rank *r, const struct event *e)
{
    p = put_text(PUT(p, "{\"name\": \""), calls[e->call].name);
    p = put_text(PUT(p, "\", \"cat\": \""), calls[e->call].cat);
    p = put_number(PUT(p, "\", \"pid\": "), r->number);
    p = put_number(PUT(p, ", \"tid\": "), r->tid);
    p = put_number(PUT(p, ", \"ts\": "), e->ts);
    p = put_number(PUT(p, "."), rank_below(r, 4) * 25);
    p = put_number(PUT(p, ", \"dur\": "), e->dur);
    p = put_number(PUT(p, "."), 1 + rank_below(r, 1000000000));
    return PUT(p, ", \"ph\": \"X\"}\n");
}

/* A profile of DataCrumbs: calls of a bucket of one second, from the start of tracing. */
static char *put_datacrumbs(char *p, struct rank *r, const struct event *e)
{
    p = put_number(PUT(p, "{\"pid\": "), r->pid);
    p = put_number(PUT(p, ", \"tid\": "), r->tid);
    p = put_text(PUT(p, ", \"name\": \""), calls[e->call].name);
    p = put_text(PUT(p, "\", \"cat\": \""), calls[e->call].cat);
    uint64_t origin = UINT64_C(1781800000000000);
    p = put_number(PUT(p, "\", \"ph\": \"C\", \"ts\": "), (e->ts - origin) / 1000000 * 1000000);
    p = put_text(PUT(p, ", \"args\": {\"hostname\": \""), r->host);
    p = PUT(p, "\", \"fname\": ");
    p = e->path < 0 ? PUT(p, "null") : PUT(put_text(PUT(p, "\""), r->world->paths[e->path]), "\"");
    uint64_t freq = 1 + rank_below(r, 20);
    p = put_number(PUT(p, ", \"freq\": "), freq);
    p += sprintf(p, ", \"time\": %.9g, \"size_sum\": ", (double)(e->dur * freq) / 1e6);
    p = e->size ? put_number(p, e->size * freq) : PUT(p, "null");
    return PUT(p, "}}\n");
}

static void write_path(struct rank *r, int64_t path)
{
    unsigned char bit = (unsigned char)(1 << (path & 7));
    if (path < 0 || r->world->o->format->hash == HASH_NONE || r->seen[path >> 3] & bit)
        return;
    r->seen[path >> 3] |= bit;
    write_hash(r, "FH", r->world->paths[path], r->world->hashes[path]);
}

/* Counts an object against the rank's share of --events; the last one is kept for `end`. */
static bool spend(struct rank *r)
{
    if (r->budget <= 1)
        return false;
    r->budget--;
    r->events++;
    return true;
}

static void write_event(struct rank *r, const struct event *e)
{
    if (!spend(r))
        return;
    write_path(r, e->path);
    const struct options *o = r->world->o;
    char *p = out_begin(r->out);
    if (strcmp(o->format->name, "g0") == 0)
        p = put_g0(p, r, e);
    else if (strcmp(o->format->name, "datacrumbs") == 0)
        p = put_datacrumbs(p, r, e);
    else
        p = PUT(put_args(put_event_head(p, r, e), r, e), "}}\n");
    out_end(r->out, p);
}

/* ---- start and end of a process ------------------------------------------------------------------- */

static void write_start(struct rank *r)
{
    const struct format *f = r->world->o->format;
    struct event e = { .call = C_START, .id = r->next_id++, .ts = r->clock_us, .path = -1 };
    r->budget--;
    r->events++;
    time_t seconds = (time_t)(r->clock_us / 1000000);
    struct tm tm;
    char date[64];
    gmtime_r(&seconds, &tm);
    strftime(date, sizeof date, "%a %b %e %H:%M:%S %Y", &tm);
    char *p = put_args(put_event_head(out_begin(r->out), r, &e), r, &e);
    p = put_hash(PUT(p, ",\"cmd_hash\":"), f->hash, hash_text(command));
    p = put_hash(PUT(p, ",\"exec_hash\":"), f->hash, hash_text(program));
    if (f->hash == HASH_HEX)
        p = put_hash(PUT(p, ",\"cwd\":"), f->hash, r->world->hashes[r->world->folder]);
    p = put_text(PUT(p, ",\"version\":"), f->version);
    p = put_text(PUT(p, ",\"date\":\""), date);
    p = put_number(PUT(p, "\",\"ppid\":"), 3110000 + r->number % 8);
    out_end(r->out, PUT(p, "}}\n"));
}

static void write_rank_head(struct rank *r)
{
    const struct options *o = r->world->o;
    char text[64];
    if (!o->format->version)
        return;
    write_hash(r, "HH", r->host, r->host_hash);
    snprintf(text, sizeof text, "%llu", (unsigned long long)r->pid);
    write_meta(r, "thread_name", text, "\"thread_name\"");
    write_hash(r, "SH", command, hash_text(command));
    write_hash(r, "SH", program, hash_text(program));
    if (o->format->hash == HASH_HEX)
        write_path(r, (int64_t)r->world->folder);
    if (o->format->codes)
        write_meta(r, "CM", "time_metric", "\"US\"");
    write_start(r);
    snprintf(text, sizeof text, "Rank %llu", (unsigned long long)r->number);
    write_meta(r, "process_name", text, "\"process_name\"");
    snprintf(text, sizeof text, "\"%llu\"", (unsigned long long)r->number);
    write_meta(r, "PR", "rank", text);
    snprintf(text, sizeof text, "[%d,%d]", (int)(r->number % 8 * 2), (int)(r->number % 8 * 2 + 1));
    write_meta(r, "PR", "core_affinity", text);
}

static void write_rank_tail(struct rank *r)
{
    const struct format *f = r->world->o->format;
    if (!f->version)
        return;
    r->tid = r->pid;
    struct event e = { .call = C_END, .id = r->next_id, .ts = r->clock_us, .path = -1 };
    add(&e, "num_events", ARG_INT, r->next_id - 1);
    r->events++;
    char *p = put_args(put_event_head(out_begin(r->out), r, &e), r, &e);
    if (f->codes)
        p = PUT(p, ",\"cfg\":{\"enable\":1,\"metadata\":1,\"core_affinity\":1,\"time_metric\":\"US\","
                   "\"io\":1,\"posix\":1,\"stdio\":1,\"compression\":1,\"tids\":1,"
                   "\"write_buffer_size\":16777216,\"trace_interval_ms\":1000,"
                   "\"aggregation_type\":\"FULL\"},\"build\":{\"mpi\":1,\"hdf5\":0},"
                   "\"used\":{\"LIBC_IO\":1,\"PYTHON\":1},\"app\":{}");
    out_end(r->out, PUT(p, "}}\n"));
}

/* v4: system counters, and calls that were folded into one record. */
static void write_counters(struct rank *r)
{
    if (!r->world->o->format->codes)
        return;
    char hash[20], *p;
    *put_hash(hash, HASH_HEX, r->host_hash) = 0;
    uint64_t user = rank_below(r, 1000), seen = 1 + rank_below(r, 40), us = jitter(r, 9);
    if (spend(r)) {
        p = out_begin(r->out);
        p += sprintf(p, "{\"name\":\"cpu\",\"cat\":\"sys\",\"type\":7,\"ts\":%llu,\"ph\":2,\"pid\":0,"
                        "\"tid\":0,\"args\":{\"hhash\":%s,\"user_pct\":%.1f,\"system_pct\":%.1f,"
                        "\"idle_pct\":%.1f,\"iowait_pct\":0.5}}\n",
                     (unsigned long long)r->clock_us, hash, (double)user / 10,
                     (double)(user % 100) / 10, (double)(1000 - user) / 20);
        out_end(r->out, p);
    }
    if (spend(r)) {
        p = out_begin(r->out);
        p += sprintf(p, "{\"name\":\"__xstat64\",\"cat\":\"POSIX\",\"type\":3,\"ts\":%llu,\"ph\":3,"
                        "\"pid\":%llu,\"tid\":%llu,\"args\":{\"hhash\":%s,\"dft_cnt\":%llu,"
                        "\"dur_min\":%llu,\"dur_max\":%llu,\"dur_sum\":%llu}}\n",
                     (unsigned long long)(r->clock_us / 1000000 * 1000000),
                     (unsigned long long)r->pid, (unsigned long long)r->tid, hash,
                     (unsigned long long)seen, (unsigned long long)us,
                     (unsigned long long)(us + seen - 1),
                     (unsigned long long)(seen * us + seen * (seen - 1) / 2));
        out_end(r->out, p);
    }
}

/* ---- what a process does ----------------------------------------------------------------------------- */

static struct event enter(struct rank *r, enum call call, int64_t path)
{
    struct event e = { .call = call, .id = r->next_id++, .ts = r->clock_us, .path = path };
    if (r->depth < STACK)
        r->stack[r->depth++] = e.id;
    return e;
}

static void leave(struct rank *r, struct event *e)
{
    r->clock_us += 1 + rank_below(r, 3);
    e->dur = r->clock_us - e->ts;
    r->depth--;
    write_event(r, e);
    r->clock_us += rank_below(r, 4);
}

/* An event without children. */
static void call_write(struct rank *r, struct event *e, uint64_t us)
{
    e->id = r->next_id++;
    e->ts = r->clock_us;
    e->dur = us;
    r->clock_us += us;
    write_event(r, e);
    r->clock_us += 1 + rank_below(r, 9);
}

static void posix_open(struct rank *r, uint64_t path, uint64_t flags, uint64_t fd)
{
    struct event e = { .call = C_OPEN, .path = (int64_t)path };
    add(&e, "flags", ARG_INT, flags);
    add(&e, "mode", ARG_INT, 438);
    add(&e, "ret", ARG_INT, fd);
    call_write(r, &e, io_jitter(r, 35));
}

static void posix_call(struct rank *r, enum call call, uint64_t path, uint64_t fd, uint64_t us)
{
    struct event e = { .call = call, .path = (int64_t)path };
    if (fd)
        add(&e, "fd", ARG_INT, fd);
    if (call != C_XSTAT)
        add(&e, "ret", ARG_INT, 0);
    call_write(r, &e, io_jitter(r, us));
}

static void posix_move(struct rank *r, enum call call, uint64_t path, uint64_t fd, uint64_t bytes,
                       uint64_t offset, uint64_t us)
{
    struct event e = { .call = call, .path = (int64_t)path, .size = bytes };
    bool failed = rank_below(r, 1000) == 0;
    add(&e, "fd", ARG_INT, fd);
    add(&e, "ret", ARG_OFFSET, failed ? (uint64_t)-1 : bytes);
    add(&e, "count", ARG_OFFSET, bytes);
    if (call == C_PREAD || call == C_PWRITE)
        add(&e, "offset", ARG_OFFSET, offset);
    call_write(r, &e, io_jitter(r, us));
}

static void posix_seek(struct rank *r, uint64_t path, uint64_t fd, uint64_t offset)
{
    struct event e = { .call = C_LSEEK, .path = (int64_t)path };
    add(&e, "fd", ARG_INT, fd);
    add(&e, "offset", ARG_OFFSET, offset);
    add(&e, "whence", ARG_INT, 0);
    add(&e, "ret", ARG_OFFSET, offset);
    call_write(r, &e, jitter(r, 2));
}

static void read_shard(struct rank *r, uint64_t path, uint64_t parts, uint64_t bytes)
{
    uint64_t fd = 20 + rank_below(r, 12);
    uint64_t first = r->world->o->shuffle ? rank_below(r, 1024) : 0; /* a sample of a big file */
    posix_open(r, path, 0, fd);
    posix_call(r, C_XSTAT, path, 0, 12);
    for (uint64_t k = 0; k < parts; k++) {
        if (k % 3 == 1) {
            posix_move(r, C_PREAD, path, fd, bytes, (first + k) * bytes, 60 + bytes / 20000);
        } else {
            posix_seek(r, path, fd, (first + k) * bytes);
            posix_move(r, C_READ, path, fd, bytes, 0, 60 + bytes / 20000);
        }
    }
    posix_call(r, C_CLOSE, path, fd, 3);
}

/* The same by buffered calls: ret counts items of `size` bytes. */
static void read_stream(struct rank *r, uint64_t path, uint64_t parts, uint64_t bytes)
{
    struct event e = { .call = C_FOPEN, .path = (int64_t)path };
    call_write(r, &e, io_jitter(r, 45));
    for (uint64_t k = 0; k < parts; k++) {
        e = (struct event){ .call = C_FREAD, .path = (int64_t)path, .size = bytes / 8 * 8 };
        add(&e, "size", ARG_OFFSET, 8);
        add(&e, "count", ARG_OFFSET, bytes / 8);
        add(&e, "ret", ARG_OFFSET, bytes / 8);
        call_write(r, &e, io_jitter(r, 70 + bytes / 18000));
    }
    e = (struct event){ .call = C_FCLOSE, .path = (int64_t)path };
    call_write(r, &e, io_jitter(r, 4));
}

static void add_step(const struct rank *r, struct event *e)
{
    add(e, "epoch", ARG_PYTHON, r->epoch);
    add(e, "step", ARG_PYTHON, r->step);
}

static void fetch(struct rank *r, uint64_t path)
{
    uint64_t bytes = (1 + rank_below(r, 4096)) * 4096, parts = 3 + rank_below(r, 3);
    r->tid = r->pid + 1;
    struct event block = enter(r, C_FETCH, -1);
    struct event open = enter(r, C_READER_OPEN, (int64_t)path);
    add_step(r, &open);
    bool stream = rank_below(r, 5) == 0;
    if (stream)
        read_stream(r, path, parts, bytes);
    leave(r, &open);
    struct event get = enter(r, C_READER_READ, (int64_t)path);
    add_step(r, &get);
    add(&get, "image_idx", ARG_PYTHON, path);
    add(&get, "image_size", ARG_PYTHON, parts * bytes);
    if (!stream)
        read_shard(r, path, parts, bytes);
    leave(r, &get);
    add_step(r, &block);
    add(&block, "image_idx", ARG_PYTHON, path);
    leave(r, &block);
}

static void compute(struct rank *r, enum call call, uint64_t us)
{
    struct event e = { .call = call, .path = -1 };
    add_step(r, &e);
    r->launches += 1 + rank_below(r, 400);
    add(&e, "device_id", ARG_INT, r->number % 4);
    add(&e, "stream_id", ARG_INT, 7);
    add(&e, "batch_size", ARG_INT, 4);
    add(&e, "correlation_id", ARG_INT, r->launches);
    call_write(r, &e, jitter(r, us));
}

static void train_step(struct rank *r)
{
    const struct options *o = r->world->o;
    uint64_t own = r->number < o->train_files ? (o->train_files - r->number + o->ranks - 1) / o->ranks : 0;
    uint64_t path = o->shuffle ? rank_below(r, o->train_files)
                  : own ? r->number + r->step % own * o->ranks : r->number % o->train_files;
    fetch(r, path);
    r->tid = r->pid;
    struct event block = enter(r, C_TRAIN, -1);
    uint64_t us = o->step_ms * 1000;
    for (enum call call = C_CONV3D; call <= C_OPTIMIZER; call++)
        compute(r, call, us / (call == C_OPTIMIZER ? 8 : call >= C_DICE_LOSS ? 4 : 5));
    add_step(r, &block);
    add(&block, "image_idx", ARG_PYTHON, path);
    leave(r, &block);
    if (r->step % 16 == 0)
        write_counters(r);
}

static void validation(struct rank *r)
{
    const struct options *o = r->world->o;
    for (uint64_t k = 0; k < 10 && o->val_files; k++) {
        uint64_t path = o->train_files + k % o->val_files;
        r->tid = r->pid + 1;
        read_shard(r, path, 1, 65536);
        r->tid = r->pid;
        struct event block = enter(r, C_VALID, -1);
        compute(r, C_VAL_FORWARD, o->step_ms * 1000 / 5);
        compute(r, C_DICE_LOSS, o->step_ms * 1000 / 10);
        add_step(r, &block);
        leave(r, &block);
    }
}

static void checkpoint(struct rank *r)
{
    uint64_t path = r->world->checkpoint, fd = 5, offset = 0, parts = 10 + rank_below(r, 11);
    r->tid = r->pid + 1;
    struct event block = enter(r, C_CHECKPOINT, (int64_t)path);
    posix_call(r, C_MKDIR, r->world->folder, 0, 60);
    posix_open(r, path, 577, fd);
    for (uint64_t k = 0; k < parts; k++) {
        uint64_t bytes = jitter(r, 1 << 20);
        posix_move(r, k % 2 ? C_WRITE : C_PWRITE, path, fd, bytes, offset, 900);
        offset += bytes;
    }
    struct event log = { .call = C_FWRITE, .path = (int64_t)path, .size = 80 };
    add(&log, "size", ARG_OFFSET, 1);
    add(&log, "count", ARG_OFFSET, 80);
    add(&log, "ret", ARG_OFFSET, 80);
    call_write(r, &log, jitter(r, 5));
    posix_call(r, C_FSYNC, path, fd, 2000);
    posix_call(r, C_CLOSE, path, fd, 3);
    add(&block, "epoch", ARG_PYTHON, r->epoch);
    leave(r, &block);
}

static void begin_rank(struct rank *r)
{
    r->tid = r->pid;
    write_rank_head(r);
    posix_call(r, C_OPENDIR, r->world->folder, 0, 80);
    r->state = RANK_RUNS;
}

static bool due(uint64_t every, uint64_t epoch)
{
    return every && (epoch + 1) % every == 0;
}

static void end_epoch(struct rank *r)
{
    const struct options *o = r->world->o;
    if (due(o->validation_every, r->epoch))
        validation(r);
    if (due(o->checkpoint_every, r->epoch))
        checkpoint(r);
    r->tid = r->pid;
    struct event e = { .call = C_EPOCH, .id = r->epoch_id, .ts = r->epoch_begin_us, .path = -1 };
    r->depth = 0;
    e.dur = r->clock_us - e.ts;
    add(&e, "epoch", ARG_PYTHON, r->epoch);
    write_event(r, &e);
    r->clock_us += 50;
    r->step = 0;
    r->epoch++;
}

/* The next batch of a rank: a step, with what belongs before and behind it. */
static void rank_batch(struct rank *r)
{
    const struct options *o = r->world->o;
    if (r->state == RANK_NEW)
        begin_rank(r);
    if (r->step == 0 && r->epoch < o->epochs) {
        r->epoch_begin_us = r->clock_us;
        r->stack[0] = r->epoch_id = r->next_id++;
        r->depth = 1;
    }
    if (r->epoch < o->epochs) {
        train_step(r);
        if (++r->step == o->steps)
            end_epoch(r);
    }
    if (r->epoch >= o->epochs || r->budget <= 1) {
        r->depth = 0;
        write_rank_tail(r);
        r->state = RANK_DONE;
    }
}

/* ---- files ------------------------------------------------------------------------------------------- */

static void rank_init(struct rank *r, const struct world *w, uint64_t number, struct out *out)
{
    const struct options *o = w->o;
    *r = (struct rank){ .number = number, .world = w, .out = out, .next_id = 1,
                         .launches = 100000000 };
    r->random = o->seed + 10000 * number;
    r->clock_us = UINT64_C(1781800000000000) + rank_below(r, 200000);
    r->pid = 3112000 + number * 16;
    snprintf(r->host, sizeof r->host, "node-%llu", (unsigned long long)(number % o->hosts));
    r->host_hash = hash_text(r->host);
    r->budget = UINT64_MAX;
    if (o->events)           /* without `end` there is nothing to keep one for */
        r->budget = o->events / o->ranks + (number < o->events % o->ranks) + !o->format->version;
    r->seen = calloc(1, w->path_count / 8 + 1);
    if (!r->seen)
        die("no memory");
}

static struct rank *next_rank(struct rank *ranks, uint64_t count)
{
    struct rank *best = NULL;
    for (uint64_t i = 0; i < count; i++)
        if (ranks[i].state != RANK_DONE && (!best || ranks[i].clock_us < best->clock_us))
            best = &ranks[i];
    return best;
}

/* Writes the ranks first, first + stride, ... into one file. */
static void write_file(const struct world *w, const char *path, uint64_t first, uint64_t stride,
                       uint64_t *events, uint64_t *bytes)
{
    const struct options *o = w->o;
    uint64_t count = (o->ranks - first + stride - 1) / stride;
    struct rank *ranks = calloc(count, sizeof *ranks), *r;
    struct out out;
    if (!ranks)
        die("no memory");
    out_open(&out, path, o);
    out_end(&out, put_text(out_begin(&out), o->format->head));
    for (uint64_t i = 0; i < count; i++)
        rank_init(&ranks[i], w, first + i * stride, &out);
    while ((r = next_rank(ranks, count)))
        rank_batch(r);
    out_end(&out, put_text(out_begin(&out), o->format->tail));
    out_close(&out);
    for (uint64_t i = 0; i < count; i++) {
        *events += ranks[i].events;
        free(ranks[i].seen);
    }
    *bytes += out.total;
    free(ranks);
}

struct job {
    const struct world *world;
    uint64_t files;
    atomic_uint_fast64_t next, events, bytes;
};

static void *job_run(void *arg)
{
    struct job *job = arg;
    const struct options *o = job->world->o;
    uint64_t file, events = 0, bytes = 0;
    while ((file = job->next++) < job->files) {
        char path[4096];
        int len = o->single ? snprintf(path, sizeof path, "%s", o->single)
                : snprintf(path, sizeof path, "%s/%s_%llu.pfw%s", o->dir, o->files ? "trace" : "rank",
                           (unsigned long long)file, o->plain ? "" : ".gz");
        if (len >= (int)sizeof path)
            die("the path is too long");
        write_file(job->world, path, file, job->files, &events, &bytes);
    }
    job->events += events;
    job->bytes += bytes;
    return NULL;
}

static void world_init(struct world *w, const struct options *o)
{
    *w = (struct world){ .o = o };
    w->checkpoint = o->train_files + o->val_files;
    w->folder = w->checkpoint + 1;
    w->path_count = w->folder + 1;
    w->paths = calloc(w->path_count, sizeof *w->paths);
    w->hashes = calloc(w->path_count, sizeof *w->hashes);
    if (!w->paths || !w->hashes)
        die("no memory");
    for (uint64_t i = 0; i < w->path_count; i++) {
        char text[128];
        unsigned long long n = i < o->train_files ? i : i - o->train_files;
        snprintf(text, sizeof text,
                 i < o->train_files ? "/lustre/project/unet3d/data/train/shard_%05llu.npz"
                 : i < w->checkpoint ? "/lustre/project/unet3d/data/val/val_%03llu.npz"
                 : i < w->folder ? "/lustre/project/unet3d/checkpoints/model_ckpt.pt"
                 : "/lustre/project/unet3d/data", n);
        w->paths[i] = strdup(text);
        if (!w->paths[i])
            die("no memory");
        w->hashes[i] = hash_text(text);
    }
}

static void world_done(struct world *w)
{
    for (uint64_t i = 0; i < w->path_count; i++)
        free(w->paths[i]);
    free(w->paths);
    free(w->hashes);
}

static void run(struct job *job)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t wanted = job->files < (uint64_t)(cores < 1 ? 1 : cores) ? job->files : (uint64_t)cores;
    pthread_t threads[64];
    uint64_t started = 0;
    while (started + 1 < wanted && started < 64
           && pthread_create(&threads[started], NULL, job_run, job) == 0)
        started++;
    job_run(job);
    while (started)
        pthread_join(threads[--started], NULL);
}

int main(int argc, char **argv)
{
    struct options o = { .format = &formats[0], .ranks = 8, .hosts = 4, .epochs = 500, .steps = 1000,
                         .checkpoint_every = 5, .validation_every = 2, .train_files = 8, .val_files = 2,
                         .step_ms = 100, .seed = 42, .level = 6 };
    parse_options(&o, argc, argv);
    if (o.events)
        o.epochs = UINT64_MAX;
    if (o.dir && mkdir(o.dir, 0777) && errno != EEXIST)
        die("%s: %s", o.dir, strerror(errno));
    struct world w;
    world_init(&w, &o);
    struct job job = { .world = &w, .files = o.single ? 1 : o.files ? o.files : o.ranks };
    run(&job);
    world_done(&w);
    fprintf(o.single && strcmp(o.single, "-") == 0 ? stderr : stdout,
            "%llu events of %llu processes on %llu hosts, %llu bytes of text in %llu files\n",
            (unsigned long long)job.events, (unsigned long long)o.ranks,
            (unsigned long long)(o.hosts < o.ranks ? o.hosts : o.ranks), (unsigned long long)job.bytes,
            (unsigned long long)job.files);
    return 0;
}
