/* rewrite.h - new traces made of others, and the ways in which they leave the daemon.
 *
 * May use:   base, trace, index, engine, answer, format; zlib, ISA-L, libdeflate. Used by: http,
 *            tools.
 * Threads:   a disk_budget is shared: any thread. Everything else belongs to one thread at a time;
 *            a press makes all threads of its pool work.
 * Memory:    bounded whatever the length of the traces: a spool holds nothing (its bytes are in a
 *            file), a press 1 MiB a file in the making and 4 MiB a thread.
 */
#ifndef DFTRACERD_REWRITE_H
#define DFTRACERD_REWRITE_H

#include "dftracerd/format.h"

/* ---- tar streams ----------------------------------------------------------------------------- */

/* Ustar members, one after the other; the size of each is told before its bytes. A name beyond 100
 * bytes that does not fit into prefix and name, or is not ASCII, has a pax record; so has a size of
 * 8 GiB or more (and the number in base 256 in the header, for readers that skip pax). Owner and
 * group are 0. Zero-initialise. */
struct tar {
    uint64_t left;
    unsigned padding;
};
struct tar_entry {
    struct text name;
    uint64_t size;
    int64_t mtime_s; /* >= 0 */
    unsigned mode;   /* 0 = 0644 */
};
/* -EINVAL: the name is empty, absolute, has a NUL or a `..`, ends with `/`, or is longer than 4,000
 * bytes. The buffer's error is sticky. */
int tar_begin(struct tar *t, const struct tar_entry *e, struct buf *out);
/* A number of bytes that the caller appends to `out` count as data. Asserts that it is not more
 * than was told. */
void tar_count(struct tar *t, size_t len);
void tar_end(struct tar *t, struct buf *out);    /* asserts that all has come */
void tar_finish(struct tar *t, struct buf *out); /* after the last member */

/* ---- spool: bytes that wait until their number is known -------------------------------------- */

/* Disk space that all spools of a daemon may take. limit 0 = none. */
struct disk_budget {
    _Atomic uint64_t used;
    uint64_t limit;
};

/* A file without a name in `dir`: it takes disk space as long as it is not empty and is gone with
 * the process. */
struct spool;
/* *new*; budget (may be NULL) borrowed. -errno of the directory, -ENOMEM. */
int spool_new(const char *dir, struct disk_budget *budget, struct err *err, struct spool **ret);
/* -ENOSPC (the budget's too), -EDQUOT, -EIO ... */
int spool_write(struct spool *s, struct text data, struct err *err);
uint64_t spool_size(const struct spool *s);
/* Appends the next bytes, from the first on. 0, ERR_END when all were read, -errno, -ENOMEM. */
int spool_read(struct spool *s, size_t most, struct buf *out, struct err *err);
void spool_clear(struct spool *s);   /* empty again, as far as the disk allows it */
int spool_fd(const struct spool *s); /* borrowed */
void spool_free(struct spool *s);

/* ---- archive: a tar that was received -------------------------------------------------------- */

/* Its regular files; ustar, pax and GNU's long names; directories are passed over. Files are found
 * below the directory where provenance.zst is. Memory: about 100 bytes a member, of which there are
 * at most 100,000, and 32 MiB of names. */
struct archive;
/* *new*; all but the budget are borrowed until archive_free. The size of the tar is charged to
 * `disk` (may be NULL) once more: files that are found are copies. ERR_PARAM: it is no tar, damaged
 * or cut off, a name is absolute, has a `..` or comes twice, a member is a link or device (err.text
 * says which); -ENOSPC, -errno, -ENOMEM, why the budget says to stop. */
int archive_open(const struct spool *tar, const char *spool_dir, struct disk_budget *disk,
                 struct budget *budget, struct err *err, struct archive **ret);
/* Descriptor, *new*, of a file without a name; -ENOENT: it is not in the tar, or was found before;
 * -errno, -ENOMEM, why the budget says to stop. */
int archive_find(struct archive *a, const char *path, struct budget *budget);
void archive_free(struct archive *a);

/* ---- outlet: where the files of a rewriting go ----------------------------------------------- */

/* Either a tar stream (a file in the making is a spool, a finished one waits until it is sent), or
 * a directory below the daemon's output directory: everything is written below a directory
 * `.dftracerd-...` there, and renamed by outlet_end. Whatever ends it earlier (an error,
 * outlet_free, a kill) leaves nothing under a final name; what ends outlet_end itself while it
 * replaces files of a directory that is there (`force`) leaves some replaced, each whole.
 * Names: relative, `/` between directories, which are made; errors of tar_begin. */
struct outlet;
struct outlet_file;
/* *new*. `spool_dir`, `budget` borrowed; mtime_s: of all members. -ENOMEM */
int outlet_tar_new(const char *spool_dir, struct disk_budget *budget, int64_t mtime_s,
                   struct outlet **ret);
/* *new*. `path`: relative to `base` (both copied). Never outside of base, through no symbolic link.
 * Without `force` it must not
 * exist: -EEXIST; with it files of the same names are replaced, others stay. ERR_PARAM (err.param
 * "output"): the path has an empty part, `.` or `..`, or one that begins with `.dftracerd-`;
 * -EEXIST, -ENOTDIR, -ELOOP, -EACCES, -ENOSPC ... */
int outlet_dir_new(const char *base, const char *path, bool force, struct err *err,
                   struct outlet **ret);
bool outlet_is_tar(const struct outlet *o);
bool outlet_is_body(const struct outlet *o);
/* One file after the other as they are, without names: the body of an answer. The file in the
 * making is sent, too. -ENOMEM */
int outlet_body_new(struct outlet **ret);
/* As many files may be in the making as there are descriptors. *new*: the caller finishes or drops
 * it before outlet_free. */
int outlet_file_new(struct outlet *o, struct err *err, struct outlet_file **ret);
int outlet_file_write(struct outlet_file *f, struct text data, struct err *err);
uint64_t outlet_file_size(const struct outlet_file *f);
/* Takes `f`. Members of a tar come in this order. -EINVAL: a bad name; -EEXIST: (directory) one
 * that was there already. */
int outlet_file_finish(struct outlet_file *f, const char *name, struct err *err);
void outlet_file_drop(struct outlet_file *f); /* NULL-safe */
/* Appends up to about `most` bytes of what is finished. 0, ERR_END: nothing is ready now (a
 * directory: never anything). */
int outlet_send(struct outlet *o, size_t most, struct buf *out, struct err *err);
bool outlet_is_ready(const struct outlet *o); /* it has something to send */
/* After all was finished and sent: the end of the tar; the renaming of the directory, after fsync.
 */
int outlet_end(struct outlet *o, struct buf *out, struct err *err);
void outlet_free(struct outlet *o); /* NULL-safe; removes what was not renamed */
/* Removes what runs that ended too early left below `base`. Of a run that still goes on nothing. */
void outlet_clean(const char *base);

/* ---- press: text to gzip members, by all threads --------------------------------------------- */

/* Files in the making whose text is cut into members at the first line end behind 1 MiB (where that
 * line is no longer than a trace may have them, TRACE_LINE_MAX), so that reading can start at each.
 * The same text gives the same bytes, whatever the pieces and threads; level 0 = plain text. */
#define GZIP_LEVEL_MOST 9
#define GZIP_LEVEL_USUAL 5 /* the size of gzip -6 on traces, in a third of the time */
struct press;
struct press_file;
/* *new*; the pool (NULL = the calling thread alone), the outlet and the budget (may be NULL) are
 * borrowed. All that grows with threads and files in the making is charged: ERR_MEMORY_LIMIT, also
 * of press_text. `check`: what each member gives when it is inflated again is shown to it, in whole
 * lines, by several threads at once and in any order. -ENOMEM */
struct press_options {
    int level;
    struct budget *budget;
    void (*check)(void *arg, struct text text);
    void *arg;
};
int press_new(struct pool *pool, struct outlet *outlet, const struct press_options *options,
              struct press **ret);
/* *new*: finished or dropped before press_free */
int press_open(struct press *p, struct err *err, struct press_file **ret);
/* Appends text, in any pieces; copied. Compresses and writes when there is enough for all threads.
 * -errno of the outlet, -ENOMEM, ERR_MEMORY_LIMIT; after an error only drop and free are of use. */
int press_text(struct press_file *f, struct text text, struct err *err);
uint64_t press_text_bytes(const struct press_file *f); /* of text so far */
/* The rest is compressed and the file handed to the outlet under `name`, in the order of these
 * calls, at the latest by press_flush. Takes `f`. `bytes`, `hash` (may be NULL; XXH3-128 of the
 * file's bytes) are set by then. */
int press_finish(struct press_file *f, const char *name, uint64_t *bytes, struct hash128 *hash,
                 struct err *err);
void press_drop(struct press_file *f);             /* NULL-safe */
int press_flush(struct press *p, struct err *err); /* all that waits is compressed and written */
void press_free(struct press *p);                  /* NULL-safe */

/* ---- traces in other files: /merge, /split, /pgzip ------------------------------------------- */

/* The lines of a query (as /view writes them, between `[` and `]`) in one file, or in files of
 * about `chunk_bytes` of text; or plain files as gzip, each byte for byte. Then `manifest.json`
 * (not in a body): what was read and written. */
enum repack_kind { REPACK_MERGE, REPACK_SPLIT, REPACK_PGZIP };
struct repack_options {
    enum repack_kind kind;
    /* of the one file; of files: <name>-<n>.pfw, n from 1; `.gz` is added where packed */
    const char *name;
    uint64_t chunk_bytes;
    int level; /* 0-9; 0 = plain text */
    bool order_ts;
    bool verify; /* what was written is inflated, and the events are read once more and compared */
};
struct repack;
bool repack_packs(const struct index_file *f); /* REPACK_PGZIP: plain, and it has been read */
/* Borrowed until close: all but the options. `q`: the lines; of REPACK_PGZIP the files. */
int repack_open(struct query *q, struct pool *pool, struct budget *budget, struct outlet *outlet,
                const struct repack_options *options, struct err *err, struct repack **ret);
/* a step of the work; ERR_END: all is finished */
int repack_next(struct repack *r, struct err *err);
extern const struct object_type repacked_type; /* manifest.json; of struct repack */
/* After ERR_END: the text of manifest.json, borrowed. Events whose comparison failed:
 * "verified":false. */
struct text repack_manifest(const struct repack *r);
void repack_close(struct repack *r); /* NULL-safe */

/* One text as one gzip member (level 1-9), or as it is (0): appended. -ENOMEM. For small things;
 * keeps nothing. */
int gzip_text(struct text text, int level, struct buf *out);

/* ---- organize: traces shared out to groups --------------------------------------------------- */

/* Lines are copied as they stand to the files of the first group whose query selects their object
 * (query.h: struct share); each file is a trace by itself: `[`, `]` and the records that its events
 * refer to are added. Then come `provenance.zst` (how the originals are made of the files again)
 * and `manifest.json`; docs/REWRITE.md has both formats. */
#define ORGANIZE_GROUPS_MAX 100
struct organize_group {
    const char *name;
    struct text query;
};
struct organize_options {
    const struct organize_group *groups;
    size_t group_count;
    const char *name;     /* files are <group>/<name>-<n>.pfw.gz */
    uint64_t chunk_bytes; /* text of a file, at line ends */
    int level;            /* 0 = plain text: .pfw */
    bool drop_rest;       /* what no group takes is left out */
};
struct organize;
/* *new*; everything is borrowed (options: for the call). `s`: its tests restrict every group;
 * s->phases, too. ERR_PARAM (err.param): "groups": none, too many, a name that comes twice or
 * cannot be one; "name". ERR_QUERY_SYNTAX: err.text names the group. Others as query_open. */
int organize_open(const struct query_env *env, struct snapshot *snapshot, const struct selection *s,
                  const struct organize_options *options, struct outlet *outlet,
                  struct budget *budget, struct err *err, struct organize **ret);
bool organize_complete(const struct organize *o); /* query_complete of the files */
/* A step of the work; ERR_END: all is finished (but for outlet_end). Errors of share_next and of
 * the outlet. */
int organize_next(struct organize *o, struct err *err);
extern const struct object_type organized_type;          /* manifest.json; of struct organize */
struct text organize_manifest(const struct organize *o); /* after ERR_END; borrowed until free */
void organize_free(struct organize *o);

/* ---- reconstruct: the originals again -------------------------------------------------------- */

enum reconstruct_form {
    RECONSTRUCT_AS_WAS, /* names that end in .gz are gzip, others text */
    RECONSTRUCT_TEXT,   /* text, without .gz at the end of names */
    RECONSTRUCT_GZIP
}; /* gzip, all names end in .gz */
struct reconstruct_options {
    enum reconstruct_form form;
    int level;
    struct archive *archive; /* or NULL */
};
struct reconstruct;
/* *new*; everything is borrowed (options: for the call). `dir`: descriptor of the directory that
 * /organize has written, unless that is options.archive. Every original's text is made of the files
 * there, as far as they are there, compared with its hash, and written under its name; the last
 * file is reconstruct.json, which says what was proved and what is missing. ERR_NOT_FOUND: there is
 * no sidecar; ERR_CORRUPT: the sidecar is damaged, or not that of manifest.json: err.text says what
 * differs. */
int reconstruct_open(int dir, struct pool *pool, const struct reconstruct_options *options,
                     struct outlet *outlet, struct budget *budget, struct err *err,
                     struct reconstruct **ret);
/* False: when /organize read them, sources were still being indexed, or growing: more may have
 * come. Of manifest.json; without it true. */
bool reconstruct_complete(const struct reconstruct *r);
/* as organize_next; what is missing or differs is no error */
int reconstruct_next(struct reconstruct *r, struct err *err);
extern const struct object_type reconstructed_type; /* reconstruct.json; of struct reconstruct */
/* after ERR_END; borrowed until free */
struct text reconstruct_report(const struct reconstruct *r);
void reconstruct_free(struct reconstruct *r);
/* Descriptor of a directory below `base`, through no symbolic link; -ENOENT, -errno. */
int reconstruct_find(const char *base, const char *path);

#endif
