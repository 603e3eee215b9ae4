/* object.c - objects of answers as JSON and as rows of tables. */
#include "dftracerd/format.h"

#include <assert.h>

enum { PIECE = 64 << 10, ITEMS_A_CHECK = 1024, MEMBERS_MAX = 64 };

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

static void put_list(struct jw *j, const struct member *m, const void *object)
{
    size_t count = member_count(m, object);

    jw_begin(j, '[');
    for (size_t i = 0; i < count && may_go_on(j, i); i++)
        put_item(j, m, object, i);
    jw_end(j, ']');
}

static void put_member(struct jw *j, const struct member *m, const void *object)
{
    bool there = member_is_there(m, object);

    if (!there && m->optional)
        return;
    jw_key(j, m->name);
    if (!there)
        jw_null(j);
    else if (m->write)
        m->write(j, (const char *)object + m->offset);
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

void document_begin(struct document *d, const struct object_type *type, const void *object,
                    bool pretty)
{
    *d = (struct document){.type = type, .object = object};
    jw_init(&d->jw, NULL, pretty);
}

/* Items of the list at hand until the piece is large enough. True: that was all. */
static bool put_items(struct document *d, const struct member *m, size_t start)
{
    size_t count = member_count(m, d->object);
    struct buf *out = d->jw.out;

    if (!d->in_list) {
        jw_key(&d->jw, m->name);
        jw_begin(&d->jw, '[');
        d->in_list = true;
        d->item = 0;
    }
    while (d->item < count && out->len - start < PIECE && may_go_on(&d->jw, d->item))
        put_item(&d->jw, m, d->object, d->item++);
    if (d->item < count)
        return false;
    jw_end(&d->jw, ']');
    d->in_list = false;
    return true;
}

int document_next(struct document *d, struct buf *out)
{
    size_t start = out->len;

    d->jw.out = out;
    if (!d->begun)
        jw_begin(&d->jw, '{');
    d->begun = true;
    for (; d->member < d->type->count && !out->error; d->member++) {
        const struct member *m = &d->type->members[d->member];
        if (m->place != MEMBER_LIST || !member_is_there(m, d->object))
            put_member(&d->jw, m, d->object);
        else if (!put_items(d, m, start))
            return out->error;
    }
    if (!out->error) {
        jw_end(&d->jw, '}');
        jw_finish(&d->jw);
    }
    return out->error ? out->error : ERR_END;
}

int format_object(const struct object_type *type, const void *object, bool pretty, struct buf *out)
{
    struct document d;
    int rc = 0;

    document_begin(&d, type, object, pretty);
    while (rc == 0)
        rc = document_next(&d, out);
    return rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

int format_table_of(enum format f, const struct object_type *type, struct format_table **ret)
{
    const char *names[MEMBERS_MAX];

    assert(type->count <= MEMBERS_MAX);
    for (size_t i = 0; i < type->count; i++)
        names[i] = type->members[i].name;
    return format_table_new(f, names, type->count, ret);
}

void format_table_object(struct format_table *t, const struct object_type *type, const void *object,
                         struct buf *out)
{
    struct value row[MEMBERS_MAX];

    for (size_t i = 0; i < type->count; i++)
        row[i] = member_value(&type->members[i], object);
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
