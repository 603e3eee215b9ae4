/* children.c - starts the processes. */
#include "replay/processes/children_parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

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
        vec_done(&c->children[i].pushed);
        buf_done(&c->children[i].report);
    }
    free(c->children);
}

static void close_all(int *fds, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (fds[i] >= 0)
            close(fds[i]);
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
    /* In the child, close the ends of pipes that belong to the parent and to other children. */
    for (uint32_t i = 0; i < REPLAY_PROCESSES_MAX; i++) {
        struct child *other = &c->children[i];
        int fds[] = {other->to, other->from, other->part};
        if (other->pid)
            close_all(fds, other->part >= 0 ? 3 : 2);
    }
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
    child->batch = malloc(CHILD_BATCH * sizeof *child->batch);
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

int child_of(struct children *c, uint32_t process, struct child **ret)
{
    struct child *child = &c->children[process % REPLAY_PROCESSES_MAX];
    if (!child->pid && !child->dead && !child->substitute) {
        int rc = child_start(c, child);
        if (rc < 0 && !c->count)
            return rc;
        for (uint32_t i = 0; rc < 0 && !child->substitute; i++)
            if (c->children[i].batch)
                child->substitute = i + 1;
    }
    *ret = child->substitute ? &c->children[child->substitute - 1] : child;
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
