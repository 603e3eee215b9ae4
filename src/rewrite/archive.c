/* archive.c - a tar that was sent as a whole: lists its files, and copies each to a file of its
 * own. */
#include "rewrite/archive_writer.h"
#include "rewrite/provenance.h"
#include "rewrite/spool.h"

#include "base/write_all.h"
#include "dftracerd/failpoint.h"
#include "dftracerd/vec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MEMBERS_MAX = 100000,
    NAMES_MAX = 32 << 20, /* bytes of all names */
    PIECE = 64 << 10,     /* bytes that are copied at a time */
    HEADERS = 4 << 10     /* bytes that are read to parse a header */
};

struct tar_member {
    uint64_t offset, size; /* of its data in the tar */
    bool is_copied;        /* at most once, so the copies take no more space than the tar */
};
struct archive {
    int fd;
    const char *dir;
    struct disk_budget *budget; /* `size` is charged to it; NULL: not charged */
    uint64_t size;              /* size of the tar */
    struct intern *names;       /* ids are positions in `members` */
    VEC(struct tar_member) members;
    size_t names_len;
    struct buf prefix; /* directory of the sidecar: "" or "x/" */
    bool has_sidecar;
};

static int refuse_archive(uint64_t at, struct err *err, const char *why)
{
    return err_set(err, ERR_PARAM, "the tar at byte %llu: %s", (unsigned long long)at, why);
}

static int refuse_member(const struct trace_tar_member *m, struct err *err, const char *why)
{
    return err_set(err, ERR_PARAM, "the tar has a member \"%.200s\" %s", m->name.ptr, why);
}

/* ---- members --------------------------------------------------------------------------------- */

static int add_member(struct archive *a, const struct trace_tar_member *m, struct err *err)
{
    uint32_t count = intern_count(a->names);

    if (count == MEMBERS_MAX)
        return err_set(err, ERR_PARAM, "the tar has more than %d members", MEMBERS_MAX);
    if (vec_extend(&a->members, count + (size_t)1) < 0)
        return -ENOMEM;
    a->names_len += m->name.len;
    if (a->names_len > NAMES_MAX)
        return err_set(err, ERR_PARAM, "the member names of the tar exceed %d MiB",
                       NAMES_MAX >> 20);
    int64_t id = intern_add(a->names, m->name);
    if (id < 0)
        return (int)id;
    if (id != count)
        return refuse_member(m, err, "twice");
    a->members.at[id] = (struct tar_member){.offset = m->offset, .size = m->size};
    return 0;
}

/* Records the directory of the sidecar: the tar may contain the directory that /organize has
 * written. */
static int note_sidecar(struct archive *a, const struct trace_tar_member *m, struct err *err)
{
    const struct text sidecar = TEXT(PROVENANCE_NAME);
    struct text dir = m->name;

    if (!text_ends(m->name, sidecar))
        return 0;
    dir.len -= sidecar.len;
    if (dir.len && dir.ptr[dir.len - 1] != '/')
        return 0;
    if (a->has_sidecar)
        return refuse_member(
            m, err,
            "in addition to another one of that name: a tar must contain one directory only");
    a->has_sidecar = true;
    buf_text(&a->prefix, dir);
    return a->prefix.error;
}

static int check_member(struct archive *a, const struct trace_tar_member *m, struct err *err)
{
    bool directory = m->kind == TRACE_TAR_DIRECTORY;
    /* "./" has an empty name here. */
    bool top = directory && (!m->name.len || text_eq(m->name, TEXT(".")));

    if (m->kind == TRACE_TAR_LINK)
        return refuse_member(m, err, "that is a link");
    if (m->kind == TRACE_TAR_SPARSE)
        return refuse_member(m, err, "that is a sparse file");
    if (m->kind == TRACE_TAR_OTHER)
        return refuse_member(m, err, "that is neither a file nor a directory");
    if (m->absolute || (!top && !tar_name_is_safe(m->name)))
        return refuse_member(m, err, "with an invalid name: it is absolute or contains `..`");
    if (m->offset > a->size || m->size > a->size - m->offset)
        return refuse_archive(m->offset, err, "it is truncated");
    int rc = directory ? 0 : add_member(a, m, err);
    return rc < 0 || directory ? rc : note_sidecar(a, m, err);
}

/* ---- headers --------------------------------------------------------------------------------- */

static ssize_t read_some(const struct archive *a, char *out, uint64_t at, struct err *err)
{
    for (;;) {
        ssize_t got = pread(a->fd, out, HEADERS, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        return got < 0 ? err_set(err, -errno, "cannot read the temporary file: %s", strerror(errno))
                       : got;
    }
}

/* Reads all members up to the end mark; a tar without one is cut off. */
static int read_members(struct archive *a, struct trace_tar *tar, struct budget *budget,
                        struct err *err)
{
    char piece[HEADERS];
    struct trace_tar_member m;
    int rc = 0;

    while (rc == 0) {
        uint64_t at = trace_tar_next_offset(tar);
        ssize_t n = at < a->size ? read_some(a, piece, at, err) : 0;
        if (n <= 0)
            return n < 0 ? (int)n : refuse_archive(at, err, "it is truncated");
        rc = trace_tar_next(tar, piece, (size_t)n, &m);
        if (rc == ERR_CORRUPT)
            return refuse_archive(at, err, trace_tar_error(tar));
        if (rc == ERR_END && !trace_tar_is_between_members(tar))
            return refuse_archive(at, err, "it ends after a name record");
        rc = rc == 1 ? check_member(a, &m, err) : rc;
        if (rc == 0)
            rc = budget_check(budget);
    }
    return rc == ERR_END ? 0 : rc;
}

/* ---- public functions ------------------------------------------------------------------------ */

/* Copies may need as much space as the tar itself. */
static int charge_copies(struct archive *a, struct disk_budget *disk, struct err *err)
{
    if (disk_budget_charge(disk, a->size) < 0)
        return err_set(err, -ENOSPC,
                       "an uploaded tar requires temporary files of twice its size: that is more "
                       "than is free of the %llu bytes of disk space that the daemon may use for "
                       "them (option spool-size)",
                       (unsigned long long)disk->limit);
    a->budget = disk;
    return 0;
}

int archive_open(const struct spool *spool, const char *spool_dir, struct disk_budget *disk,
                 struct budget *budget, struct err *err, struct archive **ret)
{
    struct archive *a = calloc(1, sizeof *a);
    struct trace_tar *tar = trace_tar_new();
    int rc = -ENOMEM;

    if (a && tar && (a->names = intern_new())) {
        a->fd = spool_fd(spool);
        a->size = spool_size(spool);
        a->dir = spool_dir;
        rc = charge_copies(a, disk, err);
        rc = rc < 0 ? rc : read_members(a, tar, budget, err);
    }
    trace_tar_free(tar);
    if (rc < 0)
        archive_free(a);
    else
        *ret = a;
    return rc;
}

/* Copies a member to an empty file, and returns to the start of this. */
static int copy_member(const struct archive *a, const struct tar_member *m, struct budget *budget,
                       int fd)
{
    char piece[PIECE];

    for (uint64_t done = 0; done < m->size;) {
        int rc = budget_check(budget);
        if (rc < 0)
            return rc;
        uint64_t left = m->size - done;
        ssize_t n =
            pread(a->fd, piece, left < PIECE ? (size_t)left : PIECE, (off_t)(m->offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n ? -errno : -EIO;
        rc = failpoint("archive.write") ? -errno : write_all(fd, (struct text){piece, (size_t)n});
        if (rc < 0)
            return rc;
        done += (uint64_t)n;
    }
    return lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

int archive_copy_file(struct archive *a, const char *path, struct budget *budget)
{
    struct buf name = {0};

    buf_text(&name, (struct text){a->prefix.data, a->prefix.len});
    buf_puts(&name, path);
    int64_t id =
        name.error ? name.error : intern_find(a->names, (struct text){name.data, name.len});
    buf_done(&name);
    struct tar_member *m = id < 0 ? NULL : &a->members.at[id];
    if (!m || m->is_copied)
        return m ? -ENOENT : (int)id;
    int fd = spool_create_file(a->dir);
    if (fd < 0)
        return fd;
    m->is_copied = true;
    int rc = copy_member(a, m, budget, fd);
    if (rc < 0)
        close(fd);
    return rc < 0 ? rc : fd;
}

void archive_free(struct archive *a)
{
    if (!a)
        return;
    disk_budget_release(a->budget, a->size);
    intern_free(a->names);
    buf_done(&a->prefix);
    vec_done(&a->members);
    free(a);
}
