/* archive_writer.h - the inside of an archive writer: a tar or a directory with the same calls. */
#ifndef DFTRACERD_REWRITE_ARCHIVE_WRITER_H
#define DFTRACERD_REWRITE_ARCHIVE_WRITER_H

#include "dftracerd/rewrite.h"

/* The prefix of names of incomplete output below the output directory. */
#define ARCHIVE_WRITER_PREFIX ".dftracerd-"

/* Returns false for names that would leave the folder into which an archive is extracted: they are
 * an error or an attack. */
bool tar_name_is_safe(struct text name);

struct archive_writer_ops {
    int (*file_new)(struct archive_writer *o, struct err *err, struct archive_writer_file *f);
    int (*write)(struct archive_writer_file *f, struct text data, struct err *err);
    /* the name has been checked */
    int (*finish)(struct archive_writer_file *f, const char *name, struct err *err);
    void (*drop)(struct archive_writer_file *f);
    int (*send)(struct archive_writer *o, size_t max, struct buf *out, struct err *err);
    bool (*ready)(const struct archive_writer *o); /* NULL if it never is */
    int (*end)(struct archive_writer *o, struct buf *out, struct err *err);
    void (*free)(struct archive_writer *o);
};
struct archive_writer {
    const struct archive_writer_ops *ops;
};
struct archive_writer_file {
    struct archive_writer *archive_writer;
    struct spool *spool; /* tar */
    int fd;              /* directory */
    uint64_t size, number;
    char *name; /* name of a complete file */
    struct archive_writer_file *next;
};

#endif
