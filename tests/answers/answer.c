/* answer.c - from a request to its answer. */
#include "answer.h"

#include "failing_malloc.h"
#include "http/request/selection.h"
#include "http/request/problem.h"
#include "http/request/read.h"
#include "http/request/router.h"
#include "http/server/routes.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void *second_malloc(size_t size)
{
    void *first = malloc(size);

    return first ? first : malloc(size);
}

/* If jansson 2.14 has no memory for a byte of a text, it ignores that, and then writes behind the
 * memory it has (its lex_save()). Only one allocation fails here, so it tries again. */
void answer_begin(void)
{
    char why[100];
    struct json_t *root = NULL;

    params_parse_object(TEXT("{}"), &root, why, sizeof why); /* sets its own functions, once */
    params_free_json(root);
    json_set_alloc_funcs(second_malloc, free);
}

/* Parameters are written as they are meant; $ROOT is the folder of the traces. */
static const char *encoded(struct arena *arena, const char *query, const char *root)
{
    static const char *const variable = "$ROOT";
    size_t most = strlen(query) * (3 + strlen(root)) + 1; /* they are short */
    char *text = arena_alloc(arena, most), *out = text;

    while (out && *query) {
        bool is_root = strncmp(query, variable, strlen(variable)) == 0;
        if (is_root)
            out = stpcpy(out, root);
        else if (*query == '%' || *query == '+')
            out = stpcpy(out, *query == '%' ? "%25" : "%2B");
        else
            *out++ = *query;
        query += is_root ? strlen(variable) : 1;
    }
    return text;
}

static int read_parameters(struct request *rq, const struct case_request *request)
{
    const char *search = strchr(request->target, '?');
    const char *form = search ? encoded(&rq->arena, search + 1, rq->http->env.root_paths[0]) : "";
    int rc = form ? request_begin(rq, *form ? form : NULL) : -ENOMEM;

    if (rc == 0 && *request->body)
        rc = params_add_json(rq, text_of(request->body));
    return rc < 0 ? rc : request_finish(rq, NULL);
}

/* Some endpoints give memory back. */
static void rest(struct request *rq, struct answer *a)
{
    if (!rq->endpoint->trim)
        return;
    rq->endpoint->trim(rq);
    size_t used = atomic_load(&rq->budget.memory_used);
    a->memory_rested = used > a->memory_rested ? used : a->memory_rested;
}

static int run(struct request *rq, unsigned pieces, struct answer *a)
{
    size_t size = rq->endpoint->state_size;
    int rc;

    rq->state = size ? arena_alloc(&rq->arena, size) : NULL;
    if (size && !rq->state)
        return rq->arena.error;
    rc = rq->endpoint->queries ? selection_read(rq, &rq->chosen) : 0;
    if (rc == 0 && rq->endpoint->queries)
        rc = selection_open(rq, &rq->chosen, &rq->query);
    rc = rc < 0 ? rc : rq->endpoint->open(rq);
    for (unsigned n = 1; (rc == 0 || rc == NEXT_TURN) && (n <= pieces || !pieces); n++) {
        rc = rq->endpoint->next(rq, &a->body);
        rc = a->body.error ? a->body.error : rc;
        if (rc == 0 && n % 3 == 0)
            rest(rq, a);
    }
    if (rq->state && rq->endpoint->close)
        rq->endpoint->close(rq);
    query_close(rq->query);
    rq->query = NULL;
    return rc == ERR_END ? 0 : rc;
}

static int find_endpoint(struct request *rq, const char *target)
{
    struct text path = {target, strcspn(target, "?")};

    rq->endpoint = router_find(routes, path);
    return rq->endpoint ? 0 : err_set(&rq->err, ERR_NOT_FOUND, "no such endpoint");
}

static void report(struct request *rq, int code, struct answer *ret)
{
    ret->code = code;
    ret->status = problem_status(code);
    ret->json = true;
    buf_done(&ret->body);
    rq->err.code = code;
    problem_write(&ret->body, ret->status, &rq->err, NULL, "");
}

void answer_request(const struct query_env *env, const struct case_request *request,
                    const struct answer_limits *limits, struct answer *ret)
{
    struct http_options options = {.index = env->index,
                                   .root_labels = env->root_labels,
                                   .root_paths = env->root_paths,
                                   .root_count = env->root_count};
    struct http_context http = {.options = &options, .endpoints = routes, .env = *env};
    struct request rq = {.http = &http, .post = request->post, .status = 200};

    memset(ret, 0, sizeof *ret);
    rq.budget.memory_limit = limits->memory;
    if (limits->cancelled)
        budget_cancel(&rq.budget, ERR_CANCELLED);
    rq.started_ns = clock_mono_ns();
    rq.snapshot = index_snapshot(env->index);
    int rc = find_endpoint(&rq, request->target);
    rc = rc < 0 ? rc : read_parameters(&rq, request);
    rc = rc < 0 ? rc : run(&rq, limits->pieces, ret);
    failing_malloc_stop();
    ret->status = rq.status;
    ret->json = rc == 0 && rq.format == FORMAT_JSON && !rq.own_format && !rq.content_type;
    ret->memory_left = atomic_load(&rq.budget.memory_used);
    if (rc < 0)
        report(&rq, rc, ret);
    buf_putc(&ret->body, '\0');
    ret->body.len--;
    snapshot_release(rq.snapshot);
    err_done(&rq.err);
    arena_done(&rq.arena);
}

void answer_done(struct answer *a)
{
    buf_done(&a->body);
}
