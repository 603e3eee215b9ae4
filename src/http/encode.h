/* encode.h - Content-Encoding of streams: gzip (one member) or zstd (one frame), finished only on success. */
#ifndef DFT_HTTP_ENCODE_H
#define DFT_HTTP_ENCODE_H

#include "negotiate.h"

struct encoder;
int encoder_new(enum coding coding, struct encoder **ret);
void encoder_free(struct encoder *e);
/* Appends the coded form of `in`. Flushes when 150 ms have passed since the last flush, so that rows that trickle reach
 * the client at least five times a second. `finish`: the last piece. 0, -ENOMEM. */
int encoder_put(struct encoder *e, struct text in, bool finish, struct buf *out);

#endif
