/* dlio.h - what the forms of /dlio-config have in common. Private to format_dlio*.c. */
#ifndef DFTRACERD_FORMAT_REPORT_DLIO_H
#define DFTRACERD_FORMAT_REPORT_DLIO_H

#include "dftracerd/dlio_report.h"
#include "dftracerd/format.h"

/* To 9 significant digits: what the answers contain, in all forms. */
double dlio_rounded(double value);
/* As DLIO has it in its key `type`. */
const char *dlio_type(const struct dlio_model *m);
/* Of a family that is no mixture, with the keys of DLIO; how many. */
struct dlio_parameter {
    const char *key;
    double value;
};
unsigned dlio_parameters(const struct dlio_model *m, struct dlio_parameter ret[2]);
/* DLIO 2.0.1 draws normal, gamma and exponential, and nothing for other types. */
bool dlio_is_drawn(const struct dlio_model *m);
/* The best candidate that DLIO draws, where the best of all is none; else NULL. */
const struct dlio_candidate *dlio_drawn(const struct dlio_fit *fit);

void dlio_json(const struct dlio_report *r, bool pretty, struct buf *out);
void dlio_text(const struct dlio_report *r, struct buf *out);

#endif
