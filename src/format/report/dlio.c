/* dlio.c - the configuration of DLIO as YAML. */
#include "format/report/dlio.h"

#include <stdio.h>
#include <string.h>

static double rounded(double value)
{
    return member_rounded(value, DLIO_DIGITS);
}

/* ---- YAML ------------------------------------------------------------------------------------ */

/* A float of YAML 1.1 needs a decimal point, and a sign in its exponent. */
static void put_float(struct buf *out, double value)
{
    char text[32];

    num_format_double(value, text);
    char *exponent = strchr(text, 'e');
    size_t digits = exponent ? (size_t)(exponent - text) : strlen(text);
    buf_append(out, text, digits);
    if (!memchr(text, '.', digits))
        buf_puts(out, ".0");
    if (exponent)
        buf_printf(out, "e%s%s", exponent[1] == '-' || exponent[1] == '+' ? "" : "+", exponent + 1);
}

static void put_key(struct buf *out, unsigned indent, const char *key, double value)
{
    buf_printf(out, "%*s%s: ", (int)indent, "", key);
    put_float(out, value);
    buf_putc(out, '\n');
}

/* Writes the fit that DLIO can draw as a comment, which can replace the lines below it. */
static void put_drawn(struct buf *out, const char *name, const struct dlio_fit *fit)
{
    const struct dlio_candidate *c = dlio_drawn(fit);
    struct dlio_parameter p[2];

    if (dlio_is_drawn(&fit->best))
        return;
    buf_printf(out, "  # DLIO 2.0.1 ignores the type %s: it does not sleep.",
               dlio_type(&fit->best));
    if (!c) {
        buf_putc(out, '\n');
        return;
    }
    unsigned count = dlio_parameters(&c->model, p);
    buf_printf(out, " The best type that it draws:\n  # %s: {type: %s", name, dlio_type(&c->model));
    for (unsigned i = 0; i < count; i++) {
        buf_printf(out, ", %s: ", p[i].key);
        put_float(out, p[i].value);
    }
    buf_puts(out, "}\n");
}

static void put_time(struct buf *out, const char *section, const char *name,
                     const struct dlio_times *t)
{
    struct dlio_parameter p[2];

    if (t->count == 0)
        return;
    buf_printf(out, "%s:\n", section);
    put_drawn(out, name, &t->fit);
    buf_printf(out, "  %s:\n    type: %s\n", name, dlio_type(&t->fit.best));
    if (t->fit.best.part_count > 0) {
        const struct dlio_model *m = &t->fit.best;
        buf_printf(out, "    n_components: %u\n    components:\n", m->part_count);
        for (unsigned i = 0; i < m->part_count; i++) {
            put_key(out, 4, "- weight", rounded(m->parts[i].weight));
            buf_puts(out, "      params:\n        type: normal\n");
            put_key(out, 8, "mean", rounded(m->parts[i].mean));
            put_key(out, 8, "stdev", rounded(m->parts[i].stdev));
        }
    } else {
        unsigned count = dlio_parameters(&t->fit.best, p);
        for (unsigned i = 0; i < count; i++)
            put_key(out, 4, p[i].key, p[i].value);
    }
    put_key(out, 4, "max_bound", rounded(t->max_bound));
}

int format_dlio(const struct dlio_report *r, enum format f, bool pretty, struct buf *out)
{
    if (f == FORMAT_YAML) {
        put_time(out, "train", "computation_time", &r->times[DLIO_BLOCK]);
        put_time(out, "reader", "preprocess_time", &r->times[DLIO_PREPROCESS]);
    } else if (f == FORMAT_JSON) {
        format_object(&dlio_report_type, r, pretty, out);
    } else if (f == FORMAT_TEXT) {
        dlio_text(r, out);
    } else {
        return ERR_FORMAT;
    }
    return out->error;
}
