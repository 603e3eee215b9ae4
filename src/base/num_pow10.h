/* num_pow10.h - private to the base module: the table of powers of ten. */
#ifndef DFTRACERD_BASE_NUM_POW10_H
#define DFTRACERD_BASE_NUM_POW10_H

#include <stdint.h>

#define POW10_MIN (-342)
#define POW10_MAX 324

/* [k - POW10_MIN] is {high, low} of the truncated 128-bit mantissa of 10^k. */
extern const uint64_t num_pow10[POW10_MAX - POW10_MIN + 1][2];

#endif
