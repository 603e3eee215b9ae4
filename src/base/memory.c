/* memory.c - the limits of memory and address space of this process. */
#include "dftracerd/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PATH_BYTES 4096

static void lower_limit(struct memory_limit *limit, uint64_t bytes, const char *source)
{
    if (bytes < limit->bytes)
        *limit = (struct memory_limit){bytes, source};
}

/* ---- control groups -------------------------------------------------------------------------- */

/* Reads a file with one number of bytes; "max" and missing files are no limit. */
static uint64_t read_limit(const char *dir, const char *file)
{
    char path[PATH_BYTES + 64], text[32] = "";
    unsigned long long bytes = 0;
    FILE *f;

    if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path) ||
        !(f = fopen(path, "re")))
        return UINT64_MAX;
    if (!fgets(text, sizeof(text), f) || sscanf(text, "%llu", &bytes) != 1)
        bytes = UINT64_MAX;
    fclose(f);
    return bytes;
}

/* Applies the limits of a group and of all groups above it, up to the mount point, which is the
 * first `top` bytes of `dir`. */
static void read_groups(char *dir, size_t top, struct memory_limit *limit)
{
    static const char *const files[] = {"memory.max", "memory.high", "memory.limit_in_bytes"};

    for (;;) {
        for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
            lower_limit(limit, read_limit(dir, files[i]), "the control group");
        char *slash = strrchr(dir, '/');
        if (!slash || (size_t)(slash - dir) < top)
            return;
        *slash = '\0';
    }
}

/* Finds the group of this process in the hierarchy of the memory controller: lines of version 1
 * name the controller ("5:memory:/a/b"), those of version 2 do not ("0::/a/b"). */
static bool find_own_group(const char *root, bool version2, char *ret, size_t size)
{
    char path[PATH_BYTES + 32], line[PATH_BYTES];
    bool found = false;

    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof(line), f)) {
        char *controllers = strchr(line, ':'), *group = controllers;

        if (!group || !(group = strchr(++controllers, ':')))
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        for (char *save, *c = strtok_r(controllers, ",", &save); c; c = strtok_r(NULL, ",", &save))
            found |= !version2 && strcmp(c, "memory") == 0;
        found |= version2 && *controllers == '\0';
        if (found)
            snprintf(ret, size, "%s", strcmp(group, "/") == 0 ? "" : group);
    }
    if (f)
        fclose(f);
    return found;
}

/* Applies the limits of a mounted hierarchy, whose mount point shows the groups below `from`. */
static void read_mount(const char *root, const char *from, const char *point, bool version2,
                       struct memory_limit *limit)
{
    char group[PATH_BYTES] = "", dir[3 * PATH_BYTES];
    const char *below = group;
    size_t len = strcmp(from, "/") == 0 ? 0 : strlen(from);

    if (!find_own_group(root, version2, group, sizeof(group)))
        return;
    if (strncmp(group, from, len) == 0 && (group[len] == '/' || group[len] == '\0'))
        below += len;
    size_t top = (size_t)snprintf(dir, sizeof(dir), "%s%s", root, point);
    snprintf(dir + top, sizeof(dir) - top, "%s", below);
    /* In a container without a cgroup namespace, the mount point itself is its group. */
    if (access(dir, F_OK) < 0)
        dir[top] = '\0';
    read_groups(dir, top, limit);
}

static void read_cgroups(const char *root, struct memory_limit *limit)
{
    char path[PATH_BYTES + 32], line[2 * PATH_BYTES];

    snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        char from[PATH_BYTES], point[PATH_BYTES], type[32], options[256] = "";
        const char *rest = strstr(line, " - ");

        if (!rest || sscanf(line, "%*s %*s %*s %4095s %4095s", from, point) != 2 ||
            sscanf(rest, " - %31s %*s %255s", type, options) < 1)
            continue;
        if (strcmp(type, "cgroup2") == 0)
            read_mount(root, from, point, true, limit);
        else if (strcmp(type, "cgroup") == 0 && strstr(options, "memory"))
            read_mount(root, from, point, false, limit);
    }
    if (f)
        fclose(f);
}

/* ---- all limits ------------------------------------------------------------------------------ */

uint64_t memory_address_space(void)
{
    struct rlimit l;

    return getrlimit(RLIMIT_AS, &l) == 0 && l.rlim_cur != RLIM_INFINITY ? l.rlim_cur : UINT64_MAX;
}

struct memory_limit memory_limit_below(const char *root)
{
    struct memory_limit limit = {UINT64_MAX, "the machine"};
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    if (pages > 0 && page > 0)
        limit.bytes = (uint64_t)pages * (uint64_t)page;
    read_cgroups(root, &limit);
    lower_limit(&limit, memory_address_space(), "ulimit -v");
    return limit;
}

struct memory_limit memory_limit(void)
{
    return memory_limit_below("");
}

bool memory_is_mappable(uint64_t bytes)
{
    void *at = bytes > SIZE_MAX / 2 ? MAP_FAILED
                                    : mmap(NULL, (size_t)bytes, PROT_NONE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED)
        return false;
    munmap(at, (size_t)bytes);
    return true;
}

void memory_explain(int code, char *text, size_t size)
{
    uint64_t space = memory_address_space();
    struct rlimit threads;

    *text = '\0';
    if (space != UINT64_MAX && (code == -ENOMEM || code == -EAGAIN))
        snprintf(text, size, "the address space is limited to %llu KiB (ulimit -v)",
                 (unsigned long long)(space >> 10));
    else if (code == -EAGAIN && getrlimit(RLIMIT_NPROC, &threads) == 0 &&
             threads.rlim_cur != RLIM_INFINITY)
        snprintf(text, size, "threads and processes are limited to %llu (ulimit -u)",
                 (unsigned long long)threads.rlim_cur);
}
