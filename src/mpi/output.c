/* output.c - the output file of a batch program. */
#include "mpi/output.h"
#include "base/write_all.h"

#include "dftracerd/rewrite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEND_BYTES (1u << 20)

struct output {
    char *path; /* final name */
    char *part; /* temporary name in the same directory; NULL: `path` is written directly */
    int fd;
    struct pool *pool; /* threads of the compressor; NULL: not compressed */
    struct archive_writer *body;
    struct compressor *compressor;
    struct compressor_file *file;
};

/* ---- opening --------------------------------------------------------------------------------- */

static int open_compressor(struct output *o, unsigned threads)
{
    const struct compressor_options options = {.level = GZIP_LEVEL_DEFAULT};
    int rc = pool_new(threads, "gzip", &o->pool);

    rc = rc ? rc : archive_writer_body_new(&o->body);
    rc = rc ? rc : compressor_new(o->pool, o->body, &options, &o->compressor);
    return rc ? rc : compressor_open(o->compressor, NULL, &o->file);
}

static bool is_special(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static int choose_names(struct output *o, const char *path, bool gzip)
{
    bool special = strcmp(path, "-") == 0 || is_special(path);
    bool appended = gzip && !special && !text_ends(text_of(path), TEXT(".gz"));
    struct buf name = {0}, part = {0};

    buf_printf(&name, "%s%s", path, appended ? ".gz" : "");
    o->path = buf_steal(&name, NULL);
    if (!o->path)
        return -ENOMEM;
    if (special || is_special(o->path))
        return 0;
    buf_printf(&part, "%s.part.%ld", o->path, (long)getpid());
    o->part = buf_steal(&part, NULL);
    return o->part ? 0 : -ENOMEM;
}

static int open_file(struct output *o, struct err *err)
{
    bool standard = strcmp(o->path, "-") == 0;
    struct stat st;

    if (!standard && stat(o->path, &st) == 0 && S_ISDIR(st.st_mode))
        return err_set(err, -EISDIR, "%s is a directory", o->path);
    if (standard)
        o->fd = dup(STDOUT_FILENO);
    else if (o->part)
        o->fd = open(o->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    else
        o->fd = open(o->path, O_WRONLY | O_CLOEXEC);
    if (o->fd >= 0)
        return 0;
    return err_set(err, -errno, "cannot write %s: %s", o->path, strerror(errno));
}

int output_open(const char *path, bool gzip, unsigned threads, struct err *err, struct output **ret)
{
    struct output *o = calloc(1, sizeof *o);

    if (!o)
        return -ENOMEM;
    o->fd = -1;
    int rc = choose_names(o, path, gzip);
    rc = rc ? rc : open_file(o, err);
    rc = rc || !gzip ? rc : open_compressor(o, threads);
    if (rc == 0)
        *ret = o;
    else
        output_free(o);
    return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_bytes(struct output *o, struct text bytes, struct err *err)
{
    int rc = write_all(o->fd, bytes);

    return rc ? err_set(err, rc, "cannot write %s: %s", o->path, strerror(-rc)) : 0;
}

/* Writes what the compressor has compressed so far. */
static int write_compressed(struct output *o, struct err *err)
{
    struct buf out = {0};
    int rc = 0;

    while (rc == 0 && (rc = archive_writer_send(o->body, SEND_BYTES, &out, err)) == 0) {
        rc = out.error ? out.error : write_bytes(o, (struct text){out.data, out.len}, err);
        buf_clear(&out);
    }
    buf_done(&out);
    return rc == ERR_END ? 0 : rc;
}

int output_write(struct output *o, struct text bytes, struct err *err)
{
    if (!o->compressor)
        return write_bytes(o, bytes, err);
    int rc = compressor_text(o->file, bytes, err);
    return rc ? rc : write_compressed(o, err);
}

static int finish_compressed(struct output *o, struct err *err)
{
    struct buf rest = {0};
    int rc = compressor_finish(o->file, "output", NULL, NULL, err);

    o->file = NULL;
    rc = rc ? rc : compressor_flush(o->compressor, err);
    rc = rc ? rc : write_compressed(o, err);
    rc = rc ? rc : archive_writer_end(o->body, &rest, err);
    rc = rc ? rc : write_bytes(o, (struct text){rest.data, rest.len}, err);
    buf_done(&rest);
    return rc;
}

int output_finish(struct output *o, struct err *err)
{
    int rc = o->compressor ? finish_compressed(o, err) : 0;

    if (rc == 0) {
        int fd = o->fd;
        o->fd = -1; /* close releases the number even if it fails */
        if (close(fd) < 0)
            rc = err_set(err, -errno, "cannot write %s: %s", o->path, strerror(errno));
    }
    if (rc == 0 && o->part && rename(o->part, o->path) < 0)
        rc = err_set(err, -errno, "cannot write %s: %s", o->path, strerror(errno));
    if (rc == 0) {
        free(o->part);
        o->part = NULL;
    }
    return rc;
}

const char *output_name(const struct output *o)
{
    return o->path;
}

void output_free(struct output *o)
{
    if (!o)
        return;
    compressor_drop(o->file);
    compressor_free(o->compressor);
    archive_writer_free(o->body);
    pool_free(o->pool);
    if (o->fd >= 0)
        close(o->fd);
    if (o->part)
        unlink(o->part);
    free(o->part);
    free(o->path);
    free(o);
}
