/* selection.h - the parameters that all queries share: which files, and which of their objects.
 * Used by endpoints, and by readiness (which files a request waits for).
 * Threads: those of the request, one at a time. Memory: in the request's arena.
 */
#ifndef DFTRACERD_HTTP_REQUEST_SELECTION_H
#define DFTRACERD_HTTP_REQUEST_SELECTION_H

#include "http/request/endpoint.h"

#define PARAM_ROW(...) \
    { \
        __VA_ARGS__ \
    }
/* dir, file, recursive, query, preset ... with these defaults; `prefix` before each name. */
#define SELECTION_PARAMS(prefix, recursive, time, phase) \
    PARAM_ROW(prefix "dir", PARAM_TEXT, true, NULL, NULL, \
              "directory whose trace files are selected; repeatable; default all", false, \
              "['.']"), \
        PARAM_ROW(prefix "file", PARAM_TEXT, true, NULL, NULL, \
                  "trace file or glob pattern; repeatable", false, "['rank_*.pfw.gz']"), \
        PARAM_ROW(prefix "recursive", PARAM_BOOL, false, recursive, NULL, \
                  "include subdirectories"), \
        PARAM_ROW(prefix "query", PARAM_TEXT, false, NULL, NULL, \
                  "filter expression, for example: cat == \"POSIX\" and dur > 1ms", false, \
                  "'cat == \\'POSIX\\' and (dur > 10ms or size >= 1MiB)'"), \
        PARAM_ROW(prefix "preset", PARAM_CHOICE, false, NULL, "io|compute|dlio", \
                  "predefined filter, ANDed with query"), \
        PARAM_ROW(prefix "time_range", PARAM_TIME_RANGE, false, NULL, NULL, \
                  "from,to: select events that start in this window (microseconds)", false, \
                  "'0,5s'"), \
        PARAM_ROW(prefix "time", PARAM_CHOICE, false, time, "start|overlap", \
                  "start: select events that start in time_range; overlap: select events that " \
                  "overlap it"), \
        PARAM_ROW(prefix "min_duration", PARAM_DURATION, false, NULL, NULL, \
                  "minimum duration, inclusive", false, "'10ms'"), \
        PARAM_ROW(prefix "max_duration", PARAM_DURATION, false, NULL, NULL, \
                  "maximum duration, inclusive", false, "'1s'"), \
        PARAM_ROW(prefix "phase", PARAM_CHOICE, false, phase, \
                  "events|counters|aggregated|metadata|data|any", \
                  "kinds of objects to select; data: all but metadata"), \
        PARAM_ROW(prefix "within", PARAM_TEXT, false, NULL, NULL, \
                  "filter for other events: select only objects that overlap one of them in time", \
                  false, "'name == \\'write\\' and dur > 0'"), \
        PARAM_ROW(prefix "within_scope", PARAM_CHOICE, false, NULL, "process|thread|host|all", \
                  "with within: where the other event must be: in the same process (default), " \
                  "thread or host, or anywhere (all)")
#define CLIP_PARAM(prefix) \
    { \
        prefix "clip", PARAM_BOOL, false, NULL, NULL, \
            "with within: count only the overlapping parts of durations" \
    }
extern const struct param_spec selection_params[];        /* dir file recursive query preset ... */
extern const struct param_spec selection_events_params[]; /* the same, phase=events unless given */
extern const struct param_spec clip_params[];             /* clip, where durations are told */
extern const struct param_spec answer_params[];           /* format pretty wait timeout */
extern const struct param_spec page_params[];             /* limit offset */
/* dir, file, recursive, as far as the endpoint has them. Borrowed from the request. */
void selection_read_files(struct request *rq, struct selection *s);
int selection_read(struct request *rq, struct selection *ret);
/* Changes what parameters with this prefix say. */
int selection_change(struct request *rq, const char *prefix, struct selection *s);
/* Opens the query of a selection and notes completeness in the answer. */
int selection_open(struct request *rq, const struct selection *s, struct query **ret);

#endif
