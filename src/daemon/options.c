/* options.c - reads the options from all sources, those of lowest priority first. */
#include "config.h"

#include "daemon/option_table.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define GIVEN_MAX 512

/* Options of the command line. They are read first, since one may name the file, and applied
 * last. */
struct given {
    size_t count;
    struct {
        size_t option;
        const char *value;
    } items[GIVEN_MAX];
};

/* Options of the old command that have no effect here. */
enum { WITHOUT_EFFECT = 255 };
static const struct option without_effect[] = {
    {"io-threads", required_argument, NULL, WITHOUT_EFFECT},
    {"member-cache-size", required_argument, NULL, WITHOUT_EFFECT},
    {"timeout", required_argument, NULL, WITHOUT_EFFECT},
    {"time-profiling", no_argument, NULL, WITHOUT_EFFECT},
    {"disable-watchdog", no_argument, NULL, WITHOUT_EFFECT},
    {"watchdog-global-timeout", required_argument, NULL, WITHOUT_EFFECT},
    {"watchdog-task-timeout", required_argument, NULL, WITHOUT_EFFECT},
    {"watchdog-interval", required_argument, NULL, WITHOUT_EFFECT},
    {"watchdog-warning-threshold", required_argument, NULL, WITHOUT_EFFECT},
    {"watchdog-idle-timeout", required_argument, NULL, WITHOUT_EFFECT},
    {"watchdog-deadlock-timeout", required_argument, NULL, WITHOUT_EFFECT},
};
enum { WITHOUT_EFFECT_COUNT = sizeof without_effect / sizeof *without_effect };

void options_without_effect(FILE *out)
{
    for (size_t i = 0; i < WITHOUT_EFFECT_COUNT; i++)
        fprintf(out, " --%s", without_effect[i].name);
}

/* Converts the table to the two forms of getopt. A flag may be turned off: --no-auth=no. */
static void make_getopt(const struct options *o, struct option *longs, char *shorts)
{
    *shorts++ = ':';
    for (size_t i = 0; i < option_count; i++) {
        const struct option_spec *s = &option_table[i];
        bool argument = s->kind != OPTION_FLAG;
        if (!option_is_taken(o, s))
            continue;
        *longs++ = (struct option){s->name, argument ? required_argument : optional_argument, NULL,
                                   (int)(256 + i)};
        if (s->letter) {
            *shorts++ = s->letter;
            if (argument)
                *shorts++ = ':';
        }
    }
    for (size_t i = 0; o->as_server && i < WITHOUT_EFFECT_COUNT; i++)
        *longs++ = without_effect[i];
    *longs = (struct option){0};
    *shorts = '\0';
}

static int index_of(int c)
{
    if (c >= 256)
        return c - 256;
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].letter == c)
            return (int)i;
    return -1;
}

/* Inside a group of letters such as -nz, argv[optind - 1] is an earlier argument. */
static int refuse_option(int given, char **argv, struct err *err)
{
    const char letter[] = {'-', (char)optopt, '\0'};
    const char *name = optopt > 0 && optopt < WITHOUT_EFFECT ? letter : argv[optind - 1];

    return err_set(err, -EINVAL, given == ':' ? "%s requires an argument" : "unknown option %s",
                   name);
}

static int read_line_options(const struct options *o, int argc, char **argv, struct given *g,
                             struct err *err)
{
    struct option longs[OPTIONS_MAX + WITHOUT_EFFECT_COUNT + 1];
    char shorts[2 * OPTIONS_MAX + 2];
    make_getopt(o, longs, shorts);
    opterr = 0;
    optind = 0;
    for (int c; (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
        if (c == WITHOUT_EFFECT)
            continue;
        int i = c == '?' || c == ':' ? -1 : index_of(c);
        if (i < 0)
            return refuse_option(c, argv, err);
        if (g->count == GIVEN_MAX)
            return err_set(err, -E2BIG, "too many options");
        g->items[g->count].option = (size_t)i;
        g->items[g->count++].value = optarg ? optarg : "yes";
    }
    if (optind < argc)
        return err_set(err, -EINVAL, "unexpected argument %s", argv[optind]);
    return 0;
}

static const char *given_value(const struct given *g, const char *name)
{
    const char *value = NULL;
    for (size_t i = 0; i < g->count; i++)
        if (strcmp(option_table[g->items[i].option].name, name) == 0)
            value = g->items[i].value;
    return value;
}

static int read_environment(struct options *o, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < option_count && rc == 0; i++) {
        char name[64];
        option_variable(&option_table[i], name, sizeof name);
        bool may = !(option_table[i].flags & (OPTION_ONLY_LINE | OPTION_NO_ENV));
        const char *value = may ? getenv(name) : NULL;
        if (!value || !*value)
            continue;
        const char *from = option_keep(o, text_of(name));
        struct text rest = text_of(value), part;
        /* the environment separates values by commas */
        bool list = option_table[i].kind == OPTION_LIST;
        rc = from ? 0 : -ENOMEM;
        while (rc == 0 && text_split(&rest, list ? ',' : '\0', &part)) {
            const char *kept = option_keep(o, part);
            rc = kept ? option_set(o, i, LEVEL_ENVIRONMENT, from, kept, err) : -ENOMEM;
        }
    }
    return rc;
}

static int complete(struct options *o, struct err *err)
{
    size_t directory = (size_t)option_find(TEXT("directory"));
    size_t bind = (size_t)option_find(TEXT("bind"));
    int rc = 0;
    if (o->as_server && !o->bind.count)
        rc = option_set(o, bind, LEVEL_DEFAULT, "default", "127.0.0.1", err);
    if (rc == 0 && o->as_server && !o->directory.count && !o->help && !o->version)
        rc = err_set_param(err, -EINVAL, "directory", "-d DIR is required");
    if (rc == 0 && !o->directory.count)
        rc = option_set(o, directory, LEVEL_DEFAULT, "default", ".", err);
    if (o->as_server) { /* where the client expects it */
        o->index_base = o->index_dir;
        o->index_dir = NULL;
    }
    if (o->print_config || o->doctor)
        o->check_only = true;
    return rc;
}

/* The old command reads neither file nor environment, so scripts that call it get what they
 * specify. */
int options_parse(struct options *o, int argc, char **argv, struct err *err)
{
    struct given g = {0};
    const char *slash = argv[0] ? strrchr(argv[0], '/') : NULL, *name = slash ? slash + 1 : argv[0];
    *o = (struct options){.as_server = name && strcmp(name, "dftracer_server") == 0};
    int rc = read_line_options(o, argc, argv, &g, err);
    const char *doctor = given_value(&g, "doctor");
    if (doctor) /* it reports also why reading the rest fails */
        option_read_flag(doctor, &o->doctor);
    for (size_t i = 0; i < option_count && rc == 0; i++)
        if (option_table[i].initial)
            rc = option_set(o, i, LEVEL_DEFAULT, "default", option_table[i].initial, err);
    if (rc == 0 && !o->as_server) {
        const char *path = given_value(&g, "config");
        if (!path)
            path = getenv("DFTRACERD_CONFIG");
        if (!path || !*path)
            path = option_default_file(o);
        rc = path ? option_read_file(o, path, err) : 0;
    }
    if (rc == 0 && !o->as_server)
        rc = read_environment(o, err);
    for (size_t i = 0; i < g.count && rc == 0; i++)
        rc = option_set(o, g.items[i].option, LEVEL_LINE, NULL, g.items[i].value, err);
    return rc < 0 ? rc : complete(o, err);
}

bool options_given(const struct options *o, const char *name)
{
    return o->level[option_find(text_of(name))] != LEVEL_DEFAULT;
}

bool options_are_relative(const struct options *o)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option_spec *s = &option_table[i];
        bool is_path = s->kind == OPTION_TEXT && s->argument &&
                       (strcmp(s->argument, "PATH") == 0 || strcmp(s->argument, "FILE") == 0 ||
                        strcmp(s->argument, "DIR") == 0);
        const char *value = is_path ? *(const char *const *)((const char *)o + s->at) : NULL;
        if (value && *value && *value != '/')
            return true;
    }
    return false;
}

/* ---- reload ---------------------------------------------------------------------------------- */

static bool same_value(const struct options *a, const struct options *b, size_t i)
{
    const struct option_spec *s = &option_table[i];
    if (s->kind == OPTION_FLAG)
        return *(const bool *)((const char *)a + s->at) == *(const bool *)((const char *)b + s->at);
    if (s->kind != OPTION_LIST)
        return text_eq(text_of(a->value[i]), text_of(b->value[i]));
    const struct option_list *x = (const void *)((const char *)a + s->at),
                             *y = (const void *)((const char *)b + s->at);
    bool same = x->count == y->count;
    for (size_t k = 0; same && k < x->count; k++)
        same = strcmp(x->items[k], y->items[k]) == 0;
    return same;
}

static bool is_setting(const struct option_spec *s)
{
    static const char *const others[] = {"directory", "index-dir", "index-base",
                                         "executor-threads"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(s->name, others[i]) == 0)
            return false;
    return true;
}

void options_settings(const struct options *o, struct buf *ret)
{
    buf_printf(ret, "%s %s\n", DFT_VERSION, DFT_BUILD_SUMMARY);
    for (size_t i = 0; i < option_count; i++) {
        const struct option_spec *s = &option_table[i];
        const struct option_list *list = (const void *)((const char *)o + s->at);
        if (!is_setting(s) || o->level[i] == LEVEL_DEFAULT)
            continue;
        for (size_t k = 0; s->kind == OPTION_LIST && k < list->count; k++)
            buf_printf(ret, "%s=%s\n", s->name, list->items[k]);
        if (s->kind != OPTION_LIST)
            buf_printf(ret, "%s=%s\n", s->name, o->value[i] ? o->value[i] : "");
    }
}

void options_need_restart(const struct options *now, const struct options *next, struct buf *ret)
{
    for (size_t i = 0; i < option_count; i++)
        if (!(option_table[i].flags & OPTION_LIVE) && !same_value(now, next, i))
            buf_printf(ret, "%s%s", ret->len ? "," : "", option_table[i].name);
}
