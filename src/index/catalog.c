/* catalog.c - files that were offered, what answers see of them, and the snapshots that pin it. */
#include "store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- views ---- */

struct body *body_new(void)
{
    struct body *b = calloc(1, sizeof *b);

    if (b)
        atomic_init(&b->refs, 1);
    return b;
}

uint8_t *body_filter(struct body *b, unsigned dimension, size_t len)
{
    uint8_t *bits = arena_alloc(&b->arena, len);

    if (!b->filters)
        b->filters = arena_alloc(&b->arena, b->terms->dimension_count * sizeof *b->filters);
    if (!bits || !b->filters)
        return NULL;
    b->filters[dimension] = (struct filter){bits, len};
    return bits;
}

void body_release(struct body *b)
{
    if (!b || atomic_fetch_sub(&b->refs, 1) > 1)
        return;
    terms_release(b->terms);
    arena_done(&b->arena);
    free(b);
}

struct view *view_of_body(struct body *b, enum index_state state)
{
    struct view *v = calloc(1, sizeof *v);

    if (!v) {
        body_release(b);
        return NULL;
    }
    atomic_init(&v->refs, 1);
    v->body = b;
    v->pub = b->pub;
    v->pub.state = state;
    return v;
}

/* Leaves what a run needs that takes its place. */
static void hide(struct view *v)
{
    v->hidden = true;
    v->pub = (struct index_file){.id = v->pub.id,
                                 .state = v->pub.state,
                                 .name = v->pub.name,
                                 .path = v->pub.path,
                                 .archive = v->pub.archive,
                                 .is_archive = v->pub.is_archive,
                                 .checkpoint_size = v->pub.checkpoint_size};
}

struct view *view_with_state(struct view *v, enum index_state state)
{
    struct view *copy;

    atomic_fetch_add(&v->body->refs, 1);
    copy = view_of_body(v->body, state);
    if (copy) {
        copy->state_before = v->state_before;
        copy->missing_since_ns = v->missing_since_ns;
        if (v->hidden)
            hide(copy);
    }
    return copy;
}

struct view *view_hidden(struct view *old)
{
    struct view *v = view_with_state(old, INDEX_PENDING);

    if (v)
        hide(v);
    return v;
}

struct view *view_empty(const struct entry *e, enum index_state state)
{
    struct body *b = body_new();

    if (!b)
        return NULL;
    b->pub.name = e->name;
    b->pub.path = e->path;
    b->pub.archive = e->archive ? e->archive->name : NULL;
    b->pub.is_archive = e->is_archive;
    return view_of_body(b, state);
}

struct view *view_ref(struct view *v)
{
    atomic_fetch_add(&v->refs, 1);
    return v;
}

void view_release(struct view *v)
{
    if (!v || atomic_fetch_sub(&v->refs, 1) > 1)
        return;
    body_release(v->body);
    free(v->linked);
    free(v);
}

/* ---- entries ---- */

static bool room_for_id(struct index *ix, uint64_t id)
{
    uint32_t before = ix->by_id_cap;

    while (id >= ix->by_id_cap) {
        if (!ARRAY_ROOM(ix->by_id, ix->by_id_cap, ix->by_id_cap))
            return false;
        memset(ix->by_id + before, 0, (ix->by_id_cap - before) * sizeof *ix->by_id);
        before = ix->by_id_cap;
    }
    return true;
}

static struct entry *find_entry(const struct index *ix, struct text name)
{
    int64_t id = intern_find(ix->entry_names, name);

    return id >= 0 && (uint64_t)id < ix->by_id_cap ? ix->by_id[id] : NULL;
}

/* X.gz learns of X, whichever was offered first. */
static void pair_up(struct index *ix, struct entry *e)
{
    struct text name = text_of(e->name);
    struct buf packed = {0};
    struct entry *found;

    if (name.len > 3 && memcmp(name.ptr + name.len - 3, ".gz", 3) == 0)
        e->plain = find_entry(ix, (struct text){name.ptr, name.len - 3});
    buf_printf(&packed, "%s.gz", e->name);
    found = packed.error ? NULL : find_entry(ix, (struct text){packed.data, packed.len});
    if (found)
        found->plain = e;
    buf_done(&packed);
}

static bool has_text_of(const struct view *a, const struct view *b)
{
    return a->pub.state == INDEX_READY && b->pub.state == INDEX_READY &&
           a->pub.text_bytes == b->pub.text_bytes &&
           a->body->text_sum.high == b->body->text_sum.high &&
           a->body->text_sum.low == b->body->text_sum.low;
}

/* Its members answer for it. */
static bool is_whole_archive(const struct entry *e)
{
    return e->is_archive && e->view->pub.state == INDEX_READY && !e->view->pub.damaged;
}

const struct entry *catalog_duplicate_of(const struct entry *e)
{
    if (e->link_of)
        return e->link_of;
    return e->plain && !e->plain->link_of && has_text_of(e->view, e->plain->view) ? e->plain : NULL;
}

bool catalog_is_hidden(const struct entry *e)
{
    return e->view->pub.state == INDEX_MISSING || (e->unsettled && e->view->pub.id == 0) ||
           catalog_duplicate_of(e) || is_whole_archive(e) ||
           (e->archive && catalog_duplicate_of(e->archive));
}

bool catalog_is_news(const struct entry *e, int64_t mono_ns)
{
    const struct index_file *f = &e->view->pub;
    const struct body *b = e->view->body;
    bool same =
        identity_same(&b->identity, &e->seen) &&
        (!e->archive || (b->member.offset == e->member.offset && b->member.size == e->member.size));

    /* One that is written to is walked from its start each time. */
    if (e->is_archive && f->state == INDEX_GROWING)
        return mono_ns >= e->check_ns;
    if (f->state == INDEX_FAILED || f->state == INDEX_GROWING)
        return !same || mono_ns >= e->check_ns;
    if (f->state == INDEX_READY)
        return !same;
    return true;
}

static struct entry *entry_new(struct index *ix, int64_t id, const char *name, const char *path)
{
    struct entry *e = calloc(1, sizeof *e);

    if (!e)
        return NULL;
    e->name = arena_strdup(&ix->strings, text_of(name));
    e->path = arena_strdup(&ix->strings, text_of(path));
    if (!room_for_id(ix, (uint64_t)id))
        goto fail;
    if (!e->name || !e->path || !ARRAY_ROOM(ix->entries, ix->entry_count, ix->entry_cap))
        goto fail;
    e->is_archive = index_is_archive(text_of(name));
    e->view = view_empty(e, INDEX_PENDING);
    if (!e->view)
        goto fail;
    ix->entries[ix->entry_count++] = e;
    ix->archive_count += e->is_archive;
    ix->by_id[id] = e;
    pair_up(ix, e);
    ix->sorted = false;
    return e;
fail:
    free(e);
    return NULL;
}

struct entry *catalog_entry(struct index *ix, const char *name, const char *path, bool make)
{
    int64_t id = make ? intern_add(ix->entry_names, text_of(name))
                      : intern_find(ix->entry_names, text_of(name));

    if (id < 0)
        return NULL;
    if ((uint64_t)id < ix->by_id_cap && ix->by_id[id])
        return ix->by_id[id];
    return make ? entry_new(ix, id, name, path) : NULL;
}

void catalog_queue(struct index *ix, struct entry *e, bool front)
{
    if (e->queued)
        return;
    e->queued = true;
    e->next_queued = front ? ix->queue_head : NULL;
    if (!ix->queue_head)
        ix->queue_tail = e;
    else if (!front)
        ix->queue_tail->next_queued = e;
    if (front || !ix->queue_head)
        ix->queue_head = e;
    if (!front)
        ix->queue_tail = e;
    pthread_cond_signal(&ix->files_cond);
}

bool catalog_is_unasked(const struct index *ix, const struct entry *e)
{
    return ix->options.on_demand && !e->asked && e->view->pub.state == INDEX_PENDING;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp((*(struct entry *const *)a)->name, (*(struct entry *const *)b)->name);
}

void catalog_changed(struct index *ix)
{
    ix->generation++; /* the kept snapshot is of the past now: renew_snapshot sees it */
}

void catalog_publish(struct index *ix, struct entry *e, struct view *v)
{
    ix->forks_dirty = ix->forks_dirty || e->view->pub.process_count || v->pub.process_count;
    view_release(e->view);
    e->view = v;
    ix->gone = ix->gone || (v->pub.state == INDEX_MISSING && v->pub.id == 0);
    catalog_changed(ix);
}

void catalog_publish_run(struct index *ix, struct entry *e, struct view *v)
{
    bool missing = e->view->pub.state == INDEX_MISSING;
    struct view *hidden = missing ? view_with_state(v, INDEX_MISSING) : NULL;

    if (e->replaced && !missing)
        hidden = view_hidden(v);
    if (hidden) {
        hidden->state_before = (uint8_t)v->pub.state;
        hidden->missing_since_ns = e->view->missing_since_ns;
        view_release(v);
    }
    if (hidden && !e->record_dirty) {
        e->record_dirty = true;
        ix->records_dirty++;
    }
    catalog_publish(ix, e, hidden ? hidden : v);
}

void catalog_show_size(struct index *ix, struct entry *e)
{
    struct view *v = view_with_state(e->view, INDEX_PENDING);

    if (!v)
        return;
    v->pub.file_bytes = e->seen.size;
    v->pub.compressed_bytes = e->archive ? e->member.size : e->seen.size;
    v->pub.path = e->path;
    v->pub.archive = e->archive ? e->archive->name : NULL;
    catalog_publish(ix, e, v);
}

int catalog_forget(struct index *ix, struct entry *e)
{
    struct view *v = view_with_state(e->view, INDEX_MISSING);

    if (!v)
        return -ENOMEM;
    v->state_before = (uint8_t)e->view->pub.state;
    v->missing_since_ns = clock_real_ns();
    catalog_publish(ix, e, v);
    if (!e->record_dirty) {
        e->record_dirty = true;
        ix->records_dirty++;
    }
    e->offered = false;
    ix->links_dirty = ix->links_dirty || ix->link_count > 0;
    ix->forgotten = true;
    return 0;
}

void catalog_revive(struct index *ix, struct entry *e, const struct identity *now)
{
    enum index_state before = e->view->state_before;
    bool known = e->view->pub.id != 0,
         same = !e->view->hidden && identity_same(&e->view->body->identity, now);
    struct view *v = known && !same ? view_hidden(e->view)
                                    : view_with_state(e->view, known ? before : INDEX_PENDING);

    if (!v)
        return;
    e->replaced = known && !same;
    e->rebuild = e->rebuild || e->replaced;
    catalog_publish(ix, e, v);
    if (!e->record_dirty) {
        e->record_dirty = true;
        ix->records_dirty++;
    }
}

void catalog_notify(struct index *ix)
{
    void (*call)(void *);
    void *arg;

    pthread_mutex_lock(&ix->lock);
    call = ix->on_change;
    arg = ix->on_change_arg;
    pthread_mutex_unlock(&ix->lock);
    if (call)
        call(arg);
}

void catalog_done(struct index *ix)
{
    for (uint32_t i = 0; i < ix->entry_count; i++) {
        view_release(ix->entries[i]->view);
        terms_release(ix->entries[i]->terms);
        free(ix->entries[i]);
    }
    forks_done(ix);
    free(ix->roots);
    free(ix->entries);
    free(ix->by_id);
    intern_free(ix->entry_names);
    arena_done(&ix->strings);
}

/* ---- snapshots ---- */

static void unlink_snapshot(struct index *ix, struct snapshot *s)
{
    if (s->older)
        s->older->newer = s->newer;
    else
        ix->oldest = s->newer;
    if (s->newer)
        s->newer->older = s->older;
    else
        ix->newest = s->older;
}

static void destroy_snapshot(struct snapshot *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        view_release(s->views[i]);
    for (uint32_t i = 0; i < s->archive_count; i++)
        view_release(s->archives[i]);
    free(s->archives);
    resolver_free(s->resolver);
    root_release(s->root);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->resolver_lock);
    free(s->views);
    free(s->part_uuid);
    free(s);
}

static struct snapshot *make_snapshot(struct index *ix);

/* Under the lock: the kept snapshot is one of the present, or, without memory for that, the one of the past goes on. The
 * caller destroys what is returned, without the lock. */
static struct snapshot *renew_snapshot(struct index *ix)
{
    struct snapshot *old = ix->current, *made;

    if (old && old->generation == ix->generation && old->listed == ix->listed)
        return NULL;
    made = make_snapshot(ix);
    if (!made)
        return NULL;
    ix->current = made;
    if (!old || atomic_fetch_sub(&old->refs, 1) > 1)
        return NULL;
    unlink_snapshot(ix, old);
    return old;
}

uint64_t catalog_oldest(struct index *ix)
{
    struct snapshot *stale;
    uint64_t oldest;

    stale = renew_snapshot(ix);
    oldest = ix->oldest ? ix->oldest->generation : UINT64_MAX;
    if (stale)
        destroy_snapshot(stale);
    return oldest;
}

static void sort_entries(struct index *ix)
{
    if (!ix->sorted && ix->entry_count)
        qsort(ix->entries, ix->entry_count, sizeof *ix->entries, compare_entries);
    ix->sorted = true;
}

int index_hidden(struct index *ix, struct index_hidden **ret, size_t *ret_count)
{
    struct index_hidden *list;
    size_t n = 0;

    pthread_mutex_lock(&ix->lock);
    sort_entries(ix);
    list = malloc((ix->entry_count + 1) * sizeof *list);
    for (uint32_t i = 0; list && i < ix->entry_count; i++) {
        const struct entry *e = ix->entries[i];
        const struct entry *other = catalog_duplicate_of(e);

        if (e->view->pub.state == INDEX_MISSING ? e->view->pub.id != 0 && !other : other != NULL)
            list[n++] = (struct index_hidden){e->name, other ? other->name : NULL};
    }
    pthread_mutex_unlock(&ix->lock);
    *ret = list;
    *ret_count = n;
    return list ? 0 : -ENOMEM;
}

static bool is_known_archive(const struct entry *e)
{
    return e->view->pub.state != INDEX_MISSING && !e->unsettled && !catalog_duplicate_of(e);
}

static struct snapshot *make_snapshot(struct index *ix)
{
    struct snapshot *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->views = malloc((ix->entry_count + 1) * sizeof *s->views);
    s->archives = malloc((ix->archive_count + 1) * sizeof *s->archives);
    if (!s->views || !s->archives) {
        free(s->views);
        free(s->archives);
        free(s);
        return NULL;
    }
    sort_entries(ix);
    forks_link(ix);
    for (uint32_t i = 0; i < ix->entry_count; i++) {
        const struct entry *e = ix->entries[i];

        if (!catalog_is_hidden(e))
            s->views[s->count++] = view_ref(e->view);
        if (e->is_archive && is_known_archive(e))
            s->archives[s->archive_count++] = view_ref(e->view);
    }
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->resolver_lock, NULL);
    atomic_init(&s->refs, 1);
    s->ix = ix;
    s->generation = ix->generation;
    s->listed = ix->listed;
    s->older = ix->newest;
    if (ix->newest)
        ix->newest->newer = s;
    else
        ix->oldest = s;
    ix->newest = s;
    return s;
}

struct snapshot *index_snapshot(struct index *ix)
{
    struct snapshot *s, *stale;

    pthread_mutex_lock(&ix->lock);
    stale = renew_snapshot(ix);
    s = ix->current; /* the first was made by index_open */
    if (s)
        atomic_fetch_add(&s->refs, 1);
    pthread_mutex_unlock(&ix->lock);
    if (stale)
        destroy_snapshot(stale);
    return s;
}

/* Which files a part has, as a text that no other part has. */
static char *name_part(const struct snapshot *s)
{
    struct buf ids = {0}, name = {0};

    for (uint32_t i = 0; i < s->count; i++) {
        const struct index_file *f = &s->views[i]->pub;
        buf_append(&ids, &f->id, sizeof f->id);
        if (!f->id) /* not read yet */
            buf_append(&ids, f->name, strlen(f->name) + 1);
    }
    for (uint32_t i = 0; i < s->archive_count; i++) {
        const struct index_file *f = &s->archives[i]->pub;
        buf_append(&ids, f->name, strlen(f->name) + 1);
    }
    struct hash128 h = text_hash128((struct text){ids.data, ids.len});
    buf_printf(&name, "%s-%016llx%016llx", s->ix->uuid, (unsigned long long)h.high,
               (unsigned long long)h.low);
    buf_putc(&name, '\0');
    int error = ids.error ? ids.error : name.error;
    buf_done(&ids);
    if (error)
        buf_done(&name);
    return error ? NULL : name.data;
}

/* Beside the one that it is a part of, so that the oldest comes first. */
static void link_part(struct snapshot *part, struct snapshot *s)
{
    struct index *ix = s->ix;

    pthread_mutex_lock(&ix->lock);
    part->older = s;
    part->newer = s->newer;
    if (s->newer)
        s->newer->older = part;
    else
        ix->newest = part;
    s->newer = part;
    pthread_mutex_unlock(&ix->lock);
}

struct snapshot *snapshot_filter(struct snapshot *s,
                                 bool (*keep)(void *arg, const struct index_file *f), void *arg)
{
    struct snapshot *part = calloc(1, sizeof *part);

    if (!part)
        return NULL;
    part->views = malloc((s->count + 1) * sizeof *part->views);
    part->archives = malloc((s->archive_count + 1) * sizeof *part->archives);
    bool room = part->views && part->archives;
    for (uint32_t i = 0; room && i < s->count; i++)
        if (keep(arg, &s->views[i]->pub))
            part->views[part->count++] = view_ref(s->views[i]);
    for (uint32_t i = 0; room && i < s->archive_count; i++)
        if (keep(arg, &s->archives[i]->pub))
            part->archives[part->archive_count++] = view_ref(s->archives[i]);
    part->ix = s->ix;
    part->generation = s->generation;
    part->listed = s->listed;
    part->part_uuid = room ? name_part(part) : NULL;
    pthread_mutex_init(&part->lock, NULL);
    pthread_mutex_init(&part->resolver_lock, NULL);
    atomic_init(&part->refs, 1);
    if (!part->part_uuid || (part->count == s->count && part->archive_count == s->archive_count)) {
        bool all = part->part_uuid != NULL;
        destroy_snapshot(part);
        return all ? snapshot_ref(s) : NULL;
    }
    link_part(part, s);
    return part;
}

struct snapshot *snapshot_ref(struct snapshot *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void snapshot_release(struct snapshot *s)
{
    struct index *ix;
    bool last;

    if (!s)
        return;
    ix = s->ix;
    pthread_mutex_lock(&ix->lock);
    last = atomic_fetch_sub(&s->refs, 1) == 1;
    if (last)
        unlink_snapshot(ix, s);
    pthread_mutex_unlock(&ix->lock);
    if (last)
        destroy_snapshot(s);
}

uint64_t snapshot_generation(const struct snapshot *s)
{
    return s->generation;
}

bool snapshot_is_listed(const struct snapshot *s)
{
    return s->listed;
}

const char *snapshot_uuid(const struct snapshot *s)
{
    return s->part_uuid ? s->part_uuid : s->ix->uuid;
}

uint32_t snapshot_file_count(const struct snapshot *s)
{
    return s->count;
}

const struct index_file *snapshot_file(const struct snapshot *s, uint32_t i)
{
    return &s->views[i]->pub;
}

uint32_t snapshot_archive_count(const struct snapshot *s)
{
    return s->archive_count;
}

const struct index_file *snapshot_archive(const struct snapshot *s, uint32_t i)
{
    return &s->archives[i]->pub;
}

const struct index_file *snapshot_find_archive(const struct snapshot *s, const char *name)
{
    uint32_t from = 0, to = s->archive_count;

    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        int cmp = strcmp(s->archives[middle]->pub.name, name);
        if (cmp == 0)
            return &s->archives[middle]->pub;
        if (cmp < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

const char *index_state_name(enum index_state s)
{
    static const char *const names[] = {"pending", "indexing", "ready",
                                        "growing", "failed",   "missing"};

    return (unsigned)s < sizeof names / sizeof *names ? names[s] : "unknown";
}
