/* dsl.h - the query language: parses text to a tree, and prints trees in canonical form. Private to
 * the module.
 *
 * The grammar is in parse.c, the semantics in docs/API.md. Everything is in the arena of struct
 * dsl, except for the source text, which is only borrowed while parsing. Trees are n-ary: a and b
 * and c is one node with three children.
 */
#ifndef DFTRACERD_ENGINE_LANG_DSL_H
#define DFTRACERD_ENGINE_LANG_DSL_H

#include "dftracerd/vec.h"
#include "engine/lang/exact.h"
#include "engine/lang/path.h"
#include "engine/lang/pattern.h"

enum { DSL_DEPTH_MAX = 256, DSL_TERMS_MAX = 10000 };

struct literal {
    enum { LITERAL_TEXT, LITERAL_NUMBER, LITERAL_BOOL, LITERAL_TIME } type;
    struct text text;
    struct number number;
    bool boolean;
    struct cut ns; /* LITERAL_TIME */
};

enum dsl_op {
    DSL_AND,
    DSL_OR,
    DSL_NOT,
    DSL_COMPARE,
    DSL_IN,
    DSL_LIKE,
    DSL_MATCH,
    DSL_CONTAINS,
    DSL_NULL
};
struct dsl_node {
    enum dsl_op op;
    enum compare compare; /* DSL_COMPARE */
    bool negated;         /* NOT IN, NOT LIKE, !~, IS NOT NULL */
    bool nocase;          /* ILIKE, ~* */
    size_t position;      /* of the operator or literal, for errors */
    struct text path;     /* as written */
    struct path_info info;
    struct literal *literals; /* COMPARE, LIKE, MATCH, CONTAINS: one */
    size_t literal_count;
    struct pattern *pattern;       /* MATCH */
    struct dsl_node *child, *next; /* children of AND, OR, NOT; sibling */
};
struct dsl {
    struct arena arena;
    struct dsl_node *root; /* NULL: everything */
    VEC(struct pattern *) patterns;
};

/* Returns 0, ERR_QUERY_SYNTAX with err->position and err->source, or -ENOMEM. `ret` needs dsl_done
 * in any case. */
int dsl_parse(struct text source, struct err *err, struct dsl *ret);
void dsl_done(struct dsl *d);
/* Sets *ret to "(a) AND (b)", or the one that is not empty, in the arena. Returns 0 or -ENOMEM. */
int query_and(struct arena *arena, struct text a, struct text b, struct text *ret);
void dsl_print(const struct dsl_node *root, struct buf *out);

/* ---- between lexer and parser ---------------------------------------------------------------- */

enum dsl_token_type {
    TOKEN_END,
    TOKEN_PATH,
    TOKEN_TEXT,
    TOKEN_NUMBER,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_LIST,
    TOKEN_LIST_END,
    TOKEN_COMMA,
    TOKEN_COMPARE,
    TOKEN_MATCH,
    TOKEN_AND,
    TOKEN_OR,
    TOKEN_NOT,
    TOKEN_IN,
    TOKEN_LIKE,
    TOKEN_ILIKE,
    TOKEN_IS,
    TOKEN_NULL,
    TOKEN_TRUE,
    TOKEN_FALSE
};
struct dsl_token {
    enum dsl_token_type type;
    size_t position;
    struct text source; /* as written */
    struct text text;   /* TEXT: decoded; NUMBER: without unit */
    struct text unit;   /* NUMBER */
    enum compare compare;
    bool negated, nocase; /* MATCH */
};
struct dsl_lexer {
    struct text source;
    size_t at;
    struct arena *arena;
    struct err *err;
};
/* Returns 0, ERR_QUERY_SYNTAX or -ENOMEM. All calls at the end set TOKEN_END. */
int dsl_lex(struct dsl_lexer *lexer, struct dsl_token *ret);
/* Stores the error with its position and a copy of the source. */
int dsl_fail(struct err *err, struct text source, size_t position, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
