/* items_bytes.c - items as bytes: the keys of lanes and tuples; totals; then for each chunk its
 * position and its items, as differences to the item before.
 *
 * There are millions of items, so they are written and read without branches, eight bytes at a
 * time: an item consists of the lengths of its five numbers, in two bytes, and then that number of
 * bytes of each.
 */
#include "answer/calltree/items.h"

#include <endian.h>
#include <string.h>

/* ITEM_READ: bytes that reading an item may access, whatever the lengths are. */
enum { ITEMS_AT_ONCE = 4096, ITEM_BYTES = 2 + 3 * 8 + 2 * 4, ITEM_READ = 2 + 3 * 15 + 2 * 4 + 8 };

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

static uint64_t zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static int64_t unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static unsigned number_bytes(uint64_t v)
{
    return (71u - (unsigned)__builtin_clzll(v | 1)) / 8;
}

/* Writes eight bytes; only the first `length` belong to the number. */
static uint8_t *put_number(uint8_t *at, uint64_t v, unsigned length)
{
    v = htole64(v);
    memcpy(at, &v, sizeof(v));
    return at + length;
}

static uint8_t *put_item(uint8_t *at, const struct item_part *p, const struct call_item *before,
                         const struct call_item *item)
{
    uint64_t ts = zigzag(minus(item->ts, before->ts)), te = zigzag(minus(item->te, item->ts)),
             id = zigzag(minus(item->id, before->id));
    uint32_t tuple = p->numbers->tuple[item->tuple], lane = p->numbers->lane[item->lane];
    unsigned ts_bytes = number_bytes(ts), te_bytes = number_bytes(te), id_bytes = number_bytes(id),
             tuple_bytes = number_bytes(tuple), lane_bytes = number_bytes(lane);

    *at++ = (uint8_t)(ts_bytes | te_bytes << 4);
    *at++ = (uint8_t)(id_bytes | (tuple_bytes - 1) << 4 | (lane_bytes - 1) << 6);
    at = put_number(at, ts, ts_bytes);
    at = put_number(at, te, te_bytes);
    at = put_number(at, id, id_bytes);
    at = put_number(at, tuple, tuple_bytes);
    return put_number(at, lane, lane_bytes);
}

static void put_part(const struct item_part *p, struct buf *out)
{
    static const struct call_item none;
    const struct call_item *before = &none;

    rec_put_u(out, p->position);
    for (uint32_t i = 0; i < p->count; i += ITEMS_AT_ONCE) {
        uint8_t *start = (uint8_t *)buf_reserve(out, ITEMS_AT_ONCE * ITEM_BYTES + 8), *at = start;
        for (uint32_t k = i; at && k < i + ITEMS_AT_ONCE && k < p->count; k++) {
            at = put_item(at, p, before, &p->items[k]);
            before = &p->items[k];
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

/* Adds the keys. to[i]: the number of key i in `t`. */
static int take_table(struct query *q, struct group_table *t, uint64_t count, struct rec *in,
                      uint32_t *to)
{
    uint64_t keys[GROUP_KEYS_MAX];
    int rc = 0;

    for (uint64_t i = 0; i < count && rc == 0; i++) {
        for (unsigned k = 0; k < t->width && rc == 0; k++)
            rc = key_decode(q, in, &keys[k]);
        int64_t group = rc < 0 ? rc : in->bad ? ERR_CORRUPT : group_table_add(t, keys);
        rc = group < 0 ? (int)group : 0;
        to[i] = (uint32_t)group;
    }
    return rc;
}

static uint64_t take_number(const uint8_t **at, unsigned length)
{
    uint64_t v;

    memcpy(&v, *at, sizeof(v));
    *at += length;
    v = le64toh(v);
    return length < sizeof(v) ? v & (((uint64_t)1 << 8 * length) - 1) : v;
}

static const uint8_t *take_item(const uint8_t *at, const struct call_item *before,
                                struct call_item *ret)
{
    unsigned times = *at++, others = *at++;

    ret->ts = plus(before->ts, unzigzag(take_number(&at, times & 15)));
    ret->te = plus(ret->ts, unzigzag(take_number(&at, times >> 4)));
    ret->id = plus(before->id, unzigzag(take_number(&at, others & 15)));
    ret->tuple = (uint32_t)take_number(&at, (others >> 4 & 3) + 1);
    ret->lane = (uint32_t)take_number(&at, (others >> 6) + 1);
    return at;
}

/* Near the end of the message, reads from a copy that is followed by zeros. */
static void take_last(struct rec *in, const struct call_item *before, struct call_item *ret)
{
    uint8_t copy[2 * ITEM_READ] = {0};
    size_t left = (size_t)(in->end - in->ptr);

    memcpy(copy, in->ptr, left);
    size_t used = (size_t)(take_item(copy, before, ret) - copy);
    in->bad |= used > left;
    in->ptr += used > left ? left : used;
}

static void take_items(struct item_part *p, struct rec *in, uint64_t lanes, uint64_t tuples)
{
    static const struct call_item none;
    const struct call_item *before = &none;

    for (uint32_t i = 0; i < p->count; i++) {
        struct call_item *item = &p->items[i];
        if (in->end - in->ptr >= ITEM_READ)
            in->ptr = take_item(in->ptr, before, item);
        else
            take_last(in, before, item);
        if (item->tuple >= tuples || item->lane >= lanes) {
            in->bad = true;
            item->tuple = item->lane = 0;
        }
        before = item;
    }
}

static int take_parts(struct item_job *job, struct rec *in, const struct item_numbers *numbers,
                      uint64_t lanes, uint64_t tuples)
{
    const struct scan_place *places;
    size_t place_count = scan_places(job->tree->query, &places);
    int rc = 0;

    for (uint64_t count; rc == 0 && (count = rec_count(in, 7)) != 0;) {
        struct item_part *p;
        uint64_t position = rec_u(in);
        rc = lanes && tuples && position < place_count && count <= UINT32_MAX ? 0 : ERR_CORRUPT;
        rc = rc < 0 ? rc : items_new(job->tree, (uint32_t)count, &p);
        if (rc < 0)
            break;
        p->position = position;
        p->numbers = numbers;
        items_add(job, p);
        take_items(p, in, lanes, tuples);
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
    int rc = lanes < CALL_NONE && tuples < CALL_NONE
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
