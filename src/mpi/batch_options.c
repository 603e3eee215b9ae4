/* batch_options.c - the options of the batch programs: one table for both. */
#include "mpi/batch.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

/* Options of the last two kinds have no effect. */
enum kind { TEXT_VALUE, INTERVAL, COUNT, FLAG, IGNORED, IGNORED_WITH_VALUE };

enum { BOTH = BATCH_AGGREGATOR | BATCH_CALL_TREE };
#define ROWS_MAX 32

struct row {
    char letter; /* 0: none */
    const char *name, *argument;
    enum kind kind;
    size_t at; /* offset in struct batch_settings */
    unsigned programs;
    const char *help;
};

#define AT(member) offsetof(struct batch_settings, member)
static const struct row rows[] = {
    {'d', "directory", "DIR", TEXT_VALUE, AT(directory), BATCH_AGGREGATOR,
     "traces in this directory (default: the working directory)"},
    {'o', "output", "FILE", TEXT_VALUE, AT(output), BATCH_AGGREGATOR,
     "write to FILE, which stays unchanged on failure; .gz is appended to its name, - is standard "
     "output (default: aggregated_output.json.gz)"},
    {'o', "output", "FILE", TEXT_VALUE, AT(output), BATCH_CALL_TREE,
     "write to FILE, which stays unchanged on failure; - is standard output (default: "
     "call_tree.pfw)"},
    {'t', "time-interval", "MS", INTERVAL, AT(interval), BATCH_AGGREGATOR,
     "length of a time interval, in milliseconds or with a unit (default: 5000)"},
    {0, "gzip", NULL, FLAG, AT(gzip), BATCH_CALL_TREE,
     "compress the output with gzip, .gz is appended to its name"},
    {0, "index-dir", "DIR", TEXT_VALUE, AT(index_dir), BOTH,
     "directory for indexes, on a local file system; each directory of traces has a subdirectory "
     "there (default: a cache directory of the user)"},
    {0, "staging-dir", "DIR", TEXT_VALUE, AT(staging_dir), BOTH,
     "index of each process in DIR/rank_N instead; ignored if DIR is on a network file system"},
    {0, "keep-staging", NULL, FLAG, AT(keep_staging), BOTH,
     "keep the indexes at the end: the next run reads only files that have changed"},
    {'f', "force", NULL, FLAG, AT(force), BOTH, "rebuild indexes that an earlier run has kept"},
    {0, "executor-threads", "COUNT", COUNT, AT(threads), BOTH,
     "number of threads on each node, which its processes share (default: number of CPUs)"},
    {'v', "verbose", NULL, FLAG, AT(verbose), BOTH, "print what is done, and how long it took"},
    {0, "time-profiling", NULL, FLAG, AT(verbose), BOTH, "same as --verbose"},
    {0, "version", NULL, FLAG, AT(version), BOTH, "print the version"},
    {'h', "help", NULL, FLAG, AT(help), BOTH, "print this help"},
    {0, "shared-staging", "DIR", IGNORED_WITH_VALUE, 0, BATCH_AGGREGATOR, NULL},
    {'c', "checkpoint-size", "BYTES", IGNORED_WITH_VALUE, 0, BOTH, NULL},
    {0, "io-threads", "COUNT", IGNORED_WITH_VALUE, 0, BOTH, NULL},
    {0, "disable-watchdog", NULL, IGNORED, 0, BOTH, NULL},
    {0, "watchdog-global-timeout", "N", IGNORED_WITH_VALUE, 0, BOTH, NULL},
    {0, "watchdog-task-timeout", "N", IGNORED_WITH_VALUE, 0, BOTH, NULL},
    {0, "watchdog-interval", "N", IGNORED_WITH_VALUE, 0, BOTH, NULL},
    {0, "watchdog-warning-threshold", "N", IGNORED_WITH_VALUE, 0, BOTH, NULL},
    {0, "watchdog-idle-timeout", "N", IGNORED_WITH_VALUE, 0, BOTH, NULL},
    {0, "watchdog-deadlock-timeout", "N", IGNORED_WITH_VALUE, 0, BOTH, NULL},
};
enum { ROWS = sizeof rows / sizeof *rows, ROW_BASE = 256 /* above all letters */ };
_Static_assert(ROWS < ROWS_MAX, "raise ROWS_MAX");

/* ---- the command line ------------------------------------------------------------------------ */

struct getopt_table {
    struct option options[ROWS_MAX];
    char letters[2 * ROWS_MAX + 1];
};

/* For each long option, getopt returns the number of its row plus ROW_BASE. */
static void fill_getopt(struct getopt_table *t, unsigned program)
{
    struct option *o = t->options;
    char *letter = t->letters;

    *letter++ = ':';
    for (int i = 0; i < ROWS; i++) {
        if (!(rows[i].programs & program))
            continue;
        *o++ = (struct option){rows[i].name, rows[i].argument != NULL, NULL, ROW_BASE + i};
        if (rows[i].letter)
            *letter++ = rows[i].letter;
        if (rows[i].letter && rows[i].argument)
            *letter++ = ':';
    }
    *letter = '\0';
    *o = (struct option){0};
}

/* Returns NULL if there is no such row. */
static const struct row *find_row(int given, unsigned program)
{
    if (given >= ROW_BASE)
        return &rows[given - ROW_BASE];
    for (int i = 0; i < ROWS; i++)
        if (rows[i].letter == given && rows[i].programs & program)
            return &rows[i];
    return NULL;
}

/* A wrong value is an error even if the option has no effect. */
static int check_number(const struct row *row, const char *value, uint64_t *number, struct err *err)
{
    bool counts = row->kind == COUNT || strcmp(row->argument, "COUNT") == 0 ||
                  strcmp(row->argument, "BYTES") == 0;

    if (num_parse_u64(text_of(value), number) < 0)
        return err_set(err, -EINVAL, "--%s %s: not a number", row->name, value);
    return counts && *number == 0 ? err_set(err, -EINVAL, "--%s must not be 0", row->name) : 0;
}

/* Checks the value like /aggregate, which would only refuse it after all files have been read. */
static int check_interval(const char *value, struct err *err)
{
    int64_t ns;

    if (num_parse_duration(text_of(value), 1000000, &ns) == 0 && ns > 0)
        return 0;
    return err_set(err, -EINVAL, "--time-interval %s: must be a duration such as 5000 or 5s",
                   value);
}

static int set_option(const struct row *row, const char *value, struct batch_settings *s,
                      struct err *err)
{
    void *at = (char *)s + row->at;
    uint64_t ignored;

    switch (row->kind) {
    case TEXT_VALUE:
        *(const char **)at = value;
        return 0;
    case INTERVAL:
        *(const char **)at = value;
        return check_interval(value, err);
    case FLAG:
        *(bool *)at = true;
        return 0;
    case COUNT:
        return check_number(row, value, at, err);
    case IGNORED_WITH_VALUE:
        return strcmp(row->argument, "DIR") == 0 ? 0 : check_number(row, value, &ignored, err);
    case IGNORED:
        break;
    }
    return 0;
}

static int parse_directory(const struct batch_tool *tool, int argc, char **argv,
                           struct batch_settings *s, struct err *err)
{
    if (tool->has_input && optind < argc)
        s->directory = argv[optind++];
    if (optind < argc)
        return err_set(err, -EINVAL, "unexpected argument %s", argv[optind]);
    if (tool->has_input && !s->directory && !s->help && !s->version)
        return err_set(err, -EINVAL, "INPUT is required: a directory of traces");
    return 0;
}

/* Inside a group of letters such as -vz, argv[optind - 1] is an earlier argument. */
static int refuse_option(int given, char **argv, struct err *err)
{
    const char letter[] = {'-', (char)optopt, '\0'};
    const char *name = optopt > 0 && optopt < ROW_BASE ? letter : argv[optind - 1];

    return err_set(err, -EINVAL, given == ':' ? "%s requires an argument" : "unknown option %s",
                   name);
}

int batch_parse(const struct batch_tool *tool, int argc, char **argv, struct batch_settings *ret,
                struct err *err)
{
    struct getopt_table table;
    int given, rc = 0;

    *ret = tool->defaults;
    fill_getopt(&table, tool->program);
    opterr = 0;
    while (rc == 0 && (given = getopt_long(argc, argv, table.letters, table.options, NULL)) != -1) {
        const struct row *row =
            given == ':' || given == '?' ? NULL : find_row(given, tool->program);
        rc = row ? set_option(row, optarg, ret, err) : refuse_option(given, argv, err);
    }
    return rc < 0 ? rc : parse_directory(tool, argc, argv, ret, err);
}

/* ---- help ------------------------------------------------------------------------------------ */

enum { HELP_INDENT = 28, LINE_WIDTH = 100 };

/* Prints words, the first one at `column`; lines that follow begin at `indent`. */
static void print_words(const char *words, size_t column, size_t indent)
{
    while (*words) {
        size_t n = strcspn(words, " ");
        if (column + 1 + n > LINE_WIDTH) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        }
        column += (size_t)printf("%s%.*s", column == indent ? "" : " ", (int)n, words);
        words += n + (words[n] == ' ');
    }
    printf("\n");
}

static void print_row(const struct row *row)
{
    char names[80];
    int n = snprintf(names, sizeof names, "  %c%c%s --%s%s%s", row->letter ? '-' : ' ',
                     row->letter ? row->letter : ' ', row->letter ? "," : " ", row->name,
                     row->argument ? "=" : "", row->argument ? row->argument : "");

    if (n + 2 > HELP_INDENT)
        printf("%s\n%*s", names, HELP_INDENT, "");
    else
        printf("%-*s", HELP_INDENT, names);
    print_words(row->help, HELP_INDENT, HELP_INDENT);
}

void batch_help(const struct batch_tool *tool)
{
    static const char no_effect[] = "Accepted, but without effect:";
    struct buf ignored = {0};

    printf("Usage: mpirun -n N %s %s\n%s\n", tool->name, tool->synopsis, tool->description);
    for (int i = 0; i < ROWS; i++) {
        if (!(rows[i].programs & tool->program))
            continue;
        if (rows[i].help)
            print_row(&rows[i]);
        else if (rows[i].letter)
            buf_printf(&ignored, " -%c --%s", rows[i].letter, rows[i].name);
        else
            buf_printf(&ignored, " --%s", rows[i].name);
    }
    buf_putc(&ignored, '\0');
    printf("%s", no_effect);
    print_words(ignored.error ? "" : ignored.data + 1, sizeof no_effect - 1, 2);
    buf_done(&ignored);
}
