/* root_clean.c - removes what the replay has made, and nothing else. */
#include "root_parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct made {
    struct file **files;  /* those that are made, the deepest first */
    uint64_t *identities; /* of them, ascending */
    size_t count;
};

static int compare_deepest_first(const void *a, const void *b)
{
    const struct file *const *x = a, *const *y = b;
    return strcmp((*y)->below, (*x)->below); /* what is in a directory has its path as prefix */
}

static int compare_identities(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static int made_find(const struct files *f, struct made *m)
{
    m->files = malloc((files_count(f) + 1) * sizeof *m->files);
    m->identities = malloc((files_count(f) + 1) * sizeof *m->identities);
    if (!m->files || !m->identities)
        return -ENOMEM;
    for (size_t i = 0; i < files_count(f); i++) {
        struct file *file = files_at(f, i);
        if (!file || !file->made)
            continue;
        m->identities[m->count] = file->identity;
        m->files[m->count++] = file;
    }
    qsort(m->files, m->count, sizeof *m->files, compare_deepest_first);
    qsort(m->identities, m->count, sizeof *m->identities, compare_identities);
    return 0;
}

/* In a directory that was renamed the files have other paths than those that they were made with. Takes `fd`. */
static void remove_within(int fd, const struct made *m)
{
    DIR *d = fdopendir(fd);
    if (!d) {
        close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(d));) {
        struct stat s;
        bool dots = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
        if (dots || fstatat(fd, e->d_name, &s, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        uint64_t identity = root_identity(fd, e->d_name);
        if (!bsearch(&identity, m->identities, m->count, sizeof identity, compare_identities))
            continue;
        int sub = S_ISDIR(s.st_mode)
                      ? openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                      : -1;
        if (sub >= 0)
            remove_within(sub, m);
        unlinkat(fd, e->d_name, S_ISDIR(s.st_mode) ? AT_REMOVEDIR : 0);
    }
    closedir(d);
}

/* Whether it is there no more; something else at its path is not counted. */
static bool remove_made(struct root *r, struct file *f, const struct made *m)
{
    int fd = f->tree ? root_open_below(r, f->below, O_RDONLY | O_DIRECTORY) : -1;
    if (fd >= 0)
        remove_within(fd, m);
    int rc = root_remove(r, f, false);
    if (rc == -EISDIR || rc == -EPERM)
        rc = root_remove(r, f, true);
    return rc == 0 || rc == -ENOENT || rc == -ENOTDIR || rc == ROOT_NOT_OURS;
}

size_t root_clean(struct root *r, const struct files *f)
{
    struct made m = {0};
    size_t left = 0;
    if (made_find(f, &m) < 0)
        left = files_count(f);
    else
        for (size_t i = 0; i < m.count; i++)
            left += !remove_made(r, m.files[i], &m);
    free(m.files);
    free(m.identities);
    if (r->made && rmdir(r->path) < 0)
        left += !left;
    return left;
}
