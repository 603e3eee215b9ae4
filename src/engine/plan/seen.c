/* seen.c - finds out whether any object has a value in a column, so that a mistyped name is
 * reported as an error instead of an empty column. */
#include "engine/plan/seen.h"

#include "engine/derived/derived.h"

#include <errno.h>

static unsigned seen_in_chunk(struct chunk_view *v, const struct source *s)
{
    const struct text paths[] = {s->info.column, s->info.other};
    struct column c;
    unsigned seen = 0;

    for (unsigned i = 0; i < 2; i++) {
        if (paths[i].len == 0 || chunk_find(v, paths[i], &c) < 0)
            continue;
        seen |= c.type == COLUMN_TEXT || c.type == COLUMN_BOOL ? SEEN_TEXT : SEEN_NUMBER;
    }
    return seen | (seen == 0 && chunk_find(v, TEXT("@other"), &c) == 0 ? SEEN_UNKNOWN : 0);
}

static int check_chunk(struct query *q, uint32_t file, uint32_t chunk,
                       const struct source *const *sources, size_t count, unsigned *seen)
{
    struct chunk_view *v;
    const struct index_file *f = snapshot_file(q->snapshot, file);
    int rc = budget_check(q->budget);

    rc = rc < 0 ? rc : chunk_open(q->env.index, q->snapshot, f, chunk, &v);
    if (rc < 0)
        return rc;
    for (size_t k = 0; k < count; k++)
        *seen |= sources[k] ? seen_in_chunk(v, sources[k]) : 0;
    chunk_close(v);
    return 0;
}

/* Checks all selected files, even those that the filter excludes: an empty result for a time range
 * is no reason to report a mistyped name. */
static int check_files(struct query *q, const struct source *const *sources, size_t count,
                       unsigned *seen)
{
    bool has_chunks = false;
    int rc = 0;

    for (size_t i = 0; i < q->file_count && rc == 0 && *seen == 0; i++) {
        const struct index_file *f = snapshot_file(q->snapshot, q->files[i]);
        has_chunks |= f->chunk_count > 0;
        for (uint32_t c = 0; c < f->chunk_count && rc == 0 && *seen == 0; c++)
            rc = check_chunk(q, q->files[i], c, sources, count, seen);
        if (*seen == 0 && (f->state == INDEX_PENDING || f->state == INDEX_INDEXING))
            *seen = SEEN_UNKNOWN;
    }
    if (!has_chunks)
        *seen |= SEEN_UNKNOWN;
    return rc;
}

int query_value_kinds(struct query *q, const struct source *const *sources, size_t count,
                      unsigned enough, unsigned *ret)
{
    int rc = 0;

    *ret = 0;
    if (q->env.remote && q->env.remote->answer) { /* rank 0 has checked the name already */
        *ret = SEEN_NUMBER | SEEN_UNKNOWN;
        return 0;
    }
    for (size_t i = 0; i < q->place_count && rc == 0 && !(*ret & enough); i++)
        rc = check_chunk(q, q->places[i].file, q->places[i].chunk, sources, count, ret);
    return rc < 0 || *ret ? rc : check_files(q, sources, count, ret);
}

bool source_is_argument(const struct source *s)
{
    return s->info.kind == PATH_COLUMN &&
           (s->info.other.len > 0 || text_starts(s->path, TEXT("args.")));
}

int query_check_argument(struct query *q, const struct source *s, const char *param,
                         struct err *err)
{
    unsigned seen = SEEN_UNKNOWN;
    int rc = source_is_argument(s)
                 ? query_value_kinds(q, &s, 1, SEEN_NUMBER | SEEN_TEXT | SEEN_UNKNOWN, &seen)
                 : 0;

    if (rc < 0)
        return err_set_code(err, rc);
    if (seen)
        return 0;
    return err_set_param(err, ERR_PARAM, param,
                         "`%s`: no event has \"%.*s\"; see /schema for the columns", param,
                         (int)(s->path.len < 100 ? s->path.len : 100), s->path.ptr);
}

/* ---- columns of the filter ------------------------------------------------------------------- */

/* The arguments that a filter names, each once. */
struct arguments {
    const struct source *sources[QUERY_UNKNOWN_MAX];
    struct text paths[QUERY_UNKNOWN_MAX];
    size_t count;
};

static int add_argument(struct query *q, const struct dsl_node *n, struct arguments *to)
{
    const struct source *s;
    int rc = query_source(q, n->path, &s);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < to->count; i++)
        if (to->sources[i] == s)
            return 0;
    if (to->count < QUERY_UNKNOWN_MAX && source_is_argument(s)) {
        to->paths[to->count] = n->path;
        to->sources[to->count++] = s;
    }
    return 0;
}

static int find_arguments(struct query *q, const struct dsl_node *n, struct arguments *to)
{
    int rc = 0;

    for (; n && rc == 0; n = n->next)
        rc = n->child ? find_arguments(q, n->child, to) : add_argument(q, n, to);
    return rc;
}

int query_unknown_columns(struct query *q, struct text *ret)
{
    struct arguments all = {.count = 0};
    int rc = find_arguments(q, q->dsl.root, &all), found = 0;

    for (size_t i = 0; i < all.count && rc == 0; i++) {
        unsigned seen;
        rc =
            query_value_kinds(q, &all.sources[i], 1, SEEN_NUMBER | SEEN_TEXT | SEEN_UNKNOWN, &seen);
        if (rc == 0 && seen == 0)
            ret[found++] = all.paths[i];
    }
    return rc < 0 ? rc : found;
}
