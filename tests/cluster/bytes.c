/* bytes.c - bytes that follow from a seed. */
#include "exchange.h"

#include <stdio.h>
#include <string.h>

static atomic_uint failures;

void expect(bool holds, const char *fmt, ...)
{
    char text[300];
    va_list args;

    if (holds)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (atomic_fetch_add(&failures, 1) < 20)
        fprintf(stderr, "FAIL %s\n", text);
}

unsigned expect_failures(void)
{
    return atomic_load(&failures);
}

/* splitmix64 */
uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

size_t random_size(uint64_t *state)
{
    static const size_t limits[] = {1, 100, 1000, 5000, 70000, 300000, 2 * MIB, 8 * MIB};
    unsigned kind = random_next(state) % 64;

    kind = kind < 56 ? kind / 14 : kind < 60 ? 4 : kind < 62 ? 5 : kind - 56;
    return random_next(state) % (limits[kind] + 1);
}

void fill_bytes(struct buf *out, uint64_t seed, size_t size)
{
    uint64_t state = seed;

    char *to = buf_reserve(out, size + sizeof(state));
    if (!to)
        return;
    for (size_t i = 0; i < size; i += sizeof(state)) {
        uint64_t word = random_next(&state);
        memcpy(to + i, &word, sizeof(word));
    }
    out->len += size;
}

bool has_bytes(struct text bytes, uint64_t seed, size_t size)
{
    uint64_t state = seed;

    if (bytes.len != size)
        return false;
    for (size_t i = 0; i < size; i += sizeof(state)) {
        uint64_t word = random_next(&state);
        if (memcmp(bytes.ptr + i, &word, size - i < sizeof(word) ? size - i : sizeof(word)) != 0)
            return false;
    }
    return true;
}

struct text packet_of(struct buf *out, struct head head)
{
    buf_clear(out);
    buf_append(out, &head, sizeof(head));
    fill_bytes(out, head.seed, head.size);
    expect(out->error == 0, "no memory for %zu bytes", (size_t)head.size);
    return (struct text){out->data, out->len};
}

bool read_packet(struct text bytes, struct head *ret)
{
    if (bytes.len < sizeof(*ret))
        return false;
    memcpy(ret, bytes.ptr, sizeof(*ret));
    return has_bytes((struct text){bytes.ptr + sizeof(*ret), bytes.len - sizeof(*ret)}, ret->seed,
                     ret->size);
}
