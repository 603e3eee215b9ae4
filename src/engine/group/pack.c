/* pack.c - tuples of keys that are bit-packed into words: each column numbers its keys as they
 * come, and the numbers of a tuple are the fields of a word.
 *
 * A group of seven keys then has 8 bytes instead of 56, which are hashed and compared as one
 * number. Fields get wider as numbers grow. When the numbers do not fit into a word any more, or
 * keys of a chunk have no codes, all words are converted to tuples, and later groups are tuples,
 * too.
 */
#include "engine/group/map.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int group_map_pack(struct group_map *m)
{
    struct group_pack *p = calloc(1, sizeof(*p));

    assert(m->table.count == 0 && m->width > 1);
    if (!p)
        return -ENOMEM;
    p->width = m->width;
    p->charge.budget = m->table.budget;
    for (unsigned i = 0; i < p->width; i++)
        group_table_init(&p->column[i], 1, UINT32_MAX - 1, m->table.budget);
    m->table.width = 1;
    m->pack = p;
    return 0;
}

void group_pack_done(struct group_map *m)
{
    struct group_pack *p = m->pack;

    for (unsigned i = 0; p && i < p->width; i++) {
        group_table_done(&p->column[i]);
        free(p->numbers[i]);
        free(p->renamed[i]);
    }
    if (p)
        charge_done(&p->charge);
    free(p);
    m->pack = NULL;
}

/* ---- words ----------------------------------------------------------------------------------- */

static void word_to_tuple(void *arg, const uint64_t *from, uint64_t *to)
{
    const struct group_pack *p = arg;

    for (unsigned i = 0; i < p->width; i++)
        to[i] = *group_table_keys(&p->column[i], group_number(*from, &p->field[i]));
}

void group_map_keys(const struct group_map *m, uint32_t group, uint64_t *ret)
{
    const uint64_t *keys = group_table_keys(&m->table, group);

    if (m->pack)
        word_to_tuple(m->pack, keys, ret);
    else if (m->width)
        memcpy(ret, keys, m->width * sizeof(*ret));
}

int group_map_unpack(struct group_map *m)
{
    int rc = m->pack ? group_table_rekey(&m->table, m->width, word_to_tuple, m->pack) : 0;

    if (rc == 0)
        group_pack_done(m);
    return rc;
}

/* Chooses fields for all numbers; spare bits of the word are divided among the columns. Returns 0,
 * or -ERANGE if a word is too small. */
static int choose_fields(const struct group_pack *p, struct bit_field *ret)
{
    unsigned bits = 0, at = 0;

    for (unsigned i = 0; i < p->width; i++)
        bits += group_bits(p->column[i].count);
    if (bits > 64)
        return -ERANGE;
    for (unsigned i = 0; i < p->width; i++) {
        unsigned own = group_bits(p->column[i].count) + (64 - bits) / p->width;
        ret[i] = (struct bit_field){own, own ? at : 0};
        at += own;
    }
    return 0;
}

struct field_move {
    unsigned width;
    const struct bit_field *from, *to;
};

static void move_numbers(void *arg, const uint64_t *from, uint64_t *to)
{
    const struct field_move *move = arg;
    uint64_t word = *from, moved = 0;

    for (unsigned i = 0; i < move->width; i++)
        moved |= (uint64_t)group_number(word, &move->from[i]) << move->to[i].shift;
    *to = moved;
}

/* Makes all fields wide enough. If they cannot be, calls group_map_unpack and returns -ERANGE. */
static int widen_fields(struct group_map *m)
{
    struct group_pack *p = m->pack;
    struct bit_field fields[GROUP_KEYS_MAX];
    bool fit = true;

    for (unsigned i = 0; i < p->width; i++)
        fit &= group_bits(p->column[i].count) <= p->field[i].bits;
    if (fit)
        return 0;
    int rc = choose_fields(p, fields);
    if (rc < 0) {
        int error = group_map_unpack(m);
        return error < 0 ? error : rc;
    }
    rc = group_table_rekey(&m->table, 1, move_numbers,
                           &(struct field_move){p->width, p->field, fields});
    if (rc == 0)
        memcpy(p->field, fields, sizeof(fields));
    return rc;
}

int64_t group_map_add(struct group_map *m, const uint64_t *keys)
{
    uint64_t word = 0;
    int64_t number[GROUP_KEYS_MAX];
    int rc = 0;

    if (!m->pack)
        return group_table_add(&m->table, keys);
    for (unsigned i = 0; i < m->width; i++) {
        number[i] = group_table_add(&m->pack->column[i], &keys[i]);
        if (number[i] < 0)
            return number[i];
    }
    rc = widen_fields(m);
    for (unsigned i = 0; rc == 0 && i < m->width; i++)
        word |= (uint64_t)number[i] << m->pack->field[i].shift;
    return rc == 0         ? group_table_add(&m->table, &word)
           : rc == -ERANGE ? group_table_add(&m->table, keys)
                           : rc;
}

/* ---- codes of a chunk ------------------------------------------------------------------------ */

int group_pack_chunk(struct group_map *m)
{
    struct group_pack *p = m->pack;

    for (unsigned i = 0; p && i < p->width; i++) {
        uint32_t codes = m->keys[i].constant ? 1 : m->keys[i].codes;
        if (codes > p->cap[i]) {
            free(p->numbers[i]);
            p->numbers[i] = malloc(codes * sizeof(uint32_t));
            p->cap[i] = p->numbers[i] ? codes : 0;
            if (!p->numbers[i])
                return -ENOMEM;
        }
        memset(p->numbers[i], 0, codes * sizeof(uint32_t));
    }
    return 0;
}

/* Converts the codes of one column in n words of the chunk to numbers of their keys. */
static int number_codes(struct group_map *m, unsigned column, const uint64_t *words, uint32_t n,
                        uint32_t *ret)
{
    const struct group_key *k = &m->keys[column];
    const struct bit_field at = {k->constant ? 0 : k->bits, k->constant ? 0 : k->shift};
    uint32_t *numbers = m->pack->numbers[column];

    for (uint32_t j = 0; j < n; j++) {
        uint32_t code = group_number(words[j], &at);
        if (numbers[code] == 0) {
            int64_t added = group_table_add(&m->pack->column[column],
                                            k->constant ? &k->key : &k->code_keys[code]);
            if (added < 0)
                return (int)added;
            numbers[code] = (uint32_t)added + 1;
        }
        ret[j] = numbers[code] - 1;
    }
    return 0;
}

int group_pack_words(struct group_map *m, const uint64_t *words, uint32_t n, uint64_t *ret)
{
    uint32_t numbers[GROUP_KEYS_MAX][GROUP_PACK_BLOCK];
    int rc = 0;

    assert(n <= GROUP_PACK_BLOCK);
    for (unsigned i = 0; i < m->width && rc == 0; i++)
        rc = number_codes(m, i, words, n, numbers[i]);
    rc = rc < 0 ? rc : widen_fields(m);
    if (rc < 0)
        return rc;
    memset(ret, 0, n * sizeof(*ret));
    for (unsigned i = 0; i < m->width; i++) {
        for (uint32_t j = 0; j < n; j++)
            ret[j] |= (uint64_t)numbers[i][j] << m->pack->field[i].shift;
    }
    return 0;
}

/* ---- two maps -------------------------------------------------------------------------------- */

static int rename_column(struct group_map *into, struct group_map *from, unsigned column)
{
    const struct group_table *t = &from->pack->column[column];
    size_t bytes = t->count * sizeof(uint32_t);
    int rc = charge_add(&from->pack->charge, bytes);

    if (rc < 0)
        return rc;
    uint32_t *renamed = from->pack->renamed[column] = malloc(bytes + 1);
    if (!renamed)
        return -ENOMEM;
    for (uint32_t i = 0; i < t->count; i++) {
        int64_t number = group_table_add(&into->pack->column[column], group_table_keys(t, i));
        if (number < 0)
            return (int)number;
        renamed[i] = (uint32_t)number;
    }
    return 0;
}

int group_map_join(struct group_map *into, struct group_map *from)
{
    int rc = into->pack && from->pack ? 0 : -ERANGE;

    for (unsigned i = 0; i < into->width && rc == 0; i++)
        rc = rename_column(into, from, i);
    rc = rc < 0 ? rc : widen_fields(into);
    if (rc == 0)
        memcpy(from->pack->joined, into->pack->field, sizeof(into->pack->field));
    if (rc != -ERANGE)
        return rc;
    rc = group_map_unpack(into);
    return rc < 0 ? rc : group_map_unpack(from);
}

void group_map_rename(struct group_map *from, uint32_t first, uint32_t n)
{
    const struct group_pack *p = from->pack;

    for (uint32_t g = first; p && g < first + n; g++) {
        uint64_t word = from->table.keys[g], renamed = 0;
        for (unsigned i = 0; i < p->width; i++)
            renamed |= (uint64_t)p->renamed[i][group_number(word, &p->field[i])]
                       << p->joined[i].shift;
        from->table.keys[g] = renamed;
    }
}
