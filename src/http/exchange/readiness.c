/* readiness.c - pending files of a snapshot, and of a selection. The result for a whole generation
 * is kept, so that no request examines the files while nothing changes. */
#include "http/exchange/readiness.h"

#include "http/request/selection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* After this time a file that changes all the time, or whose clock is late, counts as ready. */
#define FRESH_NS 10000000000ll

bool readiness_is_known(struct site *site, const struct snapshot *s)
{
    return snapshot_is_listed(s) && atomic_load(&site->quiet) == snapshot_generation(s) + 1;
}

static bool is_pending(const struct index_file *f)
{
    return f->state == INDEX_PENDING || f->state == INDEX_INDEXING;
}

/* True if the generation has no pending files and the first directory scan is over. */
static bool is_all_ready(struct exchange *x)
{
    const struct snapshot *s = x->rq.snapshot;
    if (readiness_is_known(x->site, s))
        return true;
    if (!snapshot_is_listed(s))
        return false;
    for (uint32_t i = 0; i < snapshot_file_count(s); i++)
        if (is_pending(snapshot_file(s, i)))
            return false;
    if (!x->rq.viewer) /* the request sees all files */
        atomic_store(&x->site->quiet, snapshot_generation(s) + 1);
    return true;
}

/* ---- wait=fresh ------------------------------------------------------------------------------ */

bool readiness_wants_fresh(const struct request *rq)
{
    const char *wait = request_text(rq, "wait");
    return wait && strcmp(wait, "fresh") == 0;
}

static int64_t time_ns(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Compares the file with what was indexed, or read after the request came. Notifies the index of a
 * changed file. */
static bool is_current(const struct request *rq, const struct index_file *f)
{
    struct stat st;
    int64_t age = clock_mono_ns() - rq->started_ns;
    if (f->state == INDEX_FAILED || age > FRESH_NS || stat(f->path, &st) < 0)
        return true;
    if (f->inode == st.st_ino && f->device == st.st_dev && f->file_bytes == (uint64_t)st.st_size &&
        f->mtime_ns == time_ns(st.st_mtim) && f->ctime_ns == time_ns(st.st_ctim))
        return true;
    index_offer(rq->http->options->index, f->archive ? f->archive : f->name, f->path);
    return f->ctime_ns >= clock_real_ns() - age;
}

/* ---- selected files -------------------------------------------------------------------------- */

/* Requests indexing of the selected files that are pending. Returns true if none was pending or
 * being indexed. */
static bool want_selected(struct request *rq, bool fresh)
{
    struct selection chosen;
    struct err ignored = {0};
    uint32_t *files = NULL;
    size_t count = 0;
    bool ready = true;
    selection_init(&chosen);
    selection_read_files(rq, &chosen);
    if (query_select_files(&rq->http->env, rq->snapshot, &chosen, &ignored, &files, &count) < 0)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct index_file *f = snapshot_file(rq->snapshot, files[i]);
        ready = !is_pending(f) && (!fresh || is_current(rq, f)) && ready;
        if (f->state == INDEX_PENDING)
            index_request_file(rq->http->options->index, f->name);
    }
    err_done(&ignored);
    free(files);
    return ready;
}

bool readiness_check_request(struct request *rq)
{
    const struct http_options *o = rq->http->options;
    bool fresh = readiness_wants_fresh(rq);
    if (fresh && o->scanned_since && !o->scanned_since(o->scanned_since_arg, rq->started_ns))
        return false;
    return want_selected(rq, fresh) && snapshot_is_listed(rq->snapshot);
}

bool readiness_check(struct exchange *x)
{
    return (!readiness_wants_fresh(&x->rq) && is_all_ready(x)) || readiness_check_request(&x->rq);
}

void readiness_request_files(struct exchange *x)
{
    if (!selection_indexes_nothing(&x->rq) && !is_all_ready(x))
        want_selected(&x->rq, false);
}

void readiness_stopped(int error, char *ret, size_t size)
{
    snprintf(ret, size, "indexing has stopped, so the index will not become ready: %s",
             err_text(error));
}
