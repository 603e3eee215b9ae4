/* archive_writer.c - the calls of all archive writers, and the tar stream. */
#include "rewrite/archive_writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int archive_writer_file_new(struct archive_writer *o, struct err *err,
                            struct archive_writer_file **ret)
{
    struct archive_writer_file *f = calloc(1, sizeof *f);
    if (!f)
        return -ENOMEM;
    f->archive_writer = o;
    f->fd = -1;
    int rc = o->ops->file_new(o, err, f);
    if (rc < 0)
        return free(f), rc;
    *ret = f;
    return 0;
}

int archive_writer_file_write(struct archive_writer_file *f, struct text data, struct err *err)
{
    int rc = f->archive_writer->ops->write(f, data, err);
    if (rc == 0)
        f->size += data.len;
    return rc;
}

uint64_t archive_writer_file_size(const struct archive_writer_file *f)
{
    return f->size;
}

void archive_writer_file_drop(struct archive_writer_file *f)
{
    if (!f)
        return;
    f->archive_writer->ops->drop(f);
    free(f->name);
    free(f);
}

int archive_writer_file_finish(struct archive_writer_file *f, const char *name, struct err *err)
{
    int rc = 0;
    if (!tar_name_is_safe(text_of(name)))
        rc = err_set(err, -EINVAL, "`%.200s` is not a valid file name", name);
    if (rc == 0)
        rc = f->archive_writer->ops->finish(f, name, err);
    if (rc < 0)
        archive_writer_file_drop(f);
    return rc;
}

int archive_writer_send(struct archive_writer *o, size_t max, struct buf *out, struct err *err)
{
    return o->ops->send(o, max, out, err);
}

bool archive_writer_is_ready(const struct archive_writer *o)
{
    return o->ops->ready && o->ops->ready(o);
}

int archive_writer_end(struct archive_writer *o, struct buf *out, struct err *err)
{
    return o->ops->end(o, out, err);
}

void archive_writer_free(struct archive_writer *o)
{
    if (o)
        o->ops->free(o);
}

/* ---- a body: one file after the other -------------------------------------------------------- */

struct body_archive_writer {
    struct archive_writer base;
    struct buf waiting;
};

static int body_file_new(struct archive_writer *o, struct err *err, struct archive_writer_file *f)
{
    (void)o, (void)err, (void)f;
    return 0;
}

static int body_file_write(struct archive_writer_file *f, struct text data, struct err *err)
{
    struct body_archive_writer *b = (struct body_archive_writer *)f->archive_writer;
    (void)err;
    buf_text(&b->waiting, data);
    return b->waiting.error;
}

static int body_file_finish(struct archive_writer_file *f, const char *name, struct err *err)
{
    (void)name, (void)err;
    return archive_writer_file_drop(f), 0;
}

static void body_file_drop(struct archive_writer_file *f)
{
    (void)f;
}

/* Only the output of one step waits: all of it is sent. */
static int body_send(struct archive_writer *o, size_t max, struct buf *out, struct err *err)
{
    struct body_archive_writer *b = (struct body_archive_writer *)o;
    (void)max, (void)err;
    if (!b->waiting.len)
        return ERR_END;
    buf_append(out, b->waiting.data, b->waiting.len);
    buf_clear(&b->waiting);
    return out->error;
}

static bool body_ready(const struct archive_writer *o)
{
    return ((const struct body_archive_writer *)o)->waiting.len > 0;
}

static int body_end(struct archive_writer *o, struct buf *out, struct err *err)
{
    (void)o, (void)out, (void)err;
    return 0;
}

static void body_free(struct archive_writer *o)
{
    struct body_archive_writer *b = (struct body_archive_writer *)o;
    buf_done(&b->waiting);
    free(b);
}

static const struct archive_writer_ops body_ops = {
    body_file_new, body_file_write, body_file_finish, body_file_drop,
    body_send,     body_ready,      body_end,         body_free,
};

int archive_writer_body_new(struct archive_writer **ret)
{
    struct body_archive_writer *b = calloc(1, sizeof *b);
    if (!b)
        return -ENOMEM;
    b->base.ops = &body_ops;
    *ret = &b->base;
    return 0;
}

bool archive_writer_is_body(const struct archive_writer *o)
{
    return o->ops == &body_ops;
}

/* ---- the tar: incomplete files are spools, complete ones wait to be sent --------------------- */

struct tar_archive_writer {
    struct archive_writer base;
    const char *spool_dir;
    struct disk_budget *budget;
    int64_t mtime_s;
    struct tar tar;
    /* complete files; the header of the first may have been sent */
    struct archive_writer_file *first, **last;
    bool begun;
};

static int tar_file_new(struct archive_writer *o, struct err *err, struct archive_writer_file *f)
{
    const struct tar_archive_writer *t = (const struct tar_archive_writer *)o;
    return spool_new(t->spool_dir, t->budget, err, &f->spool);
}

static int tar_file_write(struct archive_writer_file *f, struct text data, struct err *err)
{
    return spool_write(f->spool, data, err);
}

static void tar_file_drop(struct archive_writer_file *f)
{
    spool_free(f->spool);
}

static int tar_file_finish(struct archive_writer_file *f, const char *name, struct err *err)
{
    struct tar_archive_writer *t = (struct tar_archive_writer *)f->archive_writer;
    (void)err;
    if (!(f->name = strdup(name)))
        return -ENOMEM;
    *t->last = f;
    t->last = &f->next;
    return 0;
}

static int tar_send_first(struct tar_archive_writer *t, size_t max, struct buf *out,
                          struct err *err)
{
    struct archive_writer_file *f = t->first;
    int rc = 0;
    if (!t->begun) {
        struct tar_entry e = {.name = text_of(f->name), .size = f->size, .mtime_s = t->mtime_s};
        rc = tar_begin(&t->tar, &e, out);
        t->begun = true;
    }
    size_t before = out->len;
    if (rc == 0)
        rc = spool_read(f->spool, max, out, err);
    if (out->len > before)
        tar_count(&t->tar, out->len - before);
    if (rc != ERR_END)
        return rc;
    tar_end(&t->tar, out);
    t->begun = false;
    if (!(t->first = f->next))
        t->last = &t->first;
    archive_writer_file_drop(f);
    return 0;
}

static int tar_send(struct archive_writer *o, size_t max, struct buf *out, struct err *err)
{
    struct tar_archive_writer *t = (struct tar_archive_writer *)o;
    size_t before = out->len;
    int rc = t->first ? 0 : ERR_END;
    while (rc == 0 && t->first && out->len - before < max)
        rc = tar_send_first(t, max - (out->len - before), out, err);
    return rc == 0 ? out->error : rc;
}

static bool tar_ready(const struct archive_writer *o)
{
    return ((const struct tar_archive_writer *)o)->first != NULL;
}

static int tar_close(struct archive_writer *o, struct buf *out, struct err *err)
{
    struct tar_archive_writer *t = (struct tar_archive_writer *)o;
    (void)err;
    assert(!t->first);
    tar_finish(&t->tar, out);
    return out->error;
}

static void tar_free(struct archive_writer *o)
{
    struct tar_archive_writer *t = (struct tar_archive_writer *)o;
    while (t->first) {
        struct archive_writer_file *f = t->first;
        t->first = f->next;
        archive_writer_file_drop(f);
    }
    free(t);
}

static const struct archive_writer_ops tar_ops = {
    tar_file_new, tar_file_write, tar_file_finish, tar_file_drop,
    tar_send,     tar_ready,      tar_close,       tar_free,
};

int archive_writer_tar_new(const char *spool_dir, struct disk_budget *budget, int64_t mtime_s,
                           struct archive_writer **ret)
{
    struct tar_archive_writer *t = calloc(1, sizeof *t);
    if (!t)
        return -ENOMEM;
    *t = (struct tar_archive_writer){
        .base.ops = &tar_ops, .spool_dir = spool_dir, .budget = budget, .mtime_s = mtime_s};
    t->last = &t->first;
    *ret = &t->base;
    return 0;
}

bool archive_writer_is_tar(const struct archive_writer *o)
{
    return o->ops == &tar_ops;
}
