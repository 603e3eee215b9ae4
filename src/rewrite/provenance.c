/* provenance.c - records of the sidecar: a byte of type, the length, the payload; all of it one
 * zstd frame. */
#include "rewrite/provenance.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

static const char magic[8] = "DFTPROV1";
enum {
    LEVEL = 9,
    WINDOW_LOG_MAX = 23,     /* 8 MiB, which are not charged; that of LEVEL is 4 MiB */
    FLUSH_BYTES = 256 << 10, /* of records that wait for compression */
    HEAD_MAX = 11,           /* bytes of the type and length of a record */
    PIECE = 128 << 10,       /* bytes that zstd reads or writes at a time */
};

void hash_put(struct buf *out, struct hash128 hash)
{
    for (int shift = 56; shift >= 0; shift -= 8)
        buf_putc(out, (char)(hash.high >> shift));
    for (int shift = 56; shift >= 0; shift -= 8)
        buf_putc(out, (char)(hash.low >> shift));
}

struct hash128 hash_take(struct rec *from)
{
    unsigned char bytes[16] = {0};
    struct hash128 hash = {0};

    rec_array(from, bytes, sizeof(bytes));
    for (int i = 0; i < 8; i++) {
        hash.high = hash.high << 8 | bytes[i];
        hash.low = hash.low << 8 | bytes[8 + i];
    }
    return hash;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct provenance_writer {
    struct archive_writer_file *file; /* NULL after the end */
    ZSTD_CCtx *zstd;
    struct buf records, compressed; /* records: not compressed yet */
    struct hasher text, bytes;      /* of all records; of the bytes of the file */
    uint64_t size;                  /* of the file */
};

int provenance_writer_new(struct archive_writer *archive_writer, struct err *err,
                          struct provenance_writer **ret)
{
    struct provenance_writer *w = aligned_alloc(_Alignof(struct hasher), sizeof(*w));

    if (!w)
        return err_set_code(err, -ENOMEM);
    memset(w, 0, sizeof(*w));
    hasher_begin(&w->text, 0);
    hasher_begin(&w->bytes, 0);
    buf_append(&w->records, magic, sizeof(magic));
    w->zstd = ZSTD_createCCtx();
    int rc = w->zstd ? archive_writer_file_new(archive_writer, err, &w->file) : -ENOMEM;
    if (rc < 0) {
        provenance_writer_free(w);
        return err_set_code(err, rc);
    }
    ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
    *ret = w;
    return 0;
}

void provenance_writer_free(struct provenance_writer *w)
{
    if (!w)
        return;
    archive_writer_file_drop(w->file);
    ZSTD_freeCCtx(w->zstd);
    buf_done(&w->records);
    buf_done(&w->compressed);
    free(w);
}

void provenance_put(struct provenance_writer *w, enum provenance_type type, struct text payload)
{
    buf_putc(&w->records, (char)type);
    rec_put_text(&w->records, payload);
}

static int compress_records(struct provenance_writer *w, ZSTD_EndDirective end)
{
    ZSTD_inBuffer in = {w->records.data, w->records.len, 0};
    size_t left;

    if (w->records.error)
        return w->records.error;
    buf_clear(&w->compressed);
    do {
        char *to = buf_reserve(&w->compressed, PIECE);
        if (!to)
            return -ENOMEM;
        ZSTD_outBuffer out = {to, PIECE, 0};
        left = ZSTD_compressStream2(w->zstd, &out, &in, end);
        if (ZSTD_isError(left))
            return -ENOMEM;
        w->compressed.len += out.pos;
    } while (in.pos < in.size || (end == ZSTD_e_end && left));
    if (w->records.len)
        hasher_add(&w->text, w->records.data, w->records.len);
    buf_clear(&w->records);
    return 0;
}

static int write_records(struct provenance_writer *w, ZSTD_EndDirective end, struct err *err)
{
    int rc = compress_records(w, end);

    if (rc < 0)
        return err_set_code(err, rc);
    hasher_add(&w->bytes, w->compressed.data, w->compressed.len);
    w->size += w->compressed.len;
    return archive_writer_file_write(w->file, (struct text){w->compressed.data, w->compressed.len},
                                     err);
}

int provenance_flush(struct provenance_writer *w, struct err *err)
{
    return w->records.len < FLUSH_BYTES && !w->records.error
               ? 0
               : write_records(w, ZSTD_e_continue, err);
}

int provenance_finish(struct provenance_writer *w, uint64_t *ret_bytes, struct hash128 *ret_hash,
                      struct err *err)
{
    struct buf hash = {0};
    int rc = write_records(w, ZSTD_e_continue, err);

    hash_put(&hash, hasher_end(&w->text));
    provenance_put(w, PROVENANCE_END, (struct text){hash.data, hash.len});
    rc = rc == 0 && hash.error ? hash.error : rc;
    buf_done(&hash);
    rc = rc < 0 ? rc : write_records(w, ZSTD_e_end, err);
    if (rc < 0)
        return rc;
    *ret_bytes = w->size;
    *ret_hash = hasher_end(&w->bytes);
    struct archive_writer_file *file = w->file;
    w->file = NULL;
    return archive_writer_file_finish(file, PROVENANCE_NAME, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct provenance_reader {
    struct hasher text; /* hash of the records */
    struct budget *budget;
    int fd;
    uint64_t offset; /* of the next read */
    ZSTD_DCtx *zstd;
    ZSTD_inBuffer in;
    struct buf records; /* from `at` on: records that were not returned yet */
    size_t at, hashed;  /* hashed: bytes of `records` that are in `text` */
    bool begun;         /* the magic bytes have been read */
    bool frame_ended;   /* the zstd frame is complete */
    bool ended;         /* PROVENANCE_END has been read */
    char piece[PIECE];  /* memory of `in` */
};

int provenance_reader_new(int fd, struct budget *budget, struct provenance_reader **ret)
{
    struct provenance_reader *r = aligned_alloc(_Alignof(struct hasher), sizeof(*r));

    if (!r)
        return -ENOMEM;
    memset(r, 0, sizeof(*r));
    r->fd = fd;
    r->budget = budget;
    r->in.src = r->piece;
    hasher_begin(&r->text, 0);
    r->zstd = ZSTD_createDCtx();
    if (!r->zstd) {
        provenance_reader_free(r);
        return -ENOMEM;
    }
    ZSTD_DCtx_setParameter(r->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    *ret = r;
    return 0;
}

void provenance_reader_free(struct provenance_reader *r)
{
    if (!r)
        return;
    ZSTD_freeDCtx(r->zstd);
    buf_done(&r->records);
    free(r);
}

static int set_corrupt(struct err *err, const char *what)
{
    return err_set(err, ERR_CORRUPT, PROVENANCE_NAME " %s", what);
}

static int read_piece(struct provenance_reader *r, struct err *err)
{
    ssize_t n;

    do {
        n = pread(r->fd, r->piece, PIECE, (off_t)r->offset);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set(err, -errno, PROVENANCE_NAME ": %s", strerror(errno));
    if (n == 0)
        return set_corrupt(err, "is truncated");
    r->offset += (uint64_t)n;
    r->in = (ZSTD_inBuffer){r->piece, (size_t)n, 0};
    return 0;
}

/* Decompresses more records, in place of those that were returned. */
static int read_records(struct provenance_reader *r, struct err *err)
{
    int rc = budget_check(r->budget);

    if (r->at)
        memmove(r->records.data, r->records.data + r->at, r->records.len - r->at);
    r->records.len -= r->at;
    r->hashed -= r->at;
    r->at = 0;
    if (r->frame_ended)
        return set_corrupt(err, "is truncated: its last record is missing");
    if (rc == 0 && r->in.pos == r->in.size)
        rc = read_piece(r, err);
    if (rc < 0)
        return rc;
    char *to = buf_reserve(&r->records, PIECE);
    if (!to)
        return err_set_code(err, -ENOMEM);
    ZSTD_outBuffer out = {to, PIECE, 0};
    size_t left = ZSTD_decompressStream(r->zstd, &out, &r->in);
    if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation)
        return -ENOMEM;
    if (ZSTD_isError(left))
        return set_corrupt(err, "is corrupt: it cannot be decompressed");
    r->records.len += out.pos;
    r->frame_ended = left == 0;
    return 0;
}

/* Compares the checksum, and checks that nothing follows. `before`: the records before this one. */
static int check_end(struct provenance_reader *r, struct text payload, size_t before,
                     struct err *err)
{
    struct rec record = rec_of(payload);
    char stored[33], computed[33];

    hasher_add(&r->text, r->records.data + r->hashed, before - r->hashed);
    hash128_hex(hash_take(&record), stored);
    hash128_hex(hasher_end(&r->text), computed);
    if (record.bad || record.ptr != record.end)
        return set_corrupt(err, "is corrupt: its checksum has the wrong length");
    if (strcmp(stored, computed) != 0)
        return err_set(err, ERR_CORRUPT,
                       PROVENANCE_NAME
                       " was changed: the checksum of its records is %s, but %s is stored",
                       computed, stored);
    r->hashed = r->at;
    while (!r->frame_ended && r->at == r->records.len) {
        int rc = read_records(r, err);
        if (rc < 0)
            return rc;
    }
    if (r->at < r->records.len)
        return set_corrupt(err, "is corrupt: there is data after its last record");
    r->ended = true;
    return ERR_END;
}

/* Parses the record at `at`. Returns 1; 0 if it is incomplete; ERR_CORRUPT. */
static int parse_record(struct provenance_reader *r, struct err *err,
                        enum provenance_type *ret_type, struct text *ret, size_t *ret_end)
{
    size_t left = r->records.len - r->at;
    struct rec rest = rec_of((struct text){r->records.data + r->at, left});

    if (left < 2)
        return 0;
    int type = *rest.ptr++;
    if (type < PROVENANCE_TARGET || type > PROVENANCE_END)
        return set_corrupt(err, "has a record of unknown type");
    uint64_t len = rec_u(&rest);
    if (rest.bad)
        return left > HEAD_MAX ? set_corrupt(err, "has a record with an invalid length") : 0;
    if (len > PROVENANCE_RECORD_MAX)
        return set_corrupt(err, "has a record that is too long");
    if ((uint64_t)(rest.end - rest.ptr) < len)
        return 0;
    *ret_type = (enum provenance_type)type;
    *ret = (struct text){(const char *)rest.ptr, (size_t)len};
    *ret_end = (size_t)((const char *)rest.ptr - r->records.data) + (size_t)len;
    return 1;
}

static int read_magic(struct provenance_reader *r, struct err *err)
{
    while (r->records.len < sizeof(magic)) {
        int rc = read_records(r, err);
        if (rc < 0)
            return rc;
    }
    if (memcmp(r->records.data, magic, sizeof(magic)) != 0)
        return set_corrupt(err, "is not provenance data, or was written by an unsupported version");
    r->at = sizeof(magic);
    r->begun = true;
    return 0;
}

int provenance_next(struct provenance_reader *r, struct err *err, enum provenance_type *ret_type,
                    struct text *ret)
{
    size_t end = 0;
    int rc = r->ended ? ERR_END : r->begun ? 0 : read_magic(r, err);

    while (rc == 0 && (rc = parse_record(r, err, ret_type, ret, &end)) == 0) {
        hasher_add(&r->text, r->records.data + r->hashed, r->at - r->hashed);
        r->hashed = r->at;
        rc = read_records(r, err);
    }
    if (rc < 0)
        return rc;
    size_t before = r->at;
    r->at = end;
    return *ret_type == PROVENANCE_END ? check_end(r, *ret, before, err) : 0;
}
