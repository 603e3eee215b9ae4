/* children_collect.c - collects the reports and traces of all processes at the end. */
#include "replay/processes/children_parts.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reads more of a child's report. Returns false at the end, or without memory. */
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

static void report_lost_child(struct children *c, const struct child *child, struct err *err)
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
    if (child->report.error)
        err_set_code(err, child->report.error);
    err_set(err, ERR_CANCELLED, "%.*s", (int)text.len, text.data ? text.data : "");
    buf_done(&text);
    for (uint32_t i = 0; i < child->pushed.count; i++)
        if (child->pushed.at[i])
            report_skip(c->report, i, "its process ended without a report", NULL,
                        child->pushed.at[i]);
}

/* Collects from a child. All have ended; they are handled in order, so that report and trace do not
 * depend on which was first. */
static int child_collect(struct children *c, struct child *child, struct err *err)
{
    int rc = ERR_CANCELLED;
    if (!report_is_whole(&child->report))
        report_lost_child(c, child, err);
    else if ((rc = report_merge(c->report,
                                (struct text){child->report.data + 8, child->report.len - 8})) < 0)
        err_set_code(err, rc);
    if (c->trace) {
        bool lacks = WIFEXITED(child->status) && WEXITSTATUS(child->status) == CHILD_TRACE_LACKS;
        trace_out_join(c->trace, child->part, *child->complete, lacks ? -EIO : 0);
        close(child->part);
    }
    return rc;
}

/* Waits for the end of a child whose report has been read. */
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

/* Reads all reports. They arrive when their processes end, in any order. */
static void read_reports(struct children *c)
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
    shared_start(c->shared, CHILDREN_START_NS);
    for (uint32_t i = 0; i < REPLAY_PROCESSES_MAX; i++)
        if (c->children[i].pid)
            close(c->children[i].to);
    read_reports(c);
    int rc = 0;
    for (uint32_t i = 0; i < REPLAY_PROCESSES_MAX; i++) {
        int one = c->children[i].started ? child_collect(c, &c->children[i], err) : 0;
        rc = rc ? rc : one;
    }
    return rc;
}
