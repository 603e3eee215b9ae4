/* archive.c - a tar that came as one piece: which files are in it, and each as a file of its own. */
#include "outlet.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 512, RECORDS_MOST = 64 << 10, MEMBERS_MOST = 100000, PIECE = 64 << 10 };
enum { NAMES_MOST = 32 << 20 }; /* of all members */

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
    char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

struct member {
    uint64_t at, size;
    bool found; /* once is enough: copies of all members take no more than the tar */
};
struct archive {
    int fd;
    const char *dir;
    struct disk_budget *budget;
    uint64_t size, at;    /* of the tar; of the next header                                     */
    struct intern *names; /* ids are places in `members`                                        */
    struct member *members;
    size_t cap, names_len;
    struct buf name,
        longer; /* of the member at hand; what a record before its header said        */
    bool sized; /* ... which said this, too:                                          */
    uint64_t longer_size;
    struct buf prefix; /* where the sidecar is: "" or "x/"                                   */
    bool rooted, charged;
};

static int refuse(struct archive *a, struct err *err, const char *why)
{
    return err_set(err, ERR_PARAM, "the tar at byte %llu: %s", (unsigned long long)a->at, why);
}

static int refuse_member(struct archive *a, struct err *err, const char *why)
{
    return err_set(err, ERR_PARAM, "the tar has a member \"%.200s\" %s",
                   a->name.data ? a->name.data : "", why);
}

static int read_at(struct archive *a, void *out, size_t len, uint64_t at, struct err *err)
{
    for (size_t n = 0; n < len;) {
        ssize_t got = pread(a->fd, (char *)out + n, len - n, (off_t)(at + n));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(err, -errno, "the spool file cannot be read: %s", strerror(errno));
        if (got == 0)
            return refuse(a, err, "it is cut off");
        n += (size_t)got;
    }
    return 0;
}

/* ---- headers ------------------------------------------------------------------------------------------ */

/* Octal digits between blanks, or base 256 with the top bit set. */
static bool take_number(const char *field, size_t len, uint64_t *ret)
{
    size_t i = 0;

    *ret = 0;
    if (*field & 0x80) {
        for (*ret = *field & 0x7f, i = 1; i < len; i++) {
            if (*ret >> 54)
                return false;
            *ret = *ret << 8 | (unsigned char)field[i];
        }
        return true;
    }
    while (i < len && field[i] == ' ')
        i++;
    for (; i < len && field[i] >= '0' && field[i] <= '7'; i++)
        *ret = *ret << 3 | (uint64_t)(field[i] - '0');
    return i == len || field[i] == ' ' || field[i] == '\0';
}

static bool is_sound(const struct header *h)
{
    const unsigned char *byte = (const unsigned char *)h;
    const size_t from = offsetof(struct header, checksum), to = from + sizeof h->checksum;
    uint64_t told, sum = 0;

    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= from && i < to ? ' ' : byte[i];
    return take_number(h->checksum, sizeof h->checksum, &told) && told == sum;
}

static bool is_zero(const struct header *h)
{
    static const char zeros[BLOCK];

    return memcmp(h, zeros, BLOCK) == 0;
}

static struct text field_text(const char *field, size_t len)
{
    return (struct text){field, strnlen(field, len)};
}

static int read_name(struct archive *a, const struct header *h)
{
    struct buf *name = &a->name;

    buf_clear(name);
    if (a->longer.len) {
        buf_text(name, (struct text){a->longer.data, a->longer.len});
    } else {
        bool posix =
            memcmp(h->magic, "ustar", sizeof h->magic) == 0; /* with a NUL: GNU's has none */
        if (posix && *h->prefix) {
            buf_text(name, field_text(h->prefix, sizeof h->prefix));
            buf_putc(name, '/');
        }
        buf_text(name, field_text(h->name, sizeof h->name));
    }
    buf_putc(name, '\0');
    name->len--;
    buf_clear(&a->longer);
    return name->error;
}

/* ---- what is said before a header ------------------------------------------------------------------------ */

/* "<length> key=value\n", where the length counts its own digits. */
static bool take_record(struct text *records, struct text *key, struct text *value)
{
    struct text digits, rest = *records;
    uint64_t len;

    if (!text_split(&rest, ' ', &digits) || num_parse_u64(digits, &len) < 0 || len > records->len ||
        len < digits.len + 4 || records->ptr[len - 1] != '\n')
        return false;
    *value = (struct text){digits.ptr + digits.len + 1, len - digits.len - 2};
    records->ptr += len;
    records->len -= len;
    return text_split(value, '=', key) && value->ptr;
}

static int take_pax(struct archive *a, struct text records, struct err *err)
{
    struct text key, value;

    while (records.len) {
        if (!take_record(&records, &key, &value))
            return refuse(a, err, "a bad pax record");
        if (text_eq(key, TEXT("path"))) {
            buf_clear(&a->longer);
            buf_text(&a->longer, value);
        } else if (text_eq(key, TEXT("size"))) {
            a->sized = true;
            if (num_parse_u64(value, &a->longer_size) < 0)
                return refuse(a, err, "a bad pax record");
        } else if (text_starts(key, TEXT("GNU.sparse"))) {
            return refuse(a, err, "it has a file with holes");
        }
    }
    return a->longer.error;
}

static int take_extra(struct archive *a, char type, uint64_t size, struct err *err)
{
    if (size > RECORDS_MOST)
        return refuse(a, err, "a record of names is too long");
    char *text = malloc(size + 1);
    if (!text)
        return -ENOMEM;
    int rc = read_at(a, text, size, a->at + BLOCK, err);
    if (rc == 0 && type == 'x') {
        rc = take_pax(a, (struct text){text, size}, err);
    } else if (rc == 0) { /* GNU's way: the name itself, with a NUL */
        buf_clear(&a->longer);
        buf_text(&a->longer, field_text(text, size));
        rc = a->longer.error;
    }
    free(text);
    return rc;
}

/* ---- members --------------------------------------------------------------------------------------------- */

/* Without "./" before it, as `tar -C directory .` writes it. */
static struct text plain_name(const struct archive *a)
{
    struct text name = {a->name.data, a->name.len};

    while (text_starts(name, TEXT("./"))) {
        name.ptr += 2;
        name.len -= 2;
    }
    return name;
}

static int add_member(struct archive *a, uint64_t size, struct err *err)
{
    struct text name = plain_name(a);
    uint32_t count = intern_count(a->names);

    if (!tar_name_is_safe(name))
        return refuse_member(a, err, "with a bad name: absolute, or with `..`");
    if (count == MEMBERS_MOST)
        return err_set(err, ERR_PARAM, "the tar has more than %d members", MEMBERS_MOST);
    if (count == a->cap) {
        size_t cap = a->cap ? a->cap * 2 : 64;
        void *grown = realloc(a->members, cap * sizeof *a->members);
        if (!grown)
            return -ENOMEM;
        a->members = grown;
        a->cap = cap;
    }
    a->names_len += name.len;
    if (a->names_len > NAMES_MOST)
        return err_set(err, ERR_PARAM, "the names of the tar's members have more than %d MiB",
                       NAMES_MOST >> 20);
    int64_t id = intern_add(a->names, name);
    if (id < 0)
        return (int)id;
    if (id != count)
        return refuse_member(a, err, "twice");
    a->members[id] = (struct member){.at = a->at + BLOCK, .size = size};
    return 0;
}

/* The directory that /organize has written may be one in the tar. */
static int note_root(struct archive *a, struct err *err)
{
    const struct text sidecar = TEXT("provenance.zst");
    struct text name = plain_name(a), dir = name;

    if (!text_ends(name, sidecar))
        return 0;
    dir.len -= sidecar.len;
    if (dir.len && dir.ptr[dir.len - 1] != '/')
        return 0;
    if (a->rooted)
        return refuse_member(a, err,
                             "besides another one of that name: it must hold one directory");
    a->rooted = true;
    buf_text(&a->prefix, dir);
    return a->prefix.error;
}

static int check_directory(struct archive *a, struct err *err)
{
    struct text name = plain_name(a);

    while (name.len && name.ptr[name.len - 1] == '/')
        name.len--;
    if (!name.len || text_eq(name, TEXT(".")) || tar_name_is_safe(name))
        return *a->name.data == '/' ? refuse_member(a, err, "with a bad name: absolute") : 0;
    return refuse_member(a, err, "with a bad name: absolute, or with `..`");
}

static int take_member(struct archive *a, const struct header *h, uint64_t size, struct err *err)
{
    int rc = read_name(a, h);

    if (rc < 0)
        return rc;
    switch (h->type) {
    case '\0':
    case '0':
    case '7':
        rc = add_member(a, size, err);
        return rc < 0 ? rc : note_root(a, err);
    case '5':
        return check_directory(a, err);
    case '1':
    case '2':
        return refuse_member(a, err, "that is a link");
    default:
        return refuse_member(a, err, "that is neither a file nor a directory");
    }
}

/* The header at a->at, and what belongs to it. ERR_END after the last. */
static int take_header(struct archive *a, struct err *err)
{
    struct header h;
    uint64_t size;
    int rc = read_at(a, &h, BLOCK, a->at, err);

    if (rc < 0)
        return rc;
    if (is_zero(&h))
        return a->longer.len || a->sized ? refuse(a, err, "it ends after a record of names")
                                         : ERR_END;
    if (!is_sound(&h) || memcmp(h.magic, "ustar", 5) != 0)
        return refuse(a, err,
                      a->at ? "a damaged header" : "it is no tar (packed ones are not read)");
    if (!take_number(h.size, sizeof h.size, &size))
        return refuse(a, err, "a bad size");
    bool extra = h.type == 'x' || h.type == 'L', global = h.type == 'g';
    if (a->sized && !extra && !global)
        size = a->longer_size;
    if (h.type == '5') /* has no text, whatever it says */
        size = 0;
    if (size > a->size - a->at - BLOCK)
        return refuse(a, err, "it is cut off");
    if (extra) {
        rc = take_extra(a, h.type, size, err);
    } else if (!global) { /* comments and the like */
        rc = take_member(a, &h, size, err);
        a->sized = false;
    }
    a->at += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
    return rc;
}

/* ---- the door -------------------------------------------------------------------------------------------- */

/* Copies may need as much once more. */
static int charge(struct archive *a, struct err *err)
{
    if (!a->budget)
        return 0;
    a->charged = true;
    uint64_t used = a->budget->used += a->size;
    if (!a->budget->limit || used <= a->budget->limit)
        return 0;
    return err_set(err, -ENOSPC,
                   "a tar needs twice its size, which is more than is left of the %llu bytes of "
                   "disk space that the daemon may take (option spool-size)",
                   (unsigned long long)a->budget->limit);
}

int archive_open(const struct spool *tar, const char *spool_dir, struct disk_budget *budget,
                 struct err *err, struct archive **ret)
{
    struct archive *a = calloc(1, sizeof *a);

    if (!a || !(a->names = intern_new())) {
        archive_free(a);
        return -ENOMEM;
    }
    a->fd = spool_fd(tar);
    a->size = spool_size(tar);
    a->dir = spool_dir;
    a->budget = budget;
    int rc = charge(a, err);
    while (rc == 0)
        rc = take_header(a, err);
    if (rc != ERR_END) {
        archive_free(a);
        return rc;
    }
    *ret = a;
    return 0;
}

static int copy_out(const struct archive *a, const struct member *m, struct budget *budget, int fd)
{
    char piece[PIECE];

    for (uint64_t done = 0; done < m->size;) {
        int rc = budget_check(budget);
        if (rc < 0)
            return rc;
        uint64_t left = m->size - done;
        ssize_t n = pread(a->fd, piece, left < PIECE ? (size_t)left : PIECE, (off_t)(m->at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n ? -errno : -EIO;
        for (ssize_t put = 0, some; put < n; put += some) {
            some = pwrite(fd, piece + put, (size_t)(n - put), (off_t)(done + (uint64_t)put));
            if (some < 0 && errno != EINTR)
                return -errno;
            some = some < 0 ? 0 : some;
        }
        done += (uint64_t)n;
    }
    return 0;
}

int archive_find(struct archive *a, const char *path, struct budget *budget)
{
    struct buf name = {0};

    buf_text(&name, (struct text){a->prefix.data, a->prefix.len});
    buf_puts(&name, path);
    int64_t id = name.error ? -ENOMEM : intern_find(a->names, (struct text){name.data, name.len});
    if (id >= 0 && a->members[id].found)
        id = -ENOENT;
    buf_clear(&name);
    buf_printf(&name, "%s/spool-XXXXXX", a->dir);
    buf_putc(&name, '\0');
    int fd = id < 0 ? (int)id : name.error ? -ENOMEM : mkostemp(name.data, O_CLOEXEC);
    if (fd == -1)
        fd = -errno;
    else if (fd >= 0)
        unlink(name.data);
    buf_done(&name);
    int rc = fd < 0 ? fd : copy_out(a, &a->members[id], budget, fd);
    if (fd >= 0)
        a->members[id].found = true;
    if (rc < 0 && fd >= 0)
        close(fd);
    return rc < 0 ? rc : fd;
}

void archive_free(struct archive *a)
{
    if (!a)
        return;
    if (a->charged)
        a->budget->used -= a->size;
    intern_free(a->names);
    buf_done(&a->name);
    buf_done(&a->longer);
    buf_done(&a->prefix);
    free(a->members);
    free(a);
}
