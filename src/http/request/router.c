/* router.c - finds the endpoint of a path. */
#include "http/request/router.h"

#include <stdio.h>
#include <string.h>

static bool matches_path(const char *pattern, struct text path)
{
    struct text rest = text_of(pattern), want, got;
    while (text_split(&rest, '/', &want)) {
        if (!text_split(&path, '/', &got))
            return false;
        bool any = want.len && *want.ptr == '{';
        if (any ? !got.len : !text_eq(want, got))
            return false;
    }
    return !path.ptr;
}

const struct endpoint *router_find(const struct endpoint *const *table, struct text path)
{
    for (size_t i = 0; table[i]; i++)
        if (matches_path(table[i]->path, path))
            return table[i];
    return NULL;
}

/* Paths of the earlier dftracer_server; docs/API.md has the same table. */
static const struct {
    const char *old, *now; /* NULL: there is no corresponding path */
} old_paths[] = {
    {"/index.html", "/"},
    {"/api/v1/info", "/info?detail=files"},
    {"/api/v1/files", "/info?detail=files"},
    {"/api/v1/files/info", "/info?detail=files"},
    {"/api/v1/events", "/view"},
    {"/api/v1/events/stream", "/view"},
    {"/api/v1/stats", "/stats"},
    {"/api/viz/events", "/timeline"},
    {"/api/viz/density", "/timeline"},
    {"/api/viz/stats", "/stats?report=detailed"},
    {"/api/viz/calltree", "/call-tree"},
    {"/api/viz/histogram", "/histogram"},
    {"/api/viz/counters", "/aggregate"},
    {"/api/viz/proctree", "/processes"},
    {"/api/viz/columns", "/schema"},
    {"/api/viz/layers", "/stats?report=names"},
    {"/api/viz/untimed", "/view"},
    {"/api/viz/breaks", NULL},
    {"/api/prov/graph", NULL},
};

void router_missing(const char *path, char *out, size_t size)
{
    const char *now = NULL;
    for (size_t i = 0; i < sizeof old_paths / sizeof *old_paths; i++)
        if (strcmp(path, old_paths[i].old) == 0)
            now = old_paths[i].now;
    if (now)
        snprintf(out, size, "no such endpoint: %s of the old dftracer_server is now %s", path, now);
    else if (strncmp(path, "/api/", 5) == 0)
        snprintf(out, size,
                 "no such endpoint: the paths of the old dftracer_server are not served; "
                 "docs/API.md lists what replaces them, and `/openapi.json` all endpoints");
    else
        snprintf(out, size, "no such endpoint; `/openapi.json` lists them");
}

void router_allow(const struct endpoint *e, char *out, size_t size)
{
    snprintf(out, size, "%s%s%sOPTIONS", e->methods & METHOD_GET ? "GET, HEAD, " : "",
             e->methods & METHOD_POST ? "POST, " : "",
             e->methods & METHOD_DELETE ? "DELETE, " : "");
}
