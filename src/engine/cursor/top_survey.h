/* top_survey.h - the first value that each place may have, and the places in that order.
 *
 * Used by:   top_find.c, which scans the best places first.
 * Threads:   as a scan: the query's thread.
 * Memory:    64 bytes a place, charged until top_survey_done.
 */
#ifndef DFTRACERD_ENGINE_CURSOR_TOP_SURVEY_H
#define DFTRACERD_ENGINE_CURSOR_TOP_SURVEY_H

#include "engine/cursor/top_boundary.h"

struct top_place {
    struct value best; /* no row comes before it */
    uint32_t position; /* in scan_places */
    bool used, known;  /* used: not excluded by the filter; known: `best` is */
};
struct top_survey {
    VEC(struct top_place) places;
};
/* Finds the places that may have rows of the query: those without a known value first, then by
 * value. */
int top_survey(const struct top_order *o, struct top_survey *ret);
void top_survey_done(struct top_survey *s);

#endif
