/* maker.c - the tools of a thread that makes items, and the text of errors. */
#include "engine/cursor/maker.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- tools ----------------------------------------------------------------------------------- */

void item_tools_close_text(struct item_tools *t)
{
    if (!t->file)
        return;
    trace_text_close(t->text);
    if (t->fd >= 0)
        close(t->fd);
    t->file = NULL;
}

int item_tools_text(struct item_tools *t, struct query *q, const struct index_file *file,
                    struct trace_text **ret)
{
    if (t->file != file) {
        item_tools_close_text(t);
        int rc = index_text_open(query_index(q), query_snapshot(q), file, &t->text, &t->fd);
        if (rc < 0)
            return rc;
        t->file = file;
    }
    *ret = t->text;
    return 0;
}

void item_tools_free(struct item_tools *t)
{
    if (!t)
        return;
    item_tools_close_text(t);
    scan_worker_free(t->scan);
    free(t);
}

static int item_tools_new(struct query *q, struct item_tools **ret)
{
    struct item_tools *t = calloc(1, sizeof(*t));
    int rc = t ? scan_worker_new(q, &t->scan) : -ENOMEM;

    if (rc < 0)
        item_tools_free(t);
    else
        *ret = t;
    return rc;
}

int maker_make(const struct item_maker *m, struct item_tools **tools, size_t position, void **ret)
{
    struct index *ix = query_index(m->query);
    int rc = *tools ? 0 : item_tools_new(m->query, tools);

    if (rc < 0)
        return rc;
    index_query_running(ix, 1);
    rc = m->make(m->arg, *tools, position, ret);
    index_query_running(ix, -1);
    if (rc < 0)
        item_tools_close_text(*tools); /* its state is undefined after an error */
    return rc;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* Returns the errno with which a file cannot be read; 0 if it can be, or if only the file itself is
 * missing, so that it has changed. */
static int read_errno(const char *path)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');

    if (access(path, R_OK) == 0)
        return 0;
    if (errno != ENOENT || !slash)
        return errno;
    snprintf(directory, sizeof(directory), "%.*s", (int)(slash - path), path);
    return access(directory, F_OK) == 0 ? 0 : errno;
}

int maker_error(const struct item_maker *m, size_t position, int rc, struct err *err)
{
    struct query *q = m->query;
    uint32_t file = m->file_of ? m->file_of(m->arg, position) : q->places[position].file;
    const struct index_file *f = snapshot_file(query_snapshot(q), file);
    const char *name = f->name;
    bool unread = m->read_text && (rc == ERR_STALE || rc == -ENOENT || rc == -EACCES);
    int error = unread ? read_errno(f->path) : 0;
    if (error)
        return err_set(err, ERR_STALE, "cannot read %s: %s", name, strerror(error));
    if (m->read_text && (rc == ERR_STALE || rc == -ENOENT))
        return err_set(err, ERR_STALE, "%s changed after it was indexed; its lines cannot be read",
                       name);
    if (rc == ERR_CORRUPT)
        return err_set(err, rc, "%s: %s", name, err_text(rc));
    return err_set_code(err, rc);
}
