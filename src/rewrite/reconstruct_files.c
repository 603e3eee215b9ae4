/* reconstruct_files.c - opens and hashes the files that /organize has written. */
#include "rewrite/beneath.h"
#include "rewrite/reconstruct.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int reconstruct_open_file(const struct reconstruct *r, const char *path)
{
    return r->archive ? archive_copy_file(r->archive, path, r->base.budget)
                      : beneath_file(r->dir, path);
}

int reconstruct_open_dir(const char *base, const char *path)
{
    struct text name = text_of(path);

    while (name.len && name.ptr[name.len - 1] == '/')
        name.len--;
    if (!path_is_safe_below(name, false))
        return -ENOENT;
    int dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = dir < 0 ? -errno : 0;
    fd = fd < 0 ? fd : beneath_dir(dir, name, false);
    if (dir >= 0)
        close(dir);
    return fd;
}

int reconstruct_hash_file(struct reconstruct *r, int fd, uint64_t bytes, char *piece,
                          struct hash128 *ret)
{
    _Alignas(64) struct hasher hasher;
    uint64_t at = 0;
    ssize_t n = 1;

    hasher_begin(&hasher, 0);
    while (at < bytes && n) {
        int rc = budget_check(r->base.budget);
        if (rc < 0)
            return rc;
        size_t max = bytes - at < RECONSTRUCT_PIECE ? (size_t)(bytes - at) : RECONSTRUCT_PIECE;
        n = pread(fd, piece, max, (off_t)at);
        if (n < 0 && errno != EINTR)
            return -errno;
        hasher_add(&hasher, piece, n > 0 ? (size_t)n : 0);
        at += n > 0 ? (uint64_t)n : 0;
    }
    *ret = hasher_end(&hasher);
    return 0;
}
