/* module: base */
/* test_measure.c - moments are exact, the sketch keeps its promise against the exact rank,
 * histograms count. */
#include "dftracerd/measure.h"
#include "check.h"

#include <float.h>
#include <math.h>

static uint64_t state = 88172645463325252u;

static uint64_t rnd(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* ---- moments --------------------------------------------------------------------------------- */

static void moments_small(void)
{
    struct moments m = {0};
    static const int64_t v[] = {2, 4, 4, 4, 5, 5, 7, 9};

    for (size_t i = 0; i < 8; i++)
        moments_add(&m, v[i], false);
    CHECK_INT(m.count, 8);
    CHECK(m.sum == 40 && m.min == 2 && m.max == 9 && m.squares == 232);
    CHECK_NEAR(moments_mean(&m), 5.0, 0);
    CHECK_NEAR(moments_std(&m), 2.1380899352993952, 1e-16);
}

/* Large equal values with a small difference: what cancels in doubles. */
static void moments_no_cancelling(void)
{
    struct moments m = {0};

    for (unsigned i = 0; i < 1000000; i++)
        moments_add(&m, 1727387307981693123 + (i & 1), false);
    CHECK_NEAR(moments_std(&m), 0.50000025000018751, 1e-15);
}

static void moments_extremes(void)
{
    struct moments m = {0}, n = {0};

    moments_add(&m, INT64_MIN, false);
    moments_add(&m, INT64_MAX, false);
    CHECK(m.sum == -1 && m.min == INT64_MIN && m.max == INT64_MAX);
    CHECK_NEAR(moments_std(&m), 13043817825332782212.0, 1e-15);
    moments_add(&n, 1, true);
    moments_merge(&m, &n);
    CHECK(m.nano && m.count == 3 && m.sum == -999 && m.max == (__int128)INT64_MAX * 1000);
    CHECK_NEAR(moments_std(&m), 9223372036854775807.5, 1e-15);
}

static void moments_units(void)
{
    struct moments us = {0}, ns = {0}, mixed = {0}, merged = {0}, part = {0};
    struct moments_part p = {0}, q = {0};

    for (unsigned i = 0; i < 1000; i++) {
        int64_t v = (int64_t)(rnd() % 100000) - 50000;
        moments_add(&us, v, false);
        moments_add(&ns, v * 1000, true);
        moments_add(&mixed, i % 2 ? v : v * 1000, i % 2 == 0);
        struct moments one = {0};
        moments_add(&one, i % 3 ? v : v * 1000, i % 3 == 0);
        moments_merge(&merged, &one);
        struct moments_part *to = i % 2 ? &p : &q;
        int64_t w = i % 2 ? v : v * 1000;
        to->min = to->count == 0 || w < to->min ? w : to->min;
        to->max = to->count == 0 || w > to->max ? w : to->max;
        to->count++;
        to->sum += w;
        to->squares += (unsigned __int128)((__int128)w * w);
    }
    moments_add_part(&part, &p, false);
    moments_add_part(&part, &q, true);
    CHECK(mixed.sum == ns.sum && mixed.squares == ns.squares && mixed.min == ns.min &&
          mixed.max == ns.max);
    CHECK(merged.sum == ns.sum && merged.squares == ns.squares && merged.count == 1000);
    CHECK(part.sum == ns.sum && part.squares == ns.squares && part.min == ns.min &&
          part.max == ns.max);
    CHECK_NEAR(moments_std(&us), moments_std(&ns), 1e-15);
    CHECK_NEAR(moments_mean(&us), moments_mean(&mixed), 1e-15);
}

static void moments_doubles(void)
{
    struct moments_f64 all = {0}, a = {0}, b = {0};
    double values[1000], mean = 0, squares = 0;

    for (unsigned i = 0; i < 1000; i++) {
        values[i] = (double)(int64_t)rnd() / 3e15 + 1e6;
        mean += values[i] / 1000;
        moments_f64_add(&all, values[i]);
        moments_f64_add(i < 300 ? &a : &b, values[i]);
    }
    for (unsigned i = 0; i < 1000; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    moments_f64_merge(&a, &b);
    CHECK_INT(a.count, 1000);
    CHECK_NEAR(all.mean, mean, 1e-13);
    CHECK_NEAR(a.mean, mean, 1e-13);
    CHECK_NEAR(all.m2, squares, 1e-9);
    CHECK_NEAR(a.m2, squares, 1e-9);
    CHECK(a.min == all.min && a.max == all.max);
    CHECK_NEAR(a.sum + a.comp, all.sum + all.comp, 1e-15);
    struct moments_f64 c = {0};
    moments_f64_add(&c, 1e100);
    moments_f64_add(&c, 1);
    moments_f64_add(&c, -1e100);
    CHECK_NEAR(c.sum + c.comp, 1.0, 0);
}

/* ---- sketch ---------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double shape(unsigned kind, size_t i)
{
    switch (kind) {
    case 0:
        return (double)(rnd() % 1000000);
    case 1:
        return (double)(rnd() % 300);
    case 2:
        return exp((double)(rnd() % 4000) / 100) / 1000;
    case 3:
        return (double)(int64_t)rnd();
    case 4:
        return i % 100 ? 5 : 1e12 + (double)i;
    case 5:
        return 42;
    case 6:
        return ldexp(1, (int)(i % 2000) - 1000);
    case 7:
        return (i % 2 ? 1 : -1) * (double)(rnd() % 5000) / 7;
    case 8:
        return (double)(256 + (i % 2));
    case 9:
        return nextafter(ldexp(1, (int)(i % 40)), i % 2 ? 0 : INFINITY);
    default:
        return i % 3 ? 0 : (double)(rnd() % 1000) / 1000;
    }
}
#define SHAPES 11

static void sketch_against_ranks(void)
{
    static const size_t lengths[] = {1, 2, 63, 64, 65, 66, 100, 1000, 50000};
    static const double quantiles[] = {0, 0.001, 0.01, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1};
    double *v = malloc(50000 * sizeof(*v)), worst = 0;

    for (unsigned k = 0; k < SHAPES; k++)
        for (unsigned l = 0; l < sizeof(lengths) / sizeof(*lengths); l++) {
            size_t n = lengths[l];
            bool integers = true;
            struct sketch *s = sketch_new();
            for (size_t i = 0; i < n; i++) {
                v[i] = shape(k, i);
                integers &= v[i] == floor(v[i]);
                CHECK_INT(sketch_add(s, v[i]), 0);
            }
            qsort(v, n, sizeof(*v), compare);
            for (unsigned q = 0; q < sizeof(quantiles) / sizeof(*quantiles); q++) {
                double rank = ceil(quantiles[q] * (double)n),
                       want = v[rank < 1 ? 0 : (size_t)rank - 1];
                double got = sketch_quantile(s, quantiles[q], integers);
                double off = want == 0 ? fabs(got) : fabs(got - want) / fabs(want);
                worst = off > worst ? off : worst;
                if (!CHECK(off <= 1.0 / 256) || !CHECK(got >= v[0] && got <= v[n - 1]))
                    printf("  shape %u, %zu values, q %g: %.17g, exact %.17g\n", k, n, quantiles[q],
                           got, want);
                if (n <= SKETCH_EXACT || (integers && fabs(want) < 256))
                    CHECK(got == want);
                if (integers)
                    CHECK(got == floor(got));
            }
            sketch_free(s);
        }
    printf("  worst relative error %.5f %%\n", worst * 100);
    free(v);
}

/* Merging parts in any order, adding in any order: the same bytes. */
static void sketch_merge_is_lossless(void)
{
    for (unsigned k = 0; k < SHAPES; k++)
        for (size_t n = 0; n <= 3000; n = n * 2 + 1) {
            struct sketch *all = sketch_new(), *merged = sketch_new(), *part[5];
            struct buf x = {0}, y = {0};
            double *v = malloc((n + 1) * sizeof(*v));
            for (unsigned p = 0; p < 5; p++)
                part[p] = sketch_new();
            for (size_t i = 0; i < n; i++)
                v[i] = shape(k, i);
            for (size_t i = 0; i < n; i++) {
                sketch_add(all, v[n - 1 - i]);
                sketch_add(part[rnd() % 5 * (rnd() % 2)], v[i]);
            }
            for (unsigned p = 0; p < 5; p++) {
                CHECK_INT(sketch_merge(merged, part[p]), 0);
                sketch_free(part[p]);
            }
            CHECK_INT(sketch_count(merged), n);
            sketch_encode(all, &x);
            sketch_encode(merged, &y);
            CHECK_MEM(x.data, x.len, y.data, y.len);
            struct sketch *back = NULL;
            CHECK_INT(sketch_decode(x.data, x.len, &back), x.len);
            buf_clear(&y);
            if (back) {
                sketch_encode(back, &y);
                CHECK_MEM(x.data, x.len, y.data, y.len);
                for (double q = 0; n > 0 && q <= 1; q += 0.125)
                    CHECK(sketch_quantile(back, q, false) == sketch_quantile(all, q, false));
            }
            sketch_free(back);
            sketch_free(all);
            sketch_free(merged);
            free(v);
            buf_done(&x);
            buf_done(&y);
        }
}

static void sketch_large_counts(void)
{
    struct sketch *s = sketch_new();
    struct buf x = {0};
    struct sketch *back;

    for (unsigned i = 0; i < 2000; i++)
        CHECK_INT(sketch_add_many(s, i * 10, 3000000000u), 0);
    CHECK_INT(sketch_add_many(s, 500, 6000000000u), 0);
    CHECK(sketch_count(s) == 2000ull * 3000000000u + 6000000000u);
    CHECK_NEAR(sketch_quantile(s, 0.5, true), 9990, 1.0 / 256);
    sketch_encode(s, &x);
    CHECK_INT(sketch_decode(x.data, x.len, &back), x.len);
    CHECK(sketch_quantile(back, 0.25, true) == sketch_quantile(s, 0.25, true));
    sketch_free(back);
    sketch_free(s);
    buf_done(&x);
}

static void sketch_bins_are_ordered(void)
{
    double before = -DBL_MAX;
    uint32_t bin = sketch_bin(before);

    for (int e = 1023; e >= -1074; e--)
        for (double f = 1.99; f >= 1; f -= 0.01) {
            double v = -ldexp(f, e);
            CHECK(v < before || sketch_bin(v) >= bin);
            bin = sketch_bin(v);
            before = v;
        }
    CHECK_INT(sketch_bin(0.0), sketch_bin(-0.0));
    CHECK(sketch_bin(1.0) > sketch_bin(0.0) && sketch_bin(-1.0) < sketch_bin(0.0));
    for (int64_t i = -255; i < 256; i++)
        CHECK(sketch_bin_value(sketch_bin((double)i), true) == (double)i);
}

static void sketch_damage(void)
{
    struct sketch *s = sketch_new(), *back;
    struct buf x = {0};

    for (unsigned i = 0; i < 500; i++)
        sketch_add(s, (double)(rnd() % 100000));
    sketch_encode(s, &x);
    for (size_t cut = 0; cut < x.len; cut++)
        CHECK_INT(sketch_decode(x.data, cut, &back), ERR_CORRUPT);
    for (unsigned i = 0; i < 20000; i++) {
        char *copy = malloc(x.len);
        memcpy(copy, x.data, x.len);
        copy[rnd() % (i % 2 ? x.len : 30)] = (char)rnd();
        if (sketch_decode(copy, x.len, &back) > 0) {
            sketch_quantile(back, 0.5, false);
            sketch_free(back);
        }
        free(copy);
    }
    sketch_free(s);
    buf_done(&x);
}

/* ---- histogram ------------------------------------------------------------------------------- */

static void histogram_bins(void)
{
    struct histogram h = {{0}};
    double lo, hi;

    histogram_add(&h, 0, false);
    histogram_add(&h, 1, false);
    histogram_add(&h, 2, false);
    histogram_add(&h, 3, false);
    histogram_add(&h, -5, false);
    histogram_add(&h, INT64_MAX, false);
    histogram_add(&h, 0, true);
    histogram_add(&h, 999, true);
    histogram_add(&h, 1500, true);
    histogram_add(&h, 4000, true);
    histogram_merge(&h, &h);
    CHECK_INT(h.count[0], 4);
    CHECK_INT(h.count[1], 4);
    CHECK_INT(h.count[2], 4);
    CHECK_INT(h.count[3], 2);
    CHECK_INT(h.count[63], 2);
    CHECK_INT(h.count[65], 2);
    histogram_range(0, &lo, &hi);
    CHECK(lo == 0 && hi == 0);
    histogram_range(3, &lo, &hi);
    CHECK(lo == 4 && hi == 8);
    histogram_range(65, &lo, &hi);
    CHECK(lo == 0 && hi == 1);
}

/* Many at once are what they are one by one: few, spread widely, all zero, negative, in both units,
 * added to what is there. */
static void sketch_all(void)
{
    static const int64_t limits[] = {1, 2, 300, 5000, 1000000, 1000000000000, INT64_MAX};
    int64_t v[3000];

    for (unsigned round = 0; round < 200; round++) {
        struct sketch *one = sketch_new(), *all = sketch_new();
        struct histogram h = {{0}}, g = {{0}};
        struct buf a = {0}, b = {0};
        bool nano = round & 1;
        for (unsigned part = 0; part < 3; part++) {
            size_t n = round % 10 < 3 ? rnd() % 40 : rnd() % 3000;
            int64_t limit = limits[rnd() % 7], below = round % 5 == 4 ? limit / 2 : 0;
            for (size_t i = 0; i < n; i++) {
                v[i] = (int64_t)(rnd() % (uint64_t)limit) - below;
                sketch_add(one, nano ? (double)v[i] / 1000.0 : (double)v[i]);
                histogram_add(&h, v[i], nano);
            }
            CHECK_INT(sketch_add_all(all, v, n, nano), 0);
            histogram_add_all(&g, v, n, nano);
        }
        sketch_encode(one, &a);
        sketch_encode(all, &b);
        CHECK_MEM(b.data, b.len, a.data, a.len);
        CHECK(memcmp(&h, &g, sizeof(h)) == 0);
        buf_done(&a);
        buf_done(&b);
        sketch_free(one);
        sketch_free(all);
    }
}

static const struct check_test tests[] = {
    {"moments_small", moments_small},
    {"moments_no_cancelling", moments_no_cancelling},
    {"moments_extremes", moments_extremes},
    {"moments_units", moments_units},
    {"moments_doubles", moments_doubles},
    {"sketch_against_ranks", sketch_against_ranks},
    {"sketch_merge_is_lossless", sketch_merge_is_lossless},
    {"sketch_large_counts", sketch_large_counts},
    {"sketch_bins_are_ordered", sketch_bins_are_ordered},
    {"sketch_damage", sketch_damage},
    {"histogram_bins", histogram_bins},
    {"sketch_all", sketch_all},
    {NULL, NULL},
};
CHECK_MAIN(tests)
