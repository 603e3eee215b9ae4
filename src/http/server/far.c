/* far.c - scans for rank 0, on another rank. */
#include "dftracerd/http.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Requests that are at work here, so that rank 0 can end them. */
struct http_far {
    struct http_runner *runner;
    pthread_mutex_t lock;
    struct scan {
        struct scan *next;
        uint64_t number;
        struct http_call *call;
    } * first;
};

static void begin(struct http_far *all, struct scan *own)
{
    pthread_mutex_lock(&all->lock);
    own->next = all->first;
    all->first = own;
    pthread_mutex_unlock(&all->lock);
}

static void end(struct http_far *all, struct scan *own)
{
    pthread_mutex_lock(&all->lock);
    struct scan **at = &all->first;
    while (*at != own)
        at = &(*at)->next;
    *at = own->next;
    pthread_mutex_unlock(&all->lock);
}

/* Rank 0 needs the answer no longer. */
static void on_stop(void *arg, uint64_t number)
{
    struct http_far *all = arg;

    pthread_mutex_lock(&all->lock);
    for (struct scan *s = all->first; s; s = s->next)
        if (s->number == number)
            http_call_cancel(s->call, ERR_CANCELLED);
    pthread_mutex_unlock(&all->lock);
}

static int run(struct http_far *all, const struct http_call_options *o, struct err *err)
{
    struct scan own = {.number = o->far->number};
    int rc = http_call_new(all->runner, o, err, &own.call);

    if (rc < 0)
        return rc;
    begin(all, &own);
    rc = http_call_run(own.call, NULL, NULL, err);
    end(all, &own);
    http_call_free(own.call);
    return rc;
}

/* Does what rank 0 does with the request, up to the scan that it asks for. */
static int on_request(void *arg, struct snapshot *s, struct text request, struct buf *answer)
{
    struct query_far far;
    struct err err = {0};
    int64_t time_ns;
    int rc = query_far_read(request, &far, &time_ns);
    char *target = rc == 0 ? strndup(far.request.ptr, far.request.len) : NULL;

    rc = rc < 0 ? rc : target ? 0 : -ENOMEM;
    far.answer = answer;
    const struct http_call_options o = {.target = target,
                                        .snapshot = s,
                                        .deadline_ns = time_ns ? clock_mono_ns() + time_ns : 0,
                                        .far = &far};
    rc = rc < 0 ? rc : run(arg, &o, &err);
    err_done(&err);
    free(target);
    return far.answered ? 0 : rc < 0 && rc != ERR_CANCELLED ? rc : ERR_NOT_FOUND;
}

int http_far_new(struct http_runner *r, struct index *ix, struct http_far **ret)
{
    struct http_far *all = calloc(1, sizeof *all);

    if (!all)
        return -ENOMEM;
    all->runner = r;
    pthread_mutex_init(&all->lock, NULL);
    index_on_request(ix, &(struct index_asked){on_request, on_stop, all});
    *ret = all;
    return 0;
}

void http_far_free(struct http_far *all)
{
    if (!all)
        return;
    pthread_mutex_destroy(&all->lock);
    free(all);
}
