/* catalog_record.c - the record of a file in the store, and loading the catalog at start. */
#include "index/catalog/catalog_record.h"
#include "index/catalog/catalog.h"
#include "index/catalog/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct kv_key path_key(const char *name)
{
    struct hash128 hash = text_hash128(text_of(name));
    struct kv_key k = {0};

    kv_key_u64(&k, hash.high);
    kv_key_u64(&k, hash.low);
    return k;
}

/* ---- the record ------------------------------------------------------------------------------ */

#define OBJECT struct trace_damage
const struct record_field file_damage_fields[] = {FIELD(kind, .max = TRACE_DAMAGE_TOO_MANY),
                                                  FIELD(file_from),
                                                  FIELD(file_to),
                                                  FIELD(text_offset),
                                                  {0}};
#undef OBJECT

#define OBJECT struct index_process
const struct record_field file_process_fields[] = {FIELD_TEXT_ID(host),
                                                   FIELD_BITS(5),
                                                   FIELD(host_is_hash, .bits = 1),
                                                   FIELD(has_time, .bits = 1),
                                                   FIELD(started, .bits = 1),
                                                   FIELD(finished, .bits = 1),
                                                   FIELD(parent_by, .max = INDEX_PARENT_SPAWN),
                                                   FIELD(pid),
                                                   FIELD(ppid),
                                                   FIELD(rank),
                                                   FIELD_TEXT_ID(cmd_hash),
                                                   FIELD_TEXT_ID(exec_hash),
                                                   FIELD_TEXT_ID(cwd_hash),
                                                   FIELD(objects),
                                                   FIELD(events),
                                                   FIELD_IF(has_time, 2),
                                                   FIELD(min_ts),
                                                   FIELD(max_te),
                                                   {0}};
#undef OBJECT

#define OBJECT struct part_fact
static const struct record_field fork_fields[] = {FIELD_TEXT_ID(host),
                                                  FIELD_BITS(2),
                                                  FIELD(host_is_hash, .bits = 1),
                                                  FIELD(kind, .max = FACT_SPAWN),
                                                  FIELD(pid),
                                                  FIELD(value),
                                                  {0}};
#undef OBJECT

#define OBJECT struct index_member
const struct record_field file_member_fields[] = {FIELD_BITS(3),
                                                  FIELD(kind, .bits = 3, .max = TRACE_TAR_OTHER),
                                                  FIELD(cut, .bits = 1),
                                                  FIELD(skip, .max = INDEX_SKIP_INCOMPLETE),
                                                  FIELD(offset),
                                                  FIELD(size),
                                                  FIELD(mtime_s),
                                                  FIELD(name),
                                                  {0}};
#undef OBJECT

/* A record consists of names and state, content, index parameters, a filter for each dimension,
 * and its place in an archive. */
#define OBJECT struct view
static const struct record_field state_fields[] = {FIELD(pub.name),
                                                   FIELD(pub.path),
                                                   FIELD(pub.state, .max = INDEX_MISSING),
                                                   FIELD(state_before, .max = INDEX_MISSING),
                                                   FIELD(missing_since_ns),
                                                   {0}};
const struct record_field file_content_fields[] = {
    FIELD(pub.error),
    FIELD(identity.device),
    FIELD(identity.inode),
    FIELD(identity.size),
    FIELD(identity.mtime_ns),
    FIELD(identity.ctime_ns),
    FIELD(identity.head_hash),
    FIELD(identity.tail_hash),
    FIELD(text_sum.high),
    FIELD(text_sum.low),
    FIELD(summary_version),
    FIELD(run_version),
    FIELD_BITS(6),
    FIELD(unit_from_trace, .bits = 1),
    FIELD(has_tail, .bits = 1),
    FIELD(tail_complete, .bits = 1),
    FIELD(pub.finished, .bits = 1),
    FIELD(pub.negative_durations, .bits = 1),
    FIELD(pub.has_time),
    FIELD(pub.format, .max = TRACE_GZIP),
    FIELD(pub.unit, .max = TRACE_SEC),
    FIELD(pub.text_bytes),
    FIELD(pub.members),
    FIELD(pub.index_bytes),
    FIELD(pub.chunk_count), /* the lists are loaded later */
    FIELD(pub.name_count),
    FIELD_STRUCT(pub.counts, counts_fields),
    FIELD_IF(pub.has_time, 2),
    FIELD(pub.min_ts),
    FIELD(pub.max_te),
    FIELD(pub.tracer_version),
    FIELD_LIST(pub.damage, pub.damage_count, file_damage_fields, .max = INDEX_DAMAGE_KEPT),
    FIELD_LIST(pub.processes, pub.process_count, file_process_fields),
    FIELD_LIST(forks, fork_count, fork_fields),
    {0}};
static const struct record_field member_fields[] = {
    FIELD(pub.archive), FIELD(member.offset), FIELD(member.size), FIELD(member.cut), {0}};
static const struct record_field archive_fields[] = {
    FIELD_LIST(pub.archive_members, pub.archive_member_count, file_member_fields), {0}};
#undef OBJECT

void file_encode(struct index *ix, const struct view *view, struct buf *out)
{
    const struct view *v = view->hidden ? view->owner : view;

    record_encode(state_fields, view, ix->texts, out);
    record_encode(file_content_fields, v, ix->texts, out);
    index_params_encode(v->index_params, ix->index_params, out);
    for (unsigned i = 0; i < v->index_params->dimension_count; i++) {
        struct view_filter bloom = v->filters ? v->filters[i] : (struct view_filter){0};
        rec_put_text(out, (struct text){(const char *)bloom.bits, bloom.len});
    }
    rec_put_u(out, (unsigned)v->pub.is_archive << 1 | (v->pub.archive != NULL));
    if (v->pub.archive)
        record_encode(member_fields, v, ix->texts, out);
    if (v->pub.is_archive)
        record_encode(archive_fields, v, ix->texts, out);
}

static int decode_filters(struct index *ix, struct rec *r, struct view *v)
{
    int rc = index_params_decode(r, ix->index_params, &v->index_params);

    if (rc)
        return rc;
    v->pub.checkpoint_size = v->index_params->checkpoint_size;
    for (unsigned i = 0; i < v->index_params->dimension_count && !r->bad; i++) {
        struct text bits = rec_text(r);
        uint8_t *copy = bits.len ? view_add_filter(v, i, bits.len) : NULL;
        if (copy)
            memcpy(copy, bits.ptr, bits.len);
    }
    return 0;
}

static void decode_place(struct index *ix, struct rec *r, struct view *v)
{
    uint64_t flags = rec_choice(r, 3);

    v->pub.is_archive = flags >> 1;
    if (flags & 1)
        record_decode(member_fields, r, ix->texts, &v->arena, v);
    v->pub.compressed_bytes = flags & 1 ? v->member.size : v->identity.size;
    if (v->pub.is_archive)
        record_decode(archive_fields, r, ix->texts, &v->arena, v);
}

static int decode_record(struct index *ix, struct rec *r, struct view *v)
{
    record_decode(state_fields, r, ix->texts, &v->arena, v);
    record_decode(file_content_fields, r, ix->texts, &v->arena, v);
    view_identify(v, &v->identity);
    v->pub.damaged = v->pub.damage_count > 0;
    int rc = v->arena.error ? v->arena.error
                            : view_set_processes(v, v->pub.processes, v->pub.process_count);
    rc = rc ? rc : decode_filters(ix, r, v);
    if (rc == 0)
        decode_place(ix, r, v);
    rc = v->arena.error ? v->arena.error : rc;
    rc = rc ? rc : rec_error(r);
    return rc ? rc : !v->pub.name || !v->pub.path ? ERR_CORRUPT : 0;
}

int file_decode(struct index *ix, uint32_t id, struct rec r, struct view **ret)
{
    struct view *v = view_new();

    if (!v)
        return -ENOMEM;
    v->pub.id = id;
    v->ix = ix;
    int rc = decode_record(ix, &r, v);
    if (rc)
        view_release(v);
    else
        *ret = v;
    return rc;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* `home` follows if it is not 0. */
#define OBJECT struct index_chunk
static const struct record_field chunk_fields[] = {
    FIELD(version), FIELD(rows), FIELD(text_len), FIELD(text_offset), {0}};
#undef OBJECT

void chunk_encode(const struct index_chunk *chunk, struct buf *out)
{
    record_encode(chunk_fields, chunk, NULL, out);
    if (chunk->home)
        rec_put_u(out, chunk->home);
}

static int load_chunks(struct kv_read *r, struct view *v)
{
    struct kv_key prefix = kv_key_of_u32(v->pub.id);
    VEC(struct index_chunk) list = {0};
    struct kv_cursor c;

    kv_begin(r, KV_SPAN, &prefix, &c);
    while (kv_next(&c)) {
        struct rec rec = rec_of(c.value);
        struct index_chunk chunk = {0};
        if (c.key.len == 8)
            chunk.number = kv_get_u32((const uint8_t *)c.key.ptr + 4);
        else
            rec.bad = true;
        record_decode(chunk_fields, &rec, NULL, NULL, &chunk);
        if (rec.ptr < rec.end)
            chunk.home = (uint16_t)rec_choice(&rec, UINT16_MAX);
        c.error = rec.bad ? ERR_CORRUPT : vec_push(&list, chunk);
    }
    kv_end(&c);
    v->pub.chunks = view_copy_list(v, list.at, list.count * sizeof *list.at);
    int rc = c.error ? c.error : v->arena.error;
    rc = rc ? rc : list.count != v->pub.chunk_count ? ERR_CORRUPT : 0;
    vec_done(&list);
    return rc;
}

struct name_list {
    VEC(struct index_name) names;
};

/* Appends the names of one chunk to those of the chunks before. */
static int add_names(struct index *ix, struct view *v, const struct index_chunk *chunk,
                     struct text value, struct name_list *all)
{
    struct index_name *names = NULL;
    uint32_t n = 0, first;
    int rc = names_decode(ix, rec_of(value), &names, &n, NULL, NULL);

    if (rc)
        return rc;
    struct line_range lines = {
        .file = v->pub.id, .chunk = chunk->number, .version = chunk->version, .count = n};
    rc = lines_register(ix, &lines, &first);
    rc = rc ? rc : vec_reserve(&all->names, n);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        names[i].line = first == INDEX_NO_TEXT ? INDEX_NO_TEXT : first + i;
        all->names.at[all->names.count++] = names[i];
    }
    free(names);
    return rc;
}

static int load_names(struct index *ix, struct kv_read *r, struct view *v)
{
    struct name_list all = {0};
    int rc = 0;

    for (uint32_t i = 0; i < v->pub.chunk_count && rc == 0; i++) {
        const struct index_chunk *chunk = &v->pub.chunks[i];
        struct kv_key key = kv_key_of_chunk(v->pub.id, chunk->number, chunk->version);
        struct text value;
        rc = kv_get(r, KV_NAME, &key, &value);
        rc = rc ? rc : add_names(ix, v, chunk, value, &all);
        rc = rc == -ENOENT ? 0 : rc; /* the chunk has no names */
    }
    size_t count = all.names.count;
    names_sort(all.names.at, (uint32_t)count);
    v->pub.names = view_copy_list(v, all.names.at, count * sizeof *all.names.at);
    vec_done(&all.names);
    rc = rc ? rc : v->arena.error;
    return rc ? rc : count != v->pub.name_count ? ERR_CORRUPT : 0;
}

static int load_file(struct index *ix, struct kv_read *r, uint32_t id, struct text value)
{
    struct view *v = NULL;
    int rc = file_decode(ix, id, rec_of(value), &v);

    if (rc)
        return rc;
    rc = load_chunks(r, v);
    rc = rc ? rc : load_names(ix, r, v);
    struct entry *e = rc == 0 ? catalog_entry(ix, v->pub.name, v->pub.path, true) : NULL;
    if (!e) {
        view_release(v);
        return rc ? rc : -ENOMEM;
    }
    e->seen = v->identity;
    e->requested = true; /* a request selected it once */
    catalog_publish(ix, e, v);
    if (id >= ix->next_file)
        ix->next_file = id + 1;
    return 0;
}

/* If the values of a file are inconsistent, its record is dropped: the next directory scan finds
 * and indexes it again. */
static int drop_corrupt(struct index *ix, uint32_t id)
{
    if (vec_push(&ix->lost, id) < 0)
        return -ENOMEM;
    ix->files_corrupt++;
    if (id >= ix->next_file)
        ix->next_file = id + 1;
    return 0;
}

int catalog_load(struct index *ix, struct kv_read *r, struct err *err)
{
    struct kv_cursor c;
    bool fits;
    int rc = 0;

    kv_begin(r, KV_FILE, NULL, &c);
    while (rc == 0 && ((fits = kv_next(&c)) || kv_skip(&c))) {
        uint32_t id = c.key.len == 4 ? kv_get_u32((const uint8_t *)c.key.ptr) : 0;
        rc = !fits || c.key.len != 4 ? ERR_CORRUPT : load_file(ix, r, id, c.value);
        if (rc == ERR_CORRUPT && c.key.len == 4 && !kv_is_broken(ix->kv))
            rc = drop_corrupt(ix, id);
    }
    kv_end(&c);
    rc = rc ? rc : c.error;
    return rc ? err_set(err, rc, "cannot load the catalog of files: %s", err_text(rc)) : 0;
}
