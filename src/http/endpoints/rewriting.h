/* rewriting.h - what requests share whose answer is new traces: the parameters, and the way from an
 * outlet to the client. */
#ifndef DFTRACERD_HTTP_ENDPOINTS_REWRITING_H
#define DFTRACERD_HTTP_ENDPOINTS_REWRITING_H

#include "http/request/endpoint.h"

#include "dftracerd/rewrite.h"

#define COMPRESS_PARAM(fallback_) \
    PARAM("compress", TEXT, "gzip level 0-9, 0 = uncompressed; true = 5, false = 0", \
          .fallback = fallback_)
/* Many small files are no use to anybody, and each takes memory. */
#define CHUNK_SIZE_PARAM(help_, fallback_, ...) \
    PARAM("chunk_size", BYTES, help_, .fallback = fallback_, .min = 4096, ##__VA_ARGS__)
/* output, force */
extern const struct param_spec rewriting_params[];

struct rewriting {
    struct outlet *outlet;
    bool worked;
};
/* The level of `compress`; ERR_PARAM. */
int rewriting_level(struct request *rq, int *ret);
/* A body where the format is pfw, a tar, or with `output` a directory; then the answer is the
 * manifest, as JSON. ERR_PARAM, ERR_FORMAT, -EPERM: nothing may be written here; errors of
 * outlet_dir_new. */
int rewriting_open(struct request *rq, struct rewriting *w);
/* For next(): sends what is ready, else calls step(), which works for at most some 50 ms and at
 * last says ERR_END; then manifest() is what a request with `output` is told. */
int rewriting_next(struct request *rq, struct rewriting *w, int (*step)(struct request *rq),
                   struct text (*manifest)(const struct request *rq), struct buf *out);
/* After what writes into the outlet has been closed. */
void rewriting_close(struct rewriting *w);

#endif
