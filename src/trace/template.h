/* template.h - layouts of lines, as a tree: lines of several shapes share what they have in common at the front.
 *
 * A node is the literal text in front of a value, and what kind of value it is; its children are what may come behind
 * it. A line of a known shape costs one comparison and one value per node, and no look for its end: the last literal
 * holds the newline. Where no child fits, the order-free walk reads the line (and a new branch is learned). */
#ifndef DFTRACERD_TRACE_TEMPLATE_H
#define DFTRACERD_TRACE_TEMPLATE_H

#include "scan.h"

/* What is done with a value: the first three are what nearly all are. */
enum template_kind {
    TEMPLATE_TEXT,                 /* a string that is the value as it stands */
    TEMPLATE_INT,                  /* a number that was an integer */
    TEMPLATE_TIME,                 /* the same of a time: only where the unit is microseconds */
    TEMPLATE_STRING, TEMPLATE_NUMBER, TEMPLATE_ARRAY, TEMPLATE_CONST, TEMPLATE_END
};

struct template {
    char literal[SCAN_LITERAL_MAX];
    struct trace_value value;      /* field, type, unit and length (0) of the value of the line that was learned;
                                    * type 0: it made none                                                     */
    struct template *child, *next;
    uint32_t ends;                 /* the last bit of the literal's first 32 bytes and all below: scan_bytes.h */
    uint8_t len;                   /* of the literal                                                           */
    uint8_t kind;
    uint8_t usual, same;           /* length of the value last read, and how many times it has been so; both are
                                    * guesses, of use only to the CPU: TEMPLATE_STEADY                         */
    uint8_t slot, conv;
    uint8_t type, truth, back;     /* TEMPLATE_CONST: the literal ends with the token, `back` bytes long        */
    uint8_t depth;                 /* TEMPLATE_ARRAY: the literal ends with '['                                 */
    uint16_t field;
    uint32_t shape;                /* TEMPLATE_END: trace_event.shape, and where its values are                */
    struct scan_places places;
};

/* Reading on where a value usually ends, before its end was found: from so many times on. */
enum { TEMPLATE_STEADY = 32 };

#endif
