/* remote.c - scans and streams for rank 0, on another rank.
 *
 * A stream stays open between two requests of rank 0 for parts of it. It ends when rank 0 says so,
 * when it fails, or, when another one is opened, if it was not used for a while; then the next
 * request of rank 0 has to describe it again.
 */
#include "dftracerd/http.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS_MAX = 64, STOPPED = 64 };
#define STREAM_IDLE_NS (60 * 1000000000ll)

/* A running scan, in a list so that rank 0 can end it. */
struct scan {
    struct scan *next;
    uint64_t number;
    struct http_call *call;
    bool is_stream;
    /* if it is a stream */
    struct query_remote remote;
    struct buf no_answer; /* remote.answer: a stream answers through `serve` only */
    bool opening, ended;  /* ended: the last user frees it */
    unsigned users;       /* number of threads that use it */
    int64_t used_ns;      /* last use */
};
struct http_remote {
    struct http_runner *runner;
    pthread_mutex_t lock;
    struct scan *first;
    unsigned stream_count;
    /* The last numbers that rank 0 ended while they did not run here: they may begin later. Numbers
     * are not reused. */
    uint64_t stopped[STOPPED];
    unsigned stopped_next;
};

/* ---- the list; all under the lock ------------------------------------------------------------ */

static bool is_stopped(const struct http_remote *scans, uint64_t number)
{
    for (unsigned i = 0; i < STOPPED; i++)
        if (scans->stopped[i] == number)
            return true;
    return false;
}

static void add_scan(struct http_remote *scans, struct scan *scan)
{
    scan->next = scans->first;
    scans->first = scan;
    scans->stream_count += scan->is_stream;
    if (is_stopped(scans, scan->number))
        http_call_cancel(scan->call, ERR_CANCELLED);
}

static void remove_scan(struct http_remote *scans, struct scan *scan)
{
    struct scan **at = &scans->first;
    while (*at != scan)
        at = &(*at)->next;
    *at = scan->next;
    scans->stream_count -= scan->is_stream;
}

static struct scan *find_scan(const struct http_remote *scans, uint64_t number)
{
    struct scan *s = scans->first;
    while (s && s->number != number)
        s = s->next;
    return s;
}

/* Removes and returns a stream that was not used for a while, or that must be closed to make space
 * for another one. Returns NULL if there is none. */
static struct scan *remove_idle(struct http_remote *scans)
{
    int64_t before = clock_mono_ns() - STREAM_IDLE_NS;
    struct scan *oldest = NULL;
    for (struct scan *s = scans->first; s; s = s->next)
        if (s->is_stream && !s->users && (!oldest || s->used_ns < oldest->used_ns))
            oldest = s;
    if (!oldest || (oldest->used_ns > before && scans->stream_count < STREAMS_MAX))
        return NULL;
    remove_scan(scans, oldest);
    return oldest;
}

/* ---- streams --------------------------------------------------------------------------------- */

static void stream_free(struct scan *s)
{
    if (!s)
        return;
    http_call_free(s->call);
    query_remote_done(&s->remote);
    buf_done(&s->no_answer);
    free(s);
}

/* Finds a stream, which stays until stream_release. Returns 0, -EBUSY if it is not open yet, or
 * ERR_NOT_FOUND. */
static int stream_acquire(struct http_remote *scans, uint64_t number, struct scan **ret)
{
    pthread_mutex_lock(&scans->lock);
    struct scan *s = find_scan(scans, number);
    int rc = !s || !s->is_stream || s->ended ? ERR_NOT_FOUND : s->opening ? -EBUSY : 0;
    if (rc == 0) {
        s->users++;
        *ret = s;
    }
    pthread_mutex_unlock(&scans->lock);
    return rc;
}

static void stream_release(struct http_remote *scans, struct scan *s, int rc)
{
    pthread_mutex_lock(&scans->lock);
    s->users--;
    s->used_ns = clock_mono_ns();
    s->ended |= rc < 0;
    bool ended = s->ended && s->users == 0;
    if (ended)
        remove_scan(scans, s);
    pthread_mutex_unlock(&scans->lock);
    if (ended)
        stream_free(s);
}

/* Ends idle streams. Returns false if there are still too many. */
static bool close_idle_streams(struct http_remote *scans)
{
    struct scan *idle;
    bool room;
    do {
        pthread_mutex_lock(&scans->lock);
        idle = remove_idle(scans);
        room = scans->stream_count < STREAMS_MAX;
        pthread_mutex_unlock(&scans->lock);
        stream_free(idle);
    } while (idle);
    return room;
}

/* Opens the request as rank 0 does, up to the stream. Returns -EBUSY if another request of rank 0
 * has opened it meanwhile. */
static int stream_begin(struct http_remote *scans, struct scan *scan,
                        const struct http_call_options *o, struct err *err)
{
    int rc = http_call_new(scans->runner, o, err, &scan->call);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&scans->lock);
    const struct scan *other = find_scan(scans, scan->number);
    bool opened = other && !other->ended; /* by another request of rank 0, meanwhile */
    if (!opened) {
        scan->is_stream = scan->opening = true;
        scan->users = 1;
        add_scan(scans, scan);
    }
    pthread_mutex_unlock(&scans->lock);
    if (opened)
        return -EBUSY;
    rc = http_call_open(scan->call, err);
    scan->remote.request = scan->remote.given = TEXT(""); /* these texts belong to the message */
    rc = rc < 0 ? rc : scan->remote.serve ? 0 : ERR_NOT_FOUND;
    pthread_mutex_lock(&scans->lock);
    scan->opening = false;
    pthread_mutex_unlock(&scans->lock);
    return rc;
}

static int stream_open(struct http_remote *scans, struct snapshot *s,
                       const struct query_remote *remote, struct http_call_options *o,
                       struct scan **ret)
{
    struct scan *scan = close_idle_streams(scans) ? calloc(1, sizeof *scan) : NULL;
    struct err err = {0};
    if (!scan)
        return -ENOMEM;
    scan->number = remote->number;
    scan->remote = *remote;
    scan->remote.answer = &scan->no_answer;
    o->snapshot = s;
    o->remote = &scan->remote;
    int rc = stream_begin(scans, scan, o, &err);
    err_done(&err);
    if (rc == 0)
        return *ret = scan, 0;
    if (scan->is_stream)
        stream_release(scans, scan, rc);
    else
        stream_free(scan);
    return rc;
}

static int answer_stream(struct http_remote *scans, struct snapshot *s,
                         const struct query_remote *remote, struct http_call_options *o,
                         struct buf *answer)
{
    struct scan *scan = NULL;
    int rc = stream_acquire(scans, remote->number, &scan);
    if (rc == ERR_NOT_FOUND)
        rc = !s                    ? -ESRCH
             : remote->request.len ? stream_open(scans, s, remote, o, &scan)
                                   : ERR_NOT_FOUND;
    if (rc < 0)
        return rc;
    rc = scan->remote.serve(scan->remote.serve_arg, remote->part, answer);
    stream_release(scans, scan, rc == -EXDEV ? 0 : rc);
    return rc == -ESRCH ? ERR_STALE : rc;
}

/* ---- scans ----------------------------------------------------------------------------------- */

static int run_scan(struct http_remote *scans, const struct http_call_options *o, struct err *err)
{
    struct scan scan = {.number = o->remote->number};
    int rc = http_call_new(scans->runner, o, err, &scan.call);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&scans->lock);
    add_scan(scans, &scan);
    pthread_mutex_unlock(&scans->lock);
    rc = http_call_run(scan.call, NULL, NULL, err);
    pthread_mutex_lock(&scans->lock);
    remove_scan(scans, &scan);
    pthread_mutex_unlock(&scans->lock);
    http_call_free(scan.call);
    return rc;
}

/* Runs the request as rank 0 does, up to the scan that rank 0 requested. */
static int answer_scan(struct http_remote *scans, struct snapshot *s, struct query_remote *remote,
                       struct http_call_options *o, struct buf *answer)
{
    struct err err = {0};
    if (!s)
        return -ESRCH;
    remote->answer = answer;
    o->snapshot = s;
    o->remote = remote;
    int rc = run_scan(scans, o, &err);
    err_done(&err);
    return remote->answered ? 0 : rc < 0 && rc != ERR_CANCELLED ? rc : ERR_NOT_FOUND;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Called when rank 0 no longer needs the scan or stream. */
static void on_stop(void *arg, uint64_t number)
{
    struct http_remote *scans = arg;
    struct scan *idle = NULL;
    pthread_mutex_lock(&scans->lock);
    struct scan *s = find_scan(scans, number);
    if (s && (s->users || !s->is_stream)) {
        s->ended = true;
        http_call_cancel(s->call, ERR_CANCELLED);
    } else if (s) {
        remove_scan(scans, idle = s);
    } else {
        scans->stopped[scans->stopped_next++ % STOPPED] = number;
    }
    pthread_mutex_unlock(&scans->lock);
    stream_free(idle);
}

static int on_request(void *arg, struct snapshot *s, struct text request, struct buf *answer)
{
    struct query_remote remote;
    int64_t time_ns;
    int rc = query_remote_decode(request, &remote, &time_ns);
    struct text path = rc == 0 && remote.request.len ? remote.request : TEXT("");
    char *target = strndup(path.ptr, path.len);
    rc = rc < 0 ? rc : target ? 0 : -ENOMEM;
    struct http_call_options o = {.target = target,
                                  .deadline_ns = time_ns ? clock_mono_ns() + time_ns : 0};
    if (rc == 0)
        rc = remote.part.len ? answer_stream(arg, s, &remote, &o, answer)
                             : answer_scan(arg, s, &remote, &o, answer);
    free(target);
    return rc;
}

int http_remote_new(struct http_runner *r, struct index *ix, struct http_remote **ret)
{
    struct http_remote *scans = calloc(1, sizeof *scans);
    if (!scans)
        return -ENOMEM;
    scans->runner = r;
    pthread_mutex_init(&scans->lock, NULL);
    index_on_request(ix, &(struct index_rank_handler){on_request, on_stop, scans});
    *ret = scans;
    return 0;
}

void http_remote_free(struct http_remote *scans)
{
    if (!scans)
        return;
    for (struct scan *s = scans->first, *next; s; s = next) {
        next = s->next;
        stream_free(s);
    }
    pthread_mutex_destroy(&scans->lock);
    free(scans);
}
