/* exact.h - numbers of literals and of mixed columns, compared by value without any rounding.
 * Private to the module. */
#ifndef DFTRACERD_ENGINE_LANG_EXACT_H
#define DFTRACERD_ENGINE_LANG_EXACT_H

#include "dftracerd/base.h"

/* A number as it was written. */
struct number {
    enum { NUMBER_INT, NUMBER_DOUBLE, NUMBER_BIG } type;
    int64_t i;
    double d;        /* finite */
    struct text big; /* integer beyond int64: '-' or nothing, digits without leading zeros */
};
/* JSON number, leading zeros allowed: an integer, or finite double where it has '.' or an exponent.
 * 0, -EINVAL, -ERANGE. `big` borrows from t. */
int number_parse(struct text t, struct number *ret);
/* Digits of an integer of any size (as column_entry tells TRACE_BIG). */
struct number number_of_digits(struct text digits);
int number_cmp(const struct number *a, const struct number *b);
void number_print(const struct number *n, struct buf *out); /* reads back equal */
double number_double(const struct number *n);               /* nearest */

/* The greatest integer not above a number, and whether the number is above it. Beyond +-10^36 the
 * limit. */
struct cut {
    __int128 floor;
    bool more;
};
struct cut number_cut(const struct number *n);
/* Decimal text (JSON number) times factor times 10^scale. False if it is no number. */
bool decimal_cut(struct text t, int scale, int64_t factor, struct cut *ret);
/* floor(b / by) as a bound, by > 0: nanoseconds to microseconds. */
struct cut cut_divide(struct cut b, int64_t by);

enum compare { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE };
bool compare_holds(enum compare op, int cmp); /* cmp as strcmp gives it */
/* The integers v with `v op b`: lo <= v <= hi (none when lo > hi), or with COMPARE_NE all *but*
 * lo..hi. */
struct range {
    int64_t lo, hi;
};
struct range range_of(enum compare op, struct cut b);
/* The same for doubles: lo <= v <= hi, lo > hi for none. */
struct range_f64 {
    double lo, hi;
};
struct range_f64 range_f64_of(enum compare op, const struct number *n);

#endif
