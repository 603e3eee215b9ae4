/* vocabulary.c - the table of calls. size: table */
#include "replay/input/vocabulary.h"

#include <string.h>
#include <strings.h>

#define PROCESS "process control is not replayed"
#define OWNER "owners, modes and times of files are not changed"
#define STATE "changes no file"
#define SOCKET "networks and pipes are not replayed"

static const struct call calls[] = {
    {"open", CALL_OPEN, 0, NULL},
    {"open64", CALL_OPEN, 0, NULL},
    {"openat", CALL_OPEN, 0, NULL},
    {"openat64", CALL_OPEN, 0, NULL},
    {"__open_2", CALL_OPEN, 0, NULL},
    {"__open64_2", CALL_OPEN, 0, NULL},
    {"creat", CALL_CREAT, 0, NULL},
    {"creat64", CALL_CREAT, 0, NULL},
    {"close", CALL_CLOSE, 0, NULL},
    {"dup", CALL_DUP, 0, NULL},
    {"dup2", CALL_DUP, 0, NULL},
    {"dup3", CALL_DUP, 0, NULL},
    {"read", CALL_READ, 0, NULL},
    {"pread", CALL_READ, CALL_AT, NULL},
    {"pread64", CALL_READ, CALL_AT, NULL},
    {"readv", CALL_READ, CALL_VECTOR, NULL},
    {"preadv", CALL_READ, CALL_AT | CALL_VECTOR, NULL},
    {"preadv64", CALL_READ, CALL_AT | CALL_VECTOR, NULL},
    {"preadv2", CALL_READ, CALL_AT | CALL_VECTOR, NULL},
    {"write", CALL_WRITE, 0, NULL},
    {"pwrite", CALL_WRITE, CALL_AT, NULL},
    {"pwrite64", CALL_WRITE, CALL_AT, NULL},
    {"writev", CALL_WRITE, CALL_VECTOR, NULL},
    {"pwritev", CALL_WRITE, CALL_AT | CALL_VECTOR, NULL},
    {"pwritev64", CALL_WRITE, CALL_AT | CALL_VECTOR, NULL},
    {"pwritev2", CALL_WRITE, CALL_AT | CALL_VECTOR, NULL},
    {"lseek", CALL_SEEK, 0, NULL},
    {"lseek64", CALL_SEEK, 0, NULL},
    {"fsync", CALL_SYNC, 0, NULL},
    {"fdatasync", CALL_SYNC, CALL_DATA, NULL},
    {"ftruncate", CALL_FTRUNCATE, 0, NULL},
    {"ftruncate64", CALL_FTRUNCATE, 0, NULL},
    {"truncate", CALL_TRUNCATE, 0, NULL},
    {"truncate64", CALL_TRUNCATE, 0, NULL},
    {"fstat", CALL_FSTAT, 0, NULL},
    {"fstat64", CALL_FSTAT, 0, NULL},
    {"__fxstat", CALL_FSTAT, 0, NULL},
    {"__fxstat64", CALL_FSTAT, 0, NULL},
    {"stat", CALL_STAT, 0, NULL},
    {"stat64", CALL_STAT, 0, NULL},
    {"__xstat", CALL_STAT, 0, NULL},
    {"__xstat64", CALL_STAT, 0, NULL},
    {"fstatat", CALL_STAT, 0, NULL},
    {"fstatat64", CALL_STAT, 0, NULL},
    {"__fxstatat", CALL_STAT, 0, NULL},
    {"__fxstatat64", CALL_STAT, 0, NULL},
    {"newfstatat", CALL_STAT, 0, NULL},
    {"statx", CALL_STAT, 0, NULL},
    {"lstat", CALL_STAT, CALL_LINK_ITSELF, NULL},
    {"lstat64", CALL_STAT, CALL_LINK_ITSELF, NULL},
    {"__lxstat", CALL_STAT, CALL_LINK_ITSELF, NULL},
    {"__lxstat64", CALL_STAT, CALL_LINK_ITSELF, NULL},
    {"access", CALL_ACCESS, 0, NULL},
    {"faccessat", CALL_ACCESS, 0, NULL},
    {"readlink", CALL_READLINK, 0, NULL},
    {"readlinkat", CALL_READLINK, 0, NULL},
    {"mkdir", CALL_MKDIR, 0, NULL},
    {"mkdirat", CALL_MKDIR, 0, NULL},
    {"rmdir", CALL_RMDIR, 0, NULL},
    {"unlink", CALL_UNLINK, 0, NULL},
    {"unlinkat", CALL_UNLINK, 0, NULL},
    {"remove", CALL_REMOVE, 0, NULL},
    {"rename", CALL_RENAME, 0, NULL},
    {"renameat", CALL_RENAME, 0, NULL},
    {"renameat2", CALL_RENAME, 0, NULL},
    {"link", CALL_LINK, 0, NULL},
    {"linkat", CALL_LINK, 0, NULL},
    {"symlink", CALL_SYMLINK, 0, NULL},
    {"symlinkat", CALL_SYMLINK, 0, NULL},
    {"opendir", CALL_OPENDIR, 0, NULL},
    {"fdopendir", CALL_OPENDIR, 0, NULL},
    {"readdir", CALL_READDIR, 0, NULL},
    {"readdir64", CALL_READDIR, 0, NULL},
    {"closedir", CALL_CLOSE, 0, NULL},
    {"mmap", CALL_MMAP, 0, NULL},
    {"mmap64", CALL_MMAP, 0, NULL},
    {"fopen", CALL_FOPEN, CALL_STREAM, NULL},
    {"fopen64", CALL_FOPEN, CALL_STREAM, NULL},
    {"fclose", CALL_CLOSE, CALL_STREAM, NULL},
    {"fread", CALL_READ, CALL_STREAM, NULL},
    {"fwrite", CALL_WRITE, CALL_STREAM, NULL},
    {"fseek", CALL_SEEK, CALL_STREAM, NULL},
    {"fseeko", CALL_SEEK, CALL_STREAM, NULL},
    {"fseeko64", CALL_SEEK, CALL_STREAM, NULL},
    {"rewind", CALL_SEEK, CALL_STREAM, NULL},
    {"ftell", CALL_TELL, CALL_STREAM, NULL},
    {"ftello", CALL_TELL, CALL_STREAM, NULL},
    {"ftello64", CALL_TELL, CALL_STREAM, NULL},
    {"fflush", CALL_SYNC, CALL_STREAM | CALL_FLUSH, NULL},
    {"fork", CALL_NONE, 0, PROCESS},
    {"vfork", CALL_NONE, 0, PROCESS},
    {"execl", CALL_NONE, 0, PROCESS},
    {"execlp", CALL_NONE, 0, PROCESS},
    {"execle", CALL_NONE, 0, PROCESS},
    {"execv", CALL_NONE, 0, PROCESS},
    {"execve", CALL_NONE, 0, PROCESS},
    {"execvp", CALL_NONE, 0, PROCESS},
    {"execvpe", CALL_NONE, 0, PROCESS},
    {"chdir", CALL_NONE, 0, PROCESS},
    {"fchdir", CALL_NONE, 0, PROCESS},
    {"umask", CALL_NONE, 0, PROCESS},
    {"fcntl", CALL_NONE, 0, STATE},
    {"fcntl64", CALL_NONE, 0, STATE},
    {"munmap", CALL_NONE, 0, STATE},
    {"msync", CALL_NONE, 0, STATE},
    {"chmod", CALL_NONE, 0, OWNER},
    {"fchmod", CALL_NONE, 0, OWNER},
    {"chown", CALL_NONE, 0, OWNER},
    {"lchown", CALL_NONE, 0, OWNER},
    {"fchown", CALL_NONE, 0, OWNER},
    {"utime", CALL_NONE, 0, OWNER},
    {"utimes", CALL_NONE, 0, OWNER},
    {"mkfifo", CALL_NONE, 0, SOCKET},
    {"mkfifoat", CALL_NONE, 0, SOCKET},
    {"mknod", CALL_NONE, 0, SOCKET},
    {"pipe", CALL_NONE, 0, SOCKET},
    {"send", CALL_NONE, 0, SOCKET},
    {"recv", CALL_NONE, 0, SOCKET},
    {"sendto", CALL_NONE, 0, SOCKET},
    {"recvfrom", CALL_NONE, 0, SOCKET},
    {"sendfile", CALL_NONE, 0, SOCKET},
};

enum { BUCKETS = 512 };

static uint8_t buckets[BUCKETS]; /* position in the table + 1 */

static unsigned bucket_of(struct text name)
{
    return (unsigned)(text_hash(name) % BUCKETS);
}

const struct call *call_find(struct text name)
{
    static bool filled;
    for (unsigned i = 0; !filled && i < sizeof calls / sizeof *calls; i++) {
        unsigned at = bucket_of(text_of(calls[i].name));
        while (buckets[at])
            at = (at + 1) % BUCKETS;
        buckets[at] = (uint8_t)(i + 1);
    }
    filled = true;
    for (unsigned at = bucket_of(name); buckets[at]; at = (at + 1) % BUCKETS) {
        const struct call *c = &calls[buckets[at] - 1];
        if (text_eq(name, text_of(c->name)))
            return c;
    }
    return NULL;
}

const struct call *call_at(unsigned i)
{
    return i < sizeof calls / sizeof *calls ? &calls[i] : NULL;
}

bool call_category(struct text category)
{
    return category.len == 5 && (strncasecmp(category.ptr, "POSIX", 5) == 0 ||
                                 strncasecmp(category.ptr, "STDIO", 5) == 0);
}

bool call_opens(enum call_kind kind)
{
    return kind >= CALL_OPEN && kind <= CALL_OPENDIR;
}

bool call_uses_handle(enum call_kind kind)
{
    return kind >= CALL_CLOSE && kind <= CALL_MMAP;
}
