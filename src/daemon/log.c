/* log.c - one line per event; control characters are escaped, so that a hostile file name cannot
 * forge a line. */
#include "daemon/log.h"

#include "dftracerd/base.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int threshold = LOG_LEVEL_INFO;
static atomic_bool requests = true;

int log_set_level(const char *name)
{
    static const struct {
        const char *name;
        int level;
    } levels[] = {
        {"off", LOG_LEVEL_OFF},   {"error", LOG_LEVEL_ERROR}, {"warning", LOG_LEVEL_WARNING},
        {"info", LOG_LEVEL_INFO}, {"debug", LOG_LEVEL_DEBUG},
    };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp(name, levels[i].name) == 0)
            return atomic_store(&threshold, levels[i].level), 0;
    return -EINVAL;
}

bool log_is_off(void)
{
    return atomic_load(&threshold) == LOG_LEVEL_OFF;
}

static size_t plain_length(const char *line)
{
    size_t n = 0;
    while ((unsigned char)line[n] >= 0x20 && line[n] != 0x7f)
        n++;
    return n;
}

static void write_line(int level, const char *line)
{
    struct buf out = {0};
    buf_reserve(&out, 256);
    if (getenv("JOURNAL_STREAM"))
        buf_printf(&out, "<%d>", level);
    while (*line) {
        size_t plain = plain_length(line);
        buf_append(&out, line, plain);
        line += plain;
        if (*line)
            buf_printf(&out, "\\x%02x", (unsigned char)*line++);
    }
    buf_putc(&out, '\n');
    /* The output is closed: from now on only errors are written. A full disk or pipe may have
     * space again later. */
    bool failed = !out.error && write(STDERR_FILENO, out.data, out.len) < 0;
    if (failed && (errno == EPIPE || errno == EIO || errno == EBADF))
        atomic_store(&threshold, LOG_LEVEL_ERROR);
    buf_done(&out);
}

void log_line(int level, const char *fmt, ...)
{
    char line[2048];
    va_list ap;
    if (level > atomic_load(&threshold))
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    write_line(level, line);
}

void log_set_requests(bool wanted)
{
    atomic_store(&requests, wanted);
}

void log_http(void *arg, int level, const char *line)
{
    (void)arg;
    if (level <= atomic_load(&threshold) && atomic_load(&requests))
        write_line(level, line);
}
