/* object.c - writes objects of answers as JSON and as rows of tables. */
#include "dftracerd/format.h"
#include "format/writer/member_number.h"
#include "format/writer/list_stop.h"
#include "format/writer/value_text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    PIECE = 64 << 10, /* bytes of a document that are written at a time */
    COLUMNS_MAX = 128,
    INDENT_MAX = 64
};

/* ---- members that are single values, compact ------------------------------------------------- */

/* True for members that are written as they are in the struct. */
static inline bool is_plain(const struct member *m)
{
    return m->place == MEMBER_HERE && m->kind != MEMBER_OBJECT && !m->compute && !m->write &&
           !m->choices && !m->digits;
}

static inline bool is_null(const struct member *m, const void *p)
{
    if (m->kind == MEMBER_STRING)
        return !m->inside && !*(const char *const *)p;
    return m->kind == MEMBER_VALUE && ((const struct value *)p)->type == VALUE_NULL;
}

/* Writes the comma and the key, and reserves space for a number. */
static inline char *put_key(struct jw *j, const struct member *m)
{
    const size_t most = MEMBER_KEY_BYTES + MEMBER_NUMBER_BYTES;
    struct buf *out = j->out;
    char *to = out->cap - out->len > most ? out->data + out->len : buf_reserve(out, most);
    bool first = !j->nonempty[j->depth];

    if (!to || out->error)
        return NULL;
    j->nonempty[j->depth] = true;
    memcpy(to, m->key + first, MEMBER_KEY_BYTES - 1); /* copying a fixed length is faster */
    return to + m->key_len - first;
}

static void put_text(struct buf *out, const struct member *m, const void *p)
{
    if (m->kind == MEMBER_STRING)
        jw_escape(out, text_of(m->inside ? p : *(const char *const *)p));
    else if (m->kind == MEMBER_TEXT)
        jw_escape(out, *(const struct text *)p);
    else
        value_json(out, p);
}

static void put_plain(struct jw *j, const struct member *m, const void *object)
{
    const void *p = (const char *)object + m->offset;
    bool null = is_null(m, p), present = m->when ? *((const bool *)object + m->when - 1) : !null;
    char *to = present || !m->optional ? put_key(j, m) : NULL;

    if (!to)
        return;
    char *end = present && !null ? member_number(m->kind, p, to) : member_null(to);
    j->out->len = (size_t)((end ? end : to) - j->out->data);
    if (!end)
        put_text(j->out, m, p);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_value(struct jw *j, struct value v)
{
    jw_value(j, &v);
}

static void put_item(struct jw *j, const struct member *m, const void *item)
{
    if (!item)
        return;
    if (m->kind == MEMBER_OBJECT)
        jw_object(j, m->of, item);
    else
        put_value(j, member_item_value(m, item));
}

/* True for objects that are written without brackets. */
static bool is_bare(const struct member *m, const void *object)
{
    return m->bare && member_count(m, object) == 1;
}

static bool is_value(const struct member *m)
{
    return m->place == MEMBER_HERE && m->kind != MEMBER_OBJECT && !m->write;
}

static void put_other(struct jw *j, const struct member *m, const void *object)
{
    struct value v = is_value(m) ? member_value(m, object) : (struct value){.type = VALUE_NULL};
    bool present = v.type != VALUE_NULL || member_is_there(m, object);

    if (m->place == MEMBER_NAMED) {
        size_t count = member_count(m, object);
        for (size_t i = 0; i < count; i++) {
            jw_key(j, member_item_name(m, object, i));
            put_item(j, m, member_item(m, object, i));
        }
        return;
    }
    if (!present && m->optional)
        return;
    jw_key(j, m->name);
    if (!present || is_value(m))
        put_value(j, v);
    else if (m->write)
        m->write(j, (const char *)object + m->offset);
    else if (is_bare(m, object))
        put_item(j, m, member_item(m, object, 0));
    else if (m->stride && !m->bare)
        jw_numbers(j, m->kind, member_item(m, object, 0), m->stride, member_count(m, object));
    else if (m->place == MEMBER_LIST) {
        size_t count = member_count(m, object);
        jw_begin(j, '[');
        for (size_t i = 0; i < count && !list_must_stop(j->budget, i, j->out); i++)
            put_item(j, m, member_item(m, object, i));
        jw_end(j, ']');
    } else
        jw_object(j, m->of, member_object(m, object));
}

static inline void put_member(struct jw *j, const struct member *m, const void *object)
{
    if (!j->pretty && is_plain(m))
        put_plain(j, m, object);
    else
        put_other(j, m, object);
}

void jw_members(struct jw *j, const struct object_type *type, const void *object)
{
    for (size_t i = 0; i < type->count; i++)
        put_member(j, &type->members[i], object);
}

void jw_object(struct jw *j, const struct object_type *type, const void *object)
{
    jw_begin(j, type->values ? '[' : '{');
    for (size_t i = 0; type->values && i < type->count; i++)
        put_value(j, member_value(&type->members[i], object));
    if (!type->values)
        jw_members(j, type, object);
    jw_end(j, type->values ? ']' : '}');
}

void format_line(const struct object_type *type, const void *object, struct buf *out)
{
    struct jw j;

    jw_init(&j, out, false);
    jw_object(&j, type, object);
    buf_putc(out, '\n');
}

/* ---- lists with nested items ----------------------------------------------------------------- */

static void end_nodes(struct document *d, int64_t depth)
{
    for (; d->node >= depth; d->node--)
        buf_puts(d->jw.out, "]}");
}

/* Writes one item on a line of its own if pretty. The indentation is limited, because lines of a
 * deep tree would be as long as the tree is deep. */
static void put_node(struct document *d, const struct member *m, const void *item)
{
    uint32_t depth = *(const uint32_t *)((const char *)item + m->of->nests - 1);
    unsigned indent = d->jw.depth + (depth < INDENT_MAX ? depth : INDENT_MAX);
    struct buf *out = d->jw.out;
    struct jw node;

    if (d->node >= depth) {
        end_nodes(d, depth);
        buf_putc(out, ',');
    }
    if (d->jw.pretty && (depth || !m->root)) {
        buf_putc(out, '\n');
        for (unsigned i = 0; i < indent; i++)
            buf_puts(out, "  ");
    }
    jw_init(&node, out, false);
    jw_begin(&node, '{');
    jw_members(&node, m->of, item);
    jw_key(&node, "children");
    buf_putc(out, '[');
    d->node = depth;
}

/* ---- documents ------------------------------------------------------------------------------- */

static void push_object(struct document *d, const struct object_type *type, const void *object)
{
    assert(d->depth < DOCUMENT_DEPTH_MAX);
    d->open[d->depth++] = (struct document_object){.type = type, .object = object};
}

void document_begin(struct document *d, const struct object_type *type, const void *object,
                    bool pretty)
{
    *d = (struct document){.depth = 0};
    jw_init(&d->jw, NULL, pretty);
    push_object(d, type, object);
}

static bool has_lists(const struct object_type *type)
{
    for (size_t i = 0; i < type->count; i++) {
        const struct member *m = &type->members[i];
        if (m->write || m->place != MEMBER_HERE || (m->kind == MEMBER_OBJECT && has_lists(m->of)))
            return true;
    }
    return false;
}

/* True if its items or members are written one by one. */
static bool is_opened(const struct document *d, const struct member *m, const void *object)
{
    bool fits =
        m->place == MEMBER_LIST || (m->kind == MEMBER_OBJECT && d->depth < DOCUMENT_DEPTH_MAX);

    return fits && !m->write && !m->stride && member_is_there(m, object) && !is_bare(m, object);
}

static void put_next_member(struct document *d, struct document_object *o, const struct member *m)
{
    bool opened = is_opened(d, m, o->object);

    if (opened && m->place == MEMBER_LIST) {
        jw_key(&d->jw, m->name);
        if (m->root)
            d->jw.after_key = false; /* the value is written by put_node */
        else
            jw_begin(&d->jw, '[');
        d->node = -1;
        o->item = 0;
        o->whole_items = m->kind != MEMBER_OBJECT || m->of->values || !has_lists(m->of);
        o->in_list = true;
        return;
    }
    o->member++;
    if (opened) {
        jw_key(&d->jw, m->name);
        push_object(d, m->of, member_object(m, o->object));
    } else {
        put_member(&d->jw, m, o->object);
    }
}

/* Writes a member or an item, or the begin or end of an object or a list. */
static void put_next(struct document *d)
{
    struct document_object *o = &d->open[d->depth - 1];
    const struct member *m = &o->type->members[o->member];

    if (!o->begun) {
        jw_begin(&d->jw, '{');
        o->begun = true;
    } else if (o->member == o->type->count) {
        jw_end(&d->jw, '}');
        d->depth--;
    } else if (!o->in_list) {
        put_next_member(d, o, m);
    } else if (o->item == member_count(m, o->object)) {
        end_nodes(d, 0);
        if (!m->root)
            jw_end(&d->jw, ']');
        o->in_list = false;
        o->member++;
    } else if (!list_must_stop(d->jw.budget, o->item, d->jw.out)) {
        const void *item = member_item(m, o->object, o->item++);
        if (item && m->kind == MEMBER_OBJECT && m->of->nests)
            put_node(d, m, item);
        else if (item && !o->whole_items && d->depth < DOCUMENT_DEPTH_MAX)
            push_object(d, m->of, item);
        else
            put_item(&d->jw, m, item);
    }
}

int document_next(struct document *d, struct buf *out)
{
    size_t start = out->len;

    d->jw.out = out;
    while (d->depth > 0 && out->len - start < PIECE && !out->error)
        put_next(d);
    if (d->depth > 0 || out->error)
        return out->error;
    jw_finish(&d->jw);
    return out->error ? out->error : ERR_END;
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
    struct arena arena; /* for joined names */
};

static void add_column(struct columns *c, const char *prefix, const char *name)
{
    char joined[128]; /* both names are keys of member tables */

    assert(c->count < COLUMNS_MAX);
    snprintf(joined, sizeof(joined), "%s_%s", prefix ? prefix : "", name);
    c->names[c->count++] = prefix ? arena_strdup(&c->arena, text_of(joined)) : name;
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

/* Returns the position after the last value. */
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
