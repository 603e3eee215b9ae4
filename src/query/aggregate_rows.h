/* aggregate_rows.h - which rows of the general form are told, and in what order: having, top, sort. Private. */
#ifndef DFTRACERD_QUERY_AGGREGATE_ROWS_H
#define DFTRACERD_QUERY_AGGREGATE_ROWS_H

#include "aggregate.h"

/* *rows, in the order of their keys, becomes what is told. ERR_PARAM, ERR_QUERY_SYNTAX, -ENOMEM ... */
int rows_choose(struct teller_state *t, const struct aggregate_options *o, struct row_id **rows, size_t *count, struct err *err);

/* Puts groups of set 0 together into one, whose first key is told as "(other)", the others as null. */
int others_join(struct teller_state *t, const struct row_id *rows, size_t count, struct row_id *ret);

#endif
