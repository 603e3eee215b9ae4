/* organize_trace.c - records the target of each line in the sidecar: runs of lines, the text of
 * bracket lines, added lines. */
#include "rewrite/organize.h"

#include <errno.h>
#include <string.h>

/* size of runs and pairs in a record, give or take some bytes */
enum { RECORD_BYTES = 64 << 10 };

static void put_record(struct organize *o, enum provenance_type type, const struct buf *payload)
{
    provenance_put(o->provenance, type, (struct text){payload->data, payload->len});
}

int organize_sidecar_begin(struct organize *o, struct err *err)
{
    for (uint32_t i = 0; i < o->target_count; i++) {
        buf_clear(&o->record);
        buf_putc(&o->record, (char)o->targets[i].dropped);
        buf_puts(&o->record, o->targets[i].name);
        put_record(o, PROVENANCE_TARGET, &o->record);
    }
    hasher_begin(&o->hasher, 0);
    return o->record.error ? o->record.error : provenance_flush(o->provenance, err);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void put_runs(struct organize *o)
{
    if (o->runs.len)
        put_record(o, PROVENANCE_RUNS, &o->runs);
    buf_clear(&o->runs);
}

static void end_run(struct organize *o)
{
    uint64_t kinds = o->target_count + 2;

    if (!o->run_lines)
        return;
    rec_put_u(&o->runs, (o->run_lines - 1) * kinds + o->run_what);
    if (o->run_what == o->target_count)
        rec_put_u(&o->runs, o->run_literal);
    o->run_lines = 0;
    if (o->runs.len >= RECORD_BYTES)
        put_runs(o);
}

static void add_run(struct organize *o, uint64_t what, uint64_t literal, uint64_t lines)
{
    if (o->run_lines && (o->run_what != what || o->run_literal != literal))
        end_run(o);
    o->run_what = what;
    o->run_literal = literal;
    o->run_lines += lines;
}

/* There are few different bracket lines. */
static int add_brackets(struct organize *o, struct text lines)
{
    while (lines.len) {
        const char *newline = memchr(lines.ptr, '\n', lines.len);
        struct text line = {lines.ptr, newline ? (size_t)(newline - lines.ptr) + 1 : lines.len};
        uint32_t known = intern_count(o->literals);
        int64_t id = intern_add(o->literals, line);
        if (id < 0)
            return (int)id;
        if (intern_count(o->literals) > known)
            provenance_put(o->provenance, PROVENANCE_LITERAL, line);
        add_run(o, o->target_count, (uint64_t)id, 1);
        lines = (struct text){lines.ptr + line.len, lines.len - line.len};
    }
    return 0;
}

int organize_sidecar_share(struct organize *o, const struct share *s)
{
    struct organize_source *source = &o->sources[o->source_at - 1];

    hasher_add(&o->hasher, s->text.ptr, s->text.len);
    source->bytes += s->text.len;
    if (s->target == SHARE_BRACKETS)
        return add_brackets(o, s->text);
    if (s->lines)
        add_run(o, s->target, 0, s->lines);
    if (s->cut) {
        end_run(o);
        add_run(o, o->target_count + 1, 0, 1);
        end_run(o);
    }
    return 0;
}

/* ---- sources --------------------------------------------------------------------------------- */

int organize_sidecar_source(struct organize *o, uint32_t file)
{
    while (!o->source_at || o->sources[o->source_at - 1].file != file) {
        if (o->source_at) {
            struct organize_source *source = &o->sources[o->source_at - 1];
            end_run(o);
            put_runs(o);
            source->hash = hasher_end(&o->hasher);
            hasher_begin(&o->hasher, 0);
            buf_clear(&o->record);
            rec_put_u(&o->record, source->bytes);
            hash_put(&o->record, source->hash);
            put_record(o, PROVENANCE_SOURCE_END, &o->record);
        }
        if (o->source_at == o->source_count) {
            if (file != UINT32_MAX)
                return ERR_CORRUPT;
            break;
        }
        const char *name = snapshot_file(o->snapshot, o->sources[o->source_at++].file)->name;
        provenance_put(o->provenance, PROVENANCE_SOURCE, text_of(name));
    }
    return o->runs.error ? o->runs.error : o->record.error;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void end_pair(struct organize_file *f)
{
    rec_put_u(&f->added, f->since);
    rec_put_u(&f->added, f->adding);
    f->since = f->adding = 0;
}

void organize_sidecar_lines(struct organize_file *f, uint64_t lines)
{
    if (lines && f->adding)
        end_pair(f);
    f->since += lines;
    f->base.lines += lines;
}

static int put_file(struct organize *o, uint32_t target, struct organize_file *f, struct err *err)
{
    if (f->adding)
        end_pair(f);
    buf_clear(&o->record);
    rec_put_u(&o->record, target);
    rec_put_u(&o->record, f->base.lines);
    rec_put_u(&o->record, f->base.bytes);
    hash_put(&o->record, f->base.hash);
    buf_puts(&o->record, f->base.name);
    put_record(o, PROVENANCE_OUTPUT, &o->record);
    /* Records have a limited length and whole pairs. */
    struct rec left = rec_of((struct text){f->added.data, f->added.len});
    const char *from = f->added.data;
    while (!left.bad && left.ptr != left.end) {
        rec_u(&left);
        rec_u(&left);
        size_t len = (size_t)((const char *)left.ptr - from);
        if (len < RECORD_BYTES && left.ptr != left.end)
            continue;
        provenance_put(o->provenance, PROVENANCE_ADDED, (struct text){from, len});
        from += len;
    }
    int rc = o->record.error ? o->record.error : f->added.error;
    buf_done(&f->added);
    return rc < 0 ? rc : provenance_flush(o->provenance, err);
}

int organize_sidecar_end(struct organize *o, struct err *err)
{
    int rc = 0;

    for (uint32_t i = 0; i < o->target_count && rc == 0; i++) {
        for (size_t k = 0; k < o->targets[i].files.count && rc == 0; k++)
            rc = put_file(o, i, o->targets[i].files.at[k], err);
    }
    return rc < 0
               ? rc
               : provenance_finish(o->provenance, &o->provenance_bytes, &o->provenance_hash, err);
}
