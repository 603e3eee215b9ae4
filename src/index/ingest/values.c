/* values.c - collects the distinct values of stored chunks: a file that was read in parts gets its
 * filters, too, once it is complete. Values are hashed as the chunk builder hashes them. An
 * additional value is harmless, a missing one would hide rows. */
#include "column/chunk/column_hash.h"
#include "index/ingest/flow.h"
#include "index/ingest/hashes.h"
#include "index/ingest/run.h"

#include <errno.h>

static int add_entries(struct chunk_view *v, const struct column *c, struct hashes *to)
{
    struct column_entry e;
    int rc = 0;

    for (uint32_t i = 0; i < c->entries && rc == 0; i++) {
        rc = column_entry(v, c, i, &e);
        if (rc == 0)
            hashes_add(to, column_hash_entry(&e));
    }
    return rc;
}

static int add_integers(struct chunk_view *v, const struct column *c, struct hashes *to)
{
    int64_t values[1024];
    int rc = 0;

    for (uint32_t first = 0; first < c->rows && rc == 0; first += 1024) {
        uint32_t n = c->rows - first < 1024 ? c->rows - first : 1024;
        rc = column_read_i64(v, c, first, n, values);
        for (uint32_t i = 0; i < n && rc == 0; i++) {
            if (i > 0 && values[i] == values[i - 1])
                continue;
            hashes_add(to, c->type == COLUMN_BOOL ? column_hash_bool(values[i] != 0)
                                                  : column_hash_i64(values[i]));
        }
    }
    return rc;
}

static int add_column(struct chunk_view *v, struct text path, struct hashes *to)
{
    struct column c;

    if (chunk_find(v, text_of("@other"), &c) == 0)
        hashes_match_all(to);
    if (chunk_find(v, path, &c) < 0)
        return 0;
    switch (c.type) {
    case COLUMN_TEXT:
    case COLUMN_MIXED:
        return add_entries(v, &c, to);
    case COLUMN_INT:
    case COLUMN_BOOL:
        return add_integers(v, &c, to);
    default:
        hashes_match_all(to); /* times have a range; doubles may have been written as integers */
        return 0;
    }
}

int hashes_add_chunk(struct index *ix, const struct index_file *file, uint32_t chunk,
                     struct hashes *const *to)
{
    const struct index_params *t = view_of_file(file)->index_params;
    struct chunk_view *v;
    int rc = chunk_open(ix, NULL, file, chunk, &v);

    if (rc)
        return rc;
    for (unsigned i = 0; i < t->dimension_count && rc == 0; i++)
        rc = add_column(v, text_of(t->dimensions[i]), to[i]);
    chunk_close(v);
    return rc;
}

int hashes_add_kept(struct ingest *in, const struct run *run, uint32_t kept, struct result *end)
{
    const struct index_params *t = run->index_params;
    int rc = 0;

    for (unsigned i = 0; i < t->dimension_count && rc == 0; i++)
        rc = (end->before[i] = hashes_new(t, i)) ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < kept && rc == 0; i++) {
        ingest_yield(in);
        rc =
            ingest_stopping(in) ? -EPIPE : hashes_add_chunk(in->ix, &run->old->pub, i, end->before);
    }
    for (unsigned i = 0; i < DIMENSIONS_MAX && rc; i++) {
        hashes_free(end->before[i]);
        end->before[i] = NULL;
    }
    return rc;
}
