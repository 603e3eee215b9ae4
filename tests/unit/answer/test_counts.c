/* module: answer */
/* Rows counted by name, compared with counts that the test keeps while it writes the lines. */
#include "dftracerd/query.h"
#include "dftracerd/stats.h"
#include "query_store.h"

enum { LINES = 30000 / (1 + CHECK_THREADS_ONLY), NAMES_MOST = 2000, CATS = 4 };

/* The lines that were written. */
static struct line {
    unsigned name, cat, dur;
} lines[LINES];

static uint64_t random_state;
static unsigned next_random(unsigned below)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(random_state >> 33) % below;
}

/* Written in runs, as events are; the last name is null. */
static void write_lines(struct store *s, unsigned names)
{
    struct buf text = {0};

    for (unsigned i = 0; i < LINES; i++) {
        bool same = i > 0 && next_random(3) == 0;
        lines[i] = same ? lines[i - 1] : (struct line){next_random(names), next_random(CATS), 0};
        lines[i].dur = next_random(1000);
        buf_puts(&text, "{\"id\":1,");
        if (lines[i].name + 1 < names)
            buf_printf(&text, "\"name\":\"n%u\",", lines[i].name);
        buf_printf(&text,
                   "\"cat\":\"c%u\",\"pid\":1,\"tid\":1,\"ts\":%u,\"dur\":%u,\"ph\":\"X\"}\n",
                   lines[i].cat, 10 * i, lines[i].dur);
    }
    store_file(s, "a.pfw", text.data, text.len);
    buf_done(&text);
}

/* Events with a minimum duration, of one name only, or of all (UINT32_MAX). */
struct question {
    unsigned least, name;
};
struct opened {
    struct budget budget;
    struct query *query;
    struct stats *stats;
};

static bool open_one(struct store *s, struct question q, enum stats_report report, struct opened *o)
{
    struct stats_options options = {.report = report, .no_summary = true};
    struct selection selection;
    struct err err = {0};
    char query[80];

    if (q.name == UINT32_MAX)
        snprintf(query, sizeof(query), "dur >= %u", q.least);
    else if (q.least == 0)
        snprintf(query, sizeof(query), "name == 'n%u'", q.name);
    else
        snprintf(query, sizeof(query), "dur >= %u and name == 'n%u'", q.least, q.name);
    selection_init(&selection);
    selection.query = text_of(query);
    bool ok = query_open(&s->env, s->snapshot, &selection, &o->budget, &err, &o->query) == 0 &&
              stats_run(o->query, &options, &err, &o->stats) == 0;
    err_done(&err);
    return CHECK(ok);
}

/* Returns the number after the letter; `none` for no text. */
static unsigned number_of(const struct value *v, unsigned none)
{
    return v->type == VALUE_TEXT ? (unsigned)strtoul(v->text.ptr + 1, NULL, 10) : none;
}

static uint64_t expected[CATS][NAMES_MOST];

/* Returns the number of pairs that have events. */
static size_t count_lines(struct question q, bool by_name)
{
    size_t pairs = 0;

    memset(expected, 0, sizeof(expected));
    for (unsigned i = 0; i < LINES; i++) {
        bool is = lines[i].dur >= q.least && (q.name == UINT32_MAX || q.name == lines[i].name);
        pairs += is && expected[lines[i].cat][by_name ? lines[i].name : 0]++ == 0;
    }
    return pairs;
}

static void check_answer(struct opened *o, struct question q, enum stats_report report,
                         unsigned names)
{
    bool by_name = report == STATS_NAMES;
    size_t pairs = count_lines(q, by_name);
    const struct stats *s = o->stats;
    const struct stats_count *rows = by_name ? s->names : s->categories;
    size_t count = by_name ? s->name_count : s->category_count;
    CHECK_INT(count, pairs);
    for (size_t i = 0; i < count; i++) {
        unsigned cat = number_of(&rows[i].cat, 0);
        unsigned name = by_name ? number_of(&rows[i].name, names - 1) : 0;
        CHECK_INT(rows[i].count, expected[cat][name]);
    }
    stats_free(o->stats);
    query_close(o->query);
    CHECK_INT(o->budget.memory_used, 0);
}

/* From all events to none; of one name, which is a constant where it is the only one. */
static const struct question questions[] = {
    {0, UINT32_MAX},   {100, UINT32_MAX}, {500, UINT32_MAX},  {700, UINT32_MAX},
    {760, UINT32_MAX}, {990, UINT32_MAX}, {2000, UINT32_MAX}, {0, 1},
    {300, 1},          {999, UINT32_MAX}};
enum { QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

static void ask(struct store *s, unsigned names, enum stats_report report)
{
    for (unsigned i = 0; i < QUESTIONS; i++) {
        struct opened o = {{0}};
        CHECK_STOP(open_one(s, questions[i], report, &o));
        check_answer(&o, questions[i], report, names);
    }
}

/* Few names are compared with, very many are looked up. Chunks of one batch and less, and of many.
 */
static void counts_names(void)
{
    static const unsigned kinds[] = {1, 3, 12, 70, 400, NAMES_MOST};

    for (unsigned k = 0; k < 2 * sizeof(kinds) / sizeof(kinds[0]); k++) {
        struct store s;
        CHECK_STOP(store_begin(&s));
        random_state = k;
        write_lines(&s, kinds[k / 2]);
        CHECK_STOP(store_ingest(&s, k % 2 ? 64 << 10 : 0, 2));
        ask(&s, kinds[k / 2], STATS_NAMES);
        ask(&s, kinds[k / 2], STATS_CATEGORIES);
        store_end(&s);
    }
}

static const struct check_test tests[] = {{"counts_names", counts_names}, {NULL, NULL}};

CHECK_MAIN(tests)
