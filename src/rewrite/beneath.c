/* beneath.c - opens paths below a directory, component by component, never through a symbolic
 * link. */
#include "rewrite/beneath.h"

#include "dftracerd/failpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool path_is_safe_below(struct text path, bool own)
{
    struct text rest = path, part;

    if (!tar_name_is_safe(path))
        return false;
    while (text_split(&rest, '/', &part)) {
        if (!part.len || part.len > NAME_MAX || text_eq(part, TEXT(".")) ||
            (!own && text_starts(part, TEXT(ARCHIVE_WRITER_PREFIX))))
            return false;
    }
    return true;
}

static int open_dir(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

/* Opens a component, and closes `at` in every case. */
static int open_part(int at, struct text part, bool make)
{
    char name[NAME_MAX + 1];
    int rc = part.len < sizeof(name) ? 0 : -ENAMETOOLONG;
    bool made = false;

    if (rc == 0) {
        memcpy(name, part.ptr, part.len);
        name[part.len] = '\0';
        made = make && !failpoint("archive_writer.folder") && mkdirat(at, name, 0777) == 0;
        if (make && !made && errno != EEXIST)
            rc = -errno;
    }
    rc = rc < 0 ? rc : open_dir(at, name);
    if (rc < 0 && made)
        unlinkat(at, name, AT_REMOVEDIR);
    close(at);
    return rc;
}

int beneath_dir(int at, struct text path, bool make)
{
    struct text part;
    int fd = open_dir(at, ".");

    while (fd >= 0 && path.len && text_split(&path, '/', &part))
        fd = open_part(fd, part, make);
    return fd;
}

int beneath_parent(int at, const char *path, bool make, const char **ret_last)
{
    const char *slash = strrchr(path, '/');

    *ret_last = slash ? slash + 1 : path;
    return beneath_dir(at, (struct text){path, slash ? (size_t)(slash - path) : 0}, make);
}

size_t beneath_existing_len(int at, const char *path)
{
    size_t len = 0;

    for (const char *s = strchr(path, '/'); s; s = strchr(s + 1, '/')) {
        int fd = beneath_dir(at, (struct text){path, (size_t)(s - path)}, false);

        if (fd < 0)
            return fd == -ENOENT ? len : strlen(path);
        close(fd);
        len = (size_t)(s - path);
    }
    return len;
}

void beneath_remove_empty(int at, const char *path, size_t existing_len)
{
    size_t len = strlen(path);
    int dir = 0;

    while (dir >= 0) {
        const char *last, *slash = memrchr(path, '/', len);
        char name[PATH_MAX];

        len = slash ? (size_t)(slash - path) : 0;
        if (len <= existing_len || len >= sizeof(name))
            return;
        memcpy(name, path, len);
        name[len] = '\0';
        dir = beneath_parent(at, name, false, &last);
        if (dir >= 0) {
            unlinkat(dir, last, AT_REMOVEDIR);
            close(dir);
        }
    }
}

int beneath_file(int at, const char *path)
{
    const char *last;
    struct stat st;
    int dir =
        path_is_safe_below(text_of(path), false) ? beneath_parent(at, path, false, &last) : -ENOENT;

    if (dir < 0)
        return dir;
    int fd = openat(dir, last, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int rc = fd < 0 ? -errno : fd;
    close(dir);
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
        return rc;
    close(fd);
    return -ENOENT;
}
