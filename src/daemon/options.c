/* options.c - the option table and the two things made from it: parsing and --help. */
#include "options.h"

#include <getopt.h>
#include <string.h>

enum kind { KIND_FLAG, KIND_TEXT, KIND_LIST, KIND_UINT, KIND_BYTES, KIND_MS };
struct option_spec {
    const char *name;
    char letter;
    enum kind kind;
    size_t at; /* of the member in struct options             */
    uint64_t least, most;
    const char *argument, *help;
};
#define AT(member) offsetof(struct options, member)

static const struct option_spec table[] = {
    {"directory", 'd', KIND_LIST, AT(directory), 0, 0, "[LABEL=]DIR",
     "directory of traces to serve; repeatable (default .)"},
    {"bind", 'b', KIND_LIST, AT(bind), 0, 0, "ADDRESS",
     "address to listen on; repeatable (default 127.0.0.1 and ::1)"},
    {"port", 'p', KIND_UINT, AT(port), 0, 65535, "PORT",
     "TCP port; 0 takes a free one (default 8080)"},
    {"unix", 'u', KIND_TEXT, AT(unix_path), 0, 0, "PATH", "also listen on this unix socket"},
    {"index-dir", 'i', KIND_TEXT, AT(index_dir), 0, 0, "DIR",
     "where the index goes (default: a local cache directory)"},
    {"executor-threads", 't', KIND_UINT, AT(executor_threads), 1, 1024, "N",
     "threads for indexing and queries (default: CPUs)"},
    {"checkpoint-size", 0, KIND_BYTES, AT(checkpoint_size), 65536, 1ull << 30, "BYTES",
     "text of a chunk (default 4MiB)"},
    {"dimensions", 0, KIND_TEXT, AT(dimensions), 0, 0, "LIST",
     "columns with bloom filters, comma-separated"},
    {"query-timeout", 0, KIND_MS, AT(query_timeout_ms), 1, 1ull << 40, "TIME",
     "longest time of a query (default 5m)"},
    {"rescan", 0, KIND_MS, AT(rescan_ms), 10, 1ull << 40, "TIME",
     "how often the directories are read (default 2s)"},
    {"token-file", 0, KIND_TEXT, AT(token_file), 0, 0, "FILE",
     "bearer token for peers of other users"},
    {"no-auth", 0, KIND_FLAG, AT(no_auth), 0, 0, NULL,
     "serve every user of this host, without a token"},
    {"log-level", 0, KIND_TEXT, AT(log_level), 0, 0, "LEVEL",
     "error, warning, info or debug (default info)"},
    {"check", 'n', KIND_FLAG, AT(check_only), 0, 0, NULL,
     "check the options and directories, then exit"},
    {"version", 'V', KIND_FLAG, AT(version), 0, 0, NULL, "print version and build, then exit"},
    {"help", 'h', KIND_FLAG, AT(help), 0, 0, NULL, "print this text, then exit"},
};
#define COUNT (sizeof table / sizeof *table)

static int bad(struct err *err, const struct option_spec *s, const char *value, const char *why)
{
    return err_set_param(err, -EINVAL, s->name, "--%s %s: %s", s->name, value, why);
}

static int set_number(struct options *o, const struct option_spec *s, const char *value,
                      struct err *err)
{
    uint64_t n = 0;
    int64_t ns;
    struct text t = text_of(value);
    int rc;
    if (s->kind == KIND_UINT) {
        rc = num_parse_u64(t, &n);
    } else if (s->kind == KIND_BYTES) {
        rc = num_parse_bytes(t, &n);
    } else {
        rc = num_parse_duration(t, 1000000, &ns);
        n = rc == 0 && ns > 0 ? (uint64_t)ns / 1000000 : 0;
    }
    if (rc < 0)
        return bad(err, s, value, s->kind == KIND_MS ? "not a duration" : "not a number");
    if (n < s->least || n > s->most)
        return bad(err, s, value, "out of range");
    *(uint64_t *)(void *)((char *)o + s->at) = n;
    return 0;
}

static int add_to_list(struct options *o, const struct option_spec *s, const char *value,
                       struct err *err)
{
    bool directory = s->at == AT(directory);
    size_t *count = directory ? &o->directory_count : &o->bind_count;
    if (*count == OPTIONS_LIST_MAX)
        return bad(err, s, value, "given too often");
    (directory ? o->directory : o->bind)[(*count)++] = value;
    return 0;
}

static int set_option(struct options *o, const struct option_spec *s, const char *value,
                      struct err *err)
{
    switch (s->kind) {
    case KIND_FLAG:
        *(bool *)((char *)o + s->at) = true;
        return 0;
    case KIND_TEXT:
        *(const char **)(void *)((char *)o + s->at) = value;
        return 0;
    case KIND_LIST:
        return add_to_list(o, s, value, err);
    default:
        return set_number(o, s, value, err);
    }
}

/* getopt's two forms of the table. */
static void make_getopt(struct option *longs, char *shorts)
{
    *shorts++ = ':';
    for (size_t i = 0; i < COUNT; i++) {
        bool argument = table[i].kind != KIND_FLAG;
        longs[i] = (struct option){table[i].name, argument ? required_argument : no_argument, NULL,
                                   (int)(256 + i)};
        if (table[i].letter) {
            *shorts++ = table[i].letter;
            if (argument)
                *shorts++ = ':';
        }
    }
    *shorts = '\0';
}

static const struct option_spec *spec_of(int c)
{
    if (c >= 256)
        return &table[c - 256];
    for (size_t i = 0; i < COUNT; i++)
        if (table[i].letter == c)
            return &table[i];
    return NULL;
}

int options_parse(struct options *o, int argc, char **argv, struct err *err)
{
    struct option longs[COUNT + 1] = {{0}};
    char shorts[2 * COUNT + 2];
    *o = (struct options){.port = 8080, .rescan_ms = 2000};
    make_getopt(longs, shorts);
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
        const struct option_spec *s = c == '?' || c == ':' ? NULL : spec_of(c);
        if (!s)
            return err_set(err, -EINVAL, c == ':' ? "%s needs an argument" : "unknown option %s",
                           argv[optind - 1]);
        int rc = set_option(o, s, optarg, err);
        if (rc < 0)
            return rc;
    }
    if (optind < argc)
        return err_set(err, -EINVAL, "unexpected argument %s", argv[optind]);
    if (!o->directory_count)
        o->directory[o->directory_count++] = ".";
    return 0;
}

void options_help(FILE *out, const char *program)
{
    fprintf(out,
            "Usage: %s [-d [LABEL=]DIR]... [OPTION]...\n"
            "Serves DFTracer traces over HTTP: indexes them in the background, answers /info, "
            "/stats, /view.\n\n",
            program);
    for (size_t i = 0; i < COUNT; i++) {
        char left[64];
        const struct option_spec *s = &table[i];
        snprintf(left, sizeof left, "--%s%s%s", s->name, s->argument ? " " : "",
                 s->argument ? s->argument : "");
        if (s->letter)
            fprintf(out, "  -%c, %-28s %s\n", s->letter, left, s->help);
        else
            fprintf(out, "      %-28s %s\n", left, s->help);
    }
    fprintf(out, "\nThe index is a cache: it can be removed at any time. Nothing is ever written "
                 "into a trace directory.\n");
}
