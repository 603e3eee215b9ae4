/* module: column */
/* test_density.c - densities of chunks against the same counted row by row: real traces, and traces
 * made to be unusual. */
#include "column/chunk/density.h"
#include "chunk_maker.h"

/* ---- rows, one after the other --------------------------------------------------------------- */

struct row {
    char key[DENSITY_SETS][512]; /* all that tuples are made of, in words */
    bool has_ts, metadata;
    int64_t ts, dur;
};

static bool number_of(struct chunk_view *v, const char *path, uint32_t row, int64_t *ret)
{
    int64_t values[PACK_BLOCK];
    uint64_t valid[PACK_BLOCK / 64];
    struct column c;
    uint32_t first = row / PACK_BLOCK * PACK_BLOCK;
    uint32_t n = chunk_rows(v) - first < PACK_BLOCK ? chunk_rows(v) - first : PACK_BLOCK;

    if (chunk_find(v, text_of(path), &c) < 0 || c.type == COLUMN_TEXT || c.type == COLUMN_MIXED)
        return false;
    CHECK_INT(column_read_i64(v, &c, first, n, values), 0);
    memset(valid, 0xFF, sizeof(valid));
    if (c.nulls)
        CHECK_INT(column_read_valid(v, &c, first, n, valid), 0);
    *ret = values[row % PACK_BLOCK] * (c.type == COLUMN_TIME && !c.nano ? 1000 : 1);
    return valid[row % PACK_BLOCK / 64] >> row % 64 & 1;
}

static void add_words(struct chunk_view *v, const char *path, uint32_t row, char key[512])
{
    size_t len = strlen(key), room = 512 - len;
    uint32_t code;
    uint64_t valid;
    struct column_entry e;
    struct column c;
    int64_t number = 0;

    if (chunk_find(v, text_of(path), &c) < 0)
        snprintf(key + len, room, "-|");
    else if (c.entries == 0 && number_of(v, path, row, &number))
        snprintf(key + len, room, "%" PRId64 "|", number);
    else if (c.entries == 0)
        snprintf(key + len, room, "-|");
    else {
        CHECK_INT(column_pick_codes(v, &c, &row, 1, &code), 0);
        CHECK_INT(column_pick_valid(v, &c, &row, 1, &valid), 0);
        CHECK_INT(column_entry(v, &c, code, &e), 0);
        if (!(valid & 1))
            snprintf(key + len, room, "-|");
        else if (e.type == TRACE_INT)
            snprintf(key + len, room, "%" PRId64 "|", e.i);
        else
            snprintf(key + len, room, "\"%.*s\"|", (int)e.text.len, e.text.ptr);
    }
}

static void read_row(struct chunk_view *v, uint32_t row, struct row *r)
{
    static const char *const paths[] = {"@class", "args.hhash", "args.hostname",
                                        "pid",    "tid",        "cat"};
    int64_t class;

    memset(r, 0, sizeof(*r));
    for (unsigned i = 0; i < 6; i++)
        add_words(v, paths[i], row, r->key[DENSITY_BY_CAT]);
    memcpy(r->key[DENSITY_BY_NAME], r->key[DENSITY_BY_CAT], sizeof(r->key[0]));
    add_words(v, "name", row, r->key[DENSITY_BY_NAME]);
    r->has_ts = number_of(v, "ts", row, &r->ts);
    if (!number_of(v, "dur", row, &r->dur))
        r->dur = 0;
    r->metadata = number_of(v, "@class", row, &class) && class == TRACE_METADATA;
}

/* ---- what is expected ------------------------------------------------------------------------ */

struct cell {
    uint64_t begins;
    int64_t delta, moment;
};
/* By "number of the cell of tuple". */
struct expected {
    struct intern *names;
    struct cell *cells;
    size_t cap;
};

static struct cell *int_moments_of(struct expected *x, int64_t number, const char *key)
{
    char name[600];

    snprintf(name, sizeof(name), "%" PRId64 " of %s", number, key);
    int64_t id = intern_add(x->names, text_of(name));
    if ((size_t)id >= x->cap) {
        size_t cap = ((size_t)id + 1) * 2;
        x->cells = realloc(x->cells, cap * sizeof(*x->cells));
        memset(x->cells + x->cap, 0, (cap - x->cap) * sizeof(*x->cells));
        x->cap = cap;
    }
    return &x->cells[id];
}

static void expect(struct expected *x, const struct row *rows, uint32_t n, unsigned set,
                   unsigned shift)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!rows[i].has_ts)
            continue;
        int64_t begin = rows[i].ts >> shift, te = rows[i].ts + rows[i].dur, end = te >> shift;
        struct cell *c = int_moments_of(x, begin, rows[i].key[set]);
        c->begins++;
        c->delta++;
        c->moment -= rows[i].ts - (begin << shift);
        c = int_moments_of(x, end, rows[i].key[set]);
        c->delta--;
        c->moment += te - (end << shift);
    }
}

static void compare_level(struct chunk_view *v, const struct density_set *d, unsigned set,
                          unsigned level, const struct row *rows)
{
    struct expected x = {.names = intern_new()};
    unsigned shift = d->level[level].shift, bits = d->level[level].bits;
    struct density_cells *got = malloc(sizeof(*got));
    uint32_t wrong = 0, cells = d->level[level].cells;
    const uint32_t *of_tuple;

    CHECK_INT(density_rows(v, set, &of_tuple), 0);
    expect(&x, rows, chunk_rows(v), set, shift);
    CHECK_INT(cells, intern_count(x.names));
    for (uint32_t i = 0; i < cells; i++) {
        uint32_t k = i % DENSITY_BLOCK;
        if (k == 0)
            CHECK_INT(density_read(v, set, level, i, got), 0);
        int64_t number = d->level[level].base + (got->key[k] & (((int64_t)1 << bits) - 1));
        const struct cell *c =
            int_moments_of(&x, number, rows[of_tuple[got->key[k] >> bits]].key[set]);
        wrong += (int64_t)c->begins != got->begins[k] || c->delta != got->delta[k] ||
                 c->moment != got->moment[k];
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(intern_count(x.names), cells);
    free(got);
    free(x.cells);
    intern_free(x.names);
}

static int by_length(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    return (x->dur < y->dur) - (x->dur > y->dur);
}

/* The listed ones are as long as any; no other is longer than rest_dur. */
static void compare_longest(const struct density *d, const struct row *rows, uint32_t n)
{
    struct row *sorted = malloc(n * sizeof(*sorted));
    int64_t sum = 0;
    uint32_t timed = 0;

    for (uint32_t i = 0; i < n; i++)
        if (rows[i].has_ts)
            sorted[timed++] = rows[i];
    qsort(sorted, timed, sizeof(*sorted), by_length);
    CHECK_INT(d->longest_count, timed < DENSITY_LONGEST ? timed : DENSITY_LONGEST);
    for (uint32_t i = 0; i < d->longest_count; i++) {
        sum += rows[d->longest[i]].dur - sorted[i].dur;
        CHECK_INT(d->longest_dur[i], rows[d->longest[i]].dur);
    }
    CHECK_INT(sum, 0);
    CHECK_INT(d->rest_dur, timed > DENSITY_LONGEST ? sorted[DENSITY_LONGEST].dur : INT64_MIN);
    free(sorted);
}

/* Returns whether the chunk has a density. */
static bool compare(struct chunk_view *v)
{
    uint32_t n = chunk_rows(v);
    struct row *rows = malloc((n + 1ul) * sizeof(*rows));
    struct density d;
    int rc = chunk_density(v, &d);
    int64_t min = INT64_MAX, max = INT64_MIN;

    for (uint32_t i = 0; i < n; i++) {
        read_row(v, i, &rows[i]);
        if (rows[i].has_ts && rows[i].ts < min)
            min = rows[i].ts;
        if (rows[i].has_ts && rows[i].ts + rows[i].dur > max)
            max = rows[i].ts + rows[i].dur;
    }
    if (rc == 0) {
        CHECK_INT(d.min_ts, min);
        CHECK_INT(d.max_te, max);
        for (unsigned set = 0; set < DENSITY_SETS; set++)
            for (unsigned i = 0; i < d.set[set].levels; i++)
                compare_level(v, &d.set[set], set, i, rows);
        CHECK(d.set[DENSITY_BY_CAT].levels > 0 && d.set[DENSITY_BY_CAT].level[0].cells <= n / 2);
        compare_longest(&d, rows, n);
    } else
        CHECK_INT(rc, -ENOENT);
    free(rows);
    return rc == 0;
}

/* ---- made traces ----------------------------------------------------------------------------- */

static uint64_t seed;

static uint64_t any(uint64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

struct made {
    const char *what;
    unsigned rows, names, tids;
    bool backwards, metadata, nulls, nano;
    bool apart;        /* every other time is 0 */
    bool mixed;        /* host names: numbers and one text */
    int64_t step, dur; /* us, at most */
    bool has;          /* a density is expected */
};

static void write_made(const struct made *m, struct buf *out)
{
    int64_t ts = 1700000000000000;

    for (unsigned i = 0; i < m->rows; i++) {
        ts += (m->backwards ? -1 : 1) * (int64_t)any((uint64_t)m->step + 1);
        if (m->apart)
            ts = i % 2 ? 0 : 2300000000000000;
        if (m->metadata && any(10) == 0) {
            buf_printf(out,
                       "{\"id\":%u,\"name\":\"FH\",\"cat\":\"dftracer\",\"pid\":1,\"tid\":2,\"ph\":"
                       "\"M\",\"args\":{\"name\":\"f%u\",\"value\":\"%u\"}}\n",
                       i, i, i);
            continue;
        }
        buf_printf(out, "{\"id\":%u,\"name\":\"call%u\",\"cat\":\"c%u\",\"pid\":77,", i,
                   (unsigned)any(m->names), (unsigned)any(3));
        if (!m->nulls || any(4) > 0)
            buf_printf(out, "\"tid\":%u,", (unsigned)any(m->tids) * 1000000);
        if (!m->nulls || any(4) > 0)
            buf_printf(out, "\"dur\":%u%s,",
                       (unsigned)any((uint64_t)m->dur + 1) * (any(500) ? 1 : 1000),
                       m->nano ? ".125" : "");
        buf_printf(out, "\"ts\":%" PRId64 ",\"ph\":\"X\",\"args\":{\"hhash\":\"%u\"", ts,
                   (unsigned)any(2));
        if (m->mixed)
            buf_puts(out, any(2) ? ",\"hostname\":5" : ",\"hostname\":\"main\"");
        buf_puts(out, "}}\n");
    }
}

static void made_traces(void)
{
    static const struct made all[] = {
        {"usual", 20000, 10, 4, .step = 100, .dur = 50, .has = true},
        {"one name", 5000, 1, 1, .step = 3, .dur = 500, .has = true},
        {"many names", 20000, 20, 9, .step = 100, .dur = 1000, .has = true},
        {"nulls", 9000, 10, 6, .nulls = true, .step = 1000, .dur = 9000, .has = true},
        {"metadata", 9000, 10, 4, .metadata = true, .step = 10, .dur = 9, .has = true},
        {"backwards", 9000, 10, 4, .backwards = true, .step = 10, .dur = 100000, .has = true},
        {"at once", 9000, 20, 9, .step = 0, .dur = 5000, .has = true},
        {"at once, no length", 9000, 20, 9, .step = 0, .dur = 0, .has = false},
        {"hours", 3000, 2, 2, .step = 10000000, .dur = 100000000, .has = true},
        {"ns", 9000, 5, 4, .nano = true, .step = 10, .dur = 100, .has = true},
        {"no second set", 20000, 9000, 9, .step = 10, .dur = 100, .has = true},
        {"all different", 9000, 9, 9000, .step = 10, .dur = 100, .has = false},
        {"mixed", 20000, 2, 4, .mixed = true, .step = 100, .dur = 50, .has = false},
        {"far apart", 9000, 9, 9, .apart = true, .has = false},
        {"small", DENSITY_ROWS_MIN - 1, 2, 2, .step = 10, .dur = 100, .has = false},
    };

    maker_begin();
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct buf text = {0}, value = {0};
        int before = check_failures;
        seed = 11 + i;
        write_made(&all[i], &text);
        size_t len = text.len;
        memset(buf_reserve(&text, 64), 0, 64);
        maker_build(text.data, len, &value, NULL);
        struct chunk_view *v = maker_view(&value);
        CHECK_INT(compare(v), all[i].has);
        CHECK_INT(chunk_view_check(v), 0);
        if (check_failures > before)
            printf("  %s\n", all[i].what);
        chunk_view_free(v);
        buf_done(&text);
        buf_done(&value);
    }
    maker_end();
}

/* ---- real traces ----------------------------------------------------------------------------- */

static struct {
    uint64_t files, with;
} seen;

static void one_chunk(const char *path, const struct trace_chunk *chunk)
{
    struct buf value = {0};
    int before = check_failures;

    maker_build(chunk->text, chunk->len, &value, NULL);
    struct chunk_view *v = maker_view(&value);
    if (chunk_rows(v) >= DENSITY_ROWS_MIN)
        seen.with += compare(v);
    if (check_failures > before)
        printf("  %s chunk %u\n", path, (unsigned)chunk->number);
    chunk_view_free(v);
    buf_done(&value);
}

static void every_third(const char *path)
{
    if (seen.files++ % check_step(24, 8) == 0)
        maker_each_chunk(path, one_chunk);
}

static void real_traces(void)
{
    maker_begin();
    if (!each_trace(every_third))
        check_skip("no traces");
    else
        CHECK(seen.with > 0);
    maker_end();
}

static const struct check_test tests[] = {
    {"made_traces", made_traces},
    {"real_traces", real_traces},
    {NULL, NULL},
};
CHECK_MAIN(tests)
