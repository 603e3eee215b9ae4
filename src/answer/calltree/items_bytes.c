/* items_bytes.c - items as bytes: the keys of lanes and tuples; totals; of each chunk its position
 * and its items, as differences to the item before. */
#include "answer/calltree/items.h"

#include <errno.h>

enum { ITEMS_AT_ONCE = 4096, ITEM_BYTES = 50 };

/* ---- to bytes -------------------------------------------------------------------------------- */

static void put_table(struct query *q, const struct group_table *t, struct buf *out)
{
    for (uint32_t i = 0; i < t->count; i++)
        for (unsigned k = 0; k < t->width; k++)
            key_encode(q, group_table_keys(t, i)[k], out);
}

static int64_t minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* As rec_put_u and rec_put_i, of many. */
static uint8_t *put_u(uint8_t *at, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *at++ = (uint8_t)v | 0x80;
    *at++ = (uint8_t)v;
    return at;
}

static uint8_t *put_i(uint8_t *at, int64_t v)
{
    return put_u(at, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void put_part(const struct item_part *p, struct buf *out)
{
    static const struct call_item none;
    const struct call_item *before = &none;

    rec_put_u(out, p->position);
    for (uint32_t i = 0; i < p->count; i += ITEMS_AT_ONCE) {
        uint8_t *start = (uint8_t *)buf_reserve(out, ITEMS_AT_ONCE * ITEM_BYTES), *at = start;
        for (uint32_t k = i; at && k < i + ITEMS_AT_ONCE && k < p->count; k++) {
            const struct call_item *item = &p->items[k];
            at = put_i(at, minus(item->ts, before->ts));
            at = put_i(at, minus(item->te, item->ts));
            at = put_i(at, minus(item->id, before->id));
            at = put_u(at, p->numbers->tuple[item->tuple]);
            at = put_u(at, p->numbers->lane[item->lane]);
            before = item;
        }
        out->len += (size_t)(at - start);
    }
}

void items_put(void *arg, struct buf *out)
{
    const struct item_job *job = arg;
    const struct call_tree *t = job->tree;

    rec_put_u(out, t->lanes_found.count);
    rec_put_u(out, t->tuples_found.count);
    put_table(t->query, &t->lanes_found, out);
    put_table(t->query, &t->tuples_found, out);
    rec_put_u(out, t->totals.events);
    rec_put_u(out, t->totals.other_phases);
    rec_put_u(out, t->totals.untimed);
    for (const struct item_part *p = job->first; p; p = p->next) {
        rec_put_u(out, p->count);
        put_part(p, out);
    }
    rec_put_u(out, 0);
}

/* ---- from bytes ------------------------------------------------------------------------------ */

/* Adds the keys; of[i]: the number of those that were number i. */
static int take_table(struct query *q, struct group_table *t, uint64_t count, struct rec *in,
                      uint32_t *of)
{
    uint64_t keys[GROUP_KEYS_MAX];
    int rc = 0;

    for (uint64_t i = 0; i < count && rc == 0; i++) {
        for (unsigned k = 0; k < t->width && rc == 0; k++)
            rc = key_decode(q, in, &keys[k]);
        int64_t group = rc < 0 ? rc : in->bad ? ERR_CORRUPT : group_table_add(t, keys);
        rc = group < 0 ? (int)group : 0;
        of[i] = (uint32_t)group;
    }
    return rc;
}

/* As rec_u and rec_i, of many that are small. */
static uint64_t take_u(struct rec *in)
{
    const uint8_t *p = in->ptr;

    bool one = in->end - p >= 2 && p[0] < 0x80, two = !one && in->end - p >= 2 && p[1] < 0x80;

    if (!one && !two)
        return rec_u(in);
    in->ptr += 1 + two;
    return two ? (p[0] & 0x7fu) | (uint64_t)p[1] << 7 : p[0];
}

static int64_t take_i(struct rec *in)
{
    uint64_t v = take_u(in);

    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static uint32_t take_number(struct rec *in, uint64_t count)
{
    uint64_t v = take_u(in);

    in->bad |= v >= count;
    return v < count ? (uint32_t)v : 0;
}

static int take_parts(struct item_job *job, struct rec *in, const struct item_numbers *numbers,
                      uint64_t lanes, uint64_t tuples)
{
    const struct scan_place *places;
    size_t place_count = scan_places(job->tree->query, &places);
    int rc = 0;

    for (uint64_t count; rc == 0 && (count = rec_count(in, 5)) != 0;) {
        struct item_part *p;
        uint64_t position = rec_u(in);
        rc = lanes && tuples && position < place_count && count <= UINT32_MAX ? 0 : ERR_CORRUPT;
        rc = rc < 0 ? rc : items_new(job->tree, (uint32_t)count, &p);
        if (rc < 0)
            break;
        p->position = position;
        p->numbers = numbers;
        items_add(job, p);
        struct call_item before = {0};
        for (uint32_t i = 0; i < p->count; i++) {
            struct call_item *item = &p->items[i];
            item->ts = plus(before.ts, take_i(in));
            item->te = plus(item->ts, take_i(in));
            item->id = plus(before.id, take_i(in));
            item->tuple = take_number(in, tuples);
            item->lane = take_number(in, lanes);
            before = *item;
        }
        rc = budget_check(job->tree->budget);
    }
    return rc < 0 ? rc : in->bad ? ERR_CORRUPT : 0;
}

int items_take(void *arg, struct rec *in)
{
    struct item_job *job = arg;
    struct call_tree *t = job->tree;
    struct item_numbers *numbers = NULL;
    uint64_t lanes = rec_count(in, t->lanes_found.width),
             tuples = rec_count(in, t->tuples_found.width); /* of the other process */
    int rc = lanes < CALL_NOBODY && tuples < CALL_NOBODY
                 ? item_numbers_new(job, (uint32_t)lanes, (uint32_t)tuples, &numbers)
                 : ERR_CORRUPT;

    rc = rc < 0 ? rc : take_table(t->query, &t->lanes_found, lanes, in, numbers->lane);
    rc = rc < 0 ? rc : take_table(t->query, &t->tuples_found, tuples, in, numbers->tuple);
    if (rc < 0)
        return rc;
    t->totals.events += rec_u(in);
    t->totals.other_phases += rec_u(in);
    t->totals.untimed += rec_u(in);
    return take_parts(job, in, numbers, lanes, tuples);
}
