/* schema_bytes.c - encodes columns: path, types, number of rows, minimum and maximum, distinct
 * values of each. */
#include "answer/small/schema.h"

static bool is_text(const struct value *v)
{
    return v->type == VALUE_TEXT || v->type == VALUE_JSON;
}

static void put_value(const struct value *v, struct buf *out)
{
    rec_put_u(out, v->type);
    if (is_text(v)) {
        rec_put_text(out, v->text);
        return;
    }
    buf_append(out, &v->i, sizeof(v->i));
    rec_put_i128(out, v->wide);
}

static struct value take_value(struct rec *in)
{
    struct value v = {.type = (enum value_type)rec_choice(in, VALUE_JSON)};

    if (is_text(&v))
        v.text = rec_text(in);
    else if (rec_array(in, &v.i, sizeof(v.i)))
        v.wide = rec_i128(in);
    return v;
}

static void put_extent(const struct seen_extent *e, struct buf *out)
{
    bool any = e->min.type != VALUE_NULL;

    rec_put_u(out, any);
    if (!any)
        return;
    put_value(&e->min, out);
    put_value(&e->max, out);
}

static int take_extent(struct seen_extent *e, struct rec *in)
{
    if (!rec_u(in))
        return 0;
    struct value min = take_value(in), max = take_value(in);
    int rc = in->bad ? 0 : extent_add(e, &min);

    return rc < 0 || in->bad ? rc : extent_add(e, &max);
}

void columns_put(const struct columns_seen *cs, struct buf *out)
{
    for (uint32_t i = 0; i < cs->columns.count; i++) {
        const struct column_seen *c = cs->columns.at[i];
        if (!c)
            continue;
        rec_put_u(out, true);
        rec_put_text(out, intern_text(cs->paths, i));
        rec_put_u(out, c->types);
        rec_put_u(out, c->rows);
        put_extent(&c->numbers, out);
        put_extent(&c->bools, out);
        put_extent(&c->texts, out);
        distinct_put(&c->distinct, out);
    }
    rec_put_u(out, false);
}

int columns_take(struct columns_seen *cs, struct rec *in)
{
    int rc = 0;

    while (rc == 0 && rec_u(in)) {
        struct column_seen *c;
        struct text path = rec_text(in);
        rc = in->bad ? ERR_CORRUPT : columns_find(cs, path, &c);
        if (rc < 0)
            break;
        c->types |= (unsigned)rec_u(in);
        c->rows += rec_u(in);
        rc = take_extent(&c->numbers, in);
        rc = rc < 0 ? rc : take_extent(&c->bools, in);
        rc = rc < 0 ? rc : take_extent(&c->texts, in);
        rc = rc < 0 ? rc : distinct_take(&c->distinct, in, cs->budget);
    }
    return rc < 0 ? rc : in->bad ? ERR_CORRUPT : 0;
}
