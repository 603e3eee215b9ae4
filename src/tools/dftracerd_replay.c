/* dftracerd_replay.c - performs the calls of a trace again: the program that `dftracerctl replay`
 * runs. */
#include "dftracerd/replay.h"

#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage_text[] =
    "Usage: dftracerd-replay [OPTION]... <EVENTS\n"
    "Performs the calls of a trace again, below one directory. Standard input has the events in "
    "order of time: lines of\n"
    "a .pfw file, or rows of /view as NDJSON. dftracerctl replay selects events and runs this "
    "program.\n"
    "\n"
    "  --root DIR                the directory for all files (default: a new one, "
    "dftracer-replay-XXXXXX)\n"
    "  --keep                    keep the files; by default those that the replay made are removed "
    "at the end\n"
    "  --map /OLD=/NEW           read files of /OLD from /NEW, which is not changed; repeatable\n"
    "  --prepare sparse|data|none  how to make files that are read: sparse (default), filled, or "
    "not at all\n"
    "  --no-timing               as fast as possible; by default calls begin at their times in the "
    "trace\n"
    "  --speed FACTOR            2 is twice as fast as the trace\n"
    "  --processes               a process for each process of the trace; by default all threads "
    "are "
    "in one\n"
    "  --dry-run                 do nothing, report what would be done\n"
    "  --dftracer-mode           sleep for the durations instead of I/O\n"
    "  --no-sleep                with --dftracer-mode: do not sleep\n"
    "  --output-trace FILE       also write what was done as a trace, .pfw.gz\n"
    "  --format text|json        format of the report (default: text)\n"
    "  --verbose                 also report the categories\n"
    "  --use-call-tree           replay calls in the order of the call tree, which is that of "
    "time\n"
    "  --hierarchical-replay     only outermost calls (requires --use-call-tree)\n"
    "  --respect-call-hierarchy  also the calls within them (requires --hierarchical-replay)\n"
    "  --filter-pid LIST, --exclude-pid LIST, --filter-tid LIST, --exclude-tid LIST, "
    "--filter-function LIST,\n"
    "  --exclude-function LIST, --filter-category LIST, --exclude-category LIST\n"
    "                            only, or without, the events with these values, comma-separated\n"
    "  --start-timestamp US, --end-timestamp US\n"
    "                            only events that begin in this range of time, inclusive\n"
    "  --min-size BYTES, --max-size BYTES\n"
    "                            without calls that move less, or more\n"
    "  --sample-rate RATE        replay this part of the events, 0.0 to 1.0 (default: 1.0)\n"
    "  --sample-seed SEED        which part\n"
    "  --max-events N            replay at most N events, 0 = no limit (default: 0)\n"
    "  --twice                   standard input has all events two times, with a line "
    "{\"ph\":\"M\",\"replay\":\"again\"}\n"
    "                            between: the files are prepared after the first time\n"
    "  --version, -h, --help\n"
    "\n"
    "Exit status: 0 all calls succeeded, 1 nothing was executed or an error, 2 some calls failed "
    "that had succeeded.\n";

enum kind {
    FLAG,
    TEXT_VALUE,
    NUMBER,
    UNSIGNED,
    FACTOR,
    CALL_TREE,
    HIERARCHICAL,
    RESPECT,
    MAP,
    PREPARE,
    FORMAT,
    HELP,
    VERSION_TEXT
};
struct row {
    const char *name;
    enum kind kind;
    size_t at;  /* of the member that is set */
    bool value; /* FLAG: the value that is set */
};
#define AT(member) offsetof(struct replay_options, member)
static const struct row rows[] = {
    {"root", TEXT_VALUE, AT(root), 0},
    {"output-trace", TEXT_VALUE, AT(output_trace), 0},
    {"filter-pid", TEXT_VALUE, AT(filters.pid), 0},
    {"exclude-pid", TEXT_VALUE, AT(filters.not_pid), 0},
    {"filter-tid", TEXT_VALUE, AT(filters.tid), 0},
    {"exclude-tid", TEXT_VALUE, AT(filters.not_tid), 0},
    {"filter-function", TEXT_VALUE, AT(filters.function), 0},
    {"exclude-function", TEXT_VALUE, AT(filters.not_function), 0},
    {"filter-category", TEXT_VALUE, AT(filters.category), 0},
    {"exclude-category", TEXT_VALUE, AT(filters.not_category), 0},
    {"start-timestamp", NUMBER, AT(filters.start_us), 0},
    {"end-timestamp", NUMBER, AT(filters.end_us), 0},
    {"min-size", NUMBER, AT(filters.min_size), 0},
    {"max-size", NUMBER, AT(filters.max_size), 0},
    {"sample-rate", FACTOR, AT(filters.sample_rate), 0},
    {"sample-seed", UNSIGNED, AT(filters.sample_seed), 0},
    {"max-events", UNSIGNED, AT(filters.max_events), 0},
    {"speed", FACTOR, AT(speed), 0},
    {"no-timing", FLAG, AT(timing), false},
    {"processes", FLAG, AT(processes), true},
    {"dry-run", FLAG, AT(dry_run), true},
    {"dftracer-mode", FLAG, AT(sleep_mode), true},
    {"no-sleep", FLAG, AT(no_sleep), true},
    {"keep", FLAG, AT(keep), true},
    {"verbose", FLAG, AT(verbose), true},
    {"twice", FLAG, AT(twice), true},
    {"use-call-tree", CALL_TREE, 0, 0},
    {"hierarchical-replay", HIERARCHICAL, 0, 0},
    {"respect-call-hierarchy", RESPECT, 0, 0},
    {"map", MAP, 0, 0},
    {"prepare", PREPARE, 0, 0},
    {"format", FORMAT, 0, 0},
    {"help", HELP, 0, 0},
    {"version", VERSION_TEXT, 0, 0},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *message, ...)
{
    va_list args;
    va_start(args, message);
    fputs("dftracerd-replay: ", stderr);
    vfprintf(stderr, message, args);
    fputs("\nTry: dftracerd-replay --help\n", stderr);
    va_end(args);
    exit(1);
}

struct command {
    struct replay_options o;
    bool call_tree, hierarchical, respect;
};

static void add_map(struct replay_options *o, char *value)
{
    char *equals = strchr(value, '=');
    if (*value != '/' || !equals || equals[1] != '/')
        die("--map %s: must be /OLD=/NEW", value);
    if (o->map_count == REPLAY_MAPS_MAX)
        die("--map: at most %d", REPLAY_MAPS_MAX);
    *equals = '\0';
    o->maps[o->map_count++] = (struct replay_map){value, equals + 1};
}

static void set_choice(struct command *c, const struct row *row, const char *value)
{
    static const char *const prepares[] = {"sparse", "data", "none"};
    if (row->kind == FORMAT) {
        if (strcmp(value, "text") != 0 && strcmp(value, "json") != 0)
            die("--format %s: must be text or json", value);
        c->o.json = *value == 'j';
        return;
    }
    for (int i = 0; i < 3; i++) {
        if (strcmp(value, prepares[i]) == 0) {
            c->o.prepare = (enum replay_prepare)i;
            return;
        }
    }
    die("--prepare %s: must be sparse, data or none", value);
}

static void set_number(const struct row *row, void *at, const char *value)
{
    int rc = row->kind == FACTOR     ? num_parse_double(text_of(value), at)
             : row->kind == UNSIGNED ? num_parse_u64(text_of(value), at)
                                     : num_parse_i64(text_of(value), at);
    if (rc < 0 || (row->kind == NUMBER && *(int64_t *)at < 0) ||
        (row->kind == NUMBER && *(int64_t *)at > INT64_MAX / 1000))
        die("--%s %s: not a valid number", row->name, value);
}

static void set_option(struct command *c, const struct row *row, char *value)
{
    void *at = (char *)&c->o + row->at;
    switch (row->kind) {
    case FLAG:
        *(bool *)at = row->value;
        break;
    case TEXT_VALUE:
        *(const char **)at = value;
        break;
    case NUMBER:
    case UNSIGNED:
    case FACTOR:
        set_number(row, at, value);
        break;
    case CALL_TREE:
        c->call_tree = true;
        break;
    case HIERARCHICAL:
        c->hierarchical = true;
        break;
    case RESPECT:
        c->respect = true;
        break;
    case MAP:
        add_map(&c->o, value);
        break;
    case PREPARE:
    case FORMAT:
        set_choice(c, row, value);
        break;
    case HELP:
        fputs(usage_text, stdout);
        exit(0);
    case VERSION_TEXT:
        printf("dftracerd-replay %s\n", DFT_VERSION);
        exit(0);
    }
}

static bool has_value(enum kind kind)
{
    return kind == TEXT_VALUE || kind == NUMBER || kind == UNSIGNED || kind == FACTOR ||
           kind == MAP || kind == PREPARE || kind == FORMAT;
}

/* Inside a group of letters such as -zh, argv[optind - 1] is an earlier argument. */
_Noreturn static void refuse_option(int given, char **argv)
{
    const char letter[] = {'-', (char)optopt, '\0'};

    die(given == ':' ? "%s requires an argument" : "unknown option %s",
        optopt > 0 ? letter : argv[optind - 1]);
}

static void parse_options(struct command *c, int argc, char **argv)
{
    struct option options[ROWS + 1] = {{0}};
    int at, given;
    for (int i = 0; i < ROWS; i++)
        options[i] = (struct option){rows[i].name, has_value(rows[i].kind), NULL, 0};
    opterr = 0;
    while ((given = getopt_long(argc, argv, ":h", options, &at)) != -1) {
        if (given == 'h') {
            fputs(usage_text, stdout);
            exit(0);
        }
        if (given != 0)
            refuse_option(given, argv);
        set_option(c, &rows[at], optarg);
    }
    if (optind < argc)
        die("unexpected argument %s: events are read from standard input", argv[optind]);
}

static void check_options(const struct command *c)
{
    const struct replay_options *o = &c->o;
    if (o->no_sleep && !o->sleep_mode)
        die("--no-sleep requires --dftracer-mode");
    if (c->hierarchical && !c->call_tree)
        die("--hierarchical-replay requires --use-call-tree");
    if (c->respect && !c->hierarchical)
        die("--respect-call-hierarchy requires --hierarchical-replay");
    if (!(o->filters.sample_rate >= 0 && o->filters.sample_rate <= 1))
        die("--sample-rate must be between 0.0 and 1.0");
    if (!(o->speed > 0 && o->speed <= 1e9))
        die("--speed must be greater than 0, and at most 1e9");
}

int main(int argc, char **argv)
{
    static struct command c;
    struct buf out = {0};
    struct err err = {0};
    replay_options_init(&c.o);
    parse_options(&c, argc, argv);
    check_options(&c);
    c.o.outermost = c.hierarchical && !c.respect;
    int status = replay_run(&c.o, STDIN_FILENO, &out, &err);
    bool written =
        fwrite(out.data ? out.data : "", 1, out.len, stdout) == out.len && fflush(stdout) == 0;
    if (!written)
        fputs("dftracerd-replay: cannot write to standard output\n", stderr);
    if (err.text[0])
        fprintf(stderr, "dftracerd-replay: %s\n", err.text);
    buf_done(&out);
    err_done(&err);
    return written ? status : 1;
}
