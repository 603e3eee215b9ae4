/* glob.c - patterns of file names.
 *
 * '*' and '?' match within a component, "**" matches across '/', and a component "**" matches any
 * number of directories, or none: a pattern without '/' matches only files at the top, "**"
 * followed by '/' and a name matches this name anywhere.
 */
#include "engine/plan/plan.h"

#include <string.h>

/* Matches "[a-z]" or "[!a-z]" at p. Returns the end after the bracket, or NULL if it is not
 * closed. */
static const char *match_class(const char *p, char c, bool *ret_match)
{
    bool negated = p[1] == '!' || p[1] == '^', match = false;
    const char *at = p + 1 + negated, *first = at;

    for (; *at && (*at != ']' || at == first); at++) {
        unsigned char lo = (unsigned char)*at, hi = lo;
        if (at[1] == '-' && at[2] && at[2] != ']') {
            hi = (unsigned char)at[2];
            at += 2;
        }
        match = match || ((unsigned char)c >= lo && (unsigned char)c <= hi);
    }
    if (!*at)
        return NULL;
    *ret_match = match != negated && c != '/';
    return at + 1;
}

/* Matches one character with one element of the pattern that is no star. Returns the rest of the
 * pattern, or NULL. */
static const char *match_one(const char *p, char c)
{
    bool match;
    const char *end;

    if (*p == '?')
        return c != '/' ? p + 1 : NULL;
    if (*p == '[' && (end = match_class(p, c, &match)))
        return match ? end : NULL;
    if (*p == '\\' && p[1])
        p++;
    return *p == c ? p + 1 : NULL;
}

/* Where matching resumes after a mismatch: at the last star, then at the last double star. Earlier
 * ones are not needed, since all that follows a double star is matched again. */
struct resume_point {
    const char *pattern, *name;
    bool dirs;
};

static bool match_resume(struct resume_point *star, struct resume_point *deep, const char **p,
                         const char **n)
{
    if (star->pattern && *star->name && *star->name != '/') {
        star->name++;
        *p = star->pattern;
        *n = star->name;
        return true;
    }
    star->pattern = NULL;
    if (!deep->pattern || !*deep->name)
        return false;
    deep->name++;
    while (deep->dirs && *deep->name && deep->name[-1] != '/')
        deep->name++;
    if (deep->dirs && deep->name[-1] != '/')
        return false;
    *p = deep->pattern;
    *n = deep->name;
    return true;
}

bool glob_match(const char *pattern, const char *name)
{
    struct resume_point star = {0}, deep = {0};
    const char *p = pattern, *n = name, *next;

    for (;;) {
        if (p[0] == '*' && p[1] == '*') {
            bool dirs = p[2] == '/' && (p == pattern || p[-1] == '/');
            p += dirs ? 3 : 2;
            deep = (struct resume_point){p, n, dirs};
            star.pattern = NULL;
        } else if (*p == '*') {
            p++;
            star = (struct resume_point){p, n, false};
        } else if (*p == '\0' && *n == '\0') {
            return true;
        } else if (*p && *n && (next = match_one(p, *n))) {
            p = next;
            n++;
        } else if (!match_resume(&star, &deep, &p, &n)) {
            return false;
        }
    }
}
