/* print.c - prints queries in canonical form: every AND and OR in parentheses, equal values spelled
 * alike. */
#include "engine/lang/dsl.h"

static void print_text(struct text t, struct buf *out)
{
    buf_putc(out, '"');
    for (size_t i = 0; i < t.len; i++) {
        unsigned char c = (unsigned char)t.ptr[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c == '\n')
            buf_puts(out, "\\n");
        else if (c == '\t')
            buf_puts(out, "\\t");
        else if (c < 0x20)
            buf_printf(out, "\\u%04x", c);
        else
            buf_putc(out, (char)c);
    }
    buf_putc(out, '"');
}

/* Prints microseconds, with a fraction if there is one. A time between two nanoseconds is
 * printed as their middle, which makes no difference for comparisons with whole nanoseconds. */
static void print_time(struct cut ns, struct buf *out)
{
    bool negative = ns.floor < 0;
    /* -1.5 ns has the floor -2: its magnitude is 1 and a fraction. */
    __int128 magnitude = negative ? -ns.floor - ns.more : ns.floor;
    char digits[64];

    if (negative)
        buf_putc(out, '-');
    size_t len = num_format_milli128(magnitude, digits);
    if (!ns.more) {
        buf_append(out, digits, len);
        return;
    }
    len = num_format_i128(magnitude / 1000, digits);
    buf_append(out, digits, len);
    buf_printf(out, ".%03d5", (int)(magnitude % 1000));
}

static void print_literal(const struct literal *l, struct buf *out)
{
    switch (l->type) {
    case LITERAL_TEXT:
        print_text(l->text, out);
        break;
    case LITERAL_NUMBER:
        number_print(&l->number, out);
        break;
    case LITERAL_BOOL:
        buf_puts(out, l->boolean ? "true" : "false");
        break;
    case LITERAL_TIME:
        print_time(l->ns, out);
        break;
    }
}

static void print_list(const struct dsl_node *n, struct buf *out)
{
    buf_text(out, n->path);
    buf_puts(out, n->negated ? " not in [" : " in [");
    for (size_t i = 0; i < n->literal_count; i++) {
        if (i > 0)
            buf_puts(out, ", ");
        print_literal(&n->literals[i], out);
    }
    buf_putc(out, ']');
}

static void print_test(const struct dsl_node *n, struct buf *out)
{
    static const char *const signs[] = {
        [COMPARE_EQ] = "==", [COMPARE_NE] = "!=", [COMPARE_LT] = "<",
        [COMPARE_LE] = "<=", [COMPARE_GT] = ">",  [COMPARE_GE] = ">=",
    };

    if (n->op == DSL_IN) {
        print_list(n, out);
        return;
    }
    if (n->op == DSL_CONTAINS) {
        print_literal(n->literals, out);
        buf_puts(out, n->negated ? " not in " : " in ");
        buf_text(out, n->path);
        return;
    }
    buf_text(out, n->path);
    if (n->op == DSL_NULL) {
        buf_puts(out, n->negated ? " is not null" : " is null");
        return;
    }
    if (n->op == DSL_COMPARE)
        buf_printf(out, " %s ", signs[n->compare]);
    else if (n->op == DSL_LIKE)
        buf_printf(out, " %s%s ", n->negated ? "not " : "", n->nocase ? "ilike" : "like");
    else
        buf_printf(out, " %s~%s ", n->negated ? "!" : "", n->nocase ? "*" : "");
    print_literal(n->literals, out);
}

/* Recursion is bounded by DSL_DEPTH_MAX. */
static void print_node(const struct dsl_node *n, struct buf *out)
{
    if (n->op == DSL_NOT) {
        buf_puts(out, "not ");
        print_node(n->child, out);
    } else if (n->op == DSL_AND || n->op == DSL_OR) {
        buf_putc(out, '(');
        for (const struct dsl_node *c = n->child; c; c = c->next) {
            print_node(c, out);
            if (c->next)
                buf_puts(out, n->op == DSL_AND ? " and " : " or ");
        }
        buf_putc(out, ')');
    } else {
        print_test(n, out);
    }
}

void dsl_print(const struct dsl_node *root, struct buf *out)
{
    if (root)
        print_node(root, out);
}
