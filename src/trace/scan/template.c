/* template.c - learns the layout of lines (template.h). */
#include <errno.h>
#include <stdlib.h>

#include "trace/scan/template.h"

enum {
    POOL_NODES = 2048, /* a shape needs one for each value that no other shape shares */
    FORKS = 8,
    SIBLINGS_MAX = 16, /* with more children, lines have no pattern */
    WORDS_MAX = 6,     /* maximum number of texts of a value that are part of the literal */
    TEXT_MAX = 16,     /* maximum length of a known text */
    /* misses that are ignored after the pool was full; doubled if it is full again soon after */
    PENALTY_FIRST = 256,
    PENALTY_MAX = 1 << 20
};

int template_init(struct templates *t)
{
    t->pool = aligned_alloc(64, POOL_NODES * sizeof(*t->pool));
    t->more = calloc(POOL_NODES, sizeof(*t->more));
    t->forks = calloc(FORKS * FORK_SLOTS, sizeof(*t->forks));
    return t->pool && t->more && t->forks ? 0 : -ENOMEM;
}

void template_done(struct templates *t)
{
    free(t->pool);
    free(t->more);
    free(t->forks);
    t->pool = NULL;
    t->more = NULL;
    t->forks = NULL;
}

/* Removes all templates, because there are too many shapes. Learning is resumed later. */
static void templates_clear(struct trace_scanner *s)
{
    struct templates *t = &s->templates;
    bool soon = t->penalty && s->attempt - t->cleared_at < 64 * (uint64_t)t->penalty;

    t->root = NULL;
    t->used = 0;
    t->forks_used = 0;
    t->penalty = soon ? t->penalty * 2 : PENALTY_FIRST;
    t->penalty = t->penalty > PENALTY_MAX ? PENALTY_MAX : t->penalty;
    t->cleared_at = s->attempt;
    t->wait = t->penalty;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The part of a line around one value, from which a node is learned. */
struct lesson {
    struct template node;
    struct template_more more;
    const char *from, *to; /* the literal */
    const char *next;      /* the position after the value */
    struct text text;      /* the text of a string without escapes */
};

static bool node_matches(const struct templates *t, const struct template *node,
                         const struct lesson *l)
{
    const struct template_more *m = template_more(t, node);
    size_t len = (size_t)(l->to - l->from), head = len < TEMPLATE_FIRST ? len : TEMPLATE_FIRST;

    return node->len == len && memcmp(node->literal, l->from, head) == 0 &&
           memcmp(m->literal, l->from + head, len - head) == 0 && node->kind == l->node.kind &&
           node->field == l->node.field && node->value_len == l->node.value_len &&
           m->slot == l->more.slot && m->back == l->more.back &&
           node->value_type == l->node.value_type && node->nano == l->node.nano;
}

/* Finds or adds the node of a lesson among the children at `first`. NULL: that is not possible. */
static struct template *find_branch(struct templates *t, struct template **first,
                                    const struct lesson *l)
{
    struct template *node;
    unsigned siblings = 0;
    size_t len = (size_t)(l->to - l->from), head = len < TEMPLATE_FIRST ? len : TEMPLATE_FIRST;

    if (l->to - l->from > SCAN_LITERAL_MAX || l->to <= l->from)
        return NULL;
    for (node = *first; node; node = node->next, siblings++) {
        if (node_matches(t, node, l))
            return node;
    }
    if (siblings >= SIBLINGS_MAX || t->used == POOL_NODES)
        return NULL;
    node = &t->pool[t->used++];
    *node = l->node;
    *template_more(t, node) = l->more;
    memcpy(node->literal, l->from, head);
    memcpy(template_more(t, node)->literal, l->from + head, len - head);
    node->len = (uint8_t)len;
    node->ends = len < 32 ? ((uint32_t)1 << len) - 1 : UINT32_MAX;
    node->next = *first;
    *first = node;
    return node;
}

/* ---- known texts ----------------------------------------------------------------------------- */

/* Returns the number of nodes for words of a field. */
static unsigned count_words(const struct template *node, uint16_t field)
{
    unsigned count = 0;

    for (; node; node = node->next)
        count += node->kind == TEMPLATE_WORD && node->field == field;
    return count;
}

/* A category or phase becomes part of the literal, with its closing quote, as long as there are
 * only few of them. */
static struct template *learn_word(struct templates *t, struct template **first,
                                   const struct lesson *l)
{
    struct lesson word = *l;
    struct template *node;

    word.node.kind = TEMPLATE_WORD;
    word.node.value_len = (uint32_t)l->text.len;
    word.to = l->next + 1;
    if (word.to - word.from > SCAN_LITERAL_MAX)
        return NULL;
    for (node = *first; node; node = node->next) {
        if (node_matches(t, node, &word))
            return node;
    }
    return count_words(*first, l->node.field) < WORDS_MAX ? find_branch(t, first, &word) : NULL;
}

/* Returns true if template_run looks the name up: the general functions read names with escapes and
 * bytes that are not ASCII. */
static bool can_be_known(struct text name)
{
    for (size_t i = 0; i < name.len; i++) {
        if ((unsigned char)name.ptr[i] >= 0x80)
            return false;
    }
    return name.len > 0 && name.len <= TEXT_MAX;
}

/* Returns the children after a name. *ret_known: they belong to this name only. */
static struct template **learn_name(struct templates *t, struct template *node, struct text name,
                                    bool *ret_known)
{
    struct template_more *m = template_more(t, node);
    struct fork_entry *e;
    uint64_t a, b;
    unsigned used = 0;

    *ret_known = false;
    if (node->kind != TEMPLATE_FORK || !can_be_known(name))
        return &node->child;
    text_words(name.ptr, (uint32_t)name.len, &a, &b);
    e = fork_find(m->fork, a, b, (uint32_t)name.len);
    for (unsigned i = 0; i < FORK_SLOTS; i++)
        used += m->fork[i].len > 0;
    if (e->len == 0 && (used >= FORK_USED || t->used > POOL_NODES / 2))
        return &node->child;
    if (e->len == 0)
        *e = (struct fork_entry){.a = a, .b = b, .len = (uint32_t)name.len};
    *ret_known = true;
    return &e->child;
}

/* The node of a name is always a fork. */
static struct template *learn_fork(struct templates *t, struct template **first, struct lesson *l)
{
    struct template *node;

    l->node.kind = TEMPLATE_FORK;
    for (node = *first; node; node = node->next) {
        if (node_matches(t, node, l))
            return node;
    }
    if (t->forks_used == FORKS) {
        l->node.kind = TEMPLATE_TEXT;
        return find_branch(t, first, l);
    }
    l->more.fork = &t->forks[t->forks_used * FORK_SLOTS];
    node = find_branch(t, first, l);
    if (node) {
        memset(l->more.fork, 0, FORK_SLOTS * sizeof(*l->more.fork));
        t->forks_used++;
    }
    return node;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Sets the end of the literal before a value, and the position after the value. */
static void slot_bounds(const struct scan_note *n, struct lesson *ret)
{
    ret->next = n->to;
    switch (n->slot) {
    case SLOT_STRING: /* both quotes belong to the literals */
        ret->to = n->from + 1;
        ret->next = n->to - 1;
        break;
    case SLOT_ARRAY:
        ret->to = n->from + 1;
        break;
    case SLOT_CONST:
        ret->to = n->to;
        break;
    default:
        ret->to = n->from;
        break;
    }
}

/* The quick kinds are for values that need no decoding: only their end has to be found. */
static uint8_t kind_of(const struct template *t, const struct template_more *m)
{
    bool text = m->slot == SLOT_STRING && (m->conv == CONV_PLAIN || m->conv == CONV_TEXT ||
                                           m->conv == CONV_LABEL || m->conv == CONV_PHASE);
    bool integer = m->slot == SLOT_NUMBER && t->value_type == TRACE_INT && t->nano == 0 &&
                   m->conv != CONV_RECORD;

    if (integer)
        return m->conv == CONV_TIME || m->conv == CONV_DUR ? TEMPLATE_TIME : TEMPLATE_INT;
    return text ? TEMPLATE_TEXT : TEMPLATE_ANY;
}

static void prepare_node(const struct trace_scanner *s, const struct scan_note *n, const char *from,
                         struct lesson *ret)
{
    const struct trace_value *v = n->node->to > n->node->from ? &s->values[n->node->from] : NULL;

    *ret = (struct lesson){.node = {.field = n->node->field},
                           .more = {.slot = n->slot,
                                    .conv = n->node->conv,
                                    .type = n->type,
                                    .truth = n->truth,
                                    .depth = n->depth},
                           .from = from};
    if (v) {
        ret->node.value_type = v->type;
        ret->node.nano = v->nano;
        if (v->type == TRACE_TEXT && v->ptr == n->from + 1)
            ret->text = (struct text){v->ptr, v->len};
    }
    ret->node.kind = kind_of(&ret->node, &ret->more);
    slot_bounds(n, ret);
    if (n->slot == SLOT_CONST)
        ret->more.back = (uint8_t)(n->to - n->from);
}

/* Returns the children after the value, or NULL if it cannot be learned. Sets the bit of the
 * value in *fixed if they follow this text only. */
static struct template **learn_value(struct trace_scanner *s, struct template **first,
                                     const struct scan_note *n, const char **from, uint64_t *fixed)
{
    struct templates *t = &s->templates;
    struct template *node = NULL;
    struct lesson l;
    bool known = false;

    prepare_node(s, n, *from, &l);
    if (l.node.kind == TEMPLATE_TEXT && l.node.field == TRACE_FIELD_NAME)
        node = learn_fork(t, first, &l);
    else if (l.node.kind == TEMPLATE_TEXT &&
             (l.more.conv == CONV_LABEL || l.more.conv == CONV_PHASE) && l.text.len > 0)
        node = learn_word(t, first, &l);
    *from = node && node->kind == TEMPLATE_WORD ? l.next + 1 : l.next;
    if (!node)
        node = find_branch(t, first, &l);
    if (!node)
        return NULL;
    first = learn_name(t, node, l.text, &known);
    if ((known || node->kind == TEMPLATE_WORD) && n->node->from < 64)
        *fixed |= (uint64_t)1 << n->node->from;
    return first;
}

void template_learn(struct trace_scanner *s, const char *object, const char *newline)
{
    struct templates *t = &s->templates;
    struct template **first = &t->root;
    struct lesson end = {.node = {.kind = TEMPLATE_END},
                         .more = {.slot = SLOT_END, .places = s->at},
                         .from = object,
                         .to = newline + 1};

    for (uint32_t i = 0; i < s->note_count && first; i++)
        first = learn_value(s, first, &s->notes[i], &end.from, &end.more.fixed);
    end.more.shape = t->shapes + 1;
    end.more.plain = scan_is_plain(s, end.more.fixed, &end.more.class);
    for (const char *p = newline; *--p != '}';)
        end.more.tail++;
    if (first && find_branch(t, first, &end))
        t->shapes++;
    if (t->used == POOL_NODES)
        templates_clear(s);
}
