/* selection.h - the parameters that all queries share: which files, and which of their objects.
 * Used by endpoints, and by readiness (which files a request waits for).
 * Threads: those of the request, one at a time. Memory: in the request's arena.
 */
#ifndef DFTRACERD_HTTP_REQUEST_SELECTION_H
#define DFTRACERD_HTTP_REQUEST_SELECTION_H

#include "http/request/endpoint.h"

/* `prefix` precedes each name; the other arguments are defaults. */
#define FILES_PARAMS(prefix, recursive) \
    PARAM(prefix "dir", TEXT, "directory whose trace files are selected; repeatable; default all", \
          .repeatable = true, .example = "['.']"), \
        PARAM(prefix "file", TEXT, "trace file or glob pattern; repeatable", .repeatable = true, \
              .example = "['rank_*.pfw.gz']"), \
        PARAM(prefix "recursive", BOOL, "include subdirectories", .fallback = recursive)
#define SELECTION_PARAMS(prefix, recursive, time, phase) \
    FILES_PARAMS(prefix, recursive), \
        PARAM(prefix "query", TEXT, \
              "filter expression, for example: cat == \"POSIX\" and dur > 1ms", \
              .example = "'cat == \\'POSIX\\' and (dur > 10ms or size >= 1MiB)'"), \
        PARAM(prefix "preset", CHOICE, "predefined filter, ANDed with query", \
              .choices = "io|compute|dlio"), \
        PARAM(prefix "time_range", TIME_RANGE, \
              "from,to: select events that start in this window (microseconds)", \
              .example = "'0,5s'"), \
        PARAM(prefix "time", CHOICE, \
              "start: select events that start in time_range; overlap: select events that " \
              "overlap it", \
              .fallback = time, .choices = "start|overlap"), \
        PARAM(prefix "min_duration", DURATION, "minimum duration, inclusive", \
              .example = "'10ms'"), \
        PARAM(prefix "max_duration", DURATION, "maximum duration, inclusive", .example = "'1s'"), \
        PARAM(prefix "phase", CHOICE, "kinds of objects to select; data: all but metadata", \
              .fallback = phase, .choices = "events|counters|aggregated|metadata|data|any"), \
        PARAM(prefix "within", TEXT, \
              "filter for other events: select only objects that overlap one of them in time", \
              .example = "'name == \\'write\\' and dur > 0'"), \
        PARAM(prefix "within_scope", CHOICE, \
              "with within: where the other event must be: in the same process (default), " \
              "thread or host, or anywhere (all)", \
              .choices = "process|thread|host|all")
#define CLIP_PARAM(prefix) \
    PARAM(prefix "clip", BOOL, "with within: count only the overlapping parts of durations")
/* limit, offset; the arguments are further fields of their rows */
#define PAGE_PARAMS(...) \
    PARAM("limit", UINT, "maximum number of rows", .example = "100", ##__VA_ARGS__), \
        PARAM("offset", UINT, "number of rows to skip", .fallback = "0", ##__VA_ARGS__)
extern const struct param_spec files_params[];            /* dir file recursive */
extern const struct param_spec selection_params[];        /* dir file recursive query preset ... */
extern const struct param_spec selection_events_params[]; /* the same, phase=events unless given */
extern const struct param_spec clip_params[];             /* clip, for answers with durations */
extern const struct param_spec pretty_params[];           /* pretty */
extern const struct param_spec format_params[];           /* format pretty */
extern const struct param_spec answer_params[];           /* format pretty wait strict timeout */
extern const struct param_spec page_params[];             /* limit offset */
/* Reads dir, file and recursive, as far as the endpoint has them. Borrowed from the request. */
void selection_read_files(struct request *rq, struct selection *s);
int selection_read(struct request *rq, struct selection *ret);
/* True if nothing is indexed for the request: it has wait=no, or its endpoint has no `wait`. (By
 * default it does not wait, either, but the files that it selects are indexed.) */
bool selection_indexes_nothing(const struct request *rq);
/* Overrides the selection by parameters with this prefix. */
int selection_change(struct request *rq, const char *prefix, struct selection *s);
/* Returns ERR_NOT_FOUND if no trace file is selected. `name` (may be NULL) is added to the text. */
int selection_check_files(struct request *rq, const struct selection *s, const char *name);
/* For strict=true, once rq->incomplete is known. Returns ERR_NOT_FOUND if no file is selected,
 * -EEXIST if the answer would be incomplete, otherwise 0. */
int selection_check_strict(struct request *rq);
/* Opens the query of a selection, and records in the answer whether it is complete. If it is not,
 * returns the error of selection_check_strict, so that no work is done for a refused request. */
int selection_open(struct request *rq, const struct selection *s, struct query **ret);
/* Opens the query of the objects of one file, of all kinds. `param`: the parameter that named it;
 * `query`: a filter, may be empty. Returns ERR_NOT_FOUND if there is no such file, ERR_PARAM if a
 * pattern does not match exactly one; both errors name `param`. */
int selection_open_file(struct request *rq, const char *param, const char *path, struct text query,
                        struct query **ret, uint32_t *ret_file);

#endif
