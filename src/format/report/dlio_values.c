/* dlio_values.c - what the forms of /dlio-config share: numbers, types and keys of DLIO. */
#include "format/report/dlio.h"

#include <stdio.h>

double dlio_rounded(double value)
{
    char text[32];
    double rounded = value;
    int len = snprintf(text, sizeof(text), "%.9g", value);

    return num_parse_double((struct text){text, (size_t)len}, &rounded) == 0 ? rounded : value;
}

const char *dlio_type(const struct dlio_model *m)
{
    static const char *const names[] = {
        [DLIO_NORMAL] = "normal",    [DLIO_LOGNORMAL] = "lognormal",
        [DLIO_GAMMA] = "gamma",      [DLIO_EXPONENTIAL] = "exponential",
        [DLIO_WEIBULL] = "weibull",  [DLIO_MIXTURE2] = "mixture",
        [DLIO_MIXTURE3] = "mixture",
    };

    return names[m->family];
}

unsigned dlio_parameters(const struct dlio_model *m, struct dlio_parameter ret[2])
{
    static const char *const keys[DLIO_FAMILIES][2] = {
        [DLIO_NORMAL] = {"mean", "stdev"},   [DLIO_LOGNORMAL] = {"mean", "sigma"},
        [DLIO_GAMMA] = {"shape", "scale"},   [DLIO_EXPONENTIAL] = {NULL, "scale"},
        [DLIO_WEIBULL] = {"shape", "scale"},
    };
    const double values[2] = {m->first, m->second};
    unsigned count = 0;

    for (int i = 0; i < 2; i++)
        if (keys[m->family][i])
            ret[count++] = (struct dlio_parameter){keys[m->family][i], dlio_rounded(values[i])};
    return count;
}

bool dlio_is_drawn(const struct dlio_model *m)
{
    return DLIO_DRAWN >> m->family & 1;
}

const struct dlio_candidate *dlio_drawn(const struct dlio_fit *fit)
{
    const struct dlio_candidate *best = NULL;

    for (int i = 0; i < DLIO_FAMILIES && !dlio_is_drawn(&fit->best); i++) {
        const struct dlio_candidate *c = &fit->candidates[i];
        if (c->valid && dlio_is_drawn(&c->model) && (!best || c->bic < best->bic))
            best = c;
    }
    return best;
}
