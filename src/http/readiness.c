/* readiness.c - pending files of a snapshot, and of a selection. What is known of a whole generation is kept, so that in
 * quiet times no request looks at its files. */
#include "readiness.h"

#include <stdlib.h>

bool readiness_is_known(struct http *h, uint64_t generation)
{
    return atomic_load(&h->quiet) == generation + 1;
}

static bool is_listed(struct http *h)
{
    struct index_progress p;
    if (atomic_load(&h->listed))
        return true;
    index_progress(h->options.index, &p);
    if (p.listed)
        atomic_store(&h->listed, true);
    return p.listed;
}

static bool is_pending(const struct index_file *f)
{
    return f->state == INDEX_PENDING || f->state == INDEX_INDEXING;
}

static bool is_quiet(const struct snapshot *s)
{
    for (uint32_t i = 0; i < snapshot_file_count(s); i++)
        if (is_pending(snapshot_file(s, i)))
            return false;
    return true;
}

/* A generation without pending files, and the first walk is over. */
static bool is_all_ready(struct exchange *x)
{
    struct http *h = x->http;
    uint64_t generation = snapshot_generation(x->rq.snapshot);
    if (readiness_is_known(h, generation))
        return true;
    if (!is_listed(h) || !is_quiet(x->rq.snapshot))
        return false;
    atomic_store(&h->quiet, generation + 1);
    return true;
}

/* Asks for the selected files that are pending; whether none was, nor is being indexed. */
static bool want_selected(struct request *rq)
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
        ready = ready && !is_pending(f);
        if (f->state == INDEX_PENDING)
            index_want(rq->http->options->index, f->name);
    }
    err_done(&ignored);
    free(files);
    return ready;
}

bool readiness_of(struct exchange *x)
{
    return is_all_ready(x) || (want_selected(&x->rq) && is_listed(x->http));
}

void readiness_want(struct exchange *x)
{
    const struct param *wait = request_param(&x->rq, "wait");
    bool no = !wait || (wait->given && text_eq(wait->text, TEXT("no")));
    if (!no && !is_all_ready(x))
        want_selected(&x->rq);
}
