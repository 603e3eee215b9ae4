/* loop.c - signals and timers of the main thread. */
#include "daemon/loop.h"

#include "daemon/log.h"
#include "daemon/notify.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define TRIM_NS 5000000000ll

static void on_signal(evutil_socket_t fd, short what, void *arg)
{
    struct loop *l = arg;
    struct signalfd_siginfo info;
    (void)what;
    if (read(fd, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    if (info.ssi_signo == SIGHUP) {
        notify_send("RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_mono_ns() / 1000);
        l->reload(l->arg);
        notify_send("READY=1");
        return;
    }
    log_line(LOG_LEVEL_INFO, "stopping signal=%d", (int)info.ssi_signo);
    event_base_loopbreak(l->base);
}

static int64_t index_silence(const struct loop *l)
{
    int64_t max = 0;
    pthread_mutex_lock(l->site_lock);
    for (size_t i = 0; i < atomic_load(l->site_count); i++) {
        int64_t silence = l->sites[i]->ended ? 0 : index_silence_ns(l->sites[i]->index);
        max = silence > max ? silence : max;
    }
    pthread_mutex_unlock(l->site_lock);
    return max;
}

/* A thread that no longer makes progress (other than one that waits for a disk) is a bug that only
 * a restart repairs. */
static void on_watchdog(evutil_socket_t fd, short what, void *arg)
{
    struct loop *l = arg;
    int64_t http = http_silence_ns(l->http), index = index_silence(l);
    int64_t silence_ms = (http > index ? http : index) / 1000000;
    (void)fd, (void)what;
    if (silence_ms < (int64_t)l->watchdog_us / 1000)
        notify_send("WATCHDOG=1");
    else
        log_line(LOG_LEVEL_ERROR, "watchdog stuck=%s stuck_ms=%" PRId64,
                 http > index ? "query" : "index", silence_ms);
}

static const char *trouble_text(int error)
{
    return error == ERR_CORRUPT ? "index is corrupt; it will be rebuilt on next start"
                                : err_text(error);
}

/* Logs problems that an administrator should see without looking for them. */
static void log_troubles(struct daemon_site *l, const struct index_progress *p)
{
    if (p->store_error && p->store_error != l->store_error)
        log_line(LOG_LEVEL_ERROR, "indexing stopped error=\"%s\"%s%s", trouble_text(p->store_error),
                 p->store_error_host ? " host=" : "",
                 p->store_error_host ? p->store_error_host : "");
    else if (!p->store_error && l->store_error)
        log_line(LOG_LEVEL_INFO, "indexing resumed");
    l->store_error = p->store_error;
    if (p->files_failed > l->files_failed)
        log_line(LOG_LEVEL_WARNING, "files_failed count=%" PRIu64 " see=\"dftracerctl info -v\"",
                 p->files_failed);
    l->files_failed = p->files_failed;
    if (p->files_corrupt > l->files_corrupt)
        log_line(LOG_LEVEL_WARNING,
                 "index_corrupt files=%" PRIu64 " effect=\"they are indexed again\"",
                 p->files_corrupt - l->files_corrupt);
    l->files_corrupt = p->files_corrupt;
}

/* Returns the progress of all indexes together. */
static struct index_progress progress_of(struct loop *l)
{
    struct index_progress all = {.listed = true}, p;
    pthread_mutex_lock(l->site_lock);
    for (size_t i = 0; i < atomic_load(l->site_count); i++) {
        if (l->sites[i]->ended)
            continue;
        index_progress(l->sites[i]->index, &p);
        log_troubles(l->sites[i], &p);
        all.listed &= p.listed;
        all.store_error = all.store_error ? all.store_error : p.store_error;
        all.files += p.files;
        all.files_ready += p.files_ready;
        all.files_failed += p.files_failed;
        all.files_pending += p.files_pending;
        all.bytes += p.bytes;
        all.bytes_done += p.bytes_done;
    }
    pthread_mutex_unlock(l->site_lock);
    return all;
}

/* Arenas of malloc keep the memory that threads have freed, many times what an idle daemon needs.
 * Scan threads have freed their buffers by then, too. */
static void trim_memory(struct loop *l, const struct index_progress *p)
{
    int64_t idle_ns = http_idle_ns(l->http);
    l->untrimmed |= p->bytes_done != l->bytes_done || idle_ns < TRIM_NS;
    l->bytes_done = p->bytes_done;
    if (!l->untrimmed || idle_ns < TRIM_NS || p->files_pending)
        return;
    l->untrimmed = false;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Sends the progress of indexing to the service manager; the old command also prints it. */
static void report_status(struct loop *l)
{
    struct index_progress p = progress_of(l);
    char now[sizeof l->status];
    trim_memory(l, &p);
    if (p.store_error)
        snprintf(now, sizeof now, "indexing stopped: %s", trouble_text(p.store_error));
    else if (!p.listed || p.files_pending)
        snprintf(now, sizeof now, "indexing: %" PRIu64 " of %" PRIu64 " files, %" PRIu64 " %%",
                 p.files_ready + p.files_failed, p.files,
                 p.bytes ? p.bytes_done * 100 / p.bytes : 0);
    else
        snprintf(now, sizeof now, "ready: %" PRIu64 " files, %" PRIu64 " failed", p.files,
                 p.files_failed);
    if (strcmp(now, l->status) == 0)
        return;
    memcpy(l->status, now, sizeof now);
    notify_send("STATUS=%s", now);
    if (l->options->as_server && !log_is_off())
        fprintf(stderr, "%s\n", now);
}

/* A runtime directory is removed with its session. Returns the socket that is gone, or NULL.
 * Without it, no client can reach the index, and no other daemon can have it. */
static const char *removed_socket(const struct loop *l)
{
    const char *removed = NULL;
    pthread_mutex_lock(l->site_lock);
    for (size_t i = 0; l->only_sockets && i < atomic_load(l->site_count); i++) {
        const struct daemon_site *s = l->sites[i];
        if (!s->ended && s->socket && access(s->socket, F_OK) < 0 && errno == ENOENT)
            removed = s->socket;
    }
    pthread_mutex_unlock(l->site_lock);
    return removed;
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
    struct loop *l = arg;
    uint64_t most_ms = l->options->idle_exit_ms;
    const char *removed = NULL;
    (void)fd, (void)what;
    report_status(l);
    if (most_ms && (uint64_t)http_idle_ns(l->http) / 1000000 >= most_ms) {
        log_line(LOG_LEVEL_INFO, "stopping idle_ms=%" PRIu64, most_ms);
        l->idle = true;
        event_base_loopbreak(l->base);
    } else if ((removed = removed_socket(l))) {
        log_line(LOG_LEVEL_INFO, "stopping socket_removed=%s", removed);
        event_base_loopbreak(l->base);
    }
}

static sigset_t own_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    return set;
}

/* Threads that start later have these signals blocked, too: none is interrupted, and none receives
 * a signal that the loop waits for. */
int loop_init(struct loop *l)
{
    sigset_t set = own_signals();
    l->base = event_base_new();
    if (!l->base)
        return -ENOMEM;
    /* loop_done unblocks the signals: a second TERM must not cut a clean stop short. A second ^C
     * may. */
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    l->events[0] = event_new(l->base, fd, EV_READ | EV_PERSIST, on_signal, l);
    if (!l->events[0])
        return close(fd), -ENOMEM;
    return event_add(l->events[0], NULL) < 0 ? -ENOMEM : 0;
}

static int add_timer(struct loop *l, size_t i, event_callback_fn call, uint64_t us)
{
    struct timeval every = {.tv_sec = (time_t)(us / 1000000), .tv_usec = (long)(us % 1000000)};
    l->events[i] = event_new(l->base, -1, EV_PERSIST, call, l);
    return l->events[i] && event_add(l->events[i], &every) == 0 ? 0 : -ENOMEM;
}

int loop_run(struct loop *l)
{
    uint64_t watchdog_us = l->watchdog_us = notify_watchdog_us(), second_us = 1000000;
    if (l->options->idle_exit_ms && l->options->idle_exit_ms < 1000)
        second_us = l->options->idle_exit_ms * 1000;
    notify_send("READY=1");
    report_status(l);
    int rc = add_timer(l, 1, on_second, second_us);
    if (rc == 0 && watchdog_us)
        rc = add_timer(l, 2, on_watchdog, watchdog_us / 2);
    if (rc == 0)
        rc = event_base_dispatch(l->base) < 0 ? -EIO : 0;
    notify_send("STOPPING=1");
    return rc;
}

void loop_done(struct loop *l)
{
    sigset_t set = own_signals();
    int fd = l->events[0] ? event_get_fd(l->events[0]) : -1;
    for (size_t i = 0; i < sizeof l->events / sizeof *l->events; i++)
        if (l->events[i])
            event_free(l->events[i]);
    if (fd >= 0)
        close(fd);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    if (l->base)
        event_base_free(l->base);
}
