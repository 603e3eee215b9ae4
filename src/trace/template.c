/* template.c - learns the layout of lines (template.h). */
#include <errno.h>
#include <stdlib.h>

#include "template.h"

enum {
    POOL = 1024,         /* nodes; a shape costs about as many as it has args of its own          */
    SIBLINGS_MAX = 16,   /* more ways on than this are no pattern                                 */
    PENALTY_FIRST = 256, /* misses left unlearned after the pool was full, doubled each time      */
    PENALTY_MAX = 1 << 20
};

int template_init(struct templates *t)
{
    t->pool = calloc(POOL, sizeof(*t->pool));
    return t->pool ? 0 : -ENOMEM;
}

void template_done(struct templates *t)
{
    free(t->pool);
    t->pool = NULL;
}

/* Too many shapes: start again, later. */
static void forget(struct trace_scanner *s)
{
    struct templates *t = &s->templates;
    bool soon = t->penalty && s->attempt - t->forgot < 64 * (uint64_t)t->penalty;

    t->root = NULL;
    t->used = 0;
    t->penalty = soon ? t->penalty * 2 : PENALTY_FIRST;
    t->penalty = t->penalty > PENALTY_MAX ? PENALTY_MAX : t->penalty;
    t->forgot = s->attempt;
    t->wait = t->penalty;
}

/* Types count, too: where the values of a line are, and its shape, is known at the end of the branch alone. */
static bool is_like(const struct template *node, const struct template *want)
{
    return node->slot == want->slot && node->field == want->field && node->back == want->back &&
           memcmp(&node->value, &want->value, offsetof(struct trace_value, len)) == 0;
}

/* The node for literal [from, to) and the rest of `want`, among the children at `first`. NULL: does not fit. */
static struct template *branch(struct templates *t, struct template **first, const char *from,
                               const char *to, const struct template *want)
{
    struct template *node;
    unsigned siblings = 0;

    if (to - from > SCAN_LITERAL_MAX || to == from)
        return NULL;
    for (node = *first; node; node = node->next, siblings++) {
        if (node->len == to - from && memcmp(node->literal, from, node->len) == 0 &&
            is_like(node, want))
            return node;
    }
    if (siblings >= SIBLINGS_MAX || t->used == POOL)
        return NULL;
    node = &t->pool[t->used++];
    *node = *want;
    memcpy(node->literal, from, (size_t)(to - from));
    node->len = (uint8_t)(to - from);
    node->ends = node->len < 32 ? ((uint32_t)1 << node->len) - 1 : UINT32_MAX;
    node->next = *first;
    node->child = NULL;
    *first = node;
    return node;
}

/* Where the literal before a value ends, and where the text behind the value goes on. */
static void slot_bounds(const struct scan_note *n, const char **ret_literal_end,
                        const char **ret_next)
{
    *ret_next = n->to;
    switch (n->slot) {
    case SLOT_STRING: /* both quotes belong to the literals */
        *ret_literal_end = n->from + 1;
        *ret_next = n->to - 1;
        break;
    case SLOT_ARRAY:
        *ret_literal_end = n->from + 1;
        break;
    case SLOT_CONST:
        *ret_literal_end = n->to;
        break;
    default:
        *ret_literal_end = n->from;
        break;
    }
}

/* The quick kinds are for what needs no more than a look at its end. */
static uint8_t kind_of(const struct template *t)
{
    static const uint8_t slow[] = {[SLOT_STRING] = TEMPLATE_STRING,
                                   [SLOT_NUMBER] = TEMPLATE_NUMBER,
                                   [SLOT_ARRAY] = TEMPLATE_ARRAY,
                                   [SLOT_CONST] = TEMPLATE_CONST,
                                   [SLOT_END] = TEMPLATE_END};
    bool text = t->slot == SLOT_STRING && (t->conv == CONV_PLAIN || t->conv == CONV_TEXT ||
                                           t->conv == CONV_LABEL || t->conv == CONV_PHASE);
    bool integer = t->slot == SLOT_NUMBER && t->value.type == TRACE_INT && t->value.nano == 0 &&
                   t->conv != CONV_RECORD;

    if (integer)
        return t->conv == CONV_TIME || t->conv == CONV_DUR ? TEMPLATE_TIME : TEMPLATE_INT;
    return text ? TEMPLATE_TEXT : slow[t->slot];
}

static struct template *learn_value(struct trace_scanner *s, struct template **first,
                                    const struct scan_note *n, const char *from,
                                    const char **ret_next)
{
    struct template want = {.field = n->node->field,
                            .slot = n->slot,
                            .conv = n->node->conv,
                            .type = n->type,
                            .truth = n->truth,
                            .depth = n->depth};
    const char *literal_end;

    if (n->node->to > n->node->from)
        memcpy(&want.value, &s->values[n->node->from], offsetof(struct trace_value, len));
    want.kind = kind_of(&want);

    slot_bounds(n, &literal_end, ret_next);
    if (n->slot == SLOT_CONST) {
        if (n->to - n->from > SCAN_LITERAL_MAX)
            return NULL;
        want.back = (uint8_t)(n->to - n->from);
    }
    return branch(&s->templates, first, from, literal_end, &want);
}

void template_learn(struct trace_scanner *s, const char *object, const char *newline)
{
    struct templates *t = &s->templates;
    struct template **first = &t->root, *node = NULL;
    struct template end = {.slot = SLOT_END, .kind = TEMPLATE_END};
    const char *from = object;

    for (uint32_t i = 0; i < s->note_count; i++) {
        node = learn_value(s, first, &s->notes[i], from, &from);
        if (!node)
            break;
        first = &node->child;
    }
    if (node || s->note_count == 0) {
        end.shape = ++t->shapes;
        end.places = s->at;
        branch(t, first, from, newline + 1, &end);
    }
    if (t->used == POOL)
        forget(s);
}
