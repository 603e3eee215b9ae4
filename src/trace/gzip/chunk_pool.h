/* chunk_pool.h - a pool of memory for chunks.
 *
 * Between the first enter and the last leave, up to CHUNK_POOL_BYTES of freed chunks are kept. Any
 * thread may call these functions.
 */
#ifndef DFTRACERD_TRACE_GZIP_CHUNK_POOL_H
#define DFTRACERD_TRACE_GZIP_CHUNK_POOL_H

#include <stddef.h>

#define CHUNK_POOL_BYTES (24u << 20)
void chunk_pool_enter(void);
void chunk_pool_leave(void);
/* Returns at least `need` bytes, *new* (by free() or chunk_pool_free), or NULL. */
char *chunk_pool_alloc(size_t need, size_t *ret_cap);
void chunk_pool_free(char *text, size_t cap); /* keeps or frees the memory; NULL allowed */

#endif
