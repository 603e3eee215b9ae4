/* module: http */
#include "check.h"
#include "http/request/endpoint.h"
#include "http/server/routes.h"

static const struct param_spec specs[] = {
    PARAM("word", TEXT, ""),
    PARAM("flag", BOOL, "", .fallback = "false"),
    PARAM("count", UINT, "", .fallback = "10"),
    PARAM("time", DURATION, ""),
    PARAM("range", TIME_RANGE, ""),
    PARAM("kind", CHOICE, "", .choices = "one|two"),
    PARAM("list", LIST, ""),
    PARAM("many", TEXT, "", .repeatable = true),
    PARAM("bytes", BYTES, ""),
    PARAM("number", NUMBER, ""),
    PARAM("signed", INT, ""),
    {0},
};
/* The options to which a request is bound, and their constraints. */
struct options {
    bool flag, second;
    uint32_t count;
    uint64_t bytes;
    int64_t time_ns;
    double number;
    const char *word;
    const char *const *list;
    size_t list_count;
};
#define OPTIONS struct options
static const struct param_spec bound[] = {
    PARAM("b.flag", BOOL, "", .fallback = "true", BIND(flag)),
    PARAM("b.kind", CHOICE, "", .choices = "one|two", BIND(second)),
    PARAM("b.count", UINT, "", .min = 2, .max = 5e9, BIND(count)),
    PARAM("b.bytes", BYTES, "", .min = 4096, BIND(bytes)),
    PARAM("b.time", INTERVAL, "", BIND(time_ns)),
    PARAM("b.number", NUMBER, "", .max = 1, BIND(number)),
    PARAM("b.word", TEXT, "", BIND(word)),
    PARAM("b.list", LIST, "", .filled = true, BIND_LIST(list, list_count)),
    PARAM("c.needs", TEXT, "", .needs = "word|many"),
    PARAM("c.apart", BOOL, "", .not_with = "list|c.needs"),
    PARAM("c.csv", UINT, "", .formats = FORMAT_BIT(CSV) | FORMAT_BIT(TEXT)),
    PARAM("c.post", TEXT, "", .post = true),
    {0},
};
static const struct param_spec *const groups[] = {specs, bound, NULL};
static const struct endpoint endpoint = {
    .path = "/x", .params = groups, .options_size = sizeof(struct options)};

static struct request rq;

static void fresh(void)
{
    err_done(&rq.err);
    arena_done(&rq.arena);
    rq = (struct request){.endpoint = &endpoint};
    CHECK_INT(params_begin(&rq), 0);
}

/* Parses a form and sets the defaults. */
static int form(const char *text)
{
    fresh();
    int rc = params_add_form(&rq, text_of(text));
    return rc < 0 ? rc : params_finish(&rq);
}

static int json(const char *text)
{
    fresh();
    int rc = params_add_json(&rq, text_of(text));
    return rc < 0 ? rc : params_finish(&rq);
}

static void decodes(void)
{
    struct arena a = {0};
    struct text t;
    CHECK_INT(params_decode(&a, TEXT("a%20b+c%2F%c3%A4"), true, &t), 0);
    CHECK_TEXT(t, "a b c/\xc3\xa4");
    CHECK_INT(params_decode(&a, TEXT("a+b"), false, &t), 0);
    CHECK_TEXT(t, "a+b");
    CHECK_INT(params_decode(&a, TEXT(""), true, &t), 0);
    CHECK_INT(t.len, 0);
    const char *bad[] = {"%", "%4", "%zz", "%4g", "a%00", "%", "a%2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(params_decode(&a, text_of(bad[i]), true, &t), -EINVAL);
    arena_done(&a);
}

static void reads_values(void)
{
    CHECK_INT(
        form("word=a+b&flag&count=7&time=1.5ms&range=10,2s&kind=two&list=a,+b,,c&many=x&many=y%26"),
        0);
    CHECK_STR(request_text(&rq, "word"), "a b");
    CHECK(request_flag(&rq, "flag"));
    CHECK_INT(request_uint(&rq, "count"), 7);
    CHECK_INT(request_param(&rq, "time")->ns, 1500000);
    CHECK_INT(request_param(&rq, "range")->ns, 10000);
    CHECK_INT(request_param(&rq, "range")->ns_to, 2000000000);
    CHECK_STR(request_text(&rq, "kind"), "two");
    const struct param *list = request_param(&rq, "list"), *many = request_param(&rq, "many");
    CHECK_STOP(list->count == 3 && many->count == 2);
    CHECK_STR(list->items[1], "b");
    CHECK_STR(many->items[1], "y&");
    CHECK_INT(form("bytes=4MiB&number=0.25"), 0);
    CHECK_INT(request_param(&rq, "bytes")->number, 4 << 20);
    CHECK(request_param(&rq, "number")->real == 0.25);
    CHECK_INT(form("signed=-7"), 0);
    CHECK_INT((int64_t)request_param(&rq, "signed")->number, -7);
    CHECK_INT(form("signed=1.5"), ERR_PARAM);
    CHECK_INT(form(""), 0);
    CHECK_INT(request_uint(&rq, "count"), 10);
    CHECK(!request_flag(&rq, "flag"));
    CHECK_STR(request_text(&rq, "word"), NULL);
    CHECK(!request_param(&rq, "nothing"));
}

static void names_what_is_wrong(void)
{
    static const struct {
        const char *form, *param;
    } cases[] = {
        {"other=1", "other"},       {"count=-1", "count"},
        {"count=1x", "count"},      {"count=", "count"},
        {"flag=maybe", "flag"},     {"time=5 apples", "time"},
        {"time=-1", "time"},        {"range=1", "range"},
        {"range=1,b", "range"},     {"kind=three", "kind"},
        {"kind=one|two", "kind"},   {"kind=", "kind"},
        {"word=a&word=b", "word"},  {"word=%ff", "word"},
        {"word=%zz", "word"},       {"count=18446744073709551616", "count"},
        {"bytes=4 MB ", "bytes"},   {"bytes=-1", "bytes"},
        {"number=", "number"},      {"number=.5", "number"},
        {"number=1e999", "number"}, {"number=nan", "number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(form(cases[i].form), ERR_PARAM);
        CHECK_STR(rq.err.param, cases[i].param);
    }
}

static void reads_json(void)
{
    CHECK_INT(json("{\"word\":\"a\\u00e4\",\"flag\":true,\"count\":3,\"list\":[\"a\",\"b\"],"
                   "\"many\":[\"x\",\"y\"],\"time\":2.5}"),
              0);
    CHECK_STR(request_text(&rq, "word"), "a\xc3\xa4");
    CHECK(request_flag(&rq, "flag"));
    CHECK_INT(request_uint(&rq, "count"), 3);
    CHECK_INT(request_param(&rq, "list")->count, 2);
    CHECK_INT(request_param(&rq, "many")->count, 2);
    CHECK_INT(request_param(&rq, "time")->ns, 2500);
    CHECK_INT(json("{\"list\":[\"a\",1,true,\"b,c\"],\"many\":[]}"), 0);
    CHECK_STR(request_text(&rq, "list"), "a,1,true,b,c");
    CHECK_INT(request_param(&rq, "list")->count, 5);
    CHECK_INT(request_param(&rq, "many")->count, 0);
    const char *bad[] = {"",
                         "[]",
                         "{",
                         "{\"word\":null}",
                         "{\"word\":{}}",
                         "{\"count\":1.5}",
                         "{\"word\":\"a\",\"word\":\"b\"}",
                         "{\"word\":[\"a\",\"b\"]}",
                         "{\"word\":\"a\\u0000\"}",
                         "{} x",
                         "{\"list\":[\"a\\u0000\"]}",
                         "{\"list\":[null]}",
                         "{\"x\":1}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(json(bad[i]), ERR_PARAM);
    static const char *const unknown[] = {"{\"x\":1}", "{\"x\":[]}", "{\"x\":{}}", "{\"x\":null}"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        CHECK_INT(json(unknown[i]), ERR_PARAM);
        CHECK(strstr(rq.err.text, "has no parameter `x`"));
    }
}

/* A body of 1 MiB has a hundred thousand values; memory is proportional to it, and limited. */
static void bounds_lists(void)
{
    static const char *const kinds[] = {"&many=abc", ",abc"};
    for (size_t kind = 0; kind < 2; kind++) {
        for (int count = PARAM_ITEMS_MAX; count <= PARAM_ITEMS_MAX + 1; count++) {
            struct buf text = {0};
            buf_puts(&text, kind ? "list=" : "");
            for (int i = 0; i < count; i++)
                buf_puts(&text, kinds[kind]);
            fresh();
            CHECK_INT(params_add_form(&rq, (struct text){text.data, text.len}),
                      count > PARAM_ITEMS_MAX ? ERR_PARAM : 0);
            CHECK_INT(request_param(&rq, kind ? "list" : "many")->count, PARAM_ITEMS_MAX);
            CHECK_STR(request_param(&rq, kind ? "list" : "many")->items[PARAM_ITEMS_MAX - 1],
                      "abc");
            CHECK(rq.arena.used < 40 * text.len);
            buf_done(&text);
        }
    }
}

static char *normal(const char *text)
{
    struct buf b = {0};
    CHECK_INT(form(text), 0);
    params_normalised(&rq, &b);
    return buf_steal(&b, NULL);
}

/* Equal for requests with the same meaning, different for all others, whatever texts contain. */
static void normalises(void)
{
    static const char *const different[] = {"word=a",        "word=b",     "word=a%0Aflag=4:true",
                                            "many=a&many=b", "many=a,1:b", "many=a%2C1:b&many=c",
                                            "list=a,b",      "list=a",     "count=11"};
    char *texts[sizeof different / sizeof *different];
    size_t n = sizeof different / sizeof *different;
    for (size_t i = 0; i < n; i++)
        texts[i] = normal(different[i]);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(texts[i], texts[k]) != 0);
    char *a = normal("count=11&word=x"), *b = normal("word=%78&count=11");
    CHECK_STR(a, b);
    free(a);
    free(b);
    for (size_t i = 0; i < n; i++)
        free(texts[i]);
    fresh();
    err_done(&rq.err);
    arena_done(&rq.arena);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void binds(void)
{
    const struct options *o;
    CHECK_INT(
        form("b.flag=false&b.kind=two&b.count=5000000000&b.bytes=1MiB&b.time=1.5&b.number=0.25&"
             "b.word=x&b.list=p,q"),
        0);
    o = rq.options;
    CHECK(!o->flag && o->second);
    CHECK_INT(o->count, UINT32_MAX);
    CHECK_INT(o->bytes, 1 << 20);
    CHECK_INT(o->time_ns, 1500000);
    CHECK(o->number == 0.25);
    CHECK_STR(o->word, "x");
    CHECK_INT(o->list_count, 2);
    CHECK_STR(o->list[1], "q");
    CHECK_INT(form(""), 0);
    o = rq.options;
    CHECK(o->flag && !o->second && !o->word && !o->list && !o->bytes);
}

/* Checks status and text of a form whose format is `format`. */
static void refuses(const char *text, enum format format, const char *wanted)
{
    int rc = form(text);
    rq.format = format;
    rc = rc < 0 ? rc : params_check(&rq);
    CHECK_INT(rc, wanted ? ERR_PARAM : 0);
    if (wanted)
        CHECK_STR(rq.err.text, wanted);
}

static void checks_constraints(void)
{
    refuses("b.count=1", FORMAT_JSON, "`b.count` must be from 2 to 5000000000");
    refuses("b.count=2", FORMAT_JSON, NULL);
    refuses("b.bytes=4095", FORMAT_JSON, "`b.bytes` must be 4096 or more bytes");
    refuses("b.number=1.01", FORMAT_JSON, "`b.number` must be from 0 to 1");
    refuses("b.list=", FORMAT_JSON, "`b.list` must not be empty");
    refuses("c.apart=true&list=", FORMAT_JSON, NULL);
    refuses("c.needs=1", FORMAT_JSON, "`c.needs` requires `word` or `many`");
    refuses("c.needs=1&many=2", FORMAT_JSON, NULL);
    refuses("c.apart=true&list=a", FORMAT_JSON, "`c.apart` cannot be combined with `list`");
    refuses("c.apart=false&list=a", FORMAT_JSON, NULL);
    refuses("c.csv=1", FORMAT_JSON, "`c.csv` requires format csv or text");
    refuses("c.csv=1", FORMAT_TEXT, NULL);
    refuses("c.post=1", FORMAT_JSON, "`c.post` requires POST");
}

static bool fits(const struct param_spec *spec)
{
    enum param_member to = spec->to.member;
    switch (spec->type) {
    case PARAM_TEXT:
    case PARAM_JSON:
        return to == TO_NONE || to == (spec->repeatable ? TO_LIST : TO_CSTRING);
    case PARAM_LIST:
        return to == TO_NONE || to == TO_LIST;
    case PARAM_BOOL:
        return to == TO_NONE || to == TO_BOOL;
    case PARAM_CHOICE: { /* two choices: false, true */
        const char *second = strchr(spec->choices, '|');
        return to == TO_NONE || to == TO_U32 ||
               (to == TO_BOOL && second && !strchr(second + 1, '|'));
    }
    case PARAM_UINT:
    case PARAM_BYTES:
        return to == TO_NONE || to == TO_U32 || to == TO_U64;
    case PARAM_DURATION:
    case PARAM_INTERVAL:
    case PARAM_TIME:
        return to == TO_NONE || to == TO_NS;
    case PARAM_NUMBER:
        return to == TO_NONE || to == TO_REAL;
    default:
        return to == TO_NONE;
    }
}

/* True if the endpoint has each name that a constraint mentions. */
static bool has_all(const struct endpoint *e, const char *names)
{
    struct request probe = {.endpoint = e};
    bool all = params_begin(&probe) == 0;
    for (size_t n; names && *names; names += n + (names[n] == '|')) {
        char name[64] = {0};
        n = strcspn(names, "|");
        memcpy(name, names, n);
        all = all && request_param(&probe, name);
    }
    arena_done(&probe.arena);
    return all;
}

static void tables_are_sound(void)
{
    for (const struct endpoint *const *e = routes; *e; e++) {
        for (const struct param_spec *const *g = (*e)->params; g && *g; g++) {
            for (const struct param_spec *p = *g; p->name; p++) {
                bool inside = p->to.member == TO_NONE || p->to.at < (*e)->options_size;
                if (!fits(p) || !inside || !has_all(*e, p->needs) || !has_all(*e, p->not_with))
                    CHECK_STR(p->name, "a row that fits");
            }
        }
    }
}

static const struct check_test tests[] = {
    {"decodes", decodes},
    {"reads_values", reads_values},
    {"names_what_is_wrong", names_what_is_wrong},
    {"reads_json", reads_json},
    {"bounds_lists", bounds_lists},
    {"normalises", normalises},
    {"binds", binds},
    {"checks_constraints", checks_constraints},
    {"tables_are_sound", tables_are_sound},
    {NULL, NULL},
};
CHECK_MAIN(tests)
