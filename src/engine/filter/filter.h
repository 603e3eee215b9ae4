/* filter.h - a filter as a tree of tests: what it decides of a file, of a chunk, and of the rows of
 * a batch.
 *
 * Used by:   scan/, plan/.
 * Way:       test_compile makes tests of a parsed query; test_may_match_file rules files out; in
 *            each chunk test_bind decides none, all or some; where it is some, test_select_root
 *            finds the rows from compressed columns, else test_eval_root evaluates each batch.
 * Memory:    tests live in the query's arena; test_state in the worker, kept from chunk to chunk.
 * Threads:   tests do not change once compiled; a test_state belongs to its worker.
 */
#ifndef DFTRACERD_ENGINE_FILTER_FILTER_H
#define DFTRACERD_ENGINE_FILTER_FILTER_H

#include "engine/derived/derived.h"

enum tri { TRI_NONE, TRI_SOME, TRI_ALL };
struct test {
    enum { TEST_AND, TEST_OR, TEST_NOT, TEST_LEAF, TEST_CLASS } type;
    unsigned id; /* position in scan_worker.tests */
    unsigned cost;
    struct test **children;
    size_t child_count;
    const struct source *source; /* LEAF; CLASS: "@class" */
    const struct dsl_node *node; /* LEAF: operator and literals */
    unsigned classes;            /* CLASS: PHASE_ bits */
    uint32_t *text_ids;          /* LEAF with text literals and ==, !=, IN: global ids, sorted */
    size_t text_id_count;
    struct text *texts; /* ... and the texts, sorted by bytes */
    size_t text_count;
};
static inline bool test_is_leaf(const struct test *t)
{
    return t->type == TEST_LEAF || t->type == TEST_CLASS;
}
struct test_mode;
/* A test in the chunk that the worker is at. */
struct test_state {
    enum tri tri;
    enum tri known;               /* what was found out although pruning is switched off */
    const struct test_mode *mode; /* how rows are found */
    bool inverted;
    size_t count;         /* of ranges, ascending, at least 1 */
    struct grow ranges;   /* struct range or range_f64 */
    struct grow table;    /* bitmap over codes */
    uint32_t only_code;   /* one code is true; UINT32_MAX: more */
    struct grow rows;     /* bitmap of the whole chunk: rows that pass */
    uint64_t rows_serial; /* of the chunk that it is of */
    VEC(uint8_t) seen;    /* by global text id: 0 not judged, 1 false, 2 true */
};

/* Borrowed from the query. Where memory fails its arena has the error: such a test is of no use. */
struct test *test_compile(struct query *q, const struct dsl_node *node);
struct test *test_classes(struct query *q, unsigned phases);
struct test *test_both(struct query *q, struct test *a, struct test *b); /* either may be NULL */
/* Whether a text, known by its global id or as bytes (INDEX_NO_TEXT), is one of t->texts. */
bool test_has_text(const struct test *t, uint32_t id, struct text text);
/* False: no object of the file can pass. */
bool test_may_match_file(const struct query *q, const struct test *t,
                         const struct index_file *file);
/* What follows may leave an error in the worker. */
/* Judges the test for the chunk the worker is at. */
enum tri test_bind(struct scan_worker *w, const struct test *t);
/* After that: marks the sources of which selected rows can have one value only. */
void test_bind_only(struct scan_worker *w, const struct test *root);
/* After test_bind gave TRI_SOME: rows of the whole chunk that pass, borrowed until the next one.
 * NULL: encoded columns do not suffice, so each batch is evaluated. */
const uint64_t *test_select_root(struct scan_worker *w, const struct test *t);
/* The same of a LEAF or CLASS that is bound to b, but for the rows of test_misses_zeros. */
const uint64_t *test_select(struct scan_worker *w, const struct test *t, const struct bound *b);
/* Whether rows whose missing dur is 0 pass, too: row->zeros. */
bool test_misses_zeros(const struct test_state *s, const struct bound *b);
/* After test_bind gave TRI_SOME: the values of a source (durations) of all rows that pass, in one
 * pass over its blocks; borrowed until the next chunk. False: not with these tests, or rows without
 * a value count, too. */
bool test_take(struct scan_worker *w, const struct test *root, const struct source *s,
               struct scan_values *ret);
/* After test_bind gave TRI_SOME: rows of the batch that pass. */
void test_eval(struct scan_worker *w, struct scan_batch *b, const struct test *t, uint64_t *mask);
/* The same for the root: children of an AND evaluate only the rows that are left. */
void test_eval_root(struct scan_worker *w, struct scan_batch *b, const struct test *t,
                    uint64_t *mask);
/* One value: 1, 0, or an error. */
int test_entry(const struct test *t, const struct column_entry *e);

#endif
