/* identity.c - recognises a file by its stat data and by hashes of its edges. */
#include "index/catalog/identity.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void identity_of_stat(const void *stat, struct identity *ret)
{
    const struct stat *st = stat;

    *ret = (struct identity){.device = st->st_dev,
                             .inode = st->st_ino,
                             .size = (uint64_t)st->st_size,
                             .mtime_ns = ns_of(st->st_mtim),
                             .ctime_ns = ns_of(st->st_ctim)};
}

bool identity_same(const struct identity *a, const struct identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

static int hash_range(int fd, char *buf, uint64_t from, uint64_t len, uint64_t *ret)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = pread(fd, buf + done, len - done, (off_t)(from + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    *ret = text_hash((struct text){buf, done});
    return 0;
}

int identity_hash_edges(int fd, char *buf, uint64_t size, struct identity *ret)
{
    uint64_t len = size < EDGE_BYTES ? size : EDGE_BYTES;
    int rc = hash_range(fd, buf, 0, len, &ret->head_hash);

    return rc ? rc : hash_range(fd, buf, size - len, len, &ret->tail_hash);
}
