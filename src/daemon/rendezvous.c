/* rendezvous.c - the runtime directory, which only the user can write to, and two files in it. */
#include "daemon/rendezvous.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

bool rendezvous_address(const char *path, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof ret->sun_path)
        return false;
    memcpy(ret->sun_path, path, strlen(path) + 1);
    return true;
}

static int name_files(struct rendezvous *m, const char *dir, const char *index_path,
                      struct err *err)
{
    unsigned long long name = text_hash(text_of(index_path));
    struct sockaddr_un a;
    if (asprintf(&m->socket, "%s/%016llx.sock", dir, name) < 0)
        return m->socket = NULL, -ENOMEM;
    if (asprintf(&m->list, "%s/%016llx.roots", dir, name) < 0)
        return m->list = NULL, -ENOMEM;
    if (!rendezvous_address(m->socket, &a))
        return err_set(err, -ENAMETOOLONG, "the socket path %s is longer than %zu bytes", m->socket,
                       sizeof a.sun_path - 1);
    return 0;
}

static int try_dir(struct rendezvous *m, const char *dir, const char *index_path, struct err *err)
{
    if (dir[0] != '/')
        return err_set(err, -ENOTDIR, "runtime directory %s is not an absolute path", dir);
    int rc = place_make_own(dir, 022, NULL, err);
    if (rc == 0 && access(dir, W_OK | X_OK) < 0)
        rc = err_set(err, -errno, "runtime directory %s: %s", dir, strerror(errno));
    if (rc == 0)
        rc = name_files(m, dir, index_path, err);
    if (rc < 0)
        rendezvous_done(m);
    return rc;
}

/* The owner of a directory can replace its files. */
static bool is_own(const char *dir)
{
    struct stat st;
    return stat(dir, &st) == 0 && st.st_uid == geteuid();
}

void rendezvous_dirs(struct runtime_dirs *ret)
{
    const char *chosen = getenv("DFTRACERD_RUNTIME_DIR"), *session = getenv("XDG_RUNTIME_DIR");
    const size_t size = sizeof ret->paths[0];
    unsigned uid = (unsigned)geteuid();
    ret->count = chosen && *chosen ? 1 : 2;
    if (ret->count == 1)
        snprintf(ret->paths[0], size, "%s", chosen);
    else if (session && *session)
        snprintf(ret->paths[0], size, "%s/dftracerd", session);
    else
        snprintf(ret->paths[0], size, "/run/user/%u/dftracerd", uid);
    snprintf(ret->paths[1], size, "/tmp/dftracerd-%u", uid);
}

int rendezvous_choose(struct rendezvous *m, const char *index_path, struct err *err)
{
    const char *session = getenv("XDG_RUNTIME_DIR");
    struct runtime_dirs dirs;
    rendezvous_dirs(&dirs);
    if (dirs.count > 1 && session && is_own(session) &&
        try_dir(m, dirs.paths[0], index_path, NULL) == 0)
        return 0;
    return try_dir(m, dirs.paths[dirs.count - 1], index_path, err);
}

char *rendezvous_path(const struct rendezvous *m, const char *name)
{
    char *path = NULL;
    struct sockaddr_un a;
    int dir = m->list ? (int)(strrchr(m->list, '/') - m->list) : 0;
    if (!m->list || asprintf(&path, "%.*s/%s", dir, m->list, name) < 0)
        return NULL;
    if (rendezvous_address(path, &a))
        return path;
    free(path);
    return NULL;
}

int rendezvous_glob(const struct rendezvous *m, const char *ending, glob_t *ret)
{
    struct buf pattern = {0};
    const char *name = strrchr(m->list, '/');
    for (const char *c = m->list; c < name; c++)
        buf_printf(&pattern, strchr("*?[\\", *c) ? "\\%c" : "%c", *c);
    buf_printf(&pattern, "/*%s", ending);
    buf_putc(&pattern, '\0');
    *ret = (glob_t){0};
    int rc = pattern.error ? GLOB_NOSPACE : glob(pattern.data, GLOB_NOSORT, NULL, ret);
    buf_done(&pattern);
    return rc;
}

static void write_roots(struct buf *out, const struct roots *roots)
{
    for (size_t i = 0; i < roots->count; i++) {
        for (const char *c = roots->paths[i]; *c; c++) {
            if (*c == '\n')
                buf_puts(out, "\\n");
            else
                buf_printf(out, strchr("\\\"", *c) ? "\\%c" : "%c", *c);
        }
        buf_putc(out, '\n');
    }
}

/* Writes the complete file or none. */
static int write_list(const char *path, const struct buf *text)
{
    char *part = NULL;
    if (text->error)
        return -ENOMEM;
    if (asprintf(&part, "%s.part", path) < 0)
        return -ENOMEM;
    unlink(part);
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t n = fd < 0 ? -1 : write(fd, text->data, text->len);
    int rc = n < 0 ? -errno : n < (ssize_t)text->len ? -ENOSPC : 0;
    if (fd >= 0)
        close(fd);
    if (rc == 0 && rename(part, path) < 0)
        rc = -errno;
    if (rc < 0)
        unlink(part);
    free(part);
    return rc;
}

/* With --unix, the socket is elsewhere: a symlink leads to it. */
static int link_socket(struct rendezvous *m, const char *unix_path)
{
    char *real = realpath(unix_path, NULL);
    if (!real)
        return -errno;
    unlink(m->socket);
    m->linked = symlink(real, m->socket) == 0;
    free(real);
    return m->linked ? 0 : -errno;
}

/* Returns whether a killed daemon has left the socket: it has no listener, and is too old to belong
 * to a starting daemon. */
static bool is_left_over(const char *sock)
{
    struct sockaddr_un a;
    struct stat st;
    if (!rendezvous_address(sock, &a))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool refused = fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) < 0 &&
                   (errno == ECONNREFUSED || errno == ENOENT);
    if (fd >= 0)
        close(fd);
    return refused && (lstat(sock, &st) < 0 || st.st_mtime + 60 < time(NULL));
}

/* Removes files with this ending that killed daemons have left: each has a socket of the same name
 * (.sock), or is one itself (.join). */
static void remove_leftovers(const struct rendezvous *m, const char *ending, const char *socket)
{
    glob_t found;
    if (rendezvous_glob(m, ending, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *path = found.gl_pathv[i], sock[4096];
        snprintf(sock, sizeof sock, "%.*s%s", (int)(strlen(path) - strlen(ending)), path, socket);
        if (is_left_over(sock)) {
            unlink(path);
            unlink(sock);
        }
    }
    globfree(&found);
}

int rendezvous_open(struct rendezvous *m, const char *unix_path, const struct roots *roots)
{
    struct buf text = {0};
    if (!m->list)
        return 0;
    remove_leftovers(m, ".roots", ".sock");
    remove_leftovers(m, ".join", ".join");
    int rc = strcmp(unix_path, m->socket) == 0 ? 0 : link_socket(m, unix_path);
    write_roots(&text, roots);
    if (rc == 0)
        rc = write_list(m->list, &text);
    m->listed = rc == 0;
    buf_done(&text);
    return rc;
}

void rendezvous_close(struct rendezvous *m)
{
    if (m->listed)
        unlink(m->list);
    if (m->linked)
        unlink(m->socket);
    m->listed = m->linked = false;
}

void rendezvous_done(struct rendezvous *m)
{
    free(m->socket);
    free(m->list);
    *m = (struct rendezvous){0};
}
