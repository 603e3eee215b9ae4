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

/* Texts are borrowed until the next call; a missing one is empty. */
struct event {
    struct text name, cat, host, mode;
    struct text file, file2; /* paths; the second one of rename, link, symlink */
    int64_t pid, tid, ts_ns, dur_ns, ret, count, size, offset, fd, flags, length, whence;
    unsigned has;
    bool is_metadata; /* a name record was added to the names already */
    bool is_counter;  /* also for aggregated events */
};

struct input;
int input_open(int fd, struct input **ret); /* *new*; -ENOMEM */
void input_close(struct input *in);
/* Sets a function that is called before waiting for input; the input ends once `stopped` is set. */
void input_set_wait(struct input *in, void (*before_wait)(void *arg), void *arg,
                    const atomic_bool *stopped);
/* Returns 1 and an event; 0 at the end; INPUT_AGAIN for the line between the first and the second
 * time; -errno; -ENOMEM; ERR_CORRUPT with err for the error line at the end of an answer. */
enum { INPUT_AGAIN = 2 };
int input_next(struct input *in, struct event *ret, struct err *err);
/* Seeks to the beginning of a regular file; returns -ESPIPE if that is not possible. The names are
 * kept. */
int input_rewind(struct input *in);
uint64_t input_invalid(const struct input *in); /* number of lines that are not objects */

#endif
