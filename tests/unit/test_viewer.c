/* room: http */
/* Is a file the one that was indexed? Its number alone does not tell: file systems give it again. And whose groups. */
#include "check.h"
#include "../../src/http/viewer.c"

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
    CHECK(!is_indexed_one(fd, &st, &before)); /* it was born after that was indexed */
    CHECK(!is_indexed_one(fd, &st, &other_number));
    CHECK(!is_indexed_one(fd, &st, &other_device));
    CHECK(is_indexed_one(fd, &st, &unknown)); /* nothing of it is known */
    /* Changed since it was indexed (a mode): the same one where births are told, else it is not believed. */
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
    know_groups(v);
    CHECK(v->known);
    viewer_unref(v);
    peer.uid = ACCESS_NOBODY;
    v = viewer_of(-1, &peer);
    CHECK(v->known && v->group_count == 0);
    CHECK(!viewer_same_user(v, v));
    viewer_unref(v);
}

static const struct check_test tests[] = {
    {"knows_the_indexed_one", knows_the_indexed_one},
    {"looks_groups_up_late", looks_groups_up_late},
    {NULL, NULL},
};
CHECK_MAIN(tests)
