/* pattern.h - tests of texts: LIKE, regular expressions, substrings. Private to the module.
 * PCRE2 in pattern.c only. */
#ifndef DFTRACERD_ENGINE_LANG_PATTERN_H
#define DFTRACERD_ENGINE_LANG_PATTERN_H

#include "dftracerd/base.h"

/* Matches the whole subject; '%' matches any text, '_' one character (UTF-8). nocase: ignores the
 * case of ASCII letters. */
bool like_match(struct text pattern, struct text subject, bool nocase);
/* Ignores the case of ASCII letters. Every text contains the empty needle. */
bool text_contains_nocase(struct text haystack, struct text needle);
/* Decodes the inside of a valid JSON string. out: inside.len bytes. Returns the end of the text. */
char *json_unescape(struct text inside, char *out);
/* Searches the inside of a valid JSON string as text_contains_nocase does. Returns 1, 0 or -ENOMEM.
 */
int text_contains_escaped(struct text haystack, struct text needle);

struct pattern; /* immutable: any thread */
/* Returns 0, ERR_QUERY_SYNTAX with a message in `why`, or -ENOMEM. */
int pattern_new(struct text source, bool nocase, char *why, size_t why_len, struct pattern **ret);
void pattern_free(struct pattern *p);
/* Searches the subject. Returns 1, 0, ERR_PATTERN_LIMIT or -ENOMEM. */
int pattern_match(const struct pattern *p, struct text subject);

#endif
