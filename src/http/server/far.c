/* far.c - scans and streams for rank 0, on another rank.
 *
 * A stream stays open between two requests of rank 0 for parts of it. It ends when rank 0 says so,
 * when it fails, or when it was not used for a while; then the next request of rank 0 has to
 * describe it again.
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
    bool streams;
    /* if it is a stream */
    struct query_far far;
    struct buf none;   /* far.answer: a stream answers through `serve` only */
    bool begins, over; /* over: the last user frees it */
    unsigned busy;     /* number of threads that use it */
    int64_t used_ns;   /* last use */
};
struct http_far {
    struct http_runner *runner;
    pthread_mutex_t lock;
    struct scan *first;
    unsigned streams;
    /* The last numbers that rank 0 ended before they began here. Numbers are not reused. */
    uint64_t stopped[STOPPED];
    unsigned stopped_next;
};

/* ---- the list; all under the lock ------------------------------------------------------------ */

static bool is_stopped(const struct http_far *all, uint64_t number)
{
    for (unsigned i = 0; i < STOPPED; i++)
        if (all->stopped[i] == number)
            return true;
    return false;
}

static void add_scan(struct http_far *all, struct scan *own)
{
    own->next = all->first;
    all->first = own;
    all->streams += own->streams;
    if (is_stopped(all, own->number))
        http_call_cancel(own->call, ERR_CANCELLED);
}

static void remove_scan(struct http_far *all, struct scan *own)
{
    struct scan **at = &all->first;

    while (*at != own)
        at = &(*at)->next;
    *at = own->next;
    all->streams -= own->streams;
}

static struct scan *find_scan(const struct http_far *all, uint64_t number)
{
    struct scan *s = all->first;

    while (s && s->number != number)
        s = s->next;
    return s;
}

/* Removes and returns a stream that was not used for a while, or that must be closed to make space
 * for another one. Returns NULL if there is none. */
static struct scan *take_idle(struct http_far *all)
{
    int64_t before = clock_mono_ns() - STREAM_IDLE_NS;
    struct scan *oldest = NULL;

    for (struct scan *s = all->first; s; s = s->next)
        if (s->streams && !s->busy && (!oldest || s->used_ns < oldest->used_ns))
            oldest = s;
    if (!oldest || (oldest->used_ns > before && all->streams < STREAMS_MAX))
        return NULL;
    remove_scan(all, oldest);
    return oldest;
}

/* ---- streams --------------------------------------------------------------------------------- */

static void stream_free(struct scan *s)
{
    if (!s)
        return;
    http_call_free(s->call);
    query_far_done(&s->far);
    buf_done(&s->none);
    free(s);
}

/* Finds a stream, which stays until stream_give_back. Returns 0, -EBUSY if it is not open yet, or
 * ERR_NOT_FOUND. */
static int stream_take(struct http_far *all, uint64_t number, struct scan **ret)
{
    pthread_mutex_lock(&all->lock);
    struct scan *s = find_scan(all, number);
    int rc = !s || !s->streams || s->over ? ERR_NOT_FOUND : s->begins ? -EBUSY : 0;
    if (rc == 0) {
        s->busy++;
        *ret = s;
    }
    pthread_mutex_unlock(&all->lock);
    return rc;
}

static void stream_give_back(struct http_far *all, struct scan *s, int rc)
{
    pthread_mutex_lock(&all->lock);
    s->busy--;
    s->used_ns = clock_mono_ns();
    s->over |= rc < 0;
    bool over = s->over && s->busy == 0;
    if (over)
        remove_scan(all, s);
    pthread_mutex_unlock(&all->lock);
    if (over)
        stream_free(s);
}

/* Ends idle streams. Returns false if there are still too many. */
static bool make_room(struct http_far *all)
{
    struct scan *idle;
    bool room;

    do {
        pthread_mutex_lock(&all->lock);
        idle = take_idle(all);
        room = all->streams < STREAMS_MAX;
        pthread_mutex_unlock(&all->lock);
        stream_free(idle);
    } while (idle);
    return room;
}

/* Opens the request as rank 0 does, up to the stream. */
static int stream_begin(struct http_far *all, struct scan *own, const struct http_call_options *o,
                        struct err *err)
{
    int rc = http_call_new(all->runner, o, err, &own->call);

    if (rc < 0)
        return rc;
    own->streams = own->begins = true;
    own->busy = 1;
    pthread_mutex_lock(&all->lock);
    add_scan(all, own);
    pthread_mutex_unlock(&all->lock);
    rc = http_call_open(own->call, err);
    own->far.request = own->far.given = TEXT(""); /* these texts belong to the message */
    rc = rc < 0 ? rc : own->far.serve ? 0 : ERR_NOT_FOUND;
    pthread_mutex_lock(&all->lock);
    own->begins = false;
    pthread_mutex_unlock(&all->lock);
    return rc;
}

static int stream_open(struct http_far *all, struct snapshot *s, const struct query_far *far,
                       struct http_call_options *o, struct scan **ret)
{
    struct scan *own = make_room(all) ? calloc(1, sizeof *own) : NULL;
    struct err err = {0};

    if (!own)
        return -ENOMEM;
    own->number = far->number;
    own->far = *far;
    own->far.answer = &own->none;
    o->snapshot = s;
    o->far = &own->far;
    int rc = stream_begin(all, own, o, &err);
    err_done(&err);
    if (rc == 0)
        return *ret = own, 0;
    if (own->streams)
        stream_give_back(all, own, rc);
    else
        stream_free(own);
    return rc;
}

static int answer_stream(struct http_far *all, struct snapshot *s, const struct query_far *far,
                         struct http_call_options *o, struct buf *answer)
{
    struct scan *own = NULL;
    int rc = stream_take(all, far->number, &own);

    if (rc == ERR_NOT_FOUND)
        rc = !s ? -ESRCH : far->request.len ? stream_open(all, s, far, o, &own) : ERR_NOT_FOUND;
    if (rc < 0)
        return rc;
    rc = own->far.serve(own->far.serve_arg, far->part, answer);
    stream_give_back(all, own, rc == -EXDEV ? 0 : rc);
    return rc == -ESRCH ? ERR_STALE : rc;
}

/* ---- scans ----------------------------------------------------------------------------------- */

static int run_scan(struct http_far *all, const struct http_call_options *o, struct err *err)
{
    struct scan own = {.number = o->far->number};
    int rc = http_call_new(all->runner, o, err, &own.call);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&all->lock);
    add_scan(all, &own);
    pthread_mutex_unlock(&all->lock);
    rc = http_call_run(own.call, NULL, NULL, err);
    pthread_mutex_lock(&all->lock);
    remove_scan(all, &own);
    pthread_mutex_unlock(&all->lock);
    http_call_free(own.call);
    return rc;
}

/* Runs the request as rank 0 does, up to the scan that rank 0 requested. */
static int answer_scan(struct http_far *all, struct snapshot *s, struct query_far *far,
                       struct http_call_options *o, struct buf *answer)
{
    struct err err = {0};

    if (!s)
        return -ESRCH;
    far->answer = answer;
    o->snapshot = s;
    o->far = far;
    int rc = run_scan(all, o, &err);
    err_done(&err);
    return far->answered ? 0 : rc < 0 && rc != ERR_CANCELLED ? rc : ERR_NOT_FOUND;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Called when rank 0 no longer needs the scan or stream. */
static void on_stop(void *arg, uint64_t number)
{
    struct http_far *all = arg;
    struct scan *idle = NULL;

    pthread_mutex_lock(&all->lock);
    struct scan *s = find_scan(all, number);
    if (s && (s->busy || !s->streams)) {
        s->over = true;
        http_call_cancel(s->call, ERR_CANCELLED);
    } else if (s) {
        remove_scan(all, idle = s);
    } else {
        all->stopped[all->stopped_next++ % STOPPED] = number;
    }
    pthread_mutex_unlock(&all->lock);
    stream_free(idle);
}

static int on_request(void *arg, struct snapshot *s, struct text request, struct buf *answer)
{
    struct query_far far;
    int64_t time_ns;
    int rc = query_far_read(request, &far, &time_ns);
    struct text path = rc == 0 && far.request.len ? far.request : TEXT("");
    char *target = strndup(path.ptr, path.len);

    rc = rc < 0 ? rc : target ? 0 : -ENOMEM;
    struct http_call_options o = {.target = target,
                                  .deadline_ns = time_ns ? clock_mono_ns() + time_ns : 0};
    if (rc == 0)
        rc = far.part.len ? answer_stream(arg, s, &far, &o, answer)
                          : answer_scan(arg, s, &far, &o, answer);
    free(target);
    return rc;
}

int http_far_new(struct http_runner *r, struct index *ix, struct http_far **ret)
{
    struct http_far *all = calloc(1, sizeof *all);

    if (!all)
        return -ENOMEM;
    all->runner = r;
    pthread_mutex_init(&all->lock, NULL);
    index_on_request(ix, &(struct index_rank_handler){on_request, on_stop, all});
    *ret = all;
    return 0;
}

void http_far_free(struct http_far *all)
{
    if (!all)
        return;
    for (struct scan *s = all->first, *next; s; s = next) {
        next = s->next;
        stream_free(s);
    }
    pthread_mutex_destroy(&all->lock);
    free(all);
}
