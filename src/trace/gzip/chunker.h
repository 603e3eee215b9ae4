/* chunker.h - a pool of memory for chunks. */
#ifndef DFTRACERD_TRACE_GZIP_CHUNKER_H
#define DFTRACERD_TRACE_GZIP_CHUNKER_H

#include <stddef.h>

/* Between the first enter and the last leave, up to CHUNK_POOL_BYTES of freed chunks are kept. Any
 * thread may call these functions. */
#define CHUNK_POOL_BYTES (24u << 20)
void chunk_pool_enter(void);
void chunk_pool_leave(void);
/* Returns at least `need` bytes, *new* (free or give), or NULL. */
char *chunk_pool_take(size_t need, size_t *ret_cap);
void chunk_pool_give(char *text, size_t cap); /* takes; NULL allowed */

#endif
