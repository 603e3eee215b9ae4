/* children_feed.c - sends operations to children, and detects that one has died. */
#include "replay/processes/children_parts.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_MS = 1000 };

/* Drops a message whose process has died. */
static void message_drop(struct message *m)
{
    if (m->kind == MESSAGE_OPERATION)
        handle_forget(m->op.handle);
    else if (m->kind == MESSAGE_RELEASE)
        handle_forget(m->handle);
}

static void child_set_dead(struct children *c, struct child *child)
{
    child->dead = true;
    c->shared->broken = true;
    for (size_t i = child->sent / sizeof *child->batch; i < child->batched; i++)
        message_drop(&child->batch[i]);
    child->batched = child->sent = 0;
}

/* Writes as much as the pipe accepts. Returns false if it is full. */
static bool child_write(struct children *c, struct child *child)
{
    size_t all = child->batched * sizeof *child->batch;
    while (child->sent < all && !child->dead) {
        ssize_t n = write(child->to, (const char *)child->batch + child->sent, all - child->sent);
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n < 0 && errno != EINTR)
            child_set_dead(c, child);
        else if (n > 0)
            child->sent += (size_t)n;
    }
    child->batched = child->sent = 0;
    return true;
}

/* Returns whether a child that has closed its other pipe has died. It does that when it ends: after
 * the last message. */
static bool has_died(const struct children *c, const struct child *child)
{
    siginfo_t info = {0};
    if (!c->ended)
        return true;
    while (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    return info.si_code != CLD_EXITED || info.si_status == CHILD_FAILED;
}

/* Waits until the pipe of `wanted` or another one accepts more, or a child has died. */
static void wait_for_children(struct children *c, const struct child *wanted)
{
    static struct pollfd waiting[2 * REPLAY_PROCESSES_MAX];
    static struct child *of[2 * REPLAY_PROCESSES_MAX];
    nfds_t n = 0;
    for (uint32_t i = 0; i < REPLAY_PROCESSES_MAX; i++) {
        struct child *child = &c->children[i];
        if (!child->pid || child->dead || child->finished)
            continue;
        of[n] = child;
        waiting[n++] = (struct pollfd){.fd = child->from};
        if (!child_write(c, child))
            waiting[n++] = (struct pollfd){.fd = child->to, .events = POLLOUT};
    }
    if (!wanted->batched || poll(waiting, n, POLL_MS) <= 0)
        return;
    for (nfds_t i = 0; i < n; i++) {
        if (waiting[i].events || !(waiting[i].revents & POLLHUP))
            continue;
        if (has_died(c, of[i]))
            child_set_dead(c, of[i]);
        else
            of[i]->finished = true;
    }
}

/* Sends all buffered messages of a child, and those of others meanwhile. A child whose queues are
 * full starts the clock. */
static void child_flush(struct children *c, struct child *child)
{
    while (!child_write(c, child))
        wait_for_children(c, child);
}

void child_send(struct children *c, struct child *child, struct message *m)
{
    if (child->dead) {
        message_drop(m);
        return;
    }
    child->batch[child->batched++] = *m;
    if (child->batched == CHILD_BATCH)
        child_flush(c, child);
}

int children_push(struct children *c, struct operation *op)
{
    struct child *child;
    struct message m = {.kind = MESSAGE_OPERATION, .op = *op};
    int rc = child_of(c, op->lane->process, &child);
    rc = rc < 0 ? rc : vec_extend(&child->pushed, op->name_id + (size_t)1);
    if (rc < 0)
        return rc;                   /* the handle is closed when its process ends */
    child->pushed.at[op->name_id]++; /* these are missing if the child dies */
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
