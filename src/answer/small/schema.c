/* schema.c - /schema: all columns of the selected objects. */
#include "answer/small/schema.h"
#include "dftracerd/schema.h"
#include "engine/group/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct worker {
    struct columns_seen columns;
    uint64_t *mask; /* selected rows of the current chunk */
    size_t mask_words;
};
struct schema_scan {
    struct query *query;
    struct columns_seen all;
};

static void worker_free(struct worker *w)
{
    if (!w)
        return;
    columns_done(&w->columns);
    free(w->mask);
    free(w);
}

static int worker_begin(struct group_worker *group)
{
    const struct schema_scan *r = group->grouping->arg;
    struct worker *w = calloc(1, sizeof(*w));
    int rc = w ? columns_init(&w->columns, query_budget(r->query)) : -ENOMEM;

    if (rc < 0)
        worker_free(w);
    else
        group->own = w;
    return rc;
}

/* If all rows are selected, they need not be read one by one: ERR_END skips to the end of the
 * chunk. */
static int chunk_begin(struct group_worker *group, struct scan_chunk *c)
{
    struct worker *w = group->own;
    size_t words = (size_t)c->rows / 64 + 1 + SCAN_WORDS;

    if (c->all)
        return ERR_END;
    if (words > w->mask_words) {
        free(w->mask);
        w->mask_words = 0;
        w->mask = malloc(words * sizeof(*w->mask));
        if (!w->mask)
            return -ENOMEM;
        w->mask_words = words;
    }
    memset(w->mask, 0, words * sizeof(*w->mask));
    return 0;
}

/* Marks the selected rows. */
static int mark_batch(struct group_worker *group, struct scan_batch *b)
{
    struct worker *w = group->own;

    if (!b->places) {
        memcpy(w->mask + b->first / 64, b->mask, SCAN_WORDS * sizeof(*w->mask));
        return 0;
    }
    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_place(b, batch_row(b, j));
        w->mask[row / 64] |= 1ull << (row % 64);
    }
    return 0;
}

static int chunk_end(struct group_worker *group, struct scan_chunk *c)
{
    struct worker *w = group->own;

    return schema_chunk(&w->columns, c, c->all ? NULL : w->mask);
}

static int worker_end(struct group_worker *group, bool failed)
{
    struct schema_scan *r = group->grouping->arg;
    struct worker *w = group->own;
    int rc = failed || !w ? 0 : columns_merge(&r->all, &w->columns);

    worker_free(w);
    return rc;
}

static void encode_columns(void *arg, struct buf *out)
{
    columns_put(&((struct schema_scan *)arg)->all, out);
}

static int decode_columns(void *arg, struct rec *in)
{
    return columns_take(&((struct schema_scan *)arg)->all, in);
}

static int scan_columns(struct schema_scan *r, struct err *err)
{
    static const struct group_hooks hooks = {.worker_begin = worker_begin,
                                             .chunk_begin = chunk_begin,
                                             .batch = mark_batch,
                                             .chunk_end = chunk_end,
                                             .worker_end = worker_end,
                                             .put = encode_columns,
                                             .take = decode_columns};
    const struct grouping g = {.query = r->query,
                               .budget = query_budget(r->query),
                               .hooks = &hooks,
                               .arg = r,
                               .spreads = true};
    struct groups *found = NULL;
    int rc = groups_scan(&g, &found, err);

    groups_free(found);
    return rc;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const char *type_name(unsigned types)
{
    switch (types) {
    case SCHEMA_INT:
        return "int";
    case SCHEMA_FLOAT:
    case SCHEMA_INT | SCHEMA_FLOAT: /* integers and floats together are floats */
        return "float";
    case SCHEMA_STRING:
        return "string";
    case SCHEMA_BOOL:
        return "bool";
    default:
        return "mixed";
    }
}

static int set_extent(struct arena *a, const struct column_seen *seen, struct schema_column *c)
{
    const struct seen_extent *e = &seen->numbers;

    if (seen->types == SCHEMA_STRING)
        e = &seen->texts;
    else if (seen->types == SCHEMA_BOOL)
        e = &seen->bools;
    else if (seen->types & ~(unsigned)(SCHEMA_INT | SCHEMA_FLOAT))
        return 0; /* mixed types have no order */
    c->min = e->min;
    c->max = e->max;
    int rc = value_keep_text(a, &c->min);
    return rc < 0 ? rc : value_keep_text(a, &c->max);
}

static int compare_paths(const void *a, const void *b)
{
    const struct schema_column *x = a, *y = b;

    return text_cmp(x->path, y->path);
}

static int set_columns(struct schema_scan *r, struct schema *s)
{
    uint32_t n = intern_count(r->all.paths);
    int rc = 0;

    s->columns = arena_alloc(&s->arena, (n + 1) * sizeof(*s->columns));
    if (!s->columns)
        return -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < r->all.columns.count; i++) {
        const struct column_seen *seen = r->all.columns.at[i];
        struct schema_column *c = &s->columns[s->count];
        if (!seen || !seen->rows) /* no selected object has it */
            continue;
        struct text path = intern_text(r->all.paths, i);
        c->path = (struct text){arena_strdup(&s->arena, path), path.len};
        c->type = type_name(seen->types);
        c->rows = seen->rows;
        c->distinct = distinct_count(&seen->distinct, &c->distinct_exact);
        c->bloom = index_is_dimension(query_index(r->query), path);
        rc = c->path.ptr ? set_extent(&s->arena, seen, c) : -ENOMEM;
        s->count++;
    }
    if (rc == 0)
        qsort(s->columns, s->count, sizeof(*s->columns), compare_paths);
    return rc;
}

int schema_run(struct query *q, struct err *err, struct schema **ret)
{
    struct schema_scan r = {.query = q};
    const struct source *bytes; /* the query must know that `bytes` is read: covered_by_others */
    struct schema *s = calloc(1, sizeof(*s));
    int rc = s ? columns_init(&r.all, query_budget(q)) : -ENOMEM;

    rc = rc < 0 ? rc : query_source(q, TEXT("bytes"), &bytes);
    rc = rc < 0 ? rc : scan_columns(&r, err);
    rc = rc < 0 ? rc : set_columns(&r, s);
    columns_done(&r.all);
    if (rc < 0) {
        schema_free(s);
        return err_set_code(err, rc);
    }
    *ret = s;
    return 0;
}

void schema_free(struct schema *s)
{
    if (s)
        arena_done(&s->arena);
    free(s);
}

/* ---- members --------------------------------------------------------------------------------- */

static const char *const types[] = {"int", "float", "string", "bool", "mixed", NULL};

#define OBJECT struct schema_column
static const struct member column_members[] = {
    MEMBER("path", path, .help = "name of the column in queries"),
    MEMBER("type", type, .choices = types,
           .help =
               "of the values that were found; `float`: at least one number is not whole, or is "
               "written like 1.0; `mixed`: values of several types, and arrays"),
    MEMBER("rows", rows, .help = "selected objects that have a value"),
    MEMBER("distinct", distinct, .help = "number of different values: exact up to 16,384"),
    MEMBER("distinct_exact", distinct_exact, .help = "false: `distinct` is within some 3 %"),
    MEMBER("min", min,
           .help = "smallest value (times in microseconds, texts by bytes); null for `mixed`"),
    MEMBER("max", max, .help = "largest value; null for `mixed`"),
    MEMBER("bloom", bloom,
           .help = "whether chunks have a bloom filter of its values: a small set that shows which "
                   "chunks cannot contain a value, so that `==` and `in` skip them"),
};
const struct object_type schema_column_type = {"SchemaColumn", MEMBERS(column_members)};
#undef OBJECT

#define OBJECT struct schema
static const struct member members[] = {
    MEMBER_OBJECTS("columns", columns, count, &schema_column_type),
};
const struct object_type schema_type = {"Schema", MEMBERS(members)};
#undef OBJECT
