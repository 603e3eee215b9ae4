/* exchange.h - what the test programs of cluster share: bytes that can be checked, and counting of
 * failures. */
#ifndef DFTRACERD_TESTS_EXCHANGE_H
#define DFTRACERD_TESTS_EXCHANGE_H

#include "cluster/cluster.h"

#define MIB ((size_t)1 << 20)

/* A failure is written and counted. */
void expect(bool holds, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
unsigned expect_failures(void);

uint64_t random_next(uint64_t *state);
/* Mostly small, some up to 8 MiB. */
size_t random_size(uint64_t *state);

/* The first bytes of a packet say what follows; the rest follows from `seed`. */
struct head {
    uint64_t seed, number, size; /* of the bytes after the head */
    uint32_t thread, order;      /* enum order */
    int32_t status;              /* that the handler of a request returns */
    uint32_t reserved;
};
enum order { ORDER_DATA, ORDER_LAST, ORDER_HOLD, ORDER_HELD, ORDER_RELEASE };

void fill_bytes(struct buf *out, uint64_t seed, size_t size);
bool has_bytes(struct text bytes, uint64_t seed, size_t size);
/* Clears `out` and makes a packet in it. */
struct text packet_of(struct buf *out, struct head head);
bool read_packet(struct text bytes, struct head *ret);

/* measure.c */
void measure(struct cluster *c);

#endif
