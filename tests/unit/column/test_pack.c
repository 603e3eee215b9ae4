/* module: column; paths */
/* test_pack.c - every encoding gives back what went in, with and without special instructions;
 * speeds are printed. */
#include "column/encoding/pack.h"
#include "check.h"

#include <math.h>
#include <time.h>

static uint64_t state = 88172645463325252u;

static uint64_t rnd(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* ---- shapes of columns ----------------------------------------------------------------------- */

static int64_t shape_zero(size_t i)
{
    (void)i;
    return 0;
}
static int64_t shape_constant(size_t i)
{
    (void)i;
    return -123456789012345;
}
static int64_t shape_count(size_t i)
{
    return (int64_t)i * 3 - 7;
}
static int64_t shape_bit(size_t i)
{
    (void)i;
    return (int64_t)(rnd() & 1);
}
static int64_t shape_two_apart(size_t i)
{
    (void)i;
    return rnd() % 9 ? -3 : 0;
}
static int64_t shape_random(size_t i)
{
    (void)i;
    return (int64_t)rnd();
}
static int64_t shape_narrow(size_t i)
{
    (void)i;
    return (int64_t)(rnd() % 1000) - 500;
}
static int64_t shape_any_width(size_t i)
{
    return (int64_t)(rnd() >> (i / 1024 % 64));
}
static int64_t shape_times(size_t i)
{
    return 1727387307981693 + (int64_t)i * 40 + (int64_t)(rnd() % 60);
}
static int64_t shape_jumps(size_t i)
{
    return (int64_t)i * 11 + (i % 300 == 7 ? 1000000000 : 0) + (int64_t)(rnd() % 9);
}
static int64_t shape_spikes(size_t i)
{
    (void)i;
    return rnd() % 97 ? (int64_t)(rnd() % 50) : (int64_t)(rnd() >> 3);
}
static int64_t shape_extremes(size_t i)
{
    static const int64_t ends[] = {INT64_MIN, INT64_MAX, 0, -1, 1, INT64_MIN + 1, INT64_MAX - 1};
    return ends[(i * 5 + rnd() % 2) % 7];
}
static int64_t shape_rare_extreme(size_t i)
{
    return i % 500 == 3 ? INT64_MIN : i % 700 == 9 ? INT64_MAX : (int64_t)(rnd() % 4);
}
static int64_t shape_runs(size_t i)
{
    return (int64_t)(i / 37 % 5) * 1000003;
}
static int64_t shape_few(size_t i)
{
    static const int64_t sizes[] = {4096, 1048576, 0, -1, 262144, 77777777777, 512, 65536};
    (void)i;
    return sizes[rnd() % 8];
}
static int64_t shape_pattern(size_t i)
{
    return (int64_t)("3141592653589793238462643383279"[i % 31] - '0') * 17;
}
static int64_t shape_pattern_steps(size_t i)
{
    return (int64_t)i * 1000 + (int64_t)(i % 31 * 7);
}
static int64_t shape_doubles(size_t i)
{
    double d = (double)i / 7;
    int64_t v;
    memcpy(&v, &d, 8);
    return v;
}
static int64_t shape_many_distinct(size_t i)
{
    (void)i;
    return (int64_t)(rnd() % 4000) * 1000000007;
}

static const struct shape {
    const char *name;
    int64_t (*at)(size_t i);
} shapes[] = {
    {"zero", shape_zero},
    {"constant", shape_constant},
    {"count", shape_count},
    {"bit", shape_bit},
    {"two apart", shape_two_apart},
    {"random", shape_random},
    {"narrow", shape_narrow},
    {"any width", shape_any_width},
    {"times", shape_times},
    {"jumps", shape_jumps},
    {"spikes", shape_spikes},
    {"extremes", shape_extremes},
    {"rare extreme", shape_rare_extreme},
    {"runs", shape_runs},
    {"few", shape_few},
    {"pattern", shape_pattern},
    {"pattern of steps", shape_pattern_steps},
    {"doubles", shape_doubles},
    {"many distinct", shape_many_distinct},
};
#define SHAPES (sizeof(shapes) / sizeof(*shapes))

/* ---- round trips ----------------------------------------------------------------------------- */

static struct pack_encoder *encoder;

static void read_back(const struct buf *bytes, const int64_t *v, size_t n, const char *name)
{
    struct pack_stream s;
    int64_t *out = malloc((n + 1) * 8);
    uint32_t *out32 = malloc((n + 1) * 4);

    out[n] = 77;
    out32[n] = 78;
    CHECK_INT(pack_open(&s, bytes->data, bytes->len - PACK_SLACK, (uint32_t)n), 0);
    CHECK_INT(pack_read_i64(&s, 0, (uint32_t)n, out), 0);
    if (n > 0 && !CHECK(memcmp(out, v, n * 8) == 0))
        printf("  shape %s, %zu values, kind %u\n", name, n, s.head.kind);
    CHECK_INT(pack_read_u32(&s, 0, (uint32_t)n, out32), 0);
    for (size_t i = 0; i < n; i++)
        if (out32[i] != (uint32_t)v[i]) {
            CHECK_INT(out32[i], (uint32_t)v[i]);
            break;
        }
    CHECK_INT(out[n], 77);
    CHECK_INT(out32[n], 78);
    for (uint32_t first = 0; first < n;
         first += 2048) { /* parts, also ones that end within a block */
        uint32_t some = (uint32_t)(n - first < 1500 ? n - first : 1500);
        CHECK_INT(pack_read_i64(&s, first, some, out), 0);
        CHECK(memcmp(out, v + first, some * 8) == 0);
        CHECK_INT(pack_read_u32(&s, first, some, out32), 0);
        CHECK_INT(out32[some - 1], (uint32_t)v[first + some - 1]);
    }
    pack_close(&s);
    free(out);
    free(out32);
}

static uint64_t mark_of(int64_t v)
{
    uint64_t x = (uint64_t)v * 0x9E3779B97F4A7C15u;

    return (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
}

/* In any order, so sums of marks are compared; one value in `every` is wanted. */
static void take_back(struct pack_stream *s, const int64_t *v, size_t n, int64_t lo, int64_t hi,
                      unsigned every)
{
    uint64_t *wanted = calloc(n / 64 + 1, 8), want = 0, got = 0;
    int64_t *out = malloc((n + 1) * sizeof(*out));
    uint32_t count = 0, bits = 0, expected = 0;

    for (size_t i = 0; i < n; i++) {
        bool bit = rnd() % every == 0;
        wanted[i / 64] |= (uint64_t)bit << i % 64;
        bits += bit;
        if (bit && v[i] >= lo && v[i] <= hi) {
            expected++;
            want += mark_of(v[i]);
        }
    }
    out[bits] = 81;
    CHECK_INT(pack_copy_selected_i64(s, wanted, lo, hi, out, &count), 0);
    CHECK_INT(count, expected);
    CHECK_INT(out[bits], 81);
    for (uint32_t i = 0; i < count; i++)
        got += mark_of(out[i]);
    CHECK(got == want);
    free(wanted);
    free(out);
}

/* Selections and picks, against a look at every value. */
static void select_back(struct pack_stream *s, const int64_t *v, size_t n, int64_t lo, int64_t hi,
                        const char *name)
{
    size_t words = (n + 63) / 64;
    uint64_t *bits = malloc((words + 1) * 8);

    bits[words] = 79;
    CHECK_INT(pack_select_i64(s, lo, hi, bits), 0);
    CHECK_INT(bits[words], 79);
    for (size_t i = 0; i < words * 64; i++) {
        bool want = i < n && v[i] >= lo && v[i] <= hi;
        if (!CHECK_INT(bits[i / 64] >> i % 64 & 1, want)) {
            printf("  shape %s, value %zu of %zu, kind %u, %lld to %lld\n", name, i, n,
                   s->head.kind, (long long)lo, (long long)hi);
            break;
        }
    }
    free(bits);
    for (unsigned every = 1; every < 1000; every *= 20)
        take_back(s, v, n, lo, hi, every);
}

static void select_all(struct pack_stream *s, const int64_t *v, size_t n, const char *name)
{
    select_back(s, v, n, INT64_MIN, INT64_MAX, name);
    select_back(s, v, n, 5, 4, name);
    select_back(s, v, n, 0, 10, name);
    for (int k = 0; k < 6 && n > 0; k++) {
        int64_t a = v[rnd() % n], b = v[rnd() % n];
        select_back(s, v, n, a < b ? a : b, a < b ? b : a, name);
        select_back(s, v, n, a, INT64_MAX, name);
        select_back(s, v, n, a, a, name);
    }
}

static void pick_back(struct pack_stream *s, const int64_t *v, size_t n, unsigned every,
                      const char *name)
{
    uint32_t *places = malloc((n + 1) * sizeof(*places)), count = 0;
    int64_t *out = malloc((n + 1) * sizeof(*out));

    for (uint32_t i = 0; i < n; i++)
        if (rnd() % every == 0)
            places[count++] = i;
    out[count] = 80;
    CHECK_INT(pack_pick_i64(s, places, count, out), 0);
    CHECK_INT(out[count], 80);
    for (uint32_t k = 0; k < count; k++)
        if (!CHECK_INT(out[k], v[places[k]])) {
            printf("  shape %s, value %u of %zu, kind %u\n", name, places[k], n, s->head.kind);
            break;
        }
    free(places);
    free(out);
}

/* Codes: small values, looked up in a table with holes and in one without. */
static void select_codes_back(struct pack_stream *s, const int64_t *v, size_t n)
{
    uint32_t most = 0, *table;
    uint64_t *bits = malloc((n + 64) / 64 * 8);

    for (size_t i = 0; i < n; i++) {
        if (v[i] < 0 || v[i] > 100000)
            most = UINT32_MAX;
        else if (most != UINT32_MAX && v[i] >= most)
            most = (uint32_t)v[i] + 1;
    }
    if (most == UINT32_MAX || most == 0)
        return free(bits);
    table = malloc((most / 32 + 1) * 4);
    for (int holes = 0; holes < 2; holes++) {
        for (uint32_t i = 0; i <= most / 32; i++)
            table[i] = holes ? (uint32_t)rnd() : UINT32_MAX << 3;
        CHECK_INT(pack_select_codes(s, table, most, bits), 0);
        for (size_t i = 0; i < n; i++)
            if (!CHECK_INT(bits[i / 64] >> i % 64 & 1, table[v[i] / 32] >> v[i] % 32 & 1))
                break;
    }
    free(table);
    free(bits);
}

static void look_back(const struct buf *bytes, const int64_t *v, size_t n, const char *name)
{
    struct pack_stream s;

    CHECK_INT(pack_open(&s, bytes->data, bytes->len - PACK_SLACK, (uint32_t)n), 0);
    select_all(&s, v, n, name);
    select_codes_back(&s, v, n);
    pick_back(&s, v, n, 1, name);
    pick_back(&s, v, n, 7, name);
    pick_back(&s, v, n, 200, name);
    pack_close(&s);
}

static void round_trip(const int64_t *v, size_t n, unsigned flags, const char *name)
{
    struct buf out = {0};
    static const char slack[PACK_SLACK];

    CHECK_INT(pack_encode(encoder, v, n, flags, &out), 0);
    buf_append(&out, slack, sizeof(slack));
    /* at an odd address, and with nothing readable behind (ASan looks) */
    char *copy = malloc(out.len + 1);
    memcpy(copy + 1, out.data, out.len);
    struct buf moved = {copy + 1, out.len, 0, 0};
    read_back(&moved, v, n, name);
    look_back(&moved, v, n, name);
    free(copy);
    buf_done(&out);
}

static void all_shapes(void)
{
    static const size_t lengths[] = {0,    1,    2,    3,    7,    8,     9,    100,
                                     1023, 1024, 1025, 2047, 2049, 17000, 70000};
    int64_t *v = malloc(70000 * 8);

    CHECK_INT(pack_encoder_new(&encoder), 0);
    /* 70,000 is longer than 17,000 only in the number of its blocks. */
    size_t count = sizeof(lengths) / sizeof(*lengths) - !check_everything();
    for (size_t k = 0; k < SHAPES; k++)
        for (size_t l = 0; l < count; l++) {
            for (size_t i = 0; i < lengths[l]; i++)
                v[i] = shapes[k].at(i);
            for (unsigned flags = 0; flags < 4; flags++)
                round_trip(v, lengths[l], flags, shapes[k].name);
        }
    pack_encoder_free(encoder);
    free(v);
}

static void equal_values_equal_bytes(void)
{
    struct pack_encoder *other;
    int64_t v[5000];
    struct buf a = {0}, b = {0};

    CHECK_INT(pack_encoder_new(&encoder), 0);
    CHECK_INT(pack_encoder_new(&other), 0);
    for (size_t k = 0; k < SHAPES; k++) {
        for (size_t i = 0; i < 5000; i++)
            v[i] = shapes[k].at(i);
        buf_clear(&a);
        buf_clear(&b);
        pack_encode(encoder, v, 5000, PACK_MAY_COMPRESS, &a);
        pack_encode(other, v, 5000, PACK_MAY_COMPRESS, &b);
        CHECK_MEM(a.data, a.len, b.data, b.len);
    }
    buf_done(&a);
    buf_done(&b);
    pack_encoder_free(encoder);
    pack_encoder_free(other);
}

#ifdef __x86_64__
static void writers_agree(void)
{
    const struct pack_kernels *p = &pack_kernels_portable, *q = &pack_kernels_avx2;
    uint8_t x[1024 * 8 + PACK_SLACK], y[1024 * 8 + PACK_SLACK];
    uint64_t v[1024], a[1032], b[1032];

    for (unsigned width = 0; width <= 64; width = width == 57 ? 64 : width + 1)
        for (size_t n = 1; n <= 1024; n = n < 20 ? n + 1 : n * 3) {
            uint64_t mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1, base = rnd();
            const int64_t *in = (const int64_t *)v;
            for (size_t i = 0; i < n; i++)
                v[i] = rnd() % 3 && i ? v[i - 1] : rnd() & mask;
            p->pack(v, n, width, x);
            q->pack(v, n, width, y);
            CHECK_MEM(x, pack_bits_bytes(n, width), y, pack_bits_bytes(n, width));
            for (size_t i = 0; i < n; i++) /* the reader is another piece of code */
                CHECK(pack_bits_at(x, width, i) == v[i]);
            p->above(in, n, base, a);
            q->above(in, n, base, b);
            CHECK_MEM(a, n * 8, b, n * 8);
            p->steps(in, n, base, a);
            q->steps(in, n, base, b);
            CHECK_MEM(a, (n - 1) * 8, b, (n - 1) * 8);
            for (unsigned bytes = 1; bytes <= 8; bytes *= 2) {
                p->narrow64(in, bytes, n, base, x);
                q->narrow64(in, bytes, n, base, y);
                CHECK_MEM(x, n * bytes, y, n * bytes);
            }
            size_t places = p->above_mask(v, n, mask / 2, a);
            CHECK_INT(q->above_mask(v, n, mask / 2, b), places);
            CHECK_MEM(a, places * 8, b, places * 8);
            for (size_t i = 0, k = 0; i < n; i++)
                if (v[i] > mask / 2)
                    CHECK(k < places && a[k++] == i);
            places = p->changes(in, n, a);
            CHECK_INT(q->changes(in, n, b), places);
            CHECK_MEM(a, places * 8, b, places * 8);
            for (size_t i = 0, k = 0; i + 1 < n; i++)
                if (v[i] != v[i + 1])
                    CHECK(k < places && a[k++] == i);
        }
}
#endif

static void kernels_agree(void)
{
#ifdef __x86_64__
    if (cpu_level() < CPU_AVX2) {
        check_skip("no AVX2");
        return;
    }
    writers_agree();
    const struct pack_kernels *p = &pack_kernels_portable, *q = &pack_kernels_avx2;
    uint8_t bytes[1024 * 8 + 64];
    uint64_t a[1024], b[1024];
    uint32_t c[1024], d[1024];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)rnd();
    for (unsigned width = 0; width <= 57; width++)
        for (size_t n = 0; n < 1024; n = n < 20 ? n + 1 : n * 3) {
            uint64_t base = rnd();
            p->unpack64(bytes + n % 3, width, n, base, a);
            q->unpack64(bytes + n % 3, width, n, base, b);
            CHECK(memcmp(a, b, n * 8) == 0);
            p->unpack32(bytes + n % 3, width, n, (uint32_t)base, c);
            q->unpack32(bytes + n % 3, width, n, (uint32_t)base, d);
            CHECK(memcmp(c, d, n * 4) == 0);
            if (width > PACK_RANGE_WIDTH)
                continue;
            uint32_t lo = (uint32_t)(rnd() & (((uint64_t)1 << width) - 1)),
                     hi = lo + (uint32_t)((((uint64_t)1 << width) - 1 - lo) / 2);
            p->range_bits(bytes + n % 3, width, n, lo, hi, a);
            q->range_bits(bytes + n % 3, width, n, lo, hi, b);
            CHECK(memcmp(a, b, (n + 63) / 64 * 8) == 0);
            size_t from = n ? rnd() % n : 0, to = from + (n ? rnd() % (n - from + 1) : 0);
            CHECK_INT(q->sum_bits(bytes + n % 3, width, from, to),
                      p->sum_bits(bytes + n % 3, width, from, to));
        }
    for (unsigned w = 1; w <= 8; w *= 2) {
        p->widen64(bytes, w, 999, 5, a);
        q->widen64(bytes, w, 999, 5, b);
        CHECK(memcmp(a, b, 999 * 8) == 0);
        p->widen32(bytes, w, 999, 5, c);
        q->widen32(bytes, w, 999, 5, d);
        CHECK(memcmp(c, d, 999 * 4) == 0);
    }
    for (size_t n = 1; n <= 1000; n += 1 + n / 5) {
        struct pack_range x, y;
        uint64_t valid[16];
        int64_t e[1024], f[1024];
        for (size_t i = 0; i < 16; i++)
            valid[i] = i % 4 == 1 ? UINT64_MAX : n % 2 ? rnd() : rnd() & rnd() & rnd();
        const int64_t *in = (const int64_t *)a;
        CHECK(p->expand64(in, valid, n, e) == q->expand64(in, valid, n, f));
        CHECK(memcmp(e, f, n * 8) == 0);
        memcpy(e, a, n * 8);
        memcpy(f, a, n * 8);
        p->prefix_sum((uint64_t *)e, n);
        q->prefix_sum((uint64_t *)f, n);
        CHECK(memcmp(e, f, n * 8) == 0);
        for (size_t i = 0; i < n; i++)
            c[i] = (uint32_t)(rnd() % 1000);
        CHECK(p->look_up(c, n, (const int64_t *)a, 1000, e) &&
              q->look_up(c, n, (const int64_t *)a, 1000, f));
        CHECK(memcmp(e, f, n * 8) == 0);
        c[n / 2] = 1000;
        CHECK(!p->look_up(c, n, (const int64_t *)a, 1000, e) &&
              !q->look_up(c, n, (const int64_t *)a, 1000, f));
        int64_t v[1024];
        for (size_t i = 0; i < n; i++)
            v[i] = shapes[n % SHAPES].at(i);
        p->measure(v, n, &x);
        q->measure(v, n, &y);
        CHECK(memcmp(&x, &y, sizeof(x)) == 0 ||
              (x.min == y.min && x.max == y.max && x.runs == y.runs && x.delta_min == y.delta_min &&
               x.delta_max == y.delta_max));
    }
#endif
}

static void count_places(const struct pack_kernels *k, uint32_t *sorted, size_t n)
{
    uint32_t wanted[160], at[160];

    for (size_t i = 0; i < 160; i++)
        wanted[i] = 5000 + (uint32_t)(i < n ? sorted[i] + i % 2 : rnd() % 1024);
    k->find_places(sorted, n, wanted, 160, 5000, at);
    for (size_t i = 0; i < 160; i++) {
        uint32_t below = 0;
        for (size_t j = 0; j < n; j++)
            below += sorted[j] < wanted[i] - 5000;
        CHECK_INT(at[i], below);
    }
}

static void places_are_counted(void)
{
    uint32_t sorted[1024 + 8];

    for (size_t n = 1; n <= 1024; n += 1 + n / 9) {
        for (size_t i = 0; i < n; i++)
            sorted[i] = (uint32_t)(i * 1024 / n + rnd() % (1 + 1023 / n));
        for (size_t i = n; i < n + 8; i++)
            sorted[i] = INT32_MAX;
        count_places(&pack_kernels_portable, sorted, n);
#ifdef __x86_64__
        if (cpu_level() >= CPU_AVX2)
            count_places(&pack_kernels_avx2, sorted, n);
#endif
    }
}

static void bytes_round_trip(void)
{
    char text[5000], *got;
    size_t len;

    CHECK_INT(pack_encoder_new(&encoder), 0);
    for (size_t n = 0; n < sizeof(text); n = n * 2 + 1)
        for (unsigned noise = 0; noise < 2; noise++) {
            struct buf out = {0};
            for (size_t i = 0; i < n; i++)
                text[i] = noise ? (char)rnd() : (char)('a' + i % 7);
            CHECK_INT(pack_encode_bytes(encoder, text, n, &out), 0);
            CHECK_INT(pack_decode_bytes(out.data, out.len, &got, &len), 0);
            CHECK_MEM(got, len, text, n);
            free(got);
            for (size_t cut = 0; cut < out.len; cut += 1 + cut / 3)
                if (pack_decode_bytes(out.data, cut, &got, &len) == 0)
                    free(got);
            buf_done(&out);
        }
    pack_encoder_free(encoder);
}

/* Time stamps whose steps come again after `period` of them, 0: never. */
static void steps_as(unsigned period, unsigned flags, unsigned kind)
{
    enum { N = 9000 };
    int64_t *v = calloc(N, 8), *out = calloc(N, 8);
    struct buf bytes = {0};
    struct pack_stream s;
    char slack[PACK_SLACK] = {0};

    for (size_t i = 1; i < N; i++)
        v[i] = i > period && period ? v[i - 1] + v[i - period] - v[i - period - 1]
                                    : v[i - 1] + (int64_t)(rnd() % 5000);
    CHECK_INT(pack_encode(encoder, v, N, flags, &bytes), 0);
    buf_append(&bytes, slack, sizeof(slack));
    CHECK_INT(pack_open(&s, bytes.data, bytes.len - PACK_SLACK, N), 0);
    CHECK_INT(s.head.kind, kind);
    CHECK_INT(pack_read_i64(&s, 0, N, out), 0);
    CHECK_MEM(out, N * 8, v, N * 8);
    select_all(&s, v, N, "steps");
    pick_back(&s, v, N, 50, "steps");
    pack_close(&s);
    buf_done(&bytes);
    free(v);
    free(out);
}

static void steps_that_repeat(void)
{
    CHECK_INT(pack_encoder_new(&encoder), 0);
    steps_as(900, PACK_NO_DICT | PACK_IF_HALF, PACK_ALIGNED);
    steps_as(900, PACK_NO_DICT, PACK_BLOCKS);
    steps_as(6000, PACK_NO_DICT | PACK_IF_HALF, PACK_BLOCKS); /* a third is no half */
    steps_as(0, PACK_NO_DICT | PACK_IF_HALF, PACK_BLOCKS);
    pack_encoder_free(encoder);
}

static void damage_is_no_crash(void)
{
    int64_t v[3000], *out = malloc(3000 * 8);
    uint32_t places[30];
    uint64_t wanted[3000 / 64 + 1];

    for (uint32_t i = 0; i < 30; i++)
        places[i] = i * 97;
    memset(wanted, 0xFF, sizeof(wanted));
    wanted[3000 / 64] = ((uint64_t)1 << 3000 % 64) - 1;
    CHECK_INT(pack_encoder_new(&encoder), 0);
    for (unsigned round = 0; round < check_count(4000, 1000); round++) {
        struct buf bytes = {0};
        struct pack_stream s;
        for (size_t i = 0; i < 3000; i++)
            v[i] = shapes[round % SHAPES].at(i);
        pack_encode(encoder, v, 3000, round & 3, &bytes);
        size_t len = round % 5 ? bytes.len : rnd() % bytes.len;
        char *copy = malloc(len + PACK_SLACK);
        memcpy(copy, bytes.data, len);
        for (unsigned k = 0; k < 1 + round % 3; k++)
            if (len > 0)
                copy[rnd() % (rnd() % 2 ? len : len < 200 ? len : 200)] = (char)rnd();
        if (pack_open(&s, copy, len, 3000) == 0) {
            pack_read_i64(&s, 0, 3000, out);
            pack_read_u32(&s, 1024, 1000, (uint32_t *)out);
            pack_pick_i64(&s, places, 30, out);
            uint32_t taken = 0;
            pack_copy_selected_i64(&s, wanted, 0, 1000, out, &taken);
            CHECK(taken <= 3000);
            pack_close(&s);
        }
        free(copy);
        buf_done(&bytes);
    }
    pack_encoder_free(encoder);
    free(out);
}

/* ---- speed, for people ----------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void speed(void)
{
    enum { N = 16384 };
    int64_t *v, *out;

    if (!getenv("SPEEDS")) {
        check_skip("SPEEDS=1 measures");
        return;
    }
    v = malloc(N * 8), out = malloc(N * 8);

    CHECK_INT(pack_encoder_new(&encoder), 0);
    for (size_t k = 0; k < SHAPES; k++)
        for (unsigned flags = 0; flags < 2; flags++) {
            struct buf bytes = {0};
            struct pack_stream s;
            char slack[PACK_SLACK] = {0};
            for (size_t i = 0; i < N; i++)
                v[i] = shapes[k].at(i);
            double t = seconds();
            for (unsigned r = 0; r < 20; r++) {
                buf_clear(&bytes);
                pack_encode(encoder, v, N, flags, &bytes);
            }
            double encode = (seconds() - t) * 1e9 / 20 / N;
            buf_append(&bytes, slack, sizeof(slack));
            pack_open(&s, bytes.data, bytes.len - PACK_SLACK, N);
            pack_read_i64(&s, 0, N, out);
            t = seconds();
            for (unsigned r = 0; r < 100; r++)
                pack_read_i64(&s, 0, N, out);
            double wide = 100e-9 * N / (seconds() - t);
            t = seconds();
            for (unsigned r = 0; r < 100; r++)
                pack_read_u32(&s, 0, N, (uint32_t *)out);
            double codes = 100e-9 * N / (seconds() - t);
            printf("  %-16s kind %u%s %7.3f bits/value, encode %6.2f ns, read i64 %5.2f G/s, u32 "
                   "%5.2f G/s\n",
                   shapes[k].name, s.head.kind, flags ? " zstd may" : "         ",
                   8.0 * (double)(bytes.len - PACK_SLACK) / N, encode, wide, codes);
            pack_close(&s);
            buf_done(&bytes);
        }
    pack_encoder_free(encoder);
    free(v);
    free(out);
}

static const struct check_test tests[] = {
    {"all_shapes", all_shapes},
    {"equal_values_equal_bytes", equal_values_equal_bytes},
    {"kernels_agree", kernels_agree},
    {"steps_that_repeat", steps_that_repeat},
    {"places_are_counted", places_are_counted},
    {"bytes_round_trip", bytes_round_trip},
    {"damage_is_no_crash", damage_is_no_crash},
    {"speed", speed},
    {NULL, NULL},
};
CHECK_MAIN(tests)
