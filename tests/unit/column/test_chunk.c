/* module: column; paths */
/* test_chunk.c - events become a chunk value and come back: values, nulls, types, sizes, texts,
 * pruning, damage. */
#include "column/chunk/chunk_build.h"
#include "chunk_maker.h"
#include "failing_malloc.h"

#include <sys/stat.h>
#include <time.h>

/* ---- texts and scanning ---------------------------------------------------------------------- */

static uint32_t refuse_id(void *arg, struct text t)
{
    (void)arg;
    (void)t;
    return INDEX_NO_TEXT;
}

/* ---- the value of a row as text: for comparing in words -------------------------------------- */

static const char *entry_words(const struct column_entry *e, char *out)
{
    switch (e->type) {
    case TRACE_INT:
        sprintf(out, "int %" PRId64, e->i);
        break;
    case TRACE_DOUBLE:
        sprintf(out, "double %.17g", e->d);
        break;
    case TRACE_BOOL:
        strcpy(out, e->i ? "true" : "false");
        break;
    default:
        sprintf(out, "%s %.*s",
                e->type == TRACE_TEXT   ? "text"
                : e->type == TRACE_JSON ? "json"
                                        : "big",
                (int)e->text.len, e->text.ptr);
    }
    return out;
}

static const char *words(struct chunk_view *v, const char *path, uint32_t row)
{
    static char out[4096];
    struct column c;
    uint32_t first = row / 1024 * 1024,
             n = chunk_rows(v) - first < 1024 ? chunk_rows(v) - first : 1024;
    uint64_t valid[16];
    int64_t i[1024];
    double d[1024];
    uint32_t code[1024];
    struct column_entry e;

    if (chunk_find(v, text_of(path), &c) < 0)
        return "no column";
    if (column_read_valid(v, &c, first, n, valid) < 0)
        return "bad bitmap";
    if (!(valid[(row - first) / 64] >> row % 64 & 1))
        return "null";
    switch (c.type) {
    case COLUMN_DOUBLE:
        if (column_read_f64(v, &c, first, n, d) < 0)
            return "bad";
        sprintf(out, "double %.17g", d[row - first]);
        return out;
    case COLUMN_TEXT:
    case COLUMN_MIXED:
        if (column_read_codes(v, &c, first, n, code) < 0 ||
            column_entry(v, &c, code[row - first], &e) < 0)
            return "bad";
        return entry_words(&e, out);
    default:
        if (column_read_i64(v, &c, first, n, i) < 0)
            return "bad";
        sprintf(out, "%s %" PRId64,
                c.type == COLUMN_TIME   ? c.nano ? "ns" : "us"
                : c.type == COLUMN_BOOL ? "bool"
                                        : "int",
                i[row - first]);
        return out;
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void empty_chunk(void)
{
    struct buf value = {0};
    struct chunk_built built;

    maker_begin();
    struct chunk_view *v = maker_view_of("[\n", &value, &built);
    CHECK_INT(built.rows, 0);
    CHECK_INT(chunk_rows(v), 0);
    CHECK_INT(chunk_column_count(v), 0);
    CHECK_INT(chunk_view_number(v), 7);
    CHECK_INT(chunk_view_check(v), 0);
    chunk_view_free(v);
    buf_done(&value);
    maker_end();
}

static void types_of_columns(void)
{
    struct buf value = {0};
    struct chunk_built built;
    struct column c;
    static const char lines[] = "[\n{\"id\":1,\"name\":\"a\",\"cat\":\"x\",\"pid\":5,\"tid\":6,"
                                "\"ts\":100,\"dur\":3,\"ph\":\"X\",\"args\":{\"m\":1,\"d\":1,"
                                "\"b\":true,\"t\":\"q\",\"j\":[1,2],\"big\":99999999999999999999,"
                                "\"exact\":9007199254740993}}\n"
                                "{\"id\":2,\"name\":\"b\",\"cat\":\"x\",\"pid\":5,\"tid\":7,\"ts\":"
                                "200.5,\"dur\":4,\"ph\":\"X\",\"args\":{\"m\":\"one\",\"d\":1.25,"
                                "\"b\":false,\"t\":\"\",\"j\":[],\"exact\":0.5}}\n"
                                "{\"id\":3,\"name\":\"a\",\"cat\":\"x\",\"pid\":5,\"tid\":6,\"ph\":"
                                "\"X\",\"ts\":300,\"args\":{\"m\":true,\"n\":2.5,"
                                "\"@len\":1,\"j\":{}}, \"size\":4}\n"
                                "{\"id\":4,\"name\":\"a\",\"cat\":\"x\",\"pid\":5,\"tid\":6,\"ph\":"
                                "\"X\",\"ts\":400,\"args\":{\"m\":1}}\n";

    maker_begin();
    struct chunk_view *v = maker_view_of(lines, &value, &built);
    CHECK_INT(built.rows, 4);
    CHECK_INT(chunk_view_check(v), 0);
    CHECK_STR(words(v, "ts", 0), "ns 100000");
    CHECK_STR(words(v, "ts", 1), "ns 200500");
    CHECK_STR(words(v, "ts", 2), "ns 300000");
    CHECK_STR(words(v, "dur", 1), "us 4");
    CHECK_STR(words(v, "dur", 2), "us 0"); /* absent of an X event: docs/READING.md */
    CHECK_STR(words(v, "args.m", 0), "int 1");
    CHECK_STR(words(v, "args.m", 1), "text one");
    CHECK_STR(words(v, "args.m", 2), "true");
    CHECK_STR(words(v, "args.m", 3), "int 1");
    CHECK_STR(words(v, "args.d", 0), "double 1");
    CHECK_STR(words(v, "args.d", 1), "double 1.25");
    CHECK_STR(words(v, "args.b", 0), "bool 1");
    CHECK_STR(words(v, "args.b", 1), "bool 0");
    CHECK_STR(words(v, "args.t", 1), "text ");
    CHECK_STR(words(v, "args.j", 0), "json [1,2]");
    CHECK_STR(words(v, "args.big", 0), "big 99999999999999999999");
    CHECK_STR(words(v, "args.exact", 0), "int 9007199254740993");
    CHECK_STR(words(v, "args.exact", 1), "double 0.5");
    CHECK_STR(words(v, "args.n", 2), "double 2.5");
    CHECK_STR(words(v, "args.n", 1), "null");
    CHECK_STR(words(v, "@class", 0), "int 0");
    CHECK_STR(words(v, "@gap", 0), "int 2");
    CHECK_STR(words(v, "@gap", 1), "int 1");
    CHECK_STR(words(v, "@repaired", 1), "bool 0");
    CHECK_STR(words(v, "size", 2), "no column");
    CHECK_STR(words(v, "@other", 2), "text {\"size\":4}");
    CHECK_STR(words(v, "args.@len", 2), "int 1");
    CHECK_INT(chunk_find(v, TEXT("cat"), &c), 0);
    CHECK(c.constant && c.nulls == 0 && c.entries == 1);
    CHECK_INT(chunk_find(v, TEXT("args.d"), &c), 0);
    CHECK(c.type == COLUMN_DOUBLE && c.min_f64 == 1 && c.max_f64 == 1.25 && c.nulls == 2);
    chunk_view_free(v);
    buf_done(&value);
    maker_end();
}

static void times_that_do_not_fit(void)
{
    struct buf value = {0};
    struct chunk_built built;
    static const char lines[] =
        "{\"name\":\"a\",\"ts\":9223372036854775807,\"dur\":9223372036854775,\"ph\":\"X\"}\n"
        "{\"name\":\"a\",\"ts\":1.5,\"dur\":9223372036854776,\"ph\":\"X\"}\n"
        "{\"name\":\"a\",\"ts\":9223372036854775806,\"dur\":1.5,\"ph\":\"X\"}\n";

    maker_begin();
    struct chunk_view *v = maker_view_of(lines, &value, &built);
    CHECK_INT(built.bad_ts, 2);
    CHECK_INT(built.bad_dur, 1);
    CHECK_STR(words(v, "ts", 0), "null");
    CHECK_STR(words(v, "ts", 1), "ns 1500");
    CHECK_STR(words(v, "ts", 2), "null");
    CHECK_STR(words(v, "dur", 0), "ns 9223372036854775000");
    CHECK_STR(words(v, "dur", 1), "null");
    CHECK_STR(words(v, "dur", 2), "ns 1500");
    chunk_view_free(v);
    buf_done(&value);
    maker_end();
}

static int build_once(const struct buf *text)
{
    struct buf value = {0};
    struct chunk_builder *builder = NULL;
    struct chunk_built built;
    struct trace_event e;
    int got, rc = chunk_builder_new(&maker_options, &builder);

    if (rc < 0)
        return rc;
    trace_scan_begin(maker_scanner, text->data, text->len - 64, TRACE_US);
    chunk_builder_begin(builder, maker_scanner);
    while (rc == 0 && (got = trace_scan_next(maker_scanner, &e)) != 0)
        rc = got < 0 ? got : chunk_builder_add(builder, &e);
    rc = rc ? rc : chunk_builder_finish(builder, 7, &value, &built);
    chunk_builder_free(builder);
    buf_done(&value);
    return rc;
}

/* The last line converts all times to nanoseconds, in which those before it do not fit. */
static void without_memory(void)
{
    struct buf text = {0};

    for (int i = 0; i < 2500; i++)
        buf_puts(&text, "{\"name\":\"a\",\"ts\":1,\"dur\":9223372036854776,\"ph\":\"X\"}\n");
    buf_puts(&text, "{\"name\":\"a\",\"ts\":1,\"dur\":1.5,\"ph\":\"X\"}\n");
    buf_append(&text, (char[64]){0}, 64);
    maker_begin();
    CHECK_INT(build_once(&text), 0); /* and its texts have ids from now on */
    for (unsigned n = 0; failing_malloc_next(n); n++) {
        int rc = build_once(&text);
        failing_malloc_stop();
        CHECK_INT(rc, failing_malloc_happened() ? -ENOMEM : 0);
    }
    maker_end();
    buf_done(&text);
}

/* One field a line over many rows: every pattern of nulls at every length that matters. */
static bool has_value(unsigned pattern, uint32_t row)
{
    switch (pattern) {
    case 0:
        return true;
    case 1:
        return row == 0;
    case 2:
        return row % 2;
    case 3:
        return row % 1024 == 1023;
    case 4:
        return row * 2654435761u >> 31;
    case 5:
        return row >= 1500;
    default:
        return (row * 2654435761u >> 20) % 100 < 3;
    }
}

static void null_patterns(void)
{
    static const uint32_t lengths[] = {1, 63, 64, 65, 1023, 1024, 1025, 3000, 17000};
    struct buf lines = {0}, value = {0};
    struct chunk_built built;
    char want[64];

    maker_begin();
    for (unsigned l = 0; l < sizeof(lengths) / sizeof(*lengths); l++) {
        buf_clear(&lines);
        buf_clear(&value);
        for (uint32_t r = 0; r < lengths[l]; r++) {
            buf_printf(&lines, "{\"name\":\"n\",\"ts\":%u,\"ph\":\"X\",\"args\":{\"z\":0", r);
            for (unsigned p = 0; p < 7; p++)
                if (has_value(p, r))
                    buf_printf(&lines, ",\"i%u\":%u,\"t%u\":\"v%u\",\"d%u\":%u.5", p, r * 3, p,
                               r % 50, p, r);
            buf_puts(&lines, "}}\n");
        }
        buf_putc(&lines, 0);
        struct chunk_view *v = maker_view_of(lines.data, &value, &built);
        CHECK_INT(built.rows, lengths[l]);
        for (uint32_t r = 0; r < lengths[l]; r += 1 + (r > 70 && r % 1024 < 1000) * 13)
            for (unsigned p = 0; p < 7; p++) {
                const char *path[3] = {(char[8]){0}, (char[8]){0}, (char[8]){0}};
                for (unsigned k = 0; k < 3; k++)
                    sprintf((char *)(uintptr_t)path[k], "args.%c%u", "itd"[k], p);
                bool has = has_value(p, r);
                const char *none = p == 5 && lengths[l] <= 1500 ? "no column" : "null";
                sprintf(want, "int %u", r * 3);
                const char *got = words(v, path[0], r);
                if (has || strcmp(got, "no column") != 0)
                    CHECK_STR(got, has ? want : none);
                sprintf(want, "text v%u", r % 50);
                got = words(v, path[1], r);
                if (has || strcmp(got, "no column") != 0)
                    CHECK_STR(got, has ? want : none);
                sprintf(want, "double %.17g", r + 0.5);
                got = words(v, path[2], r);
                if (has || strcmp(got, "no column") != 0)
                    CHECK_STR(got, has ? want : none);
            }
        CHECK_INT(chunk_view_check(v), 0);
        chunk_view_free(v);
    }
    buf_done(&lines);
    buf_done(&value);
    maker_end();
}

static void nulls_read_as_zero(void)
{
    struct buf value = {0};
    struct chunk_built built;
    struct column c;
    int64_t i[4];
    uint32_t code[4];

    maker_begin();
    struct chunk_view *v = maker_view_of(
        "{\"name\":\"a\",\"ts\":1,\"args\":{\"x\":7,\"y\":\"p\"}}\n{\"name\":\"a\",\"ts\":2}\n"
        "{\"name\":\"a\",\"ts\":3,\"args\":{\"x\":9,\"y\":\"q\"}}\n{\"name\":\"a\",\"ts\":4}\n",
        &value, &built);
    CHECK_INT(chunk_find(v, TEXT("args.x"), &c), 0);
    CHECK_INT(column_read_i64(v, &c, 0, 4, i), 0);
    CHECK(i[0] == 7 && i[1] == 0 && i[2] == 9 && i[3] == 0);
    CHECK_INT(chunk_find(v, TEXT("args.y"), &c), 0);
    CHECK_INT(column_read_codes(v, &c, 0, 4, code), 0);
    CHECK(code[0] == 0 && code[1] == 0 && code[2] == 1 && code[3] == 0);
    chunk_view_free(v);
    buf_done(&value);
    maker_end();
}

static void too_many_paths(void)
{
    struct buf lines = {0}, value = {0};
    struct chunk_built built;

    maker_begin();
    buf_puts(&lines, "{\"name\":\"a\",\"ts\":1,\"args\":{\"q\":0");
    for (unsigned i = 0; i < 700; i++)
        buf_printf(&lines, ",\"k%u\":%u", i, i);
    buf_puts(&lines, "}}\n{\"name\":\"b\",\"ts\":1,\"args\":{\"k1\":5,\"k699\":\"x\\\"y\"}}\n"
                     "{\"name\":\"c\",\"ts\":1,\"dur\":3,\"args\":{\"fhash\":\"f\"}}\n");
    buf_putc(&lines, 0);
    struct chunk_view *v = maker_view_of(lines.data, &value, &built);
    CHECK_STR(words(v, "args.k478", 0), "int 478");
    CHECK_STR(words(v, "args.k479", 0), "no column");
    CHECK_STR(words(v, "@other", 1), "text {\"args.k699\":\"x\\\"y\"}");
    CHECK(strncmp(words(v, "@other", 0), "text {\"args.k479\":479,\"args.k480\":480,", 37) == 0);
    CHECK_INT(built.other_values, 700 - 479 + 1);
    CHECK_STR(words(v, "dur", 2), "us 3");
    CHECK_STR(words(v, "args.fhash", 2), "text f");
    chunk_view_free(v);
    buf_done(&lines);
    buf_done(&value);
    maker_end();
}

static void pruning(void)
{
    struct buf lines = {0}, value = {0};
    struct chunk_built built;
    struct column c;
    const uint64_t *hashes;

    maker_begin();
    for (unsigned i = 0; i < 20000; i++)
        buf_printf(&lines,
                   "{\"name\":\"n%u\",\"cat\":\"POSIX\",\"pid\":%u,\"tid\":3,\"ts\":%u,\"args\":{"
                   "\"fhash\":%u}}\n",
                   i % 30, 1000 + i % 200, i, i * 7 % 5000);
    buf_putc(&lines, 0);
    struct chunk_view *v = maker_view_of(lines.data, &value, &built);
    static const struct {
        const char *path;
        unsigned count;
        const char *form;
        unsigned step, from;
    } dims[] = {{"name", 30, "n%u", 1, 0},
                {"pid", 200, "%u", 1, 1000},
                {"args.fhash", 5000, "%u", 1, 0},
                {"tid", 1, "%u", 1, 3}};
    for (unsigned d = 0; d < 4; d++) {
        unsigned wrong = 0;
        char text[32];
        CHECK_INT(chunk_find(v, text_of(dims[d].path), &c), 0);
        for (unsigned i = 0; i < dims[d].count; i++) {
            sprintf(text, dims[d].form, dims[d].from + i);
            CHECK(chunk_may_have(v, &c, text_hash(text_of(text))));
        }
        for (unsigned i = 0; i < 10000; i++) {
            sprintf(text, "no%u", i);
            wrong += chunk_may_have(v, &c, text_hash(text_of(text)));
        }
        CHECK(wrong < 200);
    }
    CHECK_INT(chunk_builder_hashes(maker_builder, 0, &hashes), 30);
    CHECK_INT(chunk_builder_hashes(maker_builder, 1, &hashes), 1);
    CHECK(hashes[0] == text_hash(TEXT("POSIX")));
    CHECK_INT(chunk_builder_hashes(maker_builder, 2, &hashes), 200);
    CHECK_INT(chunk_builder_hashes(maker_builder, 5, &hashes), 5000);
    CHECK_INT(chunk_builder_hashes(maker_builder, 6, &hashes), 0);
    chunk_view_free(v);
    buf_done(&lines);
    buf_done(&value);
    maker_end();
}

static void refused_texts_stay(void)
{
    struct buf value = {0};
    struct chunk_built built;
    struct column c;
    const uint32_t *ids;

    maker_options.intern = refuse_id;
    maker_begin();
    struct chunk_view *v = maker_view_of(
        "{\"name\":\"a\",\"ts\":1}\n{\"name\":\"bb\",\"ts\":2}\n{\"name\":\"a\",\"ts\":1}\n",
        &value, &built);
    CHECK_STR(words(v, "name", 0), "text a");
    CHECK_STR(words(v, "name", 1), "text bb");
    CHECK_INT(chunk_find(v, TEXT("name"), &c), 0);
    CHECK_INT(column_entry_ids(v, &c, &ids), 0);
    CHECK(ids[0] == INDEX_NO_TEXT && ids[1] == INDEX_NO_TEXT);
    chunk_view_free(v);
    buf_done(&value);
    maker_end();
    maker_options.intern = maker_give_id;
}

/* ---- real traces: the columns say what the scanner said -------------------------------------- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const char *value_words(const struct trace_value *v, char *out)
{
    struct column_entry e = {.type = v->type, .text = {v->ptr, v->len}};

    e.i = v->i;
    e.d = v->d;
    return entry_words(&e, out);
}

/* All columns of a view, decoded: for comparing row by row. */
struct decoded {
    struct column c;
    int64_t *i;
    double *d;
    uint32_t *code;
    uint64_t *valid;
    uint32_t seen;
};

static void decode(struct chunk_view *v, struct decoded *d)
{
    uint32_t n = d->c.rows;

    d->valid = calloc(n / 64 + 1, 8);
    CHECK_INT(column_read_valid(v, &d->c, 0, n, d->valid), 0);
    if (d->c.entries) {
        d->code = malloc((n + 1) * 4);
        CHECK_INT(column_read_codes(v, &d->c, 0, n, d->code), 0);
    } else if (d->c.type == COLUMN_DOUBLE) {
        d->d = malloc((n + 1) * 8);
        CHECK_INT(column_read_f64(v, &d->c, 0, n, d->d), 0);
    } else {
        d->i = malloc((n + 1) * 8);
        CHECK_INT(column_read_i64(v, &d->c, 0, n, d->i), 0);
    }
}

static bool same(struct chunk_view *v, struct decoded *d, uint32_t row, const struct trace_value *t)
{
    static char a[1 << 20], b[1 << 20];
    struct column_entry e;

    if (!(d->valid[row / 64] >> row % 64 & 1))
        return false;
    d->seen++;
    if (d->code) {
        if (column_entry(v, &d->c, d->code[row], &e) < 0 || e.text.len > 200000)
            return false;
        return strcmp(entry_words(&e, a), value_words(t, b)) == 0;
    }
    if (d->d)
        return d->d[row] == (t->type == TRACE_INT ? (double)t->i : t->d);
    return d->i[row] == t->i * (d->c.nano && !t->nano ? 1000 : 1);
}

static unsigned compare(struct chunk_view *v, const char *text, size_t len, enum trace_unit unit)
{
    struct decoded *d = calloc(chunk_column_count(v) + 1, sizeof(*d));
    struct trace_event e;
    uint32_t row = 0, place = 0;
    unsigned wrong = 0;

    for (uint32_t i = 0; i < chunk_column_count(v); i++) {
        chunk_column(v, i, &d[i].c);
        decode(v, &d[i]);
    }
    trace_scan_begin(maker_scanner, text, len, unit);
    for (; trace_scan_next(maker_scanner, &e) == 1; row++) {
        for (uint32_t k = 0; k < e.count; k++) {
            struct decoded *found = NULL;
            for (uint32_t i = 0; i < chunk_column_count(v); i++)
                if (text_eq(d[i].c.path, trace_field_path(maker_scanner, e.values[k].field)))
                    found = &d[i];
            wrong += !found || !same(v, found, row, &e.values[k]);
        }
        for (uint32_t i = 0; i < chunk_column_count(v); i++) {
            if (text_eq(d[i].c.path, TEXT("@gap")))
                place += (uint32_t)d[i].i[row];
            if (text_eq(d[i].c.path, TEXT("@class")))
                wrong += d[i].i[row] != e.class;
        }
        wrong += place != e.offset;
        place += e.len;
    }
    wrong += row != chunk_rows(v);
    for (uint32_t i = 0; i < chunk_column_count(v); i++) {
        struct text p = d[i].c.path;
        if (p.ptr[0] != '@' && !text_eq(p, TEXT("size")) && !text_eq(p, TEXT("bytes")))
            wrong += d[i].seen != d[i].c.rows - d[i].c.nulls;
        free(d[i].i);
        free(d[i].d);
        free(d[i].code);
        free(d[i].valid);
    }
    free(d);
    return wrong;
}

static struct {
    uint64_t rows, bytes, text;
    double build, scan;
} total;

static double time_to_scan(const struct trace_chunk *chunk)
{
    struct trace_event e;
    double t = seconds();

    trace_scan_begin(maker_scanner, chunk->text, chunk->len, TRACE_US);
    while (trace_scan_next(maker_scanner, &e) == 1)
        ;
    return seconds() - t;
}

static void tell_columns(struct chunk_view *v, const struct buf *value)
{
    for (uint32_t i = 0; i < chunk_column_count(v); i++) {
        struct column c;
        chunk_column(v, i, &c);
        const struct column_dir *d = c.opaque;
        printf("    %-20.*s type %u nulls %6u entries %5u values %6u (kind %u) ids %5u texts %6u "
               "filter %u\n",
               (int)c.path.len, c.path.ptr, c.type, c.nulls, c.entries, d->values.len,
               value->data[d->values.offset], d->ids.len, d->lens.len + d->bytes.len,
               d->filter.len);
    }
}

static void one_chunk(const char *path, const struct trace_chunk *chunk)
{
    struct buf value = {0};
    struct chunk_built built;

    total.scan += time_to_scan(chunk);
    double t = seconds();
    maker_build(chunk->text, chunk->len, &value, &built);
    total.build += seconds() - t;
    total.rows += built.rows;
    total.bytes += value.len;
    total.text += chunk->len;
    struct chunk_view *v = maker_view(&value);
    if (getenv("NO_COMPARE") == NULL) {
        if (!CHECK_INT(compare(v, chunk->text, chunk->len, TRACE_US), 0))
            printf("  %s chunk %u\n", path, (unsigned)chunk->number);
        CHECK_INT(chunk_view_check(v), 0);
    }
    if (getenv("COLUMNS_OF") && strstr(path, getenv("COLUMNS_OF")))
        tell_columns(v, &value);
    chunk_view_free(v);
    buf_done(&value);
}

static void one_trace(const char *path)
{
    maker_each_chunk(path, one_chunk);
}

static void real_traces(void)
{
    maker_begin();
    if (!each_trace(one_trace))
        check_skip("no traces");
    else
        printf("  %" PRIu64 " objects, %.2f bytes each (text %.0f), build %.1f ns each, scan alone "
               "%.1f ns\n",
               total.rows, (double)total.bytes / (double)total.rows,
               (double)total.text / (double)total.rows,
               (total.build - total.scan) * 1e9 / (double)total.rows,
               total.scan * 1e9 / (double)total.rows);
    maker_end();
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void repair_hash(struct buf *value)
{
    struct chunk_head head;

    memcpy(&head, value->data, sizeof(head));
    if (head.dir_len > value->len - sizeof(head))
        return;
    head.dir_hash = 0;
    head.dir_hash = chunk_hash(&head, value->data + sizeof(head));
    memcpy(value->data, &head, sizeof(head));
}

static void build_varied(struct buf *value)
{
    struct buf lines = {0};
    struct chunk_built built;

    for (unsigned i = 0; i < 2500; i++)
        buf_printf(&lines,
                   "{\"name\":\"n%u\",\"cat\":\"POSIX\",\"pid\":%u,\"tid\":3,\"ts\":%u.5,\"args\":{"
                   "\"fhash\":%u,\"%s\":%u,\"m\":%s,"
                   "\"t\":\"text %u\"}}\n",
                   i % 9, 1000 + i % 70, i * 40 + i % 7, i * 7 % 500, i % 3 ? "ret" : "off",
                   i % 1000, i % 5 ? "1" : "\"one\"", i);
    buf_putc(&lines, 0);
    chunk_view_free(maker_view_of(lines.data, value, &built));
    buf_done(&lines);
}

static void damage(void)
{
    /* Checksums would find nearly all of it. */
    const struct chunk_texts texts = {maker_chunk_texts.text, NULL, true, NULL, NULL};
    struct buf value = {0};
    uint64_t state = 12345;

    maker_begin();
    build_varied(&value);
    for (unsigned round = 0; round < check_count(6000, 1500); round++) {
        struct chunk_view *v;
        struct buf bad = {malloc(value.len), value.len, value.len, 0};
        memcpy(bad.data, value.data, value.len);
        for (unsigned k = 0; k < 1 + round % 3; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size_t range = round % 2 ? value.len : 1500;
            bad.data[(state >> 33) % range] = (char)(state >> 20);
        }
        repair_hash(&bad);
        if (chunk_view_new(bad.data, round % 7 ? bad.len : bad.len / 2, &texts, &v) == 0) {
            struct column c;
            chunk_view_check(v);
            if (chunk_find(v, TEXT("name"), &c) == 0)
                chunk_may_have(v, &c, 5);
            chunk_view_free(v);
        }
        free(bad.data);
    }
    buf_done(&value);
    maker_end();
}

static bool within(size_t at, const struct section *s)
{
    return s->len > 0 && at >= s->offset && at < s->offset + s->len;
}

/* All but what fills the space between sections. */
static bool has_checksum(const struct buf *value, size_t at)
{
    struct chunk_head head;
    bool found;

    memcpy(&head, value->data, sizeof(head));
    found = at < sizeof(head) + head.dir_len || within(at, &head.density);
    const char *dir = value->data + sizeof(head);
    for (unsigned i = 0; i < head.columns; i++) {
        struct column_dir d;
        memcpy(&d, dir + i * sizeof(d), sizeof(d));
        struct section body = column_body(&d);
        found = found || within(at, &body) || within(at, &d.filter);
    }
    for (unsigned i = 0; i < head.bitmaps; i++) {
        struct bitmap_dir b;
        memcpy(&b, dir + head.columns * sizeof(struct column_dir) + i * sizeof(b), sizeof(b));
        found = found || within(at, &b.section);
    }
    return found;
}

static void flipped_bits(void)
{
    struct buf value = {0};
    uint64_t state = 54321;
    unsigned found = 0;

    maker_begin();
    build_varied(&value);
    for (unsigned round = 0; round < check_count(20000, 2000); round++) {
        struct chunk_view *v;
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t at = (state >> 33) % (round % 2 ? value.len : 4000);
        char bit = (char)(1 << (state >> 29 & 7));
        value.data[at] ^= bit;
        int rc = chunk_view_new(value.data, value.len, &maker_chunk_texts, &v);
        if (rc == 0) {
            rc = chunk_view_check(v);
            chunk_view_free(v);
        }
        value.data[at] ^= bit;
        if (!CHECK_INT(rc, has_checksum(&value, at) ? ERR_CORRUPT : 0))
            printf("  at %zu\n", at);
        found += rc == ERR_CORRUPT;
    }
    CHECK(found > 1500);
    buf_done(&value);
    maker_end();
}

/* ---- members in any order -------------------------------------------------------------------- */

enum { MEMBERS = 5, ORDERS = 120, LINES = 4 * ORDERS };

/* The members of line i, in the order number i % ORDERS; the value of a member says which it is. */
static void put_members(struct buf *b, int i)
{
    static const char *const names[MEMBERS] = {"ret", "offset", "count", "image_idx", "epoch"};
    int left[MEMBERS] = {0, 1, 2, 3, 4}, order = i % ORDERS;

    buf_printf(b, "{\"name\":\"read\",\"ph\":\"X\",\"ts\":%d,\"dur\":1,\"args\":{", i);
    for (int n = MEMBERS; n > 0; n--) {
        int at = order % n, member = left[at];
        order /= n;
        buf_printf(b, "\"%s\":%d%s", names[member], (member + 1) * 100000 + i,
                   n > 1 ? "," : "}}\n");
        memmove(&left[at], &left[at + 1], (size_t)(MEMBERS - 1 - at) * sizeof(*left));
    }
}

/* Shapes that differ in the order of members alone are different ones. Each comes several times,
 * for a scanner knows it from the second time on. */
static void members_in_any_order(void)
{
    static const char *const paths[MEMBERS] = {"args.ret", "args.offset", "args.count",
                                               "args.image_idx", "args.epoch"};
    struct buf text = {0}, value = {0};
    struct chunk_built built;
    char want[32];
    int wrong = 0;

    maker_begin();
    for (int i = 0; i < LINES; i++)
        put_members(&text, i);
    size_t len = text.len;
    buf_append(&text, (char[64]){0}, 64);
    maker_build(text.data, len, &value, &built);
    struct chunk_view *v = maker_view(&value);
    CHECK_INT(chunk_rows(v), LINES);
    for (uint32_t i = 0; i < LINES; i++) {
        for (int member = 0; member < MEMBERS; member++) {
            snprintf(want, sizeof(want), "int %d", (member + 1) * 100000 + (int)i);
            wrong += strcmp(words(v, paths[member], i), want) != 0;
        }
    }
    CHECK_INT(wrong, 0);
    chunk_view_free(v);
    buf_done(&text);
    buf_done(&value);
    maker_end();
}

static const struct check_test tests[] = {
    {"empty_chunk", empty_chunk},
    {"members_in_any_order", members_in_any_order},
    {"types_of_columns", types_of_columns},
    {"times_that_do_not_fit", times_that_do_not_fit},
    {"without_memory", without_memory},
    {"null_patterns", null_patterns},
    {"nulls_read_as_zero", nulls_read_as_zero},
    {"too_many_paths", too_many_paths},
    {"pruning", pruning},
    {"refused_texts_stay", refused_texts_stay},
    {"real_traces", real_traces},
    {"damage", damage},
    {"flipped_bits", flipped_bits},
    {NULL, NULL},
};
CHECK_MAIN(tests)
