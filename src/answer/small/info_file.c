/* info_file.c - a file of /info; with detail=columns its chunks, and its columns as in /schema. */
#include "answer/small/info.h"
#include "dftracerd/schema.h"

#include <errno.h>

struct info_file {
    struct index_file file;
    const char *state;
    bool has_columns;
    struct schema *schema; /* of the file alone; NULL: not read */
    struct schema_column *columns;
    size_t column_count;
};

/* Reads the columns of all objects of this file. */
static int read_columns(const struct info *i, uint32_t position, struct info_file *f)
{
    struct selection one;
    struct query *q;

    selection_init(&one);
    one.positions = &position;
    one.position_count = 1;
    one.phases = PHASE_ANY;
    int rc = query_open(i->env, i->snapshot, &one, i->budget, i->err, &q);
    if (rc < 0)
        return rc;
    rc = schema_run(q, i->err, &f->schema);
    query_close(q);
    if (rc == 0) {
        f->columns = f->schema->columns;
        f->column_count = f->schema->count;
    }
    return rc;
}

const void *info_file_item(const void *info, size_t k)
{
    const struct info *i = info;
    struct info_file *f = i->file;

    schema_free(f->schema);
    *f = (struct info_file){.file = *snapshot_file(i->snapshot, i->files[k]),
                            .has_columns = i->options.detail > 1};
    f->state = index_file_state(&f->file);
    int rc = f->has_columns ? read_columns(i, i->files[k], f) : 0;
    if (rc < 0)
        i->out->error = err_set_code(i->err, rc);
    return f;
}

int info_file_begin(struct info *i)
{
    i->file = arena_alloc(&i->arena, sizeof(*i->file));
    if (!i->file)
        return -ENOMEM;
    *i->file = (struct info_file){.state = NULL};
    return 0;
}

void info_file_end(struct info *i)
{
    if (i->file)
        schema_free(i->file->schema);
}

/* ---- members --------------------------------------------------------------------------------- */

#define OBJECT struct index_chunk
static const struct member chunk_members[] = {
    MEMBER("number", number),
    MEMBER("objects", rows),
    MEMBER("text_offset", text_offset, .help = "where its text begins in that of the file"),
    MEMBER("text_bytes", text_len),
};
static const struct object_type chunk_type = {NULL, MEMBERS(chunk_members)};
#undef OBJECT

static const char *const formats[] = {[TRACE_PLAIN] = "plain", [TRACE_GZIP] = "gzip", NULL};
static const char *const units[] = {
    [TRACE_US] = "US", [TRACE_NS] = "NS", [TRACE_MS] = "MS", [TRACE_SEC] = "SEC", NULL};

#define OBJECT struct info_file
#define COLUMNS .when = WHEN(has_columns), .optional = true
static const struct member members[] = {
    MEMBER("path", file.name),
    MEMBER("archive", file.archive, .optional = true, .help = "archive that contains the file"),
    MEMBER("state", state, .choices = index_file_states,
           .help =
               "`growing`: changed in the last 10 seconds; `damaged`: corrupt, indexed as far as "
               "it could be read; `failed`: could not be indexed"),
    MEMBER("error", file.error, .nullable = true,
           .help = "explains the states `failed` and `damaged`"),
    MEMBER("format", file.format, .choices = formats),
    MEMBER("members", file.members, .help = "parts of a gzip file"),
    MEMBER("compressed_bytes", file.compressed_bytes, .help = "size of the file"),
    MEMBER("uncompressed_bytes", file.text_bytes, .help = "size of its text"),
    MEMBER("lines", file.counts.lines, .help = "lines of the text"),
    MEMBER("events", file.counts.events),
    MEMBER("counters", file.counts.counters),
    MEMBER("aggregated", file.counts.aggregated, .help = "aggregated records"),
    MEMBER("metadata", file.counts.metadata, .help = "metadata records"),
    MEMBER("invalid", file.counts.invalid, .help = "lines without a usable object"),
    MEMBER("chunks", file.chunk_count),
    MEMBER("checkpoint_size", file.checkpoint_size,
           .help = "size of its chunks in uncompressed bytes; the name is that of the old command"),
    MEMBER("min_ts", file.min_ts, .when = WHEN(file.has_time), .help = "first start of the events"),
    MEMBER("max_te", file.max_te, .when = WHEN(file.has_time), .help = "last end of the events"),
    MEMBER("time_unit", file.unit, .choices = units, .help = "unit of the times in the file"),
    MEMBER("finished", file.finished, .help = "the trace contains its end (an `end` event or `]`)"),
    MEMBER("tracer_version", file.tracer_version, .nullable = true),
    MEMBER("index_bytes", file.index_bytes, .help = "size of what the index has of it"),
    MEMBER_OBJECTS("chunk_list", file.chunks, file.chunk_count, &chunk_type, COLUMNS,
                   .help = "only with `detail=columns`"),
    MEMBER_OBJECTS("columns", columns, column_count, &schema_column_type, COLUMNS,
                   .help = "only with `detail=columns`"),
};
const struct object_type info_file_type = {"InfoFile", MEMBERS(members)};
#undef OBJECT
