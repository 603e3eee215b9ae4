/* source_rank.c - the rank of the process that an object belongs to. */
#include "plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct host_column {
    bool there;
    struct column column;
    uint32_t *codes, *ids;
    uint64_t *valid;
};
struct ranks {
    struct scan_worker *worker;
    struct host_column hash, name; /* args.hhash, args.hostname */
    struct column pid;
    int64_t *pids;
    uint64_t *pid_valid;
};

static bool is_set(const uint64_t *mask, uint32_t row)
{
    return !mask || (mask[row / 64] >> row % 64 & 1);
}

static uint64_t *valid_new(struct chunk_view *view, const struct column *c, int *rc)
{
    uint64_t *mask = calloc(c->rows / 64 + 1, 8);

    *rc = mask ? column_read_valid(view, c, 0, c->rows, mask) : -ENOMEM;
    return mask;
}

/* Global ids of the texts of a dictionary; a text that has none is no process's host. */
static int read_ids(struct scan_worker *w, struct host_column *h)
{
    struct column_entry e;

    h->ids = malloc((h->column.entries + 1) * sizeof(*h->ids));
    if (!h->ids)
        return -ENOMEM;
    for (uint32_t i = 0; i < h->column.entries; i++) {
        int rc = column_entry(w->chunk.view, &h->column, i, &e);
        if (rc < 0)
            return rc;
        h->ids[i] = e.type != TRACE_TEXT         ? INDEX_NO_TEXT
                    : e.text_id != INDEX_NO_TEXT ? e.text_id
                                                 : index_text_find(w->query->env.index, e.text);
    }
    return 0;
}

static int read_host(struct scan_worker *w, const char *path, struct host_column *h)
{
    int rc = 0;

    h->there = chunk_find(w->chunk.view, text_of(path), &h->column) == 0 &&
               (h->column.type == COLUMN_TEXT || h->column.type == COLUMN_MIXED);
    if (!h->there)
        return 0;
    h->codes = malloc((w->chunk.rows + 64) * sizeof(*h->codes));
    if (!h->codes)
        return -ENOMEM;
    rc = column_read_codes(w->chunk.view, &h->column, 0, w->chunk.rows, h->codes);
    if (rc == 0 && h->column.nulls > 0)
        h->valid = valid_new(w->chunk.view, &h->column, &rc);
    return rc < 0 ? rc : read_ids(w, h);
}

static int read_all(struct ranks *r)
{
    struct scan_worker *w = r->worker;
    int rc = read_host(w, "args.hhash", &r->hash);

    if (rc == 0)
        rc = read_host(w, "args.hostname", &r->name);
    if (rc < 0)
        return rc;
    r->pids = malloc((w->chunk.rows + 64) * sizeof(*r->pids));
    if (!r->pids)
        return -ENOMEM;
    rc = column_read_i64(w->chunk.view, &r->pid, 0, w->chunk.rows, r->pids);
    if (rc == 0 && r->pid.nulls > 0)
        r->pid_valid = valid_new(w->chunk.view, &r->pid, &rc);
    return rc;
}

static void ranks_done(struct ranks *r)
{
    struct host_column *hosts[] = {&r->hash, &r->name};

    for (unsigned i = 0; i < 2; i++) {
        free(hosts[i]->codes);
        free(hosts[i]->ids);
        free(hosts[i]->valid);
    }
    free(r->pids);
    free(r->pid_valid);
}

/* The process of (host, pid); when the host is not known, or no process is told by it, the only one of that pid. */
static int64_t rank_of(const struct index_file *file, uint32_t host, bool is_hash, int64_t pid)
{
    const struct index_process *only = NULL;
    unsigned count = 0;

    for (uint32_t i = 0; i < file->process_count; i++) {
        const struct index_process *p = &file->processes[i];
        if (p->pid != pid)
            continue;
        if (host != INDEX_NO_TEXT && p->host == host && p->host_is_hash == is_hash)
            return p->rank;
        only = p;
        count++;
    }
    return count == 1 ? only->rank : INT64_MIN;
}

static uint32_t host_of(const struct ranks *r, uint32_t row, bool *ret_is_hash)
{
    *ret_is_hash = r->hash.there && is_set(r->hash.valid, row);
    if (*ret_is_hash)
        return r->hash.ids[r->hash.codes[row]];
    if (r->name.there && is_set(r->name.valid, row))
        return r->name.ids[r->name.codes[row]];
    return INDEX_NO_TEXT;
}

/* Processes of a file come in runs of rows or alternate among a few: the last answers are kept. */
enum { MEMO = 256 };
struct memo {
    int64_t pid, rank;
    uint32_t host;
    bool is_hash, used;
};

static uint32_t fill_ranks(struct ranks *r, struct bound *b, int64_t *out, uint64_t *valid)
{
    struct memo memo[MEMO] = {{0}};
    uint32_t found = 0;
    bool is_hash;

    for (uint32_t row = 0; row < r->worker->chunk.rows; row++) {
        out[row] = 0;
        if (!is_set(r->pid_valid, row))
            continue;
        uint32_t host = host_of(r, row, &is_hash);
        struct memo *m = &memo[((uint64_t)r->pids[row] * 31 + host) % MEMO];
        if (!m->used || m->pid != r->pids[row] || m->host != host || m->is_hash != is_hash) {
            *m = (struct memo){r->pids[row],
                               rank_of(r->worker->chunk.file, host, is_hash, r->pids[row]), host,
                               is_hash, true};
        }
        if (m->rank == INT64_MIN)
            continue;
        out[row] = m->rank;
        valid[row / 64] |= (uint64_t)1 << row % 64;
        b->min = found == 0 || m->rank < b->min ? m->rank : b->min;
        b->max = found == 0 || m->rank > b->max ? m->rank : b->max;
        found++;
    }
    return found;
}

static bool any_rank(const struct index_file *file)
{
    for (uint32_t i = 0; i < file->process_count; i++) {
        if (file->processes[i].rank != INT64_MIN)
            return true;
    }
    return false;
}

int bind_rank(struct scan_worker *w, struct bound *b)
{
    struct ranks r = {.worker = w};
    uint32_t n = w->chunk.rows, found = 0;
    int rc = 0;

    if (any_rank(w->chunk.file) && chunk_find(w->chunk.view, TEXT("pid"), &r.pid) == 0 &&
        r.pid.type == COLUMN_INT) {
        int64_t *out = grow_to(&b->rows_memory, (n + 64) * sizeof(*out));
        uint64_t *valid = grow_to(&b->rows_valid, (n / 64 + 2 + SCAN_WORDS) * 8);
        rc = out && valid ? read_all(&r) : -ENOMEM;
        if (rc == 0) {
            memset(valid, 0, (n / 64 + 2 + SCAN_WORDS) * 8);
            found = fill_ranks(&r, b, out, valid);
        }
        ranks_done(&r);
    }
    b->form = found ? FORM_ROWS : FORM_NULL;
    b->shape = found ? SHAPE_INT : SHAPE_NULL;
    b->nano = false;
    b->nulls = found < n;
    return rc;
}
