/* root_change.c - creates directories, removes and renames files. */
#include "replay/root/root_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Returns 0 if the replay has created the file at this path, otherwise why it must not be changed.
 * The lock of the file is held. */
static int check_ours(const struct file *f, int dir, const char *last)
{
    struct stat s;
    if (fstatat(dir, last, &s, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return root_is_ours(f, dir, last) ? 0 : ROOT_NOT_OURS;
}

/* Creates a symbolic link to `target`, or without one a directory. */
static int create_entry(struct root *r, struct file *f, const char *target)
{
    const char *last;
    int dir = root_open_parent(r, f, &last);
    if (dir < 0)
        return dir;
    shared_lock(r->shared, f);
    int rc = (target ? symlinkat(target, dir, last) : mkdirat(dir, last, 0777)) < 0 ? -errno : 0;
    if (rc == 0)
        root_made(f, dir, last);
    shared_unlock(r->shared, f);
    close(dir);
    return rc;
}

int root_make_dir(struct root *r, struct file *f)
{
    return create_entry(r, f, NULL);
}

int root_remove(struct root *r, struct file *f, bool is_dir)
{
    const char *last;
    int dir = root_open_parent(r, f, &last);
    if (dir < 0)
        return dir;
    shared_lock(r->shared, f);
    int rc = check_ours(f, dir, last);
    if (rc == 0 && unlinkat(dir, last, is_dir ? AT_REMOVEDIR : 0) < 0)
        rc = -errno;
    if (rc == 0)
        f->made = false;
    shared_unlock(r->shared, f);
    close(dir);
    return rc;
}

struct link_end { /* one side of a rename or link */
    struct file *file;
    const char *last;
    int dir;
};

/* `replaces`: a file at the new path may be replaced. NFS and Lustre cannot check and rename
 * atomically. */
static int rename_entry(const struct link_end *from, const struct link_end *to, bool replaces)
{
    struct stat s;
    unsigned flags = replaces ? 0 : RENAME_NOREPLACE;
    if (renameat2(from->dir, from->last, to->dir, to->last, flags) == 0)
        return 0;
    if (replaces || errno != EINVAL)
        return -errno;
    if (fstatat(to->dir, to->last, &s, AT_SYMLINK_NOFOLLOW) == 0)
        return -EEXIST;
    return renameat(from->dir, from->last, to->dir, to->last) < 0 ? -errno : 0;
}

static int rename_ours(struct link_end *from, struct link_end *to)
{
    bool replaces = to->file->made && check_ours(to->file, to->dir, to->last) == 0;
    int rc = rename_entry(from, to, replaces);
    if (rc < 0)
        return rc == -EEXIST && !replaces && from->file != to->file ? ROOT_NOT_OURS : rc;
    if (from->file == to->file || (replaces && from->file->identity == to->file->identity))
        return 0; /* two names of one file: both stay, as rename(2) specifies */
    to->file->made = true;
    to->file->identity = (uint64_t)from->file->identity;
    from->file->made = false;
    return 0;
}

static int link_ours(struct link_end *from, struct link_end *to)
{
    if (linkat(from->dir, from->last, to->dir, to->last, 0) < 0)
        return -errno;
    to->file->made = true;
    to->file->identity = (uint64_t)from->file->identity;
    return 0;
}

static int change_two(struct root *r, struct file *from, struct file *to,
                      int (*change)(struct link_end *from, struct link_end *to))
{
    struct link_end a = {from, NULL, -1}, b = {to, NULL, -1};
    int rc = a.dir = root_open_parent(r, from, &a.last);
    if (rc >= 0)
        rc = b.dir = root_open_parent(r, to, &b.last);
    if (rc >= 0) {
        shared_lock_two(r->shared, from, to);
        rc = check_ours(from, a.dir, a.last);
        if (rc == 0)
            rc = change(&a, &b);
        shared_unlock_two(r->shared, from, to);
    }
    if (a.dir >= 0)
        close(a.dir);
    if (b.dir >= 0)
        close(b.dir);
    return rc;
}

int root_rename(struct root *r, struct file *from, struct file *to, const struct moved *moved)
{
    int rc = change_two(r, from, to, rename_ours);
    for (const struct moved *m = moved; m && rc == 0; m = m->next) {
        shared_lock_two(r->shared, m->from, m->to);
        if (m->from->made) {
            m->to->made = true;
            m->to->identity = (uint64_t)m->from->identity;
            m->from->made = false;
        }
        shared_unlock_two(r->shared, m->from, m->to);
    }
    return rc;
}

int root_link(struct root *r, struct file *from, struct file *to)
{
    return change_two(r, from, to, link_ours);
}

/* The target becomes a path below the root, whatever it was; it is never followed. */
int root_symlink(struct root *r, const struct file *target, struct file *to)
{
    return create_entry(r, to, target->below);
}
