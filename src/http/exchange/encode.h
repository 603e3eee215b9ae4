/* encode.h - Content-Encoding of streams: gzip (one member) or zstd (one frame), finished only on
 * success. Used by exchange.c for streams, by the server for texts that never change.
 * Threads: one at a time for each encoder. */
#ifndef DFTRACERD_HTTP_EXCHANGE_ENCODE_H
#define DFTRACERD_HTTP_EXCHANGE_ENCODE_H

#include "http/request/negotiate.h"

/* Default level of gzip and zstd: low, because the wire is a loopback or a LAN, and queries share
 * the CPU. */
#define ENCODER_LEVEL 1

struct encoder;
int encoder_new(enum coding coding, int level, struct encoder **ret);
void encoder_free(struct encoder *e);
/* MORE: the encoder may keep bytes, but no longer than 150 ms (rows of a stream reach the client at
 * least five times a second); FLUSH: all of it is to reach the client; FINISH: the last piece. */
enum encode_end { ENCODE_MORE, ENCODE_FLUSH, ENCODE_FINISH };
/* Appends the coded form of `in`. Returns 0 or -ENOMEM. */
int encoder_put(struct encoder *e, struct text in, enum encode_end end, struct buf *out);

#endif
