/* progress.h - how far indexing is, as /index and /progress report it.
 * Threads: those of the request, one at a time; nothing is kept. */
#ifndef DFTRACERD_HTTP_METRICS_PROGRESS_H
#define DFTRACERD_HTTP_METRICS_PROGRESS_H

#include "http/request/endpoint.h"

bool progress_is_done(const struct index_progress *p);
bool progress_is_same(const struct index_progress *a, const struct index_progress *b);
/* Counts anew, of `count` files of a snapshot only; files NULL: the first `count`. */
void progress_count(struct index *ix, const struct snapshot *snapshot, const uint32_t *files,
                    size_t count, struct index_progress *p);
/* The members of the open object: state, files, bytes, speed. */
void progress_write(const struct request *rq, const struct index_progress *p, struct jw *j);

#endif
