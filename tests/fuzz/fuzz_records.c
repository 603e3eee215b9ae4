/* module: index; paths */
/* fuzz_records.c - values of the store as they may stand on a damaged disk: files, names,
 * summaries, checkpoints. Each gives an error or something that can be used; what can be used is
 * encoded as something that decodes to the same.
 *
 * Input: a byte that chooses the kind of record, then the record. */
#include "column/chunk/bloom.h"
#include "index/catalog/catalog_record.h"
#include "index/catalog/names.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct index ix;

/* A store that knows a few texts. */
static void begin(void)
{
    char name[16];

    if (!ix.index_params)
        ix.index_params = index_params_new(4 << 20, 0.01, NULL);
    ix.texts = texts_new();
    assert(ix.index_params && ix.texts);
    for (int i = 0; i < 40; i++)
        texts_add(ix.texts, (struct text){name, (size_t)snprintf(name, sizeof name, "text %d", i)});
}

static void need_same(const struct buf *a, const struct buf *b)
{
    assert(a->error == 0 && b->error == 0);
    assert(a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0));
}

static struct text bytes_of(const struct buf *b)
{
    return (struct text){b->data, b->len};
}

/* ---- files ----------------------------------------------------------------------------------- */

static void read_body(const struct view *v)
{
    const struct index_file *f = &v->pub;

    assert(f->state <= INDEX_MISSING && v->state_before <= INDEX_MISSING);
    assert(f->format <= TRACE_GZIP && f->unit <= TRACE_SEC);
    assert(f->damage_count == 0 || f->damage);
    for (uint32_t i = 0; i < f->damage_count && i < INDEX_DAMAGE_KEPT; i++)
        assert(trace_damage_name((enum trace_damage_kind)f->damage[i].kind));
    for (uint32_t i = 0; i < f->process_count; i++)
        texts_get(ix.texts, f->processes[i].host);
    for (unsigned i = 0; v->filters && i < v->index_params->dimension_count; i++)
        if (v->filters[i].bits)
            bloom_may_have(v->filters[i].bits, v->filters[i].len, i * 0x9E3779B97F4A7C15u);
}

static void file(struct text value)
{
    struct view *v = NULL, *again = NULL;
    struct buf once = {0}, twice = {0};

    int rc = file_decode(&ix, 1, rec_of(value), &v);
    assert(rc == 0 || rc == ERR_CORRUPT);
    if (rc < 0)
        return;
    read_body(v);
    file_encode(&ix, v, &once);
    assert(file_decode(&ix, 1, rec_of(bytes_of(&once)), &again) == 0);
    file_encode(&ix, again, &twice);
    need_same(&once, &twice);
    view_release(v);
    view_release(again);
    buf_done(&once);
    buf_done(&twice);
}

/* ---- names, summaries ------------------------------------------------------------------------ */

static void names(struct text value)
{
    struct index_name *list = NULL;
    struct text *lines = NULL;
    char *bytes = NULL;
    uint32_t count = 0;
    size_t sum = 0;

    int rc = names_decode(&ix, rec_of(value), &list, &count, &lines, &bytes);
    assert(rc == 0 || rc == ERR_CORRUPT);
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        assert(list[i].kind <= INDEX_CM);
        sum += text_hash(lines[i]) + texts_get(ix.texts, list[i].hash).len;
    }
    if (rc == 0 && sum != 1)
        names_sort(list, count);
    free(list);
    free(lines);
    free(bytes);
}

static void use_part(struct part *p)
{
    struct index_process *processes = NULL;
    struct part *sum = part_new();
    uint32_t count = 0;

    assert(sum);
    part_merge(sum, p);
    part_merge(sum, p);
    assert(part_processes(sum, &processes, &count) == 0);
    free(processes);
    part_free(sum);
}

static void summary(struct text value)
{
    struct rec r = rec_of(value), r2;
    struct part *p = NULL, *again = NULL;
    struct buf once = {0}, twice = {0};

    int rc = part_decode(&r, ix.texts, &p);
    assert(rc == 0 || rc == ERR_CORRUPT);
    if (rc < 0)
        return;
    use_part(p);
    part_encode(p, ix.texts, &once);
    r2 = rec_of(bytes_of(&once));
    assert(part_decode(&r2, ix.texts, &again) == 0 && r2.ptr == r2.end);
    part_encode(again, ix.texts, &twice);
    need_same(&once, &twice);
    part_free(p);
    part_free(again);
    buf_done(&once);
    buf_done(&twice);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* A gzip file of one member, large enough for places in its middle. */
static int gzip_file(void)
{
    static int fd = -1;
    char line[64], path[32];

    if (fd >= 0)
        return fd;
    fd = memfd_create("fuzz", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    gzFile f = gzopen(path, "wb1");
    assert(f);
    for (unsigned i = 0; i < 5000; i++)
        assert(gzwrite(f, line,
                       (unsigned)snprintf(line, sizeof line, "{\"name\":\"%u\",\"ts\":%u}\n", i * i,
                                          i)) > 0);
    assert(gzclose(f) == Z_OK);
    return fd;
}

static int given(void *arg, uint64_t text_offset, struct trace_checkpoint *ret)
{
    (void)text_offset;
    *ret = *(const struct trace_checkpoint *)arg;
    return 0;
}

static void checkpoint(struct text value)
{
    struct rec r = rec_of(value);
    struct trace_checkpoint c = {.text_offset = rec_u(&r), .file_offset = rec_u(&r)};
    struct trace_reader *reader = NULL;
    struct trace_text *text = NULL;
    char out[4096];

    c.bits = (uint8_t)rec_u(&r);
    c.kind = (uint8_t)rec_u(&r);
    struct text window = rec_text(&r);
    if (r.bad)
        return;
    c.window = (const uint8_t *)(window.len ? window.ptr : "");
    c.window_len = (uint32_t)window.len;
    if (trace_reader_open(gzip_file(), NULL, &c, NULL, &reader) == 0) {
        for (int i = 0; i < 20 && trace_reader_read(reader, out, sizeof out) > 0; i++)
            ;
        trace_reader_close(reader);
    }
    assert(trace_text_open(gzip_file(), TRACE_GZIP, TRACE_ENGINE_AUTO, given, &c, &text) == 0);
    trace_text_read(text, c.text_offset + 100, out, 100);
    trace_text_read(text, 1000, out, 100);
    trace_text_close(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const kinds[])(struct text) = {file, names, summary, checkpoint};

    if (size == 0)
        return 0;
    begin();
    kinds[data[0] % 4]((struct text){(const char *)data + 1, size - 1});
    texts_free(ix.texts);
    return 0;
}
