/* compare_notes.c - labels and notes that several formats of /compare share. */
#include "format/report/compare.h"
#include "format/writer/value_text.h"

void compare_label(const struct compare_group *g, struct buf *out)
{
    for (size_t i = g->label_from; i < g->key_count; i++) {
        buf_puts(out, i > g->label_from ? ", " : "");
        value_plain(out, &g->keys[i]);
    }
}

static int note_side(const struct compare_meta *m, const char *label,
                     void (*each)(void *arg, struct text note), void *arg)
{
    struct buf b = {0};

    if (m->events == 0) {
        buf_printf(&b, "%s: no events are selected", label);
        each(arg, (struct text){b.data, b.len});
        buf_clear(&b);
    }
    for (size_t i = 0; i < m->skewed_count; i++) {
        const struct compare_skew *s = &m->skewed[i];
        buf_printf(&b, "%s: the events of host ", label);
        value_plain(&b, &s->host);
        buf_puts(&b, " are ");
        compare_number(&b, &s->distance, UNIT_US, true);
        buf_puts(
            &b,
            " apart from those of the other hosts: its clock is wrong, or it ran at another time");
        each(arg, (struct text){b.data, b.len});
        buf_clear(&b);
    }
    int rc = b.error;
    buf_done(&b);
    return rc;
}

void compare_notes(const struct comparison *c, void (*each)(void *arg, struct text note), void *arg,
                   struct buf *out)
{
    int rc = 0;

    for (size_t i = 0; i < c->side_count && c->meta && rc == 0; i++)
        rc = note_side(&c->meta[i], i ? c->variants[i - 1] : "baseline", each, arg);
    out->error = out->error ? out->error : rc;
}
