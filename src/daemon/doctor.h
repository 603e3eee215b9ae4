/* doctor.h - --doctor: whether this user can start a daemon with these options on this machine.
 * Prints a line a check (`ok`, `warn` or `FAIL` and a text), and below all but `ok` what to do
 * about it. Creates nothing. */
#ifndef DFTRACERD_DAEMON_DOCTOR_H
#define DFTRACERD_DAEMON_DOCTOR_H

#include "daemon/options.h"

struct doctor {
    unsigned failed;      /* checks */
    uint64_t trace_bytes; /* on the disk, in all directories */
};

/* Limits of the process, and each directory of traces; those that can be entered stay in the
 * options. Whether there are any. */
bool doctor_examine(struct doctor *d, struct options *o);
/* Of the configuration, with the error that the start has reported; NULL: there is none. */
void doctor_configuration(struct doctor *d, const char *error);
/* Where the index and the socket would be. */
void doctor_places(struct doctor *d, const char *index_path);

#endif
