/* transform.h - the private side of a transform: what organize, reconstruct and repack implement,
 * and members of their manifests. */
#ifndef DFTRACERD_REWRITE_TRANSFORM_H
#define DFTRACERD_REWRITE_TRANSFORM_H

#include "dftracerd/rewrite.h"
#include "dftracerd/vec.h"

#define MANIFEST_NAME "manifest.json"

struct transform_kind {
    const char *manifest_name;
    const struct object_type *manifest; /* of the struct that begins with the transform */
    /* Does a small part of the work. Returns 0, ERR_END if no part is left, or an error. */
    int (*step)(struct transform *t, struct err *err);
    /* Completes the files, and sets what the manifest contains. */
    int (*finish)(struct transform *t, struct err *err);
    void (*done)(struct transform *t); /* frees all members but `base` */
};
/* A file of the output. Bytes and hash are known when the compressor has written it. */
struct transform_file {
    const char *name;
    struct compressor_file *compressor; /* NULL: all of its text is there */
    uint64_t lines, text_bytes, bytes;
    struct hash128 hash;
};
/* The first member of the struct of each kind. */
struct transform {
    const struct transform_kind *kind;
    struct archive_writer *archive_writer; /* borrowed */
    struct budget *budget;                 /* borrowed */
    struct charge charge;                  /* for memory that grows with the number of files */
    struct arena arena;                    /* what is kept until the end; not charged */
    VEC(struct transform_file *) files;    /* in `arena` */
    bool complete;                         /* as transform_complete returns it */
    bool finished;
    struct buf manifest;
};

/* Returns a *new* zeroed struct of `size` bytes that begins with a transform, or NULL. */
void *transform_new(const struct transform_kind *kind, size_t size,
                    struct archive_writer *archive_writer, struct budget *budget);
/* Ends an opening: sets *ret to the transform, or frees it if `rc` is an error. Returns rc. */
int transform_opened(struct transform *t, int rc, struct err *err, struct transform **ret);

/* Begins a file with a formatted name: a zeroed struct of `size` bytes that begins with a
 * transform_file, borrowed until transform_free. Its memory is charged. */
int transform_file_begin(struct transform *t, struct compressor *c, size_t size, struct err *err,
                         struct transform_file **ret, const char *name, ...)
    __attribute__((format(printf, 6, 7)));
/* Passes the file to the archive writer. */
int transform_file_end(struct transform_file *f, struct err *err);

/* A member that prints a struct hash128 in hexadecimal. */
#define MEMBER_HASH(name_, field, ...) \
    MEMBER_WRITTEN(name_, transform_write_hash, "{'type':'string'}", \
                   .offset = offsetof(OBJECT, field), ##__VA_ARGS__)
void transform_write_hash(struct jw *j, const void *hash);

#endif
