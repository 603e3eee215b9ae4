/* gen_options.c - the command line of gen-fake-trace: parsing, defaults, limits and help, generated
 * from one table. */
#include "tools/gen_fake_trace/generate.h"

#include "config.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum kind {
    TEXT_VALUE,
    FLAG,
    NUMBER,
    BYTES,
    MEMBERS,
    COMPRESS,
    FORMAT,
    REFERENCE,
    VERSION_TEXT,
    HELP
};

struct row {
    char letter; /* 0: none */
    const char *name, *argument;
    enum kind kind;
    size_t at;         /* of the member that is set */
    uint64_t fallback; /* the default; 0 is not printed */
    uint64_t min, max; /* max 0: no limit */
    const char *help;
};
#define AT(member) offsetof(struct options, member)
enum { PROCESSES_MAX = 100000, FILES_MAX = 10000000, DAY_MS = 86400000 };
static const struct row rows[] = {
    {'o', "output-dir", "DIR", TEXT_VALUE, AT(dir), 0, 0, 0,
     "write one file per process, rank_<r>.pfw.gz, to this directory"},
    {0, "single", "FILE", TEXT_VALUE, AT(single), 0, 0, 0,
     "write all processes to one file (- is standard output)"},
    {0, "files", "N", NUMBER, AT(files), 0, 0, PROCESSES_MAX,
     "write all processes to N files, trace_<n>.pfw.gz"},
    {'p', "num-processes", "N", NUMBER, AT(processes), 8, 1, PROCESSES_MAX, "number of processes"},
    {'H', "num-hosts", "N", NUMBER, AT(hosts), 4, 1, 0, "number of hosts"},
    {'e', "num-epochs", "N", NUMBER, AT(epochs), 500, 0, 0, "training epochs"},
    {'s', "steps-per-epoch", "N", NUMBER, AT(steps), 1000, 1, 0, "steps per epoch"},
    {0, "checkpoint-every", "N", NUMBER, AT(checkpoint_every), 5, 0, 0,
     "write a checkpoint every N epochs, 0: never"},
    {0, "validation-every", "N", NUMBER, AT(validation_every), 2, 0, 0,
     "validate every N epochs, 0: never"},
    {0, "num-train-files", "N", NUMBER, AT(train_files), 8, 1, FILES_MAX,
     "number of training files"},
    {0, "num-val-files", "N", NUMBER, AT(val_files), 2, 0, FILES_MAX, "number of validation files"},
    {0, "step-duration-ms", "N", NUMBER, AT(step_ms), 100, 1, DAY_MS,
     "base duration of a step in milliseconds"},
    {0, "seed", "N", NUMBER, AT(seed), 42, 0, 0, "random seed"},
    {0, "events", "N", NUMBER, AT(events), 0, 0, 0,
     "total number of events; overrides the number of epochs"},
    {0, "shuffle", NULL, FLAG, AT(shuffle), 0, 0, 0,
     "a step reads any training file, not only those of its process"},
    {0, "format", "F", FORMAT, 0, 0, 0, 0, "unet3d (default), or the format of a tracer version:"},
    {'z', "compress", "N", COMPRESS, AT(level), 6, 0, 9, "gzip level, 0: plain text"},
    {0, "level", "N", NUMBER, AT(level), 6, 0, 9, "gzip level, 0: gzip without compression"},
    {0, "plain", NULL, FLAG, AT(plain), 0, 0, 0, "write plain text (.pfw files)"},
    {0, "members", "SIZE|event", MEMBERS, AT(member_bytes), 0, 0, 0,
     "start a new gzip member after SIZE uncompressed bytes, or after each line"},
    {0, "reference", NULL, REFERENCE, 0, 0, 0, 0,
     "the traces of the benchmarks: 4.84 M events, 1.1 GB of text, 64 processes on 8 hosts, 5,000 "
     "files, format v3 (later options override it)"},
    {0, "verify", NULL, FLAG, AT(verify), 0, 0, 0,
     "index the files, then report how many chunks each query skips"},
    {0, "checkpoint-size", "BYTES", BYTES, AT(checkpoint_size), 2 << 20, 1, 0,
     "uncompressed bytes per chunk, for --verify"},
    {0, "version", NULL, VERSION_TEXT, 0, 0, 0, 0, "print the version"},
    {'h', "help", NULL, HELP, 0, 0, 0, 0, "print this help"},
};
enum { ROWS = sizeof rows / sizeof *rows, COLUMN = 31, WIDTH = 98 };

static void print_error(const char *message, va_list args)
{
    fputs("gen-fake-trace: ", stderr);
    vfprintf(stderr, message, args);
    fputc('\n', stderr);
}

void fail(const char *message, ...)
{
    va_list args;
    va_start(args, message);
    print_error(message, args);
    va_end(args);
    exit(1);
}

static void __attribute__((noreturn, format(printf, 1, 2))) usage_error(const char *message, ...)
{
    va_list args;
    va_start(args, message);
    print_error(message, args);
    va_end(args);
    fputs("Try: gen-fake-trace --help\n", stderr);
    exit(2);
}

/* ---- help ------------------------------------------------------------------------------------ */

static void print_wrapped(const char *text)
{
    size_t at = COLUMN;
    for (size_t len; *text; text += len + (text[len] == ' '), at += len + 1) {
        len = strcspn(text, " ");
        if (at > COLUMN && at + len > WIDTH) {
            printf("\n%*s", COLUMN, "");
            at = COLUMN;
        }
        printf("%s%.*s", at > COLUMN ? " " : "", (int)len, text);
    }
    putchar('\n');
}

static void put_formats(struct buf *out, unsigned first)
{
    for (unsigned i = first; generate_format_name(i); i++)
        buf_printf(out, "%s%s", i > first ? ", " : "", generate_format_name(i));
}

static void print_row(const struct row *r)
{
    struct buf text = {0};
    char letter[8] = "", name[COLUMN];
    if (r->letter)
        snprintf(letter, sizeof letter, "-%c,", r->letter);
    snprintf(name, sizeof name, "%s %s", r->name, r->argument ? r->argument : "");
    printf("  %-3s --%-*s", letter, COLUMN - 8, name);
    buf_printf(&text, "%s", r->help);
    if (r->kind == FORMAT) {
        buf_printf(&text, " ");
        put_formats(&text, 1);
    }
    if (r->max)
        buf_printf(&text, " (%llu to %llu%s", (unsigned long long)r->min,
                   (unsigned long long)r->max, r->fallback ? "" : ")");
    if (r->fallback)
        buf_printf(&text, "%sdefault: %llu)", r->max ? "; " : " (",
                   (unsigned long long)r->fallback);
    print_wrapped(text.error ? r->help : text.data);
    buf_done(&text);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void set_number(const struct row *r, uint64_t *value, const char *text)
{
    bool bytes = r->kind == BYTES || r->kind == MEMBERS;
    int rc = bytes ? num_parse_bytes(text_of(text), value) : num_parse_u64(text_of(text), value);
    if (rc < 0 && rc != -ERANGE)
        usage_error("--%s %s: not a number%s", r->name, text, bytes ? " of bytes" : "");
    if (rc == -ERANGE && !r->max)
        fail("--%s %s: the number is too large", r->name, text);
    if (rc == -ERANGE || (r->max && *value > r->max))
        fail("--%s must be at most %llu", r->name, (unsigned long long)r->max);
    if (*value < r->min)
        fail("--%s must be at least %llu", r->name, (unsigned long long)r->min);
}

static void set_format(struct options *o, const char *text)
{
    struct buf known = {0};
    o->format = generate_format_find(text);
    if (o->format)
        return;
    put_formats(&known, 0);
    fail("unknown --format %s (%s)", text, known.error ? "out of memory" : known.data);
}

static void set_reference(struct options *o)
{
    o->events = 4840000;
    o->processes = 64;
    o->hosts = 8;
    o->train_files = 4989; /* 5,000 files with 10 for validation and the checkpoint */
    o->val_files = 10;
    o->steps = 100;
    o->shuffle = true;
    if (!o->format)
        o->format = generate_format_find("v3");
}

static void set_option(struct options *o, const struct row *r, const char *text)
{
    void *value = (char *)o + r->at;
    switch (r->kind) {
    case TEXT_VALUE:
        *(const char **)value = text;
        break;
    case FLAG:
        *(bool *)value = true;
        break;
    case MEMBERS:
        if (strcmp(text, "event") == 0) {
            o->member_bytes = 1;
            break;
        } /* fall through */
    case NUMBER:
    case BYTES:
    case COMPRESS:
        set_number(r, value, text);
        if (r->at == AT(level))
            o->plain = r->kind == COMPRESS && o->level == 0;
        break;
    case FORMAT:
        set_format(o, text);
        break;
    case REFERENCE:
        set_reference(o);
        break;
    case VERSION_TEXT:
        puts("gen-fake-trace " DFT_VERSION);
        exit(0);
    case HELP:
        puts("Usage: gen-fake-trace [OPTION]... --output-dir DIR\n"
             "       gen-fake-trace [OPTION]... --single FILE\n"
             "Writes synthetic DFTracer traces of the training of a 3D U-Net. The same options "
             "always\n"
             "give the same bytes. The files appear only when all of them are complete.\n");
        for (int i = 0; i < ROWS; i++)
            print_row(&rows[i]);
        exit(0);
    }
}

static void check_options(const struct options *o)
{
    bool dir = o->dir && *o->dir, single = o->single && *o->single;
    if (dir == single)
        usage_error("--output-dir or --single is required%s", dir ? ", not both" : "");
    if (o->verify &&
        (single || o->files || o->plain || o->format != generate_format_find("unet3d")))
        usage_error("--verify requires files rank_<r>.pfw.gz of the format unet3d");
    if (o->files > o->processes)
        fail("--files must not exceed the number of processes");
    if (o->events && o->events < 2 * o->processes)
        fail("--events must be at least 2 per process");
}

void options_parse(struct options *o, int argc, char **argv)
{
    struct option table[ROWS + 1] = {0};
    char letters[2 * ROWS + 1] = {0}, *next = letters;
    int code;
    *o = (struct options){0};
    for (int i = 0; i < ROWS; i++) {
        table[i] = (struct option){rows[i].name, rows[i].argument != NULL, NULL, 256 + i};
        if (rows[i].kind >= NUMBER && rows[i].kind <= COMPRESS)
            *(uint64_t *)((char *)o + rows[i].at) = rows[i].fallback;
        if (rows[i].letter)
            *next++ = rows[i].letter;
        if (rows[i].letter && rows[i].argument)
            *next++ = ':';
    }
    while ((code = getopt_long(argc, argv, letters, table, NULL)) != -1) {
        int i = code >= 256 ? code - 256 : 0;
        while (code < 256 && i < ROWS && rows[i].letter != code)
            i++;
        if (i == ROWS) { /* getopt_long has reported it */
            fputs("Try: gen-fake-trace --help\n", stderr);
            exit(2);
        }
        set_option(o, &rows[i], optarg);
    }
    if (optind < argc)
        usage_error("unexpected argument %s", argv[optind]);
    if (!o->format)
        o->format = generate_format_find("unet3d");
    check_options(o);
    if (o->single)
        o->files = 1;
}
