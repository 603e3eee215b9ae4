/* transform.c - runs a transform in turns, and writes its manifest as the last file. */
#include "rewrite/transform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* duration of a turn */
#define TURN_NS (50 * 1000000ll)
/* memory of a file in the compressor and the archive writer, without its name */
enum { FILE_BYTES = 256 };

void transform_write_hash(struct jw *j, const void *hash)
{
    char text[33];

    hash128_hex(*(const struct hash128 *)hash, text);
    jw_str(j, text);
}

/* The structs of all kinds contain a hasher, whose alignment they share. */
void *transform_new(const struct transform_kind *kind, size_t size,
                    struct archive_writer *archive_writer, struct budget *budget)
{
    struct transform *t = aligned_alloc(_Alignof(struct hasher), size);

    if (!t)
        return NULL;
    memset(t, 0, size);
    t->kind = kind;
    t->archive_writer = archive_writer;
    t->budget = t->charge.budget = budget;
    return t;
}

int transform_opened(struct transform *t, int rc, struct err *err, struct transform **ret)
{
    if (rc < 0) {
        transform_free(t);
        return err_set_code(err, rc);
    }
    *ret = t;
    return 0;
}

int transform_file_begin(struct transform *t, struct compressor *c, size_t size, struct err *err,
                         struct transform_file **ret, const char *name, ...)
{
    va_list args;
    char *text;

    va_start(args, name);
    int len = vasprintf(&text, name, args);
    va_end(args);
    if (len < 0)
        return -ENOMEM;
    /* the name is stored three times */
    int rc = charge_add(&t->charge, size + FILE_BYTES + 3 * (size_t)len);
    struct transform_file *f = rc < 0 ? NULL : arena_alloc(&t->arena, size);
    if (f)
        f->name = arena_strdup(&t->arena, (struct text){text, (size_t)len});
    free(text);
    rc = rc < 0 ? rc : t->arena.error;
    rc = rc < 0 ? rc : vec_push(&t->files, f);
    if (rc < 0)
        return rc;
    *ret = f;
    return compressor_open(c, err, &f->compressor);
}

int transform_file_end(struct transform_file *f, struct err *err)
{
    struct compressor_file *compressor = f->compressor;

    f->compressor = NULL;
    f->text_bytes = compressor_text_bytes(compressor);
    return compressor_finish(compressor, f->name, &f->bytes, &f->hash, err);
}

static int write_manifest(struct transform *t, struct err *err)
{
    struct archive_writer_file *file = NULL;
    int rc = format_object(t->kind->manifest, t, true, &t->manifest);

    if (rc != ERR_END || archive_writer_is_body(t->archive_writer))
        return rc == ERR_END ? 0 : rc;
    rc = archive_writer_file_new(t->archive_writer, err, &file);
    if (rc < 0)
        return rc;
    rc = archive_writer_file_write(file, (struct text){t->manifest.data, t->manifest.len}, err);
    if (rc < 0) {
        archive_writer_file_drop(file);
        return rc;
    }
    return archive_writer_file_finish(file, t->kind->manifest_name, err);
}

int transform_next(struct transform *t, struct err *err)
{
    int64_t until = clock_mono_ns() + TURN_NS;
    int rc = t->finished ? ERR_END : budget_check(t->budget);

    while (rc == 0 && !archive_writer_is_ready(t->archive_writer) && clock_mono_ns() < until)
        rc = t->kind->step(t, err);
    if (rc == ERR_END && !t->finished) {
        rc = t->kind->finish(t, err);
        rc = rc < 0 ? rc : write_manifest(t, err);
        t->finished = rc == 0;
        rc = rc < 0 ? rc : ERR_END;
    }
    return rc < 0 && rc != ERR_END ? err_set_code(err, rc) : rc;
}

bool transform_complete(const struct transform *t)
{
    return t->complete;
}

struct text transform_manifest(const struct transform *t)
{
    return (struct text){t->manifest.data, t->manifest.len};
}

void transform_free(struct transform *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->files.count; i++)
        compressor_drop(t->files.at[i]->compressor);
    t->kind->done(t);
    vec_done(&t->files);
    buf_done(&t->manifest);
    arena_done(&t->arena);
    charge_done(&t->charge);
    free(t);
}
