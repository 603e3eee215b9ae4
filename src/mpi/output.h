/* output.h - the file that a batch program writes: complete, or as it was before.
 *
 * Used by:   batch.c.
 * Threads:   one at a time.
 */
#ifndef DFTRACERD_MPI_OUTPUT_H
#define DFTRACERD_MPI_OUTPUT_H

#include "dftracerd/base.h"

struct output;
/* `path`: "-" is standard output; .gz is appended to the name of a compressed file. A device is
 * written as it is. -errno with the reason, -ENOMEM. *new*. */
int output_open(const char *path, bool gzip, unsigned threads, struct err *err,
                struct output **ret);
int output_write(struct output *o, struct text bytes, struct err *err);
/* From now on the file has its name. Nothing may follow but output_free. */
int output_finish(struct output *o, struct err *err);
const char *output_name(const struct output *o); /* borrowed until output_free */
void output_free(struct output *o);              /* NULL-safe; removes what is not finished */

#endif
