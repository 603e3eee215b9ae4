/* root_clean.c - removes the files that the replay has created, and no others. */
#include "replay/root/root_parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare_deepest_first(const void *a, const void *b)
{
    const struct file *const *x = a, *const *y = b;
    return strcmp((*y)->below, (*x)->below); /* files in a directory have its path as prefix */
}

/* Returns whether the file is gone; a foreign file at its path is not counted. */
static bool remove_made(struct root *r, struct file *f)
{
    int rc = root_remove(r, f, false);
    if (rc == -EISDIR || rc == -EPERM)
        rc = root_remove(r, f, true);
    return rc == 0 || rc == -ENOENT || rc == -ENOTDIR || rc == ROOT_NOT_OURS;
}

size_t root_clean(struct root *r, const struct files *f)
{
    size_t count = 0, left = 0;
    struct file **made = malloc((files_count(f) + 1) * sizeof *made);
    if (!made)
        return files_count(f);
    for (size_t i = 0; i < files_count(f); i++) {
        struct file *file = files_at(f, i);
        if (file && file->made)
            made[count++] = file;
    }
    qsort(made, count, sizeof *made, compare_deepest_first);
    for (size_t i = 0; i < count; i++)
        left += !remove_made(r, made[i]);
    free(made);
    if (r->made && rmdir(r->path) < 0)
        left += !left;
    return left;
}
