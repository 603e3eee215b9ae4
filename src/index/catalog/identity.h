/* identity.h - recognises files by device, inode, size, times, and hashes of their edges.
 *
 * May use:   base. Used by: catalog, ingest, index.
 * Threads:   any.
 */
#ifndef DFTRACERD_INDEX_CATALOG_IDENTITY_H
#define DFTRACERD_INDEX_CATALOG_IDENTITY_H

#include "dftracerd/base.h"

#define EDGE_BYTES (1u << 20) /* bytes of the head, and of the tail, of a file that are hashed */

struct identity {
    uint64_t device, inode, size;
    int64_t mtime_ns, ctime_ns;
    uint64_t head_hash, tail_hash;
};
void identity_of_stat(const void *stat, struct identity *ret);
/* compares stat data only */
bool identity_same(const struct identity *a, const struct identity *b);
/* Hashes head and tail of the first `size` bytes. buf: EDGE_BYTES. Returns 0 or -errno. */
int identity_hash_edges(int fd, char *buf, uint64_t size, struct identity *ret);

#endif
