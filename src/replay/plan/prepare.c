/* prepare.c - creates sparse or filled files, and their directories. */
#include "replay/plan/prepare.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* `now`: also directories that the trace itself creates, because it does so too late. */
static int make_parents(struct root *r, struct files *files, struct file *f, bool now)
{
    struct file *parent = files_parent(files, f);
    if (!parent || parent->prepared)
        return 0;
    if (!now && parent->first == FIRST_CREATED && parent->is_dir)
        return 0;
    int rc = make_parents(r, files, parent, true);
    if (rc == 0 && strcmp(parent->below, ".") != 0)
        rc = root_make_dir(r, parent);
    if (rc < 0 && rc != -EEXIST)
        return rc;
    parent->prepared = true;
    parent->early = rc == 0 && parent->first == FIRST_CREATED;
    return 0;
}

static int fill_file(const struct root *r, int fd, uint64_t size)
{
    static char data[1 << 20];
    struct stat s;
    if (fstat(fd, &s) < 0)
        return -errno;
    if (!data[0])
        memset(data, 'A', sizeof data);
    for (uint64_t at = (uint64_t)s.st_size; at < size && !r->shared->stopped;) {
        size_t want = size - at < sizeof data ? (size_t)(size - at) : sizeof data;
        ssize_t n = pwrite(fd, data, want, (off_t)at);
        if (n < 0 && errno != EINTR)
            return -errno;
        at += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int make_file(struct root *r, const struct files *files, struct file *f)
{
    int fd = root_open_file(r, f, O_CREAT | O_RDWR), rc = 0;
    struct stat s;
    if (fd == ROOT_NOT_OURS) /* a file of the user: it is used as it is */
        return root_stat(r, f, &s) == 0 && (uint64_t)s.st_size >= f->need ? 0 : ROOT_NOT_OURS;
    if (fd < 0)
        return fd;
    if (fstat(fd, &s) < 0)
        rc = -errno;
    else if ((uint64_t)s.st_size < f->need && files->options->prepare == REPLAY_DATA)
        rc = fill_file(r, fd, f->need);
    else if ((uint64_t)s.st_size < f->need && ftruncate(fd, (off_t)f->need) < 0)
        rc = -errno;
    close(fd);
    return rc;
}

int prepare_file(struct root *r, struct files *files, struct file *f)
{
    if (files->options->prepare == REPLAY_NONE || f->map >= 0 || f->first == FIRST_UNKNOWN)
        return 0;
    /* A rename brings its directory, so there must be none at its new path. */
    if (f->arrives && f->first == FIRST_CREATED)
        return 0;
    int rc = make_parents(r, files, f, f->first == FIRST_NEEDED);
    if (rc < 0 || f->first != FIRST_NEEDED || strcmp(f->below, ".") == 0)
        return rc;
    if (!f->is_dir)
        return make_file(r, files, f);
    rc = f->prepared ? 0 : root_make_dir(r, f);
    f->prepared = true;
    return rc == -EEXIST ? 0 : rc;
}

static void show_bar(size_t done, size_t all)
{
    int full = all ? (int)(done * 20 / all) : 20;
    fprintf(stderr, "\r\033[Kpreparing: [%.*s%.*s] %zu of %zu files", full, "####################",
            20 - full, "--------------------", done, all);
    if (done == all)
        fputs("\r\033[K", stderr);
}

int prepare_all(struct root *r, struct files *files, struct report *report, struct err *err)
{
    bool bar = isatty(STDERR_FILENO);
    uint64_t free_bytes;
    if (root_free_bytes(r, &free_bytes) == 0 && files->bytes_peak > free_bytes)
        return err_set(err, -ENOSPC,
                       "the files of this trace need %llu bytes, but only %llu are free below %s",
                       (unsigned long long)files->bytes_peak, (unsigned long long)free_bytes,
                       r->path);
    files_find_directories(files);
    /* Parents are added during the loop. */
    for (size_t i = 0; i < files_count(files) && !r->shared->stopped; i++) {
        struct file *f = files_at(files, i);
        int rc = f ? prepare_file(r, files, f) : -ENOMEM;
        if (f)
            f->surveyed = true;
        if (rc < 0)
            report_unprepared(report, rc);
        if (bar && (i % 1024 == 0 || i + 1 == files_count(files)))
            show_bar(i + 1, files_count(files));
    }
    return 0;
}
