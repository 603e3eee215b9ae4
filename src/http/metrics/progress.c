/* progress.c - the members of a report on indexing. */
#include "http/metrics/progress.h"
#include "http/metrics/metrics.h"

#include <math.h>

#define QUIET_NS 5000000000ll /* maximum time between two reports of a stream */

bool progress_is_done(const struct index_progress *p)
{
    return p->listed && p->files_pending == 0;
}

static bool is_same(const struct index_progress *a, const struct index_progress *b)
{
    return a->listed == b->listed && a->store_error == b->store_error && a->files == b->files &&
           a->files_ready == b->files_ready && a->files_failed == b->files_failed &&
           a->files_pending == b->files_pending && a->bytes == b->bytes &&
           a->bytes_done == b->bytes_done;
}

bool progress_is_due(struct request *rq, struct progress_stream *s, const struct index_progress *p,
                     uint64_t generation, int64_t gap_ns, bool last)
{
    int64_t now = clock_mono_ns(), since = now - s->sent_ns;
    int64_t gap = is_same(p, &s->sent) && generation == s->generation ? QUIET_NS : gap_ns;
    bool due = !s->sent_ns || last || since >= gap;
    rq->wait_ms = due ? QUIET_NS / 1000000 : (gap - since) / 1000000 + 1;
    if (due)
        *s = (struct progress_stream){*p, generation, now};
    return due;
}

static void add_file(struct index *ix, struct index_progress *p, const struct index_file *f)
{
    bool pending = f->state == INDEX_PENDING || f->state == INDEX_INDEXING;
    p->files++;
    if (f->state == INDEX_PENDING && index_is_unrequested(ix, f->name)) {
        p->files_unasked++;
        return;
    }
    p->files_pending += pending;
    p->files_failed += f->state == INDEX_FAILED;
    p->files_ready += !pending && f->state != INDEX_FAILED;
    p->bytes += f->compressed_bytes;
    p->bytes_done += index_file_bytes_done(f);
}

void progress_count(struct index *ix, const struct snapshot *snapshot, const uint32_t *files,
                    size_t count, struct index_progress *p)
{
    *p = (struct index_progress){.listed = p->listed, .store_error = p->store_error};
    for (size_t i = 0; i < count; i++)
        add_file(ix, p, snapshot_file(snapshot, files ? files[i] : (uint32_t)i));
}

static const char *state_name(const struct index_progress *p)
{
    if (p->store_error)
        return "stopped";
    if (!progress_is_done(p))
        return "indexing";
    return p->files_failed ? "failed" : "ready";
}

/* The speed includes all files, so viewers do not see it. */
void progress_report(const struct request *rq, const struct index_progress *p,
                     struct progress_report *ret)
{
    const struct metrics *m = rq->viewer || !p->files_pending ? NULL : rq->http->metrics;
    double rate = m ? rate_bytes_per_s(&m->rate) : -1;
    *ret = (struct progress_report){.state = state_name(p),
                                    .p = *p,
                                    .bytes_per_s = rate >= 0 ? rate : NAN,
                                    .eta_s = NAN,
                                    .has_unrequested = p->files_unasked > 0};
    if (rate > 0)
        ret->eta_s = (double)(p->bytes - p->bytes_done) / rate;
}

/* ---- members --------------------------------------------------------------------------------- */

static const char *const states[] = {"ready", "indexing", "failed", "stopped", NULL};

#define OBJECT struct index_rank_progress
static const struct member rank_members[] = {
    MEMBER("rank", rank, .help = "number of the process; rank 0 answers requests"),
    MEMBER("host", host, .help = "the node on which it runs"),
    MEMBER("files", files, .help = "files that this rank reads"),
    MEMBER("files_pending", files_pending,
           .help = "those of them that are waiting to be indexed or being indexed"),
    MEMBER("bytes", bytes, .help = "compressed size of the files"),
    MEMBER("bytes_done", bytes_done, .help = "those of them that are indexed"),
};
static const struct object_type rank_type = {NULL, MEMBERS(rank_members)};
#undef OBJECT

#define OBJECT struct progress_report
static const struct member members[] = {
    MEMBER("state", state, .choices = states,
           .help = "`failed`: done, but some files could not be indexed (/readyz is `ready` then); "
                   "`stopped`: the index cannot be written"),
    MEMBER("files", p.files),
    MEMBER("files_ready", p.files_ready),
    MEMBER("files_failed", p.files_failed),
    MEMBER("bytes", p.bytes, .help = "compressed size of the files"),
    MEMBER("bytes_done", p.bytes_done, .help = "those of them that are indexed"),
    MEMBER("bytes_per_s", bytes_per_s, .nullable = true,
           .help =
               "rate of the daemon over all files in the last 5 seconds; null if there is nothing "
               "to do"),
    MEMBER("eta_s", eta_s, .nullable = true, .help = "estimated remaining seconds at that rate"),
    MEMBER("files_unasked", p.files_unasked, .when = WHEN(has_unrequested), .optional = true,
           .help =
               "with `--on-demand`: files that no request has selected yet; they are included in "
               "`files`, but not in the other numbers"),
    MEMBER("queued", queued, .type = VALUE_UINT, .optional = true,
           .help = "answer of `POST`: number of files to be indexed"),
    MEMBER_OBJECTS("ranks", ranks, rank_count, &rank_type, .optional = true,
                   .help = "only with `dftracerd-mpi` and more than one process: their progress, "
                           "whatever files are selected; missing where "
                           "`--enforce-file-permissions` checks the permissions of the client"),
};
const struct object_type progress_report_type = {"Index", MEMBERS(members)};
#undef OBJECT
