/* fields.c - the measures of arguments: fields that a request names, and all numeric arguments of
 * counters and aggregated records ("system rows"). */
#include "answer/aggregate/plan_columns.h"
#include "engine/derived/members.h"
#include "engine/derived/derived.h"
#include "base/recbuf.h"
#include "engine/plan/seen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- fields ---------------------------------------------------------------------------------- */

int plan_check_numeric(const struct aggregate_plan *p, const struct measure *m, const char *param,
                       struct err *err)
{
    const struct source *const sources[] = {m->source, m->sum};
    unsigned seen = SEEN_NUMBER;
    int rc = 0;

    if (m->source->info.kind == PATH_COLUMN)
        rc = query_value_kinds(p->query, sources, 2, SEEN_NUMBER | SEEN_UNKNOWN, &seen);
    else if (!m->source->info.number)
        seen = SEEN_TEXT;
    if (rc < 0)
        return err_set_code(err, rc);
    if (seen & (SEEN_NUMBER | SEEN_UNKNOWN) || (seen == 0 && !source_is_argument(m->source)))
        return 0;
    return err_set_param(err, ERR_PARAM, param,
                         seen ? "`%s`: \"%.100s\" is text, not a number"
                              : "`%s`: no event has \"%.100s\"; see /schema for the columns",
                         param, m->name);
}

static int argument_source(struct aggregate_plan *p, const char *name, const char *suffix,
                           const struct source **ret)
{
    char path[1200];

    snprintf(path, sizeof(path), "args.%.1000s%s", name, suffix);
    const char *copy = arena_strdup(p->arena, text_of(path));
    return copy ? query_source(p->query, text_of(copy), ret) : -ENOMEM;
}

bool plan_is_optional(const struct aggregate_options *o, const char *path)
{
    for (size_t i = 0; i < o->optional_count; i++)
        if (strcmp(without_args(o->optional[i]), without_args(path)) == 0)
            return true;
    return false;
}

int plan_field(struct aggregate_plan *p, const struct aggregate_options *o, const char *path,
               struct err *err)
{
    const char *name = without_args(path);
    unsigned measure;
    int rc = strlen(name) > 1000 ? -ENAMETOOLONG : plan_measure(p, name, path, &measure);

    if (rc == -ENAMETOOLONG)
        return err_set_param(err, ERR_PARAM, "metric_fields",
                             "`metric_fields`: a name is longer than 1000 bytes");
    struct measure *m = &p->measures.at[measure];
    rc = rc < 0 ? rc : argument_source(p, name, "_sum", &m->sum);
    rc = rc < 0 ? rc : argument_source(p, name, "_min", &m->min);
    rc = rc < 0 ? rc : argument_source(p, name, "_max", &m->max);
    rc = rc < 0 ? rc : argument_source(p, name, "", &m->plain);
    if (rc < 0)
        return err_set_code(err, rc);
    return plan_is_optional(o, path) ? 0 : plan_check_numeric(p, m, "metric_fields", err);
}

/* ---- arguments of system rows ---------------------------------------------------------------- */

/* Each argument becomes a measure, which needs memory in every group, so there is a limit. */
enum { SYSTEM_ARGUMENTS_MAX = 2048 };

static int argument_add(struct intern *names, struct text path)
{
    int64_t id = text_starts(path, TEXT("args.")) && path.len < 1000 ? intern_add(names, path) : 0;

    return id < 0 ? (int)id : intern_count(names) > SYSTEM_ARGUMENTS_MAX ? ERR_ROW_LIMIT : 0;
}

/* Adds the numeric arguments in @other, for which the chunk had no columns left. */
static int other_arguments(struct intern *names, struct chunk_view *v, const struct column *other)
{
    struct arena arena = {0};
    struct column_entry e;
    struct text name, value;
    int rc = 0;

    for (uint32_t i = 0; i < other->entries && rc == 0; i++) {
        rc = column_entry(v, other, i, &e);
        struct members m = {e.text.ptr, e.text.ptr + e.text.len, &arena};
        if (rc < 0 || e.type != TRACE_TEXT)
            continue;
        while (rc == 0 && members_next(&m, &name, &value))
            if (members_entry(&m, value, &e) && (e.type == TRACE_INT || e.type == TRACE_DOUBLE))
                rc = argument_add(names, name);
        rc = rc < 0 ? rc : arena.error;
        arena_done(&arena);
    }
    return rc;
}

static int arguments_of_chunk(struct intern *names, struct chunk_view *v)
{
    struct column c;
    int rc = 0;

    if (chunk_find(v, TEXT("@class"), &c) == 0 && c.constant && c.nulls == 0 &&
        c.min != TRACE_COUNTER && c.min != TRACE_AGGREGATED)
        return 0;
    for (uint32_t i = 0; i < chunk_column_count(v) && rc == 0; i++) {
        chunk_column(v, i, &c);
        if (c.type == COLUMN_INT || c.type == COLUMN_DOUBLE || c.type == COLUMN_MIXED)
            rc = argument_add(names, c.path);
    }
    return rc == 0 && chunk_find(v, TEXT("@other"), &c) == 0 ? other_arguments(names, v, &c) : rc;
}

static int system_arguments(const struct aggregate_plan *p, struct intern *names)
{
    const struct snapshot *s = query_snapshot(p->query);
    const struct scan_place *places;
    size_t n = scan_places(p->query, &places);
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct index_file *f = snapshot_file(s, places[i].file);
        struct chunk_view *v;
        if (f->counts.counters + f->counts.aggregated == 0)
            continue;
        rc = chunk_open(query_index(p->query), s, f, places[i].chunk, &v);
        if (rc < 0)
            break;
        rc = arguments_of_chunk(names, v);
        chunk_close(v);
    }
    return rc;
}

static int compare_texts(const void *a, const void *b)
{
    return text_cmp(*(const struct text *)a, *(const struct text *)b);
}

static int add_system_measures(struct aggregate_plan *p, const struct intern *names)
{
    uint32_t n = intern_count(names);
    struct text *sorted = arena_alloc(p->arena, (n + 1) * sizeof(*sorted));
    int rc = sorted ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < n && rc == 0; i++)
        sorted[i] = intern_text(names, i);
    if (rc == 0)
        qsort(sorted, n, sizeof(*sorted), compare_texts);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        const char *path = arena_strdup(p->arena, sorted[i]);
        unsigned measure;
        rc = path ? plan_measure(p, without_args(path), path, &measure) : -ENOMEM;
        if (rc == 0)
            p->measures.at[measure].system = true;
    }
    return rc;
}

/* Rank 0 finds the arguments and sends them to the other ranks. */
static int find_arguments(const struct aggregate_plan *p, struct intern *names)
{
    struct text received;
    struct buf sent = {0};
    int rc = 0;

    if (query_rank_receive(p->query, &received)) {
        for (struct rec rec = rec_of(received); rc == 0 && rec.ptr < rec.end && !rec.bad;)
            rc = intern_add(names, rec_text(&rec)) < 0 ? -ENOMEM : 0;
        return rc;
    }
    rc = system_arguments(p, names);
    for (uint32_t i = 0; i < intern_count(names) && rc == 0; i++)
        rec_put_text(&sent, intern_text(names, i));
    rc = rc < 0 ? rc : sent.error;
    if (rc == 0)
        query_rank_send(p->query, (struct text){sent.data, sent.len});
    buf_done(&sent);
    return rc;
}

int plan_system_measures(struct aggregate_plan *p, struct err *err)
{
    if (!(query_phases(p->query) & (PHASE_COUNTERS | PHASE_AGGREGATED)))
        return 0;
    struct intern *names = intern_new();
    int rc = names ? find_arguments(p, names) : -ENOMEM;

    rc = rc < 0 ? rc : add_system_measures(p, names);
    intern_free(names);
    if (rc == ERR_ROW_LIMIT)
        return err_set(err, rc,
                       "counters and aggregated records have more than %d different numeric "
                       "arguments; choose fewer files, or events only (phase=events)",
                       SYSTEM_ARGUMENTS_MAX);
    return rc < 0 ? err_set_code(err, rc) : 0;
}

int plan_system_columns(struct aggregate_plan *p, const bool *used)
{
    static const struct {
        const char *suffix;
        enum output what;
    } stats[] = {{"mean", OUTPUT_MEAN}, {"min", OUTPUT_MIN}, {"max", OUTPUT_MAX}};
    size_t columns_before = p->columns.count;

    for (unsigned m = p->requested_measures; m < p->measures.count; m++) {
        size_t before = p->columns.count;
        int rc = used[m] ? 0 : -EEXIST;
        for (size_t i = 0; i < 3 && rc == 0; i++)
            rc = plan_stat_column(p, p->measures.at[m].name, stats[i].suffix, VALUE_DOUBLE,
                                  UNIT_NONE, (struct output_column){stats[i].what, m, 0});
        if (rc == -EEXIST)
            p->columns.count = p->outputs.count = before;
        else if (rc < 0)
            return rc;
    }
    for (size_t i = columns_before; i < p->columns.count; i++)
        p->columns.at[i].optional = true;
    return 0;
}
