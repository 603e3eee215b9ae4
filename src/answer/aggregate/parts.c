/* parts.c - dirname(x) and basename(x) as keys: parts of texts. */
#include "answer/aggregate/plan.h"
#include "engine/derived/keys.h"

#include <string.h>

/* Like dirname(1) and basename(1), ignores trailing slashes: "/d/" is "d" in "/". */
static struct text without_end_slashes(struct text path)
{
    while (path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    return path;
}

static const char *last_slash(struct text path)
{
    return path.len ? memrchr(path.ptr, '/', path.len) : NULL;
}

static struct text dirname_of(struct text path)
{
    const char *slash = last_slash(without_end_slashes(path));

    if (!slash)
        return TEXT(".");
    return without_end_slashes((struct text){path.ptr, (size_t)(slash - path.ptr) + 1});
}

static struct text basename_of(struct text path)
{
    struct text p = without_end_slashes(path);
    const char *slash = p.len > 1 ? last_slash(p) : NULL;

    return slash ? (struct text){slash + 1, (size_t)(p.ptr + p.len - slash - 1)} : p;
}

int plan_keys(void *plan, const uint64_t *keys, uint64_t *ret)
{
    const struct aggregate_plan *p = plan;

    for (unsigned i = 0; i < p->width; i++) {
        struct value v;
        ret[i] = keys[i];
        if (p->keys[i].part == KEY_WHOLE)
            continue;
        query_key_value(p->query, keys[i], &v);
        if (v.type != VALUE_TEXT)
            continue;
        struct column_entry e = {.type = TRACE_TEXT,
                                 .text_id = INDEX_NO_TEXT,
                                 .text = p->keys[i].part == KEY_DIRNAME ? dirname_of(v.text)
                                                                        : basename_of(v.text)};
        int rc = key_of_entry(p->query, &e, &ret[i]);
        if (rc < 0)
            return rc;
    }
    return 0;
}
