/* plan.c - decides what to do with a file: nothing, read it from the start, or continue after the
 * stored chunks. */
#include "index/ingest/retry.h"
#include "index/ingest/read.h"
#include "index/store/checkpoint_record.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ---- what is to be done ---------------------------------------------------------------------- */

static bool is_settled(struct reader *r, const struct identity *now)
{
    struct index *ix = r->ix;
    struct entry *e = r->run->entry;

    pthread_mutex_lock(&ix->lock);
    if (!identity_same(&e->seen, now)) {
        e->seen = *now;
        e->stable_since_ns = clock_mono_ns();
    }
    int64_t quiet = clock_mono_ns() - e->stable_since_ns;
    pthread_mutex_unlock(&ix->lock);
    /* Compare with the clock of the file system, or, in case that differs, with our own. */
    return quiet >= ix->settle_ns || clock_real_ns() - now->mtime_ns >= ix->settle_ns;
}

/* The hashes cover the whole file, or the file ends in a checksum of the whole file. */
static bool edges_cover_all(const struct index_file *f)
{
    return f->file_bytes <= 2ull * EDGE_BYTES || (f->format == TRACE_GZIP && f->members == 1);
}

/* How the current file relates to the indexed one. */
enum relation { SAME, SAME_CONTENT, GROWN, OTHER };

/* The run concerns the same file, or the same part of the same archive. */
static bool is_same_place(const struct run *run)
{
    const struct index_file *old = &run->old->pub;
    const struct member_place *was = &run->old->member, *is = &run->member;

    if (!run->archive)
        return !old->archive;
    return old->archive && was->offset == is->offset && was->size == is->size &&
           was->cut == is->cut;
}

static int compare_with_stored(struct reader *r, const struct identity *now, enum relation *ret)
{
    const struct view *old = r->run->old, *archive = r->run->archive;
    const struct identity *known = &old->identity;
    struct identity edges;

    *ret = OTHER;
    if (!is_same_place(r->run))
        return 0;
    if (identity_same(known, now)) {
        *ret = SAME;
        return 0;
    }
    if (now->size < known->size)
        return 0;
    int rc = identity_hash_edges(r->fd, r->edge, known->size, &edges);
    if (rc || edges.head_hash != known->head_hash || edges.tail_hash != known->tail_hash)
        return rc;
    if (now->size > known->size)
        *ret = GROWN;
    else if (now->mtime_ns == known->mtime_ns ||
             edges_cover_all(archive ? &archive->pub : &old->pub))
        *ret = SAME_CONTENT;
    /* A member does not grow when its archive does. */
    if (archive && *ret == GROWN)
        *ret = SAME_CONTENT;
    return 0;
}

/* ---- continuing after stored chunks ---------------------------------------------------------- */

static int find_start(struct reader *r, struct kv_read *kv)
{
    struct trace_checkpoint at;

    if (r->skip_to == 0)
        return 0;
    /* The checkpoint must lie before skip_to: damage detected exactly there must be found again. */
    int rc = checkpoint_find(kv, r->run->id, r->skip_to - 1, &at);
    if (rc)
        return rc == -ENOENT ? 0 : rc;
    rc = checkpoint_clone(&at, &r->from);
    r->resumed = rc == 0;
    return rc;
}

static int keep_chunks(struct run *run, const struct index_file *f, uint32_t count)
{
    int rc = 0;

    for (uint32_t i = 0; i < count && rc == 0; i++)
        rc = vec_push(&run->chunks, f->chunks[i]);
    for (uint32_t i = 0; i < f->name_count && count > 0 && rc == 0; i++)
        if (f->names[i].chunk <= f->chunks[count - 1].number)
            rc = vec_push(&run->base->names, f->names[i]);
    return rc;
}

static int keep_damage(struct run *run, const struct index_file *f, uint64_t below)
{
    uint32_t kept = f->damage_count < INDEX_DAMAGE_KEPT ? f->damage_count : INDEX_DAMAGE_KEPT;
    int rc = 0;

    for (uint32_t i = 0; i < kept && rc == 0; i++)
        if (f->damage[i].text_offset < below)
            rc = run_add_damage(run, &f->damage[i], 1);
    if (f->damage_count > INDEX_DAMAGE_KEPT && run->damage_count == INDEX_DAMAGE_KEPT)
        run->damage_count = f->damage_count;
    return rc;
}

static int resume_parts(struct reader *r, struct kv_read *kv)
{
    struct run *run = r->run;
    const struct view *old = run->old;
    const struct index_file *f = &old->pub;
    uint32_t count = f->chunk_count;
    struct part *tail = NULL;
    int rc = summary_load(r->ix->texts, kv, f->id, old->summary_version, &run->base, &tail);

    if (rc)
        return rc;
    if (!run->base && !(run->base = part_new()))
        rc = -ENOMEM;
    run->index_bytes = f->index_bytes;
    if (rc == 0 && old->has_tail && !(tail && count > 0)) {
        rc = ERR_CORRUPT;
    } else if (rc == 0 && old->has_tail && old->tail_complete) {
        part_merge(run->base, tail);
    } else if (rc == 0 && old->has_tail) {
        const struct index_chunk *last = &f->chunks[--count];
        struct kv_key key = kv_key_of_chunk(f->id, last->number, last->version);
        struct text value;
        if (kv_get(kv, KV_CHUNK, &key, &value) == 0 && run->index_bytes >= value.len)
            run->index_bytes -= value.len;
    }
    part_free(tail);
    /* The text begins after the last chunk, or where the chunk that is read again begins. Chunk
     * numbers must continue as in one pass: after a line beyond TRACE_LINE_MAX they do not follow
     * from the offset alone. */
    if (f->chunk_count > 0)
        r->skip_to = f->chunks[f->chunk_count - 1].text_offset +
                     (count == f->chunk_count ? f->chunks[count - 1].text_len : 0);
    if (rc == 0 && count > 0 &&
        r->skip_to / run->index_params->checkpoint_size <= f->chunks[count - 1].number)
        rc = ERR_STALE;
    rc = rc ? rc : keep_chunks(run, f, count);
    r->kept = count;
    rc = rc ? rc : keep_damage(run, f, r->skip_to);
    return rc ? rc : find_start(r, kv);
}

static int resume_run(struct reader *r)
{
    struct run *run = r->run;
    struct kv_read *kv;

    run->id = run->old->pub.id;
    run->version = run->old->run_version + 1;
    run->summary_version = run->old->summary_version;
    run->hashes_lost = true;
    int rc = kv_read_begin(r->ix->kv, &kv);
    if (rc)
        return rc;
    rc = resume_parts(r, kv);
    kv_read_end(kv);
    return rc;
}

static void forget_resumed(struct reader *r)
{
    struct run *run = r->run;

    part_free(run->base);
    run->base = NULL;
    run->chunks.count = run->damage.count = run->damage_count = 0;
    run->index_bytes = 0;
    run->hashes_lost = false;
    r->resumed = false;
    r->skip_to = 0;
    free((void *)r->from.window);
    r->from = (struct trace_checkpoint){0};
}

static void begin_fresh(struct reader *r)
{
    struct run *run = r->run;

    forget_resumed(r);
    run->fresh = true;
    run->version = 1;
    run->summary_version = 0;
    pthread_mutex_lock(&r->ix->lock);
    run->id = r->ix->next_file++;
    pthread_mutex_unlock(&r->ix->lock);
}

static void publish_indexing(struct reader *r)
{
    struct index *ix = r->ix;
    struct run *run = r->run;
    struct view *v;

    pthread_mutex_lock(&ix->lock);
    if (run->fresh && !(run->entry->is_archive && run->old->pub.id)) {
        v = view_empty(run->entry, INDEX_INDEXING);
        if (v) {
            v->pub.file_bytes = run->identity.size;
            v->pub.compressed_bytes = run_bytes(run);
            v->pub.checkpoint_size = run->index_params->checkpoint_size;
        }
    } else {
        v = view_with_state(run->old, INDEX_INDEXING);
    }
    if (v)
        catalog_publish_run(ix, run->entry, v);
    pthread_mutex_unlock(&ix->lock);
}

static int hash_edges(struct reader *r)
{
    struct run *run = r->run;

    if (!run->archive)
        return identity_hash_edges(r->fd, r->edge, run->identity.size, &run->identity);
    run->identity = run->archive->identity;
    return 0;
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* Reads the present identity of the file. */
static int stat_file(const struct reader *r, struct identity *ret)
{
    struct stat st;

    if (fstat(r->fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    identity_of_stat(&st, ret);
    return 0;
}

/* *ret is OTHER also if the whole file is to be read again. */
static int find_relation(struct reader *r, bool rebuild, enum relation *ret)
{
    const struct index_file *old = &r->run->old->pub;
    bool known = old->id != 0 && !rebuild && old->state != INDEX_FAILED;

    *ret = OTHER;
    int rc = known ? compare_with_stored(r, &r->run->identity, ret) : 0;
    if (rc == 0 && *ret == SAME && old->state == INDEX_READY &&
        retry_can_read(r->run, r->fd, r->edge, EDGE_BYTES))
        *ret = OTHER;
    return rc;
}

/* Prepares reading after the stored chunks, or from the start. */
static void begin_reading(struct reader *r, enum relation relation)
{
    struct run *run = r->run;

    if (relation != OTHER) {
        run->unit_from_trace = run->unit_from_trace || run->old->unit_from_trace;
        run->unit = run->old->pub.unit;
    }
    if (relation == OTHER || run->entry->is_archive || resume_run(r) < 0)
        begin_fresh(r);
    publish_indexing(r);
}

int reader_plan(struct reader *r, bool rebuild)
{
    struct run *run = r->run;
    enum index_state state = run->old->pub.state;
    enum relation relation;
    struct identity now;
    int rc = stat_file(r, &now);

    if (rc)
        return rc;
    /* The archive has changed: when it has been walked again, its members are offered again,
     * too. */
    if (run->archive && !identity_same(&run->archive->identity, &now)) {
        run->action = RUN_NOTHING;
        run->identity = now;
        return 0;
    }
    pthread_mutex_lock(&r->ix->lock); /* index_offer compares with it */
    run->identity = now;
    pthread_mutex_unlock(&r->ix->lock);
    r->finish = run->archive || is_settled(r, &run->identity);
    rc = find_relation(r, rebuild, &relation);
    if (rc)
        return rc;
    run->action = RUN_READ;
    if (relation == SAME && (state == INDEX_READY || (state == INDEX_GROWING && !r->finish))) {
        run->action = RUN_NOTHING;
        return 0;
    }
    rc = hash_edges(r);
    if (rc)
        return rc;
    if (relation == SAME_CONTENT && state == INDEX_READY)
        run->action = RUN_TOUCH;
    else
        begin_reading(r, relation);
    return 0;
}
