/* call_tree.h - shared by the writers of /call-tree. Private to this folder.
 *
 * call_tree.c writes pieces, and stacks; call_tree_members.c describes JSON, call_tree_path.c makes
 * paths, call_tree_text.c writes text, call_tree_events.c events.
 */
#ifndef DFTRACERD_FORMAT_REPORT_CALL_TREE_H
#define DFTRACERD_FORMAT_REPORT_CALL_TREE_H

#include "dftracerd/call_tree.h"
#include "dftracerd/vec.h"
#include "format/perfetto/aggregate.h"

/* An event as a line of NDJSON. */
struct call_tree_line {
    struct call_tree_event event;
    struct call_tree_thread thread;
    bool has_parent, has_path;
    struct text path;
};
struct call_tree_lines {
    struct call_tree_totals totals;
    uint64_t rows, elapsed_ms;
};

struct format_call_tree {
    struct call_tree *tree;
    struct format_call_tree_options o;
    bool begun; /* something has been written */
    const struct call_tree_analysis *analysis;
    size_t nodes[CALL_TREE_PARTS]; /* 0: the part is not written */
    enum call_tree_part part;      /* the part being written */
    struct document document;      /* JSON */
    struct buf path;               /* of the last node or event */
    VEC(size_t) ends;              /* ends of its frames, by depth */
    struct buf scratch;
    /* events */
    struct call_tree_line line;
    struct call_tree_lines lines;
    uint64_t seen;            /* events before the next one, for `offset` */
    uint32_t thread, threads; /* the current one, plus 1; the number of all */
    struct perfetto *perfetto;
    struct perfetto_thread lanes;
    VEC(int64_t) lane_tids; /* tids of the lanes of the current thread */
    int64_t next_tid;       /* no thread has it, nor a higher one */
};

/* Removes the frame at `depth` and all below it from the path, so that another one can be appended;
 * then call_tree_end_frame. Both return 0 or -ENOMEM. */
int call_tree_cut_path(struct format_call_tree *f, uint32_t depth);
int call_tree_end_frame(struct format_call_tree *f, uint32_t depth);

void call_tree_text_head(struct format_call_tree *f, struct buf *out);
void call_tree_text_node(struct format_call_tree *f, const struct call_tree_node *n,
                         struct buf *out);
void call_tree_text_tail(struct format_call_tree *f, struct buf *out);

/* Returns 0 if there is more, ERR_END, or an error. */
int call_tree_events_next(struct format_call_tree *f, struct buf *out);

extern const struct object_type call_tree_event_type, call_tree_summary_type;

#endif
