/* query.c - the files, places and counters of an open query. */
#include "engine/query.h"

#include <errno.h>
#include <stdlib.h>

struct snapshot *query_snapshot(const struct query *q)
{
    return q->snapshot;
}

size_t query_files(const struct query *q, const uint32_t **ret)
{
    *ret = q->files;
    return q->file_count;
}

bool query_complete(const struct query *q)
{
    return q->complete;
}

bool query_unfiltered(const struct query *q)
{
    return q->unfiltered;
}

struct index *query_index(const struct query *q)
{
    return q->env.index;
}

const struct query_env *query_environment(const struct query *q)
{
    return &q->env;
}

struct budget *query_budget(const struct query *q)
{
    return q->budget;
}

int64_t query_time_left(const struct budget *b)
{
    int64_t left = b->deadline_ns ? b->deadline_ns - clock_mono_ns() : 0;

    return b->deadline_ns && left < 1 ? 1 : left;
}

unsigned query_phases(const struct query *q)
{
    return q->phases;
}

size_t scan_places(const struct query *q, const struct scan_place **ret)
{
    *ret = q->places;
    return q->place_count;
}

void scan_keep_places(struct query *q, bool (*keep)(void *arg, struct scan_place *place), void *arg)
{
    size_t kept = 0;

    for (size_t i = 0; i < q->place_count; i++) {
        if (keep(arg, &q->places[i]))
            q->places[kept++] = q->places[i];
    }
    q->place_count = kept;
}

static uint32_t rows_of_place(const struct query *q, const struct scan_place *p)
{
    return snapshot_file(q->snapshot, p->file)->chunks[p->chunk].rows;
}

int scan_split_places(struct query *q, uint32_t rows)
{
    size_t count = 0, n = 0;

    rows = rows < SCAN_BATCH ? SCAN_BATCH : rows / SCAN_BATCH * SCAN_BATCH;
    for (size_t i = 0; i < q->place_count; i++)
        count += 1 + rows_of_place(q, &q->places[i]) / rows;
    struct scan_place *places = malloc((count + 1) * sizeof(*places));
    if (!places)
        return -ENOMEM;
    for (size_t i = 0; i < q->place_count; i++) {
        struct scan_place p = q->places[i];
        uint32_t all = rows_of_place(q, &p), end = p.first_row / rows * rows + rows;
        for (; end < all; p.first_row = end, end += rows) {
            places[n] = p;
            places[n++].end_row = end;
            p.continued = true;
        }
        places[n++] = p;
    }
    free(q->places);
    q->places = places;
    q->place_count = n;
    return 0;
}

/* ---- counters -------------------------------------------------------------------------------- */

void query_count(struct query *q, const struct query_counters *add)
{
    struct query_counters *c = &q->counters;

    pthread_mutex_lock(&q->lock);
    c->chunks_scanned += add->chunks_scanned;
    c->chunks_skipped += add->chunks_skipped;
    c->chunks_from_summary += add->chunks_from_summary;
    c->rows_scanned += add->rows_scanned;
    c->rows_selected += add->rows_selected;
    c->name_conflicts += add->name_conflicts;
    pthread_mutex_unlock(&q->lock);
}

struct query_counters query_encode_counters(const struct query *q,
                                            const struct query_counters *before, struct buf *out)
{
    struct query_counters c;

    query_counters(q, &c);
    rec_put_u(out, c.chunks_scanned - before->chunks_scanned);
    rec_put_u(out, c.chunks_skipped - before->chunks_skipped);
    rec_put_u(out, c.rows_scanned - before->rows_scanned);
    rec_put_u(out, c.rows_selected - before->rows_selected);
    rec_put_u(out, c.name_conflicts - before->name_conflicts);
    return c;
}

void query_decode_counters(struct query *q, struct rec *in)
{
    struct query_counters c = {0};

    c.chunks_scanned = rec_u(in);
    c.chunks_skipped = rec_u(in);
    c.rows_scanned = rec_u(in);
    c.rows_selected = rec_u(in);
    c.name_conflicts = rec_u(in);
    query_count(q, &c);
}

void query_counters(const struct query *q, struct query_counters *ret)
{
    struct query *own = (struct query *)q; /* only for its lock */

    pthread_mutex_lock(&own->lock);
    *ret = q->counters;
    pthread_mutex_unlock(&own->lock);
}
