/* gen.h - gen-fake-trace: the generator of src/rewrite as a program that writes files. */
#ifndef GEN_FAKE_TRACE_H
#define GEN_FAKE_TRACE_H

#include "dftracerd/rewrite.h"

struct options {
    struct generate_options g;
    const char *dir, *single;
    bool verify;
    uint64_t checkpoint_size; /* bytes of text a chunk, for --verify */
};

/* Prints to standard error and ends with 2. */
void die(const char *message, ...) __attribute__((noreturn, format(printf, 1, 2)));
void options_parse(struct options *o, int argc, char **argv);

/* Indexes the files rank_<r>.pfw.gz of o->dir and prints what an index makes of the plan's questions. */
void verify(const struct options *o, const struct generate_plan *plan);

#endif
