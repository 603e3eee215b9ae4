/* chunk.h - encodes one chunk of events as one value with typed columns, and opens such values. No
 * LMDB here.
 *
 * May use:   base, trace, column/encoding; zstd, xxhash. Used by: index (ingest, catalog,
 *            summaries, chunk_open).
 * Path:      writer: chunk_builder_begin, chunk_builder_add for each event of trace_scan_next,
 *            chunk_builder_finish.
 *            reader: chunk_view_new(value, len), then the functions of column.h; chunk_open and
 *            chunk_close of index.h wrap new and free.
 * Threads:   a builder belongs to one worker, a view to one thread.
 * Values:    little-endian, self-contained except for global texts. Equal events and equal global
 *            ids give equal bytes. A value may start at any address (LMDB overflow pages: 16 bytes
 *            into a page). For a corrupt value ERR_CORRUPT is returned; it never causes a crash.
 */
#ifndef DFTRACERD_COLUMN_CHUNK_CHUNK_H
#define DFTRACERD_COLUMN_CHUNK_CHUNK_H

#include "dftracerd/column.h"
#include "dftracerd/trace.h"

#define CHUNK_VERSION 3     /* of the value's layout: part of the schema version of the store */
#define CHUNK_HEAD_BYTES 56 /* at the start of a value; contains the checksum of the directory */
#define CHUNK_PATHS_MAX 512 /* further paths of a chunk go into the TEXT column "@other" */

/* ---- making a value -------------------------------------------------------------------------- */

struct chunk_options {
    /* Returns the global id of a text, which is made if there is none; INDEX_NO_TEXT if the
     * table is full: the text is then stored in the chunk. Called from chunk_builder_finish
     * only, at most once for each distinct text of a column (not for columns of mostly distinct
     * texts, see chunk_texts.c). Must be thread-safe. */
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
/* Starts a chunk, and discards an unfinished one. Field ids of the events are those of `scanner`,
 * which is borrowed until finish. */
void chunk_builder_begin(struct chunk_builder *b, const struct trace_scanner *scanner);
/* Adds an event, whose texts are copied. Returns 0, -ENOMEM, or -EOVERFLOW beyond 2^26 rows (a 4
 * MiB chunk has at most 2 M). After an error, finish returns it, too. */
int chunk_builder_add(struct chunk_builder *b, const struct trace_event *event);

struct chunk_built {
    uint32_t rows;
    /* times that did not fit into int64 nanoseconds and became null (add bad_dur to
     * trace_counts.bad_dur) */
    uint32_t bad_dur, bad_ts;
    uint32_t columns;
    uint32_t other_values; /* values that went into "@other" */
};
/* Appends the encoded chunk to `value` (nothing on failure). A chunk without events is valid.
 * Returns 0, an error of chunk_builder_add, -ENOMEM, or -EFBIG from 4 GiB on. */
int chunk_builder_finish(struct chunk_builder *b, uint32_t number, struct buf *value,
                         struct chunk_built *ret);
/* After finish, until the next begin: sets *ret to text_hash() of each distinct value of dimension
 * i (position in the list of dimensions; numbers: of their decimal text), for the filter of the
 * file. Returns their number. */
size_t chunk_builder_hashes(const struct chunk_builder *b, unsigned dimension,
                            const uint64_t **ret);

/* ---- reading a value ------------------------------------------------------------------------- */

struct chunk_texts {
    /* Returns the text of a global id; ptr NULL: there is none (column_entry: ERR_CORRUPT). */
    struct text (*text)(void *arg, uint32_t id);
    void *arg;
    bool just_built; /* the value has just been built in memory: checksums are not compared */
    /* Set when header and directory have been found valid, which are not checked again then. NULL:
     * they are always checked. */
    atomic_bool *valid;
    void (*corrupt)(void *file); /* called if a checksum is wrong; may be NULL */
    void *file;
    /* For a value of another process: maps its global ids to those of this one. NULL: the same. */
    uint32_t (*here)(const void *ids, uint32_t id);
    const void *ids;
};
/* Opens a value, which is borrowed until chunk_view_free (chunk_close). `texts` is copied; text may
 * be NULL if column_entry is not used for global texts. Checks head, directory and its checksum;
 * columns are checked when they are read. Returns 0, ERR_CORRUPT or -ENOMEM. */
int chunk_view_new(const void *value, size_t len, const struct chunk_texts *texts,
                   struct chunk_view **ret);
void chunk_view_free(struct chunk_view *v); /* v may be NULL; the owner is not freed */
/* A pointer for chunk_open and chunk_close (transaction, struct index); initially NULL. */
void chunk_view_set_owner(struct chunk_view *v, void *owner);
void *chunk_view_owner(const struct chunk_view *v);
const struct chunk_texts *chunk_view_texts(const struct chunk_view *v);
uint32_t chunk_view_number(const struct chunk_view *v);
/* Reads and checks everything (index_check). Returns 0, ERR_CORRUPT or -ENOMEM. */
int chunk_view_check(struct chunk_view *v);

#endif
