/* parse.c - a recursive descent parser for this grammar; an empty text selects everything.
 *
 *   or    := and { OR and }
 *   and   := not { AND not }
 *   not   := NOT not | '(' or ')' | test
 *   test  := path op value | path [NOT] IN '[' [value {',' value}] ']' | path [NOT] (LIKE | ILIKE)
 *         string
 *          | path (~ | ~* | !~ | !~*) string | path IS [NOT] NULL | string [NOT] IN path
 *   op    := == | = | != | > | < | >= | <=
 *   value := string | number [unit] | TRUE | FALSE
 */
#include "engine/lang/dsl.h"
#include "dftracerd/query.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    struct dsl_lexer lexer;
    struct dsl_token token; /* the next token */
    struct dsl *dsl;
    struct err *err;
    unsigned depth; /* of parentheses and NOTs */
    unsigned terms;
};

/* ---- tokens ---------------------------------------------------------------------------------- */

static int next_token(struct parser *p)
{
    return dsl_lex(&p->lexer, &p->token);
}

static int fail_expected(struct parser *p, const char *what)
{
    struct text got = p->token.source;

    if (p->token.type == TOKEN_END)
        return dsl_fail(p->err, p->lexer.source, p->token.position,
                        "expected %s, got the end of the query", what);
    int len = got.len < 60 ? (int)got.len : 60;
    while (len > 0 && (size_t)len < got.len && ((unsigned char)got.ptr[len] & 0xC0) == 0x80)
        len--; /* cut at a character */
    return dsl_fail(p->err, p->lexer.source, p->token.position, "expected %s, got '%.*s%s'", what,
                    len, got.ptr, (size_t)len < got.len ? "..." : "");
}

static int expect_token(struct parser *p, enum dsl_token_type type, const char *what)
{
    return p->token.type == type ? next_token(p) : fail_expected(p, what);
}

static struct dsl_node *node_new(struct parser *p, enum dsl_op op)
{
    struct dsl_node *n = arena_alloc(&p->dsl->arena, sizeof(*n));

    if (n) {
        n->op = op;
        n->position = p->token.position;
    }
    return n;
}

/* Reads a '(' or NOT, which begins a level of nesting. */
static int enter_level(struct parser *p)
{
    if (++p->depth > DSL_DEPTH_MAX)
        return dsl_fail(p->err, p->lexer.source, p->token.position,
                        "the query is nested deeper than %d levels", DSL_DEPTH_MAX);
    return next_token(p);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A unit is factor * 10^scale ns or bytes. */
struct unit {
    const char *name; /* NULL: the end of the table */
    int scale;
    int64_t factor;
};
static const struct unit times[] = {
    {"", 3, 1},     {"ns", 0, 1},    {"us", 3, 1},  {"\xC2\xB5s", 3, 1}, {"\xCE\xBCs", 3, 1},
    {"ms", 6, 1},   {"s", 9, 1},     {"sec", 9, 1}, {"m", 9, 60},        {"min", 9, 60},
    {"h", 9, 3600}, {"d", 9, 86400}, {NULL, 0, 0}};
static const struct unit sizes[] = {{"b", 0, 1},   {"k", 0, 1 << 10},   {"kib", 0, 1 << 10},
                                    {"kb", 3, 1},  {"m", 0, 1 << 20},   {"mib", 0, 1 << 20},
                                    {"mb", 6, 1},  {"g", 0, 1 << 30},   {"gib", 0, 1 << 30},
                                    {"gb", 9, 1},  {"t", 0, 1ll << 40}, {"tib", 0, 1ll << 40},
                                    {"tb", 12, 1}, {NULL, 0, 0}};

static int fail_unit(struct parser *p, const char *why)
{
    return dsl_fail(p->err, p->lexer.source, p->token.position, "%s, got the unit \"%.*s\"", why,
                    (int)(p->token.unit.len < 40 ? p->token.unit.len : 40), p->token.unit.ptr);
}

/* Sets *ret to the number of the token, in ns or bytes. Returns false if its unit is unknown. */
static bool scale_number(const struct parser *p, const struct unit *units, struct cut *ret)
{
    for (const struct unit *u = units; u->name; u++) {
        if (text_eq_nocase(p->token.unit, text_of(u->name)))
            return decimal_cut(p->token.text, u->scale, u->factor, ret);
    }
    return false;
}

/* No event has a larger time; larger ones would lose digits in the canonical text. */
#define TIME_LIMIT ((__int128)1000000000000 * 1000000000000)

static int time_literal(struct parser *p, struct literal *ret)
{
    if (!scale_number(p, times, &ret->ns))
        return fail_unit(p, "expected a unit of time (ns, us, ms, s, min, h, d)");
    ret->type = LITERAL_TIME;
    if (ret->ns.floor >= TIME_LIMIT || ret->ns.floor <= -TIME_LIMIT)
        ret->ns = (struct cut){ret->ns.floor < 0 ? -TIME_LIMIT : TIME_LIMIT, false};
    return 0;
}

/* Sizes in whole bytes become integers, whatever the unit; others doubles. */
static int size_literal(struct parser *p, struct literal *ret)
{
    struct cut b;

    if (!scale_number(p, sizes, &b))
        return fail_unit(
            p, "expected a unit of size (B, k, KiB, kB, M, MiB, MB, G, GiB, GB, T, TiB, TB)");
    ret->type = LITERAL_NUMBER;
    ret->number = (struct number){.type = NUMBER_DOUBLE, .d = (double)b.floor + (b.more ? 0.5 : 0)};
    if (!b.more && b.floor <= INT64_MAX && b.floor >= INT64_MIN)
        ret->number = (struct number){.type = NUMBER_INT, .i = (int64_t)b.floor};
    return 0;
}

static int number_literal(struct parser *p, const struct path_info *info, struct literal *ret)
{
    if (info->time)
        return time_literal(p, ret);
    if (p->token.unit.len > 0 && info->bytes)
        return size_literal(p, ret);
    if (p->token.unit.len > 0)
        return fail_unit(p,
                         "a unit is allowed only after numbers compared with ts, te, dur or sizes");
    if (info->hash) {
        ret->type = LITERAL_TEXT;
        char *copy = arena_strdup(&p->dsl->arena, p->token.text);
        ret->text = (struct text){copy, p->token.text.len};
        return copy ? 0 : -ENOMEM;
    }
    struct text t = p->token.text;
    ret->type = LITERAL_NUMBER;
    int rc = number_parse(t, &ret->number);
    if (rc == -ERANGE)
        return dsl_fail(p->err, p->lexer.source, p->token.position, "the number is too large");
    if (rc < 0)
        return rc == -ENOMEM ? rc : fail_expected(p, "a number");
    if (ret->number.type != NUMBER_BIG)
        return 0;
    char *copy = arena_strdup(&p->dsl->arena, ret->number.big);
    ret->number.big.ptr = copy;
    return copy ? 0 : -ENOMEM;
}

static int parse_value(struct parser *p, const struct path_info *info, struct literal *ret)
{
    int rc = 0;

    switch (p->token.type) {
    case TOKEN_TEXT:
        ret->type = LITERAL_TEXT;
        ret->text = p->token.text;
        break;
    case TOKEN_TRUE:
    case TOKEN_FALSE:
        ret->type = LITERAL_BOOL;
        ret->boolean = p->token.type == TOKEN_TRUE;
        break;
    case TOKEN_NUMBER:
        rc = number_literal(p, info, ret);
        break;
    default:
        return fail_expected(p, "a value (a string, a number, true or false)");
    }
    return rc < 0 ? rc : next_token(p);
}

/* Appends a value to the literals. The array is full when it has a power of two of them. */
static int parse_literal(struct parser *p, struct dsl_node *n)
{
    size_t count = n->literal_count;

    if ((count & (count - 1)) == 0) {
        struct literal *larger =
            arena_alloc(&p->dsl->arena, (count ? 2 * count : 1) * sizeof(*larger));
        if (!larger)
            return -ENOMEM;
        if (count)
            memcpy(larger, n->literals, count * sizeof(*larger));
        n->literals = larger;
    }
    int rc = parse_value(p, &n->info, &n->literals[count]);
    n->literal_count += rc == 0;
    return rc;
}

/* Parses a list after IN. */
static int parse_list(struct parser *p, struct dsl_node *n)
{
    int rc = expect_token(p, TOKEN_LIST, "'[' and a list of values");

    if (rc == 0 && p->token.type == TOKEN_LIST_END)
        return next_token(p);
    while (rc == 0) {
        rc = parse_literal(p, n);
        if (rc == 0 && p->token.type == TOKEN_LIST_END)
            return next_token(p);
        if (rc == 0)
            rc = expect_token(p, TOKEN_COMMA, "',' or ']'");
    }
    return rc;
}

static int parse_string(struct parser *p, struct dsl_node *n, const char *what)
{
    if (p->token.type != TOKEN_TEXT)
        return fail_expected(p, what);
    n->position = p->token.position;
    return parse_literal(p, n);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static int parse_match(struct parser *p, struct dsl_node *n)
{
    char why[200];

    n->op = DSL_MATCH;
    n->negated = p->token.negated;
    n->nocase = p->token.nocase;
    int rc = next_token(p);
    if (rc == 0)
        rc = parse_string(p, n, "a regular expression in quotes");
    if (rc < 0)
        return rc;
    rc = pattern_new(n->literals->text, n->nocase, why, sizeof(why), &n->pattern);
    if (rc == ERR_QUERY_SYNTAX)
        return dsl_fail(p->err, p->lexer.source, n->position, "Invalid pattern: %s", why);
    rc = rc < 0 ? rc : vec_push(&p->dsl->patterns, n->pattern);
    if (rc < 0)
        pattern_free(n->pattern);
    return rc;
}

static int parse_is(struct parser *p, struct dsl_node *n)
{
    int rc = next_token(p);

    n->op = DSL_NULL;
    if (rc == 0 && p->token.type == TOKEN_NOT) {
        n->negated = true;
        rc = next_token(p);
    }
    return rc < 0 ? rc
                  : expect_token(p, TOKEN_NULL, n->negated ? "'null'" : "'null' or 'not null'");
}

static int parse_like(struct parser *p, struct dsl_node *n)
{
    n->op = DSL_LIKE;
    n->nocase = p->token.type == TOKEN_ILIKE;
    int rc = next_token(p);
    return rc < 0 ? rc : parse_string(p, n, "a pattern in quotes");
}

static int parse_compare(struct parser *p, struct dsl_node *n)
{
    n->op = DSL_COMPARE;
    n->compare = p->token.compare;
    int rc = next_token(p);
    return rc < 0 ? rc : parse_literal(p, n);
}

/* Parses the operator and the value after the path of a test. */
static int parse_operator(struct parser *p, struct dsl_node *n)
{
    int rc = 0;

    if (p->token.type == TOKEN_COMPARE)
        return parse_compare(p, n);
    if (p->token.type == TOKEN_MATCH)
        return parse_match(p, n);
    if (p->token.type == TOKEN_IS)
        return parse_is(p, n);
    if (p->token.type == TOKEN_NOT) {
        n->negated = true;
        rc = next_token(p);
    }
    if (rc < 0)
        return rc;
    if (p->token.type == TOKEN_LIKE || p->token.type == TOKEN_ILIKE)
        return parse_like(p, n);
    if (p->token.type == TOKEN_IN) {
        n->op = DSL_IN;
        rc = next_token(p);
        return rc < 0 ? rc : parse_list(p, n);
    }
    return fail_expected(p, n->negated
                                ? "'in', 'like' or 'ilike'"
                                : "an operator (== != > < >= <= in not like ilike ~ ~* !~ !~* is)");
}

static int set_path(struct parser *p, struct dsl_node *n)
{
    char *copy = arena_strdup(&p->dsl->arena, p->token.source);

    if (!copy)
        return -ENOMEM;
    n->path = (struct text){copy, p->token.source.len};
    int rc = path_resolve(n->path, &p->dsl->arena, &n->info);
    return rc < 0 ? rc : next_token(p);
}

/* Parses "text" [NOT] IN path. */
static int parse_contains(struct parser *p, struct dsl_node *n)
{
    int rc = parse_string(p, n, "a string");

    n->op = DSL_CONTAINS;
    if (rc == 0 && p->token.type == TOKEN_NOT) {
        n->negated = true;
        rc = next_token(p);
    }
    if (rc == 0)
        rc = expect_token(p, TOKEN_IN, "'in' and a path after a string");
    if (rc == 0 && p->token.type != TOKEN_PATH)
        return fail_expected(p, "a path");
    return rc < 0 ? rc : set_path(p, n);
}

static int parse_test(struct parser *p, struct dsl_node **ret)
{
    struct dsl_node *n = node_new(p, DSL_COMPARE);
    int rc;

    if (!n)
        return -ENOMEM;
    if (++p->terms > DSL_TERMS_MAX)
        return dsl_fail(p->err, p->lexer.source, p->token.position,
                        "the query has more than %d terms", DSL_TERMS_MAX);
    if (p->token.type == TOKEN_TEXT) {
        rc = parse_contains(p, n);
    } else if (p->token.type == TOKEN_PATH) {
        rc = set_path(p, n);
        if (rc == 0)
            rc = parse_operator(p, n);
    } else {
        return fail_expected(p, "a path, a string, 'not' or '('");
    }
    if (rc == 0)
        *ret = n;
    return rc;
}

/* ---- and, or, not ---------------------------------------------------------------------------- */

static int parse_operands(struct parser *p, enum dsl_op op, struct dsl_node **ret);

static int parse_parenthesis(struct parser *p, struct dsl_node **ret)
{
    int rc = enter_level(p);

    if (rc == 0)
        rc = parse_operands(p, DSL_OR, ret);
    p->depth--;
    return rc < 0 ? rc : expect_token(p, TOKEN_CLOSE, "'and', 'or' or ')'");
}

static int parse_not(struct parser *p, struct dsl_node **ret)
{
    if (p->token.type == TOKEN_OPEN)
        return parse_parenthesis(p, ret);
    if (p->token.type != TOKEN_NOT)
        return parse_test(p, ret);
    struct dsl_node *n = node_new(p, DSL_NOT);
    if (!n)
        return -ENOMEM;
    int rc = enter_level(p);
    if (rc == 0)
        rc = parse_not(p, &n->child);
    p->depth--;
    if (rc == 0)
        *ret = n;
    return rc;
}

/* Children of a child of the same kind are moved up, so that (a and b) and c is one node of
 * three. */
static void append_child(struct dsl_node *parent, struct dsl_node ***tail, struct dsl_node *child)
{
    **tail = child->op == parent->op ? child->child : child;
    while (**tail)
        *tail = &(**tail)->next;
}

static int parse_operand(struct parser *p, enum dsl_op op, struct dsl_node **ret)
{
    return op == DSL_AND ? parse_not(p, ret) : parse_operands(p, DSL_AND, ret);
}

/* Parses a sequence of operands with the same operator, AND or OR, between them. */
static int parse_operands(struct parser *p, enum dsl_op op, struct dsl_node **ret)
{
    struct dsl_node *first = NULL, *n = NULL, **tail = NULL, *more = NULL;
    int rc = parse_operand(p, op, &first);

    while (rc == 0 && p->token.type == (op == DSL_AND ? TOKEN_AND : TOKEN_OR)) {
        if (!n) {
            n = node_new(p, op);
            if (!n)
                return -ENOMEM;
            tail = &n->child;
            append_child(n, &tail, first);
        }
        rc = next_token(p);
        if (rc == 0)
            rc = parse_operand(p, op, &more);
        if (rc == 0)
            append_child(n, &tail, more);
    }
    if (rc == 0)
        *ret = n ? n : first;
    return rc;
}

/* ---- queries --------------------------------------------------------------------------------- */

/* Returns the nesting depth of the canonical text, which must be parseable again. */
static unsigned canonical_depth(const struct dsl_node *n)
{
    unsigned deepest = 0;

    if (n->op > DSL_NOT)
        return 0;
    for (const struct dsl_node *c = n->child; c; c = c->next) {
        unsigned depth = canonical_depth(c);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

static int check_utf8(struct text source, struct err *err)
{
    size_t at = 0, len = 0;
    int32_t code;

    if (text_is_utf8(source))
        return 0;
    do {
        at += len;
        len = text_utf8_next((struct text){source.ptr + at, source.len - at}, &code);
    } while (code >= 0);
    return dsl_fail(err, source, at, "the query is not valid UTF-8");
}

int dsl_parse(struct text source, struct err *err, struct dsl *ret)
{
    struct parser p = {.dsl = ret, .err = err};

    memset(ret, 0, sizeof(*ret));
    p.lexer = (struct dsl_lexer){.source = source, .arena = &ret->arena, .err = err};
    int rc = check_utf8(source, err);
    if (rc == 0)
        rc = next_token(&p);
    if (rc < 0 || p.token.type == TOKEN_END)
        return rc;
    struct dsl_node *root = NULL;
    rc = parse_operands(&p, DSL_OR, &root);
    if (rc == 0 && p.token.type != TOKEN_END)
        rc = fail_expected(&p, "'and', 'or' or the end of the query");
    if (rc == 0 && canonical_depth(root) > DSL_DEPTH_MAX)
        rc = dsl_fail(err, source, 0, "the query is nested deeper than %d levels", DSL_DEPTH_MAX);
    if (rc == 0)
        ret->root = root;
    return rc;
}

void dsl_done(struct dsl *d)
{
    for (size_t i = 0; i < d->patterns.count; i++)
        pattern_free(d->patterns.at[i]);
    vec_done(&d->patterns);
    arena_done(&d->arena);
    memset(d, 0, sizeof(*d));
}

int query_normalise(struct text text, struct err *err, struct buf *out)
{
    struct dsl d;
    int rc = dsl_parse(text, err, &d);

    if (rc == 0)
        dsl_print(d.root, out);
    dsl_done(&d);
    return rc < 0 ? rc : out->error;
}
