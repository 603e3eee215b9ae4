/* tar.c - tar archives as a stream: POSIX ustar headers, and pax records for values that do not
 * fit. */
#include "rewrite/archive_writer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 512, MEMBER_NAME_MAX = 4000 };

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
    char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

static void put_zeros(struct buf *out, size_t n)
{
    char *p = buf_reserve(out, n);
    if (!p)
        return;
    memset(p, 0, n);
    out->len += n;
}

static unsigned padding_of(uint64_t size)
{
    return (unsigned)(-size % BLOCK);
}

/* Writes octal digits and a NUL; a number with more digits is big-endian with the top bit set, as
 * GNU and BSD tar read it. */
static void put_octal(char *field, size_t size, uint64_t value)
{
    if (value >> 3 * (size - 1)) {
        memset(field, 0, size);
        for (size_t i = 0; i < 8; i++)
            field[size - 1 - i] = (char)(value >> 8 * i);
        field[0] = (char)0x80;
        return;
    }
    for (size_t i = size - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

/* Returns false if the name needs a pax record; the header then has its start, or all of it if only
 * its characters are not ASCII. */
static bool put_name(struct header *h, struct text name)
{
    bool ascii = true;
    for (size_t i = 0; i < name.len; i++)
        ascii &= (unsigned char)name.ptr[i] < 0x80;
    size_t cut = 0; /* bytes of the prefix */
    if (name.len > sizeof h->name) {
        for (cut = name.len - sizeof h->name - 1; cut < name.len && name.ptr[cut] != '/'; cut++)
            ;
        if (!cut || cut > sizeof h->prefix || cut + 1 >= name.len) {
            memcpy(h->name, name.ptr, sizeof h->name);
            return false;
        }
        memcpy(h->prefix, name.ptr, cut);
        cut++;
    }
    memcpy(h->name, name.ptr + cut, name.len - cut);
    return ascii;
}

static void put_header(struct header *h, char type, unsigned mode, uint64_t size, uint64_t mtime,
                       struct buf *out)
{
    unsigned sum = 0;
    put_octal(h->mode, sizeof h->mode, mode);
    put_octal(h->uid, sizeof h->uid, 0);
    put_octal(h->gid, sizeof h->gid, 0);
    put_octal(h->size, sizeof h->size, size);
    put_octal(h->mtime, sizeof h->mtime, mtime);
    h->type = type;
    memcpy(h->magic, "ustar", 6);
    memcpy(h->version, "00", 2);
    memset(h->checksum, ' ', sizeof h->checksum);
    for (size_t i = 0; i < BLOCK; i++)
        sum += ((const unsigned char *)h)[i];
    put_octal(h->checksum, 7, sum); /* six digits, NUL, blank */
    h->checksum[6] = '\0';
    buf_append(out, h, BLOCK);
}

/* Writes "<length> key=value\n", where the length counts its own digits. */
static void put_record(struct buf *records, const char *key, struct text value)
{
    size_t rest = 1 + strlen(key) + 1 + value.len + 1, digits = 1, power = 10;
    while (rest + digits >= power)
        digits++, power *= 10;
    buf_printf(records, "%zu %s=", rest + digits, key);
    buf_text(records, value);
    buf_putc(records, '\n');
}

static void put_pax(const struct tar_entry *e, bool name, bool size, struct buf *out)
{
    struct header h = {.name = "PaxHeaders/next"};
    struct buf records = {0};
    char number[24];
    if (name)
        put_record(&records, "path", e->name);
    if (size)
        put_record(&records, "size", (struct text){number, num_format_u64(e->size, number)});
    put_header(&h, 'x', 0644, records.len, (uint64_t)e->mtime_s, out);
    buf_append(out, records.data, records.len);
    put_zeros(out, padding_of(records.len));
    if (records.error)
        out->error = records.error;
    buf_done(&records);
}

bool tar_name_is_safe(struct text name)
{
    struct text rest = name, part;
    if (!name.len || name.len > MEMBER_NAME_MAX || name.ptr[0] == '/' ||
        name.ptr[name.len - 1] == '/' || memchr(name.ptr, '\0', name.len))
        return false;
    while (text_split(&rest, '/', &part))
        if (text_eq(part, TEXT("..")))
            return false;
    return true;
}

int tar_begin(struct tar *t, const struct tar_entry *e, struct buf *out)
{
    struct header h = {0};
    assert(!t->left && !t->padding && e->mtime_s >= 0);
    if (!tar_name_is_safe(e->name))
        return -EINVAL;
    bool long_name = !put_name(&h, e->name), long_size = e->size >> 33;
    if (long_name || long_size)
        put_pax(e, long_name, long_size, out);
    put_header(&h, '0', e->mode ? e->mode : 0644, e->size, (uint64_t)e->mtime_s, out);
    t->left = e->size;
    t->padding = padding_of(e->size);
    return 0;
}

void tar_count(struct tar *t, size_t len)
{
    assert(len <= t->left);
    t->left -= len;
}

void tar_end(struct tar *t, struct buf *out)
{
    assert(!t->left);
    put_zeros(out, t->padding);
    t->padding = 0;
}

void tar_finish(struct tar *t, struct buf *out)
{
    assert(!t->left && !t->padding);
    put_zeros(out, 2 * BLOCK);
}
