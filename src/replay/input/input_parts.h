/* input_parts.h - declarations shared by reading lines and reading values. */
#ifndef DFTRACERD_REPLAY_INPUT_INPUT_PARTS_H
#define DFTRACERD_REPLAY_INPUT_INPUT_PARTS_H

#include "replay/input/input.h"

#include "dftracerd/trace.h"
#include "dftracerd/vec.h"

struct input {
    int fd;
    char *data;
    size_t len, cap;
    size_t from, begun; /* [from, begun) is being scanned, [begun, len) is the start of a line */
    uint64_t invalid;
    bool at_end, scanning, skipping;
    bool cut; /* the last line is an error of the answer */
    enum trace_unit unit;
    struct trace_scanner *scanner;
    uint8_t slots[TRACE_FIELDS_MAX];
    struct intern *hashes;
    VEC(char *) names; /* names by the number of their hash */
    void (*before_wait)(void *arg);
    void *before_wait_arg;
    const atomic_bool *stopped;
};

/* Converts an object to an event. Returns 1, INPUT_AGAIN or -ENOMEM. */
int input_read_event(struct input *in, const struct trace_event *t, struct event *e);

#endif
