/* viewer.c - the user as whom a peer sees files. */
#include "http/access/viewer.h"

#include "http/access/verdicts.h"
#include "http/request/endpoint.h"

#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct viewer {
    atomic_int refs;
    uid_t uid;
    pthread_mutex_t lock;
    bool known; /* the groups are known; guarded by the lock, and never reset */
    size_t group_count;
    gid_t *groups;
};
static struct viewer nobody = {
    .refs = 1, .uid = ACCESS_NOBODY, .lock = PTHREAD_MUTEX_INITIALIZER, .known = true};

struct viewer *viewer_ref(struct viewer *v)
{
    if (v)
        atomic_fetch_add(&v->refs, 1);
    return v;
}

void viewer_unref(struct viewer *v)
{
    if (!v || atomic_fetch_sub(&v->refs, 1) > 1)
        return;
    pthread_mutex_destroy(&v->lock);
    free(v->groups);
    free(v);
}

bool viewer_same_user(const struct viewer *a, const struct viewer *b)
{
    return a && b && a->uid == b->uid && a->uid != ACCESS_NOBODY;
}

/* ---- the user -------------------------------------------------------------------------------- */

/* A viewer without memory for its groups has none. */
static void set_groups(struct viewer *v, const gid_t *groups, size_t count)
{
    v->known = true;
    v->groups = count ? malloc(count * sizeof *groups) : NULL;
    v->group_count = v->groups ? count : 0;
    if (v->groups)
        memcpy(v->groups, groups, count * sizeof *groups);
}

static struct viewer *viewer_new(uid_t uid)
{
    struct viewer *v = calloc(1, sizeof *v);
    if (!v)
        return viewer_ref(&nobody);
    atomic_init(&v->refs, 1);
    pthread_mutex_init(&v->lock, NULL);
    v->uid = uid;
    return v;
}

/* The groups of the process at the other end; the kernel allows at most NGROUPS_MAX. */
static void read_unix_groups(struct viewer *v, int fd)
{
    struct ucred cred;
    socklen_t len = sizeof cred, bytes = NGROUPS_MAX * sizeof(gid_t);
    gid_t *list = malloc(bytes + sizeof *list);
    if (!list || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0) {
        free(list);
        set_groups(v, NULL, 0);
        return;
    }
    list[0] = cred.gid;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, list + 1, &bytes) < 0)
        bytes = 0;
    set_groups(v, list, 1 + bytes / sizeof *list);
    free(list);
}

/* A name service that does not respond must not count as a fault of the worker that waits for it.
 */
static void look_up_groups(struct viewer *v)
{
    pulse_rest();
    pthread_mutex_lock(&v->lock);
    if (!v->known) {
        /* The groups that a login would set. A user without an account has none. May block for
         * long. */
        char texts[4096];
        struct passwd entry, *found = NULL;
        gid_t list[1024];
        int n = sizeof list / sizeof *list;
        if (getpwuid_r(v->uid, &entry, texts, sizeof texts, &found) != 0 || !found ||
            getgrouplist(entry.pw_name, entry.pw_gid, list, &n) < 0)
            n = 0;
        set_groups(v, list, (size_t)n);
    }
    pthread_mutex_unlock(&v->lock);
    pulse_beat();
}

struct viewer *viewer_of(int fd, const struct access_peer *peer)
{
    struct viewer *v = peer->uid == ACCESS_NOBODY ? viewer_ref(&nobody) : viewer_new(peer->uid);
    if (v != &nobody && peer->place == ACCESS_UNIX)
        read_unix_groups(v, fd);
    return v;
}

/* ---- snapshots of requests ------------------------------------------------------------------- */

struct snapshot *request_snapshot(const struct request *rq)
{
    struct snapshot *all = index_snapshot(rq->http->options->index);
    if (!rq->viewer)
        return all;
    look_up_groups(rq->viewer);
    const struct user user = {rq->viewer->uid, rq->viewer->groups, rq->viewer->group_count};
    struct snapshot *part = verdicts_filter(rq->http->verdicts, &user, all);
    snapshot_release(all);
    return part;
}

bool request_repin(struct request *rq)
{
    struct snapshot *newest = request_snapshot(rq);
    if (!newest)
        return false;
    bool other = snapshot_generation(newest) != snapshot_generation(rq->snapshot);
    snapshot_release(rq->snapshot);
    rq->snapshot = newest;
    return other;
}
