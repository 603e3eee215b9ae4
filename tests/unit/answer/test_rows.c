/* module: answer */
/* Flat rows: any columns, in order of file or time, in batches. */
#include "dftracerd/query.h"
#include "dftracerd/rows.h"
#include "query_store.h"

static void put_value(struct buf *out, const struct value *v)
{
    char text[64];

    switch (v->type) {
    case VALUE_NULL:
        buf_putc(out, '-');
        break;
    case VALUE_INT:
        buf_printf(out, "%lld", (long long)v->i);
        break;
    case VALUE_TIME:
        buf_append(out, text, num_format_milli128(v->wide, text));
        buf_putc(out, 't');
        break;
    case VALUE_DOUBLE:
        buf_printf(out, "%gd", v->d);
        break;
    case VALUE_BOOL:
        buf_puts(out, v->i ? "true" : "false");
        break;
    case VALUE_TEXT:
        buf_putc(out, '\'');
        buf_text(out, v->text);
        buf_putc(out, '\'');
        break;
    case VALUE_JSON:
        buf_text(out, v->text);
        break;
    default:
        buf_puts(out, "?");
        break;
    }
}

/* The rows as text: columns by blanks, one row a line. */
static char *all_rows(struct store *s, const char *query, const struct rows_options *options,
                      struct err *err)
{
    struct selection selection;
    struct budget budget = {0};
    struct query *q;
    struct rows *r = NULL;
    struct buf out = {0};
    const struct value *values;
    size_t count;

    selection_init(&selection);
    selection.query = text_of(query);
    if (!CHECK_INT(query_open(&s->env, s->snapshot, &selection, &budget, err, &q), 0))
        return NULL;
    int rc = rows_open(q, options, err, &r);
    for (int n = 0; rc == 0; n++) {
        if (n % 3 == 1) { /* what was given so far is told */
            rows_rest(r);
            CHECK(options->order_ts || atomic_load(&budget.memory_used) < 20 << 10);
        }
        rc = rows_next(r, err, &values, &count);
        for (size_t i = 0; rc == 0 && i < count * options->column_count; i++) {
            put_value(&out, &values[i]);
            buf_putc(&out, (i + 1) % options->column_count ? ' ' : '\n');
        }
    }
    CHECK_INT(rc, ERR_END);
    rows_close(r);
    query_close(q);
    CHECK_INT(budget.memory_used, 0);
    return buf_steal(&out, NULL);
}

static void check_rows(struct store *s, const char *query, struct rows_options options,
                       const char *expected)
{
    struct err err = {0};
    if (options.limit == 0)
        options.limit = UINT64_MAX;
    char *got = all_rows(s, query, &options, &err);

    CHECK_STR(got, expected);
    free(got);
    err_done(&err);
}

#define COLUMNS(...) \
    .columns = (const char *const[]){__VA_ARGS__}, \
    .column_count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

static void every_type(void)
{
    static const char text[] =
        "{\"name\":\"HH\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"node\",\"value\":\"h\"}}\n"
        "{\"name\":\"read\",\"cat\":\"POSIX\",\"ph\":\"X\",\"pid\":1,\"ts\":10,\"dur\":2,"
        "\"args\":{\"hhash\":\"h\",\"ret\":4,\"flag\":true,\"mix\":\"a\",\"list\":[1,2],\"f\":0.5}}"
        "\n"
        "{\"name\":\"read\",\"cat\":\"POSIX\",\"ph\":\"X\",\"pid\":2,\"ts\":30,\"dur\":3,"
        "\"args\":{\"ret\":-1,\"flag\":false,\"mix\":7}}\n"
        "{\"name\":\"x\",\"ph\":\"C\",\"ts\":20,\"args\":{\"mix\":1.5}}\n";
    struct store s;

    CHECK_STOP(store_begin(&s));
    store_file(&s, "d/t.pfw", text, sizeof(text) - 1);
    CHECK_STOP(store_ingest(&s, 0, 2));
    check_rows(&s, "",
               (struct rows_options){COLUMNS("name", "ts", "dur", "te", "pid", "ret", "size")},
               "'read' 10t 2t 12t 1 4 4\n'read' 30t 3t 33t 2 -1 -\n'x' 20t - 20t - - -\n");
    check_rows(
        &s, "",
        (struct rows_options){COLUMNS("args.flag", "mix", "list", "f", "host", "trace", "nothing")},
        "true 'a' [1,2] 0.5d 'node' 'd/t.pfw' -\nfalse 7 - - - 'd/t.pfw' -\n- 1.5d - - - 'd/t.pfw' "
        "-\n");
    check_rows(&s, "", (struct rows_options){COLUMNS("ts"), .order_ts = true}, "10t\n20t\n30t\n");
    check_rows(&s, "",
               (struct rows_options){COLUMNS("ts"), .order_ts = true, .offset = 1, .limit = 1},
               "20t\n");
    check_rows(&s, "", (struct rows_options){COLUMNS("ts", "ts"), .offset = 2}, "20t 20t\n");
    check_rows(&s, "pid == 3", (struct rows_options){COLUMNS("ts")}, "");
    store_end(&s);
}

enum { LINES = 9000 / (1 + CHECK_THREADS_ONLY), FILES = 3 };

static void write_files(struct store *s)
{
    char name[8];

    for (unsigned f = 0; f < FILES; f++) {
        struct buf text = {0};
        for (unsigned i = 0; i < LINES; i++)
            buf_printf(
                &text,
                "{\"name\":\"unique-%u-%u\",\"ph\":\"X\",\"pid\":%u,\"ts\":%u%s,\"dur\":%u}\n", f,
                i, f, i * 10 + f + (i % 5 == 0 ? 33 : 0), f == 1 ? ".5" : "", i);
        snprintf(name, sizeof(name), "%u.pfw", f);
        store_file(s, name, text.data, text.len);
        buf_done(&text);
    }
}

/* Texts that are all different are copied, a batch at a time. */
static void many_rows(void)
{
    struct store s;
    struct rows_options options = {COLUMNS("pid", "name", "dur"), .limit = UINT64_MAX};

    for (unsigned threads = 1; threads <= 4; threads += 3) {
        CHECK_STOP(store_begin(&s));
        write_files(&s);
        CHECK_STOP(store_ingest(&s, 64 << 10, threads));
        struct buf expected = {0};
        for (unsigned f = 0; f < FILES; f++) {
            for (unsigned i = 0; i < LINES; i++)
                buf_printf(&expected, "%u 'unique-%u-%u' %ut\n", f, f, i, i);
        }
        buf_putc(&expected, '\0');
        struct err err = {0};
        char *got = all_rows(&s, "", &options, &err);
        CHECK(got && strcmp(got, expected.data) == 0);
        free(got);
        buf_done(&expected);
        store_end(&s);
    }
}

static void many_rows_by_time(void)
{
    struct rows_options options = {COLUMNS("ts", "pid", "dur"), .limit = UINT64_MAX,
                                   .order_ts = true};
    struct store s;
    struct err err = {0};
    double last = 0;
    unsigned rows = 0;

    CHECK_STOP(store_begin(&s));
    write_files(&s);
    CHECK_STOP(store_ingest(&s, 64 << 10, 3));
    char *got = all_rows(&s, "", &options, &err);
    CHECK_STOP(got);
    for (char *line = got; *line; line = strchr(line, '\n') + 1, rows++) {
        double ts = strtod(line, NULL);
        CHECK(ts >= last);
        last = ts;
    }
    CHECK_INT(rows, LINES * FILES);
    free(got);
    store_end(&s);
}

static const struct check_test tests[] = {
    {"every_type", every_type},
    {"many_rows", many_rows},
    {"many_rows_by_time", many_rows_by_time},
    {NULL, NULL},
};
CHECK_MAIN(tests)
