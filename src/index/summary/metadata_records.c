/* metadata_records.c - collects metadata from single records: names, start and end of processes,
 * forks, ranks, the unit. */
#include "index/summary/part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const struct trace_value *find_value(const struct trace_event *e, uint16_t field)
{
    for (uint32_t i = 0; i < e->count; i++)
        if (e->values[i].field == field)
            return &e->values[i];
    return NULL;
}

/* Returns a value as text; numbers as decimal text in `scratch` (32 bytes). Empty if absent. */
static struct text value_text(const struct trace_value *v, char *scratch)
{
    if (!v)
        return (struct text){NULL, 0};
    switch (v->type) {
    case TRACE_INT:
    case TRACE_BOOL:
        return (struct text){scratch, num_format_i64(v->i, scratch)};
    case TRACE_DOUBLE:
        return (struct text){scratch, num_format_double(v->d, scratch)};
    default:
        return (struct text){v->ptr, v->len};
    }
}

static uint32_t add_text(struct part *p, struct texts *texts, struct text text)
{
    uint32_t id = texts_add_any(texts, text);

    if (id == INDEX_NO_TEXT)
        p->error = -ENOMEM;
    return id;
}

static uint32_t text_id(struct part *p, struct texts *texts, const struct trace_value *v)
{
    char scratch[32];

    return v ? add_text(p, texts, value_text(v, scratch)) : INDEX_NO_TEXT;
}

static bool is_int(const struct trace_value *v)
{
    return v && v->type == TRACE_INT;
}

static void add_fact(struct part *p, struct texts *texts, const struct trace_event *e,
                     enum part_fact_kind kind, int64_t value)
{
    const struct trace_value *host = find_value(e, TRACE_FIELD_HHASH),
                             *pid = find_value(e, TRACE_FIELD_PID);
    struct part_fact f = {.kind = kind, .host_is_hash = host != NULL, .value = value};

    if (!is_int(pid))
        return;
    f.pid = pid->i;
    f.host = text_id(p, texts, host ? host : find_value(e, TRACE_FIELD_HOSTNAME));
    if (vec_push(&p->facts, f) < 0)
        p->error = -ENOMEM;
}

static void add_text_fact(struct part *p, struct texts *texts, const struct trace_event *e,
                          enum part_fact_kind kind, uint16_t field)
{
    const struct trace_value *v = find_value(e, field);

    if (v)
        add_fact(p, texts, e, kind, text_id(p, texts, v));
}

static void record_unit(struct part *p, struct text unit)
{
    static const char *const names[] = {
        [TRACE_US] = "US", [TRACE_NS] = "NS", [TRACE_MS] = "MS", [TRACE_SEC] = "SEC"};

    for (uint8_t i = 0; i < 4 && !p->unit_seen; i++)
        if (text_eq_nocase(unit, text_of(names[i])))
            p->unit_seen = i + 1;
}

/* ---- metadata records ------------------------------------------------------------------------ */

const struct text metadata_kind_names[] = {[INDEX_FH] = {"FH", 2},
                                           [INDEX_HH] = {"HH", 2},
                                           [INDEX_SH] = {"SH", 2},
                                           [INDEX_THREAD_NAME] = {"thread_name", 11},
                                           [INDEX_PROCESS_NAME] = {"process_name", 12},
                                           [INDEX_PR] = {"PR", 2},
                                           [INDEX_CM] = {"CM", 2}};

static bool find_kind(struct text name, uint8_t *ret)
{
    for (uint8_t i = 0; i <= INDEX_CM; i++) {
        if (text_eq(name, metadata_kind_names[i])) {
            *ret = i;
            return true;
        }
    }
    return false;
}

/* Appends the record as valid JSON, and a newline. If it cannot be repaired, the line is empty:
 * answers leave out the record. */
static void append_line(struct part *p, const struct trace_event *e, const char *chunk_text)
{
    if (e->repaired)
        trace_repair(chunk_text + e->offset, e->len, &p->lines);
    else
        buf_append(&p->lines, chunk_text + e->offset, e->len);
    buf_putc(&p->lines, '\n');
}

/* Returns whether the value is in the text of the chunk, rather than valid until the next event
 * only. */
static bool is_in_chunk(const struct trace_event *e, const char *chunk_text,
                        const struct trace_value *v)
{
    const char *line = chunk_text + e->offset;

    return v && v->type == TRACE_TEXT && v->ptr >= line && v->ptr + v->len <= line + e->len;
}

static void assign_ids(struct part *p, struct texts *texts)
{
    struct part_lookup *w = p->lookup;
    uint32_t ids[TEXTS_MANY];

    texts_add_many(texts, w->text, w->count, ids);
    for (uint32_t i = 0; i < w->count; i++) {
        struct index_name *n = &p->names.at[w->name[i / 2]];
        *(i % 2 ? &n->value : &n->hash) = ids[i];
        if (ids[i] == INDEX_NO_TEXT)
            p->error = -ENOMEM;
    }
    w->count = 0;
}

void part_end_metadata(struct part *p, struct texts *texts)
{
    if (p->lookup)
        assign_ids(p, texts);
    free(p->lookup);
    p->lookup = NULL;
}

/* Defers the ids of hash and value. Returns false if they are not texts of the chunk, or without
 * memory. */
static bool defer_ids(struct part *p, const struct trace_event *e, const char *chunk_text,
                      const struct trace_value *hash, const struct trace_value *value)
{
    struct part_lookup *w = p->lookup;

    if (!is_in_chunk(e, chunk_text, hash) || !is_in_chunk(e, chunk_text, value) ||
        (!w && !(w = p->lookup = calloc(1, sizeof *w))))
        return false;
    w->name[w->count / 2] = (uint32_t)p->names.count;
    w->text[w->count++] = (struct text){hash->ptr, hash->len};
    w->text[w->count++] = (struct text){value->ptr, value->len};
    return true;
}

static void add_name(struct part *p, struct texts *texts, const struct trace_event *e,
                     struct index_name n, const char *chunk_text)
{
    const struct trace_value *pid = find_value(e, TRACE_FIELD_PID),
                             *hash = find_value(e, TRACE_FIELD_ARG_VALUE),
                             *value = find_value(e, TRACE_FIELD_ARG_NAME);

    n.pid = is_int(pid) ? pid->i : INT64_MIN;
    n.hash = n.value = INDEX_NO_TEXT;
    n.line = (uint32_t)p->names.count;
    if (vec_reserve(&p->names, 1) < 0) {
        p->error = -ENOMEM;
        return;
    }
    if (n.kind > INDEX_SH || !defer_ids(p, e, chunk_text, hash, value)) {
        n.hash = n.kind <= INDEX_SH ? text_id(p, texts, hash) : INDEX_NO_TEXT;
        n.value = text_id(p, texts, value);
    }
    p->names.at[p->names.count++] = n;
    if (p->lookup && p->lookup->count == TEXTS_MANY)
        assign_ids(p, texts);
    append_line(p, e, chunk_text);
}

static void add_record(struct part *p, struct texts *texts, const struct trace_event *e,
                       struct text name, const char *chunk_text, uint32_t number, uint32_t row)
{
    struct index_name n = {.chunk = number, .row = row};
    char key_scratch[32], value_scratch[32];

    if (!find_kind(name, &n.kind))
        return;
    add_name(p, texts, e, n, chunk_text);
    if (n.kind <= INDEX_THREAD_NAME)
        return;
    struct text key = value_text(find_value(e, TRACE_FIELD_ARG_NAME), key_scratch);
    struct text value = value_text(find_value(e, TRACE_FIELD_ARG_VALUE), value_scratch);
    if (n.kind == INDEX_PROCESS_NAME && part_parse_rank(key) != INT64_MIN)
        add_fact(p, texts, e, FACT_RANK, part_parse_rank(key));
    if (n.kind == INDEX_PR && text_eq(key, TEXT("rank")) && part_parse_rank(value) != INT64_MIN)
        add_fact(p, texts, e, FACT_RANK, part_parse_rank(value));
    if (n.kind == INDEX_CM && text_eq(key, TEXT("time_metric")))
        record_unit(p, value);
}

/* ---- start, end, fork ------------------------------------------------------------------------ */

/* Records the version of the tracer: 100005 -> "1.0.5"; a text stays as it is. */
static void record_version(struct part *p, struct texts *texts, const struct trace_value *v)
{
    char out[64];

    if (!v || p->version != INDEX_NO_TEXT)
        return;
    if (v->type == TRACE_INT && v->i >= 0) {
        int len = snprintf(out, sizeof out, "%lld.%lld.%lld", (long long)v->i / 100000,
                           (long long)v->i / 100 % 1000, (long long)v->i % 100);
        p->version = add_text(p, texts, (struct text){out, (size_t)len});
    } else {
        p->version = text_id(p, texts, v);
    }
}

static void add_start(struct part *p, struct texts *texts, const struct trace_event *e)
{
    const struct trace_value *ppid = find_value(e, TRACE_FIELD_PPID);

    record_version(p, texts, find_value(e, TRACE_FIELD_VERSION));
    add_fact(p, texts, e, FACT_START, 0);
    if (is_int(ppid))
        add_fact(p, texts, e, FACT_PPID, ppid->i);
    add_text_fact(p, texts, e, FACT_CMD, TRACE_FIELD_CMD_HASH);
    add_text_fact(p, texts, e, FACT_EXEC, TRACE_FIELD_EXEC_HASH);
    add_text_fact(p, texts, e, FACT_CWD, TRACE_FIELD_CWD);
}

static bool is_from_tracer(const struct trace_event *e)
{
    const struct trace_value *cat = find_value(e, TRACE_FIELD_CAT);

    return cat && cat->type == TRACE_TEXT &&
           text_eq_nocase((struct text){cat->ptr, cat->len}, TEXT("dftracer"));
}

static bool add_event(struct part *p, struct texts *texts, const struct trace_event *e,
                      struct text name)
{
    const struct trace_value *v;
    char scratch[32];

    if (text_eq(name, TEXT("start")) && is_from_tracer(e)) {
        add_start(p, texts, e);
    } else if (text_eq(name, TEXT("end")) && is_from_tracer(e)) {
        p->finished = true;
        add_fact(p, texts, e, FACT_END, 0);
        v = find_value(e, TRACE_FIELD_TIME_METRIC);
        if (v)
            record_unit(p, value_text(v, scratch));
    } else if (text_eq(name, TEXT("fork")) || text_eq(name, TEXT("vfork")) ||
               text_eq(name, TEXT("spawn"))) {
        v = find_value(e, TRACE_FIELD_RET);
        if (is_int(v) && v->i > 0)
            add_fact(p, texts, e, name.ptr[0] == 's' ? FACT_SPAWN : FACT_FORK, v->i);
    } else {
        return text_eq(name, TEXT("start")) || text_eq(name, TEXT("end"));
    }
    return true;
}

bool part_add_metadata(struct part *p, struct texts *texts, const struct trace_event *event,
                       const char *chunk_text, uint32_t number, uint32_t row)
{
    if (event->class != TRACE_EVENT && event->class != TRACE_METADATA)
        return true;
    const struct trace_value *v = find_value(event, TRACE_FIELD_NAME);
    if (!v || v->type != TRACE_TEXT)
        return true;
    if (v->len < 2 || v->len > 12)
        return false;
    struct text name = {v->ptr, v->len};
    if (event->class == TRACE_EVENT)
        return add_event(p, texts, event, name);
    add_record(p, texts, event, name, chunk_text, number, row);
    return true;
}
