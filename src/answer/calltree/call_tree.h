/* call_tree.h - the parts of /call-tree: items, their threads, folded nodes.
 *
 * Used by:   the files of answer/calltree; answer/timeline (struct call_item).
 * Path:      scan.c collects items of 32 bytes and puts those of a thread side by side -> sort.c
 *            orders a thread -> fold.c nests and folds it -> shape.c selects and orders nodes, and
 *            turns the tree around; analyze.c makes the tables; events.c returns single events.
 *            call_tree.c opens and closes all.
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
#define CALL_NOBODY UINT32_MAX

/* An event. tuple: (cat, name, group_by...). */
struct call_item {
    int64_t ts, te, id;
    uint32_t tuple, lane;
};

/* Maps memory directly, so that it can be given back at once and takes no space before it is
 * written to. budget NULL: not charged. */
void *call_map(struct budget *b, size_t bytes, int *rc);
void call_unmap(struct budget *b, void *at, size_t bytes);

struct call_lane {
    struct value host, pid, tid;
    uint64_t first, count; /* its items */
    int64_t min_ts, max_te;
    uint32_t *chain; /* analyze: items of the critical path, from the outermost one on */
    size_t chain_count;
    struct within_part covered; /* with `clip`: the parts of time that count */
};
/* What is called: name and category. Sorted by them. */
struct call_name {
    struct value name, cat;
};

/* ---- folded ---------------------------------------------------------------------------------- */

struct call_node {
    uint32_t parent, name; /* name: position in names; from name_count on, groups */
    uint64_t count;
    __int128 total, self;
    int64_t min, max; /* min > max: none */
};
/* Node 0 is the top. A child comes after its parent. */
struct call_forest {
    VEC(struct call_node) nodes;
    struct hash_index index; /* of the nodes, by parent and name */
};
int call_forest_init(struct call_forest *f, struct budget *budget);
void call_forest_done(struct call_forest *f);
/* Finds or adds a child. */
int64_t call_forest_child(struct call_forest *f, uint32_t parent, uint32_t name);
void call_node_add(struct call_node *n, const struct call_node *other, bool with_total);

/* The returned nodes of a forest, as lists of children. */
struct call_shape {
    uint32_t *first, *next; /* CALL_NOBODY: none */
    __int128 *rest;         /* see call_tree_node; not defined for the top */
    uint32_t count;         /* of nodes in the lists; 0: the part does not exist */
    struct charge charge;
};

struct call_cursor {
    enum call_tree_part part;
    uint32_t node, depth;
    bool began;
    struct call_tree_node now;
};
struct call_open {
    int64_t ts, te;
    uint64_t id;
    uint32_t name;
};
struct call_events { /* the cursor over events */
    uint32_t lane;
    uint64_t at;                  /* position in the lane */
    VEC(struct call_open) opened; /* the enclosing events: `depth` of them */
    size_t depth, near;
    struct call_tree_event in_path; /* for call_tree_path_event */
};

struct call_tree {
    struct query *query;
    struct budget *budget;
    struct charge charge; /* for `items` */
    struct call_tree_options o;
    unsigned group_count; /* columns of group_by */
    const struct source *ph, *ts, *dur, *id, *lane_keys[3], *tuple_keys[GROUP_KEYS_MAX];
    struct group_table lanes_found, tuples_found; /* by keys */
    struct call_item *items;
    size_t item_bytes;
    struct call_lane *lanes;
    uint32_t lane_count, name_count;
    bool clips; /* time counts within parts of lanes only; events nest by their full time */
    struct call_name *names;
    uint32_t *name_of, *group_of; /* by tuple */
    struct value *group_values;   /* group_count each */
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
/* Sorts the items of one thread, given in line order, into the order of the contract. */
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
/* Returns how much of [ts, te) counts. `near`: from the last call for the lane, 0 at first. */
static inline int64_t call_length(const struct call_tree *t, const struct call_lane *l,
                                  size_t *near, int64_t ts, int64_t te)
{
    int64_t from;

    return t->clips ? within_length(&l->covered, near, ts, te, &from) : te - ts;
}
/* True if c is within [p_ts, p_te); c begins at p_ts or later. */
static inline bool call_contains(int64_t p_ts, int64_t p_te, const struct call_item *c)
{
    return c->te <= p_te && (c->ts < p_te || (c->ts == c->te && p_ts == p_te));
}

#endif
