/* template.h - a tree of the layouts of lines: lines of several shapes share the nodes of their
 * common beginning.
 *
 * A node is the literal text before a value, and the kind of the value; its children are the nodes
 * that may follow. A line of a known shape costs one comparison and one value for each node, and
 * its end need not be searched, because the last literal contains the newline. If no child matches,
 * the strict parser reads the line (and a new branch is learned).
 *
 * The fields of a line mostly depend on its name, so each known name has a branch of its own (a
 * fork). Values with few different texts (category, phase) are part of the literal.
 */
#ifndef DFTRACERD_TRACE_SCAN_TEMPLATE_H
#define DFTRACERD_TRACE_SCAN_TEMPLATE_H

#include "trace/scan/scan.h"

enum template_kind {
    TEMPLATE_INT,  /* a number that was an integer */
    TEMPLATE_TIME, /* a time that was an integer: only if the unit is microseconds */
    TEMPLATE_TEXT, /* a string without escapes */
    TEMPLATE_FORK, /* as TEXT; known texts have children of their own */
    TEMPLATE_WORD, /* the literal ends with the string, which is the value, and its quote */
    TEMPLATE_ANY,  /* read by the general functions */
    TEMPLATE_END
};

enum {
    TEMPLATE_FIRST = 32, /* bytes of a literal in the node itself */
    /* If a value had the same length this many times in a row, the CPU may continue at its usual
     * end before the end is found. */
    TEMPLATE_STEADY = 32,
    FORK_SLOTS = 64,
    FORK_USED = 48 /* texts of a fork */
};

/* A cache line. */
struct template
{
    char literal[TEMPLATE_FIRST];
    /* Field, type and unit of the value in the line that was learned, and (WORD) its length;
     * type 0: there was no value. */
    uint16_t field;
    uint8_t value_type, nano;
    uint32_t value_len;
    struct template *child, *next;
    uint32_t ends; /* a bit for each byte of the literal among the first 32: scan_bytes.h */
    uint8_t len;   /* of the literal */
    uint8_t kind;
    uint8_t usual, same; /* length of the last value, and the number of times in a row */
};
_Static_assert(sizeof(struct template) == 64, "a cache line");

struct fork_entry {
    uint64_t a, b; /* text_words() */
    uint32_t len;  /* 0 = free */
    struct template *child;
};

/* The rest of the node with the same number, which is rarely needed. */
struct template_more {
    char literal[SCAN_LITERAL_MAX - TEMPLATE_FIRST];
    struct fork_entry *fork;   /* TEMPLATE_FORK: FORK_SLOTS of them */
    uint64_t fixed;            /* TEMPLATE_END: trace_event.fixed, */
    uint32_t shape;            /* trace_event.shape, */
    struct scan_places places; /* positions of its values, */
    uint8_t tail;              /* bytes between the object and the newline, */
    bool plain;                /* result of scan_is_plain(), */
    enum trace_class class;    /* and its class */
    uint8_t slot, conv;
    uint8_t type, truth, back; /* SLOT_CONST: the literal ends with the token, `back` bytes long */
    uint8_t depth;             /* SLOT_ARRAY: the literal ends with '[' */
};

static inline struct template_more *template_more(const struct templates *t,
                                                  const struct template *node)
{
    return &t->more[node - t->pool];
}

static inline uint32_t fork_slot(uint64_t a, uint64_t b, uint32_t len)
{
    return (uint32_t)(((a ^ b << 7 ^ len) * 0x9E3779B97F4A7C15u) >> 58);
}
_Static_assert(FORK_SLOTS == 1 << 6, "fork_slot gives 6 bits");

/* Returns the entry of a text, or the free entry for it. */
static inline struct fork_entry *fork_find(struct fork_entry *fork, uint64_t a, uint64_t b,
                                           uint32_t len)
{
    for (uint32_t i = fork_slot(a, b, len);; i++) {
        struct fork_entry *e = &fork[i % FORK_SLOTS];
        if (e->len == 0 || (e->a == a && e->b == b && e->len == len))
            return e;
    }
}

#endif
