/* module: http */
/* Whether a file is the one that was indexed: its inode number alone does not identify it, because
 * file systems reuse numbers. And the groups of users. */
#include "check.h"
#include "http/access/permission.c"
#include "http/access/viewer.c"

static struct index_file indexed_as(const struct stat *st, int64_t later_ns)
{
    return (struct index_file){.inode = st->st_ino,
                               .device = st->st_dev,
                               .ctime_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 +
                                           st->st_ctim.tv_nsec + later_ns};
}

static void knows_the_indexed_one(void)
{
    char path[] = "/tmp/test_viewer-XXXXXX";
    struct stat st;
    struct statx x;
    int fd = mkstemp(path);
    CHECK_STOP(fd >= 0 && fstat(fd, &st) == 0);
    struct index_file same = indexed_as(&st, 0), before = indexed_as(&st, -1000000000),
                      other_number = same, other_device = same, unknown = {0};
    other_number.inode++;
    other_device.device++;
    CHECK(is_indexed_one(fd, &st, &same));
    CHECK(!is_indexed_one(fd, &st, &before)); /* it was created after the indexed one */
    CHECK(!is_indexed_one(fd, &st, &other_number));
    CHECK(!is_indexed_one(fd, &st, &other_device));
    CHECK(is_indexed_one(fd, &st, &unknown)); /* nothing is known of the indexed one */
    /* Changed since it was indexed (a mode): the same file if birth times are known, otherwise it
     * is not trusted. */
    struct index_file after = indexed_as(&st, 1000000000);
    bool births = statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &x) == 0 && x.stx_mask & STATX_BTIME;
    CHECK(is_indexed_one(fd, &st, &after) == births);
    close(fd);
    unlink(path);
}

/* Groups of an account are not looked up before they are needed. */
static void looks_groups_up_late(void)
{
    struct access_peer peer = {.place = ACCESS_LOOPBACK, .uid = 0};
    struct viewer *v = viewer_of(-1, &peer);
    CHECK_STOP(v != NULL);
    CHECK(!v->known);
    look_up_groups(v);
    CHECK(v->known);
    viewer_unref(v);
    peer.uid = ACCESS_NOBODY;
    v = viewer_of(-1, &peer);
    CHECK(v->known && v->group_count == 0);
    CHECK(!viewer_same_user(v, v));
    viewer_unref(v);
}

/* The class of the user decides, even if another class would allow access. */
static void judges_modes(void)
{
    gid_t groups[] = {70};
    const struct user v = {.uid = 7, .group_count = 1, .groups = groups};
    const struct {
        uid_t uid;
        gid_t gid;
        mode_t mode;
        bool may;
    } cases[] = {{7, 70, 0400, true},  {7, 70, 0044, false}, {8, 70, 0040, true},
                 {8, 70, 0604, false}, {8, 80, 0004, true},  {8, 80, 0660, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stat st = {
            .st_uid = cases[i].uid, .st_gid = cases[i].gid, .st_mode = S_IFREG | cases[i].mode};
        CHECK_INT(by_mode(&v, &st, 4), cases[i].may);
    }
}

#define ENTRY(tag, perm, id) \
    { \
        htole16(tag), htole16(perm), htole32(id) \
    }

static bool list_allows(const struct posix_acl_xattr_entry *entries, size_t n, uid_t owner)
{
    gid_t groups[] = {70, 71};
    const struct user v = {.uid = 7, .group_count = 2, .groups = groups};
    const struct stat st = {.st_uid = owner, .st_gid = 70};
    struct acl acl = {0};
    memcpy(acl.entries, entries, n * sizeof *entries);
    return by_list(&v, &st, &acl, n, 4);
}

/* acl(5): the owner's entry, that of a named user, those of groups under the mask, and only then
 * that of all others. */
static void judges_lists(void)
{
    const struct posix_acl_xattr_entry
        owner[] = {ENTRY(ACL_USER_OBJ, 0, -1), ENTRY(ACL_GROUP_OBJ, 4, -1),
                   ENTRY(ACL_OTHER, 4, -1)},
        masked[] = {ENTRY(ACL_USER_OBJ, 6, -1), ENTRY(ACL_GROUP_OBJ, 0, -1),
                    ENTRY(ACL_GROUP, 4, 71), ENTRY(ACL_MASK, 0, -1), ENTRY(ACL_OTHER, 4, -1)},
        own_group[] = {ENTRY(ACL_USER_OBJ, 6, -1), ENTRY(ACL_GROUP_OBJ, 4, -1),
                       ENTRY(ACL_MASK, 2, -1), ENTRY(ACL_OTHER, 4, -1)},
        one_of_two[] = {ENTRY(ACL_USER_OBJ, 6, -1), ENTRY(ACL_GROUP_OBJ, 4, -1),
                        ENTRY(ACL_GROUP, 0, 71), ENTRY(ACL_MASK, 4, -1), ENTRY(ACL_OTHER, 0, -1)},
        user[] = {ENTRY(ACL_USER_OBJ, 6, -1), ENTRY(ACL_USER, 4, 7), ENTRY(ACL_GROUP_OBJ, 4, -1),
                  ENTRY(ACL_MASK, 0, -1), ENTRY(ACL_OTHER, 4, -1)};
    CHECK(!list_allows(owner, 3, 7));
    CHECK(list_allows(owner, 3, 8));
    CHECK(!list_allows(masked, 5, 8));
    CHECK(!list_allows(own_group, 4, 8));
    CHECK(list_allows(one_of_two, 5, 8));
    CHECK(!list_allows(user, 5, 8));
}

static bool stranger_may(const char *path)
{
    const struct index_file f = {.path = path};
    struct judge judge;
    judge_init(&judge, (struct user){.uid = geteuid() + 12345});
    bool may_at_first = judge_may_read(&judge, &f), again = judge_may_read(&judge, &f);
    judge_done(&judge);
    CHECK_INT(may_at_first, again);
    return again;
}

/* All directories above a file must be searchable, and those above the target of a link, too. */
static void follows_links(void)
{
    char base[] = "/tmp/test_viewer-XXXXXX", open_dir[64], closed[64], deep[80], file[96],
         link_path[80];
    CHECK_STOP(mkdtemp(base) && chmod(base, 0755) == 0);
    snprintf(open_dir, sizeof open_dir, "%s/open", base);
    snprintf(closed, sizeof closed, "%s/closed", base);
    snprintf(deep, sizeof deep, "%s/deep", closed);
    snprintf(file, sizeof file, "%s/f.pfw", deep);
    snprintf(link_path, sizeof link_path, "%s/l.pfw", open_dir);
    CHECK_STOP(mkdir(open_dir, 0755) == 0 && mkdir(closed, 0700) == 0 && mkdir(deep, 0755) == 0);
    int fd = open(file, O_CREAT | O_WRONLY, 0644);
    CHECK_STOP(fd >= 0 && symlink("../closed/deep/f.pfw", link_path) == 0);
    CHECK(!stranger_may(file) && !stranger_may(link_path));
    CHECK_INT(chmod(closed, 0711), 0);
    CHECK(stranger_may(file) && stranger_may(link_path));
    CHECK_INT(chmod(deep, 0700), 0);
    CHECK(!stranger_may(file) && !stranger_may(link_path));
    CHECK_INT(chmod(deep, 0755) | fchmod(fd, 0600), 0);
    CHECK(!stranger_may(file) && !stranger_may(link_path));
    close(fd);
    unlink(link_path);
    unlink(file);
    const char *folders[] = {deep, closed, open_dir, base};
    for (size_t i = 0; i < 4; i++)
        rmdir(folders[i]);
}

static const struct check_test tests[] = {
    {"knows_the_indexed_one", knows_the_indexed_one},
    {"looks_groups_up_late", looks_groups_up_late},
    {"judges_modes", judges_modes},
    {"judges_lists", judges_lists},
    {"follows_links", follows_links},
    {NULL, NULL},
};
CHECK_MAIN(tests)
