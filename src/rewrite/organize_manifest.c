/* organize_manifest.c - manifest.json: what there is, for people and programs. */
#include "rewrite/organize.h"

static void write_hash(struct jw *j, struct hash128 hash)
{
    char text[33];

    hash128_hex(hash, text);
    jw_put_str(j, "xxh128", text);
}

static void write_file(struct jw *j, const struct organize_file *f)
{
    jw_begin(j, '{');
    jw_put_str(j, "path", f->path);
    jw_put_uint(j, "events", f->events);
    jw_put_uint(j, "lines", f->lines);
    jw_put_uint(j, "text_bytes", f->text_bytes);
    jw_put_uint(j, "bytes", f->bytes);
    write_hash(j, f->hash);
    jw_end(j, '}');
}

static void write_target(struct jw *j, const struct organize_target *t)
{
    jw_begin(j, '{');
    jw_put_str(j, "name", t->name);
    jw_put_str(j, "query", t->query);
    jw_put_uint(j, "events", t->events);
    jw_put_uint(j, "lines", t->lines);
    if (t->dropped)
        jw_put_bool(j, "dropped", true);
    jw_key(j, "files");
    jw_begin(j, '[');
    for (size_t i = 0; i < t->files.count; i++)
        write_file(j, t->files.at[i]);
    jw_end(j, ']');
    jw_end(j, '}');
}

static void write_damage(struct jw *j, const struct index_file *f)
{
    jw_key(j, "damage");
    jw_begin(j, '[');
    for (uint32_t i = 0; i < f->damage_count; i++) {
        const struct trace_damage *d = &f->damage[i];
        jw_begin(j, '{');
        jw_put_str(j, "kind", trace_damage_name((enum trace_damage_kind)d->kind));
        jw_put_uint(j, "file_from", d->file_from);
        jw_put_uint(j, "file_to", d->file_to);
        jw_put_uint(j, "text_offset", d->text_offset);
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

static void write_sources(struct jw *j, const struct organize *o)
{
    jw_key(j, "sources");
    jw_begin(j, '[');
    for (size_t i = 0; i < o->source_count; i++) {
        const struct index_file *f = snapshot_file(o->snapshot, o->sources[i].file);
        jw_begin(j, '{');
        jw_put_str(j, "path", f->name);
        jw_put_uint(j, "text_bytes", o->sources[i].bytes);
        write_hash(j, o->sources[i].hash);
        if (f->damaged)
            write_damage(j, f);
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

/* Selected files of which there is no text. */
static void write_unread(struct jw *j, const struct organize *o)
{
    const uint32_t *files;
    size_t count = query_files(o->all, &files);

    jw_key(j, "unread");
    jw_begin(j, '[');
    for (size_t i = 0; i < count; i++) {
        const struct index_file *f = snapshot_file(o->snapshot, files[i]);
        if (!index_file_is_unread(f))
            continue;
        jw_begin(j, '{');
        jw_put_str(j, "path", f->name);
        jw_put_str(j, "state", index_state_name(f->state));
        jw_put_str(j, "error", f->error);
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

static void write_provenance(struct jw *j, const struct organize *o)
{
    jw_key(j, "provenance");
    jw_begin(j, '{');
    jw_put_str(j, "path", PROVENANCE_NAME);
    jw_put_uint(j, "bytes", o->provenance_bytes);
    write_hash(j, o->provenance_hash);
    jw_end(j, '}');
}

int organize_write_manifest(struct organize *o)
{
    struct jw j;

    jw_init(&j, &o->manifest, true);
    jw_begin(&j, '{');
    jw_put_uint(&j, "version", 2);
    jw_put_str(&j, "tool", "dftracerd organize");
    jw_put_bool(&j, "complete", query_complete(o->all));
    jw_put_uint(&j, "chunk_size", o->chunk_bytes);
    jw_key(&j, "groups");
    jw_begin(&j, '[');
    for (uint32_t i = 0; i < o->target_count; i++)
        write_target(&j, &o->targets[i]);
    jw_end(&j, ']');
    write_sources(&j, o);
    write_unread(&j, o);
    write_provenance(&j, o);
    jw_end(&j, '}');
    jw_finish(&j);
    return o->manifest.error;
}
