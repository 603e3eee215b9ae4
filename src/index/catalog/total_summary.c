/* total_summary.c - summaries of files, and the summary of all files, which the next generation
 * reuses if it can. */
#include "index/catalog/snapshot.h"
#include "index/summary/part.h"

#include <errno.h>
#include <stdlib.h>

/* ---- one file -------------------------------------------------------------------------------- */

/* Loads the summary of a file; `file` becomes the file of its threads. */
static int load_summary(struct index *ix, const struct view *v, uint32_t file, struct summary **ret)
{
    struct summary *s = summary_new();
    struct part *base = NULL, *tail = NULL;
    struct kv_read *r;
    int rc = s ? 0 : -ENOMEM;

    if (rc == 0 && v->pub.chunk_count > 0 && (rc = kv_read_begin(ix->kv, &r)) == 0) {
        rc = summary_load(ix->texts, r, v->pub.id, v->summary_version, &base, &tail);
        kv_read_end(r);
    }
    if (rc == 0 && base)
        rc = summary_merge(s, base->summary);
    if (rc == 0 && tail)
        rc = summary_merge(s, tail->summary);
    rc = rc ? rc : summary_resolve_hosts(s, &v->pub);
    part_free(base);
    part_free(tail);
    if (rc) {
        summary_free(s);
        rc = rc == -ENOENT ? ERR_CORRUPT : rc;
        if (rc == ERR_CORRUPT)
            index_file_corrupt(ix, &v->pub);
        return rc;
    }
    for (uint32_t i = 0; i < s->thread_count; i++) {
        struct summary_thread *t = &s->threads[i];
        t->file = file;
        t->own_name =
            t->host_is_hash ? index_name_in_file(&v->pub, INDEX_HH, t->host) : INDEX_NO_TEXT;
    }
    *ret = s;
    return 0;
}

int index_file_summary(struct index *ix, const struct snapshot *s, uint32_t file,
                       struct summary **ret)
{
    return load_summary(ix, s->views[file], file, ret);
}

/* ---- all files ------------------------------------------------------------------------------- */

/* A file whose summary is final. */
struct final_file {
    uint32_t id, version;
};
/* The summary of all files, immutable once created. */
struct total_summary {
    atomic_uint refs;
    VEC(struct final_file) files;
    struct summary *summary; /* of `files`; threads[].file is a file id */
    struct hash_index file_index;
    /* of all files of one snapshot; threads[].file is a position in it */
    struct summary *all_files;
};

void total_summary_release(struct total_summary *r)
{
    if (!r || atomic_fetch_sub(&r->refs, 1) > 1)
        return;
    summary_free(r->all_files);
    summary_free(r->summary);
    vec_done(&r->files);
    hash_index_done(&r->file_index);
    free(r);
}

static struct total_summary *total_summary_new(void)
{
    struct total_summary *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    atomic_init(&r->refs, 1);
    r->summary = summary_new();
    if (!r->summary) {
        free(r);
        return NULL;
    }
    return r;
}

static bool is_final(const struct view *v)
{
    return v->pub.state == INDEX_READY;
}

static const struct final_file *find_final(const struct total_summary *r, uint32_t id)
{
    for (struct hash_match m = hash_index_find(&r->file_index, id);
         hash_index_next(&r->file_index, &m);)
        if (r->files.at[m.position].id == id)
            return &r->files.at[m.position];
    return NULL;
}

static int add_file(struct index *ix, struct summary *to, const struct view *v)
{
    struct summary *s;
    int rc = load_summary(ix, v, v->pub.id, &s);

    if (rc)
        return rc;
    rc = summary_merge(to, s);
    summary_free(s);
    return rc;
}

/* Lists the final files of the snapshot. */
static int add_files(struct total_summary *r, const struct snapshot *s)
{
    int rc = 0;

    for (uint32_t i = 0; i < s->count && rc == 0; i++) {
        const struct view *v = s->views[i];
        if (!is_final(v))
            continue;
        rc = hash_index_add(&r->file_index, v->pub.id, (uint32_t)r->files.count);
        rc = rc ? rc : vec_push(&r->files, {v->pub.id, v->summary_version});
    }
    return rc;
}

/* Returns whether all files of `old` are in `r`: then the others are added to a copy of the summary
 * of `old`. */
static bool has_all_of(const struct total_summary *old, const struct total_summary *r)
{
    for (size_t i = 0; i < old->files.count; i++) {
        const struct final_file *m = find_final(r, old->files.at[i].id);
        if (!m || m->version != old->files.at[i].version)
            return false;
    }
    return true;
}

static int add_summaries(struct index *ix, const struct snapshot *s, struct total_summary *r,
                         const struct total_summary *old)
{
    int rc = old ? summary_merge(r->summary, old->summary) : 0;

    for (uint32_t i = 0; i < s->count && rc == 0; i++) {
        const struct view *v = s->views[i];
        if (atomic_load(&ix->stopping))
            return ERR_CANCELLED; /* the writer also prepares summaries, and has to end */
        if (is_final(v) && !(old && find_final(old, v->pub.id)))
            rc = add_file(ix, r->summary, v);
    }
    return rc;
}

/* Replaces file ids by positions in the snapshot. */
static int set_positions(const struct snapshot *s, struct summary *sum)
{
    struct hash_index by_id = {0};
    int rc = 0;

    for (uint32_t i = 0; i < s->count && rc == 0; i++)
        rc = hash_index_add(&by_id, s->views[i]->pub.id, i);
    for (uint32_t i = 0; i < sum->thread_count && rc == 0; i++) {
        struct hash_match m = hash_index_find(&by_id, sum->threads[i].file);
        sum->threads[i].file = hash_index_next(&by_id, &m) ? m.position : 0;
    }
    hash_index_done(&by_id);
    return rc;
}

/* Creates the summary of all files of one snapshot: the final ones, and the others. */
static int summarise_all(struct index *ix, const struct snapshot *s, struct total_summary *r)
{
    int rc = 0;

    r->all_files = summary_clone(r->summary);
    if (!r->all_files)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->count && rc == 0; i++)
        if (!is_final(s->views[i]) && s->views[i]->pub.chunk_count > 0)
            rc = add_file(ix, r->all_files, s->views[i]);
    return rc ? rc : set_positions(s, r->all_files);
}

static int make_total(struct index *ix, const struct snapshot *s, struct total_summary *old,
                      struct total_summary **ret)
{
    struct total_summary *r = total_summary_new();
    int rc = r ? 0 : -ENOMEM;

    rc = rc ? rc : add_files(r, s);
    if (rc == 0 && old && !has_all_of(old, r))
        old = NULL;
    rc = rc ? rc : add_summaries(ix, s, r, old);
    rc = rc ? rc : summarise_all(ix, s, r);
    if (rc)
        total_summary_release(r);
    else
        *ret = r;
    return rc;
}

int index_total_summary(struct index *ix, const struct snapshot *snapshot,
                        const struct summary **ret)
{
    struct snapshot *s = (struct snapshot *)snapshot; /* created on first use, under its lock */
    struct total_summary *old, *made = NULL;
    int rc = 0;

    pthread_mutex_lock(&s->lock);
    if (!s->total) {
        pthread_mutex_lock(&ix->total_lock);
        old = ix->total;
        if (old)
            atomic_fetch_add(&old->refs, 1);
        pthread_mutex_unlock(&ix->total_lock);
        rc = make_total(ix, s, old, &made);
        total_summary_release(old);
        if (rc == 0)
            s->total = made;
        if (rc == 0 && !s->part_uuid) {
            atomic_fetch_add(&made->refs, 1);
            pthread_mutex_lock(&ix->total_lock);
            old = ix->total;
            ix->total = made;
            pthread_mutex_unlock(&ix->total_lock);
            total_summary_release(old);
        }
    }
    if (rc == 0)
        *ret = s->total->all_files;
    pthread_mutex_unlock(&s->lock);
    return rc;
}
