/* child.c - passes the messages of the parent to the threads of one process. */
#include "replay/processes/child.h"
#include "base/write_all.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { BATCH = 64 }; /* messages that are read at a time */

/* Reads complete messages. Returns their number, 0 at the end. */
static size_t read_messages(int fd, struct message *batch)
{
    size_t len = 0;
    while (len == 0 || len % sizeof *batch) {
        ssize_t n = read(fd, (char *)batch + len, BATCH * sizeof *batch - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        len += (size_t)n;
    }
    return len / sizeof *batch;
}

static int handle_message(struct runners *r, struct message *m)
{
    if (m->kind == MESSAGE_RELEASE) {
        handle_release(m->handle);
        return 0;
    }
    struct operation *op = malloc(sizeof *op);
    if (!op)
        return -ENOMEM;
    *op = m->op;
    return runners_push(r, op);
}

/* Handles messages until the parent has sent the last one. */
static int handle_messages(struct runners *r, int fd)
{
    static struct message batch[BATCH];
    for (size_t n; (n = read_messages(fd, batch)) > 0;) {
        for (size_t i = 0; i < n; i++) {
            if (batch[i].kind == MESSAGE_END)
                return 0;
            int rc = handle_message(r, &batch[i]);
            if (rc < 0)
                return rc;
        }
    }
    return -EPIPE;
}

static int send_report(const struct report *r, int fd)
{
    struct buf b = {0};
    uint64_t len = 0;
    buf_append(&b, &len, sizeof len);
    report_encode(r, &b);
    if (b.error)
        return b.error;
    len = b.len - sizeof len;
    memcpy(b.data, &len, sizeof len);
    return write_all(fd, (struct text){b.data, b.len});
}

void child_main(const struct child_setup *setup)
{
    struct runners r = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != setup->parent)
        _exit(CHILD_FAILED);
    /* The parent keeps its counts; those in this process are a copy that is not used. */
    struct report own;
    int rc = report_init(&own, setup->shared);
    if (rc == 0)
        *setup->report = own;
    rc = rc < 0 ? rc : runners_init(&r, setup->options, setup->shared, setup->root, setup->report);
    r.ahead_max = setup->ahead_max;
    r.start_ns = CHILDREN_START_NS;
    if (rc == 0 && setup->part >= 0)
        rc = trace_out_open_part(setup->part, setup->complete, &r.trace);
    if (rc == 0)
        rc = handle_messages(&r, setup->in);
    if (rc < 0)
        _exit(CHILD_FAILED);
    runners_finish(&r);
    fflush(NULL); /* streams that the trace does not close */
    int written = r.trace ? trace_out_close_part(r.trace) : 0;
    rc = send_report(setup->report, setup->out);
    _exit(rc < 0 ? CHILD_FAILED : written < 0 ? CHILD_TRACE_LACKS : 0);
}
