/* archive_text.c - the text of an archive by position, and a member's part of it. */
#include "archive_members.h"

#include <errno.h>
#include <string.h>

/* Beside that of a packed member, whose reader is not done with its own when it asks the archive for bytes. */
static _Thread_local char window_bytes[40 << 10];

static int find_checkpoint(void *arg, uint64_t text_offset, struct trace_checkpoint *ret)
{
    const struct body *archive = arg;

    return checkpoint_copy(archive->ix, archive->pub.id, text_offset, window_bytes,
                           sizeof window_bytes, ret);
}

int archive_source(struct index *ix, int fd, const struct body *archive,
                   const struct body_member *m, struct trace_source **ret)
{
    struct trace_text *text = NULL;
    int rc = trace_text_open(fd, archive->pub.format, ix->options.engine, find_checkpoint,
                             (void *)(uintptr_t)archive, &text);

    rc = rc < 0 ? rc : trace_source_new(text, m->offset, m->size, NULL, NULL, ret);
    if (rc < 0)
        trace_text_close(text);
    return rc;
}
