/* roots.h - the served directories, and the directory of their index. */
#ifndef DFTRACERD_DAEMON_ROOTS_H
#define DFTRACERD_DAEMON_ROOTS_H

#include "daemon/options.h"

#include <sys/types.h>

struct roots {
    char *labels[OPTIONS_LIST_MAX]; /* "" if there is one root */
    char *paths[OPTIONS_LIST_MAX];  /* absolute, symlinks resolved */
    size_t count;
};
/* Returns -ENOENT, -ENOTDIR or -EEXIST (equal labels, or one root inside another) with the
 * reason. */
int roots_open(struct roots *r, const struct options *o, struct err *err);
void roots_done(struct roots *r);
/* Returns the DIR of [LABEL=]DIR (*borrowed*). An existing directory whose name contains `=` has no
 * label. */
const char *roots_path_of(const char *spec);
/* Returns whether an absolute path is the directory or below it. */
bool roots_inside(const char *path, const char *dir);

/* Chooses the directory for the index (*new*); creates it with mode 0700 if `make`, otherwise it
 * may not exist. It is --index-dir, else the first local and writable one of $DFTRACERD_INDEX_DIR,
 * $CACHE_DIRECTORY, $XDG_CACHE_HOME, $TMPDIR, /var/tmp, /tmp, as dftracerd-<uid>/<hash of the
 * roots>. With --index-base, it is <hash of the roots> there. */
int place_choose(const struct roots *r, const struct options *o, bool make, char **ret,
                 struct err *err);
/* Checks the directory for output (*ret: *new*; NULL if `dir` is): it must be writable, and neither
 * inside nor around a root or the index. Returns -errno with the reason. */
int place_output(const struct roots *r, const char *index_path, const char *dir, char **ret,
                 struct err *err);
/* Makes sure that a directory exists and belongs to the user; creates it with mode 0700. Returns
 * -EPERM or -ENOTDIR with the reason if it is a symlink, belongs to another user, or has one of the
 * refused mode bits. `option`: the option that chose it, such as "index-dir"; NULL for the runtime
 * directory. */
int place_make_own(const char *path, mode_t refused, const char *option, struct err *err);
/* The same check of an existing directory. `err` may be NULL. */
int place_check_own(const char *path, mode_t refused, const char *option, struct err *err);

#endif
