/* entry.c - tests of single values: the semantics of the query language. */
#include "engine/filter/filter.h"

#include <string.h>

enum { NO_TEXT = 2 };

/* Sets a negative number, 0 or a positive one. Returns false if the two are not comparable (a
 * number and a text ...). */
static bool compare_entry(const struct column_entry *e, const struct literal *l, bool nocase,
                          int *ret)
{
    struct number n = {.type = NUMBER_INT, .i = e->i};

    if (l->type == LITERAL_TEXT) {
        if (e->type != TRACE_TEXT)
            return false;
        *ret = nocase ? !text_eq_nocase(e->text, l->text) : text_cmp(e->text, l->text);
        return true;
    }
    if (l->type == LITERAL_BOOL) {
        *ret = (int)(e->i != 0) - (int)l->boolean;
        return e->type == TRACE_BOOL;
    }
    if (e->type == TRACE_DOUBLE)
        n = (struct number){.type = NUMBER_DOUBLE, .d = e->d};
    else if (e->type == TRACE_BIG)
        n = number_of_digits(e->text);
    else if (e->type != TRACE_INT)
        return false;
    if (l->type == LITERAL_NUMBER) {
        *ret = number_cmp(&n, &l->number);
        return true;
    }
    /* A time that is stored as a plain number is in microseconds. */
    struct cut value = number_cut(&n), us = cut_divide(l->ns, 1000);
    *ret = value.floor != us.floor ? (value.floor < us.floor ? -1 : 1)
                                   : (int)value.more - (int)us.more;
    return true;
}

static bool in_list(const struct test *t, const struct column_entry *e)
{
    const struct dsl_node *n = t->node;
    int cmp;

    for (size_t i = 0; i < n->literal_count; i++) {
        if (compare_entry(e, &n->literals[i], n->nocase, &cmp) && cmp == 0)
            return true;
    }
    return false;
}

/* Searches the text elements of a JSON array; escapes are decoded. Returns 1, 0 or -ENOMEM. */
static int array_contains(struct text json, struct text needle)
{
    for (size_t i = 0; i < json.len; i++) {
        if (json.ptr[i] != '"')
            continue;
        size_t begin = ++i;
        bool escaped = false;
        for (; i < json.len && json.ptr[i] != '"'; i++) {
            escaped = escaped || json.ptr[i] == '\\';
            i += json.ptr[i] == '\\';
        }
        struct text element = {json.ptr + begin, (i < json.len ? i : json.len) - begin};
        int found = escaped ? text_contains_escaped(element, needle)
                            : text_contains_nocase(element, needle);
        if (found != 0)
            return found;
    }
    return 0;
}

/* Returns 1, 0, NO_TEXT if the value is no text (nor an array, for IN), or -ENOMEM. */
static int pattern_entry(const struct dsl_node *n, const struct column_entry *e)
{
    struct text wanted = n->literals[0].text;

    if (n->op == DSL_CONTAINS && e->type == TRACE_JSON && e->text.len > 0 && e->text.ptr[0] == '[')
        return array_contains(e->text, wanted);
    if (e->type != TRACE_TEXT)
        return NO_TEXT;
    if (n->op == DSL_CONTAINS)
        return text_contains_nocase(e->text, wanted);
    return like_match(wanted, e->text, n->nocase);
}

int test_entry(const struct test *t, const struct column_entry *e)
{
    const struct dsl_node *n = t->node;
    int result;

    switch (n->op) {
    case DSL_COMPARE:
        return compare_entry(e, &n->literals[0], n->nocase, &result) &&
               compare_holds(n->compare, result);
    case DSL_IN:
        return in_list(t, e) != n->negated;
    case DSL_NULL:
        return n->negated;
    case DSL_MATCH:
        if (e->type != TRACE_TEXT)
            return 0;
        result = pattern_match(n->pattern, e->text);
        return result < 0 ? result : (result != 0) != n->negated;
    default:
        result = pattern_entry(n, e);
        return result < 0 ? result : result != NO_TEXT && (result != 0) != n->negated;
    }
}
