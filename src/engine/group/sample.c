/* sample.c - samples: short lists, then counts per bin. The fast paths are in the header. */
#include "dftracerd/kernel.h"
#include "engine/derived/times.h"
#include "engine/group/encode.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* ---- values as integers of the same order ---------------------------------------------------- */

#define SIGN 0x8000000000000000ull

static uint64_t code_of_i64(int64_t value)
{
    return (uint64_t)value ^ SIGN;
}

static int64_t i64_of_code(uint64_t code)
{
    return (int64_t)(code ^ SIGN);
}

static uint64_t code_of_f64(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits & SIGN ? ~bits : bits | SIGN;
}

static double f64_of_code(uint64_t code)
{
    uint64_t bits = code & SIGN ? code & ~SIGN : ~code;
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Returns a listed value in whole units, as bins count it. */
static double whole_of_code(uint64_t code, uint8_t kind)
{
    if (kind == SAMPLE_DOUBLE)
        return f64_of_code(code);
    double value = (double)i64_of_code(code);
    return kind == SAMPLE_NANO ? value / 1000 : value;
}

static uint64_t recode_value(uint64_t code, uint8_t from, uint8_t to)
{
    if (from == to)
        return code;
    if (to == SAMPLE_NANO)
        return code_of_i64(time_in(i64_of_code(code), false, true));
    return code_of_f64((double)i64_of_code(code));
}

/* Converts all listed values to the kind with the finest unit. */
static void list_refine(struct sample *s, uint8_t kind)
{
    if (kind <= s->kind)
        return;
    uint64_t *list = s->data;
    for (uint32_t i = 0; i < s->n; i++)
        list[i] = recode_value(list[i], s->kind, kind);
    s->kind = kind;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static int sample_to_pages(struct sample_memory *m, struct sample *s);
static int sample_add_whole(struct sample_memory *m, struct sample *s, double value);

static int list_grow(struct sample_memory *m, struct sample *s, uint32_t need)
{
    uint32_t cap = s->cap ? s->cap : 2;

    while (cap < need)
        cap = cap > UINT32_MAX / 2 ? UINT32_MAX : cap * 2;
    uint64_t *list = sample_alloc(m, (size_t)cap * sizeof(*list));
    if (!list)
        return m->error;
    if (s->n)
        memcpy(list, s->data, s->n * sizeof(*list));
    s->data = list;
    s->cap = cap;
    return 0;
}

static int list_add(struct sample_memory *m, struct sample *s, uint64_t code, uint8_t kind)
{
    int rc = 0;

    list_refine(s, kind);
    code = recode_value(code, kind, s->kind);
    if (s->n >= SKETCH_EXACT && !m->exact) {
        rc = sample_to_pages(m, s);
        return rc < 0 ? rc : sample_add_whole(m, s, whole_of_code(code, s->kind));
    }
    if (s->n == UINT32_MAX)
        return ERR_MEMORY_LIMIT;
    if (s->n == s->cap)
        rc = list_grow(m, s, s->n + 1);
    if (rc == 0)
        ((uint64_t *)s->data)[s->n++] = code;
    return rc;
}

int sample_add_listed(struct sample_memory *m, struct sample *s, int64_t value,
                      enum sample_kind kind)
{
    return list_add(m, s, code_of_i64(value), kind);
}

int sample_add_listed_f64(struct sample_memory *m, struct sample *s, double value)
{
    return list_add(m, s, code_of_f64(value), SAMPLE_DOUBLE);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static int sample_to_pages(struct sample_memory *m, struct sample *s)
{
    const uint64_t *list = s->data;
    struct sample_pages *pages = sample_alloc(m, sizeof(*pages));
    int rc = 0;

    if (!pages)
        return m->error;
    pages->next = m->pages;
    m->pages = pages;
    uint32_t n = s->n;
    s->data = pages;
    s->paged = true;
    s->n = s->cap = 0;
    for (uint32_t i = 0; i < n && rc == 0; i++)
        rc = sample_add_whole(m, s, whole_of_code(list[i], s->kind));
    return rc;
}

static int sample_add_whole(struct sample_memory *m, struct sample *s, double value)
{
    return sample_bin(s, value) ? 0 : sample_add_odd(m, s, value);
}

static int add_to_sketch(struct sketch **sketch, double value)
{
    if (!*sketch)
        *sketch = sketch_new();
    return *sketch ? sketch_add(*sketch, value) : -ENOMEM;
}

int sample_add_odd(struct sample_memory *m, struct sample *s, double value)
{
    struct sample_pages *pages = s->data;
    uint64_t bits;

    if (value == 0) {
        pages->zeros++;
        return 0;
    }
    if (value < 0)
        return add_to_sketch(&pages->negative, value);
    memcpy(&bits, &value, sizeof(bits));
    uint64_t bin = (bits >> 45) - SAMPLE_BASE;
    if (bin >= SAMPLE_OCTAVES * SAMPLE_PAGE)
        return add_to_sketch(value < 1 ? &pages->tiny : &pages->huge, value);
    uint32_t *page = sample_alloc(m, SAMPLE_PAGE * sizeof(*page));
    if (!page)
        return m->error;
    pages->page[bin / SAMPLE_PAGE] = page;
    page[bin % SAMPLE_PAGE] = 1;
    return 0;
}

/* Returns the wide counters of an octave, which are allocated if there are none; NULL: m->error. */
static uint64_t *wide_page(struct sample_memory *m, struct sample_pages *p, unsigned octave)
{
    if (!p->wide[octave])
        p->wide[octave] = sample_alloc(m, SAMPLE_PAGE * sizeof(uint64_t));
    return p->wide[octave];
}

static int wide_add(struct sample_memory *m, struct sample_pages *into,
                    const struct sample_pages *from, unsigned octave)
{
    uint64_t *wide = wide_page(m, into, octave);

    for (unsigned i = 0; wide && i < SAMPLE_PAGE; i++)
        wide[i] += sample_bin_count(from, octave, i);
    return wide ? 0 : m->error;
}

/* Returns false, and adds nothing, if a sum has more than 31 bits. Below that, later additions of
 * lists cannot overflow. */
static bool add_narrow(uint32_t *restrict to, const uint32_t *restrict from)
{
    uint32_t sums[SAMPLE_PAGE], over = 0;

    for (unsigned i = 0; i < SAMPLE_PAGE; i++) {
        sums[i] = to[i] + from[i];
        over |= sums[i];
    }
    if (over >> 31)
        return false;
    memcpy(to, sums, sizeof(sums));
    return true;
}

static int merge_octave(struct sample_memory *m, struct sample_pages *into,
                        const struct sample_pages *from, unsigned octave)
{
    uint32_t **page = &into->page[octave];

    if (from->wide[octave] || into->wide[octave])
        return wide_add(m, into, from, octave);
    if (!*page) {
        *page = sample_alloc(m, SAMPLE_PAGE * sizeof(**page));
        if (!*page)
            return m->error;
        memcpy(*page, from->page[octave], SAMPLE_PAGE * sizeof(**page));
        return 0;
    }
    return add_narrow(*page, from->page[octave]) ? 0 : wide_add(m, into, from, octave);
}

int sample_fold(struct sample_memory *m)
{
    for (struct sample_pages *p = m->pages; p; p = p->next) {
        for (unsigned octave = 0; octave < SAMPLE_OCTAVES; octave++) {
            if (!p->page[octave])
                continue;
            uint64_t *wide = wide_page(m, p, octave);
            if (!wide)
                return m->error;
            for (unsigned i = 0; i < SAMPLE_PAGE; i++)
                wide[i] += p->page[octave][i];
            memset(p->page[octave], 0, SAMPLE_PAGE * sizeof(uint32_t));
        }
    }
    return 0;
}

/* ---- merging --------------------------------------------------------------------------------- */

static int merge_sketch(struct sketch **into, const struct sketch *from)
{
    if (!from)
        return 0;
    if (!*into)
        *into = sketch_new();
    return *into ? sketch_merge(*into, from) : -ENOMEM;
}

static int merge_pages(struct sample_memory *m, struct sample_pages *into,
                       const struct sample_pages *from)
{
    for (unsigned octave = 0; octave < SAMPLE_OCTAVES; octave++) {
        if (!from->page[octave] && !from->wide[octave])
            continue;
        int rc = merge_octave(m, into, from, octave);
        if (rc < 0)
            return rc;
    }
    into->zeros += from->zeros;
    int rc = merge_sketch(&into->negative, from->negative);
    rc = rc < 0 ? rc : merge_sketch(&into->tiny, from->tiny);
    return rc < 0 ? rc : merge_sketch(&into->huge, from->huge);
}

static int merge_sent(struct sample_memory *m, struct sample *into, const struct sample *from);

int sample_merge(struct sample_memory *m, struct sample *into, const struct sample *from)
{
    int rc = 0;

    if (from->sent)
        return merge_sent(m, into, from);
    if (!from->paged) {
        const uint64_t *list = from->data;
        if (!into->paged && m->exact && into->cap - into->n < from->n)
            rc = list_grow(m, into, into->n + from->n);
        for (uint32_t i = 0; i < from->n && rc == 0; i++) {
            if (!into->paged) {
                rc = list_add(m, into, list[i], from->kind);
                continue;
            }
            rc = sample_add_whole(m, into, whole_of_code(list[i], from->kind));
        }
        into->kind = into->kind > from->kind || from->n == 0 ? into->kind : from->kind;
        return rc;
    }
    if (!into->paged)
        rc = sample_to_pages(m, into);
    if (rc < 0)
        return rc;
    if (from->kind > into->kind)
        into->kind = from->kind;
    return merge_pages(m, into->data, from->data);
}

/* ---- encoding -------------------------------------------------------------------------------- */

static void put_sketch(const struct sketch *s, struct buf *out)
{
    struct buf bytes = {0};

    if (s)
        sketch_encode(s, &bytes);
    rec_put_buf(out, &bytes);
    buf_done(&bytes);
}

static int read_sketch(struct rec *r, struct sketch **ret)
{
    struct text bytes = rec_text(r);
    ssize_t n = bytes.len ? sketch_decode(bytes.ptr, bytes.len, ret) : 0;

    r->bad |= n == ERR_CORRUPT || (n >= 0 && (size_t)n != bytes.len);
    return n == -ENOMEM ? -ENOMEM : 0;
}

static bool has_octave(const struct sample_pages *p, unsigned octave)
{
    return p->page[octave] || p->wide[octave];
}

/* The width of a count in a message, in bytes. */
enum width { WIDTH_1, WIDTH_4, WIDTH_8, WIDTHS };
static const uint8_t width_bytes[WIDTHS] = {1, 4, 8};

/* The bins with values, and their counts, in the smallest width that suffices for all. */
struct octave {
    uint64_t bins[SAMPLE_PAGE / 64];
    uint64_t counts[SAMPLE_PAGE];
    uint32_t narrow[SAMPLE_PAGE];
    uint8_t bytes[SAMPLE_PAGE];
    unsigned count;
    enum width width;
};

static void wide_octave(const struct sample_pages *p, unsigned octave, struct octave *ret)
{
    memset(ret->bins, 0, sizeof(ret->bins));
    ret->count = 0;
    ret->width = WIDTH_8;
    for (unsigned i = 0; i < SAMPLE_PAGE; i++) {
        uint64_t count = sample_bin_count(p, octave, i);
        if (!count)
            continue;
        ret->bins[i / 64] |= (uint64_t)1 << i % 64;
        ret->counts[ret->count++] = count;
    }
}

static void read_octave(const struct sample_pages *p, unsigned octave, struct octave *ret)
{
    const struct kernels *k = kernels();

    if (p->wide[octave]) {
        wide_octave(p, octave, ret);
        return;
    }
    k->equal_u32(p->page[octave], SAMPLE_PAGE, 0, ret->bins);
    for (unsigned i = 0; i < SAMPLE_PAGE / 64; i++)
        ret->bins[i] = ~ret->bins[i];
    ret->count = k->keep_u32(p->page[octave], ret->bins, SAMPLE_PAGE, ret->narrow);
    uint32_t any = 0;
    for (unsigned i = 0; i < ret->count; i++) {
        any |= ret->narrow[i];
        ret->bytes[i] = (uint8_t)ret->narrow[i];
    }
    ret->width = any <= UINT8_MAX ? WIDTH_1 : WIDTH_4;
}

static void put_octave(const struct sample_pages *p, unsigned octave, struct buf *out)
{
    struct octave o;

    read_octave(p, octave, &o);
    const void *const counts[WIDTHS] = {o.bytes, o.narrow, o.counts};
    rec_put_u(out, octave * WIDTHS + o.width);
    buf_append(out, o.bins, sizeof(o.bins));
    buf_append(out, counts[o.width], o.count * width_bytes[o.width]);
}

static void put_pages(const struct sample_pages *p, struct buf *out)
{
    size_t begin = encode_begin(out);
    unsigned n = 0;

    rec_put_u(out, p->zeros);
    put_sketch(p->negative, out);
    put_sketch(p->tiny, out);
    put_sketch(p->huge, out);
    for (unsigned octave = 0; octave < SAMPLE_OCTAVES; octave++)
        n += has_octave(p, octave);
    rec_put_u(out, n);
    for (unsigned octave = 0; octave < SAMPLE_OCTAVES; octave++) {
        if (has_octave(p, octave))
            put_octave(p, octave, out);
    }
    encode_end(out, begin);
}

/* An octave in a message: the bins with values, and the position of their counts. */
struct sent_octave {
    uint64_t bins[SAMPLE_PAGE / 64];
    const uint8_t *counts;
    enum width width;
    unsigned octave;
};

static void decode_octave(struct rec *r, struct sent_octave *ret)
{
    uint64_t which = rec_choice(r, SAMPLE_OCTAVES * WIDTHS - 1);
    size_t count = 0;

    *ret = (struct sent_octave){.octave = (unsigned)(which / WIDTHS), .width = which % WIDTHS};
    rec_array(r, ret->bins, sizeof(ret->bins));
    for (unsigned i = 0; i < SAMPLE_PAGE / 64; i++)
        count += (unsigned)__builtin_popcountll(ret->bins[i]);
    size_t bytes = count * width_bytes[ret->width];
    r->bad |= bytes > (size_t)(r->end - r->ptr);
    ret->counts = r->ptr;
    r->ptr += r->bad ? 0 : bytes;
}

static uint64_t count_at(const struct sent_octave *o, unsigned i)
{
    uint64_t wide;
    uint32_t narrow;

    if (o->width == WIDTH_1)
        return o->counts[i];
    if (o->width == WIDTH_8) {
        memcpy(&wide, o->counts + i * sizeof(wide), sizeof(wide));
        return wide;
    }
    memcpy(&narrow, o->counts + i * sizeof(narrow), sizeof(narrow));
    return narrow;
}

/* Adds to one counter, of 31 bits if that suffices, as merge_octave does. */
static int add_count(struct sample_memory *m, struct sample_pages *p, unsigned octave, unsigned bin,
                     uint64_t count)
{
    uint32_t *page = p->page[octave];

    if (page && count <= INT32_MAX && (page[bin] + count) >> 31 == 0) {
        page[bin] += (uint32_t)count;
        return 0;
    }
    uint64_t *wide = wide_page(m, p, octave);
    if (!wide)
        return m->error;
    wide[bin] += count;
    return 0;
}

static int add_octave(struct sample_memory *m, struct sample_pages *p, const struct sent_octave *o)
{
    int rc = 0;

    if (!p->page[o->octave])
        p->page[o->octave] = sample_alloc(m, SAMPLE_PAGE * sizeof(uint32_t));
    if (!p->page[o->octave])
        return m->error;
    for (unsigned i = 0, at = 0; i < SAMPLE_PAGE / 64; i++)
        for (uint64_t bins = o->bins[i]; bins && rc == 0; bins &= bins - 1)
            rc = add_count(m, p, o->octave, i * 64 + (unsigned)__builtin_ctzll(bins),
                           count_at(o, at++));
    return rc;
}

static int add_sketch(struct rec *r, struct sketch **into)
{
    struct sketch *got = NULL;
    int rc = read_sketch(r, &got);

    rc = rc < 0 ? rc : merge_sketch(into, got);
    sketch_free(got);
    return rc;
}

/* Reads pages that put_pages has written, and adds them. */
static int add_pages(struct sample_memory *m, struct rec *r, struct sample_pages *into)
{
    struct sent_octave o;

    into->zeros += rec_u(r);
    int rc = add_sketch(r, &into->negative);
    rc = rc < 0 ? rc : add_sketch(r, &into->tiny);
    rc = rc < 0 ? rc : add_sketch(r, &into->huge);
    uint64_t n = rec_count(r, sizeof(o.bins));
    for (uint64_t k = 0; k < n && rc == 0 && !r->bad; k++) {
        decode_octave(r, &o);
        rc = r->bad ? 0 : add_octave(m, into, &o);
    }
    return rc < 0 ? rc : r->bad || r->ptr != r->end ? ERR_CORRUPT : 0;
}

void sample_encode(const struct sample *s, struct buf *out)
{
    rec_put_u(out, (uint64_t)s->kind << 1 | s->paged);
    if (s->paged) {
        put_pages(s->data, out);
        return;
    }
    rec_put_u(out, s->n);
    if (s->n)
        buf_append(out, s->data, s->n * sizeof(uint64_t));
}

/* Adds the pages of a message. */
static int merge_sent(struct sample_memory *m, struct sample *into, const struct sample *from)
{
    struct rec r = rec_of((struct text){from->data, from->n});
    int rc = into->paged ? 0 : sample_to_pages(m, into);

    into->kind = into->kind > from->kind ? into->kind : from->kind;
    return rc < 0 ? rc : add_pages(m, &r, into->data);
}

/* Kept pages are checked when they are merged. */
static int decode_pages(struct sample_memory *m, struct rec *r, bool keep, struct sample *s)
{
    struct text pages = decode_block(r);

    r->bad |= pages.len > UINT32_MAX;
    if (r->bad)
        return 0;
    struct sample sent = {.data = (void *)(uintptr_t)pages.ptr,
                          .n = (uint32_t)pages.len,
                          .kind = s->kind,
                          .sent = true};
    if (!keep)
        return merge_sent(m, s, &sent);
    *s = sent;
    return 0;
}

int sample_decode(struct sample_memory *m, struct rec *r, bool keep, struct sample *s)
{
    uint64_t kind = rec_choice(r, SAMPLE_DOUBLE << 1 | 1);

    s->kind = (uint8_t)(kind >> 1);
    if (kind & 1)
        return decode_pages(m, r, keep, s);
    uint64_t n = rec_count(r, sizeof(uint64_t));
    r->bad |= n >= UINT32_MAX || (n > SKETCH_EXACT && !m->exact);
    if (r->bad || n == 0)
        return 0;
    int rc = list_grow(m, s, (uint32_t)n);
    if (rc == 0 && rec_array(r, s->data, n * sizeof(uint64_t)))
        s->n = (uint32_t)n;
    return rc;
}

/* ---- results --------------------------------------------------------------------------------- */

static uint64_t sketch_values(const struct sketch *s)
{
    return s ? sketch_count(s) : 0;
}

uint64_t sample_count(const struct sample *s)
{
    const struct sample_pages *p = s->data;

    if (!s->paged)
        return s->n;
    uint64_t n =
        p->zeros + sketch_values(p->negative) + sketch_values(p->tiny) + sketch_values(p->huge);
    for (unsigned octave = 0; octave < SAMPLE_OCTAVES; octave++) {
        for (unsigned i = 0; has_octave(p, octave) && i < SAMPLE_PAGE; i++)
            n += sample_bin_count(p, octave, i);
    }
    return n;
}

/* Returns the value of a rank that the sketch has. */
static double sketch_rank(const struct sketch *s, uint64_t rank, bool integers)
{
    return sketch_quantile(s, ((double)rank - 0.5) / (double)sketch_count(s), integers);
}

/* A cursor over the bins by ascending rank. */
struct rank_cursor {
    const struct sample_pages *pages;
    bool integers;
    unsigned octave, bin;
    uint64_t before; /* values of the octaves before the present bin */
};

/* Returns the value of a rank, which is not below that of the call before. */
static double rank_cursor_seek(struct rank_cursor *w, uint64_t rank)
{
    const struct sample_pages *p = w->pages;
    uint64_t negative = sketch_values(p->negative), tiny = sketch_values(p->tiny);

    if (rank <= negative)
        return sketch_rank(p->negative, rank, w->integers);
    if (rank <= negative + p->zeros)
        return 0;
    if (rank <= negative + p->zeros + tiny)
        return sketch_rank(p->tiny, rank - negative - p->zeros, w->integers);
    rank -= negative + p->zeros + tiny;
    for (; w->octave < SAMPLE_OCTAVES; w->octave++, w->bin = 0) {
        for (; w->bin < SAMPLE_PAGE; w->bin++) {
            uint64_t count = sample_bin_count(p, w->octave, w->bin);
            if (w->before + count >= rank)
                return sketch_bin_value(sample_sketch_bin(w->octave * SAMPLE_PAGE + w->bin),
                                        w->integers);
            w->before += count;
        }
    }
    return p->huge ? sketch_rank(p->huge, rank - w->before, w->integers) : 0;
}

struct value sample_value(double value, enum sample_kind kind, bool time)
{
    if (time)
        return (struct value){.type = VALUE_TIME,
                              .wide = kind == SAMPLE_WHOLE
                                          ? (__int128)value * 1000
                                          : (__int128)__builtin_rint(value * 1000)};
    if (kind == SAMPLE_WHOLE && value >= -9.2e18 && value <= 9.2e18)
        return (struct value){.type = VALUE_INT, .i = (int64_t)value};
    return (struct value){.type = VALUE_DOUBLE, .d = value};
}

static struct value value_of_code(uint64_t code, uint8_t kind, bool time)
{
    if (kind == SAMPLE_DOUBLE)
        return (struct value){.type = VALUE_DOUBLE, .d = f64_of_code(code)};
    __int128 value = i64_of_code(code);
    if (time)
        return (struct value){.type = VALUE_TIME,
                              .wide = kind == SAMPLE_WHOLE ? value * 1000 : value};
    return (struct value){.type = VALUE_INT, .i = (int64_t)value};
}

static int compare_codes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* One pass of a radix sort by the byte at `shift`. Returns false if it is the same in all
 * values. */
static bool radix_pass(const uint64_t *from, uint64_t *to, size_t n, unsigned shift)
{
    size_t at[256] = {0}, sum = 0;

    for (size_t i = 0; i < n; i++)
        at[from[i] >> shift & 255]++;
    if (at[from[0] >> shift & 255] == n)
        return false;
    for (unsigned b = 0; b < 256; b++) {
        size_t count = at[b];
        at[b] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[at[from[i] >> shift & 255]++] = from[i];
    return true;
}

static int sort_codes(uint64_t *codes, size_t n)
{
    enum { FEW = 4096 };

    if (n < FEW) {
        qsort(codes, n, sizeof(*codes), compare_codes);
        return 0;
    }
    uint64_t *other = malloc(n * sizeof(*other));
    if (!other)
        return -ENOMEM;
    uint64_t *from = codes, *to = other;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (radix_pass(from, to, n, shift)) {
            uint64_t *swap = from;
            from = to;
            to = swap;
        }
    }
    if (from != codes)
        memcpy(codes, from, n * sizeof(*codes));
    free(other);
    return 0;
}

int sample_ranks(struct sample *s, const uint64_t *ranks, unsigned count, bool time, double min,
                 double max, struct value *ret)
{
    if (!s->paged) {
        int rc = sort_codes(s->data, s->n);
        for (unsigned i = 0; rc == 0 && i < count; i++)
            ret[i] = value_of_code(((uint64_t *)s->data)[ranks[i] - 1], s->kind, time);
        return rc;
    }
    struct rank_cursor cursor = {.pages = s->data, .integers = s->kind == SAMPLE_WHOLE};
    uint64_t n = sample_count(s);
    for (unsigned i = 0; i < count; i++) {
        /* min and max are exact */
        double value = ranks[i] == 1   ? min
                       : ranks[i] == n ? max
                                       : rank_cursor_seek(&cursor, ranks[i]);
        value = value < min ? min : value > max ? max : value;
        ret[i] = sample_value(value, s->kind, time);
    }
    return 0;
}

void sample_histogram(const struct sample *s, struct histogram *h)
{
    const struct sample_pages *p = s->data;

    if (!s->paged) {
        const uint64_t *list = s->data;
        for (uint32_t i = 0; i < s->n; i++)
            histogram_add(h, i64_of_code(list[i]), s->kind == SAMPLE_NANO);
        return;
    }
    struct histogram pages = {{0}};
    pages.count[0] = p->zeros;
    pages.count[HISTOGRAM_BINS - 1] = sketch_values(p->tiny);
    for (int octave = 0; octave < SAMPLE_OCTAVES; octave++) {
        int exponent = octave + SAMPLE_LOWEST;
        uint64_t *bin = &pages.count[exponent < 0 ? HISTOGRAM_BINS - 1 : exponent + 1];
        for (unsigned i = 0; has_octave(p, (unsigned)octave) && i < SAMPLE_PAGE; i++)
            *bin += sample_bin_count(p, (unsigned)octave, i);
    }
    histogram_merge(h, &pages);
}
