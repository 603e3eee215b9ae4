/* expand.h - definitions, repetitions and expressions in the lines of a case: see case.h. */
#ifndef DFTRACERD_TESTS_ANSWERS_EXPAND_H
#define DFTRACERD_TESTS_ANSWERS_EXPAND_H

#include "dftracerd/base.h"

enum { EXPAND_PARAMETERS = 8 };

struct expand_define {
    const char *name, *body;
    const char *parameters[EXPAND_PARAMETERS];
    size_t count;
    struct expand_define *next;
};

/* Definitions, the last first, and where the line is, for messages. */
struct expand {
    struct arena *arena;
    struct expand_define *defines;
    const char *path;
    unsigned line;
};

/* Prints the message with the place, and exits. */
void expand_fail(const struct expand *x, const char *message, const char *at)
    __attribute__((noreturn));
/* "name(a, b) body" or "name body" */
void expand_add(struct expand *x, const char *definition);
/* The text with `value` for each $name: in the arena. */
char *expand_name(struct expand *x, const char *text, const char *name, const char *value);
/* The text with its ${expressions} evaluated: in the arena. */
char *expand_text(struct expand *x, const char *text);
/* Appends the lines that this one stands for. */
void expand_line(struct expand *x, const char *line, struct buf *out);

#endif
