/* kv.h - the key-value store below the index: tables, packed keys, batches of writes, short reads.
 *
 * May use:   base; LMDB (kv.c, kv_commit.c, kv_read.c). Used by: the rest of src/index.
 * Threads:   a batch belongs to one thread (the writer); reads may run on any thread, many at a
 *            time.
 * Writes:    a batch keeps its operations in memory and is applied in one LMDB transaction by
 *            kv_commit. So a full map can grow and the same batch be tried again, and after ENOSPC
 *            nothing is lost: the batch stays. A map that cannot grow, for RLIMIT_AS leaves no
 *            room, stays as it is: reads continue. A batch carries its first error; later calls do
 *            nothing and kv_commit tells it.
 * Reads:     a kv_read pins one state of the store. Its data are borrowed from the map until
 *            kv_read_end. The map cannot grow while one is open, so keep them short. The same
 *            thread must begin and end.
 * Checksums: a value is stored behind its XXH3, and checked whenever it is read: ERR_CORRUPT. A
 *            chunk has its own, checked by chunk_view.c; the texts have one in all (texts.c). A key
 *            that has gone is noticed by who counts the values.
 * Limit:     with map_max the file stays within it. A part of it is kept for batches that make
 *            room: to delete, too, needs pages, which are free only after the commit.
 * Caveats:   keys are at most KV_KEY_MAX bytes, big-endian, so that byte order is sort order.
 */
#ifndef DFTRACERD_INDEX_STORE_KV_H
#define DFTRACERD_INDEX_STORE_KV_H

#include "dftracerd/base.h"

#define KV_KEY_MAX 511
#define KV_CHUNK_HEAD 56 /* of a chunk only these bytes are checked here */

enum kv_table {
    KV_META,       /* name                          -> bytes */
    KV_FILE,       /* file                          -> catalog record */
    KV_PATH,       /* XXH3-128 of the name          -> file */
    KV_SPAN,       /* file, chunk                   -> version, rows, text range */
    KV_CHECKPOINT, /* file, text offset             -> place in the file, window */
    KV_CHUNK,      /* file, chunk, version          -> columns (chunk.h) */
    KV_SUMMARY,    /* file, version                 -> what is known of the whole file */
    KV_TEXT,       /* id                            -> text */
    KV_NAME,       /* file, chunk, version          -> metadata records of the chunk */
    KV_GARBAGE,    /* table, key                    -> nothing: a value or a whole file to delete */
    KV_TABLES
};
const char *kv_table_name(enum kv_table t);

struct kv_key {
    uint16_t len;
    uint8_t data[40];
};
void kv_key_u8(struct kv_key *k, uint8_t v); /* each appends */
void kv_key_u32(struct kv_key *k, uint32_t v);
void kv_key_u64(struct kv_key *k, uint64_t v);
void kv_key_bytes(struct kv_key *k, const void *data, size_t len);
struct kv_key kv_key_of_u32(uint32_t a);
struct kv_key kv_key_of_chunk(uint32_t file, uint32_t chunk, uint32_t version);
uint32_t kv_get_u32(const uint8_t *p); /* big-endian */
uint64_t kv_get_u64(const uint8_t *p);

struct kv;
struct kv_options {
    const char *path;  /* an existing directory */
    uint64_t map_size; /* first address space; less where RLIMIT_AS limits it */
    uint64_t map_max;  /* data.mdb grows no further; 0: as far as there is room */
    bool read_only;
};
/* 0; ERR_CORRUPT: damaged or of another LMDB, to be removed and made anew; ERR_STORE; -errno. */
int kv_open(const struct kv_options *options, struct err *err, struct kv **ret);
void kv_close(struct kv *kv);
/* What was read makes no sense: kv_open says ERR_CORRUPT from now on, until the file "damaged"
 * beside data.mdb is removed. Also done where LMDB ends the process, as it does on pages that make
 * none. Any thread. */
void kv_mark_corrupt(struct kv *kv);
/* Whether LMDB has met pages that make no sense: more than one value is wrong. Any thread. */
bool kv_is_broken(const struct kv *kv);
uint64_t kv_bytes(struct kv *kv); /* of data.mdb in use */
uint64_t kv_map_size(struct kv *kv);
struct kv_stat {
    uint64_t page_bytes, pages; /* all in data.mdb */
    uint64_t table[KV_TABLES];  /* pages of each */
    uint64_t free;              /* to be used again, at once or when no reader needs them more */
    uint64_t map_bytes;
    unsigned readers, slots, slots_max; /* reads open now; slots of LMDB's table of readers */
};
/* Does not wait for an environment that is being opened again: false then. */
bool kv_stat(struct kv *kv, struct kv_stat *ret);

struct kv_batch;
struct kv_batch *kv_batch_new(void); /* *new* or NULL */
void kv_batch_free(struct kv_batch *b);
size_t kv_batch_bytes(const struct kv_batch *b);
bool kv_batch_empty(const struct kv_batch *b);
void kv_put(struct kv_batch *b, enum kv_table t, const struct kv_key *key, const void *data,
            size_t len);
void kv_put_take(struct kv_batch *b, enum kv_table t, const struct kv_key *key, void *data,
                 size_t len); /* takes malloc'ed data */
void kv_delete(struct kv_batch *b, enum kv_table t, const struct kv_key *key);
void kv_delete_prefix(struct kv_batch *b, enum kv_table t, const struct kv_key *prefix);
/* A value that was written without enough memory (value->error) fails the batch. */
void kv_put_buf(struct kv_batch *b, enum kv_table t, const struct kv_key *key,
                const struct buf *value);
/* Something is missing from the batch: no commit succeeds before it is cleared. The first error
 * stays. */
void kv_batch_fail(struct kv_batch *b, int error);
int kv_batch_error(const struct kv_batch *b);
void kv_batch_clear(struct kv_batch *b);
/* Takes the operations back whose key begins with `prefix` behind its first `skip` bytes. */
void kv_batch_forget(struct kv_batch *b, enum kv_table t, size_t skip, const struct kv_key *prefix);
/* Applies all in order, durably. 0 (the batch is empty again), ERR_STORE_FULL, ERR_ADDRESS_SPACE,
 * -ENOSPC, -EIO, -ENOMEM, ERR_STORE. */
int kv_commit(struct kv *kv, struct kv_batch *b);
/* The same for a batch that deletes more than it puts: may take the part of the file that is kept
 * for it. What it frees can be used by the second commit after it: the last state but one stays
 * whole, should the disk lose the last one. */
int kv_commit_freeing(struct kv *kv, struct kv_batch *b);
/* After ERR_ADDRESS_SPACE: whether there is room by now. Only the thread that commits. */
bool kv_may_grow(struct kv *kv);

struct kv_read;
int kv_read_begin(struct kv *kv, struct kv_read **ret);
void kv_read_end(struct kv_read *r); /* NULL is fine */
/* 0, -ENOENT, ERR_CORRUPT, ERR_STORE */
int kv_get(struct kv_read *r, enum kv_table t, const struct kv_key *key, struct text *ret);
uint64_t kv_count(struct kv_read *r, enum kv_table t);

/* Walks the keys that begin with a prefix, in order. The cursor is sticky: error is 0 at the normal
 * end. */
struct kv_cursor {
    struct kv_read *read;
    void *cursor;
    enum kv_table table;
    struct kv_key prefix;
    struct text key, value;
    int error;
    bool begun;
};
void kv_begin(struct kv_read *r, enum kv_table t, const struct kv_key *prefix /* NULL: all */,
              struct kv_cursor *c);
bool kv_next(struct kv_cursor *c);
/* After an end with ERR_CORRUPT: whether only the value of c->key is wrong. Then kv_next continues
 * behind it. */
bool kv_skip(struct kv_cursor *c);
void kv_end(struct kv_cursor *c);
/* The greatest key <= `key` that has the first `prefix_len` bytes of it. 0, -ENOENT, ERR_CORRUPT,
 * ERR_STORE. */
int kv_find_below(struct kv_read *r, enum kv_table t, const struct kv_key *key, size_t prefix_len,
                  struct text *ret_key, struct text *ret_value);

#endif
