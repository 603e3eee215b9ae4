/* retry.h - retries of files that an error of the system made unreadable.
 *
 * Used by:   ingest only. Threads: functions of an entry are called under index.lock, the others by
 *            any thread.
 */
#ifndef DFTRACERD_INDEX_INGEST_RETRY_H
#define DFTRACERD_INDEX_INGEST_RETRY_H

#include "index/catalog/catalog.h"
#include "index/ingest/run.h"

/* Returns whether the error may go away by itself: memory, descriptors, the disk. */
bool retry_is_system_error(int error);
/* Writes the message that answers show for a run that ended with this error; `host`: the node of
 * the rank that read, or NULL. */
void retry_message(int error, const char *host, char *text, size_t size);
/* Returns whether the file is ready, but was not read to its end. */
bool retry_is_wanted(const struct entry *e);
/* Returns how long to wait before the file is read again after this run, whose view has been
 * published. */
int64_t retry_delay_ns(struct entry *e, const struct run *run);
/* Returns whether a file that is otherwise unchanged can now be read where reading ended before.
 * buf: `len` bytes. */
bool retry_can_read(const struct run *run, int fd, char *buf, size_t len);

#endif
