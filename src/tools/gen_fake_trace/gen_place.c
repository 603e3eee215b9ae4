/* gen_place.c - writes files under temporary names until all are complete. */
#include "tools/gen_fake_trace/generate.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 64 };

static char target[PATH_MAX];
/* "" if the file is written directly, or all is complete */
static char part[PATH_MAX + NAME_BYTES];
static bool target_exists; /* it is a directory: the files are moved into it */
/* length of the path of the first directory above `part` that had to be created */
static size_t created_len;
static volatile sig_atomic_t stopped;

bool place_is_stopped(void)
{
    return stopped;
}

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

void place_remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void remove_part(void)
{
    char *slash;
    if (!part[0])
        return;
    place_remove_tree(part);
    while (created_len && (slash = strrchr(part, '/')) && (size_t)(slash - part) >= created_len) {
        *slash = '\0';
        rmdir(part);
    }
}

static void make_directories(void)
{
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = mkdir(part, 0777);
        *slash = '/';
        if (rc == 0 && !created_len)
            created_len = (size_t)(slash - part);
        if (rc && errno != EEXIST)
            fail("%s: %s", target, strerror(errno));
    }
    place_remove_tree(part); /* left by a killed program with the same process id */
    if (mkdir(part, 0777))
        fail("%s: %s", target, strerror(errno));
}

void place_begin(const struct options *o)
{
    const char *path = o->dir ? o->dir : o->single;
    size_t len = strlen(path);
    struct stat st;
    while (o->dir && len > 1 && path[len - 1] == '/')
        len--;
    if (len + NAME_BYTES > sizeof target)
        fail("%s: %s", path, strerror(ENAMETOOLONG));
    memcpy(target, path, len);
    bool exists = stat(target, &st) == 0;
    if (o->single && (strcmp(path, "-") == 0 || (exists && !S_ISREG(st.st_mode))))
        return;
    target_exists = o->dir && exists;
    if (target_exists && !S_ISDIR(st.st_mode))
        fail("%s is not a directory", target);
    /* Signals that are ignored, as after nohup, stay ignored. SIGXFSZ: exceeding the limit of file
     * size is an error of write. */
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE};
    struct sigaction old, new = {.sa_handler = on_signal};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &new, NULL);
    signal(SIGXFSZ, SIG_IGN);
    atexit(remove_part);
    snprintf(part, sizeof part, "%s%s.part.%d", target, target_exists ? "/" : "", (int)getpid());
    if (o->dir)
        make_directories();
}

/* Returns PATH, or PATH/NAME if it is a directory. */
static void file_path(const struct options *o, const char *path, uint64_t file, char *ret,
                      size_t size)
{
    if (o->single)
        snprintf(ret, size, "%s", path);
    else
        snprintf(ret, size, "%s/%s_%llu.pfw%s", path, o->files ? "trace" : "rank",
                 (unsigned long long)file, o->plain ? "" : ".gz");
}

int place_open(const struct options *o, uint64_t file, char *name, size_t size)
{
    char path[PATH_MAX];
    file_path(o, target, file, name, size);
    file_path(o, part[0] ? part : target, file, path, sizeof path);
    int fd = o->single && strcmp(target, "-") == 0
                 ? dup(STDOUT_FILENO)
                 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return fd < 0 ? -errno : fd;
}

static void move_file(const char *from, const char *to)
{
    if (rename(from, to))
        fail("%s: %s", to, strerror(errno));
}

void place_end(const struct options *o)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct stat st;
    for (uint64_t i = 0; target_exists && i < generate_file_count(o); i++) {
        file_path(o, target, i, to, sizeof to);
        if (lstat(to, &st) == 0 && S_ISDIR(st.st_mode))
            fail("%s is a directory", to);
    }
    for (uint64_t i = 0; target_exists && i < generate_file_count(o); i++) {
        file_path(o, part, i, from, sizeof from);
        file_path(o, target, i, to, sizeof to);
        move_file(from, to);
    }
    if (target_exists)
        rmdir(part);
    else if (part[0])
        move_file(part, target);
    part[0] = '\0';
}
