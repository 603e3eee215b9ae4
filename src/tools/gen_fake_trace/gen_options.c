/* gen_options.c - the command line of gen-fake-trace. */
#include "gen.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage_text[] =
    "usage: gen-fake-trace [OPTIONS] --output-dir DIR\n"
    "       gen-fake-trace [OPTIONS] --single FILE\n"
    "Writes synthetic DFTracer traces of the training of a 3D U-Net. The same options always\n"
    "give the same bytes.\n"
    "\n"
    "  -o, --output-dir DIR       write one file per process, rank_<r>.pfw.gz, to this directory\n"
    "      --single FILE          write all processes to one file (- is standard output)\n"
    "      --files N              write all processes to N files, trace_<n>.pfw.gz\n"
    "  -p, --num-processes N      number of processes (8)\n"
    "  -H, --num-hosts N          number of hosts (4)\n"
    "  -e, --num-epochs N         training epochs (500)\n"
    "  -s, --steps-per-epoch N    steps per epoch (1000)\n"
    "      --checkpoint-every N   write a checkpoint every N epochs, 0: never (5)\n"
    "      --validation-every N   validate every N epochs, 0: never (2)\n"
    "      --num-train-files N    number of training files (8)\n"
    "      --num-val-files N      number of validation files (2)\n"
    "      --step-duration-ms N   base duration of a step in milliseconds (100)\n"
    "      --seed N               random seed (42)\n"
    "      --events N             total number of events; overrides the number of epochs\n"
    "      --shuffle              a step reads any training file, not only those of its process\n"
    "      --format F             format: unet3d (default), or that of a tracer version: v3, v4,\n"
    "                             v108, v105, v0, g0, datacrumbs\n"
    "  -z, --compress N           gzip level 1-9, 0: plain text (6)\n"
    "      --level N              gzip level 0-9, 0: gzip without compression\n"
    "      --plain                write plain text (.pfw files)\n"
    "      --members SIZE|event   start a new gzip member after SIZE uncompressed bytes, or\n"
    "                             after each line\n"
    "      --reference            the traces of the benchmarks: 4.84 M events, 1.1 GB of text, 64\n"
    "                             processes on 8 hosts, 5,000 files, format v3 (later options\n"
    "                             override it)\n"
    "      --verify               index the files, then report how many chunks each query skips\n"
    "      --checkpoint-size N    uncompressed bytes per chunk, for --verify (2M)\n"
    "  -h, --help                 print this help\n";

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
        die("invalid value of --%s: %s", option, text);
    return n * factor;
}

enum {
    OPT_NUMBER = 256, /* of generate_numbers, by its name */
    OPT_SINGLE,
    OPT_FILES,
    OPT_EVENTS,
    OPT_SHUFFLE,
    OPT_FORMAT,
    OPT_LEVEL,
    OPT_PLAIN,
    OPT_MEMBERS,
    OPT_REFERENCE,
    OPT_VERIFY,
    OPT_CHECKPOINT_SIZE
};
static const struct option long_options[] = {{"output-dir", 1, 0, 'o'},
                                             {"num-processes", 1, 0, 'p'},
                                             {"num-hosts", 1, 0, 'H'},
                                             {"num-epochs", 1, 0, 'e'},
                                             {"steps-per-epoch", 1, 0, 's'},
                                             {"compress", 1, 0, 'z'},
                                             {"single", 1, 0, OPT_SINGLE},
                                             {"files", 1, 0, OPT_FILES},
                                             {"checkpoint-every", 1, 0, OPT_NUMBER},
                                             {"validation-every", 1, 0, OPT_NUMBER},
                                             {"num-train-files", 1, 0, OPT_NUMBER},
                                             {"num-val-files", 1, 0, OPT_NUMBER},
                                             {"step-duration-ms", 1, 0, OPT_NUMBER},
                                             {"seed", 1, 0, OPT_NUMBER},
                                             {"events", 1, 0, OPT_EVENTS},
                                             {"shuffle", 0, 0, OPT_SHUFFLE},
                                             {"format", 1, 0, OPT_FORMAT},
                                             {"level", 1, 0, OPT_LEVEL},
                                             {"plain", 0, 0, OPT_PLAIN},
                                             {"members", 1, 0, OPT_MEMBERS},
                                             {"reference", 0, 0, OPT_REFERENCE},
                                             {"verify", 0, 0, OPT_VERIFY},
                                             {"checkpoint-size", 1, 0, OPT_CHECKPOINT_SIZE},
                                             {"help", 0, 0, 'h'},
                                             {0}};

static const char *option_name(int code)
{
    for (const struct option *o = long_options; o->name; o++)
        if (o->val == code)
            return o->name;
    return "?";
}

static void set_reference(struct generate_options *g)
{
    g->events = 4840000;
    g->processes = 64;
    g->hosts = 8;
    g->train_files = 4989; /* with 10 for validation and the checkpoint: 5,000 */
    g->val_files = 10;
    g->steps = 100;
    g->shuffle = true;
}

static bool same_name(const char *option, const char *number)
{
    while (*option && (*option == *number || (*option == '-' && *number == '_')))
        option++, number++;
    return !*option && !*number;
}

static uint64_t *option_number(struct generate_options *g, const char *name)
{
    for (const struct generate_number *n = generate_numbers; n->name; n++)
        if (same_name(name, n->name))
            return generate_number_at(g, n);
    return strcmp(name, "events") == 0 ? &g->events : strcmp(name, "files") == 0 ? &g->files : NULL;
}

static void set_level(struct generate_options *g, int code, const char *text)
{
    uint64_t level = parse_number(option_name(code), text, false);
    if (level > 9)
        die("invalid value of --%s: %s", option_name(code), text);
    g->level = (int)level;
    g->plain = code == 'z' && level == 0;
}

static void set_format(struct generate_options *g, const char *text)
{
    struct buf known = {0};
    g->format = generate_format_find(text);
    if (g->format)
        return;
    for (unsigned i = 0; generate_format_name(i); i++)
        buf_printf(&known, "%s%s", i ? ", " : "", generate_format_name(i));
    die("unknown --format %s (%s)", text, known.error ? "out of memory" : known.data);
}

/* Options of the program itself, and those of the generator that are no numbers. */
static void parse_option(struct options *o, int code, const char *text)
{
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
        o->g.shuffle = true;
        break;
    case OPT_PLAIN:
        o->g.plain = true;
        break;
    case OPT_FORMAT:
        set_format(&o->g, text);
        break;
    case OPT_MEMBERS:
        o->g.member_bytes = strcmp(text, "event") == 0 ? 1 : parse_number("members", text, true);
        break;
    case OPT_LEVEL:
    case 'z':
        set_level(&o->g, code, text);
        break;
    case OPT_VERIFY:
        o->verify = true;
        break;
    case OPT_CHECKPOINT_SIZE:
        o->checkpoint_size = parse_number("checkpoint-size", text, true);
        break;
    default:
        fputs("try: gen-fake-trace --help\n", stderr);
        exit(2);
    }
}

static void check(const struct options *o)
{
    if (!o->dir == !o->single)
        die("--output-dir or --single is required (try --help)");
    if (o->verify &&
        (o->single || o->g.files || o->g.plain || o->g.format != generate_format_find("unet3d")))
        die("--verify requires files rank_<r>.pfw.gz of the format unet3d");
}

void options_parse(struct options *o, int argc, char **argv)
{
    int code, at = -1;
    bool reference = false;
    *o = (struct options){.checkpoint_size = 2 << 20};
    generate_defaults(&o->g);
    o->g.format = NULL;
    while ((code = getopt_long(argc, argv, "o:p:H:e:s:z:h", long_options, &at)) != -1) {
        const char *name = at >= 0 ? long_options[at].name : option_name(code);
        uint64_t *number = option_number(&o->g, name);
        if (number)
            *number = parse_number(name, optarg, false);
        else if (code == OPT_REFERENCE)
            set_reference(&o->g), reference = true;
        else
            parse_option(o, code, optarg);
        at = -1;
    }
    if (optind < argc)
        die("unexpected argument: %s", argv[optind]);
    if (!o->g.format)
        o->g.format = generate_format_find(reference ? "v3" : "unet3d");
    check(o);
    if (o->single)
        o->g.files = 1;
}
