/* statistics.h - tests of two samples: Welch's t, Mann and Whitney's U, Cohen's d, Holm's
 * correction.
 *
 * Used by:   metric.c, compare.c.
 * Errors:    a result that cannot be computed (too few values, no variance) is NAN, which is null
 *            in answers.
 * Threads:   re-entrant. Memory: none is kept.
 *
 */
#ifndef DFTRACERD_ANSWER_COMPARE_STATISTICS_H
#define DFTRACERD_ANSWER_COMPARE_STATISTICS_H

#include "dftracerd/compare.h"

#include "engine/group/sample.h"

struct sample_summary {
    uint64_t count;
    double mean, variance; /* that of the sample (n - 1) */
};
struct welch {
    double t, df, p;
};
struct mann_whitney {
    double u, p, cliffs_delta;
};

/* Returns P(|T| >= |t|) of Student's distribution, df > 0. */
double student_p(double t, double df);
/* Two-sided test; t > 0 if the mean of b is greater. */
void welch_test(const struct sample_summary *a, const struct sample_summary *b, struct welch *ret);
/* Uses the mean of the population variances; returns 0 if a side has fewer than 2 values or nothing
 * varies. */
double cohens_d(const struct sample_summary *a, const struct sample_summary *b);
enum compare_class cohens_class(double d);
/* Bins must be ascending. Returns U of b, and the two-sided p by the normal approximation,
 * corrected for ties and continuity. cliffs_delta, -1 to 1: how much more often a value of b is the
 * greater one than the smaller one. */
void mann_whitney_test(const struct sample_bin *a, size_t a_bins, const struct sample_bin *b,
                       size_t b_bins, struct mann_whitney *ret);
/* Corrects the p-values at these pointers, and sorts the pointers. NAN is ignored. */
void holm_correct(double **p, size_t count);

#endif
