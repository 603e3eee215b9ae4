/* vocabulary.c - the table of calls. size: table */
#include "replay/input/vocabulary.h"

#include <strings.h>

#define PROCESS "process control is not replayed"
#define OWNER "owners, modes and times of files are not changed"
#define STATE "changes no file"
#define SOCKET "networks and pipes are not replayed"

static const struct call calls[] = {
    {.names = "open open64 openat openat64 __open_2 __open64_2", .kind = CALL_OPEN},
    {.names = "creat creat64", .kind = CALL_CREAT},
    {.names = "close closedir", .kind = CALL_CLOSE},
    {.names = "dup dup2 dup3", .kind = CALL_DUP},
    {.names = "read", .kind = CALL_READ},
    {.names = "pread pread64", .kind = CALL_READ, .traits = CALL_AT},
    {.names = "readv", .kind = CALL_READ, .traits = CALL_VECTOR},
    {.names = "preadv preadv64 preadv2", .kind = CALL_READ, .traits = CALL_AT | CALL_VECTOR},
    {.names = "write", .kind = CALL_WRITE},
    {.names = "pwrite pwrite64", .kind = CALL_WRITE, .traits = CALL_AT},
    {.names = "writev", .kind = CALL_WRITE, .traits = CALL_VECTOR},
    {.names = "pwritev pwritev64 pwritev2", .kind = CALL_WRITE, .traits = CALL_AT | CALL_VECTOR},
    {.names = "lseek lseek64", .kind = CALL_SEEK},
    {.names = "fsync", .kind = CALL_SYNC},
    {.names = "fdatasync", .kind = CALL_SYNC, .traits = CALL_DATA},
    {.names = "ftruncate ftruncate64", .kind = CALL_FTRUNCATE},
    {.names = "truncate truncate64", .kind = CALL_TRUNCATE},
    {.names = "fstat fstat64 __fxstat __fxstat64", .kind = CALL_FSTAT},
    {.names =
         "stat stat64 __xstat __xstat64 fstatat fstatat64 __fxstatat __fxstatat64 newfstatat statx",
     .kind = CALL_STAT},
    {.names = "lstat lstat64 __lxstat __lxstat64", .kind = CALL_STAT},
    {.names = "access faccessat", .kind = CALL_ACCESS},
    {.names = "readlink readlinkat", .kind = CALL_READLINK},
    {.names = "mkdir mkdirat", .kind = CALL_MKDIR},
    {.names = "rmdir", .kind = CALL_RMDIR},
    {.names = "unlink unlinkat", .kind = CALL_UNLINK},
    {.names = "remove", .kind = CALL_REMOVE},
    {.names = "rename renameat renameat2", .kind = CALL_RENAME},
    {.names = "link linkat", .kind = CALL_LINK},
    {.names = "symlink symlinkat", .kind = CALL_SYMLINK},
    {.names = "opendir fdopendir", .kind = CALL_OPENDIR},
    {.names = "readdir readdir64", .kind = CALL_READDIR},
    {.names = "mmap mmap64", .kind = CALL_MMAP},
    {.names = "fopen fopen64", .kind = CALL_FOPEN, .traits = CALL_STREAM},
    {.names = "fclose", .kind = CALL_CLOSE, .traits = CALL_STREAM},
    {.names = "fread", .kind = CALL_READ, .traits = CALL_STREAM},
    {.names = "fwrite", .kind = CALL_WRITE, .traits = CALL_STREAM},
    {.names = "fseek fseeko fseeko64 rewind", .kind = CALL_SEEK, .traits = CALL_STREAM},
    {.names = "ftell ftello ftello64", .kind = CALL_TELL, .traits = CALL_STREAM},
    {.names = "fflush", .kind = CALL_SYNC, .traits = CALL_STREAM},
    {.names = "fork vfork execl execlp execle execv execve execvp execvpe chdir fchdir umask",
     .kind = CALL_NONE,
     .reason = PROCESS},
    {.names = "fcntl fcntl64 munmap msync", .kind = CALL_NONE, .reason = STATE},
    {.names = "chmod fchmod chown lchown fchown utime utimes", .kind = CALL_NONE, .reason = OWNER},
    {.names = "mkfifo mkfifoat mknod pipe send recv sendto recvfrom sendfile",
     .kind = CALL_NONE,
     .reason = SOCKET},
};

enum { BUCKETS = 512 };

static struct {
    struct text name;
    const struct call *call; /* NULL: the bucket is empty */
} buckets[BUCKETS];

/* Returns the bucket of the name, or the empty one in which it can be stored. */
static unsigned bucket_find(struct text name)
{
    unsigned at = (unsigned)(text_hash(name) % BUCKETS);
    while (buckets[at].call && !text_eq(buckets[at].name, name))
        at = (at + 1) % BUCKETS;
    return at;
}

const struct call *call_find(struct text name)
{
    static bool filled;
    for (unsigned i = 0; !filled && i < sizeof calls / sizeof *calls; i++) {
        struct text rest = text_of(calls[i].names), one;
        while (text_split(&rest, ' ', &one)) {
            unsigned at = bucket_find(one);
            buckets[at].name = one;
            buckets[at].call = &calls[i];
        }
    }
    filled = true;
    return buckets[bucket_find(name)].call;
}

bool call_is_category(struct text category)
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
