/* module: dlio */
/* Fits of random samples of each family against those of SciPy, which dlio_scipy.py runs: 200
 * samples of each in `make check-all`. Finds an estimator that converges elsewhere, or a wrong
 * log-likelihood, for data that no other test has. */
#include <math.h>
#include <sys/wait.h>

#include "dftracerd/dlio.h"
#include "check.h"

enum { SAMPLES_MOST = 400 };

static double number(FILE *in)
{
    double value = NAN;

    CHECK(fscanf(in, "%la", &value) == 1);
    return value;
}

static int integer(FILE *in)
{
    int value = -1;

    CHECK(fscanf(in, "%d", &value) == 1);
    return value;
}

static bool is_near(double got, double want)
{
    return fabs(got - want) <= 1e-6 * fmax(fabs(want), 1e-9);
}

/* A sum of n logarithms is near relative to n. */
static bool is_near_sum(double got, double want, size_t n)
{
    return fabs(got - want) <= 1e-6 * fmax(fabs(want), (double)n);
}

static void single(FILE *in, const struct dlio_candidate *c, const char *name, int family, size_t n)
{
    bool valid = integer(in) == 1;
    double first = number(in), second = number(in), likelihood = number(in), bic = number(in),
           ks = number(in);

    if (!CHECK(c->valid == valid) || !valid)
        return;
    if (!is_near(c->model.first, first) || !is_near(c->model.second, second) ||
        !is_near_sum(c->log_likelihood, likelihood, n) || !is_near_sum(c->bic, bic, n) ||
        fabs(c->ks - ks) > 1e-6)
        check_fail(__FILE__, __LINE__,
                   "%s of %zu, family %d: %.12g %.12g log %.12g bic %.12g ks %.12g, not %.12g "
                   "%.12g %.12g %.12g %.12g",
                   name, n, family, c->model.first, c->model.second, c->log_likelihood, c->bic,
                   c->ks, first, second, likelihood, bic, ks);
}

static void mixture(FILE *in, const struct dlio_candidate *c, const char *name, unsigned parts,
                    size_t n)
{
    bool valid = integer(in) == 1;

    if (!CHECK(c->valid == valid) || !valid)
        return;
    for (unsigned k = 0; k < parts; k++) {
        const struct dlio_part *p = &c->model.parts[k];
        double weight = number(in), mean = number(in), stdev = number(in);

        if (!is_near(p->weight, weight) || !is_near(p->mean, mean) || !is_near(p->stdev, stdev))
            check_fail(__FILE__, __LINE__,
                       "%s of %zu, part %u of %u: %.12g %.12g %.12g, not %.12g %.12g %.12g", name,
                       n, k, parts, p->weight, p->mean, p->stdev, weight, mean, stdev);
    }
    CHECK(is_near_sum(c->log_likelihood, number(in), n));
}

static bool sample(FILE *in)
{
    static double x[SAMPLES_MOST];
    char name[16];
    struct dlio_fit fit;
    size_t n;

    if (fscanf(in, "%15s %zu", name, &n) != 2)
        return false;
    if (!CHECK(n <= SAMPLES_MOST))
        return false;
    for (size_t i = 0; i < n; i++)
        x[i] = number(in);
    int choice = integer(in);
    CHECK_INT(dlio_fit(x, n, DLIO_ALL, NULL, &fit), 0);
    for (int i = 0; i < DLIO_MIXTURE2; i++)
        single(in, &fit.candidates[i], name, i, n);
    mixture(in, &fit.candidates[DLIO_MIXTURE2], name, 2, n);
    mixture(in, &fit.candidates[DLIO_MIXTURE3], name, 3, n);
    if (choice >= 0)
        CHECK_INT((int)fit.best.family, choice);
    return true;
}

/* Debian's SciPy is for Debian's Python, which may not be the first one in $PATH. */
static void as_scipy(void)
{
    char command[128];
    size_t samples = 0;
    unsigned count = check_count(200, 20);

    snprintf(command, sizeof(command), "/usr/bin/python3 tests/unit/dlio_scipy.py %u", count);
    FILE *in = popen(command, "r");
    CHECK_STOP(in != NULL);
    while (sample(in))
        samples++;
    int status = pclose(in);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)) {
        check_skip("SciPy (python3-scipy) is not installed");
        return;
    }
    CHECK_INT(status, 0);
    CHECK_INT((int)samples, (int)(7 * count));
}

static const struct check_test tests[] = {{"as_scipy", as_scipy, true}, {NULL, NULL}};
CHECK_MAIN(tests)
