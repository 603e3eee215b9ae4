/* input.c - reads whole lines and scans them. */
#include "replay/input/input_parts.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 20, PADDING = 64, POLL_MS = 200, JOINED_MAX = 8 };

int input_open(int fd, struct input **ret)
{
    struct input *in = calloc(1, sizeof *in);
    if (!in)
        return -ENOMEM;
    in->fd = fd;
    in->cap = 2 * PIECE;
    in->data = malloc(in->cap + PADDING);
    in->hashes = intern_new();
    int rc = in->data && in->hashes ? trace_scanner_new(NULL, &in->scanner) : -ENOMEM;
    if (rc < 0) {
        input_close(in);
        return rc;
    }
    *ret = in;
    return 0;
}

void input_close(struct input *in)
{
    if (!in)
        return;
    for (size_t i = 0; i < in->names.count; i++)
        free(in->names.at[i]);
    vec_done(&in->names);
    intern_free(in->hashes);
    trace_scanner_free(in->scanner);
    free(in->data);
    free(in);
}

void input_set_wait(struct input *in, void (*before_wait)(void *arg), void *arg,
                    const atomic_bool *stopped)
{
    in->before_wait = before_wait;
    in->before_wait_arg = arg;
    in->stopped = stopped;
}

int input_rewind(struct input *in)
{
    if (lseek(in->fd, 0, SEEK_SET) < 0)
        return -errno;
    in->len = in->begun = 0;
    in->at_end = in->scanning = in->skipping = false;
    in->invalid = 0; /* invalid lines are counted once */
    in->unit = TRACE_US;
    return 0;
}

uint64_t input_invalid(const struct input *in)
{
    struct trace_counts counts = {0};
    if (in->scanning)
        trace_scan_counts(in->scanner, &counts);
    return in->invalid + counts.invalid;
}

/* ---- whole lines ----------------------------------------------------------------------------- */

static int input_grow(struct input *in)
{
    if (in->cap >= TRACE_LINE_MAX + PIECE) { /* the line is too long: its rest is skipped */
        in->invalid += !in->skipping;
        in->skipping = true;
        in->len = 0;
        return 0;
    }
    char *data = realloc(in->data, in->cap * 2 + PADDING);
    if (!data)
        return -ENOMEM;
    in->data = data;
    in->cap *= 2;
    return 0;
}

/* Returns the end of the last complete line; NULL if there is none yet. */
static char *last_line_end(struct input *in, size_t from)
{
    char *newline = memrchr(in->data + from, '\n', in->len - from);
    if (newline && in->skipping) {
        char *first = memchr(in->data, '\n', in->len);
        in->len -= (size_t)(first + 1 - in->data);
        memmove(in->data, first + 1, in->len);
        in->skipping = false;
        newline = memrchr(in->data, '\n', in->len);
    }
    return newline;
}

/* A line break within a text is repaired only if the scanner has all of its lines. Returns an end
 * of line before a line that may continue another one. */
static char *before_continued(const struct input *in, char *newline)
{
    char *at = newline;
    for (int i = 0; at && i < JOINED_MAX; i++) {
        const char *next = at + 1, *end = in->data + in->len;
        char last = at > in->data ? at[-1] : '\n';
        if (next < end ? strchr("{[]\n", *next) != NULL : strchr("}],[\r\n", last) != NULL)
            return at;
        at = at > in->data ? memrchr(in->data, '\n', (size_t)(at - in->data)) : NULL;
    }
    return newline;
}

static bool ends_with_error(const struct input *in)
{
    static const struct text error = {"{\"error\":", 9};
    size_t end = in->begun && in->data[in->begun - 1] == '\n' ? in->begun - 1 : in->begun;
    const char *newline = end ? memrchr(in->data, '\n', end) : NULL;
    const char *line = newline ? newline + 1 : in->data;
    return text_starts((struct text){line, (size_t)(in->data + end - line)}, error);
}

/* Reads more input. Returns 0 at the end, and if the replay is stopped. A signal may arrive before
 * the wait as well as during it. */
static ssize_t input_read(struct input *in)
{
    struct pollfd p = {.fd = in->fd, .events = POLLIN};
    bool waits = poll(&p, 1, 0) == 0;
    if (waits && in->before_wait)
        in->before_wait(in->before_wait_arg);
    while (waits && poll(&p, 1, POLL_MS) <= 0)
        if (in->stopped && *in->stopped)
            return 0;
    for (;;) {
        ssize_t n = read(in->fd, in->data + in->len, in->cap - in->len);
        if (n >= 0)
            return n;
        if (errno != EINTR)
            return -errno;
    }
}

/* Fills the buffer with complete lines and starts to scan them. Returns 1; 0 at the end. */
static int input_fill(struct input *in)
{
    char *end = NULL;
    in->len -= in->begun;
    memmove(in->data, in->data + in->begun, in->len);
    in->begun = 0;
    while (!end && !in->at_end) {
        if (in->len + PIECE > in->cap && input_grow(in) < 0)
            return -ENOMEM;
        ssize_t n = input_read(in);
        if (n < 0)
            return (int)n;
        size_t from = in->len;
        in->len += (size_t)n;
        in->at_end = n == 0;
        end = n > 0 ? last_line_end(in, from) : NULL;
    }
    if (in->at_end && in->skipping)
        in->len = 0;
    in->begun = end ? (size_t)(before_continued(in, end) + 1 - in->data) : in->len;
    if (!in->begun)
        return 0;
    in->from = 0;
    trace_scan_begin(in->scanner, in->data, in->begun, in->unit);
    in->scanning = true;
    in->cut = ends_with_error(in);
    return 1;
}

int input_next(struct input *in, struct event *ret, struct err *err)
{
    struct trace_event t;
    for (;;) {
        if (in->scanning) {
            int rc = trace_scan_next(in->scanner, &t);
            if (rc)
                return rc < 0 ? rc : input_read_event(in, &t, ret);
            struct trace_counts counts;
            trace_scan_counts(in->scanner, &counts);
            in->invalid += counts.invalid;
            in->scanning = false;
        }
        int rc = in->at_end ? 0 : input_fill(in);
        if (rc == 0 && in->cut)
            return err_set(err, ERR_CORRUPT,
                           "the events are not complete: the input ends with an error");
        if (rc <= 0)
            return rc;
    }
}
