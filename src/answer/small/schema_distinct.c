/* schema_distinct.c - counts distinct values: exactly up to SCHEMA_EXACT, then by a HyperLogLog. */
#include "answer/small/schema.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define REGISTERS (1u << SCHEMA_REGISTER_BITS)

static void put_register(uint8_t *registers, uint64_t hash)
{
    uint64_t rest = hash << SCHEMA_REGISTER_BITS;
    uint8_t rank = rest ? (uint8_t)(__builtin_clzll(rest) + 1) : 64 - SCHEMA_REGISTER_BITS + 1;
    uint8_t *r = &registers[hash >> (64 - SCHEMA_REGISTER_BITS)];

    if (rank > *r)
        *r = rank;
}

static int to_registers(struct distinct *d, struct budget *b)
{
    int rc = budget_charge(b, REGISTERS);

    if (rc < 0)
        return rc;
    d->registers = calloc(1, REGISTERS);
    if (!d->registers) {
        budget_release(b, REGISTERS);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < d->cap; i++)
        if (d->hashes[i])
            put_register(d->registers, d->hashes[i]);
    free(d->hashes);
    budget_release(b, d->cap * sizeof(*d->hashes));
    d->hashes = NULL;
    d->count = d->cap = 0;
    return 0;
}

/* Returns the slot with the hash, or the empty one for it. */
static uint64_t *find_slot(const struct distinct *d, uint64_t hash)
{
    uint32_t i = (uint32_t)hash & (d->cap - 1);

    while (d->hashes[i] && d->hashes[i] != hash)
        i = (i + 1) & (d->cap - 1);
    return &d->hashes[i];
}

static int grow_hashes(struct distinct *d, struct budget *b)
{
    struct distinct larger = {.cap = d->cap ? d->cap * 2 : 16, .count = d->count};
    int rc = budget_charge(b, larger.cap * sizeof(*larger.hashes));

    if (rc < 0)
        return rc;
    larger.hashes = calloc(larger.cap, sizeof(*larger.hashes));
    if (!larger.hashes) {
        budget_release(b, larger.cap * sizeof(*larger.hashes));
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < d->cap; i++)
        if (d->hashes[i])
            *find_slot(&larger, d->hashes[i]) = d->hashes[i];
    distinct_done(d, b);
    *d = larger;
    return 0;
}

int distinct_add(struct distinct *d, uint64_t hash, struct budget *b)
{
    hash += hash == 0; /* 0 is an empty slot */
    if (!d->registers) {
        int rc = d->count * 2 >= d->cap ? grow_hashes(d, b) : 0;
        if (rc < 0)
            return rc;
        uint64_t *slot = find_slot(d, hash);
        if (*slot)
            return 0;
        *slot = hash;
        return ++d->count > SCHEMA_EXACT ? to_registers(d, b) : 0;
    }
    put_register(d->registers, hash);
    return 0;
}

int distinct_merge(struct distinct *d, const struct distinct *other, struct budget *b)
{
    int rc = other->registers && !d->registers ? to_registers(d, b) : 0;

    for (uint32_t i = 0; rc == 0 && other->registers && i < REGISTERS; i++)
        if (other->registers[i] > d->registers[i])
            d->registers[i] = other->registers[i];
    for (uint32_t i = 0; rc == 0 && i < other->cap; i++)
        if (other->hashes[i])
            rc = distinct_add(d, other->hashes[i], b);
    return rc;
}

/* Writes the registers; or the number of hashes plus one, and the hashes. */
void distinct_put(const struct distinct *d, struct buf *out)
{
    rec_put_u(out, d->registers ? 0 : d->count + 1ul);
    if (d->registers)
        buf_append(out, d->registers, REGISTERS);
    for (uint32_t i = 0; i < d->cap; i++)
        if (d->hashes[i])
            buf_append(out, &d->hashes[i], sizeof(*d->hashes));
}

int distinct_take(struct distinct *d, struct rec *in, struct budget *b)
{
    uint64_t count = rec_u(in), hash;
    int rc = 0;

    if (count == 0 && !in->bad) {
        struct distinct other = {.registers = malloc(REGISTERS)};
        rc = other.registers ? 0 : -ENOMEM;
        if (rc == 0 && rec_array(in, other.registers, REGISTERS))
            rc = distinct_merge(d, &other, b);
        free(other.registers);
    }
    for (uint64_t i = 1; i < count && rc == 0 && rec_array(in, &hash, sizeof(hash)); i++)
        rc = distinct_add(d, hash, b);
    return rc;
}

/* Flajolet et al. 2007; with 64-bit hashes the correction for large counts is not needed. */
uint64_t distinct_count(const struct distinct *d, bool *ret_exact)
{
    double sum = 0, m = REGISTERS;
    unsigned empty = 0;

    *ret_exact = !d->registers;
    if (!d->registers)
        return d->count;
    for (unsigned i = 0; i < REGISTERS; i++) {
        sum += ldexp(1, -d->registers[i]);
        empty += d->registers[i] == 0;
    }
    double estimate = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    if (estimate <= 2.5 * m && empty)
        estimate = m * log(m / empty);
    return (uint64_t)llround(estimate);
}

void distinct_done(struct distinct *d, struct budget *b)
{
    budget_release(b, d->cap * sizeof(*d->hashes) + (d->registers ? REGISTERS : 0));
    free(d->hashes);
    free(d->registers);
    *d = (struct distinct){0};
}
