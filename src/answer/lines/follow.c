/* follow.c - records which objects of each file have been returned, and finds the new ones of a
 * newer snapshot.
 *
 * A file that only grew keeps its id and all chunks but the last one, whose objects are compared by
 * their positions in the text. A file that was read again from its start is compared object by
 * object with what has been returned; the older snapshot is kept until it is indexed that far. */
#include "answer/lines/follow_lost.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "answer/lines/versions.h"
#include "dftracerd/vec.h"

#define GONE_NS 120000000000LL /* a file that reappears after this time is a new one */

/* A name of a file, and which of its objects have been returned. */
struct known {
    struct snapshot *snapshot; /* contains `file` */
    bool held;                 /* snapshot is not follow.latest, so it has a reference */
    const struct index_file *file;
    struct row_at next; /* the first object that has not been returned */
    /* X if `file` is X.gz, or vice versa, or the new name of `file`: this entry is of the file with
     * this name, which begins with the same text as `file`, and is not yet indexed further. NULL:
     * the entry is of `file`. */
    char *twin_name;
    int64_t
        gone_ns; /* the file is missing or unreadable since then (clock_mono_ns); 0: it exists */
    /* The file with new_id equals the one with old_id up to here; its last chunk may be
     * replaced. */
    uint32_t old_id, new_id;
    struct row_at old_at, new_at;
};

struct known_list {
    VEC(struct known);
};

struct follow {
    bool want;
    pthread_mutex_t lock; /* guards known.next while a query runs */
    struct snapshot *latest;
    struct known_list known; /* by name */
};

/* One call of follow_query. */
struct step {
    struct follow *follow;
    struct query *query;
    struct snapshot *snapshot;
    struct known_list out;
    struct row_at *start; /* by index in query_files: the first new object */
    size_t file;          /* index in query_files, while places are visited */
    int64_t now_ns;
};

static struct row_at end_of(const struct index_file *f)
{
    return (struct row_at){f->chunk_count, 0};
}

/* ---- the list of known files ----------------------------------------------------------------- */

static const char *name_of(const struct known *k)
{
    return k->twin_name ? k->twin_name : k->file->name;
}

static int compare_name(const void *name, const void *known)
{
    return strcmp(name, name_of(known));
}

static struct known *known_find(const struct known_list *list, const char *name)
{
    return list->count ? bsearch(name, list->at, list->count, sizeof(*list->at), compare_name)
                       : NULL;
}

static void known_done(struct known_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->at[i].twin_name);
        if (list->at[i].held)
            snapshot_release(list->at[i].snapshot);
    }
    vec_done(list);
}

int follow_new(bool want, struct follow **ret)
{
    struct follow *f = calloc(1, sizeof(*f));

    if (!f)
        return -ENOMEM;
    f->want = want;
    pthread_mutex_init(&f->lock, NULL);
    *ret = f;
    return 0;
}

void follow_free(struct follow *f)
{
    if (!f)
        return;
    known_done(&f->known);
    snapshot_release(f->latest);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

/* Adds an entry of a file all of whose objects count as returned. */
static void add_complete(struct step *s, const struct index_file *n)
{
    s->out.at[s->out.count++] =
        (struct known){.snapshot = s->snapshot, .file = n, .next = end_of(n)};
}

/* Adds a copy of an entry. */
static int add_copy(struct step *s, const struct known *k, const char *twin_name)
{
    struct known *to = &s->out.at[s->out.count];

    *to = *k;
    to->twin_name = twin_name ? strdup(twin_name) : NULL;
    if (twin_name && !to->twin_name)
        return -ENOMEM;
    to->held = k->snapshot != s->snapshot;
    if (to->held)
        snapshot_ref(to->snapshot);
    s->out.count++;
    return 0;
}

/* Keeps the entry of a file that cannot be compared, because it is not indexed yet, or is gone. */
static int keep_entry(struct step *s, const struct known *k, bool gone)
{
    int64_t since = !gone ? 0 : k->gone_ns ? k->gone_ns : s->now_ns;

    if (since && s->now_ns - since > GONE_NS)
        return 0;
    int rc = add_copy(s, k, k->twin_name);
    if (rc == 0)
        s->out.at[s->out.count - 1].gone_ns = since;
    return rc;
}

/* ---- the first new object of a file ---------------------------------------------------------- */

/* Returns the entry of this file under its previous name; NULL: none. */
static const struct known *find_renamed(const struct follow *f, const struct index_file *n)
{
    const struct known *last = NULL;

    for (size_t i = 0; i < f->known.count && !(last && !last->gone_ns); i++) {
        const struct known *k = &f->known.at[i];
        bool same = k->file->inode == n->inode && k->file->device == n->device;
        if (same && !k->twin_name && k->file->chunk_count &&
            (!last || !k->gone_ns || k->gone_ns > last->gone_ns))
            last = k;
    }
    return last;
}

/* Returns the entry of X.gz if the name is X, and vice versa; NULL: none. */
static const struct known *find_twin(struct step *s, const char *name)
{
    size_t len = strlen(name);
    struct buf other = {0};

    if (len > 3 && strcmp(name + len - 3, ".gz") == 0)
        buf_append(&other, name, len - 3);
    else
        buf_printf(&other, "%s.gz", name);
    buf_putc(&other, '\0');
    struct known *k = NULL;
    if (!other.error)
        k = known_find(&s->out, other.data);
    if (!other.error && !k)
        k = known_find(&s->follow->known, other.data);
    buf_done(&other);
    return k && !k->twin_name && k->file->chunk_count ? k : NULL;
}

/* For a file with the same id, which only grew: chunks of the same version are equal. */
static int find_new_in_grown(struct step *s, const struct known *k, const struct index_file *n,
                             struct row_at *start)
{
    const struct index_file *o = k->file;
    uint32_t i = 0, max = k->next.chunk < n->chunk_count ? k->next.chunk : n->chunk_count;
    enum compared found;

    while (i < max && o->chunks[i].number == n->chunks[i].number &&
           o->chunks[i].version == n->chunks[i].version)
        i++;
    struct file_version old = {k->snapshot, o, {i, 0}, k->next},
                        new = {s->snapshot, n, {i, 0}, end_of(n)};
    int rc = 0;
    if (row_at_before(old.at, old.end) && row_at_before(new.at, new.end)) /* hardly ever */
        rc = versions_compare(query_index(s->query), &old, &new, false, query_budget(s->query),
                              &found);
    *start = new.at;
    if (rc == 0)
        add_complete(s, n);
    return rc;
}

/* Compares all chunks but the last, which may be replaced, and then the last. A later call resumes
 * at the last chunk. */
static int compare_from_start(struct step *s, struct known *k, const struct index_file *n,
                              enum compared *ret, struct row_at *ret_at)
{
    struct index *ix = query_index(s->query);
    struct budget *budget = query_budget(s->query);
    struct file_version old = {k->snapshot, k->file, {0, 0}, k->next},
                        new = {
                            s->snapshot, n, {0, 0}, {n->chunk_count ? n->chunk_count - 1 : 0, 0}};

    if (k->old_id == k->file->id && k->new_id == n->id && k->new_at.chunk <= new.end.chunk) {
        old.at = k->old_at;
        new.at = k->new_at;
    }
    int rc = versions_compare(ix, &old, &new, true, budget, ret);
    k->old_id = k->file->id;
    k->new_id = n->id;
    k->old_at = old.at;
    k->new_at = new.at;
    if (rc == 0 && *ret == COMPARED_NEW_ENDS) {
        new.end = end_of(n);
        rc = versions_compare(ix, &old, &new, true, budget, ret);
    }
    *ret_at = new.at;
    return rc;
}

/* For a file that was read from its start: its text is new, or the same as before. */
static int find_new_in_reread(struct step *s, const struct known *before,
                              const struct index_file *n, bool twin, struct row_at *start)
{
    struct known k = *before;
    enum compared found;
    int rc = compare_from_start(s, &k, n, &found, start);
    bool reading = n->state == INDEX_PENDING || n->state == INDEX_INDEXING;

    k.gone_ns = 0;
    if (rc < 0)
        return rc;
    if (found == COMPARED_DIFFER && twin)
        *start = (struct row_at){0, 0}; /* different files with a common start */
    if (found == COMPARED_NEW_ENDS && (reading || (twin && n->state != INDEX_READY)))
        return add_copy(s, &k, twin ? n->name : NULL);
    add_complete(s, n);
    return 0;
}

/* Sets *start to the first new object of a file, and adds its entry. */
static int find_new(struct step *s, const struct index_file *n, const struct known *old,
                    struct row_at *start)
{
    const struct known *twin = NULL;

    *start = end_of(n);
    if (n->state == INDEX_PENDING && s->follow->want)
        index_request_file(query_index(s->query), n->name);
    if (n->id == 0)
        return old ? keep_entry(s, old, n->state == INDEX_FAILED) : 0;
    if (old && !old->twin_name && !row_at_before((struct row_at){0, 0}, old->next))
        old = NULL;
    if (!old || old->twin_name)
        twin = find_twin(s, n->name);
    if (!old && !twin)
        twin = find_renamed(s->follow, n);
    if (twin && old && old->new_id == n->id && old->old_id == twin->file->id) {
        struct known both = *twin; /* the twin now, and how far it was compared before */
        both.old_id = old->old_id;
        both.new_id = old->new_id;
        both.old_at = old->old_at;
        both.new_at = old->new_at;
        return find_new_in_reread(s, &both, n, true, start);
    }
    if (twin || (old && old->twin_name))
        return find_new_in_reread(s, twin ? twin : old, n, true, start);
    if (old)
        return old->file->id == n->id ? find_new_in_grown(s, old, n, start)
                                      : find_new_in_reread(s, old, n, false, start);
    *start = (struct row_at){0, 0};
    add_complete(s, n);
    return 0;
}

/* ---- all files ------------------------------------------------------------------------------- */

/* Both lists are in the order of names. */
static int find_new_in_all(struct step *s)
{
    const struct known_list *old = &s->follow->known;
    const uint32_t *files;
    size_t count = query_files(s->query, &files), at = 0;
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct index_file *n = snapshot_file(s->snapshot, files[i]);
        int cmp = 1;
        while (rc == 0 && at < old->count && (cmp = strcmp(name_of(&old->at[at]), n->name)) < 0)
            rc = keep_entry(s, &old->at[at++], true);
        bool same = at < old->count && cmp == 0;
        rc = rc < 0 ? rc : find_new(s, n, same ? &old->at[at] : NULL, &s->start[i]);
        at += same;
    }
    while (rc == 0 && at < old->count)
        rc = keep_entry(s, &old->at[at++], true);
    return rc;
}

static bool keep_place(void *arg, struct scan_place *place)
{
    struct step *s = arg;
    const uint32_t *files;

    query_files(s->query, &files);
    while (files[s->file] != place->file)
        s->file++;
    struct row_at start = s->start[s->file];
    if (place->chunk < start.chunk)
        return false;
    place->first_row = place->chunk == start.chunk ? start.row : 0;
    return place->first_row < snapshot_file(s->snapshot, place->file)->chunks[place->chunk].rows;
}

static int follow_step(struct follow *f, struct query *q, struct snapshot *snapshot,
                       struct budget *budget)
{
    const uint32_t *files;
    size_t count = query_files(q, &files) + f->known.count;
    struct step s = {.follow = f,
                     .query = q,
                     .snapshot = snapshot,
                     .out.budget = budget,
                     .start = malloc((count + 1) * sizeof(*s.start)),
                     .now_ns = clock_mono_ns()};
    int rc = s.start ? vec_reserve(&s.out, count + 1) : -ENOMEM;

    rc = rc < 0 ? rc : find_new_in_all(&s);
    if (rc == 0) {
        scan_keep_places(q, keep_place, &s);
        known_done(&f->known);
        f->known = s.out;
        snapshot_release(f->latest);
        f->latest = snapshot_ref(snapshot);
    } else {
        known_done(&s.out);
    }
    free(s.start);
    return rc;
}

int follow_query(struct follow *f, const struct query_env *env, struct snapshot *snapshot,
                 const struct selection *selection, struct budget *budget, struct err *err,
                 struct query **ret)
{
    struct selection chosen = *selection;
    struct query *q = NULL;
    const struct scan_place *places;
    bool first = !f->latest;

    chosen.allow_missing = chosen.allow_missing || !first;
    int rc = query_open(env, snapshot, &chosen, budget, err, &q);
    if (rc < 0)
        return rc;
    rc = follow_step(f, q, snapshot, budget);
    bool any = rc == 0 && (first || scan_places(q, &places) > 0);
    *ret = any ? q : NULL;
    if (!any)
        query_close(q);
    return rc < 0 ? err_set_code(err, rc) : 0;
}

/* ---- lines that cannot be read --------------------------------------------------------------- */

static struct known *known_of_place(struct follow *f, const struct query *q, size_t position,
                                    struct scan_place *ret)
{
    const struct scan_place *places;

    scan_places(q, &places);
    *ret = places[position];
    return known_find(&f->known, snapshot_file(f->latest, ret->file)->name);
}

void follow_lose(struct follow *f, const struct query *q, size_t position)
{
    struct scan_place place;
    struct known *k = known_of_place(f, q, position, &place);
    struct row_at from = {place.chunk, place.first_row};

    pthread_mutex_lock(&f->lock);
    if (k && row_at_before(from, k->next))
        k->next = from;
    pthread_mutex_unlock(&f->lock);
}

bool follow_is_lost(struct follow *f, const struct query *q, size_t position)
{
    struct scan_place place;
    struct known *k = known_of_place(f, q, position, &place);

    pthread_mutex_lock(&f->lock);
    bool lost = k && k->next.chunk <= place.chunk;
    pthread_mutex_unlock(&f->lock);
    return lost;
}
