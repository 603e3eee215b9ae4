/* rendezvous.h - the runtime directory, where clients of the same user find this daemon: for each
 * daemon it has the socket NAME.sock and the file NAME.roots, a list of the directories that it
 * serves. */
#ifndef DFTRACERD_DAEMON_RENDEZVOUS_H
#define DFTRACERD_DAEMON_RENDEZVOUS_H

#include "daemon/roots.h"

#include <glob.h>
#include <limits.h>

struct rendezvous {
    char *socket, *list; /* NAME.sock, NAME.roots; NULL if there is no runtime directory */
    bool linked;         /* NAME.sock is a symlink to the socket of --unix */
    bool listed;         /* NAME.roots was written by this daemon */
};
/* The runtime directories in which clients look for daemons; they may not exist:
 * $DFTRACERD_RUNTIME_DIR alone, or $XDG_RUNTIME_DIR/dftracerd (/run/user/<uid>/dftracerd if it is
 * not set) and /tmp/dftracerd-<uid>. The client has the same list: find_runtime_dirs in
 * src/client/parts/30-daemon.sh. */
struct runtime_dirs {
    char paths[2][PATH_MAX + 1]; /* one that is cut off is still too long for the kernel */
    size_t count;
};
void rendezvous_dirs(struct runtime_dirs *ret);
/* Chooses the first of these directories that can be used; the first of two only if
 * $XDG_RUNTIME_DIR belongs to the user. It is created with mode 0700, and refused if it is a
 * symlink, belongs to another user, or is writable by others. NAME follows from the directory of
 * the index, which no two daemons share. Returns 0, or -EPERM, -ENOTDIR, -ENAMETOOLONG ... with the
 * reason. */
int rendezvous_choose(struct rendezvous *m, const char *index_path, struct err *err);
/* Fills in the address of a socket; returns false if the path is too long for it. */
struct sockaddr_un;
bool rendezvous_address(const char *path, struct sockaddr_un *ret);
/* Returns the path of NAME in the same directory (*new*); NULL without a directory or memory, or if
 * the path would be too long for a socket. */
char *rendezvous_path(const struct rendezvous *m, const char *name);
/* Finds the files with this ending in the same directory, which must exist. Returns what glob does;
 * if that is 0, globfree frees the result. */
int rendezvous_glob(const struct rendezvous *m, const char *ending, glob_t *ret);
/* Announces the served directories, and removes files of killed daemons; the socket must be
 * listening. NAME.roots has one root per line, with \\, \" and \n as in a file of curl's options:
 * the client compares these lines. `unix_path` is the socket of the daemon. Returns 0 or a negative
 * errno. */
int rendezvous_open(struct rendezvous *m, const char *unix_path, const struct roots *roots);
/* Removes the announcement, before the socket is closed. */
void rendezvous_close(struct rendezvous *m);
/* Frees the members, which may be NULL. */
void rendezvous_done(struct rendezvous *m);

#endif
