/* spread.c - a scan over several ranks: each rank scans the chunks that it has.
 *
 * Rank 0 sends the request itself to each of them. They process it as rank 0 did, up to the scan
 * that rank 0 names; the results of earlier scans come with the message. If a rank cannot answer,
 * rank 0 fetches its chunks and scans them. Results are merged in the order of ranks, doubles in
 * the order of (file, chunk), so the answer does not depend on which rank has which file.
 */
#include "engine/group/encode.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define CHECK_NS 20000000 /* how often rank 0 checks whether its request was cancelled */

void query_remote_done(struct query_remote *remote)
{
    buf_done(&remote->earlier);
}

void query_rank_send(struct query *q, struct text fact)
{
    struct query_remote *remote = q->env.remote;

    if (!remote || remote->answer || remote->was_local)
        return;
    rec_put_u(&remote->earlier, remote->scans);
    rec_put_text(&remote->earlier, fact);
    remote->local = remote->earlier.error != 0;
}

bool query_rank_receive(struct query *q, struct text *ret)
{
    struct query_remote *remote = q->env.remote;

    if (remote)
        remote->was_local = remote->local;
    if (!remote || !remote->answer || remote->given.len == 0)
        return false;
    struct rec rec = rec_of(remote->given);
    remote->scans = (unsigned)rec_u(&rec);
    *ret = rec_text(&rec);
    remote->given = (struct text){(const char *)rec.ptr, (size_t)(rec.end - rec.ptr)};
    return !rec.bad;
}

/* ---- messages -------------------------------------------------------------------------------- */

uint64_t query_remote_number(void)
{
    static atomic_ullong number;

    return atomic_fetch_add(&number, 1) + 1;
}

void query_remote_encode(const struct query_remote *remote, const struct budget *b, bool whole,
                         struct text part, struct buf *out)
{
    static const struct buf nothing;

    buf_reserve(out, part.len + (whole ? remote->request.len + remote->earlier.len : 0) + 64);
    rec_put_u(out, remote->number);
    rec_put_u(out, remote->scans);
    rec_put_i(out, query_time_left(b));
    rec_put_text(out, whole ? remote->request : TEXT(""));
    rec_put_buf(out, whole ? &remote->earlier : &nothing);
    rec_put_text(out, part);
}

int query_remote_decode(struct text message, struct query_remote *ret, int64_t *ret_ns)
{
    struct rec rec = rec_of(message);

    *ret = (struct query_remote){.number = rec_u(&rec)};
    ret->wanted = (unsigned)rec_u(&rec);
    *ret_ns = rec_i(&rec);
    ret->request = rec_text(&rec);
    ret->given = rec_text(&rec);
    ret->part = rec_text(&rec);
    return rec.bad ? -EINVAL : 0;
}

/* ---- results as bytes ------------------------------------------------------------------------ */

/* Writes the results that hooks keep in their `arg`. */
static void put_hook_results(const struct grouping *g, struct buf *out)
{
    size_t begin = encode_begin(out);

    if (g->hooks && g->hooks->put)
        g->hooks->put(g->arg, out);
    encode_end(out, begin);
}

static int read_hook_results(const struct grouping *g, struct rec *in)
{
    struct rec block = rec_of(decode_block(in));

    return g->hooks && g->hooks->take ? g->hooks->take(g->arg, &block) : 0;
}

static int put_groups(struct groups *found, bool later, struct buf *out)
{
    size_t begin = encode_begin(out);
    int rc = groups_encode(found, later, out);

    encode_end(out, begin);
    return rc;
}

/* Writes the number of each place with doubles, plus one, and its doubles; then 0. */
static int put_parts(const struct grouping *g, const struct place_result *places, struct buf *out)
{
    size_t count = g->query->place_count;
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        if (!places[i].part)
            continue;
        rec_put_u(out, i + 1);
        size_t begin = encode_begin(out);
        rc = doubles_encode(g, places[i].part, out);
        encode_end(out, begin);
    }
    rec_put_u(out, 0);
    return rc < 0 ? rc : out->error;
}

static int read_parts(const struct grouping *g, struct rec *in, struct place_result *places)
{
    size_t count = g->query->place_count, i;
    int rc = 0;

    while (rc == 0 && (i = rec_u(in)) != 0) {
        struct text bytes = decode_block(in);
        if (i > count || places[i - 1].part || in->bad)
            return ERR_CORRUPT;
        rc = doubles_decode(g, bytes, &places[i - 1].part);
    }
    return rc < 0 ? rc : in->bad ? ERR_CORRUPT : 0;
}

/* Writes the number of each place that only rank 0 can scan, plus one; then 0. */
static void put_rank_0_places(const struct query *q, const struct place_result *places,
                              struct buf *out)
{
    for (size_t i = 0; i < q->place_count; i++)
        if (places[i].rank_0_only)
            rec_put_u(out, i + 1);
    rec_put_u(out, 0);
}

static int read_rank_0_places(const struct query *q, struct rec *in, struct place_result *places,
                              bool *any)
{
    uint64_t i;

    while ((i = rec_u(in)) != 0) {
        if (i > q->place_count)
            return ERR_CORRUPT;
        *any = places[i - 1].rank_0_only = true;
    }
    return 0;
}

/* ---- results of all places ------------------------------------------------------------------- */

/* Returns an empty result for each place of each job, or NULL without memory. */
static struct place_result **places_new(const struct groups_job *jobs, size_t count)
{
    struct place_result **places = calloc(count, sizeof(*places));
    bool ok = places != NULL;

    for (size_t i = 0; i < count && ok; i++) {
        places[i] = calloc(jobs[i].grouping->query->place_count + 1, sizeof(**places));
        ok = places[i] != NULL;
    }
    for (size_t i = 0; places && !ok && i < count; i++)
        free(places[i]);
    if (!ok)
        free(places);
    return ok ? places : NULL;
}

/* Merges the doubles in the order of places (found NULL, or rc < 0: only frees them), and frees the
 * results. Returns rc, or an error. */
static int places_merge(const struct grouping *g, struct place_result *places, struct groups *found,
                        int rc)
{
    for (size_t i = 0; i < g->query->place_count; i++) {
        if (!places[i].part)
            continue;
        int merged =
            doubles_merge(g, found ? &found->doubles : NULL, places[i].part, rc < 0 || !found);
        rc = rc < 0 ? rc : merged;
    }
    free(places);
    return rc;
}

/* ---- a remote rank --------------------------------------------------------------------------- */

/* Reads the results of an earlier scan from the message of rank 0. */
static int read_earlier(struct query_remote *remote, struct groups_job *jobs, size_t count)
{
    struct rec rec = rec_of(remote->given);
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = read_hook_results(jobs[i].grouping, &rec);
        rc = rc < 0 ? rc
                    : groups_decode(jobs[i].grouping, decode_block(&rec), false, &jobs[i].found);
        for (unsigned k = 0; rc == 0 && k < jobs[i].found->set_count; k++)
            rc = group_table_place(&jobs[i].found->set[k].map.table);
    }
    remote->given = (struct text){(const char *)rec.ptr, (size_t)(rec.end - rec.ptr)};
    return rc;
}

/* Writes the results of a job as a block, so that rank 0 can read those of other jobs even if it
 * fails to read these. */
static int put_answer(const struct groups_job *job, const struct query_counters *before,
                      const struct place_result *places, struct buf *out)
{
    const struct grouping *g = job->grouping;
    size_t begin = encode_begin(out);
    int rc = 0;

    rec_put_i(out, job->error);
    put_hook_results(g, out);
    if (job->error == 0) {
        put_rank_0_places(g->query, places, out);
        query_encode_counters(g->query, before, out);
        rc = put_groups(job->found, false, out);
        rc = rc < 0 ? rc : put_parts(g, places, out);
    }
    encode_end(out, begin);
    return rc < 0 ? rc : out->error;
}

static int answer_scan(struct query_remote *remote, struct groups_job *jobs, size_t count)
{
    static const bool self = true; /* index_chunk_rank is 0 for chunks of this process */
    struct groups_local local = {
        .ranks = &self, .rank_count = 1, .places = places_new(jobs, count), .remote = true};
    struct query_counters *before = calloc(count, sizeof(*before));
    int rc = local.places && before ? 0 : -ENOMEM;

    for (size_t i = 0; i < count && rc == 0; i++)
        query_counters(jobs[i].grouping->query, &before[i]);
    rc = rc < 0 ? rc : groups_scan_local(jobs, count, &local);
    for (size_t i = 0; i < count && rc == 0; i++)
        rec_put_u(remote->answer, jobs[i].grouping->query->place_count);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = put_answer(&jobs[i], &before[i], local.places[i], remote->answer);
    remote->answered = rc == 0;
    for (size_t i = 0; i < count && local.places; i++)
        (void)places_merge(jobs[i].grouping, local.places[i], NULL, ERR_CANCELLED);
    free(local.places);
    free(before);
    return ERR_CANCELLED; /* rank 0 completes the request */
}

/* ---- rank 0 ---------------------------------------------------------------------------------- */

struct rank_answer {
    struct buf answer;
    bool wanted; /* the rank has some of the chunks */
    bool failed; /* rank 0 must scan them */
};
struct rank_answers {
    struct query *query;
    struct rank_answer *list; /* by rank */
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    unsigned pending; /* under the lock: answers that have not arrived */
};

static void answer_arrived(void *arg, unsigned rank, int rc, struct buf *answer)
{
    struct rank_answers *all = arg;
    struct rank_answer *a = &all->list[rank];

    pthread_mutex_lock(&all->lock);
    a->failed = rc < 0;
    a->answer = *answer;
    *answer = (struct buf){0};
    all->pending--;
    pthread_cond_signal(&all->arrived);
    pthread_mutex_unlock(&all->lock);
}

/* Marks the ranks that have chunks of the query. Returns true if there are any. */
static bool choose_ranks(const struct query *q, struct rank_answer *list, unsigned count)
{
    bool any = false;

    for (size_t i = 0; i < q->place_count; i++) {
        const struct scan_place *p = &q->places[i];
        unsigned rank =
            index_chunk_rank(q->env.index, snapshot_file(q->snapshot, p->file), p->chunk);
        if (rank && rank < count)
            any = list[rank].wanted = true;
    }
    return any;
}

/* Sends the message to the chosen ranks. */
static void request_all(struct rank_answers *all, struct text message, unsigned count)
{
    unsigned *wanted = calloc(count, sizeof(*wanted)), n = 0;
    const struct query *q = all->query;

    for (unsigned i = 1; wanted && i < count; i++)
        if (all->list[i].wanted)
            wanted[n++] = i;
    all->pending = n;
    int rc = wanted ? index_request_ranks(q->env.index, wanted, n, q->snapshot, message,
                                          answer_arrived, all)
                    : -ENOMEM;
    if (rc < 0) /* none will answer */
        all->pending = 0;
    for (unsigned i = 1; rc < 0 && i < count; i++)
        all->list[i].failed = true;
    free(wanted);
}

static void stop_all(const struct rank_answers *all, unsigned count)
{
    struct query *q = all->query;

    for (unsigned i = 1; i < count; i++)
        if (all->list[i].wanted)
            index_stop_rank(q->env.index, i, q->env.remote->number);
}

/* Waits until all ranks have answered. If the request is cancelled, they are stopped. */
static void wait_all(struct rank_answers *all, unsigned count)
{
    struct query *q = all->query;
    bool stopped = false;

    pthread_mutex_lock(&all->lock);
    while (all->pending > 0) {
        if (clock_cond_wait(&all->arrived, &all->lock, clock_mono_ns() + CHECK_NS) == 0)
            continue;
        pulse_beat();
        if (stopped || budget_check(q->budget) == 0)
            continue;
        stopped = true;
        stop_all(all, count);
    }
    pthread_mutex_unlock(&all->lock);
}

static int read_job(struct groups_job *job, struct rec *in, unsigned later,
                    struct place_result *places, bool *any_rank_0)
{
    const struct grouping *g = job->grouping;
    struct groups *got = NULL;
    int rc = (int)rec_i(in), read = read_hook_results(g, in);

    rc = rc < 0 ? rc : read;
    rc = rc < 0 ? rc : read_rank_0_places(g->query, in, places, any_rank_0);
    if (rc < 0)
        return rc;
    query_decode_counters(g->query, in);
    rc = groups_decode(g, decode_block(in), true, &got);
    rc = rc < 0 || job->error < 0 ? rc : groups_merge(job->found, got, later);
    rc = rc < 0 ? rc : read_parts(g, in, places);
    groups_free(got);
    return rc;
}

/* An answer with another number of places belongs to another state of the index: it is ignored. */
static void read_answer(struct groups_job *jobs, size_t count, struct rank_answer *a,
                        unsigned later, struct place_result **places, bool *any_rank_0)
{
    struct rec rec = rec_of((struct text){a->answer.data, a->answer.len});

    for (size_t i = 0; i < count; i++)
        a->failed |= rec_u(&rec) != jobs[i].grouping->query->place_count;
    for (size_t i = 0; i < count && !a->failed; i++) {
        struct rec block = rec_of(decode_block(&rec));
        int rc = read_job(&jobs[i], &block, later, places[i], any_rank_0);
        jobs[i].error = jobs[i].error < 0 ? jobs[i].error : rc;
    }
}

/* Scans the chunks of the ranks in `local`, and merges the groups. */
static int scan_rest(struct groups_job *jobs, size_t count, const struct groups_local *local)
{
    struct groups_job *rest = calloc(count, sizeof(*rest));

    for (size_t i = 0; rest && i < count; i++)
        rest[i].grouping = jobs[i].grouping;
    int rc = rest ? groups_scan_local(rest, count, local) : -ENOMEM;
    for (size_t i = 0; rest && i < count; i++) {
        int merged = rc < 0 ? rc : rest[i].error;
        merged = merged < 0 || jobs[i].error < 0 ? merged
                                                 : groups_merge(jobs[i].found, rest[i].found, 0);
        jobs[i].error = jobs[i].error < 0 ? jobs[i].error : merged;
        groups_free(rest[i].found);
    }
    free(rest);
    return rc;
}

/* Scans the chunks of ranks that did not answer, and those that only rank 0 can scan. */
static int scan_failed(struct groups_job *jobs, size_t count, const struct rank_answer *list,
                       unsigned ranks, struct place_result **places, bool any_rank_0)
{
    bool *failed = calloc(ranks, sizeof(*failed)), any = any_rank_0;
    const struct groups_local local = {.ranks = failed, .rank_count = ranks, .places = places};
    int rc = failed ? 0 : -ENOMEM;

    for (unsigned i = 1; i < ranks && rc == 0; i++)
        any |= failed[i] = list[i].wanted && list[i].failed;
    if (rc == 0 && any)
        rc = scan_rest(jobs, count, &local);
    free(failed);
    return rc;
}

/* Merges the answers of all ranks. All of them are in memory until then. */
static int merge_answers(struct groups_job *jobs, size_t count, struct rank_answer *list,
                         unsigned ranks, struct place_result **places)
{
    struct budget *budget = jobs->grouping->query->budget;
    bool any_rank_0 = false;
    size_t bytes = 0;
    unsigned answers = 0;

    for (unsigned i = 1; i < ranks; i++) {
        bytes += list[i].answer.len;
        answers += list[i].wanted && !list[i].failed;
    }
    int rc = budget_charge(budget, bytes);
    if (rc < 0)
        return rc;
    for (unsigned i = 1; i < ranks; i++) {
        if (list[i].wanted && !list[i].failed)
            read_answer(jobs, count, &list[i], --answers, places, &any_rank_0);
        budget_release(budget, list[i].answer.len);
        buf_done(&list[i].answer);
    }
    return scan_failed(jobs, count, list, ranks, places, any_rank_0);
}

/* Scans the chunks of this process while the other ranks scan theirs, and merges all results.
 * Errors are those of the jobs; returns -ENOMEM if none has begun. */
static int scan_on_ranks(struct groups_job *jobs, size_t count, struct rank_answer *list,
                         unsigned ranks)
{
    static const bool self = true;
    struct query *q = jobs->grouping->query;
    struct groups_local local = {
        .ranks = &self, .rank_count = 1, .places = places_new(jobs, count)};
    struct buf message = {0};
    struct rank_answers all = {.query = q, .list = list, .lock = PTHREAD_MUTEX_INITIALIZER};

    if (!local.places)
        return -ENOMEM;
    q->env.remote->number = query_remote_number();
    query_remote_encode(q->env.remote, q->budget, true, TEXT(""), &message);
    int rc = message.error;
    if (rc == 0) {
        clock_cond_init(&all.arrived);
        request_all(&all, (struct text){message.data, message.len}, ranks);
        buf_done(&message);
        rc = groups_scan_local(jobs, count, &local);
        wait_all(&all, ranks);
        pthread_cond_destroy(&all.arrived);
    }
    rc = rc < 0 ? rc : merge_answers(jobs, count, list, ranks, local.places);
    for (size_t i = 0; i < count; i++)
        jobs[i].error = places_merge(jobs[i].grouping, local.places[i], jobs[i].found,
                                     rc < 0 ? rc : jobs[i].error);
    free(local.places);
    for (unsigned i = 1; i < ranks; i++)
        buf_done(&list[i].answer);
    buf_done(&message);
    return 0;
}

static bool has_doubles(const struct groups *f)
{
    for (unsigned i = 0; f->doubles.set && i < f->set_count; i++)
        if (f->doubles.set[i].float_moments.count)
            return true;
    return false;
}

/* Adds the results to remote->earlier, which later scans on other ranks need. */
static void add_earlier(struct query_remote *remote, struct groups_job *jobs, size_t count)
{
    remote->scans++;
    for (size_t i = 0; i < count && !remote->local; i++) {
        const struct grouping *g = jobs[i].grouping;
        remote->local = jobs[i].error || !g->more || has_doubles(jobs[i].found);
        if (remote->local)
            break;
        put_hook_results(g, &remote->earlier);
        remote->local = put_groups(jobs[i].found, true, &remote->earlier) < 0;
    }
}

static int scan_spread(struct query_remote *remote, struct groups_job *jobs, size_t count)
{
    unsigned ranks = index_rank_count(jobs->grouping->query->env.index);
    struct rank_answer *list = calloc(ranks, sizeof(*list));
    bool any = false;
    int rc = list ? 0 : -ENOMEM;

    for (size_t i = 0; i < count && rc == 0; i++)
        any |= choose_ranks(jobs[i].grouping->query, list, ranks);
    if (rc == 0)
        rc = any ? scan_on_ranks(jobs, count, list, ranks) : groups_scan_local(jobs, count, NULL);
    free(list);
    if (rc == 0)
        add_earlier(remote, jobs, count);
    remote->local |= rc < 0; /* other ranks could not number the scans after it */
    return rc;
}

/* ---- scans ----------------------------------------------------------------------------------- */

int groups_scan_all(struct groups_job *jobs, size_t count)
{
    struct query_remote *remote = count ? jobs->grouping->query->env.remote : NULL;
    bool spreads = true;

    for (size_t i = 0; i < count; i++) {
        jobs[i].found = NULL;
        spreads &= jobs[i].grouping->spreads && !jobs[i].grouping->translate_keys;
    }
    if (remote && remote->answer) {
        int rc = !spreads                           ? ERR_CANCELLED
                 : remote->scans++ < remote->wanted ? read_earlier(remote, jobs, count)
                                                    : answer_scan(remote, jobs, count);
        for (size_t i = 0; i < count; i++)
            jobs[i].error = rc;
        return 0;
    }
    if (remote && !remote->local && spreads)
        return scan_spread(remote, jobs, count);
    if (remote)
        remote->local = true;
    return groups_scan_local(jobs, count, NULL);
}

int groups_scan(const struct grouping *g, struct groups **ret, struct err *err)
{
    struct groups_job job = {.grouping = g};
    int rc = groups_scan_all(&job, 1);

    *ret = job.found;
    return scan_error(err, rc < 0 ? rc : job.error);
}
