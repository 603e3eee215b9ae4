/* statistics.c - unions of intervals, percentiles, variance and the distance of two samples. */
#include "dftracerd/dlio.h"

#include <math.h>
#include <stdlib.h>

static int by_from(const void *a, const void *b)
{
    const struct dlio_interval *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Doubles hold whole microseconds exactly up to 285 years. */
static double in_us(double seconds)
{
    return floor(seconds * 1e6 + 0.5);
}

double dlio_union(struct dlio_interval *intervals, size_t n)
{
    double covered = 0, end = 0;
    if (n > 0) /* qsort does not take NULL */
        qsort(intervals, n, sizeof *intervals, by_from);
    for (size_t i = 0; i < n; i++) {
        double from = in_us(intervals[i].from), to = in_us(intervals[i].to);
        if (i == 0 || from > end)
            end = from;
        if (to > end) {
            covered += to - end;
            end = to;
        }
    }
    return covered / 1e6;
}

static int by_value(const void *a, const void *b, void *arg)
{
    double x = *(const double *)a, y = *(const double *)b;
    (void)arg;
    return (x > y) - (x < y);
}

int dlio_sort(double *values, size_t n, struct budget *b)
{
    struct budget none = {0};
    return n < 2 ? 0 : sort_items(values, n, sizeof *values, by_value, NULL, b ? b : &none);
}

double dlio_variance(const double *values, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += values[i];
    if (n == 0)
        return 0;
    mean /= (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return squares / (double)n;
}

double dlio_percentile(const double *sorted, size_t n, double percentile)
{
    double place = percentile / 100 * (double)(n - 1);
    size_t at = place > 0 ? (size_t)place : 0;
    if (at >= n - 1)
        return sorted[n - 1];
    return sorted[at] + (place - (double)at) * (sorted[at + 1] - sorted[at]);
}

double dlio_similarity(const double *a, size_t na, const double *b, size_t nb)
{
    double distance = 0;
    size_t i = 0, j = 0;
    if (na == 0 || nb == 0)
        return 0;
    while (i < na && j < nb) {
        double x = a[i] < b[j] ? a[i] : b[j];
        while (i < na && a[i] <= x)
            i++;
        while (j < nb && b[j] <= x)
            j++;
        double apart = fabs((double)i / (double)na - (double)j / (double)nb);
        if (apart > distance)
            distance = apart;
    }
    return 1 - distance;
}
