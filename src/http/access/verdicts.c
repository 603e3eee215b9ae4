/* verdicts.c - which files a user may read, kept for a short time. */
#include "http/access/verdicts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { USERS_MAX = 64 };

/* A user, the snapshot that was judged, and the part of it that the user may read. */
struct verdict {
    struct user user; /* the entry owns the groups */
    struct snapshot *all, *part;
    int64_t judged_ns; /* 0: the entry is free */
};
struct verdicts {
    pthread_mutex_t lock;
    struct verdict users[USERS_MAX];
};

struct verdicts *verdicts_new(void)
{
    struct verdicts *v = calloc(1, sizeof *v);
    if (v)
        pthread_mutex_init(&v->lock, NULL);
    return v;
}

/* ---- users, under the lock ------------------------------------------------------------------- */

static void drop_verdict(struct verdict *k)
{
    if (!k->judged_ns)
        return;
    snapshot_release(k->all);
    snapshot_release(k->part);
    free((void *)k->user.groups);
    *k = (struct verdict){0};
}

static bool is_same_user(const struct user *a, const struct user *b)
{
    return a->uid == b->uid && a->group_count == b->group_count &&
           (a->group_count == 0 ||
            memcmp(a->groups, b->groups, a->group_count * sizeof *a->groups) == 0);
}

/* Returns the user's entry, or else a free one or the oldest. */
static struct verdict *entry_of(struct verdicts *v, const struct user *user)
{
    struct verdict *oldest = &v->users[0];
    for (struct verdict *k = v->users; k < v->users + USERS_MAX; k++) {
        if (k->judged_ns && is_same_user(&k->user, user))
            return k;
        if (k->judged_ns < oldest->judged_ns)
            oldest = k;
    }
    return oldest;
}

/* Returns the verdict of the user, if it is still valid, with *new* references; otherwise a zeroed
 * one. */
static struct verdict find_verdict(struct verdicts *v, const struct user *user)
{
    struct verdict found = {0};
    pthread_mutex_lock(&v->lock);
    const struct verdict *k = entry_of(v, user);
    if (k->judged_ns && is_same_user(&k->user, user) &&
        clock_mono_ns() - k->judged_ns < VERDICTS_KEPT_NS)
        found = (struct verdict){
            .all = snapshot_ref(k->all), .part = snapshot_ref(k->part), .judged_ns = k->judged_ns};
    pthread_mutex_unlock(&v->lock);
    return found;
}

/* Keeps nothing if there is no memory. */
static void store_verdict(struct verdicts *v, const struct user *user, struct snapshot *all,
                          struct snapshot *part, int64_t judged_ns)
{
    size_t bytes = user->group_count * sizeof *user->groups;
    gid_t *groups = malloc(bytes + 1);
    if (!groups)
        return;
    if (bytes)
        memcpy(groups, user->groups, bytes);
    pthread_mutex_lock(&v->lock);
    struct verdict *k = entry_of(v, user);
    drop_verdict(k);
    *k = (struct verdict){.user = {user->uid, groups, user->group_count},
                          .all = snapshot_ref(all),
                          .part = snapshot_ref(part),
                          .judged_ns = judged_ns};
    pthread_mutex_unlock(&v->lock);
}

void verdicts_tidy(struct verdicts *v, int64_t now_ns)
{
    pthread_mutex_lock(&v->lock);
    for (struct verdict *k = v->users; k < v->users + USERS_MAX; k++)
        if (now_ns - k->judged_ns >= VERDICTS_KEPT_NS)
            drop_verdict(k);
    pthread_mutex_unlock(&v->lock);
}

void verdicts_free(struct verdicts *v)
{
    if (!v)
        return;
    verdicts_tidy(v, INT64_MAX);
    pthread_mutex_destroy(&v->lock);
    free(v);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Iterates over the files of a snapshot and, in step, over those that were judged before. Both are
 * ordered by name. */
struct filter {
    struct verdict before;
    uint32_t at, at_part;
    struct judge judge;
};

/* Moves *at to the first file whose name is not before `name`. Returns that file or NULL. */
static const struct index_file *advance_to(const struct snapshot *s, uint32_t *at, const char *name)
{
    while (*at < snapshot_file_count(s) && strcmp(snapshot_file(s, *at)->name, name) < 0)
        ++*at;
    return *at < snapshot_file_count(s) ? snapshot_file(s, *at) : NULL;
}

/* A file that is the same object in two snapshots has not changed. */
static bool may_see(void *arg, const struct index_file *f)
{
    struct filter *w = arg;
    if (w->before.all && advance_to(w->before.all, &w->at, f->name) == f)
        return advance_to(w->before.part, &w->at_part, f->name) == f;
    return judge_may_read(&w->judge, f);
}

struct snapshot *verdicts_filter(struct verdicts *v, const struct user *user, struct snapshot *all)
{
    int64_t now = clock_mono_ns();
    struct filter w = {.before = find_verdict(v, user)};
    struct snapshot *part = w.before.part;
    if (w.before.all != all) {
        judge_init(&w.judge, *user);
        part = snapshot_filter(all, may_see, &w);
        judge_done(&w.judge);
        if (part && w.judge.error) {
            snapshot_release(part);
            part = NULL;
        }
        if (part)
            store_verdict(v, user, all, part, w.before.all ? w.before.judged_ns : now);
        if (w.before.all)
            snapshot_release(w.before.part);
    }
    if (w.before.all)
        snapshot_release(w.before.all);
    return part;
}
