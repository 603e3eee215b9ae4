/* vocabulary.h - the names of calls in traces, and how each is replayed. */
#ifndef DFTRACERD_REPLAY_INPUT_VOCABULARY_H
#define DFTRACERD_REPLAY_INPUT_VOCABULARY_H

#include "dftracerd/base.h"

enum call_kind {
    CALL_NONE, /* not replayed, for a reason */
    CALL_OPEN,
    CALL_CREAT,
    CALL_FOPEN,
    CALL_OPENDIR,
    CALL_CLOSE,
    CALL_DUP,
    CALL_READ,
    CALL_WRITE,
    CALL_SEEK,
    CALL_TELL,
    CALL_SYNC,
    CALL_FTRUNCATE,
    CALL_FSTAT,
    CALL_READDIR,
    CALL_MMAP,
    CALL_STAT,
    CALL_ACCESS,
    CALL_READLINK,
    CALL_TRUNCATE,
    CALL_MKDIR,
    CALL_RMDIR,
    CALL_UNLINK,
    CALL_REMOVE,
    CALL_RENAME,
    CALL_LINK,
    CALL_SYMLINK
};

enum call_traits {
    CALL_AT = 1,     /* has its own offset: pread */
    CALL_VECTOR = 2, /* readv */
    CALL_STREAM = 4, /* of stdio: fread */
    CALL_DATA = 8    /* fdatasync */
};

struct call {
    const char *names; /* separated by blanks */
    enum call_kind kind;
    unsigned traits;    /* enum call_traits */
    const char *reason; /* CALL_NONE: why it is not replayed */
};
/* Returns the call with this name; NULL if unknown. Any thread, after the first call of this
 * function has returned. */
const struct call *call_find(struct text name);
/* Returns whether the category is POSIX or STDIO, ignoring case. */
bool call_is_category(struct text category);
/* Returns whether the call uses a descriptor or stream that another one has opened. */
bool call_uses_handle(enum call_kind kind);
bool call_opens(enum call_kind kind);

#endif
