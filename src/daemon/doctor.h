/* doctor.h - --doctor: checks whether this user can start a daemon with these options on this
 * machine. Prints one line for each check (`ok`, `warn` or `FAIL`, and a text), and unless it is
 * `ok` a second line with a remedy. Creates nothing. */
#ifndef DFTRACERD_DAEMON_DOCTOR_H
#define DFTRACERD_DAEMON_DOCTOR_H

#include "daemon/options.h"

struct doctor {
    unsigned failed;      /* number of checks */
    uint64_t trace_bytes; /* on disk, in all directories */
};

/* Checks the limits of the process and each directory of traces. Removes directories that cannot be
 * entered from the options; returns whether any are left. */
bool doctor_examine(struct doctor *d, struct options *o);
/* Reports whether the configuration is valid. `error` is why the daemon could not start, or
 * NULL. */
void doctor_configuration(struct doctor *d, const char *error);
/* Checks the directories of the index and of the socket. */
void doctor_places(struct doctor *d, const char *index_path);

#endif
