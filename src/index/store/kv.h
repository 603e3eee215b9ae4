/* kv.h - the key-value store below the index: tables, binary keys, batches of writes, short reads.
 *
 * May use:   base; LMDB (kv.c, kv_commit.c, kv_read.c). Used by: the rest of src/index.
 * Threads:   a batch belongs to one thread (the writer); reads may run on any thread, many at a
 *            time.
 * Writes:    a batch keeps its operations in memory and is applied in one LMDB transaction by
 *            kv_commit. So the map can grow and the same batch be applied again, and after ENOSPC
 *            nothing is lost: the batch stays. If the map cannot grow because of RLIMIT_AS, reads
 *            continue. A batch keeps its first error; later calls do nothing, and kv_commit returns
 *            it.
 * Reads:     a kv_read pins one state of the store. Its data are borrowed from the map until
 *            kv_read_end. The map cannot grow while one is open, so keep them short. The same
 *            thread must begin and end.
 * Checksums: a value is stored after its XXH3, which is checked whenever it is read (ERR_CORRUPT).
 *            Chunks have checksums of their own (chunk_view.c); all texts together have one
 *            (texts.c). Callers that count values detect missing keys.
 * Limit:     with map_max, the file stays within it. A part is reserved for batches that free
 *            space: a deletion also needs pages, and frees others only after the commit.
 * Caveats:   keys are at most KV_KEY_BYTES long, numbers in them big-endian, so that byte order is
 *            sort order.
 */
#ifndef DFTRACERD_INDEX_STORE_KV_H
#define DFTRACERD_INDEX_STORE_KV_H

#include "dftracerd/base.h"

#define KV_KEY_BYTES 40  /* LMDB allows 511 */
#define KV_CHUNK_HEAD 56 /* only these bytes of a chunk are checked here */

enum kv_table {
    KV_META,       /* name                          -> bytes */
    KV_FILE,       /* file                          -> catalog record */
    KV_PATH,       /* XXH3-128 of the name          -> file */
    KV_SPAN,       /* file, chunk                   -> version, rows, text range */
    KV_CHECKPOINT, /* file, text offset             -> position in the file, window */
    KV_CHUNK,      /* file, chunk, version          -> columns (chunk.h) */
    KV_SUMMARY,    /* file, version                 -> summary of the whole file */
    KV_TEXT,       /* id                            -> text */
    KV_NAME,       /* file, chunk, version          -> metadata records of the chunk */
    KV_GARBAGE,    /* kind, file, two numbers       -> nothing: a value or a whole file to delete */
    KV_TABLES
};
const char *kv_table_name(enum kv_table t);

struct kv_key {
    uint16_t len;
    uint8_t data[KV_KEY_BYTES];
};
/* Append to a key. Bytes beyond KV_KEY_BYTES are left out. */
void kv_key_u8(struct kv_key *k, uint8_t v);
void kv_key_u32(struct kv_key *k, uint32_t v);
void kv_key_u64(struct kv_key *k, uint64_t v);
void kv_key_bytes(struct kv_key *k, const void *data, size_t len);
struct kv_key kv_key_of_name(const char *name); /* of table KV_META */
struct kv_key kv_key_of_u32(uint32_t a);
struct kv_key kv_key_of_chunk(uint32_t file, uint32_t chunk, uint32_t version);
uint32_t kv_get_u32(const uint8_t *p); /* big-endian */
uint64_t kv_get_u64(const uint8_t *p);

struct kv;
struct kv_options {
    const char *path;  /* must exist */
    uint64_t map_size; /* first size of the map; less if RLIMIT_AS limits it */
    uint64_t map_max;  /* maximum size of data.mdb; 0: no limit */
    bool read_only;
};
/* Returns 0; ERR_CORRUPT if the file is corrupt or was written by another LMDB, and must be
 * removed; ERR_STORE; or -errno. */
int kv_open(const struct kv_options *options, struct err *err, struct kv **ret);
void kv_close(struct kv *kv);
/* Reports that the store is corrupt: kv_open returns ERR_CORRUPT until the file `damaged` beside
 * data.mdb is removed. Also called before LMDB ends the process because of inconsistent pages. Any
 * thread. */
void kv_mark_corrupt(struct kv *kv);
/* Returns whether LMDB has found inconsistent pages: more than one value is wrong. Any thread. */
bool kv_is_broken(const struct kv *kv);
uint64_t kv_bytes(struct kv *kv); /* bytes of data.mdb in use */
uint64_t kv_map_size(struct kv *kv);
struct kv_stat {
    uint64_t page_bytes, pages; /* pages: all in data.mdb */
    uint64_t table_pages[KV_TABLES];
    /* pages that will be reused, at once or when no reader needs them any more */
    uint64_t free_pages;
    uint64_t map_bytes;
    /* open reads; used and available slots in LMDB's table of readers */
    unsigned readers, reader_slots, reader_slots_max;
};
/* Returns false at once while the environment is being reopened. */
bool kv_stat(struct kv *kv, struct kv_stat *ret);

struct kv_batch;
struct kv_batch *kv_batch_new(void); /* *new* or NULL */
void kv_batch_free(struct kv_batch *b);
/* Returns about the bytes that the operations take in the pages of LMDB. */
size_t kv_batch_bytes(const struct kv_batch *b);
bool kv_batch_is_empty(const struct kv_batch *b);
void kv_put(struct kv_batch *b, enum kv_table t, const struct kv_key *key, const void *data,
            size_t len);
/* Like kv_put, without a copy: the bytes become owned by the batch, and *value is then empty. An
 * error of `value` (out of memory) fails the batch. */
void kv_put_buf(struct kv_batch *b, enum kv_table t, const struct kv_key *key, struct buf *value);
void kv_delete(struct kv_batch *b, enum kv_table t, const struct kv_key *key);
void kv_delete_prefix(struct kv_batch *b, enum kv_table t, const struct kv_key *prefix);
/* Makes commits fail until the batch is cleared, because it is incomplete. The first error
 * stays. */
void kv_batch_fail(struct kv_batch *b, int error);
int kv_batch_error(const struct kv_batch *b);
void kv_batch_clear(struct kv_batch *b);
/* Removes operations from the batch whose key has `prefix` after its first `skip` bytes. */
void kv_batch_forget(struct kv_batch *b, enum kv_table t, size_t skip, const struct kv_key *prefix);
/* Applies all operations in order, durably. Returns 0 (the batch is then empty), ERR_STORE_FULL,
 * ERR_ADDRESS_SPACE, ERR_CORRUPT (inconsistent pages), -ENOSPC, -EIO, -ENOMEM or ERR_STORE. */
int kv_commit(struct kv *kv, struct kv_batch *b);
/* Like kv_commit, for a batch that deletes more than it adds: it may use the reserved part of the
 * file. What it frees can be used by the second commit after it: the last state but one stays
 * intact, in case the disk loses the last one. */
int kv_commit_freeing(struct kv *kv, struct kv_batch *b);
/* Returns whether the map can grow again after ERR_ADDRESS_SPACE. Called only by the thread that
 * commits. */
bool kv_can_grow(struct kv *kv);

struct kv_read;
int kv_read_begin(struct kv *kv, struct kv_read **ret);
void kv_read_end(struct kv_read *r); /* NULL-safe */
/* Returns 0, -ENOENT, ERR_CORRUPT or ERR_STORE. */
int kv_get(struct kv_read *r, enum kv_table t, const struct kv_key *key, struct text *ret);
uint64_t kv_count(struct kv_read *r, enum kv_table t);

/* Iterates over the keys that begin with a prefix, in order. The cursor is sticky: `error` is 0 at
 * the normal end. */
struct kv_cursor {
    struct kv_read *read; /* borrowed until kv_end */
    void *cursor;         /* of LMDB; NULL: it could not be opened */
    enum kv_table table;
    struct kv_key prefix;
    struct text key, value; /* borrowed until kv_read_end */
    int error;
    bool begun; /* kv_next was called */
};
void kv_begin(struct kv_read *r, enum kv_table t, const struct kv_key *prefix /* NULL: all */,
              struct kv_cursor *c);
bool kv_next(struct kv_cursor *c);
/* Returns, after an end with ERR_CORRUPT, whether only the value of c->key is corrupt: then kv_next
 * continues after it. */
bool kv_skip(struct kv_cursor *c);
void kv_end(struct kv_cursor *c);
/* Finds the greatest key <= `key` that begins with the same `prefix_len` bytes. Returns 0, -ENOENT,
 * ERR_CORRUPT or ERR_STORE. */
int kv_find_below(struct kv_read *r, enum kv_table t, const struct kv_key *key, size_t prefix_len,
                  struct text *ret_key, struct text *ret_value);

#endif
