/* entry.c - tests of single values: the semantics of the query language. */
#include "engine/filter/filter.h"

#include <string.h>

enum { NO_TEXT = 2 };

/* Sets *ret to the value of a number, or of a time in us. Returns false for other types. */
static bool entry_number(const struct column_entry *e, struct number *ret)
{
    switch (e->type) {
    case TRACE_INT:
        *ret = (struct number){.type = NUMBER_INT, .i = e->nano ? e->i / 1000 : e->i};
        if (e->nano && e->i % 1000 != 0)
            *ret = (struct number){.type = NUMBER_DOUBLE, .d = (double)e->i / 1000};
        return true;
    case TRACE_DOUBLE:
        *ret = (struct number){.type = NUMBER_DOUBLE, .d = e->d};
        return true;
    case TRACE_BIG:
        *ret = number_of_digits(e->text);
        return true;
    default:
        return false;
    }
}

/* Compares a time with a literal. n: its value in us. */
static int compare_time(const struct column_entry *e, const struct number *n, struct cut ns)
{
    if (e->type == TRACE_DOUBLE) { /* such as a mean */
        const struct number us = {.type = NUMBER_DOUBLE, .d = (double)ns.floor / 1000};
        return number_cmp(n, &us);
    }
    struct cut value = e->nano ? (struct cut){e->i, false} : number_cut(n);
    struct cut wanted = e->nano ? ns : cut_divide(ns, 1000);
    if (value.floor != wanted.floor)
        return value.floor < wanted.floor ? -1 : 1;
    return wanted.more ? -1 : 0;
}

/* Sets a negative number, 0 or a positive one. Returns false if the two are not comparable (a
 * number and a text ...). */
static bool compare_entry(const struct column_entry *e, const struct literal *l, int *ret)
{
    struct number n;

    if (l->type == LITERAL_TEXT) {
        if (e->type != TRACE_TEXT)
            return false;
        *ret = text_cmp(e->text, l->text);
        return true;
    }
    if (l->type == LITERAL_BOOL) {
        *ret = (int)(e->i != 0) - (int)l->boolean;
        return e->type == TRACE_BOOL;
    }
    if (!entry_number(e, &n))
        return false;
    *ret = l->type == LITERAL_NUMBER ? number_cmp(&n, &l->number) : compare_time(e, &n, l->ns);
    return true;
}

static bool in_list(const struct test *t, const struct column_entry *e)
{
    const struct dsl_node *n = t->node;
    int cmp;

    for (size_t i = 0; i < n->literal_count; i++) {
        if (compare_entry(e, &n->literals[i], &cmp) && cmp == 0)
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

/* Returns 1, 0, NO_TEXT if the value is no text (nor an array, for CONTAINS), or -ENOMEM. */
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
        return compare_entry(e, &n->literals[0], &result) && compare_holds(n->compare, result);
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
