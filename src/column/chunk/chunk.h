/* chunk.h - one chunk of events as one value of typed columns: made by a worker, read by questions.
 * No LMDB here.
 *
 * May use:   base, trace, column/encoding; zstd, xxhash. Used by: index (ingest, catalog,
 *            summaries, chunk_open).
 * Way:       worker: chunk_builder_begin, then for each event of trace_scan_next chunk_builder_add,
 *            chunk_builder_finish.
 *            reader:  chunk_view_new(value, len); then chunk_rows ... column_entry_ids of column.h;
 *                     chunk_open and chunk_close of index.h wrap new and free.
 * Threads:   a builder belongs to one worker, a view to one thread.
 * Values:    little-endian, self-contained but for the global texts. Equal events and equal global
 *            ids give equal bytes. A value may start at any address (LMDB overflow pages: 16 bytes
 *            into a page); sections are 64-byte aligned relative to its start. A damaged value
 *            gives ERR_CORRUPT, never a crash.
 */
#ifndef DFTRACERD_COLUMN_CHUNK_CHUNK_H
#define DFTRACERD_COLUMN_CHUNK_CHUNK_H

#include "dftracerd/column.h"
#include "dftracerd/trace.h"

#define CHUNK_VERSION 3     /* of the value's layout: part of the schema version of the store */
#define CHUNK_HEAD_BYTES 56 /* at the start of a value: has the checksums of all else */
#define CHUNK_PATHS_MAX 512 /* further paths of a chunk go into the TEXT column "@other" */

/* ---- making a value -------------------------------------------------------------------------- */

struct chunk_options {
    /* Global id of a text, made if there is none; INDEX_NO_TEXT when the table is full: the text
     * then stays in the chunk. Called from chunk_builder_finish only, once for each distinct text
     * of a column (not for columns of mostly distinct texts, see chunk_dictionary.c). Must be
     * thread-safe across workers. */
    uint32_t (*intern)(void *arg, struct text text);
    void *arg;
    /* NULL-terminated paths that get bloom filters; NULL = the seven defaults */
    const char *const *dimensions;
    double bloom_rate; /* 0 = 0.01 */
};
/* name cat pid tid args.hhash args.fhash args.shash, NULL */
extern const char *const chunk_default_dimensions[];
#define CHUNK_DIMENSIONS_MAX 32 /* further ones are ignored */

/* one per worker, reused for chunk after chunk, about 10 MB with 4 MiB of text */
struct chunk_builder;
/* `options` and its dimensions are borrowed until chunk_builder_free (the struct itself is copied).
 * 0 or -ENOMEM. */
int chunk_builder_new(const struct chunk_options *options, struct chunk_builder **ret);
void chunk_builder_free(struct chunk_builder *b);
/* memory held: for the ingest's budget */
size_t chunk_builder_bytes(const struct chunk_builder *b);
/* Starts a chunk (drops an unfinished one). Field ids of the events are those of `scanner`,
 * borrowed until finish. */
void chunk_builder_begin(struct chunk_builder *b, const struct trace_scanner *scanner);
/* Copies what it keeps: texts need not outlive the call. Sticky: finish returns -ENOMEM again.
 * -EOVERFLOW beyond 2^26 rows (a 4 MiB chunk has at most 2 M). */
int chunk_builder_add(struct chunk_builder *b, const struct trace_event *event);

struct chunk_built {
    uint32_t rows;
    /* times that did not fit into int64 nanoseconds and became null (add bad_dur to
     * trace_counts.bad_dur) */
    uint32_t bad_dur, bad_ts;
    uint32_t columns;
    uint32_t other_values; /* values that went into "@other" */
};
/* Appends the value to `value` (nothing on failure). A chunk without events is a valid value, too.
 * 0 or -ENOMEM. */
int chunk_builder_finish(struct chunk_builder *b, uint32_t number, struct buf *value,
                         struct chunk_built *ret);
/* After finish, until the next begin: text_hash() of each distinct value of dimension i (position
 * in the list of dimensions; numbers: of their decimal text), for the filter of the file. Returns
 * how many, in no order. */
size_t chunk_builder_hashes(const struct chunk_builder *b, unsigned dimension,
                            const uint64_t **ret);

/* ---- reading a value ------------------------------------------------------------------------- */

struct chunk_texts {
    /* of a global id; ptr NULL when there is none (column_entry: ERR_CORRUPT) */
    struct text (*text)(void *arg, uint32_t id);
    void *arg;
    bool just_built; /* the value is in memory since it was built: checksums are not compared */
    /* Set when header and directory have been found valid, which are not checked again then. NULL:
     * they are always checked. */
    atomic_bool *valid;
    void (*corrupt)(void *file); /* called where a checksum is wrong; may be NULL */
    void *file;
    /* The value was made by another process: what a global id of it is here. NULL: the same. */
    uint32_t (*here)(const void *ids, uint32_t id);
    const void *ids;
};
/* `value` is borrowed until chunk_view_free (chunk_close). `texts` is copied; text may be NULL if
 * column_entry is not used for global texts. 0, ERR_CORRUPT, -ENOMEM. Checks header, directory and
 * its checksum; columns and their checksums when read. */
int chunk_view_new(const void *value, size_t len, const struct chunk_texts *texts,
                   struct chunk_view **ret);
void chunk_view_free(struct chunk_view *v); /* NULL is fine; does not touch the owner */
/* One pointer for chunk_open/chunk_close to keep (transaction, struct index): NULL at first. */
void chunk_view_set_owner(struct chunk_view *v, void *owner);
void *chunk_view_owner(const struct chunk_view *v);
const struct chunk_texts *chunk_view_texts(const struct chunk_view *v);
uint32_t chunk_view_number(const struct chunk_view *v);
/* Reads everything once: 0 or ERR_CORRUPT, -ENOMEM (index_check). */
int chunk_view_check(struct chunk_view *v);

/* The rest is column.h.
 *
 * Summaries are best made from the value just built (chunk_view_new on the buffer): all decoding is
 * at memory speed.
 *
 * Column "@other": TEXT, not null where the row has values of paths beyond CHUNK_PATHS_MAX (or
 * beyond TRACE_FIELDS_MAX of the scanner): {"args.x":1,"args.y":"text"}. A question on a path that
 * chunk_find does not know must look into it where it exists. */

#endif
