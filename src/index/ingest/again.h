/* again.h - when what the system did not let us read is tried again; under index.lock.
 *
 * Used by:   ingest only.
 */
#ifndef DFTRACERD_INDEX_INGEST_AGAIN_H
#define DFTRACERD_INDEX_INGEST_AGAIN_H

#include "index/catalog/catalog.h"
#include "index/ingest/run.h"

/* Memory, descriptors, the disk: another time it may not come. */
bool again_is_system(int error);
/* What answers tell of a run that ended with this error; `host`: of the rank that read, or NULL. */
void again_text(int error, const char *host, char *text, size_t size);
/* Read, but not to its end. */
bool again_is_wanted(const struct entry *e);
/* After a run, whose view has been published: not looked at before so long. */
int64_t again_delay_ns(struct entry *e, const struct run *run);
/* Of a run that has nothing else to do, without the lock: reading goes on where it ended. buf:
 * `len` bytes. */
bool again_reads(const struct run *run, int fd, char *buf, size_t len);

#endif
