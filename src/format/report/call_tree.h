/* call_tree.h - between the writers of /call-tree. Private to format_call_tree*.c.
 *
 * call_tree.c goes through the tree and writes it as JSON or stacks; call_tree_json.c
 * what stands before it, call_tree_path.c paths, call_tree_text.c text, call_tree_events.c events.
 */
#ifndef DFTRACERD_FORMAT_REPORT_CALL_TREE_H
#define DFTRACERD_FORMAT_REPORT_CALL_TREE_H

#include "dftracerd/call_tree.h"
#include "dftracerd/vec.h"
#include "format/perfetto/aggregate.h"

struct format_call_tree {
    struct call_tree *tree;
    struct query *query;
    struct format_call_tree_options o;
    enum { TREE_HEAD, TREE_PART, TREE_TAIL } stage;
    enum call_tree_part part;
    bool in_part;
    int64_t last; /* depth of the node before, -1: none */
    struct jw jw;
    struct buf path, scratch; /* of the node or event before */
    VEC(size_t) ends;         /* of its frames, by depth */
    /* events */
    uint64_t seen, rows;
    uint32_t thread, threads; /* the one at hand, plus 1; of all */
    struct buf thread_json;
    struct perfetto *perfetto;
    struct perfetto_thread lanes;
    VEC(int64_t) told; /* tids of the lanes of the thread at hand */
    int64_t next_tid;
};

bool call_tree_has_part(const struct format_call_tree *f, enum call_tree_part part);
/* Frames deeper than `depth` are taken off the path; then another one goes on. -ENOMEM. */
int call_tree_cut_path(struct format_call_tree *f, uint32_t depth);
int call_tree_end_frame(struct format_call_tree *f, uint32_t depth);

void call_tree_json_head(struct format_call_tree *f, struct buf *out);
void call_tree_text_head(struct format_call_tree *f, struct buf *out);
void call_tree_text_node(struct format_call_tree *f, const struct call_tree_node *n,
                         struct buf *out);
void call_tree_text_tail(struct format_call_tree *f, struct buf *out);

int call_tree_events_begin(struct format_call_tree *f, struct buf *out);
int call_tree_events_next(struct format_call_tree *f, struct buf *out); /* 0, ERR_END, error */
void call_tree_summary(struct format_call_tree *f, struct jw *j);       /* members of an object */

#endif
