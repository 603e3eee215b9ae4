/* log.h - writes lines `event key=value` to stderr, with a syslog level prefix if journald reads
 * them.
 * Any thread. */
#ifndef DFTRACERD_DAEMON_LOG_H
#define DFTRACERD_DAEMON_LOG_H

#include <stdbool.h>

enum {
    LOG_LEVEL_OFF = -1,
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7
};

/* Sets the level: "off", "error", "warning", "info" or "debug"; returns -EINVAL for others. */
int log_set_level(const char *name);
bool log_is_off(void);
void log_line(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sets whether log_http writes lines; by default it does. */
void log_set_requests(bool wanted);
/* Writes the line of a request: a callback for http. */
void log_http(void *arg, int level, const char *line);

#endif
