/* reconstruct_report.c - reconstruct.json: which originals are proved to be what they were, and
 * what is missing of the others. */
#include "rewrite/reconstruct.h"

static const char *state_of(const struct restore_source *s)
{
    return s->proved ? "proved" : s->missing_lines ? "incomplete" : "differs";
}

static void write_source(struct jw *j, const struct restore_source *s)
{
    char hash[33];

    hash128_hex(s->hash, hash);
    jw_begin(j, '{');
    jw_put_str(j, "path", s->name);
    jw_put_str(j, "output", s->output);
    jw_put_str(j, "state", state_of(s));
    jw_put_uint(j, "text_bytes", s->bytes);
    jw_put_str(j, "xxh128", hash);
    if (!s->proved) {
        jw_put_uint(j, "written_bytes", s->written);
        jw_put_uint(j, "missing_lines", s->missing_lines);
    }
    jw_end(j, '}');
}

/* Files of the groups that are not, or not quite, there. */
static void write_files(struct jw *j, const struct reconstruct *r, const char *key,
                        enum restore_state state)
{
    jw_key(j, key);
    jw_begin(j, '[');
    for (uint32_t i = 0; i < r->target_count; i++) {
        const struct restore_target *t = &r->targets[i];
        for (size_t k = 0; k < t->files.count; k++)
            if (t->files.at[k].state == state)
                jw_str(j, t->files.at[k].path);
    }
    jw_end(j, ']');
}

static void write_dropped(struct jw *j, const struct reconstruct *r)
{
    jw_key(j, "dropped");
    jw_begin(j, '[');
    for (uint32_t i = 0; i < r->target_count; i++)
        if (r->targets[i].dropped)
            jw_str(j, r->targets[i].name);
    jw_end(j, ']');
}

int restore_write_report(struct reconstruct *r)
{
    uint64_t proved = 0;
    struct jw j;

    for (size_t i = 0; i < r->sources.count; i++)
        proved += r->sources.at[i].proved;
    jw_init(&j, &r->report, true);
    jw_begin(&j, '{');
    jw_put_uint(&j, "files", r->sources.count);
    jw_put_uint(&j, "proved", proved);
    jw_put_bool(&j, "complete", !r->growing);
    write_files(&j, r, "missing", RESTORE_MISSING);
    write_files(&j, r, "changed", RESTORE_CHANGED);
    write_dropped(&j, r);
    jw_key(&j, "sources");
    jw_begin(&j, '[');
    for (size_t i = 0; i < r->sources.count; i++)
        write_source(&j, &r->sources.at[i]);
    jw_end(&j, ']');
    jw_end(&j, '}');
    jw_finish(&j);
    return r->report.error;
}
