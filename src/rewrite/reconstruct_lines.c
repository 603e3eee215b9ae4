/* reconstruct_lines.c - reads lines of sources from the files of a target, one after the other, and
 * writes them to the current source. */
#include "rewrite/reconstruct.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- text of the current source -------------------------------------------------------------- */

static int put_text(struct reconstruct *r, struct text text, struct err *err)
{
    struct reconstruct_source *s = &r->sources.at[r->source_at - 1];

    if (s->too_long || text.len > s->bytes - s->written) {
        s->too_long = true; /* it differs from the original: no more is written */
        return 0;
    }
    s->written += text.len;
    hasher_add(&r->hasher, text.ptr, text.len);
    return compressor_text(r->file, text, err);
}

int reconstruct_end_line(struct reconstruct *r, struct err *err)
{
    int rc = r->newline ? put_text(r, TEXT("\n"), err) : 0;

    r->newline = false;
    return rc;
}

int reconstruct_write_text(struct reconstruct *r, struct text text, struct err *err)
{
    if (!text.len)
        return 0;
    int rc = reconstruct_end_line(r, err);
    r->newline = text.ptr[text.len - 1] == '\n';
    text.len -= r->newline;
    return rc == 0 && text.len ? put_text(r, text, err) : rc;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Decides whether the file is byte for byte the one that was written: not if reading it fails with
 * EIO. */
static int compare_file(struct reconstruct *r, struct reconstruct_file *f, int fd, char *piece)
{
    struct hash128 hash;
    struct stat st;

    f->state = RECONSTRUCT_CHANGED;
    if (fstat(fd, &st) < 0)
        return -errno;
    if ((uint64_t)st.st_size != f->bytes)
        return 0;
    int rc = reconstruct_hash_file(r, fd, f->bytes, piece, &hash);
    if (rc == 0 && hash.high == f->hash.high && hash.low == f->hash.low)
        f->state = RECONSTRUCT_GOOD;
    return rc == -EIO ? 0 : rc;
}

static void close_file(struct reconstruct_target *t)
{
    trace_reader_close(t->reader);
    t->reader = NULL;
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

static void next_pair(struct reconstruct_target *t)
{
    uint64_t since = rec_u(&t->added), adding = rec_u(&t->added);

    t->since = t->added.bad ? t->left : since; /* after the last pair */
    t->adding = t->added.bad ? 0 : adding;
}

/* Opens the next file. A missing one is begun, too: its lines are counted as missing. */
static int open_next_file(struct reconstruct *r, struct reconstruct_target *t, struct err *err)
{
    struct trace_reader_options options = {0};
    struct reconstruct_file *f = &t->files.at[t->at];

    t->begun = true;
    t->left = f->lines;
    t->added = rec_of((struct text){f->added.data, f->added.len});
    t->from = t->len = 0;
    next_pair(t);
    if (!t->text && charge_add(&r->base.charge, RECONSTRUCT_TARGET) < 0)
        return ERR_MEMORY_LIMIT;
    if (!t->text && !(t->text = malloc(RECONSTRUCT_PIECE)))
        return -ENOMEM;
    t->fd = reconstruct_open_file(r, f->path);
    if (t->fd == -ENOENT || t->fd == -ENOTDIR || t->fd == -ELOOP) {
        f->state = RECONSTRUCT_MISSING;
        return 0;
    }
    int rc = t->fd < 0 ? t->fd : compare_file(r, f, t->fd, t->text);
    if (rc < 0)
        return err_set(err, rc, "%s: %s", f->path, err_text(rc));
    return trace_reader_open(t->fd, &options, NULL, err, &t->reader);
}

/* Reads text if all has been used. Returns 1 if there is some, 0 at the end, or -errno. */
static int read_text(struct reconstruct_target *t, struct err *err)
{
    ssize_t n = 0;

    if (t->from < t->len)
        return 1;
    t->from = t->len = 0;
    if (t->reader)
        n = trace_reader_read(t->reader, t->text, RECONSTRUCT_PIECE);
    if (n == 0 && t->reader) {
        trace_reader_finish(t->reader);
        n = trace_reader_read(t->reader, t->text, RECONSTRUCT_PIECE);
    }
    if (n < 0)
        return err_set(err, (int)n, "%s: %s", t->files.at[t->at].path, err_text((int)n));
    if (n == 0) {
        close_file(t);
        return 0;
    }
    t->len = (size_t)n;
    return 1;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Takes the available text of up to `lines` lines; *ret_lines of them end in it. */
static struct text take_text(struct reconstruct_target *t, uint64_t lines, uint64_t *ret_lines)
{
    const char *from = t->text + t->from, *at = from, *end = t->text + t->len;
    uint64_t n = 0;

    while (n < lines && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
        n += newline != NULL;
    }
    t->from += (size_t)(at - from);
    *ret_lines = n;
    return (struct text){from, (size_t)(at - from)};
}

static int skip_added(struct reconstruct *r, struct reconstruct_target *t, struct err *err)
{
    int rc = budget_check(r->base.budget);

    while (t->adding && rc >= 0 && (rc = read_text(t, err)) > 0) {
        uint64_t lines;
        take_text(t, t->adding, &lines);
        t->adding -= lines;
        rc = budget_check(r->base.budget);
    }
    next_pair(t);
    return rc < 0 ? rc : 0;
}

/* Subtracts lines, and ends the file after its last line from a source: the text after it is not
 * needed. */
static void use_lines(struct reconstruct_target *t, uint64_t taken)
{
    t->left -= taken;
    t->since -= taken < t->since ? taken : t->since;
    if (t->left)
        return;
    close_file(t);
    t->begun = false;
    t->at++;
}

int reconstruct_take_lines(struct reconstruct *r, struct reconstruct_target *t, uint64_t *lines,
                           uint64_t *missing, struct err *err)
{
    uint64_t taken;
    int rc = 0;

    while (rc == 0 && !t->begun && t->at < t->files.count) {
        rc = budget_check(r->base.budget);
        rc = rc < 0 ? rc : open_next_file(r, t, err);
        if (rc == 0 && t->left == 0)
            use_lines(t, 0);
    }
    bool none = !t->begun;
    while (rc == 0 && !none && t->since == 0 && t->adding)
        rc = skip_added(r, t, err);
    int more = rc < 0 || none ? rc : read_text(t, err);
    if (more < 0)
        return more;
    if (!more) {
        taken = none || *lines < t->left ? *lines : t->left;
        *missing += taken;
    } else {
        uint64_t max = t->since && t->since < *lines ? t->since : *lines;
        struct text text = take_text(t, max < t->left ? max : t->left, &taken);
        rc = reconstruct_write_text(r, text, err);
    }
    *lines -= taken;
    if (!none)
        use_lines(t, taken);
    return rc;
}
