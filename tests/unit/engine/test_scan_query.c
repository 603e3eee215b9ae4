/* module: engine; threads, paths */
/* Random predicates over several files of several chunks: what the scan selects, with pruning and
 * without, with one thread and with many, equals an evaluation row by row that is written here,
 * without columns.
 */
#include "query_store.h"
#include "engine/plan/plan.h"
#include "engine/scan/scan.h"

enum { FILES = 3, ROWS = 2500, QUERIES = 600, CHUNK = 65536 };

static uint64_t seed = 88172645463325252u;

static uint32_t random_below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 11) % n);
}

static bool one_in(uint32_t n)
{
    return random_below(n) == 0;
}

/* ---- rows as we mean them -------------------------------------------------------------------- */

/* A value: no value, an integer, a double, a bool, or a text. Times are integers in nanoseconds. */
struct cell {
    enum { NONE, INTEGER, REAL, BOOLEAN, STRING } type;
    int64_t i;
    double d;
    char text[24];
};
enum field {
    NAME,
    CAT,
    PID,
    TID,
    TS,
    DUR,
    RET,
    MIXED,
    SCORE,
    FLAG,
    UNIQUE,
    HOST,
    FILE_,
    TE,
    TRACE,
    FIELDS
};
static const char *const field_names[FIELDS] = {"name", "cat",  "pid",  "tid",   "ts",
                                                "dur",  "ret",  "mix",  "score", "flag",
                                                "uniq", "host", "file", "te",    "trace"};
struct row {
    struct cell cell[FIELDS];
};
static struct row rows[FILES][ROWS];
static struct store store;

static struct cell integer(int64_t i)
{
    return (struct cell){.type = INTEGER, .i = i};
}

static struct cell string(const char *prefix, uint32_t n)
{
    struct cell c = {.type = STRING};

    snprintf(c.text, sizeof(c.text), "%s%u", prefix, n);
    return c;
}

static struct cell random_mixed(void)
{
    struct cell c = {NONE};

    switch (random_below(6)) {
    case 0:
        return c;
    case 1:
        return integer(random_below(6));
    case 2:
        c.type = REAL;
        c.d = random_below(12) / 2.0 + 0.25;
        return c;
    case 3:
        c.type = BOOLEAN;
        c.i = one_in(2);
        return c;
    default:
        return string("m", random_below(8));
    }
}

static const char *print_micro(int64_t ns)
{
    static char text[4][32];
    static unsigned at;
    char *out = text[at++ % 4];

    out[num_format_milli(ns, out)] = '\0';
    return out;
}

static void print_member(struct buf *b, const char *name, const struct cell *c)
{
    char digits[40];

    if (c->type == NONE)
        return;
    buf_printf(b, ",\"%s\":", name);
    if (c->type == INTEGER)
        buf_printf(b, "%lld", (long long)c->i);
    else if (c->type == REAL)
        buf_append(b, digits, num_format_double(c->d, digits));
    else if (c->type == BOOLEAN)
        buf_puts(b, c->i ? "true" : "false");
    else
        buf_printf(b, "\"%s\"", c->text);
}

/* Files differ: 0 has whole microseconds and one host; 1 fractions and hashes without names; 2 old
 * names, no hashes. */
static void make_row(unsigned file, unsigned n, struct row *r, struct buf *b)
{
    struct cell *c = r->cell;
    bool nano = file == 1 && n > ROWS / 2, is_x = !one_in(5);
    unsigned phase = n / 400; /* values change along the file, so that chunks differ */

    c[NAME] = string("op", random_below(4) + phase);
    c[CAT] = one_in(9) ? (struct cell){NONE} : string("C", random_below(2) + phase / 3);
    c[PID] = integer(1000 + file * 3 + random_below(3));
    c[TID] = one_in(20) ? (struct cell){NONE} : integer(random_below(100000));
    c[TS] =
        one_in(30)
            ? (struct cell){NONE}
            : integer(((int64_t)file * 1000000 + n * 100) * 1000 + (nano ? random_below(1000) : 0));
    bool has_dur = !one_in(6);
    c[DUR] = has_dur ? integer((int64_t)random_below(phase * 100 + 50) * 1000 +
                               (nano ? random_below(1000) : 0))
             : is_x  ? integer(0)
                     : (struct cell){NONE};
    c[RET] = one_in(3) ? (struct cell){NONE} : integer((int64_t)random_below(2000) - 100);
    c[MIXED] = random_mixed();
    c[SCORE] =
        one_in(4) ? (struct cell){NONE} : (struct cell){.type = REAL, .d = random_below(40) / 4.0};
    c[FLAG] = one_in(2) ? (struct cell){NONE}
                        : (struct cell){.type = BOOLEAN, .i = phase < 4 ? one_in(2) : 1};
    c[UNIQUE] = string("u", n * 7 % 5000);
    c[TE] = c[TS];
    if (c[TS].type && c[DUR].type)
        c[TE].i += c[DUR].i;
    c[TRACE] = string("t", file);
    strcat(c[TRACE].text, ".pfw");
    buf_printf(b, "{\"ph\":\"%s\"", is_x ? "X" : "i");
    print_member(b, "name", &c[NAME]);
    print_member(b, "cat", &c[CAT]);
    print_member(b, "pid", &c[PID]);
    print_member(b, "tid", &c[TID]);
    if (c[TS].type)
        buf_printf(b, ",\"ts\":%s", print_micro(c[TS].i));
    if (has_dur)
        buf_printf(b, ",\"dur\":%s", print_micro(c[DUR].i));
    buf_printf(b, ",\"args\":{\"n\":%u", n);
    print_member(b, "ret", &c[RET]);
    print_member(b, "mix", &c[MIXED]);
    print_member(b, "score", &c[SCORE]);
    print_member(b, "flag", &c[FLAG]);
    print_member(b, "uniq", &c[UNIQUE]);
    uint32_t host = random_below(3), path = random_below(40);
    if (file < 2) {
        c[HOST] = string(file == 0 && host < 2 ? "node" : "h", host);
        buf_printf(b, ",\"hhash\":\"h%u\"", host);
    } else {
        c[HOST] = one_in(2) ? string("login", host) : (struct cell){NONE};
        print_member(b, "hostname", &c[HOST]);
    }
    c[FILE_] = one_in(3) ? (struct cell){NONE} : string(file == 0 ? "/data/" : "f", path);
    if (c[FILE_].type && file < 2)
        buf_printf(b, ",\"fhash\":\"f%u\"", path);
    else
        print_member(b, one_in(2) ? "fname" : "path", &c[FILE_]);
    buf_puts(b, "}}\n");
}

static void make_file(unsigned file)
{
    struct buf b = {0};
    char name[32];

    for (unsigned i = 0; i < 40 && file == 0; i++) {
        if (i < 2)
            buf_printf(
                &b,
                "{\"name\":\"HH\",\"ph\":\"M\",\"args\":{\"name\":\"node%u\",\"value\":\"h%u\"}}\n",
                i, i);
        buf_printf(
            &b,
            "{\"name\":\"FH\",\"ph\":\"M\",\"args\":{\"name\":\"/data/%u\",\"value\":\"f%u\"}}\n",
            i, i);
    }
    for (unsigned n = 0; n < ROWS; n++)
        make_row(file, n, &rows[file][n], &b);
    snprintf(name, sizeof(name), "t%u.pfw", file);
    store_file(&store, name, b.data, b.len);
    buf_done(&b);
}

/* What other files know of a hash, if they agree: file 1 has none of its own. */
static void resolve_file_1(void)
{
    for (unsigned n = 0; n < ROWS; n++) {
        struct cell *host = &rows[1][n].cell[HOST], *path = &rows[1][n].cell[FILE_];
        if (host->type && (host->text[1] == '0' || host->text[1] == '1'))
            *host = string("node", (uint32_t)(host->text[1] - '0'));
        if (path->type)
            *path = string("/data/", (uint32_t)atoi(path->text + 1));
    }
    /* A pid has one host in file 2 only by chance: an object without hostname takes it then. */
    for (int64_t pid = 1000; pid < 1020; pid++) {
        struct cell only = {NONE};
        bool several = false;
        for (unsigned n = 0; n < ROWS; n++) {
            const struct cell *c = rows[2][n].cell;
            if (c[PID].i != pid || !c[HOST].type)
                continue;
            several = several || (only.type && strcmp(only.text, c[HOST].text) != 0);
            only = c[HOST];
        }
        for (unsigned n = 0; n < ROWS && only.type && !several; n++) {
            struct cell *c = rows[2][n].cell;
            if (c[PID].i == pid && !c[HOST].type)
                c[HOST] = only;
        }
    }
}

/* ---- predicates, as text and by value -------------------------------------------------------- */

struct expression {
    enum { AND, OR, NOT, COMPARE, IN, LIKE, MATCH, CONTAINS, IS_NULL } op;
    enum compare compare;
    bool negated;
    enum field field;
    struct cell literal[6];
    unsigned count;
    struct expression *left, *right;
};

static struct cell random_literal(enum field f)
{
    const struct row *r = &rows[random_below(FILES)][random_below(ROWS)];
    struct cell c = r->cell[f];

    if (one_in(12)) /* of some other type */
        c = r->cell[random_below(2) ? NAME : RET];
    if (c.type == INTEGER && f != TS && f != TE && f != DUR && one_in(4)) {
        c.type = REAL;
        c.d = (double)c.i + (one_in(2) ? 0.5 : 0);
    }
    if (c.type == INTEGER && (f == TS || f == TE || f == DUR) && one_in(2))
        c.i = c.i / 1000 * 1000;
    if (c.type == REAL && (f == TS || f == TE || f == DUR))
        c = integer(5000);
    return c.type ? c : integer(3);
}

static struct expression *make_test(void)
{
    struct expression *e = calloc(1, sizeof(*e));

    e->field = (enum field)random_below(FIELDS);
    e->negated = one_in(2);
    e->compare = (enum compare)random_below(6);
    e->op = (int[]){COMPARE, COMPARE, COMPARE, COMPARE, IN, IN, LIKE, MATCH, CONTAINS, IS_NULL}
        [random_below(10)];
    e->count = e->op == IN ? random_below(6) : 1;
    for (unsigned i = 0; i < e->count; i++)
        e->literal[i] = random_literal(e->field);
    if (e->op == LIKE || e->op == MATCH || e->op == CONTAINS)
        e->literal[0] = string("", random_below(10));
    return e;
}

static struct expression *make_expression(unsigned depth)
{
    if (depth == 0 || one_in(3))
        return make_test();
    struct expression *e = calloc(1, sizeof(*e));
    e->op = (int[]){AND, AND, OR, OR, NOT}[random_below(5)];
    e->left = make_expression(depth - 1);
    if (e->op != NOT)
        e->right = make_expression(depth - 1);
    return e;
}

static void free_expression(struct expression *e)
{
    if (!e)
        return;
    free_expression(e->left);
    free_expression(e->right);
    free(e);
}

static void print_cell(struct buf *b, enum field f, const struct cell *c)
{
    char digits[40];

    if (c->type == INTEGER && (f == TS || f == TE || f == DUR))
        buf_puts(b, print_micro(c->i));
    else if (c->type == INTEGER)
        buf_printf(b, "%lld", (long long)c->i);
    else if (c->type == REAL)
        buf_append(b, digits, num_format_double(c->d, digits));
    else if (c->type == BOOLEAN)
        buf_puts(b, c->i ? "true" : "false");
    else
        buf_printf(b, "'%s'", c->text);
}

static void print_test(struct buf *b, const struct expression *e)
{
    static const char *const signs[] = {"==", "!=", "<", "<=", ">", ">="};
    const char *path = field_names[e->field], *not = e->negated ? "not " : "";

    switch (e->op) {
    case COMPARE:
        buf_printf(b, "%s %s ", path, signs[e->compare]);
        print_cell(b, e->field, &e->literal[0]);
        break;
    case IN:
        buf_printf(b, "%s %sin [", path, not );
        for (unsigned i = 0; i < e->count; i++) {
            buf_puts(b, i ? "," : "");
            print_cell(b, e->field, &e->literal[i]);
        }
        buf_puts(b, "]");
        break;
    case LIKE:
        buf_printf(b, "%s %slike '%%%s'", path, not, e->literal[0].text);
        break;
    case MATCH:
        buf_printf(b, "%s %s '%s$'", path, e->negated ? "!~" : "~", e->literal[0].text);
        break;
    case CONTAINS:
        buf_printf(b, "'%s' %sin %s", e->literal[0].text, not, path);
        break;
    default:
        buf_printf(b, "%s is %snull", path, not );
        break;
    }
}

static void print_expression(struct buf *b, const struct expression *e)
{
    if (e->op >= COMPARE) {
        print_test(b, e);
        return;
    }
    buf_puts(b, e->op == NOT ? "not (" : "(");
    print_expression(b, e->left);
    if (e->op != NOT) {
        buf_puts(b, e->op == AND ? " and " : " or ");
        print_expression(b, e->right);
    }
    buf_puts(b, ")");
}

static bool compare_cells(const struct cell *a, const struct cell *l, int *ret)
{
    if (a->type == STRING && l->type == STRING) {
        *ret = strcmp(a->text, l->text);
        return true;
    }
    if (a->type == BOOLEAN && l->type == BOOLEAN) {
        *ret = (int)(a->i - l->i);
        return true;
    }
    if ((a->type != INTEGER && a->type != REAL) || (l->type != INTEGER && l->type != REAL))
        return false;
    long double x = a->type == INTEGER ? (long double)a->i : (long double)a->d;
    long double y = l->type == INTEGER ? (long double)l->i : (long double)l->d;
    *ret = (x > y) - (x < y);
    return true;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool holds(const struct expression *e, const struct row *r)
{
    const struct cell *c = &r->cell[e->field];
    bool found = false;
    int cmp;

    switch (e->op) {
    case AND:
        return holds(e->left, r) && holds(e->right, r);
    case OR:
        return holds(e->left, r) || holds(e->right, r);
    case NOT:
        return !holds(e->left, r);
    case IS_NULL:
        return (c->type == NONE) != e->negated;
    case COMPARE:
        return compare_cells(c, &e->literal[0], &cmp) &&
               (int[]){cmp == 0, cmp != 0, cmp<0, cmp <= 0, cmp> 0, cmp >= 0}[e->compare];
    case IN:
        for (unsigned i = 0; i < e->count; i++)
            found = found || (compare_cells(c, &e->literal[i], &cmp) && cmp == 0);
        return c->type != NONE && found != e->negated;
    default:
        if (c->type != STRING)
            return false;
        found = e->op == CONTAINS ? strstr(c->text, e->literal[0].text) != NULL
                                  : ends_with(c->text, e->literal[0].text);
        return found != e->negated;
    }
}

/* ---- what the scan says ---------------------------------------------------------------------- */

/* One bit a row, by args.n. */
struct answer {
    uint8_t *bits;
    const struct source *number;
    size_t rows;
    pthread_mutex_t lock;
};

static int mark(void *state, struct scan_batch *b)
{
    struct answer *a = state;
    const int64_t *numbers = batch_i64(b, a->number, NULL, NULL);

    pthread_mutex_lock(&a->lock);
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t row = b->select ? b->select[i] : i;
        if (!(b->mask[row / 64] >> row % 64 & 1))
            check_fail(__FILE__, __LINE__, "row %u is selected, its bit is not set", row);
        a->bits[b->chunk->place.file * ROWS + (size_t)numbers[row]] = 1;
    }
    a->rows += b->count;
    pthread_mutex_unlock(&a->lock);
    return 0;
}

static int begin(void *arg, unsigned worker, void **ret)
{
    (void)worker;
    *ret = arg;
    return 0;
}

static size_t order_at;
static int chunk_end(void *state, struct scan_chunk *c, void **ret_part)
{
    (void)state;
    *ret_part = (void *)(uintptr_t)(c->position + 1);
    return 0;
}

static int merge(void *arg, size_t position, void *part, bool failed)
{
    (void)arg;
    CHECK(!failed);
    CHECK((uintptr_t)part == position + 1);
    CHECK(position + 1 > order_at);
    order_at = position + 1;
    return 0;
}

static int scan(const char *text, bool no_pruning, bool threads, struct answer *a,
                struct query_counters *counters)
{
    struct scan_sink sink = {
        .arg = a, .worker_begin = begin, .batch = mark, .chunk_end = chunk_end, .merge = merge};
    sink.gathers = random_below(2);
    struct query_env env = store.env;
    struct selection s;
    struct err err = {0};
    struct query *q;

    memset(a->bits, 0, FILES * ROWS);
    a->rows = 0;
    order_at = 0;
    selection_init(&s);
    s.query = text_of(text);
    if (!threads)
        env.pool = NULL;
    int rc = query_open(&env, store.snapshot, &s, NULL, &err, &q);
    if (rc < 0) {
        check_fail(__FILE__, __LINE__, "%s: %s", text, err.text);
        err_done(&err);
        return rc;
    }
    if (no_pruning)
        query_disable_pruning(q);
    rc = query_source(q, TEXT("n"), &a->number);
    if (rc == 0)
        rc = scan_run(q, &sink, &err);
    query_counters(q, counters);
    CHECK_INT(counters->rows_selected, a->rows);
    CHECK_INT(counters->chunks_scanned + counters->chunks_skipped, counters->chunks_total);
    query_close(q);
    err_done(&err);
    return rc;
}

static uint64_t skipped;

static void compare_answers(const char *text, const struct expression *e, const struct answer *a,
                            const char *how)
{
    for (unsigned f = 0; f < FILES; f++) {
        for (unsigned n = 0; n < ROWS; n++) {
            if (holds(e, &rows[f][n]) == a->bits[f * ROWS + n])
                continue;
            check_fail(__FILE__, __LINE__, "%s (%s): row %u of file %u is %s", text, how, n, f,
                       a->bits[f * ROWS + n] ? "selected" : "not selected");
            return;
        }
    }
}

static void one_query(struct answer *a)
{
    static const struct {
        bool no_pruning, threads;
        const char *name;
    } ways[] = {{false, false, "pruned"}, {true, false, "not pruned"}, {false, true, "threads"}};
    struct expression *e = make_expression(3);
    struct query_counters counters;
    struct buf text = {0};

    print_expression(&text, e);
    buf_putc(&text, '\0');
    for (unsigned i = CHECK_THREADS_ONLY ? 2 : 0; i < 3; i++) {
        if (CHECK_INT(scan(text.data, ways[i].no_pruning, ways[i].threads, a, &counters), 0))
            compare_answers(text.data, e, a, ways[i].name);
        if (i == 0 || CHECK_THREADS_ONLY)
            skipped += counters.chunks_skipped;
    }
    buf_done(&text);
    free_expression(e);
}

static void random_queries(void)
{
    struct answer a = {.bits = malloc(FILES * ROWS), .lock = PTHREAD_MUTEX_INITIALIZER};

    for (unsigned i = 0; i < QUERIES && atomic_load(&check_failures) < 10; i++)
        one_query(&a);
    CHECK(skipped > 1000); /* pruning did something */
    free(a.bits);
}

/* ---- keys, codes, values and arrays say the same --------------------------------------------- */

static bool same_value(const struct value *v, const struct cell *c, bool time)
{
    switch (c->type) {
    case NONE:
        return v->type == VALUE_NULL;
    case INTEGER:
        return time ? v->type == VALUE_TIME && v->wide == c->i
                    : v->type == VALUE_INT && v->i == c->i;
    case REAL:
        return (v->type == VALUE_DOUBLE && v->d == c->d) ||
               (v->type == VALUE_INT && (double)v->i == c->d);
    case BOOLEAN:
        return v->type == VALUE_BOOL && v->i == c->i;
    case STRING:
        return v->type == VALUE_TEXT && v->text.len == strlen(c->text) &&
               memcmp(v->text.ptr, c->text, v->text.len) == 0;
    }
    return false;
}

struct looked {
    const struct source *source, *number;
    enum field field;
    uint32_t gathered;
};

static void check_codes(struct scan_batch *b, const struct source *s, const uint64_t *keys)
{
    const uint64_t *table;
    uint32_t count;

    if (!scan_codes(b->chunk, s, 1000000, &count, &table))
        return;
    const uint32_t *codes = batch_codes(b, s);
    for (uint32_t i = 0; i < b->rows; i++) {
        if (codes[i] >= count || table[codes[i]] != keys[i]) {
            check_fail(__FILE__, __LINE__, "code %u of row %u", codes[i], i);
            return;
        }
    }
}

static int look(void *arg, struct scan_batch *b)
{
    struct looked *l = arg;
    const uint64_t *keys = batch_keys(b, l->source);
    const int64_t *numbers = batch_i64(b, l->number, NULL, NULL);
    uint64_t constant;
    bool time = l->field == TS || l->field == TE || l->field == DUR;
    bool is_constant = scan_constant(b->chunk, l->source, &constant);

    l->gathered += b->places != NULL;
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t row = b->select ? b->select[i] : i;
        const struct cell *c = &rows[b->chunk->place.file][numbers[row]].cell[l->field];
        struct value by_key, by_row = batch_value(b, l->source, row);
        query_key_value(b->chunk->query, keys[row], &by_key);
        if (!same_value(&by_key, c, time) || !same_value(&by_row, c, time) ||
            (is_constant && keys[row] != constant)) {
            check_fail(__FILE__, __LINE__, "%s of row %d in file %u", field_names[l->field],
                       (int)numbers[row], b->chunk->place.file);
            return ERR_END;
        }
    }
    check_codes(b, l->source, keys);
    return 0;
}

/* After an error nothing is read any more, and what the callback says of it does not count. */
static int look_after_error(void *arg, struct scan_batch *b)
{
    const struct looked *l = arg;
    const uint64_t *valid;

    (void)worker_fails(b->chunk->worker, ERR_MEMORY_LIMIT);
    CHECK_INT(batch_i64(b, l->number, &valid, NULL)[b->rows - 1], 0);
    CHECK(valid && valid[0] == 0);
    CHECK(batch_keys(b, l->source)[0] == QUERY_KEY_NULL);
    CHECK_INT(batch_value(b, l->number, 0).type, VALUE_NULL);
    return ERR_CORRUPT;
}

/* `query` chooses few rows or (empty) all. */
static void columns(const char *query)
{
    struct selection s;
    struct err err = {0};
    const struct scan_place *places;
    struct query *q;
    struct scan_worker *w;

    selection_init(&s);
    s.query = text_of(query);
    CHECK_INT(query_open(&store.env, store.snapshot, &s, NULL, &err, &q), 0);
    CHECK_INT(scan_worker_new(q, &w), 0);
    scan_worker_gathers(w);
    for (unsigned f = 0; f < FIELDS; f++) {
        struct looked l = {.field = (enum field)f};
        CHECK_INT(query_source(q, text_of(field_names[f]), &l.source), 0);
        CHECK_INT(query_source(q, TEXT("n"), &l.number), 0);
        CHECK(source_is_time(l.source) == (f == TS || f == TE || f == DUR));
        CHECK_INT(scan_chunk(w, 0, look_after_error, &l), ERR_MEMORY_LIMIT);
        for (size_t i = 0; i < scan_places(q, &places); i++)
            CHECK_INT(scan_chunk(w, i, look, &l), 0);
        CHECK((l.gathered > 0) == (*query != '\0'));
    }
    scan_worker_free(w);
    query_close(q);
}

/* Every 37th row. */
static void few_rows(void)
{
    char query[ROWS];
    size_t len = 0;

    for (unsigned n = 0; n < ROWS; n += 37)
        len += (size_t)snprintf(query + len, sizeof(query) - len, "%s%u", n ? "," : "n in [", n);
    snprintf(query + len, sizeof(query) - len, "]");
    columns(query);
}

/* ---- buckets --------------------------------------------------------------------------------- */

struct bucketed {
    const struct source *source, *number;
    int64_t interval, origin;
};

static int look_at_bucket(void *arg, struct scan_batch *b)
{
    struct bucketed *l = arg;
    const uint64_t *keys = batch_keys(b, l->source);
    const int64_t *numbers = batch_i64(b, l->number, NULL, NULL);

    check_codes(b, l->source, keys);
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t row = b->select ? b->select[i] : i;
        struct cell want = rows[b->chunk->place.file][numbers[row]].cell[TS];
        struct value v;
        int64_t at = want.i - l->origin, rest = l->interval ? at % l->interval : 0;
        want.i = at - rest - (rest < 0 ? l->interval : 0);
        if (l->interval == 0)
            want = integer(0);
        query_key_value(b->chunk->query, keys[row], &v);
        if (!same_value(&v, &want, true)) {
            check_fail(__FILE__, __LINE__, "bucket of row %d", (int)numbers[row]);
            return ERR_END;
        }
    }
    return 0;
}

static void buckets(void)
{
    static const int64_t pairs[][2] = {{0, 0},         {5000000, 0}, {1000, 0},
                                       {7, 0},         {1500, 77},   {1000000000, 123456789},
                                       {3000000, 5000}};
    struct selection s;
    struct err err = {0};
    const struct scan_place *places;
    struct query *q;
    struct scan_worker *w;

    selection_init(&s);
    CHECK_INT(query_open(&store.env, store.snapshot, &s, NULL, &err, &q), 0);
    CHECK_INT(scan_worker_new(q, &w), 0);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        struct bucketed l = {.interval = pairs[i][0], .origin = pairs[i][1]};
        CHECK_INT(query_source_bucket(q, l.interval, l.origin, &l.source), 0);
        CHECK_INT(query_source(q, TEXT("n"), &l.number), 0);
        for (size_t k = 0; k < scan_places(q, &places); k++)
            CHECK_INT(scan_chunk(w, k, look_at_bucket, &l), 0);
    }
    scan_worker_free(w);
    query_close(q);
}

/* ---- stopping -------------------------------------------------------------------------------- */

static int never(void *state, struct scan_batch *b)
{
    (void)state;
    (void)b;
    return -EIO;
}

static void stops(void)
{
    struct scan_sink sink = {.batch = never};
    struct budget budget = {0};
    struct selection s;
    struct err err = {0};
    struct query *q;

    selection_init(&s);
    CHECK_INT(query_open(&store.env, store.snapshot, &s, &budget, &err, &q), 0);
    CHECK_INT(scan_run(q, &sink, &err), -EIO);
    err_done(&err);
    budget_cancel(&budget, ERR_CANCELLED);
    CHECK_INT(scan_run(q, &sink, &err), ERR_CANCELLED);
    err_done(&err);
    query_close(q);
    CHECK_INT(atomic_load(&budget.memory_used), 0);
}

static void whole(void)
{
    CHECK_STOP(store_begin(&store));
    for (unsigned f = 0; f < FILES; f++)
        make_file(f);
    resolve_file_1();
    if (store_ingest(&store, CHUNK, 4)) {
        columns("");
        few_rows();
        buckets();
        stops();
        random_queries();
    }
    store_end(&store);
}

static const struct check_test tests[] = {{"scans", whole}, {NULL, NULL}};
CHECK_MAIN(tests)
