/* tar_walk.c - reads the headers of a tar archive, in the formats V7, POSIX ustar with pax records,
 * and GNU. */
#include "dftracerd/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512, RECORDS_MAX = 1 << 20 };

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
    char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

/* GNU's sparse files: offsets of the flag that the map of holes continues in the next block, in the
 * header and in such a block. */
enum { SPARSE_HEADER_CONTINUES = 482, SPARSE_BLOCK_CONTINUES = 504 };

enum walk_state { WALK_HEADER, WALK_RECORDS, WALK_NAME, WALK_MAP };

struct trace_tar {
    enum walk_state state;
    uint64_t at;    /* text offset of the next byte */
    size_t need;    /* bytes to collect: a header, its records or a block of its map */
    size_t padding; /* bytes to skip after them */
    struct buf collected;
    /* From records before the header of a member: */
    bool has_records;
    struct buf long_name; /* empty: the name is in the header */
    bool has_size, has_time, is_sparse;
    bool has_sparse_name; /* the name is that of a sparse file, which replaces others */
    uint64_t record_size;
    int64_t time_s;
    struct buf name; /* of the reported member */
    struct trace_tar_member member;
    const char *error; /* message, if the archive is corrupt */
};

struct trace_tar *trace_tar_new(void)
{
    struct trace_tar *t = calloc(1, sizeof(*t));
    if (t)
        t->need = BLOCK;
    return t;
}

void trace_tar_free(struct trace_tar *t)
{
    if (!t)
        return;
    buf_done(&t->collected);
    buf_done(&t->long_name);
    buf_done(&t->name);
    free(t);
}

uint64_t trace_tar_next_offset(const struct trace_tar *t)
{
    return t->at;
}

const char *trace_tar_kind_name(enum trace_tar_kind kind)
{
    static const char *const names[] = {"file", "directory", "link", "sparse", "other"};
    return kind <= TRACE_TAR_OTHER ? names[kind] : "unknown";
}

const char *trace_tar_error(const struct trace_tar *t)
{
    return t->error;
}

static int set_corrupt(struct trace_tar *t, const char *error)
{
    t->error = error;
    return ERR_CORRUPT;
}

bool trace_tar_is_between_members(const struct trace_tar *t)
{
    return t->state == WALK_HEADER && !t->collected.len && !t->has_records;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* Parses octal digits between blanks, or base 256 with the top bit set. A NUL before them ends the
 * previous field, if that was too long (GNU tar). */
static bool parse_number(const char *field, size_t len, uint64_t *ret)
{
    size_t i = 0;
    *ret = 0;
    if (*field == '\0') {
        field++;
        len--;
    }
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

/* Returns true if the checksum is right. Some old programs sum signed bytes. */
static bool checksum_fits(const struct header *h)
{
    const unsigned char *byte = (const unsigned char *)h;
    const size_t from = offsetof(struct header, checksum), to = from + sizeof(h->checksum);
    uint64_t stored;
    int64_t sum = 0, signed_sum = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        bool own = i >= from && i < to;
        sum += own ? ' ' : byte[i];
        signed_sum += own ? ' ' : (signed char)byte[i];
    }
    return parse_number(h->checksum, sizeof(h->checksum), &stored) &&
           ((int64_t)stored == sum || (int64_t)stored == signed_sum);
}

static struct text field_text(const char *field, size_t len)
{
    return (struct text){field, strnlen(field, len)};
}

/* ---- records before a header ----------------------------------------------------------------- */

/* Removes the first record from `records`, "<length> key=value\n"; the length includes its own
 * digits. */
static bool next_record(struct text *records, struct text *key, struct text *value)
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

static int set_long_name(struct trace_tar *t, const char *field, size_t len)
{
    buf_clear(&t->long_name);
    buf_text(&t->long_name, field_text(field, len));
    return t->long_name.error;
}

/* An empty value removes the effect of earlier records with the same key (POSIX pax). */
static int read_records(struct trace_tar *t)
{
    struct text records = {t->collected.data, t->collected.len}, key, value, seconds;
    uint64_t time;
    while (records.len) {
        if (!next_record(&records, &key, &value))
            return set_corrupt(t, "an invalid pax record");
        bool sparse_name = text_eq(key, TEXT("GNU.sparse.name"));
        t->is_sparse = t->is_sparse || text_starts(key, TEXT("GNU.sparse"));
        if (sparse_name || (text_eq(key, TEXT("path")) && !t->has_sparse_name)) {
            t->has_sparse_name = sparse_name; /* "path" is then a generated name */
            set_long_name(t, value.ptr, value.len);
        } else if (text_eq(key, TEXT("size"))) {
            t->has_size = value.len > 0;
            if (t->has_size && num_parse_u64(value, &t->record_size) < 0)
                return set_corrupt(t, "an invalid pax record");
        } else if (text_eq(key, TEXT("mtime"))) {
            /* The fraction of the seconds is ignored, and so are invalid numbers. */
            t->has_time = text_split(&value, '.', &seconds) && num_parse_u64(seconds, &time) == 0 &&
                          time >> 40 == 0;
            if (t->has_time)
                t->time_s = (int64_t)time;
        }
    }
    return t->long_name.error;
}

/* ---- members --------------------------------------------------------------------------------- */

static void collect_next(struct trace_tar *t, enum walk_state state, size_t need)
{
    t->state = state;
    t->need = need;
    t->padding = (size_t)(-need % BLOCK);
    buf_clear(&t->collected);
}

static int skip_text(struct trace_tar *t, uint64_t size)
{
    if (size > INT64_MAX - 2 * BLOCK - t->at)
        return set_corrupt(t, "it is truncated"); /* no file is that large */
    t->at += (size + BLOCK - 1) / BLOCK * BLOCK;
    return 0;
}

/* Removes empty components and ".", as a file system does. */
static size_t normalise_path(char *name, size_t len)
{
    size_t to = 0;
    for (size_t at = 0, n; at < len; at += n + 1) {
        const char *end = memchr(name + at, '/', len - at);
        n = end ? (size_t)(end - (name + at)) : len - at;
        if (!n || (n == 1 && name[at] == '.'))
            continue;
        if (to)
            name[to++] = '/';
        memmove(name + to, name + at, n);
        to += n;
    }
    return to;
}

static struct text stored_name(const struct trace_tar *t, const struct header *h)
{
    if (t->long_name.len)
        return (struct text){t->long_name.data, t->long_name.len};
    return field_text(h->name, sizeof(h->name));
}

/* Sets the name as tar would extract it: without a leading "/" or "./", a trailing "/", and empty
 * components. */
static int set_name(struct trace_tar *t, const struct header *h)
{
    struct text name;
    buf_clear(&t->name);
    if (!t->long_name.len && memcmp(h->magic, "ustar", sizeof(h->magic)) == 0 && *h->prefix) {
        buf_text(&t->name, field_text(h->prefix, sizeof(h->prefix)));
        buf_putc(&t->name, '/');
    }
    buf_text(&t->name, stored_name(t, h));
    buf_putc(&t->name, '\0');
    if (t->name.error)
        return t->name.error;
    name = (struct text){t->name.data, t->name.len - 1};
    t->member.absolute = text_starts(name, TEXT("/"));
    while (text_starts(name, TEXT("/")) || text_starts(name, TEXT("./"))) {
        size_t n = *name.ptr == '/' ? 1 : 2;
        name.ptr += n;
        name.len -= n;
    }
    if (!text_eq(name, TEXT(".")))
        name.len = normalise_path(t->name.data + (name.ptr - t->name.data), name.len);
    t->name.data[name.ptr - t->name.data + (ptrdiff_t)name.len] = '\0';
    t->member.name = name;
    return 0;
}

static enum trace_tar_kind member_kind(const struct trace_tar *t, const struct header *h)
{
    switch (h->type) {
    case '\0':
    case '0':
    case '7':
        if (text_ends(stored_name(t, h), TEXT("/"))) /* directories of the V7 format */
            return TRACE_TAR_DIRECTORY;
        return t->is_sparse ? TRACE_TAR_SPARSE : TRACE_TAR_FILE;
    case '1':
    case '2':
        return TRACE_TAR_LINK;
    case '5':
        return TRACE_TAR_DIRECTORY;
    case 'S':
        return TRACE_TAR_SPARSE;
    default:
        return TRACE_TAR_OTHER;
    }
}

static int report_member(struct trace_tar *t, struct trace_tar_member *ret)
{
    t->member.offset = t->at;
    int rc = skip_text(t, t->member.size);
    if (rc < 0)
        return rc;
    buf_clear(&t->long_name);
    t->has_records = t->has_size = t->has_time = t->is_sparse = t->has_sparse_name = false;
    collect_next(t, WALK_HEADER, BLOCK);
    *ret = t->member;
    return 1;
}

static int read_member(struct trace_tar *t, const struct header *h, uint64_t size,
                       struct trace_tar_member *ret)
{
    uint64_t mtime;
    int rc = set_name(t, h);
    if (rc < 0)
        return rc;
    if (!parse_number(h->mtime, sizeof(h->mtime), &mtime) || mtime >> 40)
        mtime = 0;
    t->member.kind = member_kind(t, h);
    /* Links, directories and devices have no text, whatever the size in their headers. */
    bool empty = h->type >= '1' && h->type <= '6';
    t->member.size = empty ? 0 : t->has_size ? t->record_size : size;
    t->member.mtime_s = t->has_time ? t->time_s : (int64_t)mtime;
    if (h->type == 'S' && ((const char *)h)[SPARSE_HEADER_CONTINUES]) {
        collect_next(t, WALK_MAP, BLOCK);
        return 0;
    }
    return report_member(t, ret);
}

static int read_header(struct trace_tar *t, struct trace_tar_member *ret)
{
    struct header h;
    uint64_t size;
    memcpy(&h, t->collected.data, BLOCK);
    static const char zeros[BLOCK];
    if (memcmp(&h, zeros, BLOCK) == 0) {
        buf_clear(&t->collected);
        return ERR_END;
    }
    if (!checksum_fits(&h))
        return set_corrupt(t, t->at == BLOCK
                                  ? "it is not a tar archive, or compressed in an unsupported way"
                                  : "a corrupt header");
    if (!parse_number(h.size, sizeof(h.size), &size))
        return set_corrupt(t, "an invalid size");
    bool records = h.type == 'x' || h.type == 'X', name = h.type == 'L';
    if (!records && !name && h.type != 'K' && h.type != 'g')
        return read_member(t, &h, size, ret);
    t->has_records |= h.type != 'g'; /* those are of no member */
    collect_next(t, WALK_HEADER, BLOCK);
    if (!records && !name)
        return skip_text(t, size);
    if (!size || size > RECORDS_MAX)
        return set_corrupt(t, size ? "a name record is too long" : "a name record is empty");
    collect_next(t, records ? WALK_RECORDS : WALK_NAME,
                 (size_t)(records ? size : size + -size % BLOCK));
    return 0;
}

/* Processes the collected bytes. Returns 1 if a member is reported. */
static int process_collected(struct trace_tar *t, struct trace_tar_member *ret)
{
    int rc;
    t->at += t->padding;
    t->padding = 0;
    switch (t->state) {
    case WALK_HEADER:
        return read_header(t, ret);
    case WALK_MAP:
        if (!t->collected.data[SPARSE_BLOCK_CONTINUES])
            return report_member(t, ret);
        collect_next(t, WALK_MAP, BLOCK);
        return 0;
    default: /* In the GNU format, the record is the name, whose NUL may be in the padding. */
        rc = t->state == WALK_RECORDS ? read_records(t)
                                      : set_long_name(t, t->collected.data, t->collected.len);
        collect_next(t, WALK_HEADER, BLOCK);
        return rc;
    }
}

int trace_tar_next(struct trace_tar *t, const char *text, size_t len, struct trace_tar_member *ret)
{
    const uint64_t from = t->at;
    while (t->at - from < len) {
        size_t used = (size_t)(t->at - from), left = t->need - t->collected.len;
        size_t n = len - used < left ? len - used : left;
        buf_append(&t->collected, text + used, n);
        if (t->collected.error)
            return t->collected.error;
        t->at += n;
        int rc = n == left ? process_collected(t, ret) : 0;
        if (rc != 0)
            return rc;
    }
    return 0;
}
