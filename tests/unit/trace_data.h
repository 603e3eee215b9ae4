/* trace_data.h - files for the tests of the trace module: real traces, and gzip
 * streams made here. */
#ifndef TRACE_DATA_H
#define TRACE_DATA_H

#include "check.h"
#include "dftracerd/trace.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

struct bytes {
    uint8_t *data;
    size_t len, cap;
};

static void __attribute__((unused)) bytes_add(struct bytes *b, const void *data, size_t len)
{
    if (b->len + len + 1 > b->cap) {
        b->cap = (b->len + len + 1) * 2;
        b->data = realloc(b->data, b->cap);
        if (!b->data)
            abort();
    }
    if (len)
        memcpy(b->data + b->len, data, len);
    b->len += len;
}

static void __attribute__((unused)) bytes_done(struct bytes *b)
{
    free(b->data);
    memset(b, 0, sizeof(*b));
}

static uint64_t __attribute__((unused)) random_next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Event lines, about `len` bytes of them. */
static struct bytes __attribute__((unused)) make_lines(size_t len, uint64_t seed)
{
    static const char *const names[] = {"read", "write", "open64", "lseek64", "close", "stat"};
    struct bytes b = {0};
    char line[512];
    bytes_add(&b, "[\n", 2);
    for (uint64_t id = 0, ts = 1700000000000000; b.len < len; id++) {
        uint64_t r = random_next(&seed);
        ts += r % 97;
        int n = snprintf(line, sizeof(line),
                         "{\"id\":%" PRIu64
                         ",\"name\":\"%s\",\"cat\":\"POSIX\",\"pid\":%d,\"tid\":%d,\"ts\":%" PRIu64
                         ",\"dur\":%d,\"ph\":\"X\",\"args\":{\"hhash\":\"%04x\",\"fhash\":\"%08x\","
                         "\"ret\":%d}}\n",
                         id, names[r % 6], 1000 + (int)(r >> 8) % 8, 1000 + (int)(r >> 8) % 8, ts,
                         (int)(r >> 16) % 5000, (unsigned)(r >> 30) % 3,
                         (unsigned)((r >> 32) % 500 * 2654435761u), 4096 * ((int)(r >> 44) % 64));
        bytes_add(&b, line, (size_t)n);
    }
    return b;
}

/* Appends one gzip member with the text. `header` (may be NULL) is passed to deflateSetHeader. */
static void __attribute__((unused)) add_member(struct bytes *out, const void *text, size_t len,
                                               int level, int strategy, gz_header *header)
{
    z_stream z = {0};
    if (deflateInit2(&z, level, Z_DEFLATED, 31, 8, strategy) != Z_OK)
        abort();
    if (header)
        deflateSetHeader(&z, header);
    size_t bound = deflateBound(&z, len) + 1024;
    bytes_add(out, NULL, 0);
    struct bytes one = {malloc(bound), 0, bound};
    z.next_in = (Bytef *)text;
    z.avail_in = (uInt)len;
    z.next_out = one.data;
    z.avail_out = (uInt)bound;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    bytes_add(out, one.data, z.total_out);
    deflateEnd(&z);
    bytes_done(&one);
}

static int __attribute__((unused)) memory_file(const void *data, size_t len)
{
    int fd = memfd_create("trace", 0);
    if (fd < 0 || pwrite(fd, data, len, 0) != (ssize_t)len)
        abort();
    return fd;
}

/* Everything a reader says about a file. */
struct reading {
    struct bytes text;
    struct trace_reader *reader;
    const struct trace_checkpoint *checkpoints;
    const struct trace_damage *damage;
    size_t checkpoint_count, damage_count;
    ssize_t rc;
};

static struct reading __attribute__((unused))
read_from(int fd, enum trace_engine engine, uint64_t checkpoint_size, size_t step,
          const struct trace_checkpoint *from)
{
    struct reading r = {0};
    struct trace_reader_options options = {engine, checkpoint_size};
    char *buf = malloc(step);
    r.rc = trace_reader_open(fd, &options, from, NULL, &r.reader);
    if (r.rc == 0) {
        for (int pass = 0; pass < 2; pass++) {
            while ((r.rc = trace_reader_read(r.reader, buf, step)) > 0)
                bytes_add(&r.text, buf, (size_t)r.rc);
            trace_reader_finish(r.reader);
        }
        r.checkpoint_count = trace_reader_checkpoints(r.reader, &r.checkpoints);
        r.damage_count = trace_reader_damage(r.reader, &r.damage);
    }
    free(buf);
    return r;
}

static void __attribute__((unused)) reading_done(struct reading *r)
{
    trace_reader_close(r->reader);
    bytes_done(&r->text);
}

/* True if both readings are the same in every respect. */
static bool __attribute__((unused)) same_reading(const struct reading *a, const struct reading *b)
{
    struct trace_reader_info x, y;
    bool same = a->rc == b->rc && a->text.len == b->text.len &&
                a->checkpoint_count == b->checkpoint_count && a->damage_count == b->damage_count &&
                (a->text.len == 0 || memcmp(a->text.data, b->text.data, a->text.len) == 0);
    for (size_t i = 0; same && i < a->checkpoint_count; i++) {
        const struct trace_checkpoint *p = &a->checkpoints[i], *q = &b->checkpoints[i];
        same = p->text_offset == q->text_offset && p->file_offset == q->file_offset &&
               p->bits == q->bits && p->kind == q->kind && p->window_len == q->window_len &&
               (!p->window_len || memcmp(p->window, q->window, p->window_len) == 0);
    }
    for (size_t i = 0; same && i < a->damage_count; i++) {
        const struct trace_damage *p = &a->damage[i], *q = &b->damage[i];
        same = p->kind == q->kind && p->file_from == q->file_from && p->file_to == q->file_to &&
               p->text_offset == q->text_offset;
    }
    if (!same || a->rc < 0)
        return same;
    trace_reader_info(a->reader, &x);
    trace_reader_info(b->reader, &y);
    return x.format == y.format && x.file_offset == y.file_offset &&
           x.text_offset == y.text_offset && x.members == y.members &&
           x.in_gzip_member == y.in_gzip_member && x.empty == y.empty;
}

/* Calls visit for every real trace (of folders that are wanted: check.h); false when there are
 * none. */
static bool __attribute__((unused)) each_trace(void (*visit)(const char *path))
{
    const char *shared = getenv("DFTRACERD_SHARED");
    char folder[600], path[1200];
    bool any = false;
    snprintf(folder, sizeof(folder), "%s/traces", shared && *shared ? shared : "../shared");
    DIR *top = opendir(folder);
    for (struct dirent *d; top && (d = readdir(top));) {
        snprintf(path, sizeof(path), "%s/%s", folder, d->d_name);
        DIR *sub = check_folder(d->d_name) ? opendir(path) : NULL;
        for (struct dirent *e; sub && (e = readdir(sub));) {
            char file[1600];
            snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
            if (!strstr(e->d_name, ".pfw"))
                continue;
            any = true;
            visit(file);
        }
        if (sub)
            closedir(sub);
    }
    if (top)
        closedir(top);
    return any;
}

/* What zlib alone makes of a whole gzip file, or the file itself. */
static struct bytes __attribute__((unused)) plain_text(int fd)
{
    struct bytes b = {0};
    char buf[65536];
    int n;
    gzFile f = gzdopen(dup(fd), "rb");
    lseek(fd, 0, SEEK_SET);
    while ((n = gzread(f, buf, sizeof(buf))) > 0)
        bytes_add(&b, buf, (size_t)n);
    gzclose(f);
    return b;
}

#endif
