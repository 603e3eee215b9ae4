/* trace.h - reads the text of trace files, parses it to events, and reads text by position.
 *
 * May use:   base; zlib, ISA-L, libdeflate (here only).   Used by: index, answer, rewrite.
 * Threads:   every object here belongs to one thread at a time; different objects are independent.
 * Rules:     docs/READING.md specifies exactly which text becomes which objects and values.
 * Positions: a *text offset* counts bytes of the uncompressed text of the whole file, from 0. If a
 *            corrupt member does not end in a newline, the reader inserts one, which is counted.
 * Caveats:   files are read with pread, never mapped (a truncated file must not raise SIGBUS). The
 *            descriptor must stay open as long as the object; it is not closed here.
 */
#ifndef DFTRACERD_TRACE_H
#define DFTRACERD_TRACE_H

#include "dftracerd/base.h"

#define TRACE_LINE_MAX (16u << 20) /* longer lines are invalid and skipped */

/* ---- text in order --------------------------------------------------------------------------- */

enum trace_format { TRACE_PLAIN, TRACE_GZIP };
/* AUTO: $DFTRACERD_INFLATE, else the fastest built in */
enum trace_engine { TRACE_ENGINE_AUTO, TRACE_ENGINE_ZLIB, TRACE_ENGINE_ISAL };

/* A position at which reading can start. For gzip: a deflate block boundary or a member start. */
struct trace_checkpoint {
    uint64_t text_offset;
    uint64_t file_offset; /* first byte of the file that is needed */
    uint8_t bits;         /* 0-7: low bits of that byte that belong to the block before */
    uint8_t kind;         /* enum trace_checkpoint_kind */
    /* bytes at `window`: the preset window (at most 32 KiB of text), raw-deflated; 0 at a member */
    uint32_t window_len;
    const uint8_t *window; /* owner: see each function */
    /* With these, a reader that starts here reports the same members and corrupt ranges as one that
     * started at 0. */
    uint64_t members; /* gzip members begun before */
    /* TRACE_AT_BLOCK, and the rest is known: the member's checksum is checked */
    bool in_gzip_member;
    uint32_t crc;          /* CRC-32 of the member's text before the checkpoint */
    uint64_t member_start; /* file offset of the member */
    uint64_t member_text;  /* bytes of the member's text before the checkpoint */
};
enum trace_checkpoint_kind { TRACE_AT_PLAIN, TRACE_AT_MEMBER, TRACE_AT_BLOCK };

enum trace_damage_kind {
    TRACE_DAMAGE_DATA = 1, /* deflate data cannot be decoded: lost up to the next member */
    /* a member was decoded, but its checksum or length is wrong: its text is kept unchanged
     * (without an added newline); not checked if reading began at a checkpoint inside the member
     * that does not have the checksum so far */
    TRACE_DAMAGE_CRC,
    TRACE_DAMAGE_CUT, /* the file ends inside a member */
    /* bytes before, between or after members that belong to none (zero bytes after the first member
     * are padding); also a file that should be gzip, but is text without an object */
    TRACE_DAMAGE_GARBAGE,
    TRACE_DAMAGE_READ,    /* pread failed (EIO): reading ends here */
    TRACE_DAMAGE_LINE,    /* a line longer than TRACE_LINE_MAX (file_from, file_to 0) */
    TRACE_DAMAGE_TAR,     /* an archive has no valid header where a member has to begin */
    TRACE_DAMAGE_TOO_MANY /* an archive has more members than are read */
};
struct trace_damage {
    uint8_t kind;
    uint64_t file_from, file_to; /* compressed bytes concerned */
    uint64_t text_offset;        /* text position at which it was noticed */
};

struct trace_source; /* see below */
struct trace_reader_options {
    enum trace_engine engine;
    uint64_t checkpoint_size; /* bytes of text between checkpoints, >= 64 KiB; 0 = make none */
    /* read in place of the descriptor, which is ignored; borrowed. NULL: none */
    struct trace_source *source;
    /* the name of the file is that of a gzip file: with a corrupt beginning it is not read as text
     * (READING.md) */
    bool named_gzip;
};
struct trace_reader_info {
    enum trace_format format;
    enum trace_engine engine;
    uint64_t file_offset; /* bytes of the file consumed */
    uint64_t text_offset; /* bytes of text delivered */
    uint64_t members;     /* gzip members begun, including those before the checkpoint */
    bool in_gzip_member;  /* at the end of the file: it ends inside a member */
    bool empty;           /* the file is empty (format is PLAIN then) */
};

struct trace_reader;
/* Opens a reader at 0 (from NULL), or at a checkpoint of the same file (copied). Returns 0,
 * -ENOMEM, -ENOTSUP (the engine is not built in), ERR_CORRUPT (the checkpoint is invalid) or -errno
 * of pread. */
int trace_reader_open(int fd, const struct trace_reader_options *options,
                      const struct trace_checkpoint *from, struct err *err,
                      struct trace_reader **ret);
void trace_reader_close(struct trace_reader *r);
/* Reads the next text. Returns the bytes written (> 0), 0 at the current end of the file (a later
 * call continues if the file has grown meanwhile), or -errno. Corrupt data is not an error: it is
 * recorded, and reading continues. */
ssize_t trace_reader_read(struct trace_reader *r, char *out, size_t len);
/* Declares that the file will not grow: an unfinished member is recorded as TRACE_DAMAGE_CUT. To be
 * called after read has returned 0; then read once more, because a file of the single byte 1f
 * becomes text only now. */
void trace_reader_finish(struct trace_reader *r);
void trace_reader_info(const struct trace_reader *r, struct trace_reader_info *ret);
/* Returns the checkpoints so far, in text order; the first is at `from` or 0. For each k >= 1 there
 * is one at the first block boundary at or after k * checkpoint_size - 128 KiB, so that a chunk's
 * first line is (nearly always) after it; after corrupt data there is always one at the member
 * where reading resumed. They do not depend on the engine. The array is borrowed until the next
 * read, the windows until the reader is closed or they are freed. */
size_t trace_reader_checkpoints(const struct trace_reader *r, const struct trace_checkpoint **ret);
/* Frees the windows of the first `count` checkpoints, once they are stored: their `window` becomes
 * NULL. Without this call, the memory of a reader grows by about 6 KB a checkpoint. */
void trace_reader_free_windows(struct trace_reader *r, size_t count);
/* Returns the corrupt ranges, borrowed until the next read: at most 4096; further ones extend the
 * range of the last. */
size_t trace_reader_damage(const struct trace_reader *r, const struct trace_damage **ret);
const char *trace_damage_name(enum trace_damage_kind kind);
const char *trace_engine_name(enum trace_engine engine); /* "zlib", "isal" */
bool trace_engine_available(enum trace_engine engine);

/* ---- text that is inflated ahead of a reader ------------------------------------------------- */

/* Text of a gzip file that any thread has inflated ahead of the reader, from a position where a
 * member or checkpoint is or seems to be. When the reader reaches this position in the state in
 * which the piece was begun, it delivers the piece instead of inflating the same bytes. Text,
 * checkpoints and corrupt ranges do not change by that, and a piece at a wrong position is never
 * used. */
struct trace_piece;
/* Makes the next *new* piece: whole blocks, at most `max_text` bytes of text (the piece uses an
 * eighth more memory), up to the bit `stop` of the file if that is between two blocks. `r`: a
 * separate reader, opened at a checkpoint, which is used for nothing else (for a member, .kind =
 * TRACE_AT_MEMBER and .file_offset suffice). Returns 0, ERR_END (not one whole block), -ENOMEM or
 * -errno. */
int trace_piece_read(struct trace_reader *r, size_t max_text, uint64_t stop,
                     struct trace_piece **ret);
uint64_t trace_piece_end(const struct trace_piece *p); /* the bit of the file after it */
void trace_piece_free(struct trace_piece *p);
/* Finds the next position in [from, to) that looks like a member and can be inflated. Returns 0,
 * ERR_END, -ENOMEM or -errno. */
int trace_find_member(int fd, uint64_t from, uint64_t to, uint64_t *ret);

/* Provides pieces to a reader. The thread of the reader calls these functions. */
struct trace_ahead {
    /* the bit where the next piece begins: `take` is not called before; UINT64_MAX: none */
    _Atomic uint64_t first;
    /* Returns the piece that begins at `bit`, or NULL. */
    struct trace_piece *(*take)(struct trace_ahead *a, uint64_t bit);
    /* Returns a piece to its owner. `used`: its text was delivered. */
    void (*done)(struct trace_ahead *a, struct trace_piece *p, bool used);
};
/* `ahead` is borrowed until the reader is closed, which may call `done`. */
void trace_reader_set_ahead(struct trace_reader *r, struct trace_ahead *ahead);

/* ---- chunks of whole lines ------------------------------------------------------------------- */

/* Chunk k holds the lines that start in [k, k+1) * chunk_size of the text, and the lines that
 * continue its last one (docs/READING.md rule 6: a line that neither starts with `{` nor is a
 * bracket line follows the chunk before, at most 8 of them). Chunks without a line are not
 * delivered. */
struct trace_chunk {
    uint64_t number;      /* k */
    uint64_t text_offset; /* of its first byte */
    char *text;           /* `len` bytes, then at least 64 readable zero bytes (SIMD overrun) */
    size_t len;
    size_t cap; /* bytes allocated */
    bool ended; /* the next line is known, or the file was finished; false: provisional */
};
/* A line longer than TRACE_LINE_MAX ends its chunk as the line "!" (so one invalid line), and is
 * recorded as TRACE_DAMAGE_LINE. Numbers always ascend: if such a line ends a chunk early
 * (chunk_size above TRACE_LINE_MAX), the rest of the range is chunk k + 1, the next range k + 2,
 * and so on, until numbers and offsets agree again. */
struct trace_chunker;
/* Reads from `r` (borrowed). A checkpoint is rarely at the start of a line, so `skip_to` is the
 * text offset of the first line to read; text before it is discarded. chunk_size >= 64 KiB. */
int trace_chunker_new(struct trace_reader *r, uint64_t chunk_size, uint64_t skip_to,
                      struct trace_chunker **ret);
void trace_chunker_free(struct trace_chunker *c);
/* Returns 0 and a *new* chunk (trace_chunk_done frees its text), ERR_END at the current end of the
 * file, -errno or -ENOMEM. `finish`: the file will not grow, so a last unterminated line is
 * delivered. Otherwise, at the end of the file, a chunk of the complete lines so far is delivered
 * with ended=false, and the same chunk is delivered again, longer, when the file has grown. */
int trace_chunker_next(struct trace_chunker *c, bool finish, struct trace_chunk *ret);
/* Any thread. The memory is kept for later chunks. */
void trace_chunk_done(struct trace_chunk *chunk);
/* Copies text from elsewhere: sets text, len and cap. Returns 0 or -ENOMEM. */
int trace_chunk_copy(struct text text, struct trace_chunk *ret);

/* ---- text by position ------------------------------------------------------------------------ */

/* Finds the greatest checkpoint with text_offset <= offset; its window must stay valid until the
 * next call. */
typedef int trace_find_checkpoint(void *arg, uint64_t text_offset, struct trace_checkpoint *ret);
struct trace_text;
/* Random access to one file's text. Forward reads continue the stream if that is cheaper than to
 * start at a checkpoint. */
int trace_text_open(int fd, enum trace_format format, enum trace_engine engine,
                    trace_find_checkpoint *find, void *arg, struct trace_text **ret);
void trace_text_close(struct trace_text *t);
/* Reads exactly `len` bytes from text offset `offset`; ERR_CORRUPT if the file no longer has
 * them. */
int trace_text_read(struct trace_text *t, uint64_t offset, char *out, size_t len);

/* The same for a source, which becomes owned by the text on success. */
int trace_text_open_source(struct trace_source *source, enum trace_format format,
                           enum trace_engine engine, trace_find_checkpoint *find, void *arg,
                           struct trace_text **ret);

/* Makes a source of the bytes [offset, offset + size) of `text`: a part that is a file of its own,
 * as a member of an archive. `text` becomes owned by the source on success. Reading at a position
 * uses the checkpoints of `text`; if the member itself is compressed, also its own. `done` (may be
 * NULL) is called when the source is closed. Returns 0 or -ENOMEM. */
int trace_source_new(struct trace_text *text, uint64_t offset, uint64_t size,
                     void (*done)(void *arg), void *arg, struct trace_source **ret);
void trace_source_close(struct trace_source *s);
/* Closes the source, and returns the text, *new*. Returns NULL for NULL. */
struct trace_text *trace_source_release(struct trace_source *s);

/* ---- tar archives ---------------------------------------------------------------------------- */

/* Lists the members of a tar archive by their headers, without their content. The formats V7, POSIX
 * ustar and pax, and GNU are supported. Whether a member is compressed does not matter here. */
enum trace_tar_kind {
    TRACE_TAR_FILE,
    TRACE_TAR_DIRECTORY,
    TRACE_TAR_LINK,
    TRACE_TAR_SPARSE,
    TRACE_TAR_OTHER
};
struct trace_tar_member {
    /* as tar would extract it: without leading "/" or "./" and trailing "/"; NUL-terminated. It may
     * be empty, or contain ".." or any bytes. Borrowed until the next call */
    struct text name;
    /* LINK: also a second name of a file; SPARSE: its text has holes, which are not stored; OTHER:
     * devices, pieces of another volume */
    enum trace_tar_kind kind;
    /* position in the archive's (uncompressed) text, which may end before it */
    uint64_t offset, size;
    int64_t mtime_s;
    bool absolute; /* its name began with "/" */
};
struct trace_tar;
struct trace_tar *trace_tar_new(void); /* *new*, or NULL */
void trace_tar_free(struct trace_tar *t);
/* Returns the offset of the next byte that trace_tar_next needs; those before it can be skipped. */
uint64_t trace_tar_next_offset(const struct trace_tar *t);
/* Returns true if nothing of a next member has been read: the archive may end here, even without
 * its end mark. */
bool trace_tar_is_between_members(const struct trace_tar *t);
/* Reads any number of bytes of the archive's text, from trace_tar_next_offset on. Returns 1 and
 * a member, at the beginning of its text; 0 if more bytes are needed, from trace_tar_next_offset
 * on; ERR_END at the end mark; ERR_CORRUPT if there is no valid header, or an invalid record (no
 * further calls are allowed); or -ENOMEM. */
int trace_tar_next(struct trace_tar *t, const char *text, size_t len, struct trace_tar_member *ret);
const char *trace_tar_error(const struct trace_tar *t);    /* a message, after ERR_CORRUPT */
const char *trace_tar_kind_name(enum trace_tar_kind kind); /* "file", "directory" ... */

/* ---- events ---------------------------------------------------------------------------------- */

enum trace_class { TRACE_EVENT, TRACE_COUNTER, TRACE_AGGREGATED, TRACE_METADATA };
enum trace_unit { TRACE_US, TRACE_NS, TRACE_MS, TRACE_SEC };

enum trace_type {
    TRACE_INT = 1, /* .i */
    TRACE_DOUBLE,  /* .d, finite */
    TRACE_BOOL,    /* .i is 0 or 1 */
    /* .ptr, len: decoded UTF-8 (escapes resolved), may hold NUL; 16 bytes can be read at .ptr */
    TRACE_TEXT,
    TRACE_JSON, /* .ptr, len: an array or {} as written (repaired where needed) */
    TRACE_BIG   /* .ptr, len: decimal digits of an integer beyond int64 */
};
/* One leaf of an event; 16 bytes. Times (TRACE_FIELD_TS, _DUR) are TRACE_INT in microseconds, or in
 * nanoseconds if `nano` is 1 (unit NS, or a fraction of a microsecond). */
struct trace_value {
    uint16_t field;
    uint8_t type;
    uint8_t nano;
    uint32_t len;
    union {
        int64_t i;
        double d;
        const char *ptr;
    };
};

/* Fields that every scanner knows; others get ids from TRACE_FIELD_DYNAMIC on, in order of
 * appearance. */
enum {
    TRACE_FIELD_NAME,
    TRACE_FIELD_CAT,
    TRACE_FIELD_PID,
    TRACE_FIELD_TID,
    TRACE_FIELD_TS,
    TRACE_FIELD_DUR,
    TRACE_FIELD_PH,
    TRACE_FIELD_ID,
    TRACE_FIELD_TYPE,
    TRACE_FIELD_HHASH,
    TRACE_FIELD_FHASH,
    TRACE_FIELD_SHASH,
    TRACE_FIELD_RET,
    TRACE_FIELD_COUNT,
    TRACE_FIELD_OFFSET,
    TRACE_FIELD_SIZE,
    TRACE_FIELD_IMAGE_SIZE,
    TRACE_FIELD_SIZE_SUM,
    TRACE_FIELD_RET_SUM,
    TRACE_FIELD_HOSTNAME,
    TRACE_FIELD_FNAME,
    TRACE_FIELD_PATH,
    TRACE_FIELD_ARG_NAME,
    TRACE_FIELD_ARG_VALUE,
    TRACE_FIELD_PPID,
    TRACE_FIELD_CMD_HASH,
    TRACE_FIELD_EXEC_HASH,
    TRACE_FIELD_CWD,
    TRACE_FIELD_VERSION,
    TRACE_FIELD_TIME_METRIC, /* args.cfg.time_metric */
    TRACE_FIELD_DYNAMIC
};
/* Values of paths beyond this number of distinct paths (or 4 MiB of them) have no field of their
 * own: they are TRACE_JSON text with the field TRACE_FIELD_OTHER: "path":value, at most 16 MiB an
 * event. Values of paths longer than 4,096 bytes are dropped. */
#define TRACE_FIELDS_MAX 4096
#define TRACE_FIELD_OTHER 0xFFFF
/* Appends a text as it is in such values: quoted, with control characters as \u00xx. */
void trace_put_other_text(struct buf *out, struct text t);

struct trace_event {
    enum trace_class class;
    uint8_t repaired; /* the original text is not valid JSON: trace_repair writes a valid form */
    uint8_t bad_dur;  /* dur is beyond int64, and therefore absent */
    /* of the object in the chunk's text ('{' to '}'; a cut-off tail excluded) */
    uint32_t offset, len;
    uint32_t count;
    /* events of one scanner with the same number have the same fields, types and units in
     * the same order; 0 = not known */
    uint32_t shape;
    uint64_t fixed; /* bit i: value i is the same text in all events of the shape */
    /* borrowed until the next call, including texts; no nulls, each field at most once
     * (except TRACE_FIELD_OTHER). A complete event without dur has a dur of 0 as its last value
     * (READING.md). */
    const struct trace_value *values;
};

/* READING.md; `split`: objects read over several lines, `glued`: lines from which rule 7 read an
 * object. */
struct trace_counts {
    uint64_t lines, brackets, invalid, repaired, events, counters, aggregated, metadata, bad_dur,
        split, glued;
};

struct trace_scanner; /* one per worker thread, kept over chunks and files: it learns layouts */
struct trace_scanner_options {
    enum cpu_level level; /* CPU_PORTABLE forces plain C; never above cpu_level() */
    bool no_templates;    /* only the order-free path (differential tests) */
    bool only_tolerant;   /* only the slow path (differential tests) */
};
int trace_scanner_new(const struct trace_scanner_options *options /* NULL: best */,
                      struct trace_scanner **ret);
void trace_scanner_free(struct trace_scanner *s);
/* Starts the scan of a chunk's text (borrowed until the scan ends; followed by 64 readable bytes of
 * any content; len < 4 GiB). */
void trace_scan_begin(struct trace_scanner *s, const char *text, size_t len, enum trace_unit unit);
/* Returns 1 and the next event, 0 at the end, or -ENOMEM. */
int trace_scan_next(struct trace_scanner *s, struct trace_event *ret);
/* Counters since trace_scan_begin; complete after trace_scan_next returned 0. */
void trace_scan_counts(const struct trace_scanner *s, struct trace_counts *ret);
/* The dotted path of a field: "name", "args.ret"; borrowed until trace_scanner_free. */
struct text trace_field_path(const struct trace_scanner *s, uint16_t field);
/* Returns true for paths of hashes, which are always text (READING.md). */
bool trace_path_is_hash(struct text path);
/* Returns true for paths where numeric text is converted to a number. */
bool trace_path_is_numeric(struct text path);

/* Writes the valid form of an object that was repaired: the bytes [offset, offset+len) of an event.
 * It is one line (a newline between joined lines becomes a blank); parts that need no repair are
 * unchanged. Reads nothing after `len`. Returns 0, ERR_CORRUPT if no object can be read from it
 * (out is unchanged), or -ENOMEM (also sticky in out). */
int trace_repair(const char *text, size_t len, struct buf *out);

#endif
