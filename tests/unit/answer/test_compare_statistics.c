/* module: answer */
/* Tests of two samples against published values, and against values that follow from definitions.
 */
#include <math.h>

#include "answer/compare/statistics.h"
#include "check.h"
#include "dftracerd/compare.h"

/* Tables of Student's distribution (two-sided 5 % points), and its closed forms: with one degree of
 * freedom it is Cauchy's, with two algebraic, with very many the normal one. */
static void student(void)
{
    static const struct {
        double df, t;
    } points[] = {{1, 12.706204736},  {2, 4.3026527297},  {5, 2.5705818366},
                  {10, 2.2281388520}, {30, 2.0422724563}, {120, 1.9799304051}};

    for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++)
        CHECK_NEAR(student_p(points[i].t, points[i].df), 0.05, 1e-8);
    CHECK_NEAR(student_p(0.5, 1), 1 - 2 * atan(0.5) / M_PI, 1e-13);
    CHECK_NEAR(student_p(-250, 1), 2 * atan(1 / 250.0) / M_PI, 1e-13);
    CHECK_NEAR(student_p(3, 2), 1 - 3 / sqrt(11), 1e-13);
    CHECK_NEAR(student_p(1.96, 1e9), erfc(1.96 / M_SQRT2), 1e-7);
    CHECK_NEAR(student_p(5, 1e7), erfc(5 / M_SQRT2), 1e-4);
    CHECK(student_p(0, 7) == 1);
    CHECK(student_p(1e200, 1e6) == 0);
    CHECK(isnan(student_p(NAN, 3)));
}

static struct sample_summary summary(const double *v, size_t n)
{
    struct sample_summary s = {.count = n};

    for (size_t i = 0; i < n; i++)
        s.mean += v[i] / (double)n;
    for (size_t i = 0; i < n && n > 1; i++)
        s.variance += (v[i] - s.mean) * (v[i] - s.mean) / (double)(n - 1);
    return s;
}

/* R: t.test(extra ~ group, sleep): t = -1.8608 (group 1 first), df = 17.776, p-value = 0.07939 */
static const double sleep1[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0},
                    sleep2[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

static void welch_of_sleep(void)
{
    struct sample_summary a = summary(sleep1, 10), b = summary(sleep2, 10);
    struct welch w;

    welch_test(&a, &b, &w);
    CHECK_NEAR(w.t, 1.8608, 1e-4);
    CHECK_NEAR(w.df, 17.776, 1e-4);
    CHECK_NEAR(w.p, 0.07939, 1e-4);
    b.count = 1;
    welch_test(&a, &b, &w);
    CHECK(isnan(w.t) && isnan(w.df) && isnan(w.p));
    a.variance = b.variance = 0;
    b.count = 10;
    welch_test(&a, &b, &w);
    CHECK(isnan(w.p));
}

/* The bins of whole numbers as they are: sketch_bin keeps the order. */
static size_t bins_of(const double *v, size_t n, struct sample_bin *ret)
{
    size_t count = 0;

    for (double at = -100; at < 100; at += 0.1) {
        uint64_t here = 0;
        for (size_t i = 0; i < n; i++)
            here += fabs(v[i] - at) < 0.05;
        if (here)
            ret[count++] = (struct sample_bin){sketch_bin(at), here};
    }
    return count;
}

static struct mann_whitney ranks(const double *a, size_t na, const double *b, size_t nb)
{
    struct sample_bin x[32], y[32];
    struct mann_whitney m;
    size_t xn = bins_of(a, na, x), yn = bins_of(b, nb, y);

    mann_whitney_test(x, xn, y, yn, &m);
    return m;
}

/* Computed by hand: z = (2 - 1/2) / sqrt(4 * 5 / 12). R: wilcox.test(extra ~ group, sleep, exact =
 * FALSE): W = 25.5, p = 0.06933 */
static void mann_whitney(void)
{
    struct mann_whitney m = ranks((double[]){1, 2}, 2, (double[]){3, 4}, 2);

    CHECK(m.u == 4 && m.cliffs_delta == 1);
    CHECK_NEAR(m.p, 0.2452781168, 1e-8);
    m = ranks(sleep1, 10, sleep2, 10);
    CHECK_NEAR(m.u, 74.5, 1e-12);
    CHECK_NEAR(m.p, 0.06933, 1e-4);
    CHECK_NEAR(m.cliffs_delta, 0.49, 1e-12);
    m = ranks((double[]){5, 5}, 2, (double[]){5}, 1);
    CHECK(m.p == 1 && m.cliffs_delta == 0);
    m = ranks(NULL, 0, sleep2, 10);
    CHECK(isnan(m.u) && isnan(m.p) && isnan(m.cliffs_delta));
}

/* 10^12 values each: nothing overflows. */
static void very_many(void)
{
    struct sample_bin a[] = {{5, 1000000000000}}, b[] = {{6, 1000000000000}};
    struct mann_whitney m;

    mann_whitney_test(a, 1, b, 1, &m);
    CHECK(m.u == 1e24 && m.p == 0 && m.cliffs_delta == 1);
    mann_whitney_test(a, 1, a, 1, &m);
    CHECK(m.u == 5e23 && m.p == 1 && m.cliffs_delta == 0);
}

/* The cases of the old comparator's tests; m2 / n is the population variance. */
static void cohen(void)
{
    struct sample_summary a = {10, 50, 100 / 9.0}, b = a, one = {1, 9, 0};

    CHECK(cohens_d(&a, &b) == 0);
    a = (struct sample_summary){10, 10, 10 / 9.0};
    b = (struct sample_summary){10, 100, 10 / 9.0};
    CHECK_NEAR(cohens_d(&a, &b), 90, 1e-12);
    CHECK(cohens_d(&a, &one) == 0 && cohens_d(&one, &a) == 0);
    a.variance = b.variance = 0;
    CHECK(cohens_d(&a, &b) == 0);
    CHECK_INT(cohens_class(0.1), COMPARE_NEGLIGIBLE);
    CHECK_INT(cohens_class(0.2), COMPARE_NEGLIGIBLE);
    CHECK_INT(cohens_class(0.3), COMPARE_SMALL);
    CHECK_INT(cohens_class(0.6), COMPARE_MEDIUM);
    CHECK_INT(cohens_class(1.0), COMPARE_LARGE);
    CHECK_INT(cohens_class(-0.9), COMPARE_LARGE);
    CHECK_STR(compare_class_names[COMPARE_MEDIUM], "MEDIUM");
}

/* R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") = 0.03 0.06 0.06 0.02 */
static void holm(void)
{
    double p[] = {0.01, 0.04, NAN, 0.03, 0.005}, *at[] = {&p[0], &p[1], &p[2], &p[3], &p[4]};

    holm_correct(at, 5);
    CHECK_NEAR(p[0], 0.03, 1e-12);
    CHECK_NEAR(p[1], 0.06, 1e-12);
    CHECK(isnan(p[2]));
    CHECK_NEAR(p[3], 0.06, 1e-12);
    CHECK_NEAR(p[4], 0.02, 1e-12);
}

static const struct check_test tests[] = {
    {"student", student},
    {"welch_of_sleep", welch_of_sleep},
    {"mann_whitney", mann_whitney},
    {"very_many", very_many},
    {"cohen", cohen},
    {"holm", holm},
    {NULL, NULL},
};
CHECK_MAIN(tests)
