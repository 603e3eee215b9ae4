/* bloom.h - bloom filters over 64-bit hashes (text_hash of a value), for chunks and files.
 *
 * Blocked: a hash sets its bits within one block of 32 bytes, so a question touches one cache line.
 * Little-endian bytes, no header: the length says all. A filter of no bytes holds nothing that is
 * known: it answers "may have".
 */
#ifndef DFTRACERD_COLUMN_CHUNK_BLOOM_H
#define DFTRACERD_COLUMN_CHUNK_BLOOM_H

#include "dftracerd/base.h"

/* Bytes for n distinct values at the false-positive rate (0 = 0.01): a multiple of 32, at least 32.
 */
size_t bloom_bytes(uint64_t n, double rate);
/* `bits` starts zeroed; len is a multiple of 32, > 0. */
void bloom_add(uint8_t *bits, size_t len, uint64_t hash);
bool bloom_may_have(const uint8_t *bits, size_t len, uint64_t hash);

#endif
