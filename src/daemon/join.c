/* join.c - the request of one daemon to another: texts that end with NUL: "serve", settings,
 * threads, directory of the index, label and path of each directory; or "end" and a directory of an
 * index.
 * The answer is 0, or a number and a reason. */
#include "daemon/join.h"

#include "daemon/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define REQUEST_MAX (1u << 20) /* 64 directories of 4096 bytes, twice */
#define LOCK_MS 20000          /* a starting daemon first opens its index */
#define LOCK_STEP_MS 10
#define SEND_S 5   /* another daemon sends at once */
#define SERVE_S 15 /* ... and waits until the index is open */

/* ---- both sides ------------------------------------------------------------------------------ */

static bool is_own_peer(int fd)
{
    struct ucred peer;
    socklen_t n = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == geteuid();
}

static void limit_time(int fd, int seconds)
{
    struct timeval t = {.tv_sec = seconds};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

static int send_all(int fd, const struct buf *text)
{
    for (size_t at = 0; at < text->len && !text->error;) {
        ssize_t n = send(fd, text->data + at, text->len - at, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return -errno;
        at += n > 0 ? (size_t)n : 0;
    }
    return text->error;
}

/* Receives to the end, and appends a NUL. */
static int receive_all(int fd, struct buf *ret)
{
    char piece[4096];
    ssize_t n;
    while ((n = recv(fd, piece, sizeof piece, 0)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        buf_append(ret, piece, (size_t)n);
        if (ret->len > REQUEST_MAX)
            return -EMSGSIZE;
    }
    buf_putc(ret, '\0');
    return ret->error;
}

static void put_text(struct buf *out, const char *text)
{
    buf_append(out, text, strlen(text) + 1);
}

/* Returns NULL at the end. */
static const char *next_text(const struct buf *text, size_t *at)
{
    const char *found = text->data + *at;
    if (*at + 1 >= text->len) /* receive_all has appended the last NUL */
        return NULL;
    *at += strlen(found) + 1;
    return found;
}

/* ---- the starting daemon --------------------------------------------------------------------- */

/* Locks the directory itself: a lock file would be left there. */
static void lock_directory(struct join *j)
{
    char *dir = strndup(j->path, (size_t)(strrchr(j->path, '/') - j->path));
    j->lock_fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(dir);
    for (int ms = 0; j->lock_fd >= 0 && ms < LOCK_MS; ms += LOCK_STEP_MS) {
        if (flock(j->lock_fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return;
        usleep(LOCK_STEP_MS * 1000);
    }
}

int join_init(struct join *j, const struct rendezvous *m, const struct options *o)
{
    char name[64];
    options_settings(o, &j->settings);
    if (j->settings.error)
        return -ENOMEM;
    snprintf(name, sizeof name, "%016llx.join",
             (unsigned long long)text_hash((struct text){j->settings.data, j->settings.len}));
    buf_putc(&j->settings, '\0');
    j->path = rendezvous_path(m, name);
    if (j->path)
        lock_directory(j);
    return j->settings.error;
}

static int connect_to(const char *path)
{
    struct sockaddr_un a;
    int fd = rendezvous_address(path, &a) ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0)
        return -1;
    limit_time(fd, SERVE_S);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0 && is_own_peer(fd))
        return fd;
    close(fd);
    return -1;
}

/* Sends a request, and returns whether the answer is 0; `event`: logged with the reason if it is
 * not, or NULL. */
static bool send_request(const char *path, const struct buf *out, const char *event)
{
    struct buf in = {0};
    int fd = connect_to(path);
    if (fd < 0)
        return false;
    int rc = send_all(fd, out);
    shutdown(fd, SHUT_WR);
    if (rc == 0)
        rc = receive_all(fd, &in);
    bool done = rc == 0 && strcmp(in.data, "0") == 0;
    if (rc == 0 && !done && event)
        log_line(LOG_LEVEL_INFO, "%s error=\"%s\"", event,
                 in.data + strspn(in.data, "-0123456789 "));
    close(fd);
    buf_done(&in);
    return done;
}

bool join_running(const struct join *j, const struct join_request *request)
{
    struct buf out = {0};
    char threads[24];
    snprintf(threads, sizeof threads, "%llu", (unsigned long long)request->threads);
    put_text(&out, "serve");
    put_text(&out, j->settings.data);
    put_text(&out, threads);
    put_text(&out, request->index_path);
    for (size_t i = 0; i < request->roots.count; i++) {
        put_text(&out, request->roots.labels[i]);
        put_text(&out, request->roots.paths[i]);
    }
    bool joined = j->path && send_request(j->path, &out, "not_joined");
    buf_done(&out);
    return joined;
}

bool join_end(const struct rendezvous *m, const char *index_path)
{
    struct buf out = {0};
    bool ended = false;
    glob_t found;
    if (!m->list || rendezvous_glob(m, ".join", &found) != 0)
        return false;
    put_text(&out, "end");
    put_text(&out, index_path);
    for (size_t i = 0; i < found.gl_pathc && !ended; i++)
        ended = send_request(found.gl_pathv[i], &out, NULL);
    globfree(&found);
    buf_done(&out);
    return ended;
}

/* ---- the running daemon ---------------------------------------------------------------------- */

/* Labels and paths are copied. Returns -EINVAL if a request is malformed. */
static int read_request(const struct join *j, const struct buf *text, size_t at,
                        struct join_request *ret, struct err *err)
{
    const char *settings = next_text(text, &at), *threads = next_text(text, &at),
               *index_path = next_text(text, &at), *label, *path;
    struct roots *r = &ret->roots;
    if (!index_path || num_parse_u64(text_of(threads), &ret->threads) < 0)
        return err_set(err, -EINVAL, "the request is incomplete");
    if (strcmp(settings, j->settings.data) != 0)
        return err_set(err, -EINVAL, "this daemon has other options");
    ret->index_path = index_path;
    while ((label = next_text(text, &at)) && (path = next_text(text, &at))) {
        if (r->count == OPTIONS_LIST_MAX)
            return err_set(err, -E2BIG, "too many directories");
        r->labels[r->count] = strdup(label);
        r->paths[r->count] = strdup(path);
        r->count++;
        if (!r->labels[r->count - 1] || !r->paths[r->count - 1])
            return -ENOMEM;
    }
    return r->count ? 0 : err_set(err, -EINVAL, "the request names no directory");
}

static void send_answer(int fd, int rc, const struct err *err)
{
    struct buf out = {0};
    if (rc < 0)
        buf_printf(&out, "%d %s", rc, err->text[0] ? err->text : err_text(rc));
    else
        buf_puts(&out, "0");
    send_all(fd, &out);
    buf_done(&out);
}

static int handle_request(struct join *j, const struct buf *text, struct err *err)
{
    size_t at = 0;
    struct join_request request = {0};
    const char *what = next_text(text, &at);
    bool ends = what && strcmp(what, "end") == 0;
    const char *index_path = ends ? next_text(text, &at) : NULL;
    if (index_path)
        return j->end(j->arg, index_path, err);
    if (ends || !what || strcmp(what, "serve") != 0)
        return err_set(err, -EINVAL, "the request is unknown");
    int rc = read_request(j, text, at, &request, err);
    if (rc == 0)
        rc = j->serve(j->arg, &request, err);
    roots_done(&request.roots);
    return rc;
}

/* Accepts requests until join_stop shuts the socket down. */
static void *join_main(void *arg)
{
    struct join *j = arg;
    int fd;
    pthread_setname_np(pthread_self(), "dft-join");
    while (!atomic_load(&j->ending)) {
        fd = accept4(j->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0 && is_own_peer(fd) && !atomic_load(&j->ending)) {
            struct buf text = {0};
            struct err err = {0};
            limit_time(fd, SEND_S);
            int rc = receive_all(fd, &text);
            if (rc == 0)
                rc = handle_request(j, &text, &err);
            send_answer(fd, rc, &err);
            buf_done(&text);
            err_done(&err);
        }
        if (fd >= 0)
            close(fd);
        else
            usleep(20000); /* no descriptors, no memory */
    }
    return NULL;
}

/* Listens under a temporary name first, so that there is never a socket without a listener. */
static int listen_at(struct join *j)
{
    struct sockaddr_un a;
    struct stat st;
    char *part = NULL;
    if (asprintf(&part, "%.*s/.join-%d", (int)(strrchr(j->path, '/') - j->path), j->path,
                 (int)getpid()) < 0)
        return -ENOMEM;
    unlink(part);
    j->fd = rendezvous_address(part, &a) ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    int rc = 0;
    if (j->fd < 0 || fchmod(j->fd, 0600) < 0 || bind(j->fd, (struct sockaddr *)&a, sizeof a) < 0 ||
        listen(j->fd, 64) < 0 || stat(part, &st) < 0 || rename(part, j->path) < 0)
        rc = -errno;
    else
        j->inode = st.st_ino;
    free(part);
    return rc;
}

static void remove_socket(const struct join *j)
{
    struct stat st;
    /* The name may belong to another daemon by now. */
    if (lstat(j->path, &st) == 0 && st.st_ino == j->inode)
        unlink(j->path);
}

int join_listen(struct join *j)
{
    int rc = j->path ? listen_at(j) : 0;
    if (rc == 0 && j->path) {
        rc = -pthread_create(&j->thread, NULL, join_main, j);
        j->running = rc == 0;
        if (rc < 0)
            remove_socket(j); /* other daemons would wait for an answer */
    }
    if (j->lock_fd >= 0)
        close(j->lock_fd);
    j->lock_fd = -1;
    return rc;
}

void join_stop(struct join *j)
{
    if (!j->running)
        return;
    remove_socket(j);
    atomic_store(&j->ending, true);
    shutdown(j->fd, SHUT_RDWR); /* makes accept fail */
    pthread_join(j->thread, NULL);
    j->running = false;
}

void join_done(struct join *j)
{
    join_stop(j);
    if (j->lock_fd >= 0)
        close(j->lock_fd);
    if (j->fd >= 0)
        close(j->fd);
    buf_done(&j->settings);
    free(j->path);
}
