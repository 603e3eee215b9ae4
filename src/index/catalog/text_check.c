/* text_check.c - whether a file, once read, still was the one that had been indexed. */
#include "index/catalog/store.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Growing is told from being written anew by head and tail, as when indexing (relate() in
 * ingest/plan.c). */
static int compare_edges(const struct index_file *file, int fd)
{
    const struct identity *known = &view_of_file(file)->body->identity;
    struct identity edges;
    char *buf = malloc(EDGE_BYTES);
    int rc = buf ? identity_hash_edges(fd, buf, known->size, &edges) : -ENOMEM;

    free(buf);
    if (rc < 0)
        return rc;
    return edges.head_hash == known->head_hash && edges.tail_hash == known->tail_hash ? 0
                                                                                      : ERR_STALE;
}

int index_text_check(const struct index_file *file, int fd)
{
    struct stat st;
    struct identity now;

    if (fstat(fd, &st) < 0)
        return -errno;
    identity_of_stat(&st, &now);
    if (now.size == file->file_bytes && now.mtime_ns == file->mtime_ns)
        return 0;
    /* What is as long as before and newer was written to in place, if only perhaps. */
    return now.size <= file->file_bytes ? ERR_STALE : compare_edges(file, fd);
}
