/* outlet.h - the inside of an outlet: a tar or a directory with the same calls. */
#ifndef DFTRACERD_REWRITE_OUTLET_H
#define DFTRACERD_REWRITE_OUTLET_H

#include "dftracerd/rewrite.h"

/* The prefix of names of incomplete output below the output directory. */
#define OUTLET_PREFIX ".dftracerd-"

/* Returns false for names that would leave the folder into which an archive is extracted: they are
 * an error or an attack. */
bool tar_name_is_safe(struct text name);

struct outlet_ops {
    int (*file_new)(struct outlet *o, struct err *err, struct outlet_file *f);
    int (*write)(struct outlet_file *f, struct text data, struct err *err);
    /* the name has been checked */
    int (*finish)(struct outlet_file *f, const char *name, struct err *err);
    void (*drop)(struct outlet_file *f);
    int (*send)(struct outlet *o, size_t max, struct buf *out, struct err *err);
    bool (*ready)(const struct outlet *o); /* NULL if it never is */
    int (*end)(struct outlet *o, struct buf *out, struct err *err);
    void (*free)(struct outlet *o);
};
struct outlet {
    const struct outlet_ops *ops;
};
struct outlet_file {
    struct outlet *outlet;
    struct spool *spool; /* tar */
    int fd;              /* directory */
    uint64_t size, number;
    char *name; /* name of a complete file */
    struct outlet_file *next;
};

#endif
