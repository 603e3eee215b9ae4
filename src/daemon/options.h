/* options.h - the settings of the daemon: the command line overrides the environment, which
 * overrides the configuration file. */
#ifndef DFTRACERD_DAEMON_OPTIONS_H
#define DFTRACERD_DAEMON_OPTIONS_H

#include "dftracerd/base.h"

#include <stdio.h>

#define OPTIONS_LIST_MAX 64
#define OPTIONS_MAX 64

struct option_list {
    const char *items[OPTIONS_LIST_MAX];
    size_t count;
};
struct options {
    struct option_list directory;  /* [LABEL=]DIR */
    struct option_list bind;       /* empty: the default addresses */
    struct option_list allow_user; /* names or numbers of users */
    struct option_list allow_host, allow_origin;
    const char *config, *unix_path, *index_dir, *index_base, *token_file, *admin_token_file,
        *tls_cert, *tls_key, *tls_client_ca, *log_level, *dimensions;
    const char *token;    /* token of dftracer_server */
    const char *document; /* hidden: argument of options_document() */
    uint64_t port, executor_threads, checkpoint_size, max_index_size, map_size, archive_traces;
    /* idle_exit_ms: 0 = never */
    uint64_t query_timeout_ms, rescan_ms, settle_ms, keep_missing_ms, idle_exit_ms;
    uint64_t drain_time_ms;
    const char *output_dir;
    uint64_t spool_size;
    uint64_t query_memory, total_memory, answer_memory, max_queries, max_queue, max_connections;
    uint64_t client_queries, client_memory, client_connections, request_time_ms, idle_time_ms,
        link_time_ms;
    bool no_auth, insecure, file_permissions, no_tcp, on_demand, background, join, check_only,
        print_config, doctor, version, help;
    bool as_server; /* started with the name dftracer_server */

    /* For each row of the table: the source of the value (0 = default), its name, and the value as
     * written. */
    unsigned char level[OPTIONS_MAX];
    const char *from[OPTIONS_MAX], *value[OPTIONS_MAX];
    char **owned; /* texts from files and the environment */
    size_t owned_count;
};
/* Returns 0; -EINVAL with the reason; -ENOENT and the like for the configuration file; or -ENOMEM.
 * Texts may be borrowed from argv. Without --config, the user's own file is read, or, by root, that
 * of the system, if it exists. dftracer_server reads neither files nor the environment. */
int options_parse(struct options *o, int argc, char **argv, struct err *err);
void options_done(struct options *o);

/* Returns whether a source has set the value; otherwise it is the default. */
bool options_given(const struct options *o, const char *name);
/* Returns whether the value of an option is a relative path. */
bool options_are_relative(const struct options *o);

/* Checks that a socket can be created at this path (may be NULL), or that there is one already.
 * Returns -errno with the reason. */
int options_check_unix(const char *path, struct err *err);
/* Calls `warn` for unknown variables DFTRACERD_* that resemble a known one. */
void options_misspelt(void (*warn)(const char *name, const char *meant));

/* Writes what must be equal in two daemons that can replace each other: version and options, except
 * for directories, the directory of the index and the number of threads. One line each. */
void options_settings(const struct options *o, struct buf *ret);
/* Compares two sets of options: writes the names of those that differ and require a restart,
 * comma-separated. */
void options_need_restart(const struct options *now, const struct options *next, struct buf *ret);

void options_help(FILE *out, const struct options *o);
/* Prints the names of options that dftracer_server accepts without effect, each after a blank. */
void options_without_effect(FILE *out);
/* Prints the effective configuration as a configuration file, with the source of each value. */
void options_print(FILE *out, const struct options *o);
/* Writes "man8", "man5" or "conf", the committed texts that are generated from the table; returns
 * -EINVAL for others. */
int options_document(FILE *out, const char *what);

#endif
