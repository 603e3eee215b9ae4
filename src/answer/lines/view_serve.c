/* view_serve.c - makes items for rank 0, as bytes. */
#include "answer/lines/view_ahead.h"
#include "answer/lines/view_pull.h"
#include "answer/lines/view_serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int put_item(const struct ahead_maker *m, const void *item, struct buf *out)
{
    uint64_t length = 0;
    size_t start = out->len;

    buf_append(out, &length, sizeof(length));
    int rc = item ? m->encode(m->arg, item, out) : 0;
    length = out->len - start - sizeof(length) + 1;
    if (rc == 0 && !out->error)
        memcpy(out->data + start, &length, sizeof(length));
    return rc < 0 ? rc : out->error;
}

static int next_item(struct ahead *a, const struct ahead_maker *m, struct charge *charge,
                     struct buf *out)
{
    struct err err = {0};
    size_t start = out->len;
    void *item = NULL;
    int rc = ahead_next(a, &err, &item);

    err_done(&err);
    if (rc < 0)
        return rc;
    rc = put_item(m, item, out);
    rc = rc < 0 ? rc : charge_up_to(charge, out->len);
    if (item)
        m->drop(m->arg, item);
    if (rc < 0)
        out->len = start;
    return rc;
}

static int put_items(const struct ahead_maker *m, const struct pull_asked *asked, struct buf *out)
{
    struct charge charge = {.budget = query_budget(m->query)};
    size_t start = out->len, count = 0;
    const uint64_t end = 0;
    struct ahead *a = NULL;
    int rc = ahead_new(m, asked->positions, asked->count, &a);

    while (rc == 0 && out->len - start < asked->bytes && count < asked->count) {
        rc = next_item(a, m, &charge, out);
        count += rc == 0;
    }
    ahead_free(a);
    charge_done(&charge);
    buf_append(out, &end, sizeof(end));
    return count ? 0 : rc; /* the one that failed is asked for again */
}

static void put_counters(const struct query *q, const struct query_counters *before,
                         struct buf *out)
{
    struct query_counters c;

    query_counters(q, &c);
    rec_put_u(out, c.chunks_scanned - before->chunks_scanned);
    rec_put_u(out, c.chunks_skipped - before->chunks_skipped);
    rec_put_u(out, c.rows_scanned - before->rows_scanned);
    rec_put_u(out, c.rows_selected - before->rows_selected);
    rec_put_u(out, c.name_conflicts - before->name_conflicts);
}

int serve_items(const struct ahead_maker *maker, struct text asked, struct buf *answer)
{
    struct query *q = maker->query;
    struct query_counters before;
    struct pull_asked what;
    int rc = pull_read(q, asked, &what);

    if (rc < 0)
        return rc;
    if (what.time_ns)
        query_budget(q)->deadline_ns = clock_mono_ns() + what.time_ns;
    query_counters(q, &before);
    rec_put_u(answer, q->place_count);
    rc = put_items(maker, &what, answer);
    put_counters(q, &before, answer);
    free(what.positions);
    return rc < 0 ? rc : answer->error;
}
