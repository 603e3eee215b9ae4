/* log.h - lines `event key=value` to stderr, with the syslog level prefix where journald reads it.
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

/* "off", "error", "warning", "info", "debug"; -EINVAL else. */
int log_set_level(const char *name);
bool log_is_off(void);
void log_line(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Whether log_http writes anything; it does at first. */
void log_set_requests(bool wanted);
/* The line of a request, as http wants it. */
void log_http(void *arg, int level, const char *line);

#endif
