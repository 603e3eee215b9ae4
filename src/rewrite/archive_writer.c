/* archive_writer.c - the calls of all archive writers, and the tar stream. */
#include "rewrite/archive_writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int archive_writer_file_new(struct archive_writer *w, struct err *err,
                            struct archive_writer_file **ret)
{
    struct archive_writer_file *f = calloc(1, sizeof *f);

    if (!f)
        return -ENOMEM;
    f->archive_writer = w;
    f->fd = -1;
    int rc = w->ops->file_new ? w->ops->file_new(w, err, f) : 0;
    if (rc < 0)
        free(f);
    else
        *ret = f;
    return rc;
}

int archive_writer_file_write(struct archive_writer_file *f, struct text data, struct err *err)
{
    int rc = f->archive_writer->ops->write(f, data, err);

    f->size += rc == 0 ? data.len : 0;
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
    if (f->archive_writer->ops->drop)
        f->archive_writer->ops->drop(f);
    free(f->name);
    free(f);
}

int archive_writer_file_finish(struct archive_writer_file *f, const char *name, struct err *err)
{
    int rc = 0;

    if (!tar_name_is_safe(text_of(name)))
        rc = err_set(err, -EINVAL, "`%.200s` is not a valid file name", name);
    else if (!(f->name = strdup(name)))
        rc = -ENOMEM;
    rc = rc < 0 ? rc : f->archive_writer->ops->finish(f, err);
    if (rc < 0)
        archive_writer_file_drop(f);
    return rc;
}

void archive_writer_add_file(struct archive_writer *w, struct archive_writer_file *f)
{
    if (!w->first)
        w->last = &w->first;
    *w->last = f;
    w->last = &f->next;
}

int archive_writer_send(struct archive_writer *w, size_t max, struct buf *out, struct err *err)
{
    return w->ops->send ? w->ops->send(w, max, out, err) : ERR_END;
}

bool archive_writer_is_ready(const struct archive_writer *w)
{
    return w->ops->ready && w->ops->ready(w);
}

int archive_writer_end(struct archive_writer *w, struct buf *out, struct err *err)
{
    return w->ops->end ? w->ops->end(w, out, err) : 0;
}

void archive_writer_free(struct archive_writer *w)
{
    if (!w)
        return;
    while (w->first) {
        struct archive_writer_file *f = w->first;
        w->first = f->next;
        archive_writer_file_drop(f);
    }
    if (w->ops->done)
        w->ops->done(w);
    free(w);
}

/* ---- a body: one file after the other -------------------------------------------------------- */

struct body_archive_writer {
    struct archive_writer base;
    struct buf waiting;
};

static int body_file_write(struct archive_writer_file *f, struct text data, struct err *err)
{
    struct body_archive_writer *b = (struct body_archive_writer *)f->archive_writer;
    (void)err;
    buf_text(&b->waiting, data);
    return b->waiting.error;
}

static int body_file_finish(struct archive_writer_file *f, struct err *err)
{
    (void)err;
    archive_writer_file_drop(f);
    return 0;
}

/* Only the output of one step waits: all of it is sent. */
static int body_send(struct archive_writer *w, size_t max, struct buf *out, struct err *err)
{
    struct body_archive_writer *b = (struct body_archive_writer *)w;
    (void)max, (void)err;
    if (!b->waiting.len)
        return ERR_END;
    buf_append(out, b->waiting.data, b->waiting.len);
    buf_clear(&b->waiting);
    return out->error;
}

static bool body_ready(const struct archive_writer *w)
{
    return ((const struct body_archive_writer *)w)->waiting.len > 0;
}

static void body_done(struct archive_writer *w)
{
    buf_done(&((struct body_archive_writer *)w)->waiting);
}

static const struct archive_writer_ops body_ops = {
    .write = body_file_write,
    .finish = body_file_finish,
    .send = body_send,
    .ready = body_ready,
    .done = body_done,
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

bool archive_writer_is_body(const struct archive_writer *w)
{
    return w->ops == &body_ops;
}

/* ---- the tar: incomplete files are spools, complete ones wait to be sent --------------------- */

struct tar_archive_writer {
    struct archive_writer base;
    const char *spool_dir;
    struct disk_budget *budget;
    int64_t mtime_s;
    struct tar tar;
    bool begun; /* the header of the first complete file has been sent */
};

static int tar_file_new(struct archive_writer *w, struct err *err, struct archive_writer_file *f)
{
    const struct tar_archive_writer *t = (const struct tar_archive_writer *)w;
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

static int tar_file_finish(struct archive_writer_file *f, struct err *err)
{
    (void)err;
    archive_writer_add_file(f->archive_writer, f);
    return 0;
}

static int tar_send_first(struct tar_archive_writer *t, size_t max, struct buf *out,
                          struct err *err)
{
    struct archive_writer_file *f = t->base.first;
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
    t->base.first = f->next;
    archive_writer_file_drop(f);
    return 0;
}

static int tar_send(struct archive_writer *w, size_t max, struct buf *out, struct err *err)
{
    struct tar_archive_writer *t = (struct tar_archive_writer *)w;
    size_t before = out->len;
    int rc = w->first ? 0 : ERR_END;
    while (rc == 0 && w->first && out->len - before < max)
        rc = tar_send_first(t, max - (out->len - before), out, err);
    return rc == 0 ? out->error : rc;
}

static bool tar_ready(const struct archive_writer *w)
{
    return w->first != NULL;
}

static int tar_close(struct archive_writer *w, struct buf *out, struct err *err)
{
    struct tar_archive_writer *t = (struct tar_archive_writer *)w;
    (void)err;
    assert(!w->first);
    tar_finish(&t->tar, out);
    return out->error;
}

static const struct archive_writer_ops tar_ops = {
    .file_new = tar_file_new,
    .write = tar_file_write,
    .finish = tar_file_finish,
    .drop = tar_file_drop,
    .send = tar_send,
    .ready = tar_ready,
    .end = tar_close,
};

int archive_writer_tar_new(const char *spool_dir, struct disk_budget *budget, int64_t mtime_s,
                           struct archive_writer **ret)
{
    struct tar_archive_writer *t = calloc(1, sizeof *t);
    if (!t)
        return -ENOMEM;
    *t = (struct tar_archive_writer){
        .base.ops = &tar_ops, .spool_dir = spool_dir, .budget = budget, .mtime_s = mtime_s};
    *ret = &t->base;
    return 0;
}

bool archive_writer_is_tar(const struct archive_writer *w)
{
    return w->ops == &tar_ops;
}
