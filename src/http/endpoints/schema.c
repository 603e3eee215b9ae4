/* schema.c - /schema: all columns of the selected objects. */
#include "dftracerd/schema.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

struct state {
    struct schema *schema;
};

static int open_schema(struct request *rq)
{
    struct state *s = rq->state;
    return schema_run(rq->query, &rq->err, &s->schema);
}

static int next_schema(struct request *rq, struct buf *out)
{
    const struct state *s = rq->state;
    if (rq->format == FORMAT_JSON)
        return format_object(&schema_type, s->schema, rq->pretty, out);
    int rc =
        format_list(rq->format, &schema_column_type, s->schema->columns, s->schema->count, out);
    return rc < 0 ? rc : ERR_END;
}

static void close_schema(struct request *rq)
{
    struct state *s = rq->state;
    schema_free(s->schema);
}

const struct endpoint endpoint_schema = {
    .path = "/schema",
    .summary = "columns of the events: types, distinct values, minimum and maximum",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &schema_type,
    .line = &schema_column_type,
    PARAMS(selection_params, clip_params, answer_params),
    FORMATS(FORMAT_JSON, FORMAT_NDJSON, FORMAT_CSV, FORMAT_TEXT),
    .queries = true,
    .state_size = sizeof(struct state),
    .open = open_schema,
    .next = next_schema,
    .close = close_schema,
};
