/* children.c - the parent's part: starting, feeding, collecting. */
#include "children.h"

#include "child.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCH = 64, START_NS = 10000000, POLL_MS = 1000 };

struct child {
    pid_t pid;          /* 0: not started, or it has ended */
    uint32_t stands_in; /* the child that does its work, + 1, where it could not be started */
    int to, from, part; /* pipes; its part of the trace */
    _Atomic uint64_t *complete; /* bytes of the part; in shared memory */
    struct message *batch;
    size_t batched, sent; /* messages; bytes of them that are in the pipe */
    uint64_t *pushed;     /* operations, by the number of their name */
    size_t pushed_cap;
    struct buf report;
    int status; /* as waitpid has it */
    int64_t trace_pid;
    struct text trace_host;
    bool started, dead;
};

int children_init(struct children *c, const struct replay_options *o, struct shared *s,
                  struct root *root, struct report *report)
{
    *c = (struct children){.options = o,
                           .shared = s,
                           .root = root,
                           .report = report,
                           .children = calloc(REPLAY_PROCESSES_MAX, sizeof *c->children)};
    return c->children ? 0 : -ENOMEM;
}

void children_done(struct children *c)
{
    for (uint32_t i = 0; c->children && i < REPLAY_PROCESSES_MAX; i++) {
        free(c->children[i].batch);
        free(c->children[i].pushed);
        buf_done(&c->children[i].report);
    }
    free(c->children);
}

/* ---- starting ---- */

static void close_all(int *fds, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* In the child: ends of pipes that belong to the parent, and to the other children. */
static void close_others(const struct children *c)
{
    for (uint32_t i = 0; i < REPLAY_PROCESSES_MAX; i++) {
        struct child *other = &c->children[i];
        int fds[] = {other->to, other->from, other->part};
        if (other->pid)
            close_all(fds, other->part >= 0 ? 3 : 2);
    }
}

static int child_fork(struct children *c, struct child *child, int down[2], int up[2])
{
    pid_t parent = getpid();
    child->pid = fork();
    if (child->pid < 0) {
        child->pid = 0;
        return -errno;
    }
    if (child->pid > 0)
        return 0;
    child->pid = 0;
    close_others(c);
    close(down[1]);
    close(up[0]);
    struct child_setup setup = {.options = c->options,
                                .shared = c->shared,
                                .root = c->root,
                                .report = c->report,
                                .parent = parent,
                                .in = down[0],
                                .out = up[1],
                                .part = child->part,
                                .complete = child->complete,
                                .ahead_max = c->ahead_max};
    child_main(&setup);
}

static int child_start(struct children *c, struct child *child)
{
    int fds[5] = {-1, -1, -1, -1, -1}, rc = 0;
    child->complete = shared_alloc(c->shared, sizeof *child->complete);
    child->batch = malloc(BATCH * sizeof *child->batch);
    if (!child->complete || !child->batch)
        rc = -ENOMEM;
    else if (pipe2(fds, O_CLOEXEC) < 0 || pipe2(fds + 2, O_CLOEXEC) < 0)
        rc = -errno;
    else if (c->trace && (fds[4] = trace_out_part(c->trace)) < 0)
        rc = fds[4];
    child->part = fds[4];
    if (rc == 0)
        rc = child_fork(c, child, fds, fds + 2);
    if (rc < 0) {
        close_all(fds, 5);
        free(child->batch);
        child->batch = NULL;
        return rc;
    }
    close(fds[0]);
    close(fds[3]);
    child->to = fds[1];
    child->from = fds[2];
    fcntl(child->to, F_SETFL, O_NONBLOCK);
    child->started = true;
    c->count++;
    return 0;
}

/* The child of a process; where it cannot be started, another one. */
static int child_of(struct children *c, uint32_t process, struct child **ret)
{
    struct child *child = &c->children[process % REPLAY_PROCESSES_MAX];
    if (!child->pid && !child->dead && !child->stands_in) {
        int rc = child_start(c, child);
        if (rc < 0 && !c->count)
            return rc;
        for (uint32_t i = 0; rc < 0 && !child->stands_in; i++)
            if (c->children[i].batch)
                child->stands_in = i + 1;
    }
    *ret = child->stands_in ? &c->children[child->stands_in - 1] : child;
    return 0;
}

int children_start(struct children *c, uint32_t processes, struct err *err)
{
    struct child *child;
    uint32_t n = processes < REPLAY_PROCESSES_MAX ? processes : REPLAY_PROCESSES_MAX;
    c->ahead_max = REPLAY_AHEAD_MAX / (n ? n : 16);
    for (uint32_t i = 0; i < n; i++) {
        int rc = child_of(c, i, &child);
        if (rc < 0)
            return err_set(err, rc, "cannot start a process: %s", err_text(rc));
    }
    return 0;
}

/* ---- feeding ---- */

/* Nobody performs it any more. */
static void message_drop(struct message *m)
{
    if (m->kind == MESSAGE_OPERATION)
        handle_release(m->op.handle);
    else if (m->kind == MESSAGE_RELEASE)
        handle_release(m->handle);
}

static void child_is_dead(struct children *c, struct child *child)
{
    child->dead = true;
    c->shared->broken = true;
    for (size_t i = child->sent / sizeof *child->batch; i < child->batched; i++)
        message_drop(&child->batch[i]);
    child->batched = child->sent = 0;
}

/* As much as the pipe takes; false: it takes no more now. */
static bool child_write(struct children *c, struct child *child)
{
    size_t all = child->batched * sizeof *child->batch;
    while (child->sent < all && !child->dead) {
        ssize_t n = write(child->to, (const char *)child->batch + child->sent, all - child->sent);
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n < 0 && errno != EINTR)
            child_is_dead(c, child);
        else if (n > 0)
            child->sent += (size_t)n;
    }
    child->batched = child->sent = 0;
    return true;
}

/* Its other pipe is closed: it has ended, which it does only after the last message. */
static bool has_died(const struct children *c, const struct child *child)
{
    siginfo_t info = {0};
    if (!c->ended)
        return true;
    waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid && (info.si_code != CLD_EXITED || info.si_status == CHILD_FAILED);
}

/* Until the pipe of `wanted` or another one takes more, or a child has died. */
static void wait_for_children(struct children *c, const struct child *wanted)
{
    static struct pollfd waiting[2 * REPLAY_PROCESSES_MAX];
    static struct child *of[2 * REPLAY_PROCESSES_MAX];
    nfds_t n = 0;
    for (uint32_t i = 0; i < REPLAY_PROCESSES_MAX; i++) {
        struct child *child = &c->children[i];
        if (!child->pid || child->dead)
            continue;
        of[n] = child;
        waiting[n++] = (struct pollfd){.fd = child->from};
        if (!child_write(c, child))
            waiting[n++] = (struct pollfd){.fd = child->to, .events = POLLOUT};
    }
    if (!wanted->batched || poll(waiting, n, POLL_MS) <= 0)
        return;
    for (nfds_t i = 0; i < n; i++)
        if (!waiting[i].events && waiting[i].revents & POLLHUP && has_died(c, of[i]))
            child_is_dead(c, of[i]);
}

/* All of it. Meanwhile the others get what there is for them. A child whose queues are full starts the clock. */
static void child_flush(struct children *c, struct child *child)
{
    while (!child_write(c, child))
        wait_for_children(c, child);
}

static void child_send(struct children *c, struct child *child, struct message *m)
{
    if (child->dead) {
        message_drop(m);
        return;
    }
    child->batch[child->batched++] = *m;
    if (child->batched == BATCH)
        child_flush(c, child);
}

/* Counts operations that a child has got: these are missing where it dies. */
static int count_pushed(struct child *child, const struct operation *op)
{
    if (op->name_id >= child->pushed_cap) {
        size_t cap = op->name_id + 32;
        uint64_t *grown = realloc(child->pushed, cap * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        memset(grown + child->pushed_cap, 0, (cap - child->pushed_cap) * sizeof *grown);
        child->pushed = grown;
        child->pushed_cap = cap;
    }
    child->pushed[op->name_id]++;
    return 0;
}

int children_push(struct children *c, struct operation *op)
{
    struct child *child;
    struct message m = {.kind = MESSAGE_OPERATION, .op = *op};
    int rc = child_of(c, op->lane->process, &child);
    rc = rc < 0 ? rc : count_pushed(child, op);
    if (rc < 0) {
        handle_release(op->handle);
        return rc;
    }
    if (!child->trace_host.ptr) {
        child->trace_pid = op->lane->pid;
        child->trace_host = op->lane->host;
    }
    if (!c->options->timing)
        shared_start(c->shared, 0);
    child_send(c, child, &m);
    return 0;
}

void children_release(struct children *c, struct handle *h)
{
    struct child *child;
    struct message m = {.kind = MESSAGE_RELEASE, .handle = h};
    if (child_of(c, h->process, &child) < 0)
        handle_release(h);
    else
        child_send(c, child, &m);
}

void children_flush(struct children *c)
{
    for (uint32_t i = 0; i < REPLAY_PROCESSES_MAX; i++)
        if (c->children[i].pid)
            child_flush(c, &c->children[i]);
}

/* ---- collecting ---- */

/* More of its report; false at the end. */
static bool child_read(struct child *child)
{
    char *at = buf_reserve(&child->report, PIPE_BUF);
    if (!at)
        return false;
    ssize_t n = read(child->from, at, PIPE_BUF);
    child->report.len += n > 0 ? (size_t)n : 0;
    return n > 0 || (n < 0 && errno == EINTR);
}

static bool report_is_whole(const struct buf *b)
{
    uint64_t len = 0;
    if (b->len >= sizeof len)
        memcpy(&len, b->data, sizeof len);
    return b->len >= sizeof len && len == b->len - sizeof len;
}

static void child_report(struct children *c, const struct child *child, struct err *err)
{
    struct buf text = {0};
    int status = child->status;
    buf_printf(&text, "the process that replayed process %lld of the trace",
               (long long)child->trace_pid);
    if (child->trace_host.len) {
        buf_puts(&text, ", host ");
        buf_json_text(&text, child->trace_host);
    }
    if (WIFSIGNALED(status))
        buf_printf(&text, ", was killed by signal %d", WTERMSIG(status));
    else
        buf_printf(&text, ", ended with status %d before its report", WEXITSTATUS(status));
    err_set(err, ERR_CANCELLED, "%.*s", (int)text.len, text.data ? text.data : "");
    buf_done(&text);
    for (uint32_t i = 0; i < child->pushed_cap; i++)
        if (child->pushed[i])
            report_skip(c->report, i, "its process ended without a report", NULL, child->pushed[i]);
}

/* All have ended: in their order, so that the report and the trace do not depend on which was first. */
static int child_collect(struct children *c, struct child *child, struct err *err)
{
    int rc = ERR_CANCELLED;
    if (report_is_whole(&child->report))
        rc = report_merge(c->report, (struct text){child->report.data + 8, child->report.len - 8});
    else
        child_report(c, child, err);
    if (c->trace) {
        bool lacks = WIFEXITED(child->status) && WEXITSTATUS(child->status) == CHILD_TRACE_LACKS;
        trace_out_join(c->trace, child->part, *child->complete, lacks ? -EIO : 0);
        close(child->part);
    }
    return rc;
}

/* It has sent what it has to say. */
static void child_wait(struct children *c, struct child *child)
{
    close(child->from);
    while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
        ;
    child->pid = 0;
    child->dead = true;
    if (!report_is_whole(&child->report))
        c->shared->broken = true;
}

/* Reports come when their processes have ended, in any order. */
static void read_all(struct children *c)
{
    static struct pollfd waiting[REPLAY_PROCESSES_MAX];
    static struct child *of[REPLAY_PROCESSES_MAX];
    for (;;) {
        nfds_t n = 0;
        for (uint32_t i = 0; i < REPLAY_PROCESSES_MAX; i++) {
            if (!c->children[i].pid)
                continue;
            of[n] = &c->children[i];
            waiting[n++] = (struct pollfd){.fd = c->children[i].from, .events = POLLIN};
        }
        if (!n)
            return;
        if (poll(waiting, n, -1) < 0)
            continue;
        for (nfds_t i = 0; i < n; i++)
            if (waiting[i].revents && !child_read(of[i]))
                child_wait(c, of[i]);
    }
}

int children_finish(struct children *c, struct err *err)
{
    struct message end = {.kind = MESSAGE_END};
    for (uint32_t i = 0; i < REPLAY_PROCESSES_MAX; i++)
        if (c->children[i].pid)
            child_send(c, &c->children[i], &end);
    c->ended = true;
    children_flush(c);
    shared_start(c->shared, START_NS);
    for (uint32_t i = 0; i < REPLAY_PROCESSES_MAX; i++)
        if (c->children[i].pid)
            close(c->children[i].to);
    read_all(c);
    int rc = 0;
    for (uint32_t i = 0; i < REPLAY_PROCESSES_MAX; i++) {
        int one = c->children[i].started ? child_collect(c, &c->children[i], err) : 0;
        rc = rc ? rc : one;
    }
    return rc;
}
