/* gen_options.c - the command line of gen-fake-trace. */
#include "gen.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct format formats[] = {
    {"v3", "\"v3.0.0\"", HASH_HEX, .head = "[\n", .tail = "]\n"},
    {"v4", "\"v4.0.0\"", HASH_HEX, .codes = true, .head = "", .tail = ""},
    {"v108", "100008", HASH_DECIMAL, .text_args = true, .links = true, .meta_id = true,
     .head = "[\n", .tail = "]"},
    {"v105", "100005", HASH_16BIT, .text_args = true, .links = true, .meta_id = true, .head = "[\n",
     .tail = "]"},
    {"v0", NULL, HASH_NONE, .quoted = true, .head = "[\n ", .tail = ""},
    {"g0", NULL, HASH_NONE, .head = "[\n", .tail = ""},
    {"datacrumbs", NULL, HASH_NONE, .head = "[\n", .tail = ""},
};
enum { FORMATS = sizeof formats / sizeof *formats };

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
    "      --members SIZE|event   a new gzip member after SIZE bytes of text, or each line\n"
    "      --reference            what the benchmarks read: 4.84 M events, 1.1 GB of text, 64\n"
    "                             processes on 8 hosts, 5,000 files (options after it override)\n"
    "  -h, --help                 this text\n";

void die(const char *message, ...)
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
    OPT_SINGLE = 256,
    OPT_FILES,
    OPT_CHECKPOINT,
    OPT_VALIDATION,
    OPT_TRAIN,
    OPT_VAL,
    OPT_STEP_MS,
    OPT_SEED,
    OPT_EVENTS,
    OPT_SHUFFLE,
    OPT_FORMAT,
    OPT_LEVEL,
    OPT_PLAIN,
    OPT_MEMBERS,
    OPT_REFERENCE
};
static const struct option long_options[] = {{"output-dir", 1, 0, 'o'},
                                             {"num-processes", 1, 0, 'p'},
                                             {"num-hosts", 1, 0, 'H'},
                                             {"num-epochs", 1, 0, 'e'},
                                             {"steps-per-epoch", 1, 0, 's'},
                                             {"compress", 1, 0, 'z'},
                                             {"single", 1, 0, OPT_SINGLE},
                                             {"files", 1, 0, OPT_FILES},
                                             {"checkpoint-every", 1, 0, OPT_CHECKPOINT},
                                             {"validation-every", 1, 0, OPT_VALIDATION},
                                             {"num-train-files", 1, 0, OPT_TRAIN},
                                             {"num-val-files", 1, 0, OPT_VAL},
                                             {"step-duration-ms", 1, 0, OPT_STEP_MS},
                                             {"seed", 1, 0, OPT_SEED},
                                             {"events", 1, 0, OPT_EVENTS},
                                             {"shuffle", 0, 0, OPT_SHUFFLE},
                                             {"format", 1, 0, OPT_FORMAT},
                                             {"level", 1, 0, OPT_LEVEL},
                                             {"plain", 0, 0, OPT_PLAIN},
                                             {"members", 1, 0, OPT_MEMBERS},
                                             {"reference", 0, 0, OPT_REFERENCE},
                                             {"help", 0, 0, 'h'},
                                             {0}};

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
    o->train_files = 4989; /* with 10 for validation and the checkpoint: 5,000 */
    o->val_files = 10;
    o->steps = 100;
    o->shuffle = true;
}

static uint64_t *option_number(struct options *o, int code)
{
    switch (code) {
    case 'p':
        return &o->ranks;
    case 'H':
        return &o->hosts;
    case 'e':
        return &o->epochs;
    case 's':
        return &o->steps;
    case OPT_FILES:
        return &o->files;
    case OPT_CHECKPOINT:
        return &o->checkpoint_every;
    case OPT_VALIDATION:
        return &o->validation_every;
    case OPT_TRAIN:
        return &o->train_files;
    case OPT_VAL:
        return &o->val_files;
    case OPT_STEP_MS:
        return &o->step_ms;
    case OPT_SEED:
        return &o->seed;
    case OPT_EVENTS:
        return &o->events;
    default:
        return NULL;
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
    case 'h':
        fputs(usage_text, stdout);
        exit(0);
    case 'o':
        o->dir = text;
        break;
    case OPT_SINGLE:
        o->single = text;
        break;
    case OPT_SHUFFLE:
        o->shuffle = true;
        break;
    case OPT_PLAIN:
        o->plain = true;
        break;
    case OPT_REFERENCE:
        set_reference(o);
        break;
    case OPT_FORMAT:
        o->format = parse_format(text);
        break;
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
    default:
        fputs("try: gen-fake-trace --help\n", stderr);
        exit(2);
    }
}

void options_parse(struct options *o, int argc, char **argv)
{
    int code;
    o->format = &formats[0];
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
