/* provenance.h - the sidecar of /organize: the target of each line of the originals
 * (docs/REWRITE.md describes the format).
 *
 * It is written during the work, in constant memory, and read twice in a row: first the files, then
 * the lines.
 */
#ifndef DFTRACERD_REWRITE_PROVENANCE_H
#define DFTRACERD_REWRITE_PROVENANCE_H

#include "base/recbuf.h"
#include "dftracerd/rewrite.h"

#define PROVENANCE_NAME "provenance.zst"
/* maximum bytes of a record; longer lists are split */
#define PROVENANCE_RECORD_MAX (1u << 20)

enum provenance_type {
    /* dropped (0, 1), name. Targets are numbered from 0; all come before the first source. */
    PROVENANCE_TARGET = 1,
    PROVENANCE_LITERAL,    /* text of bracket lines, numbered from 0 */
    PROVENANCE_SOURCE,     /* name; begins a source */
    PROVENANCE_RUNS,       /* runs of the current source */
    PROVENANCE_SOURCE_END, /* bytes, XXH3-128 */
    PROVENANCE_OUTPUT, /* target, lines of sources, bytes, XXH3-128 of the file, name; in order */
    PROVENANCE_ADDED,  /* of the last output: pairs of lines of sources, lines added */
    PROVENANCE_END     /* XXH3-128 of everything before this record */
};
/* With T targets, a run is (count - 1) * (T + 2) + what. `what` is a target; or T: a literal, whose
 * number follows; or T + 1: the line before has no '\n' in the source. */

/* Numbers are encoded by recbuf.h; a hash as 16 bytes, most significant first. */
void hash_put(struct buf *out, struct hash128 hash);
struct hash128 hash_take(struct rec *from);

/* ---- writing --------------------------------------------------------------------------------- */

struct provenance_writer;
/* *new*; the archive writer is borrowed. */
int provenance_writer_new(struct archive_writer *archive_writer, struct err *err,
                          struct provenance_writer **ret);
/* NULL-safe; drops an incomplete file */
void provenance_writer_free(struct provenance_writer *w);
/* Appends a record. Errors are sticky: the next flush or finish returns them. */
void provenance_put(struct provenance_writer *w, enum provenance_type type, struct text payload);
/* Compresses and writes buffered records if there are many. */
int provenance_flush(struct provenance_writer *w, struct err *err);
/* Writes the last record, and passes the file to the archive writer. */
int provenance_finish(struct provenance_writer *w, uint64_t *ret_bytes, struct hash128 *ret_hash,
                      struct err *err);

/* ---- reading --------------------------------------------------------------------------------- */

struct provenance_reader;
/* *new*; fd and budget are borrowed. Reads from the start of the file. */
int provenance_reader_new(int fd, struct budget *budget, struct provenance_reader **ret);
void provenance_reader_free(struct provenance_reader *r);
/* Returns the next record, borrowed until the next call. Returns ERR_END after the last one, if its
 * checksum was right; ERR_CORRUPT with the reason; -errno, -ENOMEM, or the error of the budget. */
int provenance_next(struct provenance_reader *r, struct err *err, enum provenance_type *ret_type,
                    struct text *ret);

#endif
