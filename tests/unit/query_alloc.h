/* query_alloc.h - queries while memory is short. */
#ifndef DFTRACERD_QUERY_ALLOC_H
#define DFTRACERD_QUERY_ALLOC_H

#include "dftracerd/aggregate.h"
#include "dftracerd/format.h"
#include "query_store.h"

#include "alloc_check.h"

/* Checks that all memory was given back, whatever the result, and that err has the code `rc`. */
static int alloc_settle(int rc, struct query *q, const struct budget *budget, struct err *err)
{
    query_close(q);
    if (!CHECK_INT(budget->memory_used, 0))
        failing_malloc_tell();
    CHECK(rc == 0 || rc == ERR_END || err->code == 0 || err->code == rc);
    err_done(err);
    return rc == ERR_END ? 0 : rc;
}

/* Writes the whole answer in a format, and returns its error for alloc_settle. */
static inline int alloc_write_aggregate(struct aggregate *a, struct query *q, enum format format,
                                        struct budget *budget, struct err *err, struct buf *answer)
{
    struct format_aggregate_options o = {
        .format = format, .events = AGGREGATE_REGULAR, .budget = budget};
    struct format_aggregate *f = NULL;
    int rc = format_aggregate_new(a, q, &o, err, &f);
    uint64_t least = rc < 0 ? 0 : format_aggregate_min_bytes(f);

    while (rc == 0)
        rc = format_aggregate_next(f, err, answer);
    CHECK(rc != ERR_END || answer->len >= least);
    format_aggregate_free(f);
    return rc;
}

#endif
