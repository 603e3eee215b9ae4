/* module: http; threads */
/* Requests that run inside the process: answers, errors, waiting for the index, and their ends. */
#pragma GCC diagnostic ignored "-Wunused-function"

#include "query_store.h"

#include "dftracerd/http.h"

#include <pthread.h>

#define EVENTS 3000

/* ---- an index and its runner ----------------------------------------------------------------- */

static struct store store;
static struct http_runner *runner;

static void changed(void *arg)
{
    http_runner_index_changed(arg);
}

/* Events of a microsecond each, every second one named write. */
static bool open_store(bool on_demand)
{
    struct index_options options = {
        .path = store.place, .workers = 2, .settle_ms = -1, .on_demand = on_demand};
    struct http_options http = {.workers = 2, .root_count = 1, .version = "1"};
    struct buf text = {0};
    struct err err = {0};
    char path[100];

    if (!store_begin(&store))
        return false;
    for (int i = 0; i < EVENTS; i++)
        buf_printf(&text,
                   "{\"name\":\"%s\",\"cat\":\"c\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%d,"
                   "\"dur\":1}\n",
                   i % 2 ? "write" : "read", i);
    store_file(&store, "a.pfw", text.data, text.len);
    buf_done(&text);
    if (!CHECK_INT(index_open(&options, &err, &store.index), 0))
        return false;
    store.root = store.dir;
    store.label = "";
    http.index = store.index;
    http.root_paths = &store.root;
    http.root_labels = &store.label;
    if (!CHECK_INT(http_runner_new(&http, &err, &runner), 0))
        return false;
    index_on_change(store.index, changed, runner);
    snprintf(path, sizeof path, "%s/a.pfw", store.dir);
    return CHECK_INT(index_offer(store.index, "a.pfw", path), 0);
}

static void close_store(void)
{
    index_on_change(store.index, NULL, NULL);
    index_close(store.index);
    http_runner_free(runner); /* a thread of the index may have called it until now */
    nftw(store.dir, store_remove, 8, FTW_DEPTH | FTW_PHYS);
    nftw(store.place, store_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- a call ---------------------------------------------------------------------------------- */

static int append(void *arg, struct text bytes)
{
    buf_text(arg, bytes);
    return ((struct buf *)arg)->error;
}

/* Returns the whole answer, or the text of the error. */
static int call(const struct http_call_options *o, struct buf *answer)
{
    struct http_call *c = NULL;
    struct err err = {0};
    int rc = http_call_new(runner, o, &err, &c);

    rc = rc < 0 ? rc : http_call_run(c, append, answer, &err);
    CHECK_INT(err.code, rc);
    if (rc < 0) {
        buf_clear(answer);
        http_problem_detail(&err, answer);
    }
    buf_putc(answer, '\0');
    http_call_free(c);
    err_done(&err);
    return rc;
}

static void expect(const char *target, int code, const char *text)
{
    const struct http_call_options o = {.target = target};
    struct buf answer = {0};

    CHECK_INT(call(&o, &answer), code);
    CHECK_STR(answer.data, text);
    buf_done(&answer);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void answers_when_ready(void)
{
    if (!open_store(true))
        return;
    index_listed(store.index);
    expect("/event-count?format=text&wait=no", 0, "0\n");
    expect("/event-count?format=text&wait=ready", 0, "3000\n");
    expect("/event-count?format=text&query=name+%3D%3D+%22write%22", 0, "1500\n");
    expect("/view?select=ts&format=csv&limit=2&query=name==%22write%22", 0, "ts\n1\n3\n");
    close_store();
}

static void errors_are_those_of_the_server(void)
{
    if (!open_store(false))
        return;
    index_listed(store.index);
    expect("/nothing?x=1", ERR_NOT_FOUND, "no such endpoint; `/openapi.json` lists them");
    expect("/metrics", ERR_NOT_FOUND, "/metrics requires a daemon");
    expect("/stats?x=1", ERR_PARAM, "/stats has no parameter `x`");
    expect("/stats?format=png", ERR_FORMAT,
           "unknown format: /stats supports json (application/json), ndjson "
           "(application/x-ndjson), csv (text/csv), text (text/plain)");
    close_store();
}

/* The position is that of the character that cannot follow. */
static void query_errors_have_a_caret(void)
{
    struct buf answer = {0};

    if (!open_store(false))
        return;
    index_listed(store.index);
    const struct http_call_options o = {.target = "/event-count?query=dur+%3E+%3E"};
    CHECK_INT(call(&o, &answer), ERR_QUERY_SYNTAX);
    CHECK(strstr(answer.data, "\ndur > >\n      ^") != NULL);
    buf_done(&answer);
    close_store();
}

/* An older snapshot does not have later files. */
static void answers_from_a_given_snapshot(void)
{
    struct buf answer = {0};

    if (!open_store(false))
        return;
    struct snapshot *before = index_snapshot(store.index);
    index_listed(store.index);
    expect("/event-count?format=text&wait=ready", 0, "3000\n");
    const struct http_call_options o = {.target = "/event-count?format=text&wait=ready",
                                        .snapshot = before};
    CHECK_INT(call(&o, &answer), 0);
    CHECK_STR(answer.data, "0\n");
    snapshot_release(before);
    buf_done(&answer);
    close_store();
}

static void limits_end_it(void)
{
    struct buf answer = {0};

    if (!open_store(false))
        return;
    index_listed(store.index);
    expect("/event-count?format=text&wait=ready", 0, "3000\n");
    const struct http_call_options little = {.target = "/stats?report=detailed&group_by=ts",
                                             .memory = 4096};
    CHECK_INT(call(&little, &answer), ERR_MEMORY_LIMIT);
    const struct http_call_options late = {.target = "/event-count?query=ts+%3E+0",
                                           .deadline_ns = 1};
    buf_clear(&answer);
    CHECK_INT(call(&late, &answer), ERR_DEADLINE);
    buf_done(&answer);
    close_store();
}

static void a_stream_ends_where_it_would_wait(void)
{
    struct buf answer = {0};

    if (!open_store(false))
        return;
    index_listed(store.index);
    const struct http_call_options o = {.target =
                                            "/view?follow=true&select=ts&format=ndjson&wait=ready"};
    CHECK_INT(call(&o, &answer), 0);
    CHECK(strstr(answer.data, "{\"ts\":2999}\n") != NULL);
    buf_done(&answer);
    close_store();
}

static int refuse(void *arg, struct text bytes)
{
    ++*(int *)arg;
    return bytes.len ? -EPIPE : 0;
}

static void a_refused_piece_is_the_last(void)
{
    const struct http_call_options o = {.target = "/view?wait=ready"};
    struct http_call *c = NULL;
    struct err err = {0};
    int pieces = 0;

    if (!open_store(false))
        return;
    index_listed(store.index);
    CHECK_INT(http_call_new(runner, &o, &err, &c), 0);
    CHECK_INT(http_call_run(c, refuse, &pieces, &err), -EPIPE);
    CHECK_INT(pieces, 1);
    http_call_free(c);
    err_done(&err);
    CHECK_INT(http_call_new(runner, &o, &err, &c), 0);
    CHECK_INT(http_call_run(c, NULL, NULL, &err), 0);
    http_call_free(c);
    close_store();
}

static void *cancel(void *arg)
{
    usleep(20000);
    http_call_cancel(arg, ERR_CANCELLED);
    return NULL;
}

/* The directories are never listed. */
static void a_call_that_waits_can_be_cancelled(void)
{
    const struct http_call_options o = {.target = "/event-count?wait=ready"};
    struct http_call *c = NULL;
    struct err err = {0};
    pthread_t thread;

    if (!open_store(false))
        return;
    CHECK_INT(http_call_new(runner, &o, &err, &c), 0);
    CHECK_INT(pthread_create(&thread, NULL, cancel, c), 0);
    CHECK_INT(http_call_run(c, NULL, NULL, &err), ERR_CANCELLED);
    pthread_join(thread, NULL);
    http_call_free(c);
    err_done(&err);
    close_store();
}

static const struct check_test tests[] = {
    {"answers_when_ready", answers_when_ready},
    {"errors_are_those_of_the_server", errors_are_those_of_the_server},
    {"query_errors_have_a_caret", query_errors_have_a_caret},
    {"answers_from_a_given_snapshot", answers_from_a_given_snapshot},
    {"limits_end_it", limits_end_it},
    {"a_stream_ends_where_it_would_wait", a_stream_ends_where_it_would_wait},
    {"a_refused_piece_is_the_last", a_refused_piece_is_the_last},
    {"a_call_that_waits_can_be_cancelled", a_call_that_waits_can_be_cancelled},
    {NULL, NULL},
};
CHECK_MAIN(tests)
