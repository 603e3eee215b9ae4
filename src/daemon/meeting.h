/* meeting.h - where clients of the same user find this daemon by themselves: a directory of
 * the user's with, for each daemon, NAME.sock to ask and NAME.roots, the directories that it
 * serves. */
#ifndef DFTRACERD_DAEMON_MEETING_H
#define DFTRACERD_DAEMON_MEETING_H

#include "daemon/roots.h"

struct meeting {
    char *socket, *list; /* NAME.sock, NAME.roots; NULL where there is no such place */
    bool linked;         /* NAME.sock is a symlink to the socket of --unix */
    bool listed;         /* NAME.roots is ours */
};
/* Chooses the place: $DFTRACERD_RUNTIME_DIR, else $XDG_RUNTIME_DIR/dftracerd, else
 * /tmp/dftracerd-<uid>; made 0700 if it is new, and refused when it is a symlink, another's, or
 * others may write there. NAME follows from the place of the index, which no two daemons share.
 * -EPERM, -ENOTDIR, -ENAMETOOLONG ... with the reason. */
int meeting_choose(struct meeting *m, const char *index_path, struct err *err);
/* NAME in the same directory (*new*); NULL: no such place, no memory, or the path would be too long
 * for a socket. */
char *meeting_path(const struct meeting *m, const char *name);
/* Tells what is served, and removes what killed daemons left; the socket must be listening. One
 * root a line, with \\, \" and \n as in a file of curl's options, which is what the client
 * compares. `unix_path` is where it listens. 0 or a negative errno. */
int meeting_open(struct meeting *m, const char *unix_path, const struct roots *roots);
/* Takes it back, before the socket goes. */
void meeting_close(struct meeting *m);
/* NULL-safe parts. */
void meeting_done(struct meeting *m);

#endif
