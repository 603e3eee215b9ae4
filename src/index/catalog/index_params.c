/* index_params.c - how a file is indexed. */
#include "index/catalog/index_params.h"
#include "index/store/record.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define RATE_MIN 1e-6 /* 6 bytes a value; a lower rate would not be noticed */
#define DIMENSION_PATH_MAX 4096

struct index_params *index_params_ref(struct index_params *t)
{
    atomic_fetch_add(&t->refs, 1);
    return t;
}

void index_params_release(struct index_params *t)
{
    if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
        return;
    arena_done(&t->arena);
    free(t);
}

int index_params_find(const struct index_params *t, struct text path)
{
    for (unsigned i = 0; i < t->dimension_count; i++)
        if (text_eq(path, text_of(t->dimensions[i])))
            return (int)i;
    return -1;
}

bool index_params_hashed(const struct index_params *t, unsigned dimension)
{
    return strcmp(t->dimensions[dimension], "ts") != 0 &&
           strcmp(t->dimensions[dimension], "dur") != 0;
}

/* Adds a dimension unless it is in the list. Returns 0, -EINVAL or -ENOMEM. */
static int add_dimension(struct index_params *t, struct text path)
{
    if (path.len == 0 || path.len > DIMENSION_PATH_MAX || path.ptr[0] == '@')
        return -EINVAL;
    if (index_params_find(t, path) >= 0)
        return 0;
    if (t->dimension_count == CHUNK_DIMENSIONS_MAX || memchr(path.ptr ? path.ptr : "", 0, path.len))
        return -EINVAL;
    const char *copy = arena_strdup(&t->arena, path);
    if (!copy)
        return -ENOMEM;
    t->dimensions[t->dimension_count++] = copy;
    return 0;
}

struct index_params *index_params_new(uint64_t checkpoint_size, double bloom_rate,
                                      const char *const *dimensions)
{
    struct index_params *t = calloc(1, sizeof *t);
    int rc = 0;

    if (!t)
        return NULL;
    atomic_init(&t->refs, 1);
    t->checkpoint_size = checkpoint_size;
    t->bloom_rate = bloom_rate;
    if (!dimensions)
        dimensions = chunk_default_dimensions;
    for (; *dimensions && rc != -ENOMEM; dimensions++)
        rc = add_dimension(t, text_of(*dimensions));
    if (rc == -ENOMEM) {
        index_params_release(t);
        return NULL;
    }
    t->shared_count = t->dimension_count;
    return t;
}

static struct index_params *copy_of(const struct index_params *defaults)
{
    struct index_params *t =
        index_params_new(defaults->checkpoint_size, defaults->bloom_rate, defaults->dimensions);

    if (t)
        t->shared_count = defaults->shared_count;
    return t;
}

static bool in_range(const struct index_file_options *o)
{
    if (o->checkpoint_size != 0 &&
        (o->checkpoint_size < INDEX_CHECKPOINT_MIN || o->checkpoint_size > INDEX_CHECKPOINT_MAX))
        return false;
    if (o->bloom_rate != 0 && !(o->bloom_rate >= RATE_MIN && o->bloom_rate < 1))
        return false;
    return o->expected_entries <= INDEX_EXPECTED_MAX;
}

int index_params_make(const struct index_params *defaults, const struct index_file_options *options,
                      uint64_t max_bytes, struct index_params **ret)
{
    const char *const *extra = options->extra_dimensions;
    int rc = 0;

    if (!in_range(options))
        return -EINVAL;
    struct index_params *t = copy_of(defaults);
    if (!t)
        return -ENOMEM;
    if (options->checkpoint_size)
        t->checkpoint_size =
            options->checkpoint_size < max_bytes ? options->checkpoint_size : max_bytes;
    if (options->bloom_rate != 0)
        t->bloom_rate = options->bloom_rate;
    t->expected_entries = options->expected_entries;
    for (; rc == 0 && extra && *extra; extra++)
        rc = add_dimension(t, text_of(*extra));
    if (rc) {
        index_params_release(t);
        return rc;
    }
    *ret = t;
    return 0;
}

bool index_params_same(const struct index_params *a, const struct index_params *b)
{
    if (a == b)
        return true;
    if (a->checkpoint_size != b->checkpoint_size || a->bloom_rate != b->bloom_rate ||
        a->expected_entries != b->expected_entries || a->dimension_count != b->dimension_count)
        return false;
    for (unsigned i = 0; i < a->dimension_count; i++)
        if (strcmp(a->dimensions[i], b->dimensions[i]) != 0)
            return false;
    return true;
}

/* ---- in the store ---------------------------------------------------------------------------- */

/* The dimensions that are not those of the index follow. */
#define OBJECT struct index_params
static const struct record_field fields[] = {
    FIELD(checkpoint_size), FIELD(bloom_rate), FIELD(expected_entries), {0}};
#undef OBJECT

void index_params_encode(const struct index_params *t, const struct index_params *defaults,
                         struct buf *out)
{
    bool differs = !index_params_same(t, defaults);

    rec_put_u(out, differs);
    if (!differs)
        return;
    record_encode(fields, t, NULL, out);
    rec_put_u(out, t->dimension_count - t->shared_count);
    for (unsigned i = t->shared_count; i < t->dimension_count; i++)
        rec_put_text(out, text_of(t->dimensions[i]));
}

int index_params_decode(struct rec *r, struct index_params *defaults, struct index_params **ret)
{
    int rc = 0;

    if (rec_u(r) == 0) {
        *ret = index_params_ref(defaults);
        return 0;
    }
    struct index_params *t = copy_of(defaults);
    if (!t)
        return -ENOMEM;
    record_decode(fields, r, NULL, NULL, t);
    for (uint64_t n = rec_count(r, 2); rc == 0 && n > 0; n--)
        rc = add_dimension(t, rec_text(r));
    if (rc == 0 && (r->bad || t->checkpoint_size < INDEX_CHECKPOINT_MIN ||
                    !(t->bloom_rate > 0 && t->bloom_rate < 1)))
        rc = -EINVAL;
    if (rc) {
        index_params_release(t);
        return rc == -EINVAL ? ERR_CORRUPT : rc;
    }
    *ret = t;
    return 0;
}
