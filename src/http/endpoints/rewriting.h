/* rewriting.h - the common part of requests whose answer is new traces: their parameters, and the
 * transfer from an archive writer to the client. */
#ifndef DFTRACERD_HTTP_ENDPOINTS_REWRITING_H
#define DFTRACERD_HTTP_ENDPOINTS_REWRITING_H

#include "http/request/endpoint.h"

#include "dftracerd/rewrite.h"

#define COMPRESS_PARAM(fallback_) \
    PARAM("compress", TEXT, "gzip level 0-9, 0 = uncompressed; true = 5, false = 0", \
          .fallback = fallback_)
/* A minimum, because very small files are of no use and each takes memory. */
#define CHUNK_SIZE_PARAM(help_, fallback_, ...) \
    PARAM("chunk_size", BYTES, help_, .fallback = fallback_, .min = 4096, ##__VA_ARGS__)
/* output, force */
extern const struct param_spec rewriting_params[];

struct rewriting {
    struct archive_writer *archive_writer;
    bool done; /* step() has returned ERR_END */
};
/* Reads the level of `compress`. Returns 0 or ERR_PARAM. */
int rewriting_level(struct request *rq, int *ret);
/* Opens the archive writer: a body if the format is pfw, a tar, or with `output` a directory,
 * whose answer is the manifest as JSON. Returns 0, ERR_PARAM, ERR_FORMAT, -EPERM if the daemon
 * may not write here, or an error of archive_writer_dir_new. */
int rewriting_open(struct request *rq, struct rewriting *w);
/* For next(): sends what is ready, or else calls step(), which works for about 50 ms and returns
 * ERR_END when it is done. Then manifest() returns the answer of a request with `output`. */
int rewriting_next(struct request *rq, struct rewriting *w, int (*step)(struct request *rq),
                   struct text (*manifest)(const struct request *rq), struct buf *out);
/* Call it after the writer that uses the archive writer has been closed. */
void rewriting_close(struct rewriting *w);

#endif
