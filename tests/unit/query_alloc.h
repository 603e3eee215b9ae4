/* query_alloc.h - questions while memory is short. */
#ifndef DFTRACERD_QUERY_ALLOC_H
#define DFTRACERD_QUERY_ALLOC_H

#include "dftracerd/aggregate.h"
#include "dftracerd/format.h"
#include "query_store.h"

#include "alloc_check.h"

/* Everything is given back, whatever came of it; `rc` is what err tells. */
static int alloc_settle(int rc, struct query *q, const struct budget *budget, struct err *err)
{
    query_close(q);
    if (!CHECK_INT(budget->memory_used, 0))
        failing_malloc_tell();
    CHECK(rc == 0 || rc == ERR_END || err->code == 0 || err->code == rc);
    err_done(err);
    return rc == ERR_END ? 0 : rc;
}

/* The whole answer in a format: as alloc_settle wants to have it. */
static inline int alloc_write_aggregate(struct aggregate *a, struct query *q, enum format format,
                                        struct budget *budget, struct err *err, struct buf *answer)
{
    struct format_aggregate_options o = {
        .format = format, .events = AGGREGATE_REGULAR, .budget = budget};
    struct format_aggregate *f = NULL;
    int rc = format_aggregate_new(a, q, &o, err, &f);
    uint64_t least = rc < 0 ? 0 : format_aggregate_least(f);

    while (rc == 0)
        rc = format_aggregate_next(f, err, answer);
    CHECK(rc != ERR_END || answer->len >= least);
    format_aggregate_free(f);
    return rc;
}

#endif
