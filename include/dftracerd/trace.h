/* trace.h - from a trace file to text, from text to events, and back to text by position.
 *
 * May use:   base; zlib, ISA-L, libdeflate (here only).   Used by: index, answer, rewrite.
 * Threads:   every object here belongs to one thread at a time; different objects are independent.
 * Rules:     docs/READING.md says exactly which text becomes which objects and values.
 * Positions: a *text offset* counts bytes of the uncompressed text of the whole file, from 0. Where
 *            a damaged member left no newline at its end, the newline that the reader inserts
 *            counts.
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

/* A place from which reading can start. For gzip: a deflate block boundary or a member start. */
struct trace_checkpoint {
    uint64_t text_offset;
    uint64_t file_offset; /* first byte of the file that is needed */
    uint8_t bits;         /* 0-7: low bits of that byte that belong to the block before */
    uint8_t kind;         /* enum trace_checkpoint_kind */
    /* bytes at `window`: raw-deflated preset window (at most 32 KiB of text), 0 at a member start
 */
    uint32_t window_len;
    const uint8_t *window; /* owner as the function says */
    /* With these a reader that starts here tells members and damage as one that started at 0. */
    uint64_t members; /* gzip members begun before */
    bool in_member;   /* TRACE_AT_BLOCK, and the rest is known: the member's checksum is checked */
    uint32_t crc;     /* CRC-32 of the member's text before */
    uint64_t member_start; /* file offset of the member */
    uint64_t member_text;  /* text of the member before */
};
enum trace_checkpoint_kind { TRACE_AT_PLAIN, TRACE_AT_MEMBER, TRACE_AT_BLOCK };

enum trace_damage_kind {
    TRACE_DAMAGE_DATA = 1, /* deflate data does not decode: lost up to the next member */
    /* member decoded, its checksum or length is wrong: text kept as it is (no newline
     * is put behind it); not checked where reading began inside a member of which the
     * checkpoint does not know what was before */
    TRACE_DAMAGE_CRC,
    TRACE_DAMAGE_CUT, /* the file ends inside a member */
    /* bytes before, between or after members that are no member (zero bytes after the first one
     * are padding); also of a file that should be gzip and is text without an object */
    TRACE_DAMAGE_GARBAGE,
    TRACE_DAMAGE_READ, /* pread failed (EIO): reading ends here */
    TRACE_DAMAGE_LINE, /* a line longer than TRACE_LINE_MAX (file_from, file_to 0) */
    TRACE_DAMAGE_TAR,  /* of an archive: no member's header where one has to be */
    TRACE_DAMAGE_MANY  /* of an archive: more members than are read of one */
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
    /* is read in place of the descriptor, which is not looked at; borrowed. NULL: none */
    struct trace_source *source;
    /* it should be gzip, by its name: with a damaged beginning it is not taken for text
     * (READING.md) */
    bool named_gzip;
};
struct trace_reader_info {
    enum trace_format format;
    enum trace_engine engine;
    uint64_t file_offset; /* bytes of the file consumed */
    uint64_t text_offset; /* bytes of text delivered */
    uint64_t members;     /* gzip members begun, those before the checkpoint included */
    bool in_member;       /* at the end of the file: it stopped inside a member */
    bool empty;           /* the file has no byte (format is PLAIN then) */
};

struct trace_reader;
/* `from` NULL starts at 0, else at a checkpoint of the same file (copied). 0, -ENOMEM, -errno of
 * pread. */
int trace_reader_open(int fd, const struct trace_reader_options *options,
                      const struct trace_checkpoint *from, struct err *err,
                      struct trace_reader **ret);
void trace_reader_close(struct trace_reader *r);
/* Next text: bytes written (> 0), 0 at the present end of the file (calling again later continues
 * if the file has grown meanwhile), or -errno. Damage is not an error: it is recorded and reading
 * goes on. */
ssize_t trace_reader_read(struct trace_reader *r, char *out, size_t len);
/* The file will not grow: an unfinished member is recorded as TRACE_DAMAGE_CUT. Call it when read
 * returned 0, and read once more: a file of the single byte 1f is text only now. */
void trace_reader_finish(struct trace_reader *r);
void trace_reader_info(const struct trace_reader *r, struct trace_reader_info *ret);
/* Checkpoints met so far, in text order; the first is at `from` or 0. For k >= 1 one is placed at
 * the first block boundary at or after k * checkpoint_size - 128 KiB, so that a chunk's first line
 * is (nearly always) behind it; after damage one is always placed at the member where reading
 * resumed. Identical whichever engine found them. The array is borrowed until the next read, the
 * windows until the reader closes or they are dropped. */
size_t trace_reader_checkpoints(const struct trace_reader *r, const struct trace_checkpoint **ret);
/* Frees the windows of the first `count` checkpoints (they are stored): their `window` becomes
 * NULL. A reader of a long file that never does this grows by about 6 KB a checkpoint. */
void trace_reader_drop_checkpoints(struct trace_reader *r, size_t count);
/* Borrowed until the next read. At most 4096; further damage is added to the last one's range. */
size_t trace_reader_damage(const struct trace_reader *r, const struct trace_damage **ret);
const char *trace_damage_name(enum trace_damage_kind kind);
const char *trace_engine_name(enum trace_engine engine); /* "zlib", "isal" */
bool trace_engine_available(enum trace_engine engine);

/* ---- text ahead of a reader ------------------------------------------------------------------ */

/* Text of a gzip file inflated out of turn, by any thread, from where a member or checkpoint is or
 * only seems to be. A reader that comes to that place in the state in which the piece was begun
 * delivers it in place of inflating the same, and tells text, checkpoints and damage as without; a
 * piece that was guessed wrongly fits nowhere. */
struct trace_piece;
/* `r`: a reader of its own, opened at a checkpoint, of which nothing else is read (for a member it
 * is enough to know .kind = TRACE_AT_MEMBER and .file_offset). The next *new* piece: whole blocks,
 * at most `most` bytes of text (it takes an eighth more), up to the bit `stop` of the file if that
 * is between two blocks. 0, ERR_END (not one whole block), -ENOMEM, -errno. */
int trace_piece_read(struct trace_reader *r, size_t most, uint64_t stop, struct trace_piece **ret);
uint64_t trace_piece_end(const struct trace_piece *p); /* the bit of the file behind it */
void trace_piece_free(struct trace_piece *p);
/* File offset, in [from, to), of the next place that looks like a member and begins to inflate. 0,
 * ERR_END, -ENOMEM, -errno. */
int trace_find_member(int fd, uint64_t from, uint64_t to, uint64_t *ret);

/* Where a reader asks for pieces; called by the thread that reads. */
struct trace_ahead {
    /* the bit where the next piece begins: the reader asks from there on; UINT64_MAX: none */
    _Atomic uint64_t first;
    /* the piece that begins at `bit`, or NULL */
    struct trace_piece *(*take)(struct trace_ahead *a, uint64_t bit);
    /* takes what was taken */
    void (*done)(struct trace_ahead *a, struct trace_piece *p, bool used);
};
/* Borrowed until the reader closes, which may call `done`. */
void trace_reader_follow(struct trace_reader *r, struct trace_ahead *ahead);

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
    size_t cap; /* allocated; text and cap go back by trace_chunk_done only */
    bool ended; /* the next line is there, or the file was finished: final, not provisional */
};
/* A line longer than TRACE_LINE_MAX ends its chunk as the line "!" (so one invalid line), and is
 * recorded as TRACE_DAMAGE_LINE. Numbers always go up: where such a line ends a chunk before its
 * time (chunk_size above TRACE_LINE_MAX), the rest of the range is chunk k + 1, and k + 2 the next,
 * until the count and the offsets agree. */
struct trace_chunker;
/* Reads from `r` (borrowed) on; r must stand at a line start: a checkpoint rarely is one, so
 * `skip_to` says the text offset of the first line wanted (text before it is discarded). chunk_size
 * >= 64 KiB. */
int trace_chunker_new(struct trace_reader *r, uint64_t chunk_size, uint64_t skip_to,
                      struct trace_chunker **ret);
void trace_chunker_free(struct trace_chunker *c);
/* 0 and a *new* chunk (trace_chunk_done frees its text), ERR_END at the present end of the file,
 * -errno, -ENOMEM. `finish`: the file will not grow, so a last unterminated line is delivered;
 * otherwise at the end of the file a chunk of the complete lines so far is delivered with
 * ended=false, and the same chunk is delivered again, longer, when the file has grown. */
int trace_chunker_next(struct trace_chunker *c, bool finish, struct trace_chunk *ret);
/* any thread; memory is kept for the next chunks */
void trace_chunk_done(struct trace_chunk *chunk);
/* Text that has come otherwise: sets text, len and cap. -ENOMEM. */
int trace_chunk_copy(struct text text, struct trace_chunk *ret);

/* ---- text by position ------------------------------------------------------------------------ */

/* Finds the greatest checkpoint with text_offset <= offset; its window must stay valid until the
 * next call. */
typedef int trace_find_checkpoint(void *arg, uint64_t text_offset, struct trace_checkpoint *ret);
struct trace_text;
/* Random access to one file's text. Forward reads continue the stream where that is cheaper than a
 * checkpoint. */
int trace_text_open(int fd, enum trace_format format, enum trace_engine engine,
                    trace_find_checkpoint *find, void *arg, struct trace_text **ret);
void trace_text_close(struct trace_text *t);
/* Exactly `len` bytes from text offset `offset`; ERR_CORRUPT when the file no longer holds them. */
int trace_text_read(struct trace_text *t, uint64_t offset, char *out, size_t len);

/* As trace_text_open, of what a source holds; takes the source when it succeeds. */
int trace_text_open_source(struct trace_source *source, enum trace_format format,
                           enum trace_engine engine, trace_find_checkpoint *find, void *arg,
                           struct trace_text **ret);

/* A part of a text that is a file of its own: a member of an archive. Its readers need no
 * checkpoints of their own to go to a place, they use those of the text below; packed once more, it
 * has both. */
/* Bytes [offset, offset + size) of `text`, which it takes when it succeeds; `done` (may be NULL) is
 * called when it closes. -ENOMEM. */
int trace_source_new(struct trace_text *text, uint64_t offset, uint64_t size,
                     void (*done)(void *arg), void *arg, struct trace_source **ret);
void trace_source_close(struct trace_source *s);
/* Closes the source, and gives the text back: *new*; NULL of NULL. */
struct trace_text *trace_source_release(struct trace_source *s);

/* ---- tar archives ---------------------------------------------------------------------------- */

/* Which members a tar archive has, header by header; nothing is unpacked. Read are the first format
 * (V7), POSIX ustar and pax, GNU's; what a member is packed with is no matter here. */
enum trace_tar_kind {
    TRACE_TAR_FILE,
    TRACE_TAR_DIRECTORY,
    TRACE_TAR_LINK,
    TRACE_TAR_SPARSE,
    TRACE_TAR_OTHER
};
struct trace_tar_member {
    /* as tar would unpack it: no "/" or "./" before it, no "/" behind; a NUL after its end. It may
     * be empty, or hold ".." or any bytes. Borrowed until the next call */
    struct text name;
    /* LINK: also a second name of a file; SPARSE: its text has holes, and is not what is stored;
     * OTHER: devices, pieces of another volume */
    enum trace_tar_kind kind;
    /* its bytes in the archive's (uncompressed) text, which may end before them */
    uint64_t offset, size;
    int64_t mtime_s;
    bool absolute; /* its name began with "/" */
};
struct trace_tar;
struct trace_tar *trace_tar_new(void); /* *new*, or NULL */
void trace_tar_free(struct trace_tar *t);
/* Offset of the text that is wanted next: what lies before it is of no use. */
uint64_t trace_tar_wants(const struct trace_tar *t);
/* Nothing of a next member has come: the archive may end here (without its mark, where that has not
 * been told). */
bool trace_tar_is_between(const struct trace_tar *t);
/* `len` (any number of) bytes of the archive's text, from trace_tar_wants on. 1 and a member,
 * before its text; 0: these are used, or the next wanted lie behind them; ERR_END: the mark at the
 * end; ERR_CORRUPT: no header where one has to be, or a bad record (no more calls then); -ENOMEM.
 */
int trace_tar_next(struct trace_tar *t, const char *text, size_t len, struct trace_tar_member *ret);
const char *trace_tar_error(const struct trace_tar *t); /* after ERR_CORRUPT: why, in a few words */
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
 * nanoseconds where `nano` is 1 (unit NS, or a fraction that microseconds cannot hold). */
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
/* A scanner that has met more distinct paths (or 4 MiB of them) drops the values of further ones,
 * after giving them as TRACE_JSON text with the field TRACE_FIELD_OTHER: "path":value, at most 16
 * MiB an event. Values of paths longer than 4,096 bytes are dropped. */
#define TRACE_FIELDS_MAX 4096
#define TRACE_FIELD_OTHER 0xFFFF

struct trace_event {
    enum trace_class class;
    uint8_t repaired; /* the text is not valid JSON as it stands: trace_repair gives it */
    uint8_t bad_dur;  /* a dur was there, but beyond int64: absent */
    /* of the object in the chunk's text ('{' to '}'; a cut-off tail excluded) */
    uint32_t offset, len;
    uint32_t count;
    /* events of one scanner with the same number have the same fields, types and units in
     * the same order; 0 = nothing is known */
    uint32_t shape;
    uint64_t fixed; /* bit i: value i of all of them is the same text */
    /* borrowed until the next call, texts too; no nulls, each field at most once
     * (but TRACE_FIELD_OTHER). The dur of 0 that READING.md gives a complete event
     * without one is among them, as the last. */
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
/* Starts on a chunk's text (borrowed until the scan ends; 64 readable bytes of any content behind
 * it; len < 4 GiB). */
void trace_scan_begin(struct trace_scanner *s, const char *text, size_t len, enum trace_unit unit);
/* 1 and the next event, 0 at the end, -ENOMEM. */
int trace_scan_next(struct trace_scanner *s, struct trace_event *ret);
/* Counters since trace_scan_begin; complete after trace_scan_next returned 0. */
void trace_scan_counts(const struct trace_scanner *s, struct trace_counts *ret);
/* The dotted path of a field: "name", "args.ret"; borrowed until trace_scanner_free. */
struct text trace_field_path(const struct trace_scanner *s, uint16_t field);
uint32_t trace_field_count(const struct trace_scanner *s);
/* True where a path holds hashes, which are text whatever was written (READING.md). */
bool trace_path_is_hash(struct text path);
/* True where numeric text was normalised to a number. */
bool trace_path_is_numeric(struct text path);

/* Writes the valid form of an object that was repaired: the bytes [offset, offset+len) of an event.
 * It is one line (a newline between joined lines becomes a blank), and what needs no repair stays
 * as it is. Reads nothing behind `len`. 0, ERR_CORRUPT when no object can be read from it (out is
 * as before), -ENOMEM (also sticky in out). */
int trace_repair(const char *text, size_t len, struct buf *out);

#endif
