/* stored.c - /q: stores a query under a path of its own, or lists the stored ones; /q/ID/NAME: its
 * answer. */
#include "http/access/clients.h"
#include "http/access/stored.h"
#include "http/endpoints/endpoints.h"
#include "http/request/read.h"
#include "http/request/router.h"
#include "http/request/selection.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_LENGTH 100

static const struct param_spec own_params[] = {
    PARAM(
        "query", TEXT, "POST: query to store, as path and query string: /aggregate?format=perfetto",
        .required = true, .example = "'/aggregate?format=perfetto&time_interval=1s'", .post = true),
    PARAM("name", TEXT,
          "POST: last part of its path: letters, digits, - _ and dots; the result is compressed if "
          "it ends with .gz",
          .fallback = "trace.json.gz", .post = true),
    PARAM("ui", TEXT,
          "POST: address of the Perfetto UI that /open/ID sends the result to: https://..., or "
          "http:// on this machine",
          .fallback = STORED_UI, .post = true),
    {0},
};

struct state {
    struct stored_query *queries;
    size_t count;
};

/* ---- members --------------------------------------------------------------------------------- */

static struct value time_left(const void *object)
{
    const struct stored_query *q = object;
    return (struct value){.type = VALUE_INT, .i = (q->until_ns - clock_mono_ns()) / 1000000000};
}

static void write_url(struct jw *j, const void *object)
{
    const struct stored_query *q = object;
    char path[NAME_MAX_LENGTH + 48];
    snprintf(path, sizeof path, "/q/%s/%s", q->id, q->name);
    jw_str(j, path);
}

static void write_open(struct jw *j, const void *object)
{
    const struct stored_query *q = object;
    char path[48];
    snprintf(path, sizeof path, "/open/%s", q->id);
    jw_str(j, path);
}

#define OBJECT struct stored_query
static const struct member query_members[] = {
    MEMBER("id", id),
    MEMBER("name", name),
    MEMBER("query", query),
    MEMBER_WRITTEN("url", write_url, "{'type':'string','description':'path of the result'}"),
    MEMBER_WRITTEN("open", write_open,
                   "{'type':'string','description':'page that opens the result in Perfetto'}"),
    MEMBER_COMPUTED("expires_s", VALUE_INT, time_left),
};
static const struct object_type query_type = {"StoredQuery", MEMBERS(query_members)};
#undef OBJECT

#define OBJECT struct state
static const struct member list_members[] = {
    MEMBER_OBJECTS("queries", queries, count, &query_type),
};
static const struct object_type list_type = {NULL, MEMBERS(list_members)};
#undef OBJECT

static const struct object_type *const answers[] = {&query_type, &list_type, NULL};
static const struct object_type answer_type = {.name = "StoredQueries", .refers = answers};

/* ---- the query of a POST --------------------------------------------------------------------- */

/* Reports the error with which the query itself would be refused. */
static int try_query(struct request *rq, const struct endpoint *e, const char *search)
{
    struct request probe = {.http = rq->http, .endpoint = e};
    int rc = request_begin(&probe, search);
    rc = rc < 0 ? rc : request_finish(&probe, NULL);
    if (rc == 0 && request_flag(&probe, "follow"))
        rc = params_refuse(rq, "query", "must not use `follow`: such a response has no end");
    else if (rc < 0 && rc != -ENOMEM)
        rc = err_set_param(&rq->err, ERR_PARAM, "query", "`query`: %.300s", probe.err.text);
    err_done(&probe.err);
    arena_done(&probe.arena);
    return rc;
}

static int check_query(struct request *rq, const char *query)
{
    struct text path = {query, strcspn(query, "?")};
    const struct endpoint *e = router_find(rq->http->endpoints, path);
    if (strlen(query) > STORED_QUERY_MAX)
        return params_refuse(rq, "query", "must not be longer than 64 KiB");
    if (!e || e->immediate || e->changes || !e->format_count || !(e->methods & METHOD_GET))
        return params_refuse(
            rq, "query",
            "must be a request for data in the traces, such as /aggregate?format=perfetto");
    return try_query(rq, e, query[path.len] ? query + path.len + 1 : NULL);
}

static bool is_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t n = strlen(name);
    return n && n <= NAME_MAX_LENGTH && *name != '.' && strspn(name, allowed) == n;
}

/* Accepts https://host[:port][/path], or http:// on loopback, where nobody else can listen in,
 * without characters that are special in HTML. */
static bool is_ui(const char *ui)
{
    static const char *const starts[] = {"https://", "http://localhost", "http://127.0.0.1",
                                         "http://[::1]"};
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/[]~%";
    if (strspn(ui, allowed) != strlen(ui) || strlen(ui) > 500)
        return false;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t n = strlen(starts[i]);
        if (strncmp(ui, starts[i], n) != 0)
            continue;
        return i ? strchr(":/", ui[n]) != NULL : ui[n] && !strchr(":/", ui[n]);
    }
    return false;
}

/* Admins have no share. */
static struct hash128 owner_of(const struct request *rq)
{
    struct {
        uint64_t uid;
        unsigned char address[16];
    } key = {.uid = rq->client->uid};
    memcpy(key.address, rq->client->address, sizeof key.address);
    return rq->admin ? (struct hash128){0, 0}
                     : text_hash128((struct text){(const char *)&key, sizeof key});
}

static int store_query(struct request *rq, struct state *s)
{
    struct stored_query *q = s->queries = arena_alloc(&rq->arena, sizeof *q);
    if (!q)
        return -ENOMEM;
    s->count = 1;
    *q = (struct stored_query){.name = request_text(rq, "name"),
                               .query = request_text(rq, "query"),
                               .ui = request_text(rq, "ui"),
                               .owner = owner_of(rq),
                               .viewer = rq->viewer};
    if (!is_name(q->name))
        return params_refuse(
            rq, "name",
            "must be a file name of 1 to 100 letters, digits, - _ and dots that does not "
            "begin with a dot");
    if (!is_ui(q->ui))
        return params_refuse(rq, "ui",
                             "must be an https:// address, or an http:// address on this machine");
    int rc = check_query(rq, q->query);
    return rc < 0 ? rc : stored_add(rq->http->stored, q);
}

static int open_store(struct request *rq)
{
    struct state *s = rq->state;
    if (rq->post)
        return store_query(rq, s);
    return stored_list(rq->http->stored, rq->viewer, &rq->arena, &s->queries, &s->count);
}

static int next_store(struct request *rq, struct buf *out)
{
    const struct state *s = rq->state;
    return rq->post ? format_object(&query_type, s->queries, rq->pretty, out)
                    : format_object(&list_type, s, rq->pretty, out);
}

const struct endpoint endpoint_store = {
    .path = "/q",
    .summary = "list of stored queries; POST stores one under its own path",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &answer_type,
    PARAMS(own_params, pretty_params),
    FORMATS(FORMAT_JSON),
    .immediate = true,
    .changes = true,
    .state_size = sizeof(struct state),
    .open = open_store,
    .next = next_store,
};

/* The endpoint of the stored query answers instead: see request_check. */
const struct endpoint endpoint_stored = {
    .path = "/q/{id}/{name}",
    .summary = "result of a stored query",
    .methods = METHOD_GET,
};
