/* progress.h - how far indexing is, as /index and /progress tell it. */
#ifndef DFT_HTTP_PROGRESS_H
#define DFT_HTTP_PROGRESS_H

#include "endpoint.h"

bool progress_is_done(const struct index_progress *p);
bool progress_is_same(const struct index_progress *a, const struct index_progress *b);
/* Counts one file of a snapshot. */
void progress_add(struct index *ix, struct index_progress *p, const struct index_file *f);
/* The members of the open object: state, files, bytes, speed. */
void progress_write(const struct request *rq, const struct index_progress *p, struct jw *j);

#endif
