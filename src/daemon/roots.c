/* roots.c - labels and absolute paths of the served directories. */
#include "daemon/roots.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *roots_path_of(const char *spec)
{
    struct stat st;
    const char *eq = strchr(spec, '=');
    bool labelled =
        eq && eq > spec && !memchr(spec, '/', (size_t)(eq - spec)) && stat(spec, &st) < 0;
    return labelled ? eq + 1 : spec;
}

static int open_one(struct roots *r, const char *spec, struct err *err)
{
    struct stat st;
    const char *dir = roots_path_of(spec);
    char *path = realpath(dir, NULL);
    if (!path)
        return err_set_param(err, -errno, "directory", "%s: %s", dir, strerror(errno));
    r->paths[r->count] = path;
    const char *slash = strrchr(path, '/'), *last = slash && slash[1] ? slash + 1 : path;
    r->labels[r->count] = dir > spec ? strndup(spec, (size_t)(dir - spec - 1)) : strdup(last);
    r->count++;
    if (!r->labels[r->count - 1])
        return -ENOMEM;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return err_set_param(err, -ENOTDIR, "directory", "%s is not a directory", dir);
    return 0;
}

bool roots_inside(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 &&
           (path[n] == '\0' || path[n] == '/' || strcmp(dir, "/") == 0);
}

static int check_distinct(const struct roots *r, struct err *err)
{
    for (size_t i = 0; i < r->count; i++) {
        for (size_t k = 0; k < r->count; k++) {
            if (i == k)
                continue;
            if (i < k && strcmp(r->labels[i], r->labels[k]) == 0)
                return err_set_param(
                    err, -EEXIST, "directory",
                    "two directories have the label %s: choose another one with LABEL=DIR",
                    r->labels[i]);
            if (roots_inside(r->paths[i], r->paths[k]))
                return err_set_param(
                    err, -EEXIST, "directory",
                    "%s is inside %s; one directory of traces must not contain another",
                    r->paths[i], r->paths[k]);
        }
    }
    return 0;
}

int roots_open(struct roots *r, const struct options *o, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < o->directory.count && rc == 0; i++)
        rc = open_one(r, o->directory.items[i], err);
    if (rc == 0)
        rc = check_distinct(r, err);
    if (rc == 0 && r->count == 1)
        r->labels[0][0] = '\0';
    return rc;
}

void roots_done(struct roots *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->labels[i]);
        free(r->paths[i]);
    }
    r->count = 0;
}
