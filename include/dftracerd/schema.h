/* schema.h - /schema: which columns the selected objects have, and of what types and values.
 *
 * Used by:   http; answer/small (/info).
 * Path:      schema_run reads the columns of each chunk (answer/small/schema.h) -> struct schema
 *            -> schema_type.
 * Memory:    the answer is in its arena.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_SCHEMA_H
#define DFTRACERD_SCHEMA_H

#include "dftracerd/member.h"

struct schema_column {
    struct text path; /* as in queries */
    const char *type; /* "int", "float" (also with ints among them), "string", "bool", "mixed" */
    uint64_t rows, distinct;
    /* distinct_exact: false beyond 16,384 values, then within about 3 %; bloom: the path has bloom
     * filters */
    bool distinct_exact, bloom;
    struct value min, max; /* null if mixed */
};
/* Columns by path; the arena owns all. */
struct schema {
    struct schema_column *columns;
    size_t count;
    struct arena arena;
};
extern const struct object_type schema_column_type, schema_type;
int schema_run(struct query *q, struct err *err, struct schema **ret); /* *new* */
void schema_free(struct schema *s);

#endif
