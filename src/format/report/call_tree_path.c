/* call_tree_path.c - the path of frames to a node or event. */
#include "format/report/call_tree.h"

int call_tree_cut_path(struct format_call_tree *f, uint32_t depth)
{
    int rc = vec_extend(&f->ends, depth + (size_t)1);

    if (rc < 0)
        return rc;
    f->path.len = depth ? f->ends.at[depth - 1] : 0;
    if (depth)
        buf_putc(&f->path, ';');
    return f->path.error;
}

int call_tree_end_frame(struct format_call_tree *f, uint32_t depth)
{
    f->ends.at[depth] = f->path.len;
    return f->path.error;
}
