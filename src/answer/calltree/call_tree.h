/* call_tree.h - the data of /call-tree: events as items, their threads, folded nodes.
 *
 * Used by:   the files of answer/calltree; answer/timeline (struct call_item).
 * Path:      scan.c collects items of 32 bytes, and groups them by thread -> sort.c sorts the items
 *            of a thread -> fold.c nests and folds them -> shape.c makes the trees of callees and
 *            callers, selects and orders nodes; analyze.c makes the tables; events.c returns single
 *            events.
 * Threads:   one, but for the scan and the sorting. Memory: charged to the budget of the query.
 */
#ifndef DFTRACERD_ANSWER_CALLTREE_CALL_TREE_H
#define DFTRACERD_ANSWER_CALLTREE_CALL_TREE_H

#include "dftracerd/call_tree.h"
#include "dftracerd/hash_index.h"
#include "dftracerd/vec.h"

#include "engine/group/map.h"
#include "engine/derived/within.h"

#define CALL_NO_ID INT64_MIN /* sorts before all ids */
#define CALL_NONE UINT32_MAX

/* An event: times in ns, and the numbers of its (name, cat, group_by...) and of its thread. */
struct call_item {
    int64_t ts, te, id;
    uint32_t tuple, lane;
};

/* Maps memory directly: pages that were not written to occupy none, and call_unmap returns it to
 * the system. Charges it to `b` (NULL: nothing). Returns NULL and sets *rc on errors. */
void *call_map(struct budget *b, size_t bytes, int *rc);
void call_unmap(struct budget *b, void *at, size_t bytes);

/* A thread. */
struct call_lane {
    struct value host, pid, tid;
    uint64_t first, count; /* its items */
    int64_t min_ts, max_te;
    uint32_t *chain; /* analyze: items of the critical path, from the outermost one on */
    size_t chain_count;
    struct within_part covered; /* with `clip`: the intervals of time that count */
};
struct call_name {
    struct value name, cat;
};

/* ---- folded ---------------------------------------------------------------------------------- */

struct call_node {
    uint32_t parent;
    uint32_t name; /* position in call_tree.names; name_count + number of a group */
    uint64_t count;
    __int128 total, self; /* ns */
    int64_t min, max;     /* ns; min > max: none */
};
/* Node 0 is the top. A child comes after its parent. */
struct call_forest {
    VEC(struct call_node) nodes;
    struct hash_index index; /* of the nodes, by parent and name */
};
int call_forest_init(struct call_forest *f, struct budget *budget);
void call_forest_done(struct call_forest *f);
/* Finds or adds a child. Returns its position, ERR_ROW_LIMIT, ERR_MEMORY_LIMIT or -ENOMEM. */
int64_t call_forest_child(struct call_forest *f, uint32_t parent, uint32_t name);
void call_node_add(struct call_node *n, const struct call_node *other, bool with_total);

/* The returned nodes of a forest, as lists of children. */
struct call_shape {
    uint32_t *first, *next; /* CALL_NONE: none */
    __int128 *rest;         /* see call_tree_node; not defined for the top */
    uint32_t count;         /* of nodes in the lists; 0: the part does not exist */
    struct charge charge;
};

struct call_cursor {
    enum call_tree_part part;
    uint32_t node, depth;
    bool began;
    struct call_tree_node current;
};
/* An event that encloses the current one. */
struct call_open {
    int64_t ts, te;
    uint64_t id;
};
struct call_events { /* the cursor over events */
    uint32_t lane;
    uint64_t at;                    /* position in the lane */
    VEC(struct call_open) opened;   /* `depth` of them */
    size_t depth, near;             /* near: see call_length */
    struct call_tree_event in_path; /* for call_tree_path_event */
};

struct call_tree {
    struct query *query;
    struct budget *budget;
    struct charge charge;             /* for `items` */
    struct call_tree_options options; /* texts in the arena */
    unsigned group_count;             /* columns of group_by */
    const struct source *ph, *ts, *dur, *id, *lane_keys[3], *tuple_keys[GROUP_KEYS_MAX];
    struct group_table lanes_found, tuples_found; /* keys, in the order in which they were found */
    struct call_item *items;                      /* by thread; see call_map */
    size_t item_bytes;
    struct call_lane *lanes; /* sorted by host, pid, tid */
    uint32_t lane_count, name_count;
    bool clips; /* time counts within parts of lanes only; events nest by their full time */
    struct call_name *names;      /* sorted */
    uint32_t *name_of, *group_of; /* by tuple */
    struct value *group_values;   /* group_count each; sorted */
    struct call_tree_totals totals;
    struct call_forest forest[CALL_TREE_PARTS];
    struct call_shape shape[CALL_TREE_PARTS];
    struct call_cursor cursor;
    struct call_events events;
    struct sketch *durations; /* analyze */
    struct call_tree_analysis analysis;
    struct arena arena;
};

int call_tree_scan(struct call_tree *t, struct err *err);
/* Sorts the items of one thread, which are in line order: by start, the longer first, then by
 * id, then the later line first. */
int call_sort(struct call_item *items, size_t n, struct budget *budget);
int call_tree_fold(struct call_tree *t);
int call_tree_focus(struct call_tree *t); /* makes CALL_TREE_CALLEES and _CALLERS from all */
int call_shape_make(struct call_tree *t, enum call_tree_part part, uint64_t max_depth,
                    int64_t min_total);
void call_shape_done(struct call_shape *s);
int call_tree_analyze(struct call_tree *t);

static inline const struct call_name *call_item_name(const struct call_tree *t,
                                                     const struct call_item *i)
{
    return &t->names[t->name_of[i->tuple]];
}
/* Returns how much of [ts, te) counts, in ns. `near`: the state of the search in the intervals
 * of the thread, 0 at first. */
static inline int64_t call_length(const struct call_tree *t, const struct call_lane *l,
                                  size_t *near, int64_t ts, int64_t te)
{
    int64_t from;

    return t->clips ? within_length(&l->covered, near, ts, te, &from) : te - ts;
}
/* Returns true if c is within [p_ts, p_te); c begins at p_ts or later. */
static inline bool call_contains(int64_t p_ts, int64_t p_te, const struct call_item *c)
{
    return c->te <= p_te && (c->ts < p_te || (c->ts == c->te && p_ts == p_te));
}

#endif
