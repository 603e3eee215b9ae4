/* tell.h - from a group to the values of its row.
 *
 * Used by:   aggregate.c, columns.c, rows.c, best.c, other.c.
 * Path:      columns that are plain numbers are filled by columns.c; all others by aggregate_tell.
 * Threads:   one. Memory: charged to the budget until teller_done; texts are borrowed.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_TELL_H
#define DFTRACERD_ANSWER_AGGREGATE_TELL_H

#include "answer/aggregate/plan.h"

enum { KEY_OTHER = 15 }; /* tag of the first key of "(other)"; see keys.c */
struct process_table;
/* One measure of the row at hand. */
struct told {
    bool done, has_quantiles, weighted;
    struct moments m;
    struct moments_f64 all; /* valid where is_f64 */
    bool is_f64;
    const struct fine *fine;
    uint64_t count;
};
struct teller_state { /* all that rows are told from */
    const struct aggregate_plan *plan;
    struct groups *found;
    struct process_table *processes;
    int64_t *busy;       /* ns by group of set 0; NULL */
    uint64_t **distinct; /* by keep, by group; NULL where another thing is kept */
    size_t charged;
    struct told *told;       /* by measure */
    struct value *quantiles; /* by measure, by quantile */
};
int teller_begin(struct teller_state *t);
void teller_done(struct teller_state *t);
/* Texts are borrowed from the query and the plan. number: of the key. */
int aggregate_tell_key(const struct aggregate_plan *p, unsigned number, uint64_t key,
                       struct value *ret);
/* done: by column, what is not to be told; NULL. */
int aggregate_tell(struct teller_state *t, struct row_id row, const bool *done,
                   struct value *values);

#endif
