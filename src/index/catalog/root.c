/* root.c - summaries of files, and the summary of all files, which the next generation reuses if it
 * can. */
#include "index/catalog/snapshot.h"
#include "index/summary/part.h"

#include <errno.h>
#include <stdlib.h>

/* ---- one file -------------------------------------------------------------------------------- */

static int load_merged(struct index *ix, const struct view *v, struct summary **ret)
{
    struct summary *s = summary_new();
    struct part *base = NULL, *tail = NULL;
    struct kv_read *r;
    int rc = s ? 0 : -ENOMEM;

    if (rc == 0 && v->pub.chunk_count > 0) {
        rc = kv_read_begin(ix->kv, &r);
        if (rc == 0) {
            rc = summary_load(ix->texts, r, v->pub.id, v->summary_version, &base, &tail);
            kv_read_end(r);
        }
    }
    if (rc == 0 && base)
        rc = summary_merge(s, base->summary);
    if (rc == 0 && tail)
        rc = summary_merge(s, tail->summary);
    if (rc == 0)
        rc = summary_resolve_hosts(s, &v->pub);
    part_free(base);
    part_free(tail);
    if (rc) {
        summary_free(s);
        rc = rc == -ENOENT ? ERR_CORRUPT : rc;
        if (rc == ERR_CORRUPT)
            index_file_corrupt(ix, &v->pub);
        return rc;
    }
    *ret = s;
    return 0;
}

int index_file_summary(struct index *ix, const struct snapshot *s, uint32_t file,
                       struct summary **ret)
{
    struct summary *sum;
    int rc = load_merged(ix, s->views[file], &sum);

    if (rc)
        return rc;
    for (uint32_t i = 0; i < sum->thread_count; i++)
        sum->threads[i].file = file;
    *ret = sum;
    return 0;
}

/* ---- all files ------------------------------------------------------------------------------- */

/* The summary of all files, immutable once created. `members` are the files in it whose summary is
 * final. */
struct member {
    uint32_t id, version;
};
struct root {
    atomic_uint refs;
    struct summary *summary; /* of the members; threads[].file is a file id */
    VEC(struct member) members;
    struct hash_index member_index;
    /* of all files of one snapshot; threads[].file is a position in it */
    struct summary *all_files;
};

void root_release(struct root *r)
{
    if (!r || atomic_fetch_sub(&r->refs, 1) > 1)
        return;
    summary_free(r->all_files);
    summary_free(r->summary);
    vec_done(&r->members);
    hash_index_done(&r->member_index);
    free(r);
}

static struct root *root_new(void)
{
    struct root *r = calloc(1, sizeof *r);

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

static const struct member *find_member(const struct root *r, uint32_t id)
{
    for (struct hash_match m = hash_index_find(&r->member_index, id);
         hash_index_next(&r->member_index, &m);)
        if (r->members.at[m.position].id == id)
            return &r->members.at[m.position];
    return NULL;
}

static int add_file(struct index *ix, struct summary *to, const struct view *v, uint32_t file)
{
    struct summary *s;
    int rc = load_merged(ix, v, &s);

    if (rc)
        return rc;
    for (uint32_t i = 0; i < s->thread_count; i++)
        s->threads[i].file = file;
    rc = summary_merge(to, s);
    summary_free(s);
    return rc;
}

/* Adds the final files of the snapshot to the list. */
static int add_members(struct root *r, const struct snapshot *s)
{
    int rc = 0;

    for (uint32_t i = 0; i < s->count && rc == 0; i++) {
        const struct view *v = s->views[i];

        if (!is_final(v))
            continue;
        rc = hash_index_add(&r->member_index, v->pub.id, (uint32_t)r->members.count);
        rc = rc ? rc : vec_push(&r->members, {v->pub.id, v->summary_version});
    }
    return rc;
}

/* Returns whether all members of `old` are members of `r`: then the others are added to a copy of
 * its summary. */
static bool covers_only(const struct root *old, const struct root *r)
{
    for (size_t i = 0; i < old->members.count; i++) {
        const struct member *m = find_member(r, old->members.at[i].id);

        if (!m || m->version != old->members.at[i].version)
            return false;
    }
    return true;
}

static int add_summaries(struct index *ix, const struct snapshot *s, struct root *r,
                         const struct root *old)
{
    int rc = old ? summary_merge(r->summary, old->summary) : 0;

    for (uint32_t i = 0; i < s->count && rc == 0; i++) {
        const struct view *v = s->views[i];

        if (atomic_load(&ix->stopping))
            return ERR_CANCELLED; /* the writer also prepares summaries, and has to end */
        if (is_final(v) && !(old && find_member(old, v->pub.id)))
            rc = add_file(ix, r->summary, v, v->pub.id);
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

/* Creates the summary of all files of one snapshot: the members, and files that are not final
 * yet. */
static int summarise_all(struct index *ix, const struct snapshot *s, struct root *r)
{
    int rc = 0;

    r->all_files = summary_clone(r->summary);
    if (!r->all_files)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->count && rc == 0; i++) {
        if (!is_final(s->views[i]) && s->views[i]->pub.chunk_count > 0)
            rc = add_file(ix, r->all_files, s->views[i], s->views[i]->pub.id);
    }
    return rc ? rc : set_positions(s, r->all_files);
}

static int make_root(struct index *ix, const struct snapshot *s, struct root *old,
                     struct root **ret)
{
    struct root *r = root_new();
    int rc = r ? 0 : -ENOMEM;

    rc = rc ? rc : add_members(r, s);
    if (rc == 0 && old && !covers_only(old, r))
        old = NULL;
    rc = rc ? rc : add_summaries(ix, s, r, old);
    rc = rc ? rc : summarise_all(ix, s, r);
    if (rc)
        root_release(r);
    else
        *ret = r;
    return rc;
}

int index_root_summary(struct index *ix, const struct snapshot *snapshot,
                       const struct summary **ret)
{
    struct snapshot *s = (struct snapshot *)snapshot; /* created on first use, under its lock */
    struct root *old, *made = NULL;
    int rc = 0;

    pthread_mutex_lock(&s->lock);
    if (!s->root) {
        pthread_mutex_lock(&ix->root_lock);
        old = ix->root;
        if (old)
            atomic_fetch_add(&old->refs, 1);
        pthread_mutex_unlock(&ix->root_lock);
        rc = make_root(ix, s, old, &made);
        root_release(old);
        if (rc == 0)
            s->root = made;
        if (rc == 0 && !s->part_uuid) {
            atomic_fetch_add(&made->refs, 1);
            pthread_mutex_lock(&ix->root_lock);
            old = ix->root;
            ix->root = made;
            pthread_mutex_unlock(&ix->root_lock);
            root_release(old);
        }
    }
    if (rc == 0)
        *ret = s->root->all_files;
    pthread_mutex_unlock(&s->lock);
    return rc;
}
