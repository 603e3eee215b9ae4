/* template.h - layouts of lines, as a tree: lines of several shapes share what they have in common at the front.
 *
 * A node is the literal text in front of a value, and what kind of value it is; its children are what may come behind
 * it. A line of a known shape costs one comparison and one value per node, and no look for its end: the last literal
 * holds the newline. Where no child fits, the order-free walk reads the line (and a new branch is learned). */
#ifndef DFTRACERD_TRACE_TEMPLATE_H
#define DFTRACERD_TRACE_TEMPLATE_H

#include "scan.h"

struct template {
    char literal[SCAN_LITERAL_MAX];
    struct template *child, *next;
    uint16_t field;
    uint8_t len;                   /* of the literal                                                        */
    uint8_t slot;                  /* enum scan_slot: what comes behind the literal                         */
    uint8_t conv;
    uint8_t type, truth, back;     /* SLOT_CONST: the literal ends with the token, `back` bytes long        */
    uint8_t depth;                 /* SLOT_ARRAY: the literal ends with '['                                 */
};

#endif
