/* rewrite.h - new traces made from others, and their output as tar streams, directories or bodies
 * of answers.
 *
 * May use:   base, trace, index, engine, answer, format; zlib, ISA-L, libdeflate, zstd,
 *            jansson. Used by: http, daemon, mpi.
 * Threads:   a disk_budget is shared: any thread. Everything else belongs to one thread at a time;
 *            a compressor makes all threads of its pool work.
 * Memory:    independent of the length of the traces: a spool takes none (its bytes are in a file),
 *            a compressor takes 1 MiB for each incomplete file and 7 MiB for each thread.
 */
#ifndef DFTRACERD_REWRITE_H
#define DFTRACERD_REWRITE_H

#include "dftracerd/format.h"

/* ---- tar streams ----------------------------------------------------------------------------- */

/* Writes ustar members, one after the other. The size of a member must be given before its bytes. A
 * name beyond 100 bytes that does not fit into prefix and name, or is not ASCII, has a pax record;
 * so has a size of 8 GiB or more (and the number in base 256 in the header, for readers that skip
 * pax). Owner and group are 0. Zero-initialise. */
struct tar {
    uint64_t left;    /* bytes of the current member that have not been counted */
    unsigned padding; /* bytes after the current member */
};
struct tar_entry {
    struct text name;
    uint64_t size;
    int64_t mtime_s; /* >= 0 */
    unsigned mode;   /* 0 = 0644 */
};
/* Begins a member. Returns 0, or -EINVAL if the name is empty, absolute, contains a NUL or a `..`,
 * ends with `/`, or is longer than 4,000 bytes. The buffer's error is sticky. */
int tar_begin(struct tar *t, const struct tar_entry *e, struct buf *out);
/* Counts bytes that the caller appends to `out`. Asserts that they do not exceed the size of the
 * member. */
void tar_count(struct tar *t, size_t len);
void tar_end(struct tar *t, struct buf *out);    /* asserts that all bytes have been counted */
void tar_finish(struct tar *t, struct buf *out); /* after the last member */

/* ---- spool: bytes that wait until their number is known -------------------------------------- */

/* Limit of the disk space of all spools of a daemon. limit 0 = none. */
struct disk_budget {
    _Atomic uint64_t used;
    uint64_t limit;
};

/* A nameless file in `dir`: it takes disk space while it is not empty, and disappears with the
 * process. */
struct spool;
/* *new*; `budget` (may be NULL) is borrowed. Returns 0, -errno of the directory, or -ENOMEM. */
int spool_new(const char *dir, struct disk_budget *budget, struct err *err, struct spool **ret);
/* Returns 0, -ENOSPC (also by the budget), -EDQUOT, -EIO ... */
int spool_write(struct spool *s, struct text data, struct err *err);
uint64_t spool_size(const struct spool *s);
/* Appends the next bytes, at most `max`. Returns 0, ERR_END after all bytes, -errno or -ENOMEM. */
int spool_read(struct spool *s, size_t max, struct buf *out, struct err *err);
void spool_clear(struct spool *s);   /* makes it empty, if the disk allows that */
int spool_fd(const struct spool *s); /* borrowed */
void spool_free(struct spool *s);    /* NULL-safe */

/* ---- archive: a tar that was received -------------------------------------------------------- */

/* The regular files of a tar; ustar, pax and GNU's long names; directories are skipped. Paths
 * are below the directory of provenance.zst. Memory: about 100 bytes for each member, at most
 * 100,000 of them, and 32 MiB of names. */
struct archive;
/* *new*; all arguments but the budget are borrowed until archive_free. The size of the tar is
 * charged to `disk` (may be NULL) once more, for the copies of its files. Returns ERR_PARAM if
 * it is not a tar, is corrupt or cut off, a name is absolute, contains `..` or is duplicate, or a
 * member is a link or device (err.text says which); -ENOSPC, -errno, -ENOMEM, or the error of the
 * budget. */
int archive_open(const struct spool *spool, const char *spool_dir, struct disk_budget *disk,
                 struct budget *budget, struct err *err, struct archive **ret);
/* Returns a *new* descriptor of a nameless copy of the file; -ENOENT if it is not in the tar or was
 * copied before; -errno, -ENOMEM, or the error of the budget. */
int archive_copy_file(struct archive *a, const char *path, struct budget *budget);
void archive_free(struct archive *a);

/* ---- archive writer: output as a tar, a directory or a body ---------------------------------- */

/* An archive writer is a tar stream, a directory or a body. In a tar stream, an incomplete file is
 * a spool, a complete one waits until it is sent. A directory is below the daemon's output
 * directory: everything is written below a directory `.dftracerd-...` there, and renamed by
 * archive_writer_end. If it ends earlier (by an error, archive_writer_free, or a kill), nothing is
 * left under a final name; if archive_writer_end itself is interrupted while it replaces files of
 * an existing directory (`force`), some are replaced, each completely. A body has the files one
 * after the other, without names; an incomplete one is sent, too. Names are relative, with `/`
 * between directories, which are created; errors as of tar_begin. */
struct archive_writer;
struct archive_writer_file;
/* *new*. `spool_dir` and `budget` are borrowed; mtime_s is that of all members. Returns 0 or
 * -ENOMEM. */
int archive_writer_tar_new(const char *spool_dir, struct disk_budget *budget, int64_t mtime_s,
                           struct archive_writer **ret);
/* *new*. `path` is relative to `base` (both are copied). It never leads outside of base, nor
 * through a symbolic link. Without `force` it must not exist (-EEXIST); with `force`, files of the
 * same names are replaced, others stay. Returns ERR_PARAM (err.param "output") if the path has an
 * empty part, `.` or `..`, or one that begins with `.dftracerd-`; -EEXIST, -ENOTDIR, -ELOOP,
 * -EACCES, -ENOSPC ... */
int archive_writer_dir_new(const char *base, const char *path, bool force, struct err *err,
                           struct archive_writer **ret);
int archive_writer_body_new(struct archive_writer **ret); /* *new*; returns 0 or -ENOMEM */
bool archive_writer_is_tar(const struct archive_writer *w);
bool archive_writer_is_body(const struct archive_writer *w);
/* Begins a file. The number of incomplete files is limited by descriptors only. *new*: the caller
 * finishes or drops it before archive_writer_free. */
int archive_writer_file_new(struct archive_writer *w, struct err *err,
                            struct archive_writer_file **ret);
int archive_writer_file_write(struct archive_writer_file *f, struct text data, struct err *err);
uint64_t archive_writer_file_size(const struct archive_writer_file *f);
/* Completes `f`, which becomes owned by the archive writer, on errors too. Members of a tar are in
 * the order of these calls. Returns -EINVAL for a bad name; -EEXIST (directory) if the name existed
 * before. */
int archive_writer_file_finish(struct archive_writer_file *f, const char *name, struct err *err);
void archive_writer_file_drop(struct archive_writer_file *f); /* NULL-safe */
/* Appends up to about `max` bytes of complete files. Returns 0, or ERR_END if nothing is ready
 * (always for a directory). */
int archive_writer_send(struct archive_writer *w, size_t max, struct buf *out, struct err *err);
/* Returns whether there are bytes to send. */
bool archive_writer_is_ready(const struct archive_writer *w);
/* Must be called after all files have been finished and sent: writes the end of the tar, or renames
 * the directory, after fsync. */
int archive_writer_end(struct archive_writer *w, struct buf *out, struct err *err);
/* NULL-safe; removes files that were not renamed. */
void archive_writer_free(struct archive_writer *w);
/* Removes files below `base` that killed processes have left, but none of running ones. */
void archive_writer_remove_stale(const char *base);

/* ---- compressor: text to gzip members, by all threads ---------------------------------------- */

/* Compresses files as gzip members. Text is cut at the first line end after 1 MiB
 * (if that line is not longer than TRACE_LINE_MAX), so that reading can start at each member.
 * The same text yields the same bytes, whatever the pieces and threads; level 0 = plain text. */
#define GZIP_LEVEL_MAX 9
#define GZIP_LEVEL_DEFAULT 5 /* the size of gzip -6 on traces, in a third of the time */
struct compressor;
struct compressor_file;
struct compressor_options {
    int level;
    struct budget *budget; /* NULL: none */
    /* receives the text of each member after it has been inflated again, in complete lines, from
     * several threads at once and in any order; NULL: not checked */
    void (*check)(void *arg, struct text text);
    void *arg;
};
/* *new*; the pool (NULL = the calling thread alone), the archive writer and the budget are
 * borrowed. All memory that grows with threads and incomplete files is charged. Returns 0, -ENOMEM,
 * or ERR_MEMORY_LIMIT, also from compressor_text. */
int compressor_new(struct pool *pool, struct archive_writer *archive_writer,
                   const struct compressor_options *options, struct compressor **ret);
/* *new*: must be finished or dropped before compressor_free */
int compressor_open(struct compressor *p, struct err *err, struct compressor_file **ret);
/* Appends a copy of the text, in any pieces. Compresses and writes when there is enough for all
 * threads. Returns -errno of the archive writer, -ENOMEM or ERR_MEMORY_LIMIT; after an error
 * only drop and free may follow. */
int compressor_text(struct compressor_file *f, struct text text, struct err *err);
/* Returns the bytes of text so far. */
uint64_t compressor_text_bytes(const struct compressor_file *f);
/* Compresses the rest, and passes the file to the archive writer under `name`, in the order of
 * these calls, at the latest in compressor_flush. `f` becomes owned by the compressor, on errors
 * too. Sets *ret_bytes and *ret_hash (may be NULL; size and XXH3-128 of the file's bytes) by
 * then. */
int compressor_finish(struct compressor_file *f, const char *name, uint64_t *ret_bytes,
                      struct hash128 *ret_hash, struct err *err);
void compressor_drop(struct compressor_file *f); /* NULL-safe */
/* Compresses and writes everything that waits. */
int compressor_flush(struct compressor *p, struct err *err);
void compressor_free(struct compressor *p); /* NULL-safe */

/* ---- transform: new traces in turns, and a manifest ------------------------------------------ */

/* A transform of one of the kinds below writes files to an archive writer, and last a manifest in
 * JSON, which describes them (not to a body). *new*: repack_open, organize_open and
 * reconstruct_open return it. */
struct transform;
/* Works for about 50 ms, or until the archive writer has something to send. Returns ERR_END when
 * all is written but for archive_writer_end; errors of reading, and of the archive writer. */
int transform_next(struct transform *t, struct err *err);
/* Returns false if there may be more lines, because sources were being indexed or growing. */
bool transform_complete(const struct transform *t);
/* Returns the manifest, after ERR_END; borrowed until transform_free. */
struct text transform_manifest(const struct transform *t);
void transform_free(struct transform *t); /* NULL-safe */

/* ---- traces in other files: /merge, /split, /pgzip ------------------------------------------- */

/* Writes the lines of a query (as /view does, between `[` and `]`) to one file, or to files of
 * about `chunk_bytes` of text; or compresses plain files, byte for byte. If the comparison of
 * events failed, manifest.json contains "verified":false. */
enum repack_kind { REPACK_MERGE, REPACK_SPLIT, REPACK_PGZIP };
struct repack_options {
    enum repack_kind kind;
    /* name of the single file; several are <name>-<n>.pfw, n from 1; `.gz` is appended to
     * compressed files */
    const char *name;
    uint64_t chunk_bytes;
    int level; /* 0-9; 0 = plain text */
    bool order_ts;
    bool verify; /* inflates the written files, reads the events once more, and compares them */
};
/* Returns whether REPACK_PGZIP compresses the file: it is plain and has been read */
bool repack_can_compress(const struct index_file *f);
/* All arguments but the options are borrowed until transform_free. `q` selects the lines; for
 * REPACK_PGZIP the files. */
int repack_open(struct query *q, struct pool *pool, struct budget *budget,
                struct archive_writer *archive_writer, const struct repack_options *options,
                struct err *err, struct transform **ret);
extern const struct object_type repacked_type; /* manifest.json; of the transform */

/* ---- organize: traces shared out to groups --------------------------------------------------- */

/* /organize copies lines unmodified to the files of the first group whose query selects their
 * object (query.h: struct share); each file is a trace by itself: `[`, `]` and the records that its
 * events refer to are added. Then come `provenance.zst` (how to reconstruct the originals from the
 * files) and manifest.json; docs/REWRITE.md describes both formats. */
#define ORGANIZE_GROUPS_MAX 100
struct organize_group {
    const char *name;
    struct text query;
};
struct organize_options {
    const struct organize_group *groups;
    size_t group_count;
    const char *name;     /* files are <group>/<name>-<n>.pfw.gz */
    uint64_t chunk_bytes; /* text of a file, cut at line ends */
    int level;            /* 0 = plain text: .pfw */
    bool drop_rest;       /* objects that no group selects are left out */
};
/* All arguments are borrowed until transform_free (options: for the call). The tests of `s` and
 * s->phases restrict every group. Returns ERR_PARAM (err.param): "groups": none, too many, a
 * duplicate or invalid name; "name". ERR_QUERY_SYNTAX: err.text names the group. Others as
 * query_open. */
int organize_open(const struct query_env *env, struct snapshot *snapshot, const struct selection *s,
                  const struct organize_options *options, struct archive_writer *archive_writer,
                  struct budget *budget, struct err *err, struct transform **ret);
extern const struct object_type organized_type; /* manifest.json; of the transform */

/* ---- reconstruct: the originals again -------------------------------------------------------- */

enum reconstruct_form {
    RECONSTRUCT_AS_WAS, /* names that end in .gz are gzip, others text */
    RECONSTRUCT_TEXT,   /* text, without .gz at the end of names */
    RECONSTRUCT_GZIP,   /* gzip; all names end in .gz */
};
struct reconstruct_options {
    enum reconstruct_form form;
    int level;
    struct archive *archive; /* may be NULL */
};
/* All arguments are borrowed until transform_free (options: for the call). `dir`: descriptor of a
 * directory that /organize has written, unless options.archive is set. The text of every original
 * is built from the existing files there, compared with its hash, and written under its name. The
 * manifest, reconstruct.json, reports which originals are proved and what is missing: missing or
 * different files are not errors. transform_complete is that of /organize, from manifest.json.
 * Returns ERR_NOT_FOUND if there is no sidecar; ERR_CORRUPT if the sidecar is corrupt, or not the
 * one of manifest.json: err.text says what differs. */
int reconstruct_open(int dir, struct pool *pool, const struct reconstruct_options *options,
                     struct archive_writer *archive_writer, struct budget *budget, struct err *err,
                     struct transform **ret);
extern const struct object_type reconstructed_type; /* reconstruct.json; of the transform */
/* Returns a descriptor of a directory below `base`, reached through no symbolic link; -ENOENT or
 * -errno. */
int reconstruct_open_dir(const char *base, const char *path);

#endif
