/* object.c - objects of answers as JSON and as rows of tables. */
#include "dftracerd/format.h"

#include <assert.h>
#include <stdio.h>

enum { PIECE = 64 << 10, ITEMS_A_CHECK = 1024, COLUMNS_MAX = 128 };

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_value(struct jw *j, struct value v)
{
    jw_value(j, &v);
}

static void put_item(struct jw *j, const struct member *m, const void *object, size_t i)
{
    const void *item = member_item(m, object, i);

    if (m->kind == MEMBER_OBJECT)
        jw_object(j, m->of, item);
    else
        put_value(j, member_item_value(m, item));
}

/* Whether a list may go on: the budget may be used up, or the request cancelled. */
static bool may_go_on(struct jw *j, size_t i)
{
    if (j->budget && i % ITEMS_A_CHECK == 0 && !j->out->error)
        j->out->error = budget_check_answer(j->budget, j->out);
    return !j->out->error;
}

/* Without brackets. */
static bool is_bare(const struct member *m, const void *object)
{
    return m->bare && member_count(m, object) == 1;
}

static void put_list(struct jw *j, const struct member *m, const void *object)
{
    size_t count = member_count(m, object);

    jw_begin(j, '[');
    for (size_t i = 0; i < count && may_go_on(j, i); i++)
        put_item(j, m, object, i);
    jw_end(j, ']');
}

static void put_named(struct jw *j, const struct member *m, const void *object)
{
    size_t count = member_count(m, object);

    for (size_t i = 0; i < count; i++) {
        jw_key(j, member_item_name(m, object, i));
        put_item(j, m, object, i);
    }
}

static void put_member(struct jw *j, const struct member *m, const void *object)
{
    bool there = member_is_there(m, object);

    if (m->place == MEMBER_NAMED) {
        put_named(j, m, object);
        return;
    }
    if (!there && m->optional)
        return;
    jw_key(j, m->name);
    if (!there)
        jw_null(j);
    else if (m->write)
        m->write(j, object);
    else if (is_bare(m, object))
        put_item(j, m, object, 0);
    else if (m->place == MEMBER_LIST)
        put_list(j, m, object);
    else if (m->kind == MEMBER_OBJECT)
        jw_object(j, m->of, member_object(m, object));
    else
        put_value(j, member_value(m, object));
}

void jw_members(struct jw *j, const struct object_type *type, const void *object)
{
    for (size_t i = 0; i < type->count; i++)
        put_member(j, &type->members[i], object);
}

void jw_object(struct jw *j, const struct object_type *type, const void *object)
{
    jw_begin(j, '{');
    jw_members(j, type, object);
    jw_end(j, '}');
}

/* ---- documents ------------------------------------------------------------------------------- */

static void enter(struct document *d, const struct object_type *type, const void *object)
{
    jw_begin(&d->jw, '{');
    d->levels[d->depth++] = (struct document_level){.type = type, .object = object};
}

void document_begin(struct document *d, const struct object_type *type, const void *object,
                    bool pretty)
{
    *d = (struct document){.levels = {{.type = type, .object = object}}};
    jw_init(&d->jw, NULL, pretty);
}

static bool has_lists(const struct object_type *type)
{
    for (size_t i = 0; i < type->count; i++)
        if (type->members[i].place == MEMBER_LIST)
            return true;
    return false;
}

static void put_list_item(struct document *d, struct document_level *l, const struct member *m)
{
    if (m->kind == MEMBER_OBJECT && d->depth < DOCUMENT_LEVELS && has_lists(m->of))
        enter(d, m->of, member_item(m, l->object, l->item++));
    else
        put_item(&d->jw, m, l->object, l->item++);
}

/* A member of the object at hand, or an item of its list, or its end. */
static void put_step(struct document *d)
{
    struct document_level *l = &d->levels[d->depth - 1];
    const struct member *m = &l->type->members[l->member];

    if (l->member == l->type->count) {
        jw_end(&d->jw, '}');
        d->depth--;
    } else if (m->place != MEMBER_LIST || !member_is_there(m, l->object) || is_bare(m, l->object)) {
        put_member(&d->jw, m, l->object);
        l->member++;
    } else if (!l->in_list) {
        jw_key(&d->jw, m->name);
        jw_begin(&d->jw, '[');
        l->in_list = true;
        l->item = 0;
    } else if (l->item < member_count(m, l->object)) {
        if (may_go_on(&d->jw, l->item))
            put_list_item(d, l, m);
    } else {
        jw_end(&d->jw, ']');
        l->in_list = false;
        l->member++;
    }
}

int document_next(struct document *d, struct buf *out)
{
    size_t start = out->len;

    d->jw.out = out;
    if (!d->begun)
        enter(d, d->levels[0].type, d->levels[0].object);
    d->begun = true;
    while (d->depth && out->len - start < PIECE && !out->error)
        put_step(d);
    if (!d->depth)
        jw_finish(&d->jw);
    return out->error ? out->error : d->depth ? 0 : ERR_END;
}

int format_document(const struct object_type *type, const void *object, bool pretty,
                    struct budget *budget, struct buf *out)
{
    struct document d;
    int rc = 0;

    document_begin(&d, type, object, pretty);
    d.jw.budget = budget;
    while (rc == 0)
        rc = document_next(&d, out);
    return rc;
}

int format_object(const struct object_type *type, const void *object, bool pretty, struct buf *out)
{
    return format_document(type, object, pretty, NULL, out);
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct columns {
    const char *names[COLUMNS_MAX];
    size_t count;
    struct arena arena; /* of names that are put together */
};

static const char *join_names(struct arena *arena, const char *prefix, const char *name)
{
    char joined[128]; /* both are of tables */
    int len = snprintf(joined, sizeof(joined), "%s_%s", prefix, name);

    return arena_strdup(arena, (struct text){joined, (size_t)len});
}

static void add_column(struct columns *c, const char *prefix, const char *name)
{
    assert(c->count < COLUMNS_MAX);
    c->names[c->count++] = prefix ? join_names(&c->arena, prefix, name) : name;
}

static void add_columns(struct columns *c, const char *prefix, const struct object_type *type,
                        const void *like)
{
    for (size_t i = 0; i < type->count; i++) {
        const struct member *m = &type->members[i];
        if (m->kind == MEMBER_OBJECT)
            add_columns(c, m->name, m->of, NULL);
        else if (m->place != MEMBER_NAMED)
            add_column(c, prefix, m->name);
        for (size_t k = 0; m->place == MEMBER_NAMED && k < member_count(m, like); k++)
            add_column(c, NULL, member_item_name(m, like, k));
    }
}

int format_table_like(enum format f, const struct object_type *type, const void *like,
                      struct format_table **ret)
{
    struct columns c = {.count = 0};

    add_columns(&c, NULL, type, like);
    int rc = c.arena.error ? c.arena.error : format_table_new(f, c.names, c.count, ret);
    arena_done(&c.arena);
    return rc;
}

int format_table_of(enum format f, const struct object_type *type, struct format_table **ret)
{
    return format_table_like(f, type, NULL, ret);
}

/* Returns the place behind the last value. */
static struct value *put_values(const struct object_type *type, const void *object,
                                struct value *to)
{
    for (size_t i = 0; i < type->count; i++) {
        const struct member *m = &type->members[i];
        if (m->kind == MEMBER_OBJECT)
            to = put_values(m->of, member_object(m, object), to);
        else if (m->place != MEMBER_NAMED)
            *to++ = member_value(m, object);
        for (size_t k = 0; m->place == MEMBER_NAMED && k < member_count(m, object); k++)
            *to++ = member_item_value(m, member_item(m, object, k));
    }
    return to;
}

void format_table_object(struct format_table *t, const struct object_type *type, const void *object,
                         struct buf *out)
{
    struct value row[COLUMNS_MAX];

    put_values(type, object, row);
    format_table_row(t, row, out);
}

int format_list(enum format f, const struct object_type *type, const void *items, size_t count,
                struct buf *out)
{
    struct format_table *t;
    int rc = format_table_of(f, type, &t);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count && !out->error; i++)
        format_table_object(t, type, (const char *)items + i * type->size, out);
    format_table_end(t, out);
    format_table_free(t);
    return out->error;
}
