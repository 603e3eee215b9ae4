/* roots.h - the directories that are served, and the place of their index. */
#ifndef DFTRACERD_DAEMON_ROOTS_H
#define DFTRACERD_DAEMON_ROOTS_H

#include "daemon/options.h"

#include <sys/types.h>

struct roots {
    char *labels[OPTIONS_LIST_MAX]; /* "" where there is one root */
    char *paths[OPTIONS_LIST_MAX];  /* absolute, symlinks resolved */
    size_t count;
};
/* -ENOENT, -ENOTDIR, -EEXIST (equal labels, or one root inside another) with the reason. */
int roots_open(struct roots *r, const struct options *o, struct err *err);
void roots_done(struct roots *r);
/* The DIR of [LABEL=]DIR (*borrowed*); a directory whose own name holds `=` is meant where it
 * exists as written. */
const char *roots_path_of(const char *spec);
/* Whether an absolute path is the directory or below it. */
bool roots_inside(const char *path, const char *dir);

/* The directory for the index (*new*), made 0700 if `make`, else perhaps not there: --index-dir
 * itself, else the first local and writable one of $DFTRACERD_INDEX_DIR, $CACHE_DIRECTORY,
 * $XDG_CACHE_HOME, $TMPDIR, /var/tmp, /tmp, as dftracerd-<uid>/<hash of the roots>. With
 * --index-base, it is <hash of the roots> there. */
int place_choose(const struct roots *r, const struct options *o, bool make, char **ret,
                 struct err *err);
/* The directory for `output` (*new*; NULL where none is named): writable, and neither in a root or
 * the index nor around one. -errno with the reason. */
int place_output(const struct roots *r, const char *index_path, const char *dir, char **ret,
                 struct err *err);
/* Makes a directory of ours: 0700 if new. Refused (-EPERM, -ENOTDIR with the reason) when it is a
 * symlink, belongs to another user or has one of these mode bits. */
int place_make_own(const char *path, mode_t refused, struct err *err);

#endif
