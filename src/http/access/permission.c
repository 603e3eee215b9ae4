/* permission.c - whether a user may read a file. */
#include "http/access/permission.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACL_BYTES 8192

static bool is_member(const struct user *u, gid_t gid)
{
    for (size_t i = 0; i < u->group_count; i++)
        if (u->groups[i] == gid && access_is_somebody(gid))
            return true;
    return false;
}

static bool by_mode(const struct user *u, const struct stat *st, unsigned want)
{
    unsigned shift = u->uid == st->st_uid ? 6 : is_member(u, st->st_gid) ? 3 : 0;
    return (st->st_mode >> shift & want) == want;
}

struct acl {
    struct posix_acl_xattr_header head;
    struct posix_acl_xattr_entry entries[ACL_BYTES / sizeof(struct posix_acl_xattr_entry)];
};

/* Follows acl(5): the owner, a named user, the groups (one that allows is enough), all others. */
static bool by_list(const struct user *u, const struct stat *st, const struct acl *acl, size_t n,
                    unsigned want)
{
    unsigned mask = 7, other = 0, user = 0, group = 0;
    bool named = false, in_group = false, allows = false;
    for (size_t i = 0; i < n; i++)
        if (le16toh(acl->entries[i].e_tag) == ACL_MASK)
            mask = le16toh(acl->entries[i].e_perm);
    for (size_t i = 0; i < n; i++) {
        const struct posix_acl_xattr_entry *e = &acl->entries[i];
        unsigned tag = le16toh(e->e_tag), perm = le16toh(e->e_perm), id = le32toh(e->e_id);
        if (tag == ACL_USER_OBJ && u->uid == st->st_uid)
            return (perm & want) == want;
        if (tag == ACL_USER && id == u->uid) {
            named = true;
            user = perm & mask;
        }
        if ((tag == ACL_GROUP_OBJ && is_member(u, st->st_gid)) ||
            (tag == ACL_GROUP && is_member(u, id))) {
            in_group = true;
            group = perm & mask;
            allows |= (group & want) == want;
        }
        if (tag == ACL_OTHER)
            other = perm;
    }
    return named ? (user & want) == want : in_group ? allows : (other & want) == want;
}

static bool user_may(const struct user *u, int fd, const struct stat *st, unsigned want)
{
    struct acl acl;
    char path[32];
    if (u->uid == 0)
        return true;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t n = getxattr(path, "system.posix_acl_access", &acl, sizeof acl);
    if (n < 0)
        return (errno == ENODATA || errno == ENOTSUP) && by_mode(u, st, want);
    if ((size_t)n < sizeof acl.head || le32toh(acl.head.a_version) != POSIX_ACL_XATTR_VERSION)
        return false;
    return by_list(u, st, &acl, ((size_t)n - sizeof acl.head) / sizeof *acl.entries, want);
}

/* Opens a file or directory, or a link itself, without any permission. */
static int open_name(struct judge *j, int dir, const char *name)
{
    int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        j->error = -errno;
    return fd;
}

/* Opens one name at a time below the descriptor of the one before it, and judges that descriptor:
 * if a name is exchanged meanwhile, the new file is not used. Returns the last descriptor and fills
 * *ret, or returns -1. *ret_link: a part of the path is a link. */
static int open_path(struct judge *j, char *path, struct stat *ret, bool *ret_link)
{
    int fd = open_name(j, AT_FDCWD, "/");
    char *save;
    *ret_link = false;
    if (fd >= 0 && fstat(fd, ret) < 0)
        *ret = (struct stat){0};
    for (char *part = strtok_r(path, "/", &save); part && fd >= 0;
         part = strtok_r(NULL, "/", &save)) {
        bool good = S_ISDIR(ret->st_mode) && user_may(&j->user, fd, ret, 1);
        int next = good ? open_name(j, fd, part) : -1;
        close(fd);
        fd = next;
        if (fd >= 0 && fstat(fd, ret) < 0)
            *ret = (struct stat){0};
        *ret_link = fd >= 0 && S_ISLNK(ret->st_mode);
        if (*ret_link)
            return close(fd), -1;
    }
    return fd;
}

/* A link leads elsewhere: the user must be able to search that path, too. */
static int open_link(struct judge *j, const char *path, struct stat *ret)
{
    char target[PATH_MAX];
    bool link;
    return realpath(path, target) ? open_path(j, target, ret, &link) : -1;
}

/* A file that replaced the indexed one decides nothing about it, even if it has the same inode
 * number. */
static bool is_indexed_one(int fd, const struct stat *st, const struct index_file *f)
{
    struct statx x;
    if (!f->inode)
        return true;
    if (st->st_ino != f->inode || st->st_dev != f->device)
        return false;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &x) == 0 && x.stx_mask & STATX_BTIME)
        return (int64_t)x.stx_btime.tv_sec * 1000000000 + x.stx_btime.tv_nsec <= f->ctime_ns;
    return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec == f->ctime_ns;
}

void judge_init(struct judge *j, struct user user)
{
    j->user = user;
    j->dir[0] = '\0';
    j->fd = -1;
    j->error = 0;
}

void judge_done(struct judge *j)
{
    if (j->fd >= 0)
        close(j->fd);
    j->fd = -1;
}

/* Returns the descriptor of a directory that the user may search, or -1. */
static int open_dir(struct judge *j, struct text dir)
{
    char path[PATH_MAX];
    struct stat st = {0};
    bool link;
    if (text_eq(dir, text_of(j->dir)))
        return j->fd;
    judge_done(j);
    memcpy(j->dir, dir.ptr, dir.len);
    j->dir[dir.len] = '\0';
    memcpy(path, j->dir, dir.len + 1);
    int fd = open_path(j, path, &st, &link);
    if (link)
        fd = open_link(j, j->dir, &st);
    if (fd >= 0 && !(S_ISDIR(st.st_mode) && user_may(&j->user, fd, &st, 1))) {
        close(fd);
        fd = -1;
    }
    return j->fd = fd;
}

bool judge_may_read(struct judge *j, const struct index_file *f)
{
    const char *name = strrchr(f->path, '/');
    struct stat st = {0};
    if (*f->path != '/' || strlen(f->path) >= PATH_MAX)
        return false;
    int dir = open_dir(j, (struct text){f->path, name == f->path ? 1 : (size_t)(name - f->path)});
    int fd = dir < 0 ? -1 : open_name(j, dir, name + 1);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode)) {
        close(fd);
        fd = open_link(j, f->path, &st);
    }
    bool good = fd >= 0 && S_ISREG(st.st_mode) && is_indexed_one(fd, &st, f) &&
                user_may(&j->user, fd, &st, 4);
    if (fd >= 0)
        close(fd);
    return good;
}
