/* mirror.c - copies of rank 0's snapshots on another rank, and rank 0's part of the exchange. */
#include "index/mirror.h"
#include "index/catalog/snapshot.h"
#include "index/catalog/view_record.h"
#include "index/ranks/ranks.h"

#include <errno.h>
#include <stdlib.h>

struct mirror {
    pthread_mutex_t lock;
    struct snapshot *list[RANK_SNAPSHOTS]; /* latest first */
    uint16_t home;                         /* home of this rank's chunks, as rank 0 numbers them */
};

struct mirror *mirror_new(void)
{
    struct mirror *m = calloc(1, sizeof *m);

    if (m)
        pthread_mutex_init(&m->lock, NULL);
    return m;
}

void mirror_free(struct mirror *m)
{
    if (!m)
        return;
    for (unsigned i = 0; i < RANK_SNAPSHOTS; i++)
        snapshot_release(m->list[i]);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* ---- the other rank -------------------------------------------------------------------------- */

/* Returns a reference, or NULL if the snapshot is unknown. */
static struct snapshot *find_snapshot(struct mirror *m, uint64_t serial)
{
    struct snapshot *s = NULL;

    pthread_mutex_lock(&m->lock);
    for (unsigned i = 0; i < RANK_SNAPSHOTS && !s; i++)
        if (m->list[i] && m->list[i]->serial == serial)
            s = snapshot_ref(m->list[i]);
    pthread_mutex_unlock(&m->lock);
    return s;
}

int mirror_answer(struct index *ix, struct rec *request, struct buf *answer)
{
    struct snapshot *s = find_snapshot(ix->mirror, rec_u(request));
    int rc = ix->rank_handler.answer
                 ? ix->rank_handler.answer(ix->rank_handler.arg, s, rec_text(request), answer)
                 : -ESRCH;

    snapshot_release(s);
    return rc;
}

static int compare_views(const void *a, const void *b)
{
    uint64_t x = (*(struct view *const *)a)->serial, y = (*(struct view *const *)b)->serial;

    return x < y ? -1 : x > y;
}

/* All views of this rank, ordered by serial. Valid under the lock. */
struct view_list {
    VEC(struct view *) views;
};

static int collect_views(const struct mirror *m, struct view_list *k)
{
    int rc = 0;

    for (unsigned i = 0; i < RANK_SNAPSHOTS && m->list[i] && rc == 0; i++) {
        const struct snapshot *s = m->list[i];
        rc = vec_reserve(&k->views, s->count);
        for (uint32_t n = 0; n < s->count && rc == 0; n++)
            k->views.at[k->views.count++] = s->views[n];
    }
    if (k->views.count)
        qsort(k->views.at, k->views.count, sizeof *k->views.at, compare_views);
    return rc;
}

static struct view *find_view(const struct view_list *k, uint64_t serial)
{
    struct view key = {.serial = serial}, *at = &key, **found;

    found = k->views.count
                ? bsearch(&at, k->views.at, k->views.count, sizeof *k->views.at, compare_views)
                : NULL;
    return found ? *found : NULL;
}

int mirror_known_files(struct index *ix, struct rec *request, struct buf *answer)
{
    struct mirror *m = ix->mirror;
    struct view_list k = {0};

    pthread_mutex_lock(&m->lock);
    int rc = collect_views(m, &k);
    uint64_t count = rec_count(request, 1);
    for (uint64_t i = 0; i < count && rc == 0; i++)
        buf_putc(answer, find_view(&k, rec_u(request)) ? 1 : 0);
    pthread_mutex_unlock(&m->lock);
    vec_done(&k.views);
    return rc ? rc : request->bad ? ERR_CORRUPT : answer->error;
}

/* Decodes up to `count` views of a snapshot. *views receives references. */
static int decode_views(struct index *ix, struct rec *in, const struct view_list *k, uint64_t count,
                        struct view **views, uint32_t *ret_count)
{
    int rc = in->bad ? ERR_CORRUPT : 0;

    for (uint64_t i = 0; i < count && rc == 0; i++) {
        uint64_t serial = rec_u(in);
        struct view *old = serial ? find_view(k, serial) : NULL;
        views[i] = old ? view_ref(old) : NULL;
        if (!serial)
            rc = view_decode(ix, in, ix->mirror->home, &views[i]);
        else if (!old)
            rc = -ESRCH;
        *ret_count += rc == 0;
    }
    return rc;
}

static void keep_snapshot(struct mirror *m, struct snapshot *s)
{
    snapshot_release(m->list[RANK_SNAPSHOTS - 1]);
    for (unsigned i = RANK_SNAPSHOTS - 1; i > 0; i--)
        m->list[i] = m->list[i - 1];
    m->list[0] = s;
}

int mirror_add_snapshot(struct index *ix, struct rec *request)
{
    struct mirror *m = ix->mirror;
    struct view **views = NULL;
    struct view_list k = {0};
    uint32_t decoded = 0;

    pthread_mutex_lock(&m->lock);
    request->ids = ranks_ids(ix->ranks, 0);
    int rc = ranks_decode_texts(ix->ranks, 0, ix->texts, request);
    uint64_t serial = rec_u(request), generation = rec_u(request);
    m->home = (uint16_t)rec_u(request);
    uint64_t count = rec_count(request, 1);
    views = malloc((count + 1) * sizeof *views);
    rc = rc ? rc : views ? collect_views(m, &k) : -ENOMEM;
    rc = rc ? rc : decode_views(ix, request, &k, count, views, &decoded);
    struct snapshot *s = rc ? NULL : snapshot_of_views(ix, generation, views, decoded);
    if (s) {
        s->serial = serial;
        keep_snapshot(m, s);
    }
    rc = rc ? rc : s ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < decoded; i++)
        view_release(views[i]);
    pthread_mutex_unlock(&m->lock);
    free(views);
    vec_done(&k.views);
    return rc;
}

/* ---- rank 0 ---------------------------------------------------------------------------------- */

/* Requests which files the rank knows: *ret has a byte for each. */
static int request_known(struct index *ix, unsigned rank, const struct snapshot *s, struct buf *ret)
{
    struct buf request = {0};

    buf_putc(&request, RANK_KNOWN_FILES);
    rec_put_u(&request, s->count);
    for (uint32_t i = 0; i < s->count; i++)
        rec_put_u(&request, s->views[i]->serial);
    int rc = ranks_request(ix->ranks, rank, &request, ret);
    buf_done(&request);
    return rc ? rc : ret->len == s->count ? 0 : ERR_CORRUPT;
}

/* A serial of 0 means that the file follows. */
static void encode_snapshot(struct index *ix, unsigned rank, const struct snapshot *s,
                            const char *known, struct buf *out)
{
    rec_put_u(out, s->serial);
    rec_put_u(out, s->generation);
    rec_put_u(out, ranks_home(ix->ranks, rank));
    rec_put_u(out, s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        rec_put_u(out, known[i] ? s->views[i]->serial : 0);
        if (!known[i])
            view_encode(ix, s->views[i], out);
    }
}

static bool has_snapshot(const struct rank_sent *sent, const struct snapshot *s)
{
    for (unsigned i = 0; i < RANK_SNAPSHOTS; i++)
        if (sent->snapshots[i] == s->serial)
            return true;
    return false;
}

/* Keeps the same list as the rank. */
static void record_snapshot(struct rank_sent *sent, const struct snapshot *s)
{
    for (unsigned i = RANK_SNAPSHOTS - 1; i > 0; i--)
        sent->snapshots[i] = sent->snapshots[i - 1];
    sent->snapshots[0] = s->serial;
}

static int send_snapshot(struct index *ix, unsigned rank, const struct snapshot *s,
                         struct rank_sent *sent)
{
    struct buf known = {0}, message = {0}, answer = {0};
    uint32_t texts = 0;
    int rc = request_known(ix, rank, s, &known);

    if (rc == 0) {
        buf_putc(&message, RANK_ADD_SNAPSHOT);
        texts = text_ids_encode(ix->texts, sent->texts, &message);
        encode_snapshot(ix, rank, s, known.data, &message);
        rc = ranks_request(ix->ranks, rank, &message, &answer);
    }
    if (rc == 0) {
        sent->texts = texts;
        record_snapshot(sent, s);
    }
    buf_done(&known);
    buf_done(&message);
    buf_done(&answer);
    return rc;
}

static int send_new_snapshot(struct index *ix, unsigned rank, const struct snapshot *s)
{
    struct rank_sent *sent = ranks_send_begin(ix->ranks, rank);
    int rc = has_snapshot(sent, s) ? 0 : send_snapshot(ix, rank, s, sent);

    ranks_send_end(ix->ranks, rank);
    return rc;
}

static void encode_request(const struct snapshot *s, struct text request, struct buf *out)
{
    /* with space for the headers of this module and of the cluster */
    buf_reserve(out, request.len + 64);
    buf_putc(out, RANK_SCAN);
    rec_put_u(out, s->serial);
    rec_put_text(out, request);
}

int index_request_rank(struct index *ix, unsigned rank, const struct snapshot *s,
                       struct text request, struct buf *answer)
{
    struct buf message = {0};

    encode_request(s, request, &message);
    int rc = ranks_request(ix->ranks, rank, &message, answer);
    if (rc == -ESRCH) {
        rc = send_new_snapshot(ix, rank, s);
        rc = rc ? rc : ranks_request(ix->ranks, rank, &message, answer);
    }
    buf_done(&message);
    return rc;
}

/* If a rank cannot receive the snapshot, it answers the request with an error. */
int index_request_ranks(struct index *ix, const unsigned *ranks, unsigned count,
                        const struct snapshot *s, struct text request,
                        void (*answered)(void *arg, unsigned from, int rc, struct buf *answer),
                        void *arg)
{
    struct buf message = {0};

    for (unsigned i = 0; i < count; i++)
        (void)send_new_snapshot(ix, ranks[i], s);
    encode_request(s, request, &message);
    return ranks_request_all(ix->ranks, ranks, count, &message, answered, arg);
}

int index_stop_rank(struct index *ix, unsigned rank, uint64_t number)
{
    return ranks_send_number(ix->ranks, rank, RANK_STOP, (int64_t)number);
}

void index_on_request(struct index *ix, const struct index_rank_handler *handler)
{
    ix->rank_handler = *handler;
}

unsigned index_rank_count(const struct index *ix)
{
    return ranks_count(ix->ranks);
}

unsigned index_chunk_rank(const struct index *ix, const struct index_file *file, uint32_t i)
{
    uint16_t home = file->chunks[i].home;

    return home == HOME_ELSEWHERE ? UINT16_MAX : home ? ranks_at(ix->ranks, home) : 0;
}
