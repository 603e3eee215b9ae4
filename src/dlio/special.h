/* special.h - exp, log and the special functions of the fits. Private to the dlio module.
 *
 * Results differ between the libraries of machines in the last digits; these use +, -, *, /, sqrt,
 * frexp and ldexp alone, which IEEE 754 defines. Relative error about 1e-15 unless noted. Formulas:
 * NIST Digital Library of Mathematical Functions (dlmf.nist.gov), by their numbers there.
 */
#ifndef DFTRACERD_DLIO_SPECIAL_H
#define DFTRACERD_DLIO_SPECIAL_H

double special_exp(double x);
double special_log(double x);    /* x > 0 */
double special_log1p(double x);  /* |x| < 0.25 */
double special_lgamma(double x); /* ln of the gamma function, x > 0; so below */
/* ln x - digamma(x), and its derivative; without cancellation for large x. */
double special_digamma_gap(double x, double *ret_slope);
double special_stirling(double x); /* x ln x - x - lgamma(x); likewise */
/* Lower regularised incomplete gamma function P(a, x), absolute error below 1e-7 for a > 1e5, else
 * 1e-9; a > 0. */
double special_gamma_p(double a, double x);
double special_normal_cdf(double z);

#endif
