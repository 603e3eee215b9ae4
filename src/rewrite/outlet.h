/* outlet.h - what an outlet is: a tar or a directory behind the same calls. */
#ifndef DFTRACERD_REWRITE_OUTLET_H
#define DFTRACERD_REWRITE_OUTLET_H

#include "dftracerd/rewrite.h"

/* Of names below the output directory: what is being written. */
#define OUTLET_PREFIX ".dftracerd-"

/* Names that would leave the folder in which an archive is unpacked are a mistake or an attack. */
bool tar_name_is_safe(struct text name);

struct outlet_ops {
    int (*file_new)(struct outlet *o, struct err *err, struct outlet_file *f);
    int (*write)(struct outlet_file *f, struct text data, struct err *err);
    /* the name is a safe one */
    int (*finish)(struct outlet_file *f, const char *name, struct err *err);
    void (*drop)(struct outlet_file *f);
    int (*send)(struct outlet *o, size_t most, struct buf *out, struct err *err);
    bool (*ready)(const struct outlet *o); /* NULL: never */
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
    char *name; /* finished */
    struct outlet_file *next;
};

#endif
