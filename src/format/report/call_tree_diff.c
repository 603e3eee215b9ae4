/* call_tree_diff.c - compares two folded trees: one line for each stack of either, with the
 * microseconds of both. */
#include "dftracerd/call_tree.h"
#include "dftracerd/format.h"
#include "dftracerd/vec.h"

#include <errno.h>

struct stack {
    unsigned __int128 us[2];
};
struct diff {
    struct charge charge; /* for the paths */
    struct intern *paths;
    VEC(struct stack) stacks; /* by path */
};

/* Reads `path number`. A stack with one name and several categories occurs several times. */
static int add_stack(struct diff *d, struct text line, unsigned side)
{
    size_t end = line.len, known = intern_count(d->paths);
    unsigned __int128 us = 0;

    while (end > 0 && line.ptr[end - 1] != ' ')
        end--;
    for (size_t i = end; i < line.len; i++)
        us = us * 10 + (unsigned)(line.ptr[i] - '0');
    struct text path = {line.ptr, end ? end - 1 : 0};
    int64_t id = intern_add(d->paths, path);
    if (id < 0)
        return (int)id;
    bool is_new = (size_t)id == known;
    int rc = is_new ? charge_add(&d->charge, path.len + 2 * sizeof(struct text)) : 0;
    rc = rc < 0 ? rc : vec_extend(&d->stacks, (size_t)id + 1);
    if (rc == 0)
        d->stacks.at[id].us[side] += us;
    return rc;
}

static int add_tree(struct diff *d, struct call_tree *t, unsigned side)
{
    struct format_call_tree_options o = {.format = FORMAT_COLLAPSED, .budget = d->charge.budget};
    struct format_call_tree *f = NULL;
    struct buf lines = {0};
    struct text rest, line;
    int rc = format_call_tree_new(t, &o, &f), added = 0;

    while (rc == 0 && added == 0) {
        buf_clear(&lines);
        rc = format_call_tree_next(f, &lines);
        rest = (struct text){lines.data, lines.len};
        while ((rc == 0 || rc == ERR_END) && added == 0 && rest.len > 0) {
            text_split(&rest, '\n', &line);
            added = add_stack(d, line, side);
        }
    }
    format_call_tree_free(f);
    buf_done(&lines);
    return added < 0 ? added : rc == ERR_END ? 0 : rc;
}

static void put_number(struct buf *out, unsigned __int128 us)
{
    char digits[64];

    buf_putc(out, ' ');
    buf_append(out, digits, num_format_i128((__int128)us, digits));
}

int format_call_tree_diff(struct call_tree *const trees[2], struct budget *budget, struct buf *out)
{
    struct diff d = {.charge.budget = budget, .paths = intern_new(), .stacks.budget = budget};
    int rc = d.paths ? 0 : -ENOMEM;

    for (unsigned side = 0; side < 2 && rc == 0; side++)
        rc = add_tree(&d, trees[side], side);
    for (uint32_t i = 0; rc == 0 && i < intern_count(d.paths); i++) {
        buf_text(out, intern_text(d.paths, i));
        put_number(out, d.stacks.at[i].us[0]);
        put_number(out, d.stacks.at[i].us[1]);
        buf_putc(out, '\n');
    }
    intern_free(d.paths);
    vec_done(&d.stacks);
    charge_done(&d.charge);
    return rc < 0 ? rc : out->error;
}
