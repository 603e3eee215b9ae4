/* stored.c - the table of stored queries. */
#include "http/access/stored.h"

#include "http/access/viewer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct stored {
    pthread_mutex_t lock;
    struct stored_query queries[STORED_MAX]; /* ordered by age; the table owns their texts */
    size_t count;
    int64_t life_ns;
};

struct stored *stored_new(int64_t life_ms)
{
    struct stored *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    pthread_mutex_init(&s->lock, NULL);
    s->life_ns = life_ms * 1000000;
    return s;
}

static void free_texts(struct stored_query *q)
{
    free((char *)(uintptr_t)q->name);
    free((char *)(uintptr_t)q->query);
    free((char *)(uintptr_t)q->ui);
    viewer_unref(q->viewer);
}

void stored_free(struct stored *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        free_texts(&s->queries[i]);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static void drop_query(struct stored *s, size_t at)
{
    free_texts(&s->queries[at]);
    memmove(&s->queries[at], &s->queries[at + 1], (--s->count - at) * sizeof *s->queries);
}

/* Drops the oldest queries, too, until there is space for `more`. */
static void drop_expired(struct stored *s, size_t more)
{
    int64_t time = clock_mono_ns();
    while (s->count && (s->queries[0].until_ns <= time || s->count + more > STORED_MAX))
        drop_query(s, 0);
}

/* A client that already has its share replaces the oldest of its own queries. */
static void limit_owner(struct stored *s, const struct hash128 *owner)
{
    size_t count = 0, oldest = s->count;
    if (!owner->low && !owner->high)
        return;
    for (size_t i = s->count; i-- > 0;) {
        const struct hash128 *of = &s->queries[i].owner;
        if (of->low != owner->low || of->high != owner->high)
            continue;
        oldest = i;
        count++;
    }
    if (count >= STORED_SHARE)
        drop_query(s, oldest);
}

int stored_random(char out[33])
{
    struct hash128 random;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        return -EIO;
    hash128_hex(random, out);
    return 0;
}

int stored_add(struct stored *s, struct stored_query *q)
{
    struct stored_query own = {
        .name = strdup(q->name), .query = strdup(q->query), .ui = strdup(q->ui)};
    int rc = own.name && own.query && own.ui ? stored_random(own.id) : -ENOMEM;
    if (rc < 0) {
        free_texts(&own);
        return rc;
    }
    own.viewer = viewer_ref(q->viewer);
    own.owner = q->owner;
    own.until_ns = clock_mono_ns() + s->life_ns;
    memcpy(q->id, own.id, sizeof q->id);
    q->until_ns = own.until_ns;
    pthread_mutex_lock(&s->lock);
    limit_owner(s, &own.owner);
    drop_expired(s, 1);
    s->queries[s->count++] = own;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

/* The time taken is the same for all ids, so that it does not reveal a correct prefix. */
static bool same_id(const char *id, struct text given)
{
    unsigned differs = given.len != 32;
    for (size_t i = 0; i < 32; i++)
        differs |= (unsigned)(id[i] ^ given.ptr[i < given.len ? i : 0]);
    return !differs;
}

static int copy_query(const struct stored_query *q, struct arena *arena, struct stored_query *ret)
{
    *ret = *q;
    ret->name = arena_strdup(arena, text_of(q->name));
    ret->query = arena_strdup(arena, text_of(q->query));
    ret->ui = arena_strdup(arena, text_of(q->ui));
    return arena->error;
}

int stored_find(struct stored *s, struct text id, struct arena *arena, struct stored_query *ret)
{
    int rc = ERR_NOT_FOUND;
    if (!id.len)
        return rc;
    pthread_mutex_lock(&s->lock);
    drop_expired(s, 0);
    for (size_t i = 0; i < s->count && rc == ERR_NOT_FOUND; i++) {
        if (!same_id(s->queries[i].id, id))
            continue;
        rc = copy_query(&s->queries[i], arena, ret);
        if (rc == 0)
            viewer_ref(ret->viewer);
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int stored_list(struct stored *s, const struct viewer *viewer, struct arena *arena,
                struct stored_query **ret, size_t *ret_count)
{
    pthread_mutex_lock(&s->lock);
    drop_expired(s, 0);
    *ret = arena_alloc(arena, (s->count + 1) * sizeof **ret);
    size_t n = 0;
    for (size_t i = 0; *ret && i < s->count; i++) {
        if (viewer && !viewer_same_user(viewer, s->queries[i].viewer))
            continue;
        copy_query(&s->queries[i], arena, &(*ret)[n]);
        (*ret)[n++].viewer = NULL;
    }
    *ret_count = n;
    pthread_mutex_unlock(&s->lock);
    return arena->error;
}
