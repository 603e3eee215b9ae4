/* outlet.c - the calls of all outlets, and the tar stream. */
#include "rewrite/outlet.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int outlet_file_new(struct outlet *o, struct err *err, struct outlet_file **ret)
{
    struct outlet_file *f = calloc(1, sizeof *f);
    if (!f)
        return -ENOMEM;
    f->outlet = o;
    f->fd = -1;
    int rc = o->ops->file_new(o, err, f);
    if (rc < 0)
        return free(f), rc;
    *ret = f;
    return 0;
}

int outlet_file_write(struct outlet_file *f, struct text data, struct err *err)
{
    int rc = f->outlet->ops->write(f, data, err);
    if (rc == 0)
        f->size += data.len;
    return rc;
}

uint64_t outlet_file_size(const struct outlet_file *f)
{
    return f->size;
}

void outlet_file_drop(struct outlet_file *f)
{
    if (!f)
        return;
    f->outlet->ops->drop(f);
    free(f->name);
    free(f);
}

int outlet_file_finish(struct outlet_file *f, const char *name, struct err *err)
{
    int rc = 0;
    if (!tar_name_is_safe(text_of(name)))
        rc = err_set(err, -EINVAL, "`%.200s` is not a valid file name", name);
    if (rc == 0)
        rc = f->outlet->ops->finish(f, name, err);
    if (rc < 0)
        outlet_file_drop(f);
    return rc;
}

int outlet_send(struct outlet *o, size_t max, struct buf *out, struct err *err)
{
    return o->ops->send(o, max, out, err);
}

bool outlet_is_ready(const struct outlet *o)
{
    return o->ops->ready && o->ops->ready(o);
}

int outlet_end(struct outlet *o, struct buf *out, struct err *err)
{
    return o->ops->end(o, out, err);
}

void outlet_free(struct outlet *o)
{
    if (o)
        o->ops->free(o);
}

/* ---- a body: one file after the other -------------------------------------------------------- */

struct body_outlet {
    struct outlet base;
    struct buf waiting;
};

static int body_file_new(struct outlet *o, struct err *err, struct outlet_file *f)
{
    (void)o, (void)err, (void)f;
    return 0;
}

static int body_file_write(struct outlet_file *f, struct text data, struct err *err)
{
    struct body_outlet *b = (struct body_outlet *)f->outlet;
    (void)err;
    buf_text(&b->waiting, data);
    return b->waiting.error;
}

static int body_file_finish(struct outlet_file *f, const char *name, struct err *err)
{
    (void)name, (void)err;
    return outlet_file_drop(f), 0;
}

static void body_file_drop(struct outlet_file *f)
{
    (void)f;
}

/* Only the output of one step waits: all of it is sent. */
static int body_send(struct outlet *o, size_t max, struct buf *out, struct err *err)
{
    struct body_outlet *b = (struct body_outlet *)o;
    (void)max, (void)err;
    if (!b->waiting.len)
        return ERR_END;
    buf_append(out, b->waiting.data, b->waiting.len);
    buf_clear(&b->waiting);
    return out->error;
}

static bool body_ready(const struct outlet *o)
{
    return ((const struct body_outlet *)o)->waiting.len > 0;
}

static int body_end(struct outlet *o, struct buf *out, struct err *err)
{
    (void)o, (void)out, (void)err;
    return 0;
}

static void body_free(struct outlet *o)
{
    struct body_outlet *b = (struct body_outlet *)o;
    buf_done(&b->waiting);
    free(b);
}

static const struct outlet_ops body_ops = {
    body_file_new, body_file_write, body_file_finish, body_file_drop,
    body_send,     body_ready,      body_end,         body_free,
};

int outlet_body_new(struct outlet **ret)
{
    struct body_outlet *b = calloc(1, sizeof *b);
    if (!b)
        return -ENOMEM;
    b->base.ops = &body_ops;
    *ret = &b->base;
    return 0;
}

bool outlet_is_body(const struct outlet *o)
{
    return o->ops == &body_ops;
}

/* ---- the tar: incomplete files are spools, complete ones wait to be sent --------------------- */

struct tar_outlet {
    struct outlet base;
    const char *spool_dir;
    struct disk_budget *budget;
    int64_t mtime_s;
    struct tar tar;
    /* complete files; the header of the first may have been sent */
    struct outlet_file *first, **last;
    bool begun;
};

static int tar_file_new(struct outlet *o, struct err *err, struct outlet_file *f)
{
    const struct tar_outlet *t = (const struct tar_outlet *)o;
    return spool_new(t->spool_dir, t->budget, err, &f->spool);
}

static int tar_file_write(struct outlet_file *f, struct text data, struct err *err)
{
    return spool_write(f->spool, data, err);
}

static void tar_file_drop(struct outlet_file *f)
{
    spool_free(f->spool);
}

static int tar_file_finish(struct outlet_file *f, const char *name, struct err *err)
{
    struct tar_outlet *t = (struct tar_outlet *)f->outlet;
    (void)err;
    if (!(f->name = strdup(name)))
        return -ENOMEM;
    *t->last = f;
    t->last = &f->next;
    return 0;
}

static int tar_send_first(struct tar_outlet *t, size_t max, struct buf *out, struct err *err)
{
    struct outlet_file *f = t->first;
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
    outlet_file_drop(f);
    return 0;
}

static int tar_send(struct outlet *o, size_t max, struct buf *out, struct err *err)
{
    struct tar_outlet *t = (struct tar_outlet *)o;
    size_t before = out->len;
    int rc = t->first ? 0 : ERR_END;
    while (rc == 0 && t->first && out->len - before < max)
        rc = tar_send_first(t, max - (out->len - before), out, err);
    return rc == 0 ? out->error : rc;
}

static bool tar_ready(const struct outlet *o)
{
    return ((const struct tar_outlet *)o)->first != NULL;
}

static int tar_close(struct outlet *o, struct buf *out, struct err *err)
{
    struct tar_outlet *t = (struct tar_outlet *)o;
    (void)err;
    assert(!t->first);
    tar_finish(&t->tar, out);
    return out->error;
}

static void tar_free(struct outlet *o)
{
    struct tar_outlet *t = (struct tar_outlet *)o;
    while (t->first) {
        struct outlet_file *f = t->first;
        t->first = f->next;
        outlet_file_drop(f);
    }
    free(t);
}

static const struct outlet_ops tar_ops = {
    tar_file_new, tar_file_write, tar_file_finish, tar_file_drop,
    tar_send,     tar_ready,      tar_close,       tar_free,
};

int outlet_tar_new(const char *spool_dir, struct disk_budget *budget, int64_t mtime_s,
                   struct outlet **ret)
{
    struct tar_outlet *t = calloc(1, sizeof *t);
    if (!t)
        return -ENOMEM;
    *t = (struct tar_outlet){
        .base.ops = &tar_ops, .spool_dir = spool_dir, .budget = budget, .mtime_s = mtime_s};
    t->last = &t->first;
    *ret = &t->base;
    return 0;
}

bool outlet_is_tar(const struct outlet *o)
{
    return o->ops == &tar_ops;
}
