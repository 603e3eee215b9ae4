/* module: http */
#include "check.h"
#include "http/exchange/etag.h"
#include "http/request/negotiate.h"

static const enum format formats[] = {FORMAT_NDJSON, FORMAT_JSON, FORMAT_CSV};
static const struct param_spec specs[] = {
    PARAM("format", TEXT, ""),
    {0},
};
static const struct param_spec *const groups[] = {specs, NULL};
static const struct endpoint endpoint = {
    .path = "/x", .params = groups, .formats = formats, .format_count = 3, .own_format = "recipe"};

/* The format's name, or NULL when there is none; "own" for the endpoint's own. */
static const char *chosen(const char *format, const char *accept)
{
    struct request rq = {.endpoint = &endpoint};
    params_begin(&rq);
    int rc = format ? params_add(&rq, TEXT("format"), text_of(format)) : 0;
    if (rc == 0)
        rc = negotiate_format(&rq, accept);
    CHECK(rc == 0 || (rc == ERR_FORMAT && strstr(rq.err.text, "/x")));
    err_done(&rq.err);
    arena_done(&rq.arena);
    return rc < 0 ? NULL : rq.own_format ? "own" : format_name(rq.format);
}

static void chooses_formats(void)
{
    CHECK_STR(chosen(NULL, NULL), "ndjson");
    CHECK_STR(chosen(NULL, ""), "ndjson");
    CHECK_STR(chosen(NULL, "*/*"), "ndjson");
    CHECK_STR(chosen("csv", "application/json"), "csv");
    CHECK_STR(chosen("recipe", NULL), "own");
    CHECK_STR(chosen("text", NULL), NULL);
    CHECK_STR(chosen("nonsense", NULL), NULL);
    CHECK_STR(chosen(NULL, "application/json"), "json");
    CHECK_STR(chosen(NULL, "APPLICATION/JSON; charset=utf-8"), "json");
    CHECK_STR(chosen(NULL, "text/*"), "csv");
    CHECK_STR(chosen(NULL, "text/html, */*;q=0.1"), "ndjson");
    CHECK_STR(chosen(NULL, "application/json;q=0.3, text/csv;q=0.4"), "csv");
    CHECK_STR(chosen(NULL, "*/*;q=0.5, application/x-ndjson;q=0"), "json");
    CHECK_STR(chosen(NULL, "application/json;q=nonsense"), NULL);
    CHECK_STR(chosen(NULL, "application/json;q=2"), NULL);
    CHECK_STR(chosen(NULL, "image/png"), NULL);
    CHECK_STR(chosen(NULL, "app"), NULL);
    CHECK_STR(chosen(NULL, ",, ;q=1,application/json"), "json");
}

static void chooses_codings(void)
{
    CHECK_INT(negotiate_coding(NULL), CODING_IDENTITY);
    CHECK_INT(negotiate_coding(""), CODING_IDENTITY);
    CHECK_INT(negotiate_coding("gzip"), CODING_GZIP);
    CHECK_INT(negotiate_coding("br, x-gzip"), CODING_GZIP);
    CHECK_INT(negotiate_coding("GZIP;q=0.1"), CODING_GZIP);
    CHECK_INT(negotiate_coding("gzip, zstd"), CODING_GZIP);
    CHECK_INT(negotiate_coding("gzip;q=0.5, zstd"), CODING_ZSTD);
    CHECK_INT(negotiate_coding("zstd"), CODING_ZSTD);
    CHECK_INT(negotiate_coding("gzip;q=0"), CODING_IDENTITY);
    CHECK_INT(negotiate_coding("identity, br"), CODING_IDENTITY);
    CHECK_INT(negotiate_coding("identity;q=1, gzip;q=0.1"), CODING_IDENTITY);
    CHECK_INT(negotiate_coding("identity;q=0.5, gzip;q=0.4, zstd"), CODING_ZSTD);
    CHECK_INT(negotiate_coding("gzip, identity"), CODING_GZIP);
    CHECK_INT(negotiate_coding("identity;q=0, gzip;q=0.1"), CODING_GZIP);
}

static void compares_tags(void)
{
    CHECK(etag_matches("W/\"ab\"", "W/\"ab\""));
    CHECK(etag_matches("\"ab\"", "W/\"ab\""));
    CHECK(etag_matches("\"x\" , W/\"ab\",\"y\"", "W/\"ab\""));
    CHECK(!etag_matches("\"abc\"", "W/\"ab\""));
    CHECK(!etag_matches("ab", "W/\"ab\""));
    CHECK(!etag_matches("*", "W/\"ab\""));
    CHECK(!etag_matches("", "W/\"ab\""));
    CHECK(!etag_matches(NULL, "W/\"ab\""));
    CHECK(!etag_matches("\"\"", ""));
}

static const struct check_test tests[] = {
    {"chooses_formats", chooses_formats},
    {"chooses_codings", chooses_codings},
    {"compares_tags", compares_tags},
    {NULL, NULL},
};
CHECK_MAIN(tests)
