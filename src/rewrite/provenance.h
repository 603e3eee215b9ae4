/* provenance.h - the sidecar of /organize: which line of which original went where (docs/REWRITE.md
 * has the format).
 *
 * Written as the work goes on, in constant memory, and read twice in a row: what files there are,
 * then the lines.
 */
#ifndef DFTRACERD_REWRITE_PROVENANCE_H
#define DFTRACERD_REWRITE_PROVENANCE_H

#include "dftracerd/rewrite.h"

#define PROVENANCE_NAME "provenance.zst"
#define MANIFEST_NAME "manifest.json"
/* bytes of a record; lists that may be longer come in several */
#define PROVENANCE_RECORD_MOST (1u << 20)

enum provenance_type {
    /* dropped (0, 1), name: the first is number 0; all before the first source */
    PROVENANCE_TARGET = 1,
    PROVENANCE_LITERAL,    /* text of bracket lines: the first is number 0 */
    PROVENANCE_SOURCE,     /* name: a source begins */
    PROVENANCE_RUNS,       /* of the source that has begun */
    PROVENANCE_SOURCE_END, /* bytes, XXH3-128 */
    PROVENANCE_OUTPUT, /* target, lines of sources, bytes, XXH3-128 of the file, name; in order */
    PROVENANCE_ADDED,  /* of the output that came last: pairs of lines of sources, lines added */
    PROVENANCE_END     /* XXH3-128 of all that is before this record */
};
/* A run with T targets: (count - 1) * (T + 2) + what; what: a target, T = a literal, whose number
 * follows, T + 1 = the line before has no '\n' in the source. */

void varint_put(struct buf *out, uint64_t value);
/* Takes it off the front; false when it is cut or too long. */
bool varint_take(struct text *from, uint64_t *ret);
void hash_put(struct buf *out, struct hash128 hash); /* 16 bytes, most significant first */
bool hash_take(struct text *from, struct hash128 *ret);

/* ---- writing --------------------------------------------------------------------------------- */

struct provenance_writer;
int provenance_writer_new(struct outlet *outlet, struct err *err, struct provenance_writer **ret);
/* NULL-safe; drops the file if it is not finished */
void provenance_writer_free(struct provenance_writer *w);
/* Errors are sticky: returned by the next flush or finish. */
void provenance_put(struct provenance_writer *w, enum provenance_type type, struct text payload);
/* when much has been put: cheap else */
int provenance_flush(struct provenance_writer *w, struct err *err);
/* The last record, and the file goes to the outlet. */
int provenance_finish(struct provenance_writer *w, uint64_t *ret_bytes, struct hash128 *ret_hash,
                      struct err *err);

/* ---- reading --------------------------------------------------------------------------------- */

struct provenance_reader;
/* fd and budget are borrowed; it begins at the front of the file. */
int provenance_reader_new(int fd, struct budget *budget, struct provenance_reader **ret);
void provenance_reader_free(struct provenance_reader *r);
/* The next record, borrowed until the next call. ERR_END after the last one, whose check sum was
 * right; ERR_CORRUPT with what is wrong; -errno, -ENOMEM, why to stop. */
int provenance_next(struct provenance_reader *r, struct err *err, enum provenance_type *ret_type,
                    struct text *ret);

#endif
