/* options.h - what the daemon was told: one table for the command line and --help (later the configuration file). */
#ifndef DFT_DAEMON_OPTIONS_H
#define DFT_DAEMON_OPTIONS_H

#include "dftracerd/base.h"

#include <stdio.h>

#define OPTIONS_LIST_MAX 64

struct options {
    const char *directory[OPTIONS_LIST_MAX];   /* [LABEL=]DIR                       */
    size_t directory_count;
    const char *bind[OPTIONS_LIST_MAX];
    size_t bind_count;
    uint64_t port;
    const char *unix_path, *index_dir, *token_file, *log_level;
    const char *dimensions;
    uint64_t executor_threads, checkpoint_size;
    uint64_t query_timeout_ms, rescan_ms;
    bool no_auth, check_only, version, help;
};
/* 0, or -EINVAL with the reason. Texts are borrowed from argv. */
int options_parse(struct options *o, int argc, char **argv, struct err *err);
void options_help(FILE *out, const char *program);

#endif
