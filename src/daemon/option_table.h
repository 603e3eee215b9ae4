/* option_table.h - the table behind options.h. */
#ifndef DFTRACERD_DAEMON_OPTION_TABLE_H
#define DFTRACERD_DAEMON_OPTION_TABLE_H

#include "daemon/options.h"

enum option_kind {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_CHOICE, /* the argument lists the words: a|b|c */
    OPTION_LIST,   /* repeatable */
    OPTION_UINT,
    OPTION_BYTES,
    OPTION_MS,
};
/* Later ones win. */
enum option_level { LEVEL_DEFAULT, LEVEL_FILE, LEVEL_ENVIRONMENT, LEVEL_LINE };
enum {
    OPTION_OLD = 1,       /* dftracer_server takes it, too */
    OPTION_ONLY_LINE = 2, /* means nothing in a file or the environment */
    OPTION_LIVE = 4,      /* SIGHUP takes a new value over */
    OPTION_NO_ENV = 8,
    OPTION_HIDDEN = 16,
    OPTION_NOT_IN_FILE = 32,
    OPTION_HOST = 64,      /* a list of names that requests are for */
    OPTION_ORIGIN = 128,   /* a list of what browsers send as Origin */
    OPTION_ONLY_OLD = 256, /* only dftracer_server takes it */
};
struct option_spec {
    const char *name;
    char letter;
    enum option_kind kind;
    size_t at; /* of the member in struct options */
    uint64_t least, most;
    unsigned flags;
    const char *argument;
    const char *initial;   /* set before anything else, or NULL */
    const char *otherwise; /* in words, what happens without it, or NULL */
    const char *help;      /* one line */
    const char *more;      /* for the manual, or NULL */
};
extern const struct option_spec option_table[];
extern const size_t option_count;

/* Whether the program has the option under the name that it was started with. */
static inline bool option_is_taken(const struct options *o, const struct option_spec *s)
{
    return !!(s->flags & (o->as_server ? OPTION_OLD : OPTION_ONLY_OLD)) == o->as_server;
}
/* Index in the table, -1 when there is none. */
int option_find(struct text name);
/* Takes a value over unless a higher level has spoken; a list of a lower level is replaced. `from`
 * (kept) names the source in messages, NULL for the command line. */
int option_set(struct options *o, size_t i, enum option_level level, const char *from,
               const char *value, struct err *err);
/* *owned* copy of a text, NULL without memory. */
const char *option_keep(struct options *o, struct text t);
/* "DFTRACERD_QUERY_TIMEOUT" */
void option_variable(const struct option_spec *s, char *ret, size_t size);

/* option_name.c: why no request can ever have this, or NULL */
const char *option_check_host(const char *value);
const char *option_check_origin(const char *value);

/* option_file.c */
/* Every `key = value` of a file. */
int option_read_file(struct options *o, const char *path, struct err *err);
/* The file to read without --config, or NULL. */
const char *option_default_file(struct options *o);
const char *option_system_file(void);

#endif
