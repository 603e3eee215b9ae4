/* option_table.h - the table of options, private to options.h. */
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
/* Later levels override earlier ones. */
enum option_level { LEVEL_DEFAULT, LEVEL_FILE, LEVEL_ENVIRONMENT, LEVEL_LINE };
enum {
    OPTION_OLD = 1,       /* dftracer_server accepts it, too */
    OPTION_ONLY_LINE = 2, /* not allowed in a file or the environment */
    OPTION_LIVE = 4,      /* a reload (SIGHUP) applies a new value */
    OPTION_NO_ENV = 8,
    OPTION_HIDDEN = 16,
    OPTION_NOT_IN_FILE = 32,
    OPTION_HOST = 64,      /* a list of values of the header Host */
    OPTION_ORIGIN = 128,   /* a list of values of the header Origin */
    OPTION_ONLY_OLD = 256, /* only dftracer_server accepts it */
};
struct option_spec {
    const char *name;
    char letter;
    enum option_kind kind;
    size_t at; /* offset of the member in struct options */
    uint64_t min, max;
    unsigned flags;
    const char *argument;
    const char *initial;   /* default value, or NULL */
    const char *otherwise; /* description of the default, or NULL */
    const char *help;      /* one line */
    const char *more;      /* more text for the manual, or NULL */
};
extern const struct option_spec option_table[];
extern const size_t option_count;

/* Returns whether the program has this option under the name with which it was started. */
static inline bool option_is_taken(const struct options *o, const struct option_spec *s)
{
    return !!(s->flags & (o->as_server ? OPTION_OLD : OPTION_ONLY_OLD)) == o->as_server;
}
/* Returns the index in the table, -1 if there is no such option. */
int option_find(struct text name);
/* Sets a value, and replaces that of a lower level; values of a list are added to those of the same
 * level. Callers begin with the lowest level. `from` (kept) names the source in messages, NULL for
 * the command line. */
int option_set(struct options *o, size_t i, enum option_level level, const char *from,
               const char *value, struct err *err);
/* Reads yes or no, or a word that means the same. Returns false for others. */
bool option_read_flag(const char *value, bool *ret);
/* Returns a copy of a text that `o` owns; NULL without memory. */
const char *option_keep(struct options *o, struct text t);
/* Writes the name of its variable, such as "DFTRACERD_QUERY_TIMEOUT". */
void option_variable(const struct option_spec *s, char *ret, size_t size);

/* option_name.c: returns why no request can have this value, or NULL. */
const char *option_check_host(const char *value);
const char *option_check_origin(const char *value);

/* option_file.c */
/* Reads every `key = value` of a file. */
int option_read_file(struct options *o, const char *path, struct err *err);
/* Returns the file to read without --config, or NULL. */
const char *option_default_file(struct options *o);
const char *option_system_file(void);

#endif
