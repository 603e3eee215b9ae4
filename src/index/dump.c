/* dump.c - writes the whole store as text that is equal for equal content, however it was made, and
 * checks all values.
 *
 * Ids become texts and files appear by name. What a crash or the order of work may change (ids,
 * versions, generations, positions in the store) is left out. A column appears as its metadata and
 * a hash of its values.
 */
#include "index/catalog/catalog.h"
#include "index/catalog/catalog_record.h"
#include "index/catalog/names.h"
#include "index/catalog/snapshot.h"
#include "index/store/checkpoint_record.h"
#include "index/summary/part.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* for the state on the stack */
#include <xxhash.h>

enum { FLUSH_AT = 1 << 20, ROWS = 4096 };

struct dump {
    struct index *ix;
    struct snapshot *s;
    struct buf *out;
    int (*flush)(void *arg, struct buf *out);
    void *arg;
    int rc;
};

static void flush_dump(struct dump *d, size_t limit)
{
    if (d->rc == 0 && d->out->len > limit)
        d->rc = d->flush(d->arg, d->out);
    if (d->rc == 0 && d->out->error)
        d->rc = d->out->error;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void dump_facts(struct dump *d, const struct view *v)
{
    const struct index_file *f = &v->pub;
    const struct index_params *t = v->index_params;
    struct buf *o = d->out;
    char hex[33];

    buf_puts(o, "file ");
    record_print_text(text_of(f->name), o);
    buf_printf(o, " state %s format %d unit %d finished %d\n", index_state_name(f->state),
               f->format, f->unit, f->finished);
    buf_printf(o,
               "  size %" PRIu64 " mtime %" PRId64 " text %" PRIu64 " members %" PRIu64
               " chunk_size %" PRIu64 "\n",
               f->compressed_bytes, f->mtime_ns, f->text_bytes, f->members, f->checkpoint_size);
    if (t)
        buf_printf(o, "  terms bloom %g expected %" PRIu64, t->bloom_rate, t->expected_entries);
    for (unsigned i = 0; t && i < t->dimension_count; i++) {
        buf_putc(o, ' ');
        record_print_text(text_of(t->dimensions[i]), o);
    }
    if (t)
        buf_putc(o, '\n');
    record_print(file_content_fields, v, NULL,
                 "  version {pub.tracer_version} error {pub.error}\n"
                 "  lines {pub.counts.lines} brackets {pub.counts.brackets} "
                 "invalid {pub.counts.invalid} repaired {pub.counts.repaired} "
                 "split {pub.counts.split} glued {pub.counts.glued} bad_dur {pub.counts.bad_dur}\n"
                 "  events {pub.counts.events} counters {pub.counts.counters} "
                 "aggregated {pub.counts.aggregated} metadata {pub.counts.metadata}"
                 "[ from {pub.min_ts} to {pub.max_te}]\n",
                 o);
    hash128_hex(v->text_sum, hex);
    buf_printf(o, "  text %s\n  damage %u\n", hex, f->damage_count);
    for (uint32_t i = 0; i < f->damage_count && i < INDEX_DAMAGE_KEPT; i++) {
        buf_printf(o, "    %s ", trace_damage_name((enum trace_damage_kind)f->damage[i].kind));
        record_print(file_damage_fields, &f->damage[i], NULL,
                     "{file_from}-{file_to} at {text_offset}\n", o);
    }
}

/* Processes and names of a file are ordered by ids, which differ between stores: lines are sorted
 * as text instead. */
struct lines {
    VEC(char *) list;
    bool failed;
};

static void lines_take(struct lines *l, struct buf *line)
{
    char *text = buf_steal(line, NULL);

    if (!text || vec_push(&l->list, text) < 0) {
        free(text);
        l->failed = true;
    }
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void lines_put(struct dump *d, struct lines *l)
{
    if (l->list.count)
        qsort(l->list.at, l->list.count, sizeof *l->list.at, compare_lines);
    for (size_t i = 0; i < l->list.count; i++) {
        buf_puts(d->out, l->list.at[i]);
        buf_putc(d->out, '\n');
        free(l->list.at[i]);
        flush_dump(d, FLUSH_AT);
    }
    vec_done(&l->list);
    if (l->failed && d->rc == 0)
        d->rc = -ENOMEM;
}

static void lines_add(struct lines *l, const struct dump *d, const struct record_field *fields,
                      const void *object, const char *format)
{
    struct buf line = {0};

    record_print(fields, object, d->ix->texts, format, &line);
    lines_take(l, &line);
}

static void dump_processes(struct dump *d, const struct view *v)
{
    struct lines lines = {0};

    for (uint32_t i = 0; i < v->pub.process_count; i++)
        lines_add(&lines, d, file_process_fields, &v->processes[i],
                  "  process {host} {host_is_hash} pid {pid} ppid {ppid} by {parent_by} "
                  "started {started} finished {finished} rank {rank} cmd {cmd_hash} "
                  "exec {exec_hash} cwd {cwd_hash} objects {objects} events {events}"
                  "[ from {min_ts} to {max_te}]");
    lines_put(d, &lines);
}

static void dump_names(struct dump *d, const struct index_file *f)
{
    struct lines lines = {0};
    struct buf line = {0};

    for (uint32_t i = 0; i < f->name_count; i++) {
        const struct index_name *n = &f->names[i];
        struct text source;
        buf_printf(&line, "  name %06u %08u %s", n->chunk, n->row,
                   metadata_kind_names[n->kind].ptr);
        record_print(name_fields, n, d->ix->texts, " {hash} {value} pid {pid} ", &line);
        int rc = index_name_line(d->ix, f, n, &source);
        d->rc = d->rc ? d->rc : rc;
        if (source.ptr)
            record_print_text(source, &line);
        else
            buf_puts(&line, "null");
        lines_take(&lines, &line);
    }
    lines_put(d, &lines);
}

/* ---- columns --------------------------------------------------------------------------------- */

static void hash_entry(XXH3_state_t *h, const struct column_entry *e)
{
    XXH3_64bits_update(h, &e->type, 1);
    if (e->type == TRACE_INT || e->type == TRACE_BOOL) {
        XXH3_64bits_update(h, &e->i, sizeof e->i);
    } else if (e->type == TRACE_DOUBLE) {
        XXH3_64bits_update(h, &e->d, sizeof e->d);
    } else {
        XXH3_64bits_update(h, &e->text.len, sizeof e->text.len);
        XXH3_64bits_update(h, e->text.ptr, e->text.len);
    }
}

/* Computes a hash of each entry of the dictionary, so that codes may differ. */
static int hash_entries(struct chunk_view *v, const struct column *c, uint64_t **ret)
{
    uint64_t *list = malloc((c->entries + 1) * sizeof *list);
    int rc = list ? 0 : -ENOMEM;
    struct column_entry e;
    XXH3_state_t h;

    for (uint32_t i = 0; i < c->entries && rc == 0; i++) {
        rc = column_entry(v, c, i, &e);
        if (rc)
            break;
        XXH3_64bits_reset(&h);
        hash_entry(&h, &e);
        list[i] = XXH3_64bits_digest(&h);
    }
    *ret = list;
    return rc;
}

struct rows {
    int64_t i64[ROWS];
    double f64[ROWS];
    uint32_t codes[ROWS];
    uint64_t valid[ROWS / 64], values[ROWS];
};

static int read_rows(struct chunk_view *v, const struct column *c, const uint64_t *entries,
                     uint32_t first, uint32_t n, struct rows *r)
{
    int rc;

    if (c->type == COLUMN_DOUBLE) {
        rc = column_read_f64(v, c, first, n, r->f64);
        memcpy(r->values, r->f64, n * sizeof *r->f64);
    } else if (entries) {
        rc = column_read_codes(v, c, first, n, r->codes);
    } else {
        rc = column_read_i64(v, c, first, n, r->i64);
        memcpy(r->values, r->i64, n * sizeof *r->i64);
    }
    memset(r->valid, 0xff, sizeof r->valid);
    if (rc == 0 && c->nulls)
        rc = column_read_valid(v, c, first, n, r->valid);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        if (!(r->valid[i / 64] >> (i % 64) & 1))
            r->values[i] = 0;
        else if (entries && r->codes[i] >= c->entries)
            return ERR_CORRUPT;
        else if (entries)
            r->values[i] = entries[r->codes[i]];
    }
    return rc;
}

static int hash_column(struct chunk_view *v, const struct column *c, struct rows *r, uint64_t *ret)
{
    bool coded = c->type == COLUMN_TEXT || c->type == COLUMN_MIXED;
    uint64_t *entries = NULL;
    XXH3_state_t h;
    int rc = coded ? hash_entries(v, c, &entries) : 0;

    XXH3_64bits_reset(&h);
    for (uint32_t first = 0; first < c->rows && rc == 0; first += ROWS) {
        uint32_t n = c->rows - first < ROWS ? c->rows - first : ROWS;
        rc = read_rows(v, c, entries, first, n, r);
        if (rc == 0) {
            XXH3_64bits_update(&h, r->values, n * sizeof *r->values);
            for (uint32_t i = 0; i < n; i++)
                XXH3_64bits_update(&h, &(char){(char)(r->valid[i / 64] >> (i % 64) & 1)}, 1);
        }
    }
    free(entries);
    *ret = XXH3_64bits_digest(&h);
    return rc;
}

static void dump_chunk(struct dump *d, const struct index_file *f, uint32_t i, struct rows *rows)
{
    const struct index_chunk *chunk = &f->chunks[i];
    struct chunk_view *v;
    int rc = chunk_open(d->ix, d->s, f, i, &v);

    buf_printf(d->out, "  chunk %u rows %u text %" PRIu64 " %u\n", chunk->number, chunk->rows,
               chunk->text_offset, chunk->text_len);
    if (rc) {
        d->rc = rc;
        return;
    }
    for (uint32_t k = 0; k < chunk_column_count(v) && rc == 0; k++) {
        struct column c;
        uint64_t hash;
        chunk_column(v, k, &c);
        rc = hash_column(v, &c, rows, &hash);
        buf_puts(d->out, "    ");
        record_print_text(c.path, d->out);
        buf_printf(d->out, " type %d nano %d nulls %u entries %u hash %016" PRIx64 "\n", c.type,
                   c.nano, c.nulls, c.entries, hash);
    }
    chunk_close(v);
    d->rc = d->rc ? d->rc : rc;
    flush_dump(d, FLUSH_AT);
}

/* ---- checkpoints, summaries ------------------------------------------------------------------ */

static void dump_checkpoints(struct dump *d, uint32_t file)
{
    struct kv_key prefix = kv_key_of_u32(file);
    struct kv_cursor c;
    struct kv_read *r;

    d->rc = d->rc ? d->rc : kv_read_begin(d->ix->kv, &r);
    if (d->rc)
        return;
    kv_begin(r, KV_CHECKPOINT, &prefix, &c);
    while (kv_next(&c)) {
        struct trace_checkpoint at = {0};
        c.error = checkpoint_decode(c.key, c.value, &at);
        buf_printf(d->out,
                   "  checkpoint %" PRIu64 " at %" PRIu64 " bits %d kind %d members %" PRIu64
                   " member %d %" PRIu64 " %" PRIu64 " %08" PRIx32 " window %016" PRIx64 "\n",
                   at.text_offset, at.file_offset, at.bits, at.kind, at.members, at.in_gzip_member,
                   at.member_start, at.member_text, at.crc,
                   text_hash((struct text){(const char *)at.window, at.window_len}));
    }
    d->rc = c.error;
    kv_end(&c);
    kv_read_end(r);
}

static void dump_archive(struct dump *d, const struct index_file *f)
{
    struct buf *o = d->out;

    buf_puts(o, "archive ");
    record_print_text(text_of(f->name), o);
    buf_printf(o, " state %s size %" PRIu64 " text %" PRIu64 " damage %u\n",
               index_state_name(f->state), f->file_bytes, f->text_bytes, f->damage_count);
    for (uint32_t i = 0; i < f->archive_member_count; i++)
        record_print(file_member_fields, &f->archive_members[i], NULL,
                     "  member {kind} {skip} {cut} at {offset} size {size} {name}\n", o);
    dump_checkpoints(d, f->id);
}

static void dump_summary_name(struct dump *d, const struct summary_name *n, struct lines *lines)
{
    static const double quantiles[] = {0.1, 0.5, 0.9, 0.99};
    struct buf line = {0};

    record_print(summary_name_fields, n, d->ix->texts,
                 "  summary {class} {cat} {name} count {count} dur {duration.count}"
                 "[ sum {duration.sum} squares {duration.squares} min {duration.min} "
                 "max {duration.max}]",
                 &line);
    for (size_t i = 0; i < 4 && sketch_count(n->duration_sketch) > 0; i++)
        buf_printf(&line, " q %.17g", sketch_quantile(n->duration_sketch, quantiles[i], false));
    lines_take(lines, &line);
}

static void dump_summary(struct dump *d, uint32_t file)
{
    struct lines lines = {0};
    struct summary *s = NULL;

    d->rc = d->rc ? d->rc : index_file_summary(d->ix, d->s, file, &s);
    if (d->rc)
        return;
    if (s->detail != SUMMARY_BY_NAME)
        buf_printf(d->out, "  summary detail %d\n", s->detail);
    for (uint32_t i = 0; i < s->name_count; i++)
        dump_summary_name(d, &s->names[i], &lines);
    for (uint32_t i = 0; i < s->thread_count; i++)
        lines_add(&lines, d, summary_thread_fields, &s->threads[i],
                  "  thread {class} {host} {host_is_hash} pid {pid} tid {tid} count {count}");
    for (int i = 0; i < 4; i++) {
        struct buf line = {0};
        buf_printf(&line, "  class %d ", i);
        record_print(summary_class_fields, &s->classes[i], NULL,
                     "count {count}[ from {min_ts} to {max_te}]", &line);
        lines_take(&lines, &line);
    }
    summary_free(s);
    lines_put(d, &lines);
}

int index_dump(struct index *ix, struct buf *out, int (*flush_call)(void *arg, struct buf *out),
               void *arg)
{
    struct dump d = {
        .ix = ix, .s = index_snapshot(ix), .out = out, .flush = flush_call, .arg = arg};
    struct rows *rows = malloc(sizeof *rows);

    if (!rows)
        d.rc = -ENOMEM;
    for (uint32_t i = 0; i < d.s->count && d.rc == 0; i++) {
        const struct view *v = d.s->views[i];
        dump_facts(&d, v);
        dump_processes(&d, v);
        dump_names(&d, &v->pub);
        dump_checkpoints(&d, v->pub.id);
        for (uint32_t k = 0; k < v->pub.chunk_count && d.rc == 0; k++)
            dump_chunk(&d, &v->pub, k, rows);
        dump_summary(&d, i);
        flush_dump(&d, FLUSH_AT);
    }
    for (uint32_t i = 0; i < d.s->archive_count && d.rc == 0; i++) {
        dump_archive(&d, &d.s->archives[i]->pub);
        flush_dump(&d, FLUSH_AT);
    }
    flush_dump(&d, 0);
    free(rows);
    snapshot_release(d.s);
    return d.rc;
}

/* ---- check ----------------------------------------------------------------------------------- */

static int check_chunk(struct index *ix, const struct snapshot *s, const struct index_file *f,
                       uint32_t i, struct err *err)
{
    struct chunk_view *v;
    int rc = chunk_open(ix, s, f, i, &v);

    if (rc)
        return err_set(err, rc, "%s, chunk %u: %s", f->name, f->chunks[i].number, err_text(rc));
    rc = chunk_view_check(v);
    if (rc == 0 &&
        (chunk_rows(v) != f->chunks[i].rows || chunk_view_number(v) != f->chunks[i].number))
        rc = ERR_CORRUPT;
    chunk_close(v);
    return rc ? err_set(err, rc, "%s, chunk %u: %s", f->name, f->chunks[i].number, err_text(rc))
              : 0;
}

static uint64_t objects_of(const struct index_file *f)
{
    return f->counts.events + f->counts.counters + f->counts.aggregated + f->counts.metadata;
}

static int check_file(struct index *ix, const struct snapshot *s, uint32_t file, struct err *err)
{
    const struct index_file *f = &s->views[file]->pub;
    uint64_t rows = 0, counted = 0;
    struct summary *sum;
    int rc = 0;

    for (uint32_t i = 0; i < f->chunk_count && rc == 0; i++) {
        rc = check_chunk(ix, s, f, i, err);
        rows += f->chunks[i].rows;
    }
    for (uint32_t i = 0; i < f->name_count && rc == 0; i++) {
        struct text line;
        rc = index_name_line(ix, f, &f->names[i], &line);
        rc = rc || line.ptr ? rc : ERR_CORRUPT;
        if (rc)
            err_set(err, rc, "%s: the source line of a name: %s", f->name, err_text(rc));
    }
    if (rc)
        return rc;
    rc = index_file_summary(ix, s, file, &sum);
    if (rc)
        return err_set(err, rc, "%s: summary: %s", f->name, err_text(rc));
    for (int i = 0; i < 4; i++)
        counted += sum->classes[i].count;
    summary_free(sum);
    if (rows != objects_of(f) || counted != rows)
        return err_set(err, ERR_CORRUPT, "%s: %llu rows and %llu objects, but the summary has %llu",
                       f->name, (unsigned long long)rows, (unsigned long long)objects_of(f),
                       (unsigned long long)counted);
    return 0;
}

int index_check(struct index *ix, struct err *err)
{
    struct snapshot *s = index_snapshot(ix);
    int rc = 0;

    for (uint32_t i = 0; i < s->count && rc == 0; i++)
        rc = check_file(ix, s, i, err);
    snapshot_release(s);
    return rc;
}
