/* view.c - /view: the matching lines as they are in the traces, or flat rows (`select`), or their
 * number, or the view itself as a recipe. */
#include "dftracerd/follow.h"
#include "dftracerd/rows.h"
#include "dftracerd/view.h"

#include "http/access/viewer.h"
#include "http/endpoints/endpoints.h"
#include "http/request/recipe.h"
#include "http/request/selection.h"

#include <stdio.h>
#include <string.h>

static const struct param_spec own_params[] = {
    PARAM("order", TEXT,
          "file: one file after the other; ts: merge all files by time; or a column to sort by, "
          "null last: -column sorts in descending order",
          .fallback = "file", .example = "'-dur'"),
    PARAM("metadata", BOOL,
          "include the metadata records (names of files, hosts, processes ...) that the events "
          "refer to",
          .fallback = "true"),
    PARAM("select", LIST, "columns: return flat rows from the index instead of lines",
          .example = "['ts','name','dur','args.ret']", .filled = true, .not_with = "count_only"),
    PARAM("count_only", BOOL, "return only the number of matching objects", .fallback = "false",
          .not_with = "follow"),
    PARAM("follow", BOOL,
          "keep streaming matching events as they are indexed, until `limit` or `timeout`",
          .fallback = "false"),
    PARAM("recipe", TEXT,
          "view as JSON, as returned by format=recipe; ANDed with the other parameters",
          .example = "'{\\'query\\':\\'dur > 1ms\\',\\'include_metadata\\':false}'"),
    PARAM("ignore_members", LIST,
          "names of unknown members of `recipe` that are ignored instead of an error",
          .example = "['duql']"),
    PARAM("summary", BOOL, "append a line {\"summary\":{...}} (ndjson)", .fallback = "false"),
    PARAM("relative", BOOL,
          "perfetto: write times relative to the first event (true), or as they are (false); "
          "default: relative only if Perfetto would round them",
          .formats = FORMAT_BIT(PERFETTO)),
    {0},
};

enum mode { MODE_LINES, MODE_ROWS, MODE_COUNT, MODE_RECIPE };
struct view_summary {
    uint64_t rows, scanned, skipped, generation, elapsed_ms;
};
struct order { /* order=file, order=ts, or a column with or without a sign */
    bool by_time, descending;
    const char *column; /* NULL: none */
};
struct state {
    enum mode mode;
    struct order order;
    struct recipe recipe;
    struct selection chosen;
    struct follow *follow; /* NULL: one answer on one generation */
    struct query *query;
    struct query_counters before; /* counters of the queries that `follow` has finished */
    struct view *view;
    struct perfetto_view *perfetto;
    struct rows *rows;
    struct format_rows *text; /* for rows in all formats but TEXT, which uses `table` */
    struct format_table *table;
    size_t columns;
    uint64_t count;
    bool begun;
};

/* ---- members --------------------------------------------------------------------------------- */

#define OBJECT struct view_summary
static const struct member summary_members[] = {
    MEMBER("rows", rows),
    MEMBER("scanned", scanned, .help = "chunks that were read"),
    MEMBER("skipped", skipped),
    MEMBER("generation", generation),
    MEMBER("elapsed_ms", elapsed_ms),
};
static const struct object_type summary_type = {NULL, MEMBERS(summary_members)};
static const struct member last_members[] = {
    MEMBER_SELF("summary", &summary_type),
};
static const struct object_type last_line_type = {NULL, MEMBERS(last_members)};
#undef OBJECT

#define OBJECT struct state
static const struct member count_members[] = {
    MEMBER("count", count),
};
static const struct object_type count_type = {NULL, MEMBERS(count_members)};
#undef OBJECT

static const struct object_type rows_type = {
    .schema = "{'type':'object','additionalProperties':false,'required':['rows'],'properties':{"
              "'rows':{'type':'array','items':{'$ref':'#/components/schemas/Row'}}}}"};
static const struct object_type line_type = {
    .schema = "{'type':'object',"
              "'description':'an object exactly as in the trace, or the selected columns'}"};
static const struct object_type *const answers[] = {&rows_type, &count_type, &recipe_type, NULL};
static const struct object_type view_type = {.name = "View", .refers = answers};
static const struct object_type *const lines[] = {&line_type, &last_line_type, NULL};
static const struct object_type view_line_type = {.name = "ViewLine", .refers = lines};

/* ---- the request ----------------------------------------------------------------------------- */

static int read_order(struct request *rq, struct order *ret)
{
    const char *text = request_text(rq, "order");
    bool sign = *text == '-' || *text == '+' || *text == ' '; /* in a URL, + is a space */
    *ret = (struct order){.by_time = strcmp(text, "ts") == 0};
    if (ret->by_time || strcmp(text, "file") == 0)
        return 0;
    ret->descending = *text == '-';
    ret->column = text + sign;
    return *ret->column ? 0 : params_refuse(rq, "order", "must be file, ts or a column: -dur");
}

static int open_rows(struct request *rq, struct state *s)
{
    const struct param *select = request_param(rq, "select");
    const char *const *columns = (const char *const *)select->items;
    struct rows_options o = {.columns = columns,
                             .column_count = select->count,
                             .order_ts = s->order.by_time,
                             .order_by = s->order.column,
                             .descending = s->order.descending,
                             .limit = request_limit(rq),
                             .offset = request_uint(rq, "offset")};
    s->columns = select->count;
    int rc = rq->format == FORMAT_TEXT
                 ? format_table_new(rq->format, columns, select->count, &s->table)
                 : format_rows_new(rq->format, columns, select->count, &s->text);
    if (s->text)
        o.writer = format_rows_writer(s->text);
    return rc < 0 ? rc : rows_open(s->query, &o, &rq->err, &s->rows);
}

static enum perfetto_times times_of(const struct request *rq)
{
    return !request_param(rq, "relative")->given ? PERFETTO_FITTING
           : request_flag(rq, "relative")        ? PERFETTO_RELATIVE
                                                 : PERFETTO_ABSOLUTE;
}

static int open_lines(struct request *rq, struct state *s)
{
    struct view_options o = {.order_ts = s->order.by_time,
                             .order_by = s->order.column,
                             .descending = s->order.descending,
                             .no_metadata = !s->recipe.include_metadata,
                             .limit = request_limit(rq),
                             .offset = request_uint(rq, "offset"),
                             .follow = s->follow};
    if (rq->format == FORMAT_PERFETTO)
        return perfetto_view_new(s->query, &o, times_of(rq), &rq->budget, &rq->err, &s->perfetto);
    return view_open(s->query, &o, &rq->err, &s->view);
}

static int refuse_format(struct request *rq, const char *instead)
{
    return err_set_param(&rq->err, ERR_FORMAT, "format", "%s", instead);
}

/* Checks that the mode has the format; a count is JSON unless another format was requested. */
static int check_format(struct request *rq, enum mode mode)
{
    enum format f = rq->format;
    if (mode == MODE_COUNT && !rq->format_given)
        f = rq->format = FORMAT_JSON;
    if (mode == MODE_COUNT && f != FORMAT_JSON && f != FORMAT_NDJSON && f != FORMAT_TEXT)
        return refuse_format(rq, "`count_only` requires format json, ndjson or text");
    if (mode == MODE_ROWS && (f == FORMAT_PFW || f == FORMAT_PERFETTO))
        return refuse_format(rq, "`select` requires format ndjson, json, csv or text");
    if (mode == MODE_LINES && f != FORMAT_NDJSON && f != FORMAT_PFW && f != FORMAT_PERFETTO)
        return refuse_format(
            rq, "lines require format ndjson, pfw or perfetto; use `select` for other formats");
    return 0;
}

/* An endless answer cannot be counted, sorted or laid out as a table. */
static int check_follow(struct request *rq, const struct state *s)
{
    enum format other = s->mode == MODE_LINES ? FORMAT_PFW : FORMAT_CSV;
    bool stream = rq->format == FORMAT_NDJSON || rq->format == other;
    if (!request_flag(rq, "follow"))
        return 0;
    if (s->order.by_time || s->order.column)
        return err_set_param(&rq->err, ERR_PARAM, "order",
                             "`order=%s` cannot be combined with `follow`: later events are not "
                             "known yet",
                             s->order.column ? "column" : "ts");
    if (s->mode == MODE_RECIPE || !stream)
        return err_set_param(
            &rq->err, ERR_PARAM, "format",
            "`follow` requires format ndjson or pfw, or with `select` format ndjson or csv");
    return 0;
}

static int choose_mode(struct request *rq, struct state *s)
{
    const struct param *select = request_param(rq, "select");
    bool count = request_flag(rq, "count_only");
    s->mode = rq->own_format ? MODE_RECIPE
              : count        ? MODE_COUNT
              : select->set  ? MODE_ROWS
                             : MODE_LINES;
    int rc = read_order(rq, &s->order);
    rc = rc < 0 ? rc : check_follow(rq, s);
    return rc < 0 || s->mode == MODE_RECIPE ? rc : check_format(rq, s->mode);
}

static int open_news(struct request *rq, struct state *s, struct query **ret)
{
    return follow_query(s->follow, &rq->http->env, rq->snapshot, &s->chosen, &rq->budget, &rq->err,
                        ret);
}

/* Lines are returned unmodified, so `clip` cannot apply; with `follow`, an enclosing object may not
 * be there yet. */
static int check_within(struct request *rq, const struct state *s)
{
    if (!s->chosen.within.ptr)
        return 0;
    if (s->mode == MODE_RECIPE)
        return params_refuse(rq, "within", "cannot be saved in a recipe");
    if (request_flag(rq, "follow"))
        return params_refuse(rq, "within", "cannot be combined with `follow`");
    if (s->mode == MODE_LINES && s->chosen.clip)
        return params_refuse(rq, "clip", "requires `select`; raw lines are returned unmodified");
    return 0;
}

/* The recipe's query, which includes the request's own, replaces it. */
static int open_query(struct request *rq, struct state *s)
{
    int rc = selection_read(rq, &s->chosen);
    if (rc == 0)
        rc = check_within(rq, s);
    if (rc == 0)
        rc = recipe_read(rq, &s->recipe);
    if (rc < 0)
        return rc;
    s->chosen.query = text_of(s->recipe.query);
    if (s->mode == MODE_LINES && rq->format == FORMAT_PERFETTO) { /* names become texts in it */
        if (s->chosen.phases == PHASE_METADATA)
            return err_set_param(&rq->err, ERR_PARAM, "phase",
                                 "`phase=metadata` cannot be combined with format=perfetto, which "
                                 "shows events and counters");
        s->chosen.phases &= PHASE_DATA;
    }
    if (!request_flag(rq, "follow"))
        return selection_open(rq, &s->chosen, &s->query);
    rc = follow_new(!selection_indexes_nothing(rq), &s->follow);
    rc = rc < 0 ? rc : open_news(rq, s, &s->query);
    if (rc == 0)
        rq->incomplete = !query_complete(s->query);
    return rc;
}

static int open_view(struct request *rq)
{
    struct state *s = rq->state;
    int rc = choose_mode(rq, s);
    if (rc == 0)
        rc = open_query(rq, s);
    if (rc < 0 || s->mode == MODE_RECIPE)
        return rc;
    if (s->mode == MODE_COUNT)
        return view_count(s->query, request_limit(rq), request_uint(rq, "offset"), &rq->err,
                          &s->count);
    return s->mode == MODE_ROWS ? open_rows(rq, s) : open_lines(rq, s);
}

static int next_rows(struct request *rq, struct state *s, struct buf *out)
{
    const struct value *values;
    size_t n;
    int rc = s->text ? format_rows_next(s->text, s->rows, &rq->err, out, &n)
                     : rows_next(s->rows, &rq->err, &values, &n);
    for (size_t i = 0; s->table && rc == 0 && i < n; i++)
        format_table_row(s->table, values + i * s->columns, out);
    s->count += rc == 0 ? n : 0;
    return rc;
}

static int next_lines(struct request *rq, struct state *s, struct buf *out)
{
    if (!s->begun && rq->format == FORMAT_PFW)
        buf_puts(out, "[\n");
    s->begun = true;
    if (s->perfetto)
        return perfetto_view_next(s->perfetto, &rq->err, out);
    return view_next(s->view, 256u << 10, out, &rq->err);
}

static int next_count(struct request *rq, struct state *s, struct buf *out)
{
    if (rq->format != FORMAT_TEXT)
        return format_object(&count_type, s, false, out);
    buf_printf(out, "%llu\n", (unsigned long long)s->count);
    return ERR_END;
}

static void write_summary(struct request *rq, struct state *s, struct buf *out)
{
    struct query_counters c;
    query_counters(s->query, &c);
    struct view_summary summary = {
        .rows = s->mode == MODE_COUNT  ? 1
                : s->mode == MODE_ROWS ? s->count
                                       : view_written(s->view),
        .scanned = c.chunks_scanned + s->before.chunks_scanned,
        .skipped = c.chunks_skipped + s->before.chunks_skipped,
        .generation = snapshot_generation(rq->snapshot),
        .elapsed_ms = (uint64_t)((clock_mono_ns() - rq->started_ns) / 1000000),
    };
    format_line(&last_line_type, &summary, out);
}

/* One generation has been sent completely; continues with what is new in the next one. */
static int continue_view(struct request *rq, struct state *s)
{
    struct query *q = NULL;
    bool rows = s->mode == MODE_ROWS;
    if (!(rows ? rows_may_continue(s->rows) : view_may_continue(s->view)))
        return ERR_END;
    if (!request_repin(rq))
        return NEXT_WAIT;
    int rc = open_news(rq, s, &q);
    if (rc < 0 || !q)
        return rc < 0 ? rc : NEXT_WAIT;
    rc = rows ? rows_continue(s->rows, q, &rq->err) : view_continue(s->view, q, &rq->err);
    struct query_counters c;
    query_counters(s->query, &c);
    s->before.chunks_scanned += c.chunks_scanned;
    s->before.chunks_skipped += c.chunks_skipped;
    query_close(s->query);
    s->query = q;
    return rc;
}

static int finish_view(struct request *rq, struct state *s, struct buf *out)
{
    if (s->text)
        format_rows_end(s->text, out);
    if (s->table)
        format_table_end(s->table, out);
    if (s->mode == MODE_LINES && rq->format == FORMAT_PFW)
        buf_puts(out, "]\n");
    if (rq->format == FORMAT_NDJSON && request_flag(rq, "summary"))
        write_summary(rq, s, out);
    return ERR_END;
}

static int next_view(struct request *rq, struct buf *out)
{
    struct state *s = rq->state;
    int rc = ERR_END;
    switch (s->mode) {
    case MODE_RECIPE:
        return recipe_write(rq, &s->recipe, out), ERR_END;
    case MODE_ROWS:
        rc = next_rows(rq, s, out);
        break;
    case MODE_COUNT:
        rc = next_count(rq, s, out);
        break;
    case MODE_LINES:
        rc = next_lines(rq, s, out);
        break;
    }
    if (rc == ERR_END && s->follow)
        rc = continue_view(rq, s);
    if (rc == ERR_END || (s->follow && rq->ending && rc >= 0))
        return finish_view(rq, s, out);
    return rc;
}

static void trim_view(struct request *rq)
{
    struct state *s = rq->state;
    if (s->view)
        view_pause(s->view);
    if (s->perfetto)
        perfetto_view_rest(s->perfetto);
    if (s->rows)
        rows_pause(s->rows);
}

static void close_view(struct request *rq)
{
    struct state *s = rq->state;
    rows_close(s->rows);
    format_rows_free(s->text);
    format_table_free(s->table);
    view_close(s->view);
    perfetto_view_free(s->perfetto);
    query_close(s->query);
    follow_free(s->follow);
}

const struct endpoint endpoint_view = {
    .path = "/view",
    .summary = "matching events as lines, rows or a count",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &view_type,
    .line = &view_line_type,
    PARAMS(own_params, selection_params, clip_params, page_params, answer_params),
    FORMATS(FORMAT_NDJSON, FORMAT_JSON, FORMAT_CSV, FORMAT_TEXT, FORMAT_PFW, FORMAT_PERFETTO),
    .own_format = "recipe",
    .state_size = sizeof(struct state),
    .open = open_view,
    .next = next_view,
    .close = close_view,
    .trim = trim_view,
};
