/* exact.h - numbers of literals and of mixed columns, which are compared exactly. Private to the
 * module. */
#ifndef DFTRACERD_ENGINE_LANG_EXACT_H
#define DFTRACERD_ENGINE_LANG_EXACT_H

#include "dftracerd/base.h"

static inline bool is_ascii_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A number as it was written. */
struct number {
    enum { NUMBER_INT, NUMBER_DOUBLE, NUMBER_BIG } type; /* number_cmp relies on the order */
    int64_t i;
    double d;        /* finite */
    struct text big; /* integer beyond int64: digits, not with leading zeros unless after '-' */
};
/* Parses a JSON number (leading zeros are allowed): an integer, or a finite double if it has '.' or
 * an exponent. Returns 0, -EINVAL, -ERANGE or -ENOMEM. `big` borrows from t. */
int number_parse(struct text t, struct number *ret);
/* Makes a number of the digits of an integer of any size (as in column_entry for TRACE_BIG). */
struct number number_of_digits(struct text digits);
int number_cmp(const struct number *a, const struct number *b);
void number_print(const struct number *n, struct buf *out); /* reads back equal */
double number_double(const struct number *n);               /* nearest */

/* The floor of a number; `more`: the number is above it. Numbers beyond +-10^36 become the
 * limit. */
struct cut {
    __int128 floor;
    bool more;
};
struct cut number_cut(const struct number *n);
/* Sets *ret to a JSON number, multiplied by factor * 10^scale. Returns false if t is no number. */
bool decimal_cut(struct text t, int scale, int64_t factor, struct cut *ret);
/* Returns floor(b / by), by > 0: converts nanoseconds to microseconds. */
struct cut cut_divide(struct cut b, int64_t by);

enum compare { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE };
bool compare_holds(enum compare op, int cmp); /* cmp as strcmp gives it */
/* The integers v with `v op b`: lo <= v <= hi (none if lo > hi); for COMPARE_NE all *but* these. */
struct range {
    int64_t lo, hi;
};
struct range range_of(enum compare op, struct cut b);
/* The same for doubles. */
struct range_f64 {
    double lo, hi;
};
struct range_f64 range_f64_of(enum compare op, const struct number *n);

#endif
