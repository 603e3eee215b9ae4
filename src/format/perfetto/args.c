/* args.c - the columns of /aggregate as ids and arguments of events:
 * "dur":{"sum":..,"avg":..} of slices, "dur.sum" of counters. */
#include "format/perfetto/aggregate.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns --------------------------------------------------------------------------------- */

static bool has_column(const struct perfetto *p, struct text name)
{
    for (size_t i = 0; i < p->count; i++) {
        if (text_eq(text_of(p->columns[i].name), name))
            return true;
    }
    return false;
}

/* Returns what the column is in an object of numbers; name NULL: nothing, also if another column
 * has the name of the object. */
static struct perfetto_part part_of(const struct perfetto *p, size_t column)
{
    static const char *const names[][2] = {{"total", "sum"},   {"mean", "avg"}, {"min", "min"},
                                           {"max", "max"},     {"std", "std"},  {"skew", "skw"},
                                           {"kurtosis", "krt"}};
    struct text name = text_of(p->columns[column].name);

    for (size_t i = 0; i < p->count; i++) {
        struct text of = text_of(p->columns[i].name);
        if (!text_ends(of, TEXT("_total")))
            continue;
        of.len -= strlen("_total");
        if (has_column(p, of) || !text_starts(name, of) || name.len <= of.len + 1 ||
            name.ptr[of.len] != '_')
            continue;
        const char *rest = name.ptr + of.len + 1;
        for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
            if (strcmp(rest, names[k][0]) == 0)
                return (struct perfetto_part){of, names[k][1]};
        }
        if (rest[0] == 'p' && isdigit((unsigned char)rest[1]))
            return (struct perfetto_part){of, rest};
    }
    return (struct perfetto_part){{NULL, 0}, NULL};
}

int perfetto_check_columns(struct perfetto *p)
{
    static const char *const names[C_KNOWN] = {"batch_type", "cat",   "name",  "pid",
                                               "tid",        "hhash", "fhash", "time_bucket",
                                               "count",      "ts",    "te",    "root_pid"};

    p->parts = calloc(p->count + 1, sizeof(*p->parts));
    if (!p->parts)
        return -ENOMEM;
    for (unsigned k = 0; k < C_KNOWN; k++) {
        p->known[k] = -1;
        for (size_t i = 0; i < p->count; i++) {
            if (strcmp(p->columns[i].name, names[k]) == 0)
                p->known[k] = (int)i;
        }
        if (p->known[k] < 0 && k != C_ROOT)
            return ERR_FORMAT;
    }
    for (size_t i = 0; i < p->count; i++)
        p->parts[i] = part_of(p, i);
    return 0;
}

/* ---- ids and arguments ----------------------------------------------------------------------- */

/* Writes what distinguishes rows of one name in one process: class, cat, tid, fhash and further
 * keys. */
void perfetto_put_id(struct perfetto *p, const struct value *values, bool with_bucket,
                     struct buf *id)
{
    static const unsigned keys[] = {C_CLASS, C_CAT, C_NAME, C_TID, C_FHASH};

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        if (i)
            buf_putc(id, ':');
        value_csv(id, perfetto_cell(p, values, keys[i]));
    }
    for (size_t i = (size_t)p->known[C_TE] + 1; i < p->count && p->columns[i].key; i++) {
        buf_printf(id, ":%s=", p->columns[i].name);
        value_csv(id, &values[i]);
    }
    if (with_bucket) {
        buf_putc(id, ':');
        value_csv(id, perfetto_cell(p, values, C_HHASH));
        buf_putc(id, ':');
        value_csv(id, perfetto_cell(p, values, C_PID));
        buf_putc(id, ':');
        value_csv(id, perfetto_cell(p, values, C_BUCKET));
    }
}

/* Writes numbers without nesting, as a counter requires. */
void perfetto_flat_args(struct perfetto *p, const struct value *values)
{
    struct buf key = {0};

    for (size_t i = (size_t)p->known[C_COUNT]; i < p->count; i++) {
        if (!value_is_number(&values[i]) || p->columns[i].key || i == (size_t)p->known[C_TS] ||
            i == (size_t)p->known[C_TE] || strcmp(p->columns[i].name, "parent_pid") == 0 ||
            strcmp(p->columns[i].name, "root_pid") == 0)
            continue;
        buf_clear(&key);
        if (p->parts[i].name)
            buf_printf(&key, "%.*s.%s", (int)p->parts[i].of.len, p->parts[i].of.ptr,
                       p->parts[i].name);
        else
            buf_puts(&key, p->columns[i].name);
        jw_key_text(&p->jw, (struct text){key.data, key.len});
        jw_value(&p->jw, &values[i]);
    }
    put_done(p->jw.out, &key);
}

/* True if the object of numbers that begins with this column is written; a size of 0 is not. */
static bool has_numbers(const struct perfetto *p, const struct value *values, size_t column)
{
    const struct value *total = &values[column];

    if (total->type == VALUE_NULL)
        return false;
    return !text_eq(p->parts[column].of, TEXT("size")) || total->type != VALUE_INT || total->i > 0;
}

void perfetto_nested_args(struct perfetto *p, const struct value *values)
{
    const struct value *fhash = perfetto_cell(p, values, C_FHASH);

    jw_put_text(&p->jw, "hhash", perfetto_text(perfetto_cell(p, values, C_HHASH)));
    if (fhash->type != VALUE_NULL)
        jw_put_value(&p->jw, "fhash", fhash);
    for (size_t i = (size_t)p->known[C_COUNT]; i < p->count; i++) {
        bool total = p->parts[i].name && strcmp(p->parts[i].name, "sum") == 0;
        if (values[i].type == VALUE_NULL || (int)i == p->known[C_ROOT] ||
            (p->parts[i].name && !total))
            continue;
        if (total && has_numbers(p, values, i)) {
            jw_key_text(&p->jw, p->parts[i].of);
            jw_begin(&p->jw, '{');
            for (size_t k = i; k < p->count; k++) {
                if (p->parts[k].name && text_eq(p->parts[k].of, p->parts[i].of) &&
                    values[k].type != VALUE_NULL)
                    jw_put_value(&p->jw, p->parts[k].name, &values[k]);
            }
            jw_end(&p->jw, '}');
        }
        if (total)
            continue;
        jw_put_value(&p->jw, p->columns[i].name, &values[i]);
    }
}
