/* input.h - lines of events from a descriptor: .pfw lines, or rows of /view with `select`. */
#ifndef DFTRACERD_REPLAY_INPUT_INPUT_H
#define DFTRACERD_REPLAY_INPUT_INPUT_H

#include "dftracerd/base.h"

enum event_has {
    HAS_TS = 1,
    HAS_DUR = 2,
    HAS_RET = 4,
    HAS_COUNT = 8,
    HAS_SIZE = 16,
    HAS_OFFSET = 32,
    HAS_FD = 64,
    HAS_FLAGS = 128,
    HAS_LENGTH = 256,
    HAS_WHENCE = 512,
    HAS_PID = 1024,
    HAS_TID = 2048
};

/* Texts are borrowed until the next call; one that is missing is empty. */
struct event {
    struct text name, cat, host, mode;
    struct text file, file2; /* paths; the second one of rename, link, symlink */
    int64_t pid, tid, ts_ns, dur_ns, ret, count, size, offset, fd, flags, length, whence;
    unsigned has;
    bool is_metadata; /* a name record was added to the names already */
    bool is_counter;  /* or aggregated */
};

struct input;
int input_open(int fd, struct input **ret); /* *new*; -ENOMEM */
void input_close(struct input *in);
/* Before the input is waited for, `before_wait` is called; once `stopped` is set, it ends. */
void input_on_wait(struct input *in, void (*before_wait)(void *arg), void *arg,
                   const atomic_bool *stopped);
/* 1 and an event; 0 at the end; INPUT_AGAIN: the line between the first and the second time;
 * -errno, -ENOMEM; ERR_CORRUPT with err: the line of an error that an answer ends with. */
enum { INPUT_AGAIN = 2 };
int input_next(struct input *in, struct event *ret, struct err *err);
/* Back to the beginning of a regular file; -ESPIPE where that is not possible. The names stay. */
int input_rewind(struct input *in);
uint64_t input_invalid(const struct input *in); /* lines that are no objects */

#endif
