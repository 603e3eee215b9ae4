/* module: http */
#include "check.h"
#include "http/endpoints/endpoints.h"
#include "http/page/page.h"
#include "http/request/problem.h"
#include "http/request/router.h"
#include "http/server/routes.h"

static void finds_endpoints(void)
{
    CHECK(router_find(routes, TEXT("/stats")) == &endpoint_stats);
    CHECK(router_find(routes, TEXT("/")) == &endpoint_page);
    CHECK(router_find(routes, TEXT("/q")) == &endpoint_store);
    CHECK(router_find(routes, TEXT("/q/1/x.json.gz")) == &endpoint_stored);
    CHECK(router_find(routes, TEXT("/open/1")) == &endpoint_open);
    static const char *const none[] = {"/q/",   "/q/1",   "/q/1/",   "/q//x", "/q/1/x/", "/q/1/x/y",
                                       "/open", "/open/", "/stats/", "",      "stats"};
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        CHECK(router_find(routes, text_of(none[i])) == NULL);
    CHECK(!router_find(routes, TEXT("/stat")) && !router_find(routes, TEXT("/stats/")) &&
          !router_find(routes, TEXT("")));
}

/* Checks the tables as a whole: assumptions of params.c and the page. */
static void tables_are_sound(void)
{
    for (const struct endpoint *const *e = routes; *e; e++) {
        CHECK((*e)->summary && (*e)->methods);
        CHECK(((*e)->open && (*e)->next) || *e == &endpoint_stored); /* it becomes another one */
        CHECK(!(*e)->format_count || (*e)->formats);
        CHECK(!(*e)->close || (*e)->state_size); /* close() is for the state */
        for (const struct param_spec *const *g = (*e)->params; g && *g; g++)
            for (const struct param_spec *p = *g; p->name; p++)
                CHECK(p->help && (p->type == PARAM_CHOICE) == (p->choices != NULL));
        struct request rq = {.endpoint = *e};
        CHECK_INT(params_begin(&rq), 0);
        CHECK_INT(params_finish(&rq), 0); /* the defaults are valid values */
        for (size_t i = 0; i < rq.param_count; i++)
            CHECK(request_param(&rq, rq.params[i].spec->name) == &rq.params[i]); /* no name twice */
        arena_done(&rq.arena);
    }
}

static void lists_methods(void)
{
    char allow[80];
    router_allow(&endpoint_stats, allow, sizeof allow);
    CHECK_STR(allow, "GET, HEAD, POST, OPTIONS");
    router_allow(&endpoint_healthz, allow, sizeof allow);
    CHECK_STR(allow, "GET, HEAD, OPTIONS");
}

static char *problem(struct err *err, const char *detail)
{
    struct buf out = {0};
    problem_write(&out, problem_status(err->code), err, detail, "id");
    return buf_steal(&out, NULL);
}

static void writes_problems(void)
{
    char source[] = "\xc3\xa4\t== >";
    struct err err = {
        .code = ERR_QUERY_SYNTAX, .position = 6, .text = "no", .param = "query", .source = source};
    char *got = problem(&err, NULL);
    CHECK_STR(got,
              "{\"type\":\"about:blank\",\"title\":\"Bad "
              "Request\",\"status\":400,\"detail\":\"no\\n\xc3\xa4\\t== >\\n \\t   ^\","
              "\"code\":\"bad_query\",\"param\":\"query\",\"position\":6,\"request_id\":\"id\"}\n");
    free(got);
    char lines[] = "pid == 1\n or  >\nor pid == 2";
    err = (struct err){
        .code = ERR_QUERY_SYNTAX, .position = 14, .text = "no", .param = "query", .source = lines};
    got = problem(&err, NULL);
    CHECK(strstr(got, "\"detail\":\"no\\n or  >\\n     ^\""));
    free(got);
    struct err bare = {.code = ERR_DEADLINE};
    got = problem(&bare, NULL);
    CHECK_STR(got, "{\"type\":\"about:blank\",\"title\":\"Gateway "
                   "Timeout\",\"status\":504,\"detail\":\"deadline exceeded\","
                   "\"code\":\"deadline\",\"request_id\":\"id\"}\n");
    free(got);
    CHECK_INT(problem_status(-EIO), 500);
    CHECK_INT(problem_status(-ENOSPC), 503);
    CHECK_STR(problem_reason(404), "Not Found");
}

static const struct check_test tests[] = {
    {"finds_endpoints", finds_endpoints},
    {"tables_are_sound", tables_are_sound},
    {"lists_methods", lists_methods},
    {"writes_problems", writes_problems},
    {NULL, NULL},
};
CHECK_MAIN(tests)
