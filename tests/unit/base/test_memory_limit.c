/* module: base */
#include "check.h"
#include "dftracerd/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files of /proc and of control groups below a scratch directory. */
static char root[] = "/tmp/dftracerd-memory.XXXXXX";

static void put(const char *path, const char *text)
{
    char full[512], *p;
    FILE *f;

    snprintf(full, sizeof full, "%s/%s", root, path);
    for (p = full + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        mkdir(full, 0700);
    }
    f = fopen(full, "w");
    CHECK(f != NULL);
    fputs(text, f);
    fclose(f);
}

static void clear(void)
{
    char command[64];

    snprintf(command, sizeof command, "rm -rf %s", root);
    CHECK(system(command) == 0);
    snprintf(root, sizeof root, "/tmp/dftracerd-memory.XXXXXX");
}

static void begin(void)
{
    CHECK(mkdtemp(root) != NULL);
}

static uint64_t machine(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

#define V2 "30 1 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
#define V1 "35 31 0:32 %s /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"

static void version2(void)
{
    struct memory_limit limit;

    begin();
    put("proc/self/mountinfo", V2);
    put("proc/self/cgroup", "0::/user.slice/job\n");
    put("sys/fs/cgroup/user.slice/job/memory.max", "max\n");
    CHECK(memory_limit_below(root).bytes == machine());
    /* A group above it limits it, too; the least counts. */
    put("sys/fs/cgroup/user.slice/memory.max", "314572800\n");
    limit = memory_limit_below(root);
    CHECK(limit.bytes == 314572800 && strcmp(limit.source, "the control group") == 0);
    put("sys/fs/cgroup/user.slice/job/memory.high", "125829120\n");
    CHECK(memory_limit_below(root).bytes == 125829120);
    put("sys/fs/cgroup/user.slice/job/memory.max", "104857600\n");
    CHECK(memory_limit_below(root).bytes == 104857600);
    clear();
}

static void version1(void)
{
    char mounts[512];

    begin();
    snprintf(mounts, sizeof mounts, "1 0 8:1 / / rw - ext4 /dev/sda rw\n" V1, "/");
    put("proc/self/mountinfo", mounts);
    put("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/batch/job 7\n0::/\n");
    put("sys/fs/cgroup/memory/batch/job 7/memory.limit_in_bytes", "9223372036854771712\n");
    CHECK(memory_limit_below(root).bytes == machine());
    put("sys/fs/cgroup/memory/batch/job 7/memory.limit_in_bytes", "209715200\n");
    CHECK(memory_limit_below(root).bytes == 209715200);
    /* A container: what is mounted is a group itself, and may be called otherwise inside. */
    snprintf(mounts, sizeof mounts, V1, "/docker/1234");
    put("proc/self/mountinfo", mounts);
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "150000000\n");
    put("proc/self/cgroup", "4:memory:/docker/1234\n");
    CHECK(memory_limit_below(root).bytes == 150000000);
    put("proc/self/cgroup", "4:memory:/elsewhere/56\n");
    CHECK(memory_limit_below(root).bytes == 150000000);
    clear();
}

static void none(void)
{
    struct rlimit before, l;
    struct memory_limit limit;
    char text[120];

    begin();
    CHECK(memory_limit_below(root).bytes == machine());
    put("proc/self/mountinfo", "nonsense\n\n1 2 3\n");
    put("proc/self/cgroup", "nonsense\n");
    CHECK(memory_limit_below(root).bytes == machine());
    memory_explain(-EIO, text, sizeof text);
    CHECK(strcmp(text, "") == 0);
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    l = before;
    /* a sanitizer has mapped more: only what is said of it is of interest */
    l.rlim_cur = (rlim_t)1 << 46;
    CHECK(setrlimit(RLIMIT_AS, &l) == 0);
    CHECK(memory_address_space() == (uint64_t)1 << 46);
    limit = memory_limit_below(root);
    CHECK(limit.bytes == machine() && strcmp(limit.source, "the machine") == 0);
    memory_explain(-EAGAIN, text, sizeof text);
    CHECK(strstr(text, "ulimit -v") != NULL);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    clear();
}

static const struct check_test tests[] = {
    {"version2", version2},
    {"version1", version1},
    {"none", none},
    {NULL, NULL},
};
CHECK_MAIN(tests)
