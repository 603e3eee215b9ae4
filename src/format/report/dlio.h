/* dlio.h - formats of /dlio-config. Private to this folder. */
#ifndef DFTRACERD_FORMAT_REPORT_DLIO_H
#define DFTRACERD_FORMAT_REPORT_DLIO_H

#include "dftracerd/dlio_report.h"
#include "dftracerd/format.h"

void dlio_text(const struct dlio_report *r, struct buf *out);

#endif
