/* scan_run.c - scans of all chunks of queries on the threads of the pool; parts are merged in
 * (file, chunk) order as soon as they are complete. */
#include "dftracerd/failpoint.h"
#include "engine/scan/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The result of a place, until it is merged. */
struct slot {
    void *part;
    bool done, has_part;
};
/* Workers claim places from the front of ranges. There is one range, or one for each worker, which
 * helps the others when its own is empty. */
struct place_range {
    atomic_size_t next;
    size_t end;
};
struct run_worker {
    struct scan_worker *scan;
    void *state; /* of the sink */
    bool began;  /* worker_begin has succeeded */
};
struct scan_run {
    struct query *query;
    const struct scan_sink *sink;
    struct place_range *ranges;
    unsigned range_count;
    size_t first, last; /* with ends_first: the first and the last place that are not skipped */
    atomic_bool stop;
    unsigned worker_count;
    struct run_worker *workers; /* by number; one thread at a time uses each */
    pthread_mutex_t lock;       /* for all below */
    struct slot *slots;         /* by place */
    size_t merged;              /* places whose parts were merged */
    bool merging;               /* some thread merges */
    int error;
    size_t error_position; /* of its place */
};

/* The error of the first chunk is kept. Cancelled workers do not replace it. */
static void run_fail(struct scan_run *r, size_t position, int code)
{
    const struct query *q = r->query;

    pthread_mutex_lock(&r->lock);
    bool stopped = code == ERR_CANCELLED && r->error != 0;
    if (!stopped && (r->error == 0 || position < r->error_position)) {
        r->error = code;
        r->error_position = position;
    }
    pthread_mutex_unlock(&r->lock);
    atomic_store(&r->stop, true);
    if (code == ERR_CORRUPT && position < q->place_count)
        index_file_corrupt(q->env.index, snapshot_file(q->snapshot, q->places[position].file));
}

/* ---- merging --------------------------------------------------------------------------------- */

/* One thread merges, without the lock; others store their part and continue. */
static void merge_ready(struct scan_run *r)
{
    if (r->merging)
        return;
    r->merging = true;
    while (r->merged < r->query->place_count && r->slots[r->merged].done) {
        size_t position = r->merged++;
        struct slot *slot = &r->slots[position];
        if (!slot->has_part)
            continue;
        slot->has_part = false;
        bool failed = r->error != 0;
        pthread_mutex_unlock(&r->lock);
        int rc = r->sink->merge(r->sink->arg, position, slot->part, failed);
        if (rc < 0)
            run_fail(r, position, rc);
        pthread_mutex_lock(&r->lock);
    }
    r->merging = false;
}

/* After a failure, the parts that merging has not reached are freed by the sink. */
static void merge_rest(struct scan_run *r)
{
    for (size_t i = 0; i < r->query->place_count; i++) {
        if (!r->slots[i].has_part)
            continue;
        r->slots[i].has_part = false;
        (void)r->sink->merge(r->sink->arg, i, r->slots[i].part, true);
    }
}

/* ---- workers --------------------------------------------------------------------------------- */

static bool is_skipped(const struct scan_run *r, size_t position)
{
    return r->sink->skip && r->sink->skip(r->sink->arg, position);
}

/* Returns the position of the place that is scanned as number n: both ends come first. */
static size_t position_of_number(const struct scan_run *r, size_t n)
{
    if (r->first == r->last)
        return n;
    if (n < 2)
        return n ? r->last : r->first;
    n -= n - 2 < r->first ? 2 : 1;
    return n < r->last ? n : n + 1;
}

/* Sets *ret to the next number for worker i. Returns false if there is none left. */
static bool claim_number(struct scan_run *r, unsigned i, size_t *ret)
{
    for (unsigned k = 0; k < r->range_count; k++) {
        struct place_range *range = &r->ranges[(i + k) % r->range_count];
        *ret = atomic_load(&range->next);
        if (*ret < range->end && (*ret = atomic_fetch_add(&range->next, 1)) < range->end)
            return true;
    }
    return false;
}

static bool all_claimed(const struct scan_run *r)
{
    for (unsigned k = 0; k < r->range_count; k++)
        if (atomic_load(&r->ranges[k].next) < r->ranges[k].end)
            return false;
    return true;
}

static void run_place(struct scan_run *r, unsigned i, size_t position)
{
    struct chunk_scan scan = {.sink = r->sink, .state = r->workers[i].state, .stop = &r->stop};

    failpoint("query.chunk");
    int rc = is_skipped(r, position) ? 0 : chunk_run(r->workers[i].scan, position, &scan);
    void *part = rc < 0 ? NULL : scan.part;
    if (r->sink->merge) {
        pthread_mutex_lock(&r->lock);
        r->slots[position] = (struct slot){part, true, part != NULL};
        merge_ready(r);
        pthread_mutex_unlock(&r->lock);
    }
    if (rc < 0)
        run_fail(r, position, rc);
}

static bool is_stopped(const struct scan_run *r)
{
    return atomic_load_explicit(&r->stop, memory_order_relaxed);
}

/* Returns true if places are left, but other jobs wait for a thread. */
static bool run_places(struct scan_run *r, unsigned i)
{
    size_t number;

    while (!is_stopped(r) && claim_number(r, i, &number)) {
        run_place(r, i, position_of_number(r, number));
        if (pool_is_wanted(r->query->env.pool))
            return true;
    }
    return false;
}

static int begin_worker(struct scan_run *r, unsigned i)
{
    struct run_worker *w = &r->workers[i];
    int rc = scan_worker_new(r->query, &w->scan);

    if (rc == 0 && r->sink->gathers)
        scan_worker_gather(w->scan);
    if (rc == 0 && r->sink->worker_begin)
        rc = r->sink->worker_begin(r->sink->arg, i, &w->state);
    w->began = rc == 0;
    return rc;
}

/* Returns true if it is to be called again. A worker that comes too late creates no state. */
static bool run_turn(struct scan_run *r, unsigned i)
{
    if (is_stopped(r) || all_claimed(r))
        return false;
    int rc = r->workers[i].began ? 0 : begin_worker(r, i);
    if (rc < 0)
        run_fail(r, 0, rc);
    return rc == 0 && run_places(r, i);
}

/* ---- several scans --------------------------------------------------------------------------- */

struct runs {
    struct scan_run *list;
    unsigned count, workers;
};

/* Each worker begins with another scan and then helps the others. */
static bool run_turn_of_all(void *arg, unsigned i)
{
    struct runs *all = arg;
    bool more = false;

    for (unsigned k = 0; k < all->count && !more; k++)
        more = run_turn(&all->list[(i + k) % all->count], i);
    return more;
}

static void end_workers(void *arg, unsigned number)
{
    struct runs *all = arg;
    struct scan_run *r = &all->list[number];

    merge_rest(r);
    for (unsigned i = 0; i < r->worker_count && r->sink->worker_end; i++) {
        if (!r->workers[i].began)
            continue;
        int rc = r->sink->worker_end(r->sink->arg, i, r->workers[i].state, r->error != 0);
        if (rc < 0 && r->error == 0)
            r->error = rc;
    }
}

/* Returns the number of threads, but no more than there are places. */
static unsigned worker_count(const struct scan_job *jobs, size_t count)
{
    struct pool *pool = jobs->query->env.pool;
    size_t threads = pool ? pool_threads(pool) : 1, places = 0;

    for (size_t i = 0; i < count; i++)
        places += jobs[i].query->place_count;
    if (threads > places)
        threads = places;
    return threads > 0 ? (unsigned)threads : 1;
}

static void find_ends(struct scan_run *r)
{
    size_t end = r->query->place_count;

    while (r->first + 1 < end && is_skipped(r, r->first))
        r->first++;
    while (end > r->first + 1 && is_skipped(r, end - 1))
        end--;
    r->last = end ? end - 1 : 0;
}

static int run_init(struct scan_run *r, const struct scan_job *job, unsigned workers)
{
    r->query = job->query;
    r->sink = job->sink;
    r->worker_count = workers;
    r->slots = calloc(r->query->place_count + 1, sizeof(*r->slots));
    r->range_count = r->sink->apart ? workers : 1;
    r->ranges = calloc(r->range_count, sizeof(*r->ranges));
    for (size_t k = 0, n = r->query->place_count; r->ranges && k < r->range_count; k++) {
        atomic_init(&r->ranges[k].next, n * k / r->range_count);
        r->ranges[k].end = n * (k + 1) / r->range_count;
    }
    r->workers = calloc(workers, sizeof(*r->workers));
    pthread_mutex_init(&r->lock, NULL);
    if (r->sink->ends_first)
        find_ends(r);
    return r->slots && r->ranges && r->workers ? 0 : -ENOMEM;
}

static void run_done(struct scan_run *r)
{
    for (unsigned i = 0; r->workers && i < r->worker_count; i++)
        scan_worker_free(r->workers[i].scan);
    free(r->workers);
    pthread_mutex_destroy(&r->lock);
    free(r->slots);
    free(r->ranges);
}

static void run_workers(struct runs *all)
{
    struct query *q = all->list->query;
    const struct query_env *env = &q->env;

    index_query_running(env->index, 1);
    pool_run_turns(env->pool, all->workers, run_turn_of_all, all, q->budget);
    index_query_running(env->index, -1);
    pool_run(all->workers > 1 ? env->pool : NULL, all->count, end_workers, all);
}

int scan_run_all(struct scan_job *jobs, size_t count)
{
    struct runs all = {.count = (unsigned)count, .workers = worker_count(jobs, count)};
    int rc = 0;

    all.list = calloc(count, sizeof(*all.list));
    if (!all.list)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        rc |= run_init(&all.list[i], &jobs[i], all.workers);
    if (rc == 0)
        run_workers(&all);
    for (size_t i = 0; i < count; i++) {
        jobs[i].error = all.list[i].error;
        run_done(&all.list[i]);
    }
    free(all.list);
    return rc ? -ENOMEM : 0;
}

int scan_error(struct err *err, int rc)
{
    if (rc == ERR_CORRUPT)
        return err_set(err, rc, "the index of a file is corrupt; the file is indexed again");
    return rc < 0 ? err_set_code(err, rc) : 0;
}

int scan_run(struct query *q, const struct scan_sink *sink, struct err *err)
{
    struct scan_job job = {.query = q, .sink = sink};
    int rc = scan_run_all(&job, 1);

    return scan_error(err, rc < 0 ? rc : job.error);
}
