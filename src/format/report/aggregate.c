/* aggregate.c - the answer of /aggregate in its formats: rows, text by the table, Perfetto and
 * Arrow by writers of their own. */
#include "format/arrow/rows.h"
#include "format/perfetto/perfetto.h"
#include "format/writer/table_rows.h"

#include <errno.h>
#include <stdlib.h>

enum { ROWS_AT_ONCE = 1024 };

struct format_aggregate {
    struct aggregate *aggregate;
    struct query *query;
    struct format_aggregate_options o;
    struct table *table;
    struct format_table *text;
    struct perfetto *perfetto;
    struct arrow_rows *arrow;
    struct table_rows *written; /* JSON, NDJSON, CSV */
    struct jw jw;
    bool begun;
    uint64_t rows;
};

/* ---- members --------------------------------------------------------------------------------- */

/* The source of the rows. */
struct totals {
    struct query_counters counters;
    bool complete, has_interval;
    __int128 interval_ns;
    uint64_t rows, elapsed_ms;
};

#define OBJECT struct totals
#define SOURCES \
    MEMBER("time_interval", interval_ns, .when = WHEN(has_interval), .optional = true, \
           .help = "length of a bucket"), \
        MEMBERS_FILES(counters), \
        MEMBER("scanned", counters.chunks_scanned, .help = "chunks that were read"), \
        MEMBER("skipped", counters.chunks_skipped), MEMBERS_STATE(counters.generation, complete)
/* `rows` are written by table_rows.h, the other members after them. */
static const struct member members[] = {
    MEMBER_WRITTEN("rows", NULL, "{'type':'array','items':{'$ref':'#/components/schemas/Row'}}"),
    SOURCES,
};
const struct object_type format_aggregate_type = {"Aggregate", MEMBERS(members)};
static const struct object_type tail_type = {.members = members + 1,
                                             .count = sizeof(members) / sizeof(*members) - 1};

static const struct member summary_members[] = {
    MEMBER("rows", rows),
    SOURCES,
    MEMBER("elapsed_ms", elapsed_ms),
};
static const struct object_type summary_type = {NULL, MEMBERS(summary_members)};
static const struct member last_members[] = {MEMBER_SELF("summary", &summary_type)};
static const struct object_type last_line_type = {NULL, MEMBERS(last_members)};
#undef OBJECT

/* ---- open and close -------------------------------------------------------------------------- */

int format_aggregate_new(struct aggregate *a, struct query *q,
                         const struct format_aggregate_options *o, struct err *err,
                         struct format_aggregate **ret)
{
    struct format_aggregate *f = calloc(1, sizeof(*f));
    int rc = 0;

    if (!f)
        return err_set_code(err, -ENOMEM);
    f->aggregate = a;
    f->query = q;
    f->o = *o;
    f->table = aggregate_table(a);
    if (o->format == FORMAT_TEXT) {
        const char **names = malloc((f->table->count + 1) * sizeof(*names));
        for (size_t i = 0; names && i < f->table->count; i++)
            names[i] = f->table->columns[i].name;
        rc = names ? format_table_new(o->format, names, f->table->count, &f->text) : -ENOMEM;
        free(names);
    } else if (o->format == FORMAT_PERFETTO)
        rc = perfetto_new(a, q, o->budget, o->events, o->times, err, &f->perfetto);
    else if (o->format == FORMAT_ARROW || o->format == FORMAT_ARROW_STREAM)
        rc = arrow_rows_new(f->table, q, o->budget, o->format == FORMAT_ARROW, err, &f->arrow);
    else if (o->format == FORMAT_JSON || o->format == FORMAT_CSV || o->format == FORMAT_NDJSON)
        rc = table_rows_new(f->table, o->format, o->pretty && o->format == FORMAT_JSON, o->budget,
                            &f->written);
    else
        rc = ERR_FORMAT;
    if (rc < 0) {
        format_aggregate_free(f);
        return err_set_code(err, rc);
    }
    *ret = f;
    return 0;
}

void format_aggregate_free(struct format_aggregate *f)
{
    if (!f)
        return;
    format_table_free(f->text);
    perfetto_free(f->perfetto);
    arrow_rows_free(f->arrow);
    table_rows_free(f->written);
    free(f);
}

/* A value takes at least two bytes, itself and the separator; optional ones may take none. */
uint64_t format_aggregate_min_bytes(const struct format_aggregate *f)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < f->table->count && !f->perfetto && !f->arrow; i++)
        bytes += f->table->columns[i].optional ? 0 : f->o.format == FORMAT_CSV ? 1 : 2;
    if (f->arrow)
        bytes = arrow_rows_width(f->arrow);
    return f->table->ops->rows_min(f->table) * bytes;
}

/* ---- head and tail --------------------------------------------------------------------------- */

static void begin_answer(struct format_aggregate *f, struct buf *out)
{
    f->begun = true;
    if (f->o.format == FORMAT_PERFETTO)
        perfetto_begin(f->perfetto, out);
    if (f->o.format != FORMAT_JSON)
        return;
    jw_init(&f->jw, out, f->o.pretty);
    jw_begin(&f->jw, '{');
    jw_key(&f->jw, "rows");
    jw_begin(&f->jw, '[');
}

static void end_answer(struct format_aggregate *f, struct buf *out)
{
    struct totals totals = {.complete = query_complete(f->query),
                            .interval_ns = aggregate_interval(f->aggregate),
                            .rows = f->rows,
                            .elapsed_ms =
                                (uint64_t)((clock_mono_ns() - f->o.started_ns) / 1000000)};

    query_counters(f->query, &totals.counters);
    totals.has_interval = totals.interval_ns > 0;
    if (f->text)
        format_table_end(f->text, out);
    if (f->perfetto)
        perfetto_end(f->perfetto, out);
    if (f->o.format == FORMAT_JSON) {
        f->jw.out = out;
        f->jw.nonempty[f->jw.depth] = f->rows > 0;
        jw_end(&f->jw, ']');
        jw_members(&f->jw, &tail_type, &totals);
        jw_end(&f->jw, '}');
        jw_finish(&f->jw);
    }
    if (f->o.format == FORMAT_NDJSON && f->o.summary)
        format_line(&last_line_type, &totals, out);
}

int format_aggregate_next(struct format_aggregate *f, struct err *err, struct buf *out)
{
    const struct value *values;
    size_t n = 0;

    if (f->arrow)
        return arrow_rows_next(f->arrow, err, out);
    if (!f->begun)
        begin_answer(f, out);
    int rc = f->written ? table_rows_next(f->written, err, out, &n)
                        : aggregate_next(f->aggregate, ROWS_AT_ONCE, err, &values, &n);
    for (size_t i = 0; rc == 0 && !f->written && i < n; i++, values += f->table->count) {
        if (f->text)
            format_table_row(f->text, values, out);
        else
            perfetto_row(f->perfetto, values, out);
    }
    if (rc == ERR_END)
        end_answer(f, out);
    f->rows += rc == 0 ? n : 0;
    return out->error ? out->error : rc;
}
