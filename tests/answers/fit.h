/* fit.h - whether an answer is the one that a case expects. */
#ifndef DFTRACERD_TESTS_ANSWERS_FIT_H
#define DFTRACERD_TESTS_ANSWERS_FIT_H

#include "answer.h"

/* Appends how it differs, a line each, and false. */
bool fit_answer(const struct case_step *step, const struct answer *a, struct buf *why);
/* Whether two answers are the same but for members of a run: its time, the chunks it read. */
bool fit_same(const struct answer *want, const struct answer *got, struct buf *why);

#endif
