/* output.h - the output file of a batch program: it is complete, or as it was before.
 *
 * Used by:   batch.c.
 * Threads:   one at a time.
 */
#ifndef DFTRACERD_MPI_OUTPUT_H
#define DFTRACERD_MPI_OUTPUT_H

#include "dftracerd/base.h"

struct output;
/* Opens an output file. `path`: "-" is standard output; .gz is appended to the name of a compressed
 * file. A device or FIFO is written directly. *new*; returns -errno with the reason, or -ENOMEM. */
int output_open(const char *path, bool gzip, unsigned threads, struct err *err,
                struct output **ret);
int output_write(struct output *o, struct text bytes, struct err *err);
/* Completes the file and renames it to its final name. Only output_free may follow. */
int output_finish(struct output *o, struct err *err);
const char *output_name(const struct output *o); /* borrowed until output_free */
void output_free(struct output *o);              /* NULL-safe; removes an incomplete file */

#endif
