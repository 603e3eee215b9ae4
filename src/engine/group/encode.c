/* encode.c - groups as bytes. A message has the length of the body; the body: moments beyond 64
 * bits, and for each set its keys, records and lists; then the values of keys in the body. */
#include "engine/group/encode.h"
#include "engine/derived/keys.h"

#include <errno.h>

/* ---- blocks ---------------------------------------------------------------------------------- */

size_t encode_begin(struct buf *out)
{
    uint64_t length = 0;

    buf_append(out, &length, sizeof(length));
    return out->len;
}

void encode_end(struct buf *out, size_t begin)
{
    uint64_t length = out->len - begin;

    if (!out->error)
        memcpy(out->data + begin - sizeof(length), &length, sizeof(length));
}

struct text decode_block(struct rec *r)
{
    struct text ret = {(const char *)r->ptr, 0};
    uint64_t length = 0;

    rec_array(r, &length, sizeof(length));
    r->bad |= length > (size_t)(r->end - r->ptr);
    if (!r->bad) {
        ret = (struct text){(const char *)r->ptr, length};
        r->ptr += length;
    }
    return ret;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

enum { ALIGNMENT = 16 }; /* of arrays in a message, if that is aligned */

static void put_array(struct buf *out, const void *array, size_t bytes)
{
    static const char zeros[ALIGNMENT];
    size_t padding = -(out->len + 1) % ALIGNMENT;

    rec_put_u(out, padding);
    buf_append(out, zeros, padding);
    buf_append(out, array, bytes);
}

static void skip_padding(struct groups_decoder *d)
{
    uint64_t padding = rec_choice(&d->rec, ALIGNMENT - 1);

    d->rec.bad |= padding > (size_t)(d->rec.end - d->rec.ptr);
    d->rec.ptr += d->rec.bad ? 0 : padding;
}

/* Returns an array in the message, or NULL if it has to be copied. */
static void *keep_array(struct groups_decoder *d, size_t bytes)
{
    uintptr_t at = (uintptr_t)d->rec.ptr;

    if (!d->keep || at % ALIGNMENT || bytes == 0 || bytes > (size_t)(d->rec.end - d->rec.ptr))
        return NULL;
    d->rec.ptr += bytes;
    return (void *)at;
}

/* ---- keys ------------------------------------------------------------------------------------ */

int encode_key(struct groups_encoder *e, uint64_t key)
{
    int64_t rc = key_is_value(key) ? 0 : group_table_add(&e->keys, &key);

    return rc < 0 ? (int)rc : 0;
}

int decode_key(const struct groups_decoder *d, uint64_t *key)
{
    if (key_is_value(*key))
        return 0;
    int64_t number = d->keys.count ? group_table_find(&d->keys, key) : -ENOENT;
    if (number < 0)
        return ERR_CORRUPT;
    *key = d->own.at[number];
    return 0;
}

static void put_key_values(struct groups_encoder *e)
{
    rec_put_u(e->out, e->keys.count);
    for (uint32_t i = 0; i < e->keys.count; i++) {
        uint64_t key = *group_table_keys(&e->keys, i);
        buf_append(e->out, &key, sizeof(key));
        key_encode(e->from->grouping->query, key, e->out);
    }
}

static int read_key_values(struct groups_decoder *d, struct rec *r)
{
    uint64_t n = rec_count(r, sizeof(uint64_t)), key, own;
    int rc = n < GROUP_NONE ? vec_reserve(&d->own, n) : ERR_CORRUPT;

    rc = rc < 0 ? rc : group_table_append(&d->keys, (uint32_t)n);
    for (uint64_t i = 0; i < n && rc == 0; i++) {
        rec_array(r, &key, sizeof(key));
        rc = key_decode(d->into->grouping->query, r, &own);
        d->keys.keys[i] = key;
        d->own.at[d->own.count++] = own;
    }
    rc = rc == 0 && r->bad ? ERR_CORRUPT : rc;
    return rc < 0 ? rc : group_table_place(&d->keys);
}

/* ---- maps ------------------------------------------------------------------------------------ */

static int put_table(struct groups_encoder *e, const struct group_table *t, bool keys)
{
    size_t n = (size_t)t->count * t->width;
    int rc = 0;

    rec_put_u(e->out, t->count);
    put_array(e->out, t->keys, n * sizeof(*t->keys));
    for (size_t i = 0; keys && i < n && rc == 0; i++)
        rc = encode_key(e, t->keys[i]);
    return rc;
}

static int read_tuples(struct groups_decoder *d, struct group_table *t, uint32_t count)
{
    size_t bytes = (size_t)count * t->width * sizeof(*t->keys);
    void *kept = keep_array(d, bytes);

    if (kept)
        return group_table_borrow(t, kept, count);
    int rc = group_table_append(t, count);
    return rc == 0 && bytes && !rec_array(&d->rec, t->keys, bytes) ? ERR_CORRUPT : rc;
}

static int read_table(struct groups_decoder *d, struct group_table *t, bool keys)
{
    uint64_t count = rec_count(&d->rec, t->width * sizeof(uint64_t));
    size_t n = (size_t)count * t->width;

    skip_padding(d);
    int rc = d->rec.bad || count >= GROUP_NONE ? ERR_CORRUPT : read_tuples(d, t, (uint32_t)count);
    for (size_t i = 0; keys && i < n && rc == 0; i++)
        rc = decode_key(d, &t->keys[i]);
    return rc;
}

/* For a map with bit-packed keys: the keys of each column, then one word for each group. */
static int put_map(struct groups_encoder *e, const struct group_map *m)
{
    const struct group_pack *p = m->pack;
    int rc = 0;

    rec_put_u(e->out, p != NULL);
    if (p)
        buf_append(e->out, p->field, p->width * sizeof(*p->field));
    for (unsigned i = 0; p && i < p->width && rc == 0; i++)
        rc = put_table(e, &p->column[i], true);
    return rc < 0 ? rc : put_table(e, &m->table, !p);
}

static bool words_are_valid(const struct group_map *m)
{
    const struct group_pack *p = m->pack;
    bool ret = true;

    for (unsigned i = 0; i < p->width; i++)
        ret &= p->field[i].bits < 64 && p->field[i].shift < 64;
    for (uint32_t g = 0; g < m->table.count && ret; g++) {
        for (unsigned i = 0; i < p->width; i++)
            ret &= group_number(m->table.keys[g], &p->field[i]) < p->column[i].count;
    }
    return ret;
}

static int read_map(struct groups_decoder *d, struct group_map *m)
{
    bool packed = rec_choice(&d->rec, m->width > 1);
    int rc = packed ? group_map_pack(m) : 0;

    if (rc == 0 && packed)
        rec_array(&d->rec, m->pack->field, m->width * sizeof(*m->pack->field));
    for (unsigned i = 0; rc == 0 && packed && i < m->width; i++)
        rc = read_table(d, &m->pack->column[i], true);
    rc = rc < 0 ? rc : read_table(d, &m->table, !packed);
    return rc == 0 && packed && !words_are_valid(m) ? ERR_CORRUPT : rc;
}

/* ---- accumulators ---------------------------------------------------------------------------- */

static int put_acc(struct groups_encoder *e, unsigned set, unsigned acc)
{
    const struct acc *a = &e->from->set[set].accs[acc];
    const struct acc_kind *kind = a->spec->kind;

    if (kind->item)
        rec_put_u(e->out, a->list.count);
    if (a->list.count)
        buf_append(e->out, a->list.at, a->list.count * kind->item);
    return kind->encode ? kind->encode(e, set, acc) : 0;
}

static int read_list(struct groups_decoder *d, unsigned set, struct acc *a)
{
    const struct acc_kind *kind = a->spec->kind;
    uint64_t n = kind->item ? rec_count(&d->rec, kind->item) : 0;
    int rc = n ? vec_extend_items(&a->list, kind->item, n) : 0;

    if (rc == 0 && n)
        rec_array(&d->rec, a->list.at, n * kind->item);
    for (uint64_t i = 0; i < n && rc == 0; i++) {
        const char *item = (const char *)a->list.at + i * kind->item;
        rc = kind->item_refers_to_groups(d->into, set, item) ? 0 : ERR_CORRUPT;
    }
    return rc;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static int put_set(struct groups_encoder *e, unsigned set)
{
    struct groups_of_set *s = &e->from->set[set];
    int rc = groups_grow(e->from, set);

    rc = rc < 0 ? rc : put_map(e, &s->map);
    rec_put_u(e->out, s->stride);
    put_array(e->out, s->records, s->ready * s->stride);
    for (unsigned i = 0; i < s->acc_count && rc == 0; i++)
        rc = put_acc(e, set, i);
    return rc;
}

static int read_records(struct groups_decoder *d, unsigned set)
{
    struct groups_of_set *s = &d->into->set[set];
    uint32_t count = s->map.table.count;

    if (rec_u(&d->rec) != s->stride)
        return ERR_CORRUPT;
    skip_padding(d);
    s->records = keep_array(d, count * s->stride);
    s->borrowed = s->records != NULL;
    if (s->borrowed) {
        s->cap = s->ready = count;
        return 0;
    }
    int rc = groups_grow(d->into, set);
    return rc == 0 && !rec_array(&d->rec, s->records, count * s->stride) ? ERR_CORRUPT : rc;
}

static int read_set(struct groups_decoder *d, unsigned set)
{
    struct groups_of_set *s = &d->into->set[set];
    int rc = read_map(d, &s->map);

    rc = rc < 0 ? rc : read_records(d, set);
    for (unsigned i = 0; i < s->acc_count; i++) {
        /* Slots may refer to memory of the sender. */
        for (uint32_t g = 0; s->accs[i].spec->kind->free && g < s->ready; g++)
            group_clear(s, g, i);
    }
    for (unsigned i = 0; i < s->acc_count && rc == 0; i++) {
        const struct acc_kind *kind = s->accs[i].spec->kind;
        rc = read_list(d, set, &s->accs[i]);
        rc = rc == 0 && kind->decode ? kind->decode(d, set, i) : rc;
    }
    return rc;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Allocates memory for the arrays of all sets at once: a message that grows is copied. */
static void reserve_arrays(const struct groups *f, struct buf *out)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < f->set_count; i++) {
        const struct groups_of_set *s = &f->set[i];
        bytes += s->map.table.count * (s->map.table.width * sizeof(*s->map.table.keys) + s->stride);
    }
    buf_reserve(out, bytes + bytes / 16);
}

int groups_encode(struct groups *f, bool later, struct buf *out)
{
    struct groups_encoder e = {.from = f, .out = out, .later = later};
    size_t body = encode_begin(out);
    int rc = 0;

    reserve_arrays(f, out);
    group_table_init(&e.keys, 1, GROUP_NONE - 1, f->grouping->budget);
    rec_put_u(out, f->large.count);
    if (f->large.count)
        buf_append(out, f->large.at, f->large.count * sizeof(*f->large.at));
    for (unsigned i = 0; i < f->set_count && rc == 0; i++)
        rc = put_set(&e, i);
    encode_end(out, body);
    put_key_values(&e);
    group_table_done(&e.keys);
    return rc < 0 ? rc : out->error;
}

static int read_large(struct groups_decoder *d)
{
    uint64_t n = rec_count(&d->rec, sizeof(*d->into->large.at));
    int rc = vec_extend(&d->into->large, n);

    if (rc < 0)
        return rc;
    return rec_array(&d->rec, d->into->large.at, n * sizeof(*d->into->large.at)) ? 0 : ERR_CORRUPT;
}

static int read_all(struct groups_decoder *d, struct text bytes)
{
    struct rec all = rec_of(bytes);

    d->rec = rec_of(decode_block(&all));
    int rc = all.bad ? ERR_CORRUPT : read_key_values(d, &all);
    rc = rc < 0 ? rc : read_large(d);
    for (unsigned i = 0; i < d->into->set_count && rc == 0; i++)
        rc = read_set(d, i);
    return rc == 0 && (d->rec.bad || d->rec.ptr != d->rec.end) ? ERR_CORRUPT : rc;
}

int groups_decode(const struct grouping *g, struct text bytes, bool keep, struct groups **ret)
{
    struct groups_decoder d = {.keep = keep, .own.budget = g->budget};
    int rc = groups_new(g, &d.into);

    group_table_init(&d.keys, 1, GROUP_NONE - 1, g->budget);
    rc = rc < 0 ? rc : read_all(&d, bytes);
    group_table_done(&d.keys);
    vec_done(&d.own);
    if (rc < 0)
        groups_free(d.into);
    else
        *ret = d.into;
    return rc;
}
