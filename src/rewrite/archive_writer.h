/* archive_writer.h - the private side of an archive writer: what a tar stream, a directory and a
 * body implement. */
#ifndef DFTRACERD_REWRITE_ARCHIVE_WRITER_H
#define DFTRACERD_REWRITE_ARCHIVE_WRITER_H

#include "dftracerd/rewrite.h"

/* The prefix of names of incomplete output below the output directory. */
#define ARCHIVE_WRITER_PREFIX ".dftracerd-"

/* Returns false for names that would leave the folder into which an archive is extracted: they are
 * an error or an attack. */
bool tar_name_is_safe(struct text name);

/* NULL: nothing is done, nothing is ready, nothing is sent. */
struct archive_writer_ops {
    int (*file_new)(struct archive_writer *w, struct err *err, struct archive_writer_file *f);
    int (*write)(struct archive_writer_file *f, struct text data, struct err *err);
    /* Completes the file as f->name, and drops it or adds it to the list. On errors, the caller
     * drops it. */
    int (*finish)(struct archive_writer_file *f, struct err *err);
    void (*drop)(struct archive_writer_file *f); /* frees what file_new has created */
    int (*send)(struct archive_writer *w, size_t max, struct buf *out, struct err *err);
    bool (*ready)(const struct archive_writer *w);
    int (*end)(struct archive_writer *w, struct buf *out, struct err *err);
    void (*done)(struct archive_writer *w); /* frees members; the list is empty */
};
struct archive_writer {
    const struct archive_writer_ops *ops;
    struct archive_writer_file *first, **last; /* complete files, in order, that are still needed */
};
struct archive_writer_file {
    struct archive_writer *archive_writer;
    struct spool *spool; /* tar */
    int fd;              /* directory */
    uint64_t size, number;
    char *name; /* of a complete file */
    struct archive_writer_file *next;
};
/* Appends a complete file to the list, which owns it. */
void archive_writer_add_file(struct archive_writer *w, struct archive_writer_file *f);

#endif
