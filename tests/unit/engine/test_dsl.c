/* module: engine */
/* The query language as text: what parses, where errors are, and the canonical form. */
#include "check.h"
#include "dftracerd/query.h"

static const struct {
    const char *query, *canonical;
} good[] = {
    {"", ""},
    {"  \n\t ", ""},
    {"cat == \"POSIX\"", "cat == \"POSIX\""},
    {"cat = 'POSIX'", "cat == \"POSIX\""},
    {"cat == \"POSIX\" and dur > 1000", "(cat == \"POSIX\" and dur > 1000)"},
    {"a == 1 or b == 2 and c == 3", "(a == 1 or (b == 2 and c == 3))"},
    {"(a == 1 or b == 2) and c == 3", "((a == 1 or b == 2) and c == 3)"},
    {"a == 1 and b == 2 and c == 3", "(a == 1 and b == 2 and c == 3)"},
    {"a == 1 and (b == 2 and c == 3)", "(a == 1 and b == 2 and c == 3)"},
    {"((((a == 1))))", "a == 1"},
    {"not cat == \"POSIX\"", "not cat == \"POSIX\""},
    {"NOT (a == 1 AND b == 2)", "not (a == 1 and b == 2)"},
    {"not not a == 1", "not not a == 1"},
    {"cat in [\"POSIX\",'STDIO']", "cat in [\"POSIX\", \"STDIO\"]"},
    {"cat IN []", "cat in []"},
    {"x NOT IN [1, 2.5, true, \"a\"]", "x not in [1, 2.5, true, \"a\"]"},
    {"x == TRUE and y == False", "(x == true and y == false)"},
    {"name like \"p%_\"", "name like \"p%_\""},
    {"name not ILIKE 'P%'", "name not ilike \"P%\""},
    {"name ~ \"^read$\" or name !~* '\\d+'", "(name ~ \"^read$\" or name !~* \"\\\\d+\")"},
    {"name ~* 'x' and name !~ 'y'", "(name ~* \"x\" and name !~ \"y\")"},
    {"\"data\" in file", "\"data\" in file"},
    {"'data' NOT IN args.path", "\"data\" not in args.path"},
    {"args.x IS NULL or dur is not null", "(args.x is null or dur is not null)"},
    {"x == -42", "x == -42"},
    {"x > 3.14", "x > 3.14"},
    {"x > 1e10", "x > 10000000000"},
    {"x == -0", "x == 0"},
    {"x == 007", "x == 7"},
    {"x == 9223372036854775807", "x == 9223372036854775807"},
    {"x == 18446744073709551616", "x == 18446744073709551616"},
    {"x == -99999999999999999999", "x == -99999999999999999999"},
    {"dur > 10ms", "dur > 10000"},
    {"dur > 1.5us", "dur > 1.5"},
    {"dur > 1.5MS", "dur > 1500"},
    {"dur >= 0.0005", "dur >= 0.0005"},
    {"dur >= 0.00051", "dur >= 0.0005"},
    {"dur < -0.0001", "dur < -0.0005"},
    {"ts in [1s, 2min, 1h, 5ns]", "ts in [1000000, 120000000, 3600000000, 0.005]"},
    {"ts == 1234567890123456.789", "ts == 1234567890123456.789"},
    {"te < 1e300", "te < 1000000000000000000000"},
    {"dur > 88888882220000000000004h", "dur > 1000000000000000000000"},
    {"ts > -123456789012345678901234.5d", "ts > -1000000000000000000000"},
    {"size >= 1MiB", "size >= 1048576"},
    {"size >= 1.5kB and args.ret < 4k", "(size >= 1500 and args.ret < 4096)"},
    {"hhash == 5692", "hhash == \"5692\""},
    {"args.fhash in [1, 'a']", "args.fhash in [\"1\", \"a\"]"},
    {"name == \"a\\\"b\\\\c\\n\\t\\u00e9\\ud83d\\ude00'\"",
     "name == \"a\\\"b\\\\c\\n\\t\xc3\xa9\xf0\x9f\x98\x80'\""},
    {"name == 'it\\'s \\u0001'", "name == \"it's \\u0001\""},
    {"name == '\\ud800'", "name == \"\xef\xbf\xbd\""},
};

static void canonical(void)
{
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        struct buf once = {0}, twice = {0};
        struct err err = {0};

        CHECK_INT(query_normalise(text_of(good[i].query), &err, &once), 0);
        if (err.code != 0)
            check_fail(__FILE__, __LINE__, "%s: %s", good[i].query, err.text);
        buf_putc(&once, '\0');
        CHECK_STR(once.data, good[i].canonical);
        CHECK_INT(query_normalise(text_of(once.data), &err, &twice), 0);
        buf_putc(&twice, '\0');
        CHECK_STR(twice.data, good[i].canonical);
        buf_done(&once);
        buf_done(&twice);
        err_done(&err);
    }
}

static const struct {
    const char *query;
    int position;
    const char *says;
} bad[] = {
    {"cat ==", 6, "expected a value (a string, a number, true or false), got the end of the query"},
    {"name == \"hello", 8, "Unterminated"},
    {"name == 'a\\'", 8, "Unterminated"},
    {"cat", 3, "expected an operator"},
    {"5 < dur", 0, "expected a path"},
    {"cat == \"A\" cat == \"B\"", 11, "expected 'and', 'or' or the end of the query, got 'cat'"},
    {"(cat == \"A\"", 11, "expected 'and', 'or' or ')', got the end"},
    {"cat == \"A\")", 10, "got ')'"},
    {"cat in \"A\"", 7, "expected '[' and a list of values"},
    {"cat in [\"A\",]", 12, "expected a value"},
    {"cat in [\"A\" \"B\"]", 12, "expected ',' or ']'"},
    {"cat in [", 8, "expected a value"},
    {"not", 3, "expected a path"},
    {"and x == 1", 0, "expected a path"},
    {"x == 1 and", 10, "expected a path"},
    {"x == 1-2", 5, "expected a number, got \"1-\""},
    {"x == +5", 5, "got '+'"},
    {"x == 0x1F", 5, "expected a number"},
    {"x == 5zz", 5, "a unit is allowed only after"},
    {"x == 10ms", 5,
     "a unit is allowed only after numbers compared with ts, te, dur or sizes, got the unit "
     "\"ms\""},
    {"dur == 10kB", 7, "expected a unit of time"},
    {"size == 10ms", 8, "expected a unit of size"},
    {"x == 1e999", 5, "too large"},
    {"x && y", 2, "got '&'"},
    {"! x == 1", 0, "got '!'"},
    {"x ~ 5", 4, "expected a regular expression in quotes"},
    {"x ~ \"(\"", 4, "Invalid pattern"},
    {"name == \"ok\" and x !~* '[z-a]'", 23, "Invalid pattern"},
    {"x like 5", 7, "expected a pattern in quotes"},
    {"x not == 5", 6, "expected 'in', 'like' or 'ilike'"},
    {"x is 5", 5, "expected 'null' or 'not null'"},
    {"x is not 5", 9, "expected 'null'"},
    {"\"a\" == x", 4, "expected 'in' and a path after a string"},
    {"\"a\" in \"b\"", 7, "expected a path"},
    {"x == null", 5, "expected a value"},
    {"a..b == 1", 0, "empty component"},
    {"a. == 1", 0, "empty component"},
    {"x == \"\\u12\"", 6, "four hexadecimal digits"},
    {"x == \"\xff\"", 6, "not valid UTF-8"},
    {"x == \"\xed\xa0\x80\"", 6, "not valid UTF-8"}, /* the first byte of a surrogate */
    {"x == 1 \x01", 7, "0x01"},
};

static void errors(void)
{
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct buf out = {0};
        struct err err = {0};

        if (!CHECK_INT(query_normalise(text_of(bad[i].query), &err, &out), ERR_QUERY_SYNTAX))
            printf("   of %s\n", bad[i].query);
        if (err.position != bad[i].position || !strstr(err.text, bad[i].says))
            check_fail(__FILE__, __LINE__, "%s: at %d: %s", bad[i].query, (int)err.position,
                       err.text);
        CHECK_STR(err.source, bad[i].query);
        CHECK(strncmp(err.text, "Query parse error", 17) == 0);
        buf_done(&out);
        err_done(&err);
    }
}

static char *repeat(const char *open, const char *middle, const char *close, int n)
{
    struct buf b = {0};
    size_t len;

    for (int i = 0; i < n; i++)
        buf_puts(&b, open);
    buf_puts(&b, middle);
    for (int i = 0; i < n; i++)
        buf_puts(&b, close);
    return buf_steal(&b, &len);
}

static int parses(char *query, int64_t *position)
{
    struct buf out = {0}, again = {0};
    struct err err = {0};
    int rc = query_normalise(text_of(query), &err, &out);

    *position = err.position;
    if (rc == 0) {
        CHECK_INT(query_normalise((struct text){out.data, out.len}, &err, &again), 0);
        CHECK_MEM(again.data, again.len, out.data, out.len);
    }
    buf_done(&out);
    buf_done(&again);
    err_done(&err);
    free(query);
    return rc;
}

static void limits(void)
{
    int64_t position;

    CHECK_INT(parses(repeat("(", "a == 1", ")", 256), &position), 0);
    CHECK_INT(parses(repeat("(", "a == 1", ")", 257), &position), ERR_QUERY_SYNTAX);
    CHECK_INT(position, 256);
    CHECK_INT(parses(repeat("not ", "a == 1", "", 256), &position), 0);
    CHECK_INT(parses(repeat("not ", "a == 1", "", 257), &position), ERR_QUERY_SYNTAX);
    CHECK_INT(position, 256 * 4);
    CHECK_INT(parses(repeat("a == 1 and (b == 2 or (", "c == 3", "))", 127), &position), 0);
    CHECK_INT(parses(repeat("a == 1 or ", "a == 1", "", 9999), &position), 0);
    CHECK_INT(parses(repeat("a == 1 or ", "a == 1", "", 10000), &position), ERR_QUERY_SYNTAX);
    CHECK_INT(position, 10000 * 10);
    CHECK_INT(parses(repeat("a in [", "", "", 1), &position), ERR_QUERY_SYNTAX);
}

static const struct value values[] = {
    /* in order; equal ones have the same .u of the table below */
    {.type = VALUE_NULL},
    {.type = VALUE_JSON, .text = {"-99999999999999999999999", 24}},
    {.type = VALUE_INT, .i = INT64_MIN},
    {.type = VALUE_DOUBLE, .d = -1.5},
    {.type = VALUE_INT, .i = 0},
    {.type = VALUE_DOUBLE, .d = 0.5},
    {.type = VALUE_TIME, .wide = 1500},
    {.type = VALUE_INT, .i = 2},
    {.type = VALUE_INT, .i = 9007199254740993},
    {.type = VALUE_UINT, .u = UINT64_MAX},
    {.type = VALUE_WIDE, .wide = (__int128)1 << 70},
    {.type = VALUE_DOUBLE, .d = 1e30},
    {.type = VALUE_BOOL, .i = 0},
    {.type = VALUE_BOOL, .i = 1},
    {.type = VALUE_TEXT, .text = {"", 0}},
    {.type = VALUE_TEXT, .text = {"a", 1}},
    {.type = VALUE_TEXT, .text = {"aa", 2}},
    {.type = VALUE_JSON, .text = {"[1]", 3}},
};

static void value_order(void)
{
    int n = sizeof(values) / sizeof(*values);

    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            CHECK_INT(value_cmp(&values[i], &values[j]), (i > j) - (i < j));
    }
    struct value five = {.type = VALUE_INT, .i = 5}, time = {.type = VALUE_TIME, .wide = 5000},
                 d = {.type = VALUE_DOUBLE, .d = 5};
    struct value big = {.type = VALUE_DOUBLE, .d = 9007199254740992.0},
                 exact = {.type = VALUE_INT, .i = 9007199254740993};
    CHECK_INT(value_cmp(&five, &time), 0);
    CHECK_INT(value_cmp(&five, &d), 0);
    CHECK_INT(value_cmp(&big, &exact), -1);
}

static const struct check_test tests[] = {
    {"canonical", canonical},     {"errors", errors}, {"limits", limits},
    {"value_order", value_order}, {NULL, NULL},
};
CHECK_MAIN(tests)
