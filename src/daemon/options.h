/* options.h - the settings of the daemon: command line over environment over configuration file
 * over defaults. */
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
    struct option_list bind;       /* none: the default addresses */
    struct option_list allow_user; /* names or numbers */
    struct option_list allow_host, allow_origin;
    const char *config, *unix_path, *index_dir, *index_base, *token_file, *admin_token_file,
        *tls_cert, *tls_key, *tls_client_ca, *log_level, *dimensions;
    const char *token;    /* of dftracer_server */
    const char *document; /* hidden: what options_document() is to write */
    uint64_t port, executor_threads, checkpoint_size, max_index_size, map_size, archive_traces;
    /* idle_exit_ms 0 = never */
    uint64_t query_timeout_ms, rescan_ms, settle_ms, keep_missing_ms, idle_exit_ms;
    uint64_t drain_time_ms;
    const char *output_dir;
    uint64_t spool_size;
    uint64_t query_memory, total_memory, answer_memory, max_queries, max_queue, max_connections;
    uint64_t client_queries, client_memory, client_connections, request_time_ms, idle_time_ms,
        link_time_ms;
    bool no_auth, insecure, file_permissions, no_tcp, on_demand, background, join, check_only,
        print_config, doctor, version, help;
    bool as_server; /* started under the name dftracer_server */

    /* By place in the table: which source decided (0 = default), its name and the value as it was
     * written. */
    unsigned char level[OPTIONS_MAX];
    const char *from[OPTIONS_MAX], *value[OPTIONS_MAX];
    char **owned; /* texts that came from files and the environment */
    size_t owned_count;
};
/* 0; -EINVAL with the reason, -ENOENT and the like for the configuration file, -ENOMEM. Texts may
 * be borrowed from argv. Without --config: the user's own file, else that of the system, where it
 * exists. */
int options_parse(struct options *o, int argc, char **argv, struct err *err);
void options_done(struct options *o);

/* Whether a value was given somewhere; otherwise it is the default. */
bool options_given(const struct options *o, const char *name);

/* Whether a socket can be made there, or one is there already; NULL is fine. -errno, with the
 * reason. */
int options_check_unix(const char *path, struct err *err);
/* Variables DFTRACERD_* that mean nothing and look like one that does. */
void options_misspelt(void (*tell)(const char *name, const char *meant));

/* What two daemons have in common that may serve in place of each other: version and options, but
 * for directories, the place of the index and the number of threads. A line each. */
void options_settings(const struct options *o, struct buf *ret);
/* Compares two readings: names of options that differ and wait for a restart, comma-separated. */
void options_need_restart(const struct options *now, const struct options *next, struct buf *ret);

void options_help(FILE *out, const struct options *o);
/* The names of options that dftracer_server accepts without effect, each after a blank. */
void options_without_effect(FILE *out);
/* The effective configuration, as a file that can be read again, with the source of each value. */
void options_print(FILE *out, const struct options *o);
/* "man8", "man5" or "conf": the committed texts that are made from the table; -EINVAL for others.
 */
int options_document(FILE *out, const char *what);

#endif
