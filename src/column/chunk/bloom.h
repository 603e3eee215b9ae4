/* bloom.h - bloom filters over 64-bit hashes (text_hash of a value), for chunks and files.
 *
 * Blocked: a hash sets its bits within one block of 32 bytes, so a lookup reads one cache line.
 * Little-endian bytes without a header. A filter of 0 bytes means that nothing is known: the result
 * is always "may have".
 */
#ifndef DFTRACERD_COLUMN_CHUNK_BLOOM_H
#define DFTRACERD_COLUMN_CHUNK_BLOOM_H

#include "dftracerd/base.h"

/* Returns the size for n distinct values at the false-positive rate (0 = 0.01): a multiple of
 * 32. */
size_t bloom_bytes(uint64_t n, double rate);
/* `bits` starts zeroed; len is a multiple of 32, > 0. */
void bloom_add(uint8_t *bits, size_t len, uint64_t hash);
bool bloom_may_have(const uint8_t *bits, size_t len, uint64_t hash);

#endif
