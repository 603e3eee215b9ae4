/* column_hash.h - hashes of values for bloom filters: text_hash() of their text, of numbers of
 * their decimal text.
 *
 * May use:   base. Used by: column/chunk; index/ingest (filters of files). Threads: any; pure.
 */
#ifndef DFTRACERD_COLUMN_CHUNK_COLUMN_HASH_H
#define DFTRACERD_COLUMN_CHUNK_COLUMN_HASH_H

#include "dftracerd/column.h"
#include "dftracerd/trace.h"

uint64_t column_hash_i64(int64_t v);
uint64_t column_hash_f64(double v);
uint64_t column_hash_bool(bool v);
uint64_t column_hash_entry(const struct column_entry *e);

#endif
