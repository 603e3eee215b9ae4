/* catalog_record.c - the record of a file in the store, and loading the catalog at start. */
#include "index/catalog/catalog_record.h"
#include "index/catalog/catalog.h"
#include "index/catalog/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct kv_key path_key(const char *name)
{
    XXH128_hash_t hash = XXH3_128bits(name, strlen(name));
    struct kv_key k = {0};

    kv_key_u64(&k, hash.high64);
    kv_key_u64(&k, hash.low64);
    return k;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static void encode_identity(const struct identity *i, struct buf *out)
{
    rec_put_u(out, i->device);
    rec_put_u(out, i->inode);
    rec_put_u(out, i->size);
    rec_put_i(out, i->mtime_ns);
    rec_put_i(out, i->ctime_ns);
    rec_put_u(out, i->head_hash);
    rec_put_u(out, i->tail_hash);
}

static void encode_damage(const struct index_file *f, struct buf *out)
{
    uint32_t kept = f->damage_count < DAMAGE_KEPT ? f->damage_count : DAMAGE_KEPT;

    rec_put_u(out, f->damage_count);
    for (uint32_t i = 0; i < kept; i++) {
        rec_put_u(out, f->damage[i].kind);
        rec_put_u(out, f->damage[i].file_from);
        rec_put_u(out, f->damage[i].file_to);
        rec_put_u(out, f->damage[i].text_offset);
    }
}

static void encode_processes(struct index *ix, const struct view *v, struct buf *out)
{
    const struct index_file *f = &v->body->pub;

    rec_put_u(out, f->process_count);
    for (uint32_t i = 0; i < f->process_count; i++) {
        const struct index_process *p = &f->processes[i];

        texts_put_ref(ix->texts, out, p->host);
        rec_put_u(out, (unsigned)p->parent_by << 4 | (unsigned)p->finished << 3 |
                           (unsigned)p->started << 2 | (unsigned)p->has_time << 1 |
                           p->host_is_hash);
        rec_put_i(out, p->pid);
        rec_put_i(out, p->ppid);
        rec_put_i(out, p->rank);
        texts_put_ref(ix->texts, out, p->cmd_hash);
        texts_put_ref(ix->texts, out, p->exec_hash);
        texts_put_ref(ix->texts, out, p->cwd_hash);
        rec_put_u(out, p->objects);
        rec_put_u(out, p->events);
        if (p->has_time) {
            rec_put_i128(out, p->min_ts);
            rec_put_i128(out, p->max_te);
        }
    }
    rec_put_u(out, v->body->fork_count);
    for (uint32_t i = 0; i < v->body->fork_count; i++) {
        texts_put_ref(ix->texts, out, v->body->forks[i].host);
        rec_put_u(out, (unsigned)v->body->forks[i].kind << 1 | v->body->forks[i].host_is_hash);
        rec_put_i(out, v->body->forks[i].pid);
        rec_put_i(out, v->body->forks[i].value);
    }
}

static void encode_members(const struct index_file *f, struct buf *out)
{
    rec_put_u(out, f->archive_member_count);
    for (uint32_t i = 0; i < f->archive_member_count; i++) {
        const struct index_member *m = &f->archive_members[i];

        rec_put_u(out, (unsigned)m->skip << 4 | (unsigned)m->cut << 3 | m->kind);
        rec_put_u(out, m->offset);
        rec_put_u(out, m->size);
        rec_put_i(out, m->mtime_s);
        rec_put_text(out, m->name);
    }
}

static void encode_place(const struct body *b, struct buf *out)
{
    const struct index_file *f = &b->pub;

    rec_put_u(out, (unsigned)f->is_archive << 1 | (f->archive != NULL));
    if (f->archive) {
        rec_put_text(out, text_of(f->archive));
        rec_put_u(out, b->member.offset);
        rec_put_u(out, b->member.size);
        rec_put_u(out, b->member.cut);
    }
    if (f->is_archive)
        encode_members(f, out);
}

void file_encode(struct index *ix, const struct view *v, struct buf *out)
{
    const struct body *b = v->body;
    const struct index_file *f = &b->pub;

    rec_put_text(out, text_of(f->name));
    rec_put_text(out, text_of(f->path));
    rec_put_u(out, v->pub.state);
    rec_put_u(out, v->state_before);
    rec_put_i(out, v->missing_since_ns);
    rec_put_text(out, text_of(f->error));
    encode_identity(&b->identity, out);
    rec_put_u(out, b->text_sum.high);
    rec_put_u(out, b->text_sum.low);
    rec_put_u(out, b->summary_version);
    rec_put_u(out, b->run_version);
    rec_put_u(out, (unsigned)b->unit_fixed | (unsigned)b->has_tail << 1 |
                       (unsigned)b->tail_final << 2 | (unsigned)f->finished << 3 |
                       (unsigned)f->has_time << 4);
    rec_put_u(out, f->format);
    rec_put_u(out, f->unit);
    rec_put_u(out, f->text_bytes);
    rec_put_u(out, f->members);
    rec_put_u(out, f->index_bytes);
    rec_put_u(out, f->chunk_count);
    rec_put_u(out, f->name_count);
    part_put_counts(f->counts, out);
    if (f->has_time) {
        rec_put_i128(out, f->min_ts);
        rec_put_i128(out, f->max_te);
    }
    rec_put_text(out, text_of(f->tracer_version));
    encode_damage(f, out);
    encode_processes(ix, v, out);
    terms_encode(b->terms, ix->terms, out);
    for (unsigned i = 0; i < b->terms->dimension_count; i++) {
        struct filter bloom = b->filters ? b->filters[i] : (struct filter){0};
        rec_put_text(out, (struct text){(const char *)bloom.bits, bloom.len});
    }
    encode_place(b, out);
}

/* ---- decoding: without memory the error is in the body's arena ------------------------------- */

static void decode_identity(struct rec *r, struct identity *i)
{
    i->device = rec_u(r);
    i->inode = rec_u(r);
    i->size = rec_u(r);
    i->mtime_ns = rec_i(r);
    i->ctime_ns = rec_i(r);
    i->head_hash = rec_u(r);
    i->tail_hash = rec_u(r);
}

static void decode_damage(struct rec *r, struct body *b)
{
    uint64_t count = rec_choice(r, UINT32_MAX), kept = count < DAMAGE_KEPT ? count : DAMAGE_KEPT;
    struct trace_damage *list = arena_alloc(&b->arena, (kept + 1) * sizeof *list);

    for (uint64_t i = 0; list && i < kept; i++) {
        list[i].kind = (uint8_t)rec_choice(r, TRACE_DAMAGE_MANY);
        list[i].file_from = rec_u(r);
        list[i].file_to = rec_u(r);
        list[i].text_offset = rec_u(r);
    }
    b->pub.damage = list;
    b->pub.damage_count = (uint32_t)count;
    b->pub.damaged = count > 0;
}

static void decode_process(struct index *ix, struct rec *r, struct index_process *p)
{
    uint64_t flags;

    p->host = texts_get_ref(ix->texts, r);
    flags = rec_choice(r, INDEX_PARENT_SPAWN << 4 | 15);
    p->host_is_hash = flags & 1;
    p->has_time = flags >> 1 & 1;
    p->started = flags >> 2 & 1;
    p->finished = flags >> 3 & 1;
    p->parent_by = (uint8_t)(flags >> 4);
    p->pid = rec_i(r);
    p->ppid = rec_i(r);
    p->rank = rec_i(r);
    p->cmd_hash = texts_get_ref(ix->texts, r);
    p->exec_hash = texts_get_ref(ix->texts, r);
    p->cwd_hash = texts_get_ref(ix->texts, r);
    p->objects = rec_u(r);
    p->events = rec_u(r);
    if (p->has_time) {
        p->min_ts = rec_i128(r);
        p->max_te = rec_i128(r);
    }
}

static void decode_processes(struct index *ix, struct rec *r, struct body *b)
{
    uint64_t count = rec_count(r, 10);
    struct index_process *list = arena_alloc(&b->arena, (count + 1) * sizeof *list);
    struct part_fact *forks;

    for (uint64_t i = 0; list && i < count; i++)
        decode_process(ix, r, &list[i]);
    if (list)
        body_processes(b, list, (uint32_t)count);
    count = rec_count(r, 4);
    forks = arena_alloc(&b->arena, (count + 1) * sizeof *forks);
    for (uint64_t i = 0; forks && i < count; i++) {
        uint64_t flags;

        forks[i].host = texts_get_ref(ix->texts, r);
        flags = rec_choice(r, FACT_SPAWN << 1 | 1);
        forks[i].kind = (uint8_t)(flags >> 1);
        forks[i].host_is_hash = flags & 1;
        forks[i].pid = rec_i(r);
        forks[i].value = rec_i(r);
    }
    b->forks = forks;
    b->fork_count = (uint32_t)count;
}

static int decode_filters(struct index *ix, struct rec *r, struct body *b)
{
    int rc = terms_decode(r, ix->terms, &b->terms);

    if (rc)
        return rc;
    b->pub.checkpoint_size = b->terms->checkpoint_size;
    for (unsigned i = 0; i < b->terms->dimension_count && !r->bad; i++) {
        struct text bits = rec_text(r);
        uint8_t *copy = bits.len ? body_filter(b, i, bits.len) : NULL;

        if (copy)
            memcpy(copy, bits.ptr, bits.len);
    }
    return 0;
}

static void decode_members(struct rec *r, struct body *b)
{
    uint64_t count = rec_count(r, 5);
    struct index_member *list = arena_alloc(&b->arena, (count + 1) * sizeof *list);

    for (uint64_t i = 0; list && i < count && !r->bad; i++) {
        uint64_t flags = rec_choice(r, INDEX_SKIP_COMING << 4 | 15);

        list[i].skip = (uint8_t)(flags >> 4);
        list[i].cut = flags >> 3 & 1;
        list[i].kind = flags & 7;
        list[i].offset = rec_u(r);
        list[i].size = rec_u(r);
        list[i].mtime_s = rec_i(r);
        struct text name = rec_text(r);
        list[i].name = (struct text){arena_strdup(&b->arena, name), name.len};
        r->bad = r->bad || list[i].kind > TRACE_TAR_OTHER;
    }
    b->pub.archive_members = list;
    b->pub.archive_member_count = (uint32_t)count;
}

static void decode_place(struct rec *r, struct body *b)
{
    uint64_t flags = rec_choice(r, 3);

    b->pub.is_archive = flags >> 1;
    b->pub.compressed_bytes = b->identity.size;
    if (flags & 1) {
        b->pub.archive = arena_strdup(&b->arena, rec_text(r));
        b->member.offset = rec_u(r);
        b->member.size = b->pub.compressed_bytes = rec_u(r);
        b->member.cut = rec_choice(r, 1) != 0;
    }
    if (b->pub.is_archive)
        decode_members(r, b);
}

static const char *keep(struct body *b, struct text t)
{
    return t.len ? arena_strdup(&b->arena, t) : NULL;
}

static int decode_body(struct index *ix, struct rec *r, struct body *b)
{
    struct index_file *f = &b->pub;
    struct identity identity;
    uint64_t flags;
    int rc;

    f->error = keep(b, rec_text(r));
    decode_identity(r, &identity);
    body_identify(b, &identity);
    b->text_sum.high = rec_u(r);
    b->text_sum.low = rec_u(r);
    b->summary_version = (uint32_t)rec_u(r);
    b->run_version = (uint32_t)rec_u(r);
    flags = rec_u(r);
    b->unit_fixed = flags & 1;
    b->has_tail = flags >> 1 & 1;
    b->tail_final = flags >> 2 & 1;
    f->finished = flags >> 3 & 1;
    f->has_time = flags >> 4 & 1;
    f->format = (enum trace_format)rec_choice(r, TRACE_GZIP);
    f->unit = (enum trace_unit)rec_choice(r, TRACE_SEC);
    f->text_bytes = rec_u(r);
    f->members = rec_u(r);
    f->index_bytes = rec_u(r);
    f->chunk_count = (uint32_t)rec_u(r); /* they are loaded later; decode_again() has them */
    f->name_count = (uint32_t)rec_u(r);
    part_read_counts(r, &f->counts);
    if (f->has_time) {
        f->min_ts = rec_i128(r);
        f->max_te = rec_i128(r);
    }
    f->tracer_version = keep(b, rec_text(r));
    decode_damage(r, b);
    decode_processes(ix, r, b);
    rc = decode_filters(ix, r, b);
    if (rc == 0)
        decode_place(r, b);
    rc = b->arena.error ? b->arena.error : rc;
    return rc ? rc : r->bad ? ERR_CORRUPT : 0;
}

int file_decode(struct index *ix, uint32_t id, struct rec r, struct view **ret)
{
    struct body *b = body_new();
    struct view *v = NULL;
    uint64_t state, before;
    int64_t missing_since;
    int rc;

    if (!b)
        return -ENOMEM;
    b->pub.id = id;
    b->ix = ix;
    b->pub.name = arena_strdup(&b->arena, rec_text(&r));
    b->pub.path = arena_strdup(&b->arena, rec_text(&r));
    state = rec_choice(&r, INDEX_MISSING);
    before = rec_choice(&r, INDEX_MISSING);
    missing_since = rec_i(&r);
    rc = decode_body(ix, &r, b);
    if (rc) {
        body_release(b);
        return rc;
    }
    v = view_of_body(b, (enum index_state)state);
    if (!v)
        return -ENOMEM;
    v->state_before = (uint8_t)before;
    v->missing_since_ns = missing_since;
    *ret = v;
    return 0;
}

/* ---- loading --------------------------------------------------------------------------------- */

static int load_chunks(struct kv_read *r, struct body *b)
{
    struct kv_key prefix = kv_key_of_u32(b->pub.id);
    VEC(struct index_chunk) list = {0};
    struct kv_cursor c;
    int rc;

    kv_begin(r, KV_SPAN, &prefix, &c);
    while (kv_next(&c)) {
        struct rec rec = rec_of(c.value);
        struct index_chunk chunk = {0};

        if (c.key.len == 8)
            chunk.number = kv_get_u32((const uint8_t *)c.key.ptr + 4);
        else
            rec.bad = true;
        chunk.version = (uint32_t)rec_u(&rec);
        chunk.rows = (uint32_t)rec_u(&rec);
        chunk.text_len = (uint32_t)rec_u(&rec);
        chunk.text_offset = rec_u(&rec);
        if (rec.ptr < rec.end)
            chunk.home = (uint16_t)rec_choice(&rec, UINT16_MAX);
        if (rec.bad)
            c.error = ERR_CORRUPT;
        else
            c.error = vec_push(&list, chunk);
    }
    kv_end(&c);
    b->pub.chunks = body_copy(b, list.at, list.count * sizeof *list.at);
    rc = c.error ? c.error : b->arena.error;
    rc = rc ? rc : list.count != b->pub.chunk_count ? ERR_CORRUPT : 0;
    vec_done(&list);
    return rc;
}

struct name_list {
    VEC(struct index_name) names;
};

/* The names of one chunk behind those of the chunks before. */
static int add_names(struct index *ix, struct body *b, const struct index_chunk *chunk,
                     struct text value, struct name_list *all)
{
    struct index_name *names = NULL;
    uint32_t n = 0, first;
    int rc = names_decode(ix, rec_of(value), &names, &n, NULL, NULL);

    if (rc)
        return rc;
    rc = lines_register(
        ix,
        &(struct line_range){
            .file = b->pub.id, .chunk = chunk->number, .version = chunk->version, .count = n},
        &first);
    rc = rc ? rc : vec_reserve(&all->names, n);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        names[i].line = first == INDEX_NO_TEXT ? INDEX_NO_TEXT : first + i;
        all->names.at[all->names.count++] = names[i];
    }
    free(names);
    return rc;
}

static int load_names(struct index *ix, struct kv_read *r, struct body *b)
{
    struct name_list all = {0};
    size_t count;
    int rc = 0;

    for (uint32_t i = 0; i < b->pub.chunk_count && rc == 0; i++) {
        const struct index_chunk *chunk = &b->pub.chunks[i];
        struct kv_key key = kv_key_of_chunk(b->pub.id, chunk->number, chunk->version);
        struct text value;

        rc = kv_get(r, KV_NAME, &key, &value);
        if (rc == 0)
            rc = add_names(ix, b, chunk, value, &all);
        else if (rc == -ENOENT)
            rc = 0;
    }
    count = all.names.count;
    names_sort(all.names.at, (uint32_t)count);
    b->pub.names = body_copy(b, all.names.at, count * sizeof *all.names.at);
    vec_done(&all.names);
    rc = rc ? rc : b->arena.error;
    return rc ? rc : count != b->pub.name_count ? ERR_CORRUPT : 0;
}

static int load_file(struct index *ix, struct kv_read *r, uint32_t id, struct text value)
{
    struct view *v = NULL;
    enum index_state state;
    struct entry *e;
    int rc = file_decode(ix, id, rec_of(value), &v);

    if (rc)
        return rc;
    rc = load_chunks(r, v->body);
    if (rc == 0)
        rc = load_names(ix, r, v->body);
    e = rc == 0 ? catalog_entry(ix, v->body->pub.name, v->body->pub.path, true) : NULL;
    if (!e) {
        view_release(v);
        return rc ? rc : -ENOMEM;
    }
    state = v->pub.state;
    v->pub = v->body->pub; /* chunks and names came after it was made */
    v->pub.state = state;
    e->seen = v->body->identity;
    e->asked = true; /* by whoever had it read */
    catalog_publish(ix, e, v);
    if (id >= ix->next_file)
        ix->next_file = id + 1;
    return 0;
}

/* A file whose values do not fit is found again by the next scan, and indexed anew. */
static int lose_file(struct index *ix, uint32_t id)
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
            rc = lose_file(ix, id);
    }
    kv_end(&c);
    rc = rc ? rc : c.error;
    return rc ? err_set(err, rc, "cannot load the catalog of files: %s", err_text(rc)) : 0;
}
