/* by_tuple.c - finds columns with a single value for all objects that a chunk's densities count
 * together (column.h). */
#include "engine/derived/derived.h"
#include "engine/scan/scan.h"
#include "engine/filter/filter.h"
#include "answer/timeline/density.h"

#include <errno.h>

/* host, rank and trace are derived from the object's host hash, host name, pid and file. */
static int source_tuple_set(const struct source *s)
{
    static const char *const columns[] = {"@class", "args.hhash", "pid", "tid", "cat"};

    if (s->info.kind == PATH_HOST || s->info.kind == PATH_RANK || s->info.kind == PATH_TRACE)
        return DENSITY_BY_CAT;
    if (s->info.kind != PATH_COLUMN || s->info.other.len > 0)
        return -ENOENT;
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        if (text_eq(s->info.column, text_of(columns[i])))
            return DENSITY_BY_CAT;
    return text_eq(s->info.column, TEXT("name")) ? DENSITY_BY_NAME : -ENOENT;
}

/* Returns the first set that suits both. */
static int set_for_both(int a, int b)
{
    return a < 0 || (b >= 0 && a > b) ? a : b;
}

static int test_tuple_set(const struct test *t)
{
    int set = DENSITY_BY_CAT;

    if (t->type == TEST_LEAF || t->type == TEST_CLASS)
        return source_tuple_set(t->source);
    for (size_t i = 0; i < t->child_count; i++)
        set = set_for_both(set, test_tuple_set(t->children[i]));
    return set;
}

int query_tuple_set(const struct query *q, const struct source *const *keys, unsigned count)
{
    int set = q->timeless ? test_tuple_set(q->timeless) : DENSITY_BY_CAT;

    if (q->within || (q->phases & PHASE_METADATA) || q->no_pruning)
        return -ENOENT;
    for (unsigned i = 0; i < count; i++)
        set = set_for_both(set, source_tuple_set(keys[i]));
    return set;
}
