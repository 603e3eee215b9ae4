/* suggest.c - /suggest: completions of a column name or a value, for users that type a query. */
#include "dftracerd/aggregate.h"
#include "dftracerd/schema.h"

#include "http/endpoints/endpoints.h"
#include "http/exchange/steps.h"
#include "http/request/query_text.h"
#include "http/request/selection.h"

#include <stdlib.h>
#include <string.h>

static const struct param_spec own_params[] = {
    PARAM("column", TEXT,
          "suggest values of this column, most frequent first; without it, suggest column names",
          .example = "'name'"),
    PARAM("prefix", TEXT,
          "prefix of the suggestions, ignoring case; if it is not empty, only values that are "
          "strings are suggested",
          .fallback = "", .example = "'r'"),
    PARAM("limit", UINT, "maximum number of suggestions, at most 1000", .fallback = "20",
          .example = "100", .min = 1, .max = 1000),
    {0},
};

struct suggestion {
    struct value value, count;
    const char *type; /* type of the column; NULL for values */
};
struct state {
    struct query *query;
    struct schema *schema;       /* for names */
    struct aggregate *aggregate; /* for values */
    const char *column;
    struct suggestion *values;
    size_t count;
    uint64_t limit;
};

/* ---- members --------------------------------------------------------------------------------- */

#define OBJECT struct suggestion
static const struct member value_members[] = {
    MEMBER("value", value),
    MEMBER("type", type, .optional = true, .help = "of a column"),
    MEMBER("count", count, .type = VALUE_UINT,
           .help = "selected objects that have it; null for derived columns"),
};
static const struct object_type value_type = {NULL, MEMBERS(value_members)};
#undef OBJECT

#define OBJECT struct state
static const struct member members[] = {
    MEMBER("column", column, .nullable = true),
    MEMBER_OBJECTS("values", values, count, &value_type),
};
static const struct object_type suggest_type = {"Suggest", MEMBERS(members)};
#undef OBJECT

/* ---- values ---------------------------------------------------------------------------------- */

/* Writes the prefix as a literal pattern: \Q begins a literal, \E ends it. */
static void write_pattern(struct buf *out, struct text prefix)
{
    buf_puts(out, "^\\Q");
    for (size_t i = 0; i < prefix.len; i++) {
        if (i + 1 < prefix.len && prefix.ptr[i] == '\\' && prefix.ptr[i + 1] == 'E') {
            buf_puts(out, "\\E\\\\\\QE");
            i++;
        } else if (i + 1 == prefix.len && prefix.ptr[i] == '\\') {
            buf_puts(out, "\\E\\\\\\Q");
        } else {
            buf_putc(out, prefix.ptr[i]);
        }
    }
    buf_puts(out, "\\E");
}

/* Adds to the request's filter that the column begins with the prefix. */
static int narrow_selection(struct request *rq, struct selection *chosen)
{
    struct text prefix = text_of(request_text(rq, "prefix"));
    struct buf pattern = {0}, filter = {0};
    if (!prefix.len)
        return 0;
    write_pattern(&pattern, prefix);
    buf_printf(&filter, "%s ~* ", request_text(rq, "column"));
    query_text_string(&filter, (struct text){pattern.data, pattern.len});
    int rc = pattern.error ? pattern.error : filter.error;
    const char *copy = arena_strdup(&rq->arena, (struct text){filter.data, filter.len});
    rc = rc < 0 ? rc : query_text_and(&rq->arena, chosen->query, text_of(copy), &chosen->query);
    buf_done(&pattern);
    buf_done(&filter);
    return rc < 0 ? rc : rq->arena.error;
}

/* The column must be a name of the query language, not a piece of a query. */
static int check_column(struct request *rq, const char *column)
{
    const struct query_column *known = query_column_find(text_of(column));
    const char *path = NULL;
    if (known && known->derived)
        return 0;
    int rc = query_stored_path(text_of(column), &rq->arena, &path);
    if (rc == -EINVAL || strpbrk(column, " \t\n\"'()"))
        return err_set_param(&rq->err, ERR_PARAM, "column", "`column`: %.100s is not a column",
                             column);
    return rc;
}

/* The request's own filter was valid, so an error can only come from the column, which may be a
 * word of the language. */
static int open_narrowed(struct request *rq, struct state *s, const struct selection *chosen)
{
    int rc = selection_open(rq, chosen, &s->query);
    if (rc != ERR_QUERY_SYNTAX)
        return rc;
    err_done(&rq->err);
    return err_set_param(&rq->err, ERR_PARAM, "column", "`column`: %.100s is not a column",
                         request_text(rq, "column"));
}

static int read_values(struct request *rq, struct state *s)
{
    const struct value *rows;
    size_t count;
    int rc;
    while ((rc = aggregate_next(s->aggregate, 256, &rq->err, &rows, &count)) == 0) {
        for (size_t i = 0; i < count; i++) {
            struct suggestion *v = &s->values[s->count++];
            *v = (struct suggestion){.value = rows[2 * i], .count = rows[2 * i + 1]};
            if (value_keep_text(&rq->arena, &v->value) < 0)
                return rq->arena.error;
        }
    }
    return rc == ERR_END ? 0 : rc;
}

static int open_values(struct request *rq, struct state *s, struct selection *chosen)
{
    static const char *const counts[] = {"@count=count"}, *const order[] = {"-@count"};
    const char *const column[] = {request_text(rq, "column")};
    struct aggregate_options o = {.group_by = column,
                                  .group_by_count = 1,
                                  .aggregates = counts,
                                  .aggregate_count = 1,
                                  .sort = order,
                                  .sort_count = 1,
                                  .limit = s->limit};
    int rc = check_column(rq, column[0]);
    if (rc == 0) { /* report errors of the request's own filter before it is extended */
        rc = selection_open(rq, chosen, &s->query);
        query_close(s->query);
        s->query = NULL;
    }
    rc = rc < 0 ? rc : narrow_selection(rq, chosen);
    rc = rc < 0 ? rc : open_narrowed(rq, s, chosen);
    rc = rc < 0 ? rc : aggregate_open(s->query, &o, &rq->err, &s->aggregate);
    if (rc == ERR_PARAM && strcmp(rq->err.param, "group_by") == 0) {
        err_done(&rq->err);
        err_set_param(&rq->err, rc, "column", "`column`: no event has \"%.100s\"", column[0]);
    }
    return rc < 0 ? rc : read_values(rq, s);
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool begins_with(struct text t, struct text prefix)
{
    return t.len >= prefix.len && text_eq_nocase((struct text){t.ptr, prefix.len}, prefix);
}

/* A path args.ret also matches the prefix of ret. */
static bool matches_prefix(struct text path, struct text prefix)
{
    struct text args = TEXT("args.");
    if (begins_with(path, prefix))
        return true;
    return begins_with(path, args) &&
           begins_with((struct text){path.ptr + args.len, path.len - args.len}, prefix);
}

static void add_name(struct state *s, struct text path, const char *type, struct value count)
{
    s->values[s->count++] = (struct suggestion){{.type = VALUE_TEXT, .text = path}, count, type};
}

static int compare_values(const void *a, const void *b)
{
    const struct suggestion *one = a, *other = b;
    return value_cmp(&one->value, &other->value);
}

/* Adds derived columns, then those of the traces, both by name. */
static void add_names(struct state *s, struct text prefix)
{
    for (size_t i = 0; i < query_column_count(); i++) {
        const struct query_column *c = query_column(i);
        if (c->derived && begins_with(text_of(c->name), prefix))
            add_name(s, text_of(c->name), c->type, (struct value){0});
    }
    qsort(s->values, s->count, sizeof *s->values, compare_values);
    for (size_t i = 0; i < s->schema->count && s->count < s->limit; i++) {
        const struct schema_column *c = &s->schema->columns[i];
        if (matches_prefix(c->path, prefix))
            add_name(s, c->path, c->type, (struct value){.type = VALUE_UINT, .u = c->rows});
    }
    s->count = s->count < s->limit ? s->count : s->limit;
}

/* ---- the request ----------------------------------------------------------------------------- */

static int open_suggest(struct request *rq)
{
    struct state *s = rq->state;
    struct selection chosen;
    s->limit = request_uint(rq, "limit");
    s->column = request_text(rq, "column");
    s->values = arena_alloc(&rq->arena, (s->limit + query_column_count()) * sizeof *s->values);
    int rc = s->values ? selection_read(rq, &chosen) : -ENOMEM;
    if (rc < 0)
        return rc;
    if (s->column)
        return open_values(rq, s, &chosen);
    rc = selection_open(rq, &chosen, &s->query);
    rc = rc < 0 ? rc : schema_run(s->query, &rq->err, &s->schema);
    if (rc == 0)
        add_names(s, text_of(request_text(rq, "prefix")));
    return rc;
}

static void close_suggest(struct request *rq)
{
    struct state *s = rq->state;
    aggregate_close(s->aggregate);
    schema_free(s->schema);
    query_close(s->query);
}

const struct endpoint endpoint_suggest = {
    .path = "/suggest",
    .summary = "completion of column names and values",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &suggest_type,
    PARAMS(own_params, selection_params, answer_params),
    FORMATS(FORMAT_JSON),
    .state_size = sizeof(struct state),
    .open = open_suggest,
    .next = steps_write_state,
    .close = close_suggest,
};
