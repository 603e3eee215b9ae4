/* filter.h - a filter as a tree of tests, which are evaluated for files, chunks, and the rows of
 * batches.
 *
 * Used by:   scan/, plan/; answers, which test single values and read the tests of a query.
 * Path:      test_compile makes tests of a parsed query; test_may_match_file excludes files; in
 *            each chunk test_bind decides whether none, all or some rows pass; for some,
 *            test_select_root finds the rows from encoded columns, else test_eval_root evaluates
 *            each batch.
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
    struct text *texts; /* the same texts, sorted by bytes */
    size_t text_count;
};
static inline bool test_is_leaf(const struct test *t)
{
    return t->type == TEST_LEAF || t->type == TEST_CLASS;
}
struct test_mode;
/* A test in the current chunk of a worker. */
struct test_state {
    enum tri tri;
    enum tri known;               /* the result that is ignored if pruning is disabled */
    const struct test_mode *mode; /* the method to find rows */
    bool inverted;
    size_t count;          /* of ranges, at least 1; those of integers ascend. 0 for codes */
    struct scratch ranges; /* struct range or range_f64 */
    struct scratch table;  /* bitmap over codes */
    uint32_t only_code;    /* the only code that passes; UINT32_MAX: there are more */
    struct scratch rows;   /* bitmap of the whole chunk: rows that pass */
    uint64_t rows_serial;  /* of the chunk of `rows` */
    VEC(uint8_t) seen;     /* by global text id: 0 not tested, 1 false, 2 true */
};

/* These return tests that are borrowed from the query. Without memory its arena has the error, and
 * the test must not be used. */
struct test *test_compile(struct query *q, const struct dsl_node *node);
struct test *test_classes(struct query *q, unsigned phases);
struct test *test_both(struct query *q, struct test *a, struct test *b); /* either may be NULL */
/* Returns true if a text, by its global id or, for INDEX_NO_TEXT, its bytes, is one of t->texts. */
bool test_has_text(const struct test *t, uint32_t id, struct text text);
/* Returns false if no object of the file can pass. */
bool test_may_match_file(const struct query *q, const struct test *t,
                         const struct index_file *file);
/* ---- tests in a chunk: the worker keeps errors ----------------------------------------------- */

/* Binds a test to the current chunk, and returns which rows pass. */
enum tri test_bind(struct scan_worker *w, const struct test *t);
/* After test_bind: marks sources that have the same value in all selected rows. */
void test_bind_only_codes(struct scan_worker *w, const struct test *root);

/* The rest is for tests for which test_bind has returned TRI_SOME. */

/* Returns the rows of the whole chunk that pass, borrowed until the next chunk. NULL: they cannot
 * be found from encoded columns, so each batch has to be evaluated. */
const uint64_t *test_select_root(struct scan_worker *w, const struct test *t);
/* The same for a LEAF or CLASS that is bound to b. */
const uint64_t *test_select(struct scan_worker *w, const struct test *t, const struct binding *b);
/* Reads the values of a source (durations) of all rows that pass, in one pass over its blocks;
 * borrowed until the next chunk. Returns false if that is not possible with these tests. */
bool test_values(struct scan_worker *w, const struct test *root, const struct source *s,
                 struct scan_values *ret);
/* Sets `mask` to the rows of the batch that pass. */
void test_eval(struct scan_worker *w, struct scan_batch *b, const struct test *t, uint64_t *mask);
/* The same for the root: children of an AND are evaluated only for rows that passed the others. */
void test_eval_root(struct scan_worker *w, struct scan_batch *b, const struct test *t,
                    uint64_t *mask);
/* Tests one value: returns 1, 0, or an error. */
int test_entry(const struct test *t, const struct column_entry *e);

#endif
