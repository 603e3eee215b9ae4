/* archive_text.c - the text of an archive by position, and the part of it that is a member. */
#include "index/catalog/archive_text.h"
#include "index/catalog/index.h"
#include "index/store/checkpoint_record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int find_checkpoint(void *arg, uint64_t text_offset, struct trace_checkpoint *ret)
{
    const struct view *archive = arg;

    return checkpoint_copy(archive->ix->kv, archive->pub.id, text_offset, CHECKPOINT_ARCHIVE, ret);
}

static int open_text(struct index *ix, int fd, const struct view *archive, struct trace_text **ret)
{
    return trace_text_open(fd, archive->pub.format, ix->options.engine, find_checkpoint,
                           (void *)(uintptr_t)archive, ret);
}

int archive_source(struct index *ix, int fd, const struct view *archive,
                   const struct member_place *m, struct trace_source **ret)
{
    struct trace_text *text = NULL;
    int rc = open_text(ix, fd, archive, &text);

    rc = rc < 0 ? rc : trace_source_new(text, m->offset, m->size, NULL, NULL, ret);
    if (rc < 0)
        trace_text_close(text);
    return rc;
}

void archive_place_done(struct archive_place *p)
{
    if (!p->archive)
        return;
    trace_text_close(p->text);
    view_release(p->archive);
    close(p->fd);
    *p = (struct archive_place){0};
}

static int begin_source(struct index *ix, struct archive_place *p, int fd, struct view *archive)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    int rc = copy < 0 ? -errno : open_text(ix, copy, archive, &p->text);

    if (rc < 0) {
        if (copy >= 0)
            close(copy);
        return rc;
    }
    p->fd = copy;
    p->archive = view_ref(archive);
    return 0;
}

int archive_source_from(struct index *ix, struct archive_place *p, int fd, struct view *archive,
                        const struct member_place *m, struct trace_source **ret)
{
    int rc = 0;

    if (!p->text || p->archive->owner != archive->owner) {
        archive_place_done(p);
        rc = begin_source(ix, p, fd, archive);
    }
    rc = rc < 0 ? rc : trace_source_new(p->text, m->offset, m->size, NULL, NULL, ret);
    if (rc == 0)
        p->text = NULL;
    return rc;
}

void archive_source_return(struct archive_place *p, struct trace_source *source)
{
    if (source)
        p->text = trace_source_release(source);
}
