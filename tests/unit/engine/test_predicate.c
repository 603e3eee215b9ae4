/* module: engine; paths */
/* What each test of the query language means, on rows that are known: expected answers are written
 * out. */
#include "query_store.h"
#include "engine/plan/plan.h"
#include "engine/scan/scan.h"

static struct store store;

/* Rows are told by their letter, args.row. */
static const char *const lines[] = {
    "[",
    "{\"name\":\"HH\",\"ph\":\"M\",\"pid\":1,\"args\":{\"hhash\":\"h1\",\"name\":\"host1\","
    "\"value\":\"h1\"}}",
    "{\"name\":\"FH\",\"ph\":\"M\",\"pid\":1,\"args\":{\"hhash\":\"h1\",\"name\":\"/data/"
    "one\",\"value\":\"f1\"}}",
    "{\"name\":\"SH\",\"ph\":\"M\",\"pid\":1,\"args\":{\"hhash\":\"h1\",\"name\":\"python "
    "x\",\"value\":\"c1\"}}",
    "{\"name\":\"PR\",\"ph\":\"M\",\"pid\":1,\"args\":{\"hhash\":\"h1\",\"name\":\"rank\","
    "\"value\":\"3\"}}",
    "{\"name\":\"read\",\"cat\":\"POSIX\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":100,\"dur\":100,"
    "\"args\":{\"row\":\"a\",\"hhash\":\"h1\",\"fhash\":\"f1\",\"ret\":4096,\"score\":3.14,"
    "\"active\":true,\"level\":\"DEBUG\",\"list\":[\"Alpha\",\"b\\u0065ta\"]}}",
    "{\"name\":\"write\",\"cat\":\"POSIX\",\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":150.5,\"dur\":0."
    "25,\"args\":{\"row\":\"b\",\"hhash\":\"h1\",\"fhash\":5692,\"ret\":-1,\"score\":3,\"active\":"
    "false,\"mix\":5}}",
    "{\"name\":\"open64\",\"cat\":\"posix\",\"ph\":\"X\",\"pid\":\"2\",\"tid\":3,\"ts\":200,"
    "\"args\":{\"row\":\"c\",\"hostname\":\"login\",\"fname\":\"/data/"
    "two\",\"mix\":\"5\",\"big\":18446744073709551616}}",
    "{\"name\":\"Compute\",\"cat\":\"Compute\",\"ph\":\"X\",\"pid\":2,\"tid\":3,\"ts\":300,\"dur\":"
    "10000,\"args\":{\"row\":\"d\",\"mix\":5.5,\"big\":9007199254740993,\"path\":\"/data/three\"}}",
    "{\"name\":\"cpu\",\"cat\":\"sys\",\"ph\":\"C\",\"pid\":3,\"ts\":400,\"args\":{\"row\":\"e\","
    "\"mix\":null,\"user\":12.5,\"count\":\"7\"}}",
    "{\"name\":\"mark\",\"ph\":\"i\",\"pid\":-4,\"tid\":9007199254740993,\"ts\":500,\"args\":{"
    "\"row\":\"f\",\"mix\":[5],\"cmd_hash\":\"c1\"}}",
    "{\"name\":\"x\",\"cat\":\"c\",\"ph\":1,\"pid\":2,\"args\":{\"row\":\"g\",\"mix\":true,"
    "\"score\":-0.5,\"deep\":{\"x\":{\"y\":1}}},\"note\":\"top\"}",
    "{\"name\":\"y\",\"ph\":\"X\",\"pid\":7,\"ts\":10,\"dur\":18446744073709551000,\"args\":{"
    "\"row\":\"h\"}}",
    "]",
};

static const struct {
    const char *query, *rows;
} cases[] = {
    {"", "abcdefgh"},
    {"cat == \"POSIX\"", "ab"},
    {"cat == \"STDIO\"", ""},
    {"cat != \"STDIO\"", "abcdeg"},
    {"not cat == \"POSIX\"", "cdefgh"},
    {"cat != \"POSIX\"", "cdeg"},
    {"cat > 100", ""},
    {"cat != 100", ""},
    {"cat in [\"POSIX\",\"STDIO\"]", "ab"},
    {"cat in [\"POSIX\", 5]", "ab"},
    {"cat not in [\"POSIX\",\"STDIO\"]", "cdeg"},
    {"not cat in [\"POSIX\"]", "cdefgh"},
    {"cat in []", ""},
    {"cat not in []", "abcdeg"},
    {"cat not in [5]", "abcdeg"},
    {"cat > \"POSIX\"", "ceg"},
    {"cat >= \"POSIX\"", "abceg"},
    {"cat < \"POSIX\"", "d"},
    {"dur > 50", "ad"},
    {"dur >= 100 and dur <= 100", "a"},
    {"dur == 0", "cg"},
    {"dur != 0", "abd"},
    {"dur == 0.25", "b"},
    {"dur == 250ns", "b"},
    {"dur > 0.2499", "abd"},
    {"dur < 0.2501", "bcg"},
    {"dur < 0.0001", "cg"},
    {"dur >= 0.0001", "abd"},
    {"dur == 10ms", "d"},
    {"dur in [10ms, 100, 7]", "ad"},
    {"dur not in [10ms, 100]", "bcg"},
    {"dur == \"hello\"", ""},
    {"dur != \"hello\"", ""},
    {"dur is null", "efh"},
    {"dur is not null", "abcdg"},
    {"ts == 150.5", "b"},
    {"ts > 150 and ts < 300", "bc"},
    {"ts is null", "g"},
    {"not ts > 0", "g"},
    {"te == 200", "ac"},
    {"te == 150.75", "b"},
    {"te > 450", "df"},
    {"te is null", "g"},
    {"pid == 1", "ab"},
    {"pid == 2", "cdg"},
    {"pid == \"2\"", ""},
    {"pid == -4", "f"},
    {"pid == 2.0", "cdg"},
    {"pid > 1.5", "cdegh"},
    {"pid < -3.5", "f"},
    {"pid in [1, 3, -4]", "abef"},
    {"pid in [1, 2, 3, -4, 5, 6, 7, 8]", "abcdefgh"},
    {"pid not in [1, 2, 3.5, 6, 7, 8, 9, 10]", "ef"},
    {"tid == 9007199254740993", "f"},
    {"tid == 9007199254740992.0", ""},
    {"tid > 9007199254740992.0", "f"},
    {"ret > 4095", "a"},
    {"ret == -1", "b"},
    {"count == 7", "e"},
    {"score > 3.0", "a"},
    {"score >= 3", "ab"},
    {"score == 3", "b"},
    {"score in [3, 3.14]", "ab"},
    {"score not in [3]", "ag"},
    {"score < 0", "g"},
    {"active == true", "a"},
    {"active == false", "b"},
    {"active != true", "b"},
    {"active > false", "a"},
    {"active == 1", ""},
    {"active in [true]", "a"},
    {"args.level == \"DEBUG\"", "a"},
    {"missing == \"x\"", ""},
    {"missing > 0", ""},
    {"missing != 0", ""},
    {"not missing == 0", "abcdefgh"},
    {"missing is null", "abcdefgh"},
    {"missing is not null", ""},
    {"missing not in [1]", ""},
    {"mix == 5", "b"},
    {"mix == \"5\"", "c"},
    {"mix > 5", "d"},
    {"mix >= 5.5", "d"},
    {"mix in [5, \"5\", 5.5, true]", "bcdg"},
    {"mix not in [5]", "cdfg"},
    {"mix is null", "aeh"},
    {"mix == true", "g"},
    {"mix like \"%\"", "c"},
    {"mix not like \"x\"", "c"},
    {"mix ~ \"5\"", "c"},
    {"mix !~ \"x\"", "c"},
    {"not mix ~ \"5\"", "abdefgh"},
    {"big == 18446744073709551616", "c"},
    {"big > 9007199254740992", "cd"},
    {"big == 9007199254740993", "d"},
    {"big == 9007199254740992.0", ""},
    {"big >= 18446744073709551616.0", "c"},
    {"big < 18446744073709551617", "cd"},
    {"big < 1e30", "cd"},
    {"args.deep.x.y == 1", "g"},
    {"deep.x.y == 1", "g"},
    {"note == \"top\"", "g"},
    {"name like \"%r%e%\"", "ab"},
    {"name like \"read\"", "a"},
    {"name like \"rea\"", ""},
    {"name like \"r__d\"", "a"},
    {"name like \"%R%\"", ""},
    {"name ilike \"%R%\"", "abf"},
    {"name not ilike \"%R%\"", "cdegh"},
    {"name ~ \"^r\"", "a"},
    {"name ~ \"r\"", "abf"},
    {"name ~* \"^C\"", "de"},
    {"name ~ \"\\d\"", "c"},
    {"name !~ \"[a-z]{4}\"", "egh"},
    {"\"EA\" in name", "a"},
    {"\"EA\" not in name", "bcdefgh"},
    {"\"alph\" in list", "a"},
    {"\"BETA\" in args.list", "a"},
    {"\"gamma\" in list", ""},
    {"\"gamma\" not in list", "a"},
    {"\"5\" in mix", "c"},
    {"\"5\" not in mix", "f"},
    {"ph == \"X\"", "abcdh"},
    {"ph == 1", "g"},
    {"ph in [\"C\", 1]", "eg"},
    {"hhash == \"h1\"", "ab"},
    {"fhash == 5692", "b"},
    {"fhash == \"5692\"", "b"},
    {"args.fhash in [5692, \"f1\"]", "ab"},
    {"host == \"host1\"", "ab"},
    {"host == \"login\"", "cdg"},
    {"host is null", "efh"},
    {"file == \"/data/one\"", "a"},
    {"file == \"5692\"", "b"},
    {"file like \"/data/%\"", "acd"},
    {"\"T\" in file", "acd"},
    {"file is null", "efgh"},
    {"cmd == \"python x\"", "f"},
    {"exec is null", "abcdefgh"},
    {"trace == \"t.pfw\"", "abcdefgh"},
    {"trace like \"x%\"", ""},
    {"rank == 3", "ab"},
    {"rank is null", "cdefgh"},
    {"size == 4096", "a"},
    {"size >= 4KiB", "a"},
    {"size is null", "bcdefgh"},
    {"(cat == \"POSIX\" and dur > 50) or name == \"x\"", "ag"},
    {"cat == \"POSIX\" and not name == \"read\" or pid == 3", "be"},
    {"not (cat == \"POSIX\" or pid == 2)", "efh"},
    {"not not pid == 3", "e"},
    {"id is null and type is null", "abcdefgh"},
};

struct collected {
    char rows[64];
    size_t count;
    const struct source *row;
};

static int collect(void *arg, struct scan_batch *b)
{
    struct collected *c = arg;

    for (uint32_t i = 0; i < b->count; i++) {
        struct value v = batch_value(b, c->row, b->select ? b->select[i] : i);
        c->rows[c->count++] = v.type == VALUE_TEXT ? v.text.ptr[0] : '?';
    }
    c->rows[c->count] = '\0';
    return 0;
}

static int ask(const struct selection *s, bool no_pruning, struct collected *c, struct err *err)
{
    const struct scan_place *places;
    struct query *q;
    struct scan_worker *w;
    int rc = query_open(&store.env, store.snapshot, s, NULL, err, &q);

    memset(c, 0, sizeof(*c));
    if (rc < 0)
        return rc;
    if (no_pruning)
        query_disable_pruning(q);
    CHECK_INT(query_source(q, TEXT("args.row"), &c->row), 0);
    CHECK_INT(scan_worker_new(q, &w), 0);
    for (size_t i = 0; i < scan_places(q, &places) && rc == 0; i++)
        rc = scan_chunk(w, i, collect, c);
    scan_worker_free(w);
    query_close(q);
    return rc;
}

static void expect(const struct selection *s, const char *what, const char *want)
{
    struct collected c;
    struct err err = {0};

    for (int no_pruning = 0; no_pruning < 2; no_pruning++) {
        int rc = ask(s, no_pruning, &c, &err);
        if (rc < 0)
            check_fail(__FILE__, __LINE__, "%s: error %d %s", what, rc, err.text);
        else if (strcmp(c.rows, want) != 0)
            check_fail(__FILE__, __LINE__, "%s: rows %s, not %s%s", what, c.rows, want,
                       no_pruning ? " (no pruning)" : "");
    }
    err_done(&err);
}

static void queries(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct selection s;
        selection_init(&s);
        s.query = text_of(cases[i].query);
        expect(&s, cases[i].query, cases[i].rows);
    }
}

static void selections(void)
{
    struct selection s;

    selection_init(&s);
    s.phases = PHASE_EVENTS;
    expect(&s, "events", "abcdfgh");
    s.phases = PHASE_COUNTERS;
    expect(&s, "counters", "e");
    s.phases = PHASE_METADATA;
    expect(&s, "metadata", "????");
    s.phases = PHASE_AGGREGATED;
    expect(&s, "aggregated", "");
    s.phases = PHASE_ANY;
    expect(&s, "any", "????abcdefgh");
    selection_init(&s);
    s.preset = "io";
    expect(&s, "io", "ab");
    s.query = TEXT("dur > 1");
    expect(&s, "io and query", "a");
    selection_init(&s);
    s.preset = "compute";
    expect(&s, "compute", "d");
    selection_init(&s);
    s.has_time_range = true;
    s.time_from_ns = 150500;
    s.time_to_ns = 400000;
    expect(&s, "time", "bcde");
    s.overlap = true;
    expect(&s, "overlap", "abcde");
    s.time_from_ns = 600000;
    s.time_to_ns = 700000;
    expect(&s, "overlap behind", "d");
    selection_init(&s);
    s.has_min_duration = s.has_max_duration = true;
    s.max_duration_ns = 100000;
    expect(&s, "duration", "abcg");
    s.min_duration_ns = 1;
    expect(&s, "duration > 0", "ab");
}

static void failures(void)
{
    struct selection s;
    struct collected c;
    struct err err = {0};

    selection_init(&s);
    s.query = TEXT("cat ==");
    CHECK_INT(ask(&s, false, &c, &err), ERR_QUERY_SYNTAX);
    CHECK_STR(err.param, "query");
    CHECK_INT(err.position, 6);
    err_done(&err);
    selection_init(&s);
    s.preset = "other";
    CHECK_INT(ask(&s, false, &c, &err), ERR_PARAM);
    CHECK_STR(err.param, "preset");
    CHECK(strstr(err.text, "io") && strstr(err.text, "compute") && strstr(err.text, "dlio"));
    err_done(&err);
}

static void whole(void)
{
    char text[8192] = "";

    CHECK_STOP(store_begin(&store));
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        strcat(text, lines[i]);
        strcat(text, "\n");
    }
    store_file(&store, "t.pfw", text, strlen(text));
    if (store_ingest(&store, 0, 1)) {
        queries();
        selections();
        failures();
    }
    store_end(&store);
}

/* A name as long as the scanner keeps them, of a member of the line in one row, of an argument in
 * the other. */
static void long_names(void)
{
    static const size_t lengths[] = {499, 500, 599, 4000};
    char name[8192], text[32768], query[8200];

    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        struct selection s;
        memset(name, 'x', lengths[i]);
        name[lengths[i]] = '\0';
        snprintf(text, sizeof(text),
                 "[\n{\"name\":\"a\",\"ph\":\"X\",\"%s\":1,\"args\":{\"row\":\"a\"}}\n"
                 "{\"name\":\"b\",\"ph\":\"X\",\"args\":{\"row\":\"b\",\"%s\":2}}\n]\n",
                 name, name);
        CHECK_STOP(store_begin(&store));
        store_file(&store, "t.pfw", text, strlen(text));
        selection_init(&s);
        snprintf(query, sizeof(query), "%s == 2", name);
        s.query = text_of(query);
        if (store_ingest(&store, 0, 1))
            expect(&s, "long name", "b");
        store_end(&store);
    }
}

static const struct check_test tests[] = {
    {"predicates", whole}, {"long names", long_names}, {NULL, NULL}};
CHECK_MAIN(tests)
