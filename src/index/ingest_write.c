/* ingest_write.c - the writer: applies results in the order of each file's text, commits, publishes, and cleans up. */
#include "archive_members.h"
#include "ingest_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define COMMIT_BYTES (16u << 20)
#define COMMIT_LEAST (64u << 10)
#define COMMIT_SHARE 64       /* of the store */
#define RUN_BYTES (24u << 10) /* about what a small file holds until it is committed */
#define TICK_NS 1000000000LL
#define RETRY_NS 2000000000LL /* after a failed commit */
#define WALK_REST 10          /* times as long as it took */

void run_free(struct run *r)
{
    if (!r)
        return;
    view_release(r->old);
    view_release(r->archive);
    archive_list_done(&r->members);
    terms_release(r->terms);
    part_free(r->base);
    part_free(r->tail);
    free(r->chunks);
    body_release(r->named);
    free(r->damage);
    for (int i = 0; i < DIMENSIONS_MAX; i++)
        hashes_free(r->hashes[i]);
    free(r);
}

/* ---- results ---- */

/* With its first commit. */
static bool replaces_file(const struct run *r)
{
    return r->fresh && !r->stored && r->old_id;
}

static void mark_dirty(struct writer *w, struct run *r)
{
    if (kv_batch_empty(w->batch) && !w->dirty)
        w->first_ns = clock_mono_ns();
    if (r->dirty)
        return;
    w->replacing = w->replacing || replaces_file(r);
    r->dirty = true;
    r->next_dirty = w->dirty;
    w->dirty = r;
    w->dirty_count++;
}

static void put_checkpoints(struct writer *w, const struct run *run, const struct result *r)
{
    struct buf value = {0};

    for (uint32_t i = 0; i < r->checkpoint_count; i++) {
        const struct trace_checkpoint *c = &r->checkpoints[i];
        struct kv_key key = kv_key_of_u32(run->id);

        kv_key_u64(&key, c->text_offset);
        buf_clear(&value);
        checkpoint_encode(c, &value);
        kv_put_buf(w->batch, KV_CHECKPOINT, &key, &value);
    }
    buf_done(&value);
}

static void put_span(struct writer *w, const struct run *run, const struct index_chunk *c)
{
    struct kv_key key = kv_key_of_u32(run->id);
    struct buf value = {0};

    kv_key_u32(&key, c->number);
    rec_put_u(&value, c->version);
    rec_put_u(&value, c->rows);
    rec_put_u(&value, c->text_len);
    rec_put_u(&value, c->text_offset);
    kv_put_buf(w->batch, KV_SPAN, &key, &value);
    buf_done(&value);
}

static int put_names(struct writer *w, const struct run *run, struct part *p, uint32_t chunk)
{
    struct kv_key key = kv_key_of_chunk(run->id, chunk, run->version);
    struct line_range lines = {
        .file = run->id, .chunk = chunk, .version = run->version, .count = p->name_count};
    struct buf value = {0};
    uint32_t first;
    int rc;

    if (p->name_count == 0)
        return 0;
    rc = names_encode(w->ix, p, &value);
    rc = rc ? rc : lines_register(w->ix, &lines, &first);
    if (rc == 0) {
        kv_put_buf(w->batch, KV_NAME, &key, &value);
        for (uint32_t i = 0; i < p->name_count; i++)
            p->names[i].line = first == INDEX_NO_TEXT ? INDEX_NO_TEXT : first + i;
        buf_done(&p->lines);
    }
    buf_done(&value);
    return rc;
}

int run_add_damage(struct run *run, const struct trace_damage *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (run->damage_count < DAMAGE_KEPT) {
            if (!ARRAY_ROOM(run->damage, run->damage_count, run->damage_cap))
                return -ENOMEM;
            run->damage[run->damage_count] = list[i];
        } else if (list[i].kind == TRACE_DAMAGE_READ) {
            run->damage[DAMAGE_KEPT - 1] = list[i]; /* nothing comes after it */
        }
        run->damage_count++;
    }
    return 0;
}

static int add_hashes(struct run *run, const struct result *r)
{
    for (unsigned i = 0; i < run->terms->dimension_count; i++) {
        if (!run->hashes[i] && !(run->hashes[i] = hashes_new(run->terms, i)))
            return -ENOMEM;
        for (uint32_t k = 0; k < r->hash_count[i]; k++)
            hashes_add(run->hashes[i], r->hashes[i][k]);
        if (r->other)
            hashes_give_up(run->hashes[i]);
    }
    return 0;
}

/* The unit is in the trace itself, and need not be on its first line: begin again with the right one. */
static bool other_unit(struct writer *w, struct run *run, const struct result *r)
{
    uint8_t seen = r->part->unit_seen;

    if (!seen || run->unit_fixed)
        return false;
    run->unit_fixed = true;
    if (seen - 1 == (int)run->unit)
        return false;
    pthread_mutex_lock(&w->ix->lock);
    run->entry->unit = (enum trace_unit)(seen - 1);
    run->entry->unit_fixed = true;
    run->entry->rebuild = true;
    run->entry->again = true;
    if (!run->entry->terms)
        run->entry->terms = terms_ref(run->terms);
    pthread_mutex_unlock(&w->ix->lock);
    atomic_store(&run->cancelled, true);
    return true;
}

static int take_tail(struct run *run, struct result *r)
{
    struct index_chunk chunk = {.number = (uint32_t)r->chunk.number,
                                .version = run->version,
                                .rows = r->rows,
                                .text_len = (uint32_t)r->text_len,
                                .text_offset = r->chunk.text_offset};

    if (run->has_tail) {
        if (!run->base && !(run->base = part_new()))
            return -ENOMEM;
        part_merge(run->base, run->tail);
        part_free(run->tail);
        run->tail = NULL;
    }
    if (!ARRAY_ROOM(run->chunks, run->chunk_count, run->chunk_cap))
        return -ENOMEM;
    run->chunks[run->chunk_count++] = chunk;
    run->tail = r->part;
    r->part = NULL;
    run->has_tail = true;
    return 0;
}

/* A part of an archive. */
static int apply_walked(struct writer *w, struct result *r)
{
    struct run *run = r->run;
    int rc = archive_list_append(&run->members, &r->members);

    mark_dirty(w, run);
    run->info = r->info;
    rc = rc ? rc : run_add_damage(run, r->damage, r->damage_count);
    if (rc == 0)
        put_checkpoints(w, run, r);
    return rc;
}

static int apply_chunk(struct writer *w, struct result *r)
{
    struct run *run = r->run;
    struct kv_key key = kv_key_of_chunk(run->id, (uint32_t)r->chunk.number, run->version);
    int rc;

    if (r->error)
        return r->error;
    if (r->walked)
        return apply_walked(w, r);
    if (other_unit(w, run, r))
        return 0;
    mark_dirty(w, run);
    run->info = r->info;
    run->index_bytes += r->value.len;
    rc = put_names(w, run, r->part, (uint32_t)r->chunk.number);
    rc = rc ? rc : run_add_damage(run, r->damage, r->damage_count);
    rc = rc ? rc : add_hashes(run, r);
    rc = rc ? rc : take_tail(run, r);
    if (rc)
        return rc;
    run->tail_final =
        r->chunk.ended && r->damage_count == 0 &&
        r->chunk.text_offset + r->text_len >= (r->chunk.number + 1) * run->terms->checkpoint_size;
    put_checkpoints(w, run, r);
    put_span(w, run, &run->chunks[run->chunk_count - 1]);
    kv_put_take(w->batch, KV_CHUNK, &key, r->value.data, r->value.len);
    r->value = (struct buf){0};
    return 0;
}

/* A run that went on behind stored chunks knows all values now. */
static void add_hashes_before(struct run *run, const struct result *r)
{
    if (!run->hashes_lost || !r->before[0])
        return;
    run->hashes_lost = false;
    for (unsigned i = 0; i < run->terms->dimension_count; i++) {
        if (!run->hashes[i] && !(run->hashes[i] = hashes_new(run->terms, i)))
            run->hashes_lost = true;
        else
            hashes_merge(run->hashes[i], r->before[i]);
    }
}

static void apply_end(struct writer *w, struct result *r)
{
    struct run *run = r->run;

    add_hashes_before(run, r);

    if (!run->error && r->error != -EPIPE)
        run->error = r->error;
    run->ended = r->error != -EPIPE;
    if (run->ended && run->action == RUN_READ && !run->error) {
        run->info = r->info;
        run->error = run_add_damage(run, r->damage, r->damage_count);
        put_checkpoints(w, run, r);
    }
    if (atomic_load(&run->cancelled))
        run->ended = true;
    mark_dirty(w, run);
}

static void apply(struct writer *w, struct result *r)
{
    struct run *run = r->run;

    if (r->end) {
        apply_end(w, r);
        pthread_mutex_lock(&w->in->lock);
        w->in->active--;
        pthread_mutex_unlock(&w->in->lock);
        run->finished = run->finished && run->ended;
    } else if (!atomic_load(&run->cancelled)) {
        int rc = apply_chunk(w, r);

        if (rc) {
            run->error = rc;
            atomic_store(&run->cancelled, true);
        }
    }
    run->next_seq++;
    if (r->end)
        run->waiting = (struct result *)-1; /* nothing comes after it: store_run frees the run */
    ingest_give_credits(w->in, r->credits);
    result_free(r);
}

/* In order: what comes too early waits. */
static void receive(struct writer *w, struct result *r)
{
    struct run *run = r->run;
    struct result **at = &run->waiting;

    if (r->seq != run->next_seq) {
        while (*at && (*at)->seq < r->seq)
            at = &(*at)->next;
        r->next = *at;
        *at = r;
        return;
    }
    for (;;) {
        struct result *next = run->waiting;
        bool end = r->end;

        apply(w, r);
        if (end || !next || next->seq != run->next_seq)
            return;
        run->waiting = next->next;
        r = next;
    }
}

/* ---- commit ---- */

static void finish_entry(struct writer *w, struct run *run)
{
    struct index *ix = w->ix;
    struct entry *e = run->entry;

    e->run = NULL;
    if (run->abandoned)
        full_queue(run);
    e->check_ns = clock_mono_ns() + again_delay_ns(e, run);
    /* An archive that is written to is walked from its start each time. */
    if (e->is_archive && e->view->pub.state == INDEX_GROWING) {
        e->again = false;
        e->check_ns += WALK_REST * (clock_mono_ns() - run->begin_ns);
    }
    if (e->again && !ingest_stopping(w->in)) {
        e->again = false;
        catalog_queue(ix, e, true);
    }
}

static uint32_t store_dirty(struct writer *w, struct pending **ret)
{
    uint32_t count = 0, i = 0;
    struct run *r, *next;

    for (r = w->dirty; r; r = r->next_dirty)
        count++;
    *ret = calloc(count + 1, sizeof **ret);
    if (!*ret)
        return 0;
    /* The list is last in, first out; in order of their ids the records fill pages better. */
    for (r = w->dirty, w->dirty = NULL; r; r = next) {
        next = r->next_dirty;
        r->next_dirty = w->dirty;
        w->dirty = r;
    }
    for (r = w->dirty; r; r = next, i++) {
        next = r->next_dirty;
        r->dirty = false;
        (*ret)[i].run = r;
        (*ret)[i].over = run_over(r);
        (*ret)[i].view = store_run(w, r);
    }
    w->dirty = NULL;
    w->dirty_count = 0;
    w->replacing = false;
    return count;
}

void put_generation(struct writer *w, uint32_t changes, bool clean)
{
    struct kv_key key = {0}, mark = {0};
    uint64_t generation;
    struct buf value = {0};

    pthread_mutex_lock(&w->ix->lock);
    generation = w->ix->generation + changes;
    if (!clean && generation + GENERATIONS_AHEAD / 4 > w->ix->generation_stored)
        w->ix->generation_stored = generation + GENERATIONS_AHEAD;
    if (clean)
        w->ix->generation_stored = generation;
    generation = w->ix->generation_stored;
    pthread_mutex_unlock(&w->ix->lock);
    kv_key_bytes(&key, "generation", 10);
    kv_key_bytes(&mark, "next_file", 9);
    rec_put_u(&value, generation);
    kv_put_buf(w->batch, KV_META, &key, &value);
    buf_clear(&value);
    pthread_mutex_lock(&w->ix->lock);
    rec_put_u(&value, w->ix->next_file);
    pthread_mutex_unlock(&w->ix->lock);
    kv_put_buf(w->batch, KV_META, &mark, &value);
    buf_done(&value);
}

/* What an archive has, now that it has been walked, or nothing any more. */
static void offer_members(struct index *ix, struct entry *archive)
{
    enum index_state state = archive->view->pub.state;

    if (state == INDEX_FAILED || state == INDEX_MISSING || catalog_duplicate_of(archive))
        archive_forget_members(ix, archive);
    else
        archive_offer_members(ix, archive);
}

void publish(struct writer *w, struct pending *list, uint32_t count, bool stored)
{
    struct index *ix = w->ix;
    uint64_t generation;

    pthread_mutex_lock(&ix->lock);
    for (uint32_t i = 0; i < count; i++) {
        list[i].run->committed = list[i].run->committed || list[i].run->stored;
        if (list[i].view)
            catalog_publish_run(ix, list[i].run->entry, list[i].view);
        if (list[i].over)
            finish_entry(w, list[i].run);
        if (list[i].over && list[i].run->entry->is_archive)
            offer_members(ix, list[i].run->entry);
    }
    generation = ix->generation;
    pthread_mutex_unlock(&ix->lock);
    for (uint32_t i = 0; i < w->garbage_count && stored; i++) {
        if (w->garbage[i].generation == UINT64_MAX)
            w->garbage[i].generation = generation;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].over)
            run_free(list[i].run);
    }
}

void set_store_error(struct index *ix, int error)
{
    pthread_mutex_lock(&ix->lock);
    if (ix->store_error != error) {
        ix->store_error = error;
        catalog_changed(ix);
    }
    pthread_mutex_unlock(&ix->lock);
    catalog_notify(ix);
}

/* Tried until it succeeds or the daemon stops: with a full disk, ingest waits and goes on when there is room. A store that
 * may not grow is another matter: ERR_STORE_FULL is told at once. */
static int commit_batch(struct writer *w)
{
    int (*commit)(struct kv *, struct kv_batch *) = w->ix->full ? kv_commit_freeing : kv_commit;
    int rc = commit(w->ix->kv, w->batch);
    struct timespec pause = {0, 100000000};

    if (rc == 0 || rc == ERR_STORE_FULL || kv_batch_error(w->batch))
        return rc;
    set_store_error(w->ix, rc);
    while (rc && !ingest_stopping(w->in)) {
        for (int64_t waited = 0; waited < RETRY_NS && !ingest_stopping(w->in);
             waited += pause.tv_nsec)
            nanosleep(&pause, NULL);
        rc = commit(w->ix->kv, w->batch);
    }
    if (rc == 0)
        set_store_error(w->ix, 0);
    return rc;
}

static void drop_pending(struct pending *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        view_release(list[i].view);
        if (list[i].over)
            run_free(list[i].run);
    }
}

/* Each is a generation. */
static uint32_t views_of(const struct pending *list, uint32_t count)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < count; i++)
        n += list[i].view != NULL;
    return n;
}

static void commit(struct writer *w, bool clean)
{
    struct pending *list = NULL;
    uint32_t count;
    int rc;

    collect_garbage(w);
    store_states(w);
    count = store_dirty(w, &list);
    if (!list) {
        ingest_rest(w->in);
        return;
    }
    if (!kv_batch_empty(w->batch) || clean) {
        put_generation(w, views_of(list, count), clean);
        texts_flush(w->ix->texts, w->batch);
    }
    rc = commit_batch(w);
    if (rc == 0) {
        texts_stored(w->ix->texts);
        w->freed = w->files_deleted > 0;
    }
    if (rc == 0)
        publish(w, list, count, true);
    else if (rc == ERR_STORE_FULL)
        full_give_up(w, list, count);
    else if (kv_batch_error(w->batch))
        lost_give_up(w, list, count);
    else
        drop_pending(list, count);
    free(list);
    if (rc == 0)
        full_committed(w, count > 0);
    catalog_notify(w->ix);
}

/* ---- time ---- */

static bool has_work(const struct writer *w)
{
    return w->dirty || !kv_batch_empty(w->batch) || w->ix->records_dirty > 0;
}

static bool is_held(const struct index *ix, const char *name)
{
    for (uint32_t i = 0; i < ix->root_count; i++) {
        size_t n = strlen(ix->roots[i].label);

        if (ix->roots[i].held &&
            (n == 0 || (strncmp(name, ix->roots[i].label, n) == 0 && name[n] == '/')))
            return true;
    }
    return false;
}

static bool may_purge(const struct index *ix, const struct entry *e, int64_t now)
{
    if (e->view->pub.id == 0 || e->run)
        return false;
    if (e->link_of)
        return true; /* read before its other name was known */
    if (e->view->pub.state != INDEX_MISSING)
        return false;
    return (ix->full || now - e->view->missing_since_ns >= ix->purge_ns) && !is_held(ix, e->name);
}

/* Files that have been missing for long, or whose room is needed, are forgotten. */
static void purge_missing(struct writer *w)
{
    struct index *ix = w->ix;
    int64_t now = clock_real_ns();

    pthread_mutex_lock(&ix->lock);
    for (uint32_t i = 0; i < ix->entry_count && ix->listed; i++) {
        struct entry *e = ix->entries[i];
        struct kv_key path = path_key(e->name);
        struct view *v;

        if (!may_purge(ix, e, now))
            continue;
        v = view_empty(e, e->link_of ? INDEX_PENDING : INDEX_MISSING);
        if (!v)
            break;
        if (!has_work(w))
            w->first_ns = clock_mono_ns();
        drop_id(w, e->view->pub.id);
        kv_delete(w->batch, KV_PATH, &path);
        view_release(e->view); /* nobody saw it: no change */
        e->view = v;
        ix->gone = true;
    }
    catalog_drop_gone(ix);
    pthread_mutex_unlock(&ix->lock);
}

/* So that the first to ask need not wait for the summaries of ten thousand files. */
static void prepare_root(struct writer *w)
{
    const struct summary *root;
    struct snapshot *s = index_snapshot(w->ix);

    if (s && snapshot_generation(s) != w->root_generation) {
        w->root_generation = snapshot_generation(s);
        index_root_summary(w->ix, s, &root);
    }
    snapshot_release(s);
}

/* Readers decide what is to be done. */
static void look_again(struct writer *w)
{
    struct index *ix = w->ix;
    int64_t now = clock_mono_ns();

    if (now - w->tick_ns < TICK_NS)
        return;
    w->tick_ns = now;
    pthread_mutex_lock(&ix->lock);
    if (ix->listed)
        links_settle(ix);
    pthread_mutex_unlock(&ix->lock);
    purge_missing(w);
    if (!has_work(w)) {
        w->first_ns = now;
        collect_garbage(w); /* of the last commit, once nobody reads it any more */
    }
    full_tick(w);
    pthread_mutex_lock(&ix->lock);
    for (uint32_t i = 0; i < ix->entry_count && !ingest_stopping(w->in); i++) {
        struct entry *e = ix->entries[i];
        enum index_state state = e->view->pub.state;

        if (e->offered && !e->run && !e->queued && now >= e->check_ns &&
            (state == INDEX_GROWING || state == INDEX_FAILED || again_is_wanted(e)))
            catalog_queue(ix, e, false);
    }
    pthread_mutex_unlock(&ix->lock);
}

static int64_t commit_ns(const struct writer *w)
{
    return w->ix->options.commit_ms * 1000000LL;
}

/* Something large is, or becomes with this commit, garbage: a file, not the summary that each commit of a run replaces. */
static bool deletes_file(const struct writer *w)
{
    bool found = w->replacing || w->freed;

    for (uint32_t i = 0; i < w->garbage_count && !found; i++)
        found = w->garbage[i].kind == GARBAGE_FILE;
    return found;
}

/* A batch that is small beside the limit: one that does not fit is given up whole. And pages of what a commit replaces can be
 * used in the third after it: where something is indexed anew, small commits keep the store small. */
static uint64_t commit_bytes(const struct writer *w)
{
    uint64_t share = w->ix->options.map_max / 16, most = COMMIT_BYTES;

    if (deletes_file(w))
        most = index_bytes(w->ix) / COMMIT_SHARE;
    if (most < COMMIT_LEAST)
        most = COMMIT_LEAST;
    if (most > COMMIT_BYTES)
        most = COMMIT_BYTES;
    return share && share < most ? share : most;
}

/* What is scanned last is waited for by nobody but this thread: the less is left for then, the sooner all is stored. */
static bool commit_is_due(struct writer *w, bool idle)
{
    uint64_t due = commit_bytes(w);

    if (!w->reading &&
        !deletes_file(w)) /* where files are replaced, commits are small ones already */
        due /= 2;
    if (kv_batch_bytes(w->batch) + (size_t)w->dirty_count * RUN_BYTES >= due)
        return true;
    return has_work(w) && (idle || clock_mono_ns() - w->first_ns >= commit_ns(w));
}

/* All mail there is, waiting for some until the next thing is due. *ret_idle: nothing is on its way. */
static struct result *next_mail(struct writer *w, bool *ret_idle, bool *ret_over)
{
    struct ingest *in = w->in;
    struct result *mail;
    int64_t until = has_work(w) ? w->first_ns + commit_ns(w) : clock_mono_ns() + TICK_NS / 2;

    pthread_mutex_lock(&in->lock);
    while (!in->mail && !in->workers_gone && !(in->active == 0 && has_work(w))) {
        if (clock_cond_wait(&in->mail_cond, &in->lock, until) == ETIMEDOUT)
            break;
    }
    mail = in->mail;
    in->mail = NULL;
    in->mail_end = &in->mail;
    *ret_idle = in->active == 0 && !mail;
    w->reading = in->reading > 0;
    *ret_over = in->workers_gone && !mail;
    pthread_mutex_unlock(&in->lock);
    return mail;
}

void *ingest_writer_main(void *arg)
{
    struct ingest *in = arg;
    struct writer w = {.in = in, .ix = in->ix};
    bool idle, over = false;

    pthread_setname_np(pthread_self(), "dft-write");
    while (!(w.batch = kv_batch_new()) && !ingest_stopping(in))
        ingest_rest(in);
    while (w.batch && !over) {
        struct result *r = next_mail(&w, &idle, &over), *next;

        for (; r; r = next) {
            next = r->next;
            receive(&w, r);
            if (commit_is_due(&w, false))
                commit(&w, false);
        }
        if (over || commit_is_due(&w, idle))
            commit(&w, over);
        if (!over)
            look_again(&w);
        if (idle && !over && !has_work(&w))
            prepare_root(&w);
    }
    kv_batch_free(w.batch);
    free(w.garbage);
    return NULL;
}
