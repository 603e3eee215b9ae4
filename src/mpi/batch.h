/* batch.h - programs that answer one request and end: all ranks open an index and read the traces
 * of a directory into it, and rank 0 writes the answer to a file.
 *
 *   rank 0                                           another rank
 *   batch_options.c: arguments                       the same
 *   batch.c: index, scan of the directory            index (worker.c)
 *            wait for the files, request
 *   output.c: bytes to the file
 *
 * Used by:   the programs in this folder.
 * Threads:   the main thread.
 */
#ifndef DFTRACERD_MPI_BATCH_H
#define DFTRACERD_MPI_BATCH_H

#include "mpi/rank.h"

/* A row of the table of options is for one of these programs, or for both. */
enum batch_program { BATCH_AGGREGATOR = 1, BATCH_CALL_TREE = 2 };

/* Settings from the command line. Texts are borrowed from argv. */
struct batch_settings {
    const char *directory, *output, *interval, *index_dir, *staging_dir;
    uint64_t threads;
    bool force, gzip, verbose, keep_staging, help, version;
};

struct batch_tool {
    enum batch_program program;
    const char *name;
    const char *synopsis;    /* of --help, after the name */
    const char *description; /* of --help */
    /* folder for the indexes of the ranks, below the directory for indexes */
    const char *staging;
    bool has_input; /* an argument names the directory */
    struct batch_settings defaults;
    /* Appends the request without the selection of files: "/stats?format=csv". */
    void (*put_request)(const struct batch_settings *s, struct buf *out);
};

/* Runs the whole program. Returns the exit status: 0 or 1. */
int batch_main(const struct batch_tool *tool, int argc, char **argv);
/* Appends "name=value", escaped as in a URL. */
void batch_put_parameter(struct buf *out, const char *name, const char *value);

/* batch_options.c: returns 0, or -EINVAL with the reason. */
int batch_parse(const struct batch_tool *tool, int argc, char **argv, struct batch_settings *ret,
                struct err *err);
void batch_help(const struct batch_tool *tool);

#endif
