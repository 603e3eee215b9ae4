/* viewer.c - which files a peer could read itself. */
#include "http/access/viewer.h"

#include "http/request/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACL_BYTES 8192

struct viewer {
    atomic_int refs;
    uid_t uid;
    pthread_mutex_t lock;
    bool known; /* the groups are; under the lock, and fixed from then on */
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

/* ---- who it is ------------------------------------------------------------------------------- */

/* Without memory it has no groups. */
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

/* Of the process at the other end: never more than NGROUPS_MAX. */
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

/* As a login would have them. Without an entry for the user there are none. May block for long. */
static void read_account_groups(struct viewer *v)
{
    char texts[4096];
    struct passwd entry, *found = NULL;
    gid_t list[1024];
    int n = sizeof list / sizeof *list;
    if (getpwuid_r(v->uid, &entry, texts, sizeof texts, &found) != 0 || !found ||
        getgrouplist(entry.pw_name, entry.pw_gid, list, &n) < 0)
        n = 0;
    set_groups(v, list, (size_t)n);
}

/* A name service that does not answer is no fault of the worker that waits for it. */
static void know_groups(struct viewer *v)
{
    pulse_rest();
    pthread_mutex_lock(&v->lock);
    if (!v->known)
        read_account_groups(v);
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

/* ---- what it may ----------------------------------------------------------------------------- */

static bool is_member(const struct viewer *v, gid_t gid)
{
    for (size_t i = 0; i < v->group_count; i++)
        if (v->groups[i] == gid && access_is_somebody(gid))
            return true;
    return false;
}

static bool by_mode(const struct viewer *v, const struct stat *st, unsigned want)
{
    unsigned shift = v->uid == st->st_uid ? 6 : is_member(v, st->st_gid) ? 3 : 0;
    return (st->st_mode >> shift & want) == want;
}

struct acl {
    struct posix_acl_xattr_header head;
    struct posix_acl_xattr_entry entries[ACL_BYTES / sizeof(struct posix_acl_xattr_entry)];
};

/* The order of acl(5): the owner, a named user, the groups (one that allows is enough), all others.
 * Numbers are stored in little-endian, which is what they are read in here: others would see
 * nothing they should not. */
static bool by_list(const struct viewer *v, const struct stat *st, const struct acl *acl, size_t n,
                    unsigned want)
{
    unsigned mask = 7, other = 0, user = 0, group = 0;
    bool named = false, in_group = false, allows = false;
    for (size_t i = 0; i < n; i++)
        if (le16toh(acl->entries[i].e_tag) == ACL_MASK)
            mask = le16toh(acl->entries[i].e_perm);
    for (size_t i = 0; i < n; i++) {
        const struct posix_acl_xattr_entry *e = &acl->entries[i];
        unsigned tag = le16toh(e->e_tag), perm = le16toh(e->e_perm), id = le32toh(e->e_id);
        if (tag == ACL_USER_OBJ && v->uid == st->st_uid)
            return (perm & want) == want;
        if (tag == ACL_USER && id == v->uid) {
            named = true;
            user = perm & mask;
        }
        if ((tag == ACL_GROUP_OBJ && is_member(v, st->st_gid)) ||
            (tag == ACL_GROUP && is_member(v, id))) {
            in_group = true;
            group = perm & mask;
            allows |= (group & want) == want;
        }
        if (tag == ACL_OTHER)
            other = perm;
    }
    return named ? (user & want) == want : in_group ? allows : (other & want) == want;
}

static bool may(const struct viewer *v, int fd, const struct stat *st, unsigned want)
{
    struct acl acl;
    char path[32];
    if (v->uid == 0)
        return true;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t n = getxattr(path, "system.posix_acl_access", &acl, sizeof acl);
    if (n < 0)
        return (errno == ENODATA || errno == ENOTSUP) && by_mode(v, st, want);
    if ((size_t)n < sizeof acl.head || le32toh(acl.head.a_version) != POSIX_ACL_XATTR_VERSION)
        return false;
    return by_list(v, st, &acl, ((size_t)n - sizeof acl.head) / sizeof *acl.entries, want);
}

/* One name at a time, each judged by the descriptor that the next is opened below: what is
 * exchanged meanwhile is not what was judged. The file's descriptor and *ret, or -1; *ret_link: a
 * part of it is a link. */
static int reach(const struct viewer *v, char *path, struct stat *ret, bool *ret_link)
{
    int fd = open("/", O_PATH | O_CLOEXEC);
    char *save;
    *ret_link = false;
    for (char *part = strtok_r(path, "/", &save); part && fd >= 0;
         part = strtok_r(NULL, "/", &save)) {
        bool good = fstat(fd, ret) == 0 && S_ISDIR(ret->st_mode) && may(v, fd, ret, 1);
        int next = good ? openat(fd, part, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
        close(fd);
        fd = next;
        *ret_link = fd >= 0 && fstat(fd, ret) == 0 && S_ISLNK(ret->st_mode);
        if (*ret_link)
            return close(fd), -1;
    }
    return fd;
}

/* Another file than was indexed tells nothing about that one; neither does one that has its number
 * since. */
static bool is_indexed_one(int fd, const struct stat *st, const struct index_file *f)
{
    struct statx x;
    if (!f->inode)
        return true;
    if (st->st_ino != f->inode || st->st_dev != f->device)
        return false;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &x) == 0 && x.stx_mask & STATX_BTIME)
        return (int64_t)x.stx_btime.tv_sec * 1000000000 + x.stx_btime.tv_nsec <= f->ctime_ns;
    return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec == f->ctime_ns;
}

/* May block: it looks at the file and the directories above. */
static bool may_read(const struct viewer *v, const struct index_file *f)
{
    char path[PATH_MAX];
    struct stat st;
    bool link = false;
    size_t n = strlen(f->path);
    if (*f->path != '/' || n >= sizeof path)
        return false;
    memcpy(path, f->path, n + 1);
    int fd = reach(v, path, &st, &link);
    if (link && realpath(f->path, path)) /* then the way that it leads to must be open, too */
        fd = reach(v, path, &st, &link);
    bool good = fd >= 0 && S_ISREG(st.st_mode) && is_indexed_one(fd, &st, f) && may(v, fd, &st, 4);
    if (fd >= 0)
        close(fd);
    return good;
}

static bool sees(void *arg, const struct index_file *f)
{
    return may_read(arg, f);
}

/* ---- of a request ---------------------------------------------------------------------------- */

struct snapshot *request_snapshot(const struct request *rq)
{
    struct snapshot *all = index_snapshot(rq->http->options->index);
    if (!rq->viewer)
        return all;
    know_groups(rq->viewer);
    struct snapshot *part = snapshot_filter(all, sees, rq->viewer);
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
