/* view_top_survey.h - the best value that each place may have, and the places in that order.
 *
 * Used by:   view_top_find.c, which scans the best places first.
 * Threads:   as a scan: the query's thread.
 * Memory:    64 bytes a place, charged until top_survey_done.
 */
#ifndef DFTRACERD_ANSWER_LINES_VIEW_TOP_SURVEY_H
#define DFTRACERD_ANSWER_LINES_VIEW_TOP_SURVEY_H

#include "answer/lines/view_top_bar.h"

struct top_place {
    struct value best; /* no row comes before it */
    uint32_t position; /* in scan_places */
    bool used, known;  /* known: `best` is */
};
struct top_survey {
    VEC(struct top_place) places;
};
/* Places that may have rows of the query: first those without a known best value, then by value. */
int top_survey(const struct top_order *o, struct top_survey *ret);
void top_survey_done(struct top_survey *s);

#endif
