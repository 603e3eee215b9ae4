/* module: trace; paths */
/* fuzz_gzip.c - any bytes as a trace file: both libraries, in large and small steps, deliver the
 * same text, checkpoints and damage, chunks hold the same text, and it can be read again from every
 * checkpoint. It is the text that a bare loop over zlib's gzip decoder gives, member by member, up
 * to the first that this refuses; then there is damage.
 */
#include "dftracerd/trace.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_MAX (1u << 20) /* bombs are read this far */
#define INPUT_MAX 65536

struct result {
    char *text;
    size_t len;
    bool whole;
    struct trace_reader *reader;
    const struct trace_checkpoint *checkpoints;
    const struct trace_damage *damage;
    size_t checkpoint_count, damage_count;
    struct trace_reader_info info;
};

static struct result read_text(int fd, enum trace_engine engine, size_t step,
                               const struct trace_checkpoint *from)
{
    struct trace_reader_options options = {engine, 65536};
    struct result r = {malloc(TEXT_MAX), 0, false, NULL, NULL, NULL, 0, 0, {0}};
    if (!r.text || trace_reader_open(fd, &options, from, NULL, &r.reader) != 0)
        abort();
    for (int pass = 0; pass < 2; pass++) {
        ssize_t n = 1;
        while (r.len < TEXT_MAX && n > 0) {
            n = trace_reader_read(r.reader, r.text + r.len,
                                  step < TEXT_MAX - r.len ? step : TEXT_MAX - r.len);
            if (n < 0)
                abort();
            r.len += (size_t)n;
        }
        r.whole = n == 0;
        if (r.whole)
            trace_reader_finish(r.reader);
    }
    r.checkpoint_count = trace_reader_checkpoints(r.reader, &r.checkpoints);
    r.damage_count = trace_reader_damage(r.reader, &r.damage);
    trace_reader_info(r.reader, &r.info);
    return r;
}

static void result_done(struct result *r)
{
    trace_reader_close(r->reader);
    free(r->text);
}

static void need(bool good)
{
    if (!good)
        abort();
}

static void compare(const struct result *a, const struct result *b)
{
    need(a->len == b->len && memcmp(a->text, b->text, a->len) == 0);
    need(a->whole == b->whole && a->checkpoint_count == b->checkpoint_count &&
         a->damage_count == b->damage_count);
    for (size_t i = 0; i < a->checkpoint_count; i++) {
        const struct trace_checkpoint *p = &a->checkpoints[i], *q = &b->checkpoints[i];
        need(p->text_offset == q->text_offset && p->file_offset == q->file_offset &&
             p->bits == q->bits);
        need(p->kind == q->kind && p->window_len == q->window_len);
        need(p->window_len == 0 || memcmp(p->window, q->window, p->window_len) == 0);
    }
    for (size_t i = 0; i < a->damage_count; i++) {
        const struct trace_damage *p = &a->damage[i], *q = &b->damage[i];
        need(p->kind == q->kind && p->file_from == q->file_from && p->file_to == q->file_to);
        need(p->text_offset == q->text_offset);
    }
    need(!a->whole ||
         (a->info.file_offset == b->info.file_offset && a->info.members == b->info.members));
    need(!a->whole || a->info.in_gzip_member == b->info.in_gzip_member);
}

/* Where nothing is damaged the text from a checkpoint on is the same; elsewhere it must only be
 * read. */
static void resume(int fd, const struct result *all)
{
    for (size_t i = 0; i < all->checkpoint_count && i < 8; i++) {
        const struct trace_checkpoint *at = &all->checkpoints[i];
        struct result a = read_text(fd, TRACE_ENGINE_ZLIB, 65536, at);
        struct result b = read_text(
            fd, trace_engine_available(TRACE_ENGINE_ISAL) ? TRACE_ENGINE_ISAL : TRACE_ENGINE_ZLIB,
            7777, at);
        compare(&a, &b);
        if (all->damage_count == 0 && all->whole) {
            need(a.whole && a.len == all->len - at->text_offset);
            need(memcmp(a.text, all->text + at->text_offset, a.len) == 0);
        }
        result_done(&a);
        result_done(&b);
    }
}

static void chunks(int fd, const struct result *all)
{
    struct trace_reader *r;
    struct trace_chunker *c;
    struct trace_chunk chunk;
    size_t done = 0;
    need(trace_reader_open(fd, NULL, NULL, NULL, &r) == 0 &&
         trace_chunker_new(r, 65536, 0, &c) == 0);
    int rc;
    while (done < all->len && (rc = trace_chunker_next(c, true, &chunk)) == 0) {
        size_t len = chunk.len < all->len - done ? chunk.len : all->len - done;
        need(chunk.text_offset == done && memcmp(chunk.text, all->text + done, len) == 0);
        done += chunk.len;
        trace_chunk_done(&chunk);
    }
    need(done >= all->len);
    trace_chunker_free(c);
    trace_reader_close(r);
}

/* What zlib says of a file that begins with a member. */
struct plain {
    char *text;
    size_t len; /* of whole members */
    uint64_t members;
    bool all, bad; /* nothing follows the last one; the next one is refused */
};

/* One member; Z_BUF_ERROR: the input ends in it, or it has too much text. */
static int inflate_member(z_stream *z, struct plain *p)
{
    z->next_out = (unsigned char *)p->text + p->len;
    z->avail_out = (unsigned)(TEXT_MAX - p->len);
    need(inflateReset(z) == Z_OK);
    int rc = inflate(z, Z_FINISH);
    if (rc == Z_STREAM_END) {
        p->len = TEXT_MAX - z->avail_out;
        p->members++;
    }
    return rc;
}

static struct plain inflate_all(const uint8_t *data, size_t size)
{
    struct plain p = {.text = malloc(TEXT_MAX)};
    z_stream z = {.next_in = (unsigned char *)data, .avail_in = (unsigned)size};
    int rc = Z_STREAM_END;

    need(p.text && inflateInit2(&z, 15 + 16) == Z_OK);
    while (rc == Z_STREAM_END && z.avail_in > 2 && memcmp(z.next_in, "\x1f\x8b\x08", 3) == 0)
        rc = inflate_member(&z, &p);
    p.all = rc == Z_STREAM_END && z.avail_in == 0 && p.members > 0;
    p.bad = rc == Z_DATA_ERROR;
    inflateEnd(&z);
    return p;
}

static void compare_plain(const struct result *r, const uint8_t *data, size_t size)
{
    struct plain p = inflate_all(data, size);

    need(r->len >= p.len && memcmp(r->text, p.text, p.len) == 0);
    if (p.all && r->whole)
        need(r->len == p.len && r->damage_count == 0 && r->info.members == p.members &&
             !r->info.in_gzip_member);
    need(!p.bad || !r->whole || r->damage_count > 0);
    free(p.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX)
        return 0;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    need(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    struct result a = read_text(fd, TRACE_ENGINE_ZLIB, TEXT_MAX, NULL);
    struct result small = read_text(fd, TRACE_ENGINE_ZLIB, 3001, NULL);
    compare(&a, &small);
    compare_plain(&a, data, size);
    result_done(&small);
    if (trace_engine_available(TRACE_ENGINE_ISAL)) {
        for (size_t step = TEXT_MAX; step; step = step == TEXT_MAX ? 999 : 0) {
            struct result b = read_text(fd, TRACE_ENGINE_ISAL, step, NULL);
            compare(&a, &b);
            result_done(&b);
        }
    }
    resume(fd, &a);
    if (a.len < TEXT_MAX)
        chunks(fd, &a);
    result_done(&a);
    close(fd);
    return 0;
}
