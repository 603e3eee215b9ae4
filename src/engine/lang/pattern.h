/* pattern.h - tests of texts: LIKE, regular expressions, substrings. Private to the module.
 * PCRE2 in pattern.c only. */
#ifndef DFTRACERD_ENGINE_LANG_PATTERN_H
#define DFTRACERD_ENGINE_LANG_PATTERN_H

#include "dftracerd/base.h"

/* Anchored; '%' any run, '_' one character (UTF-8); nocase: ASCII letters. */
bool like_match(struct text pattern, struct text subject, bool nocase);
/* ASCII letters in any case. An empty needle is in every text. */
bool text_contains_nocase(struct text haystack, struct text needle);
/* The inside of a valid JSON string, decoded; and text_contains_nocase of such a haystack: 1, 0
 * or -ENOMEM. */
char *json_unescape(struct text inside, char *out); /* out: inside.len bytes; returns the end */
int text_contains_escaped(struct text haystack, struct text needle);

struct pattern; /* immutable: any thread */
/* ERR_QUERY_SYNTAX with a message for people in `why`, -ENOMEM. */
int pattern_new(struct text source, bool nocase, char *why, size_t why_len, struct pattern **ret);
void pattern_free(struct pattern *p);
/* 1 found, 0 not, ERR_PATTERN_LIMIT, -ENOMEM. Not anchored. */
int pattern_match(const struct pattern *p, struct text subject);

#endif
