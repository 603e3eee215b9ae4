/* lines_refs.c - finds the metadata records that the objects of a chunk refer to. */
#include "answer/lines/lines.h"
#include "dftracerd/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_FH = 1 << INDEX_FH, KIND_HH = 1 << INDEX_HH, KIND_SH = 1 << INDEX_SH };

/* In the order in which the records of an object are looked up; other *_hash columns follow, by
 * path. */
static const struct {
    const char *path;
    uint8_t kinds;
} known[] = {
    {"args.hhash", KIND_HH},    {"args.fhash", KIND_FH},     {"args.shash", KIND_SH},
    {"args.cmd_hash", KIND_SH}, {"args.exec_hash", KIND_SH}, {"args.cwd", KIND_FH},
};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };

struct hash_column {
    struct column column;
    unsigned rank; /* in the order of lookups */
    uint8_t kinds;
    uint32_t *ids; /* hash of each code, INDEX_NO_TEXT: no text, or no record can have it */
};

struct pid {
    bool has_pid;
    int64_t pid;
};
struct lines_refs {
    const struct lines_plan *plan;
    const struct scan_chunk *chunk; /* NULL before the first batch */
    struct hash_column columns[LINES_HASHES_MAX];
    unsigned count;
    struct group_table table;            /* keys: hash ids, then host and pid */
    uint64_t last[LINES_HASHES_MAX + 2]; /* keys of last_group */
    uint32_t last_group;
    VEC(struct pid) pids; /* of each group */
    uint32_t *codes;      /* SCAN_BATCH a column */
    uint64_t valid[SCAN_WORDS];
};

int refs_new(const struct lines_plan *p, struct lines_refs **ret)
{
    struct lines_refs *r = calloc(1, sizeof(*r));

    if (!r)
        return -ENOMEM;
    r->plan = p;
    r->last_group = UINT32_MAX;
    group_table_init(&r->table, 0, UINT32_MAX - 1, query_budget(p->query));
    *ret = r;
    return 0;
}

void refs_free(struct lines_refs *r)
{
    if (!r)
        return;
    for (unsigned i = 0; i < r->count; i++)
        free(r->columns[i].ids);
    group_table_done(&r->table);
    vec_done(&r->pids);
    free(r->codes);
    free(r);
}

/* ---- the columns of a chunk ------------------------------------------------------------------ */

static void rank_column(struct hash_column *c)
{
    c->rank = KNOWN;
    c->kinds = KIND_FH | KIND_HH | KIND_SH;
    for (unsigned i = 0; i < KNOWN; i++) {
        if (!text_eq(c->column.path, text_of(known[i].path)))
            continue;
        c->rank = i;
        c->kinds = known[i].kinds;
    }
}

static int compare_columns(const void *a, const void *b)
{
    const struct hash_column *x = a, *y = b;

    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1)
                              : text_cmp(x->column.path, y->column.path);
}

static int read_ids(struct lines_refs *r, struct hash_column *c)
{
    struct index *ix = query_index(r->plan->query);
    struct column_entry e;
    int rc = 0;

    c->ids = malloc((c->column.entries + 1) * sizeof(*c->ids));
    if (!c->ids)
        return -ENOMEM;
    for (uint32_t code = 0; code < c->column.entries && rc == 0; code++) {
        rc = column_entry(r->chunk->view, &c->column, code, &e);
        bool text = rc == 0 && e.type == TRACE_TEXT;
        c->ids[code] = !text                        ? INDEX_NO_TEXT
                       : e.text_id != INDEX_NO_TEXT ? e.text_id
                                                    : index_text_find(ix, e.text);
    }
    return rc;
}

static int open_columns(struct lines_refs *r, struct scan_chunk *c)
{
    uint32_t columns = chunk_column_count(c->view);
    int rc = 0;

    r->chunk = c;
    for (uint32_t i = 0; i < columns && r->count < LINES_HASHES_MAX; i++) {
        struct hash_column *h = &r->columns[r->count];
        chunk_column(c->view, i, &h->column);
        bool coded = h->column.type == COLUMN_TEXT || h->column.type == COLUMN_MIXED;
        if (!coded || !trace_path_is_hash(h->column.path))
            continue;
        rank_column(h);
        r->count++;
    }
    qsort(r->columns, r->count, sizeof(r->columns[0]), compare_columns);
    for (unsigned i = 0; i < r->count && rc == 0; i++)
        rc = read_ids(r, &r->columns[i]);
    r->table.width = r->count + 2;
    r->codes = malloc((r->count + 1) * SCAN_BATCH * sizeof(*r->codes));
    return r->codes ? rc : -ENOMEM;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Sets `ids` to the hash of each row of the batch; null or unknown: INDEX_NO_TEXT. */
static int read_hashes(struct lines_refs *r, struct scan_batch *b, struct hash_column *c,
                       uint32_t *ids)
{
    int rc = column_read_codes(r->chunk->view, &c->column, b->first, b->rows, ids);

    if (rc == 0 && c->column.nulls)
        rc = column_read_valid(r->chunk->view, &c->column, b->first, b->rows, r->valid);
    for (uint32_t i = 0; rc == 0 && i < b->rows; i++) {
        bool valid = !c->column.nulls || batch_is_valid(r->valid, i);
        ids[i] = valid && ids[i] < c->column.entries ? c->ids[ids[i]] : INDEX_NO_TEXT;
    }
    return rc;
}

static int add_group(struct lines_refs *r, struct scan_batch *b, uint32_t row, const uint64_t *keys)
{
    const struct value pid = batch_value(b, r->plan->pid, row);
    int64_t group = group_table_add(&r->table, keys);
    int rc = group < 0 ? (int)group : vec_extend(&r->pids, r->table.count);

    if (rc < 0)
        return rc;
    r->pids.at[group] = (struct pid){pid.type == VALUE_INT, pid.type == VALUE_INT ? pid.i : 0};
    r->last_group = (uint32_t)group;
    memcpy(r->last, keys, r->table.width * sizeof(*keys));
    return 0;
}

int refs_batch(struct lines_refs *r, struct scan_batch *b, uint32_t *out)
{
    const uint64_t *host = batch_keys(b, r->plan->host), *pid = batch_keys(b, r->plan->pid);
    uint64_t keys[LINES_HASHES_MAX + 2];
    unsigned hashes;
    int rc = r->chunk ? 0 : open_columns(r, b->chunk);

    hashes = r->count;
    for (unsigned i = 0; i < hashes && rc == 0; i++)
        rc = read_hashes(r, b, &r->columns[i], r->codes + i * SCAN_BATCH);
    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        uint32_t row = batch_row(b, j);
        for (unsigned i = 0; i < hashes; i++)
            keys[i] = r->codes[i * SCAN_BATCH + row];
        keys[hashes] = host[row];
        keys[hashes + 1] = pid[row];
        if (r->last_group == UINT32_MAX || memcmp(keys, r->last, (hashes + 2) * sizeof(*keys)) != 0)
            rc = add_group(r, b, row, keys);
        out[j] = r->last_group;
    }
    return rc;
}

int refs_groups(struct lines_refs *r, struct arena *arena, struct lines_group **ret)
{
    struct lines_group *groups = arena_alloc(arena, (r->table.count + 1) * sizeof(*groups));

    if (!groups)
        return -ENOMEM;
    for (uint32_t g = 0; g < r->table.count; g++) {
        const uint64_t *keys = group_table_keys(&r->table, g);
        struct lines_hash *hashes = arena_alloc(arena, (r->count + 1) * sizeof(*hashes));
        if (!hashes)
            return -ENOMEM;
        groups[g] = (struct lines_group){.hashes = hashes,
                                         .host = keys[r->count],
                                         .has_process = r->pids.at[g].has_pid,
                                         .pid = r->pids.at[g].pid};
        for (unsigned i = 0; i < r->count; i++) {
            if ((uint32_t)keys[i] != INDEX_NO_TEXT)
                hashes[groups[g].hash_count++] =
                    (struct lines_hash){r->columns[i].kinds, (uint32_t)keys[i]};
        }
    }
    *ret = groups;
    return 0;
}
