/* module: trace; paths */
/* test_reader.c - text in order: every kind of file, both libraries alike, damage, growth,
 * checkpoints. */
#include "trace_data.h"

static const enum trace_engine engines[] = {TRACE_ENGINE_ZLIB, TRACE_ENGINE_ISAL};

static bool have(enum trace_engine engine)
{
    return trace_engine_available(engine);
}

/* Reads by all libraries, in several steps; all readings must be the same. The one by zlib is
 * returned. */
static struct reading read_all_ways(int fd, uint64_t checkpoint_size)
{
    static const size_t steps[] = {1 << 20, 40001, 977};
    struct reading first = read_from(fd, TRACE_ENGINE_ZLIB, checkpoint_size, 65536, NULL);
    for (size_t i = 0; i < 6; i++) {
        if (!have(engines[i & 1]))
            continue;
        struct reading r = read_from(fd, engines[i & 1], checkpoint_size, steps[i / 2], NULL);
        if (!same_reading(&first, &r))
            check_fail(__FILE__, __LINE__, "%s in steps of %zu differs",
                       trace_engine_name(engines[i & 1]), steps[i / 2]);
        reading_done(&r);
    }
    return first;
}

/* ---- whole files ----------------------------------------------------------------------------- */

static void check_file(int fd, const struct bytes *want)
{
    struct reading r = read_all_ways(fd, 65536);
    CHECK_INT(r.rc, 0);
    CHECK_INT(r.damage_count, 0);
    CHECK(r.text.len == want->len &&
          (want->len == 0 || memcmp(r.text.data, want->data, want->len) == 0));
    reading_done(&r);
}

static void check_trace(const char *path)
{
    int fd = open(path, O_RDONLY);
    struct bytes want = plain_text(fd);
    int before = atomic_load(&check_failures);
    check_file(fd, &want);
    if (atomic_load(&check_failures) != before)
        check_fail(__FILE__, __LINE__, "in %s", path);
    bytes_done(&want);
    close(fd);
}

static void real_traces(void)
{
    if (!each_trace(check_trace))
        check_skip("no real traces");
}

static void check_bytes(const struct bytes *file, const struct bytes *want)
{
    int fd = memory_file(file->data, file->len);
    check_file(fd, want);
    close(fd);
}

static void compressors(void)
{
    static const struct {
        int level, strategy;
    } kinds[] = {{0, 0}, {1, 0}, {6, 0}, {9, 0}, {6, Z_FIXED}, {6, Z_HUFFMAN_ONLY}, {6, Z_RLE}};
    struct bytes text = make_lines(1500000, 1);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct bytes file = {0};
        add_member(&file, text.data, text.len, kinds[i].level, kinds[i].strategy, NULL);
        check_bytes(&file, &text);
        bytes_done(&file);
    }
    bytes_done(&text);
}

/* Blocks of all sizes, empty ones of every kind among them. */
static void flushed_blocks(void)
{
    static const int flushes[] = {Z_SYNC_FLUSH, Z_PARTIAL_FLUSH, Z_FULL_FLUSH, Z_BLOCK};
    struct bytes text = make_lines(800000, 2), file = {0};
    uint8_t *out = malloc(4 << 20);
    uint64_t seed = 3;
    z_stream z = {0};
    deflateInit2(&z, 6, Z_DEFLATED, 31, 8, 0);
    z.next_out = out;
    z.avail_out = 4 << 20;
    for (size_t at = 0; at < text.len;) {
        uint64_t r = random_next(&seed);
        size_t step = r % 3 ? r % 700 : r % 60000;
        step = step < text.len - at ? step : text.len - at;
        z.next_in = text.data + at;
        z.avail_in = (uInt)step;
        deflate(&z, flushes[(r >> 40) % 4]);
        at += step;
    }
    CHECK_INT(deflate(&z, Z_FINISH), Z_STREAM_END);
    bytes_add(&file, out, z.total_out);
    deflateEnd(&z);
    check_bytes(&file, &text);
    bytes_done(&file);
    bytes_done(&text);
    free(out);
}

static void small_files(void)
{
    struct bytes none = {0}, one = {0}, empty_gzip = {0}, magic = {0};
    bytes_add(&one, "x", 1);
    bytes_add(&magic, "\x1f", 1);
    add_member(&empty_gzip, "", 0, 6, 0, NULL);
    check_bytes(&none, &none);
    check_bytes(&one, &one);
    check_bytes(&magic, &magic);
    check_bytes(&empty_gzip, &none);

    int fd = memory_file("", 0);
    struct reading r = read_from(fd, TRACE_ENGINE_AUTO, 0, 100, NULL);
    struct trace_reader_info info;
    trace_reader_info(r.reader, &info);
    CHECK(info.empty && info.format == TRACE_PLAIN && !info.in_gzip_member);
    CHECK_INT(r.checkpoint_count, 1);
    reading_done(&r);
    close(fd);
    bytes_done(&one);
    bytes_done(&magic);
    bytes_done(&empty_gzip);
}

static void members(void)
{
    struct bytes text = make_lines(3000000, 4), file = {0};
    uint64_t seed = 5;
    size_t count = 0;
    for (size_t at = 0; at < text.len; count++) {
        uint64_t r = random_next(&seed);
        size_t step = r % 4 == 0 ? 0 : r % 50 == 1 ? 400000 : r % 3000;
        step = step < text.len - at ? step : text.len - at;
        add_member(&file, text.data + at, step, 6, 0, NULL);
        at += step;
    }
    check_bytes(&file, &text);
    int fd = memory_file(file.data, file.len);
    struct reading r = read_from(fd, TRACE_ENGINE_AUTO, 1 << 20, 1 << 20, NULL);
    struct trace_reader_info info;
    trace_reader_info(r.reader, &info);
    CHECK_INT(info.members, count);
    CHECK_INT(info.file_offset, file.len);
    CHECK(r.checkpoint_count >= 3 && r.checkpoints[1].text_offset >= (1 << 20) - 131072);
    reading_done(&r);
    close(fd);
    bytes_done(&file);
    bytes_done(&text);
}

static void headers(void)
{
    struct bytes text = make_lines(5000, 6), twice = {0}, file = {0};
    uint8_t *extra = calloc(1, 65000);
    char *name = malloc(20001);
    memset(name, 'n', 20000);
    name[20000] = 0;
    gz_header h = {.text = 1,
                   .extra = extra,
                   .extra_len = 65000,
                   .name = (Bytef *)name,
                   .comment = (Bytef *)"why",
                   .hcrc = 1};
    add_member(&file, text.data, text.len, 6, 0, &h);
    h.hcrc = 0;
    h.extra = NULL;
    add_member(&file, text.data, text.len, 6, 0, &h);
    bytes_add(&twice, text.data, text.len);
    bytes_add(&twice, text.data, text.len);
    check_bytes(&file, &twice);
    bytes_done(&file);
    bytes_done(&twice);
    bytes_done(&text);
    free(extra);
    free(name);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* What zlib gives for one member that may be cut or damaged. */
static struct bytes reference(const uint8_t *data, size_t len)
{
    struct bytes b = {0};
    uint8_t out[4096];
    z_stream z = {0};
    inflateInit2(&z, 31);
    z.next_in = (Bytef *)data;
    z.avail_in = (uInt)len;
    int rc;
    do {
        z.next_out = out;
        z.avail_out = sizeof(out);
        rc = inflate(&z, Z_NO_FLUSH);
        bytes_add(&b, out, sizeof(out) - z.avail_out);
    } while (rc == Z_OK);
    inflateEnd(&z);
    return b;
}

static void cut_anywhere(void)
{
    struct bytes text = make_lines(400000, 7), file = {0};
    add_member(&file, text.data, text.len, 6, 0, NULL);
    for (size_t i = 0; i <= 200; i++) {
        size_t len = i < 40 ? i : i > 180 ? file.len - (200 - i) : file.len * i / 200 + i;
        if (len < 2 || (i >= 40 && i <= 180 && i % check_step(200, 20)))
            continue;
        struct bytes want = reference(file.data, len);
        int fd = memory_file(file.data, len);
        struct reading r = read_all_ways(fd, 65536);
        CHECK_MEM(r.text.data, r.text.len, want.data, want.len);
        CHECK_INT(r.damage_count, len < file.len);
        if (r.damage_count) {
            CHECK_INT(r.damage[0].kind, TRACE_DAMAGE_CUT);
            CHECK_INT(r.damage[0].file_to, len);
        }
        reading_done(&r);
        bytes_done(&want);
        close(fd);
    }
    bytes_done(&file);
    bytes_done(&text);
}

/* One flipped bit: both libraries agree, all before the damage is there, and members far from it
 * survive. */
static void flipped_bits(void)
{
    struct bytes text = make_lines(300000, 8), file = {0};
    uint64_t seed = 9;
    for (size_t i = 0; i < 6; i++)
        add_member(&file, text.data + text.len / 6 * i, text.len / 6, i % 2 ? 6 : 1,
                   i == 3 ? Z_FIXED : 0, NULL);
    for (int i = 0; i < (int)check_count(400, 60); i++) {
        uint64_t bit = random_next(&seed) % ((file.len - 2) * 8) + 16;
        file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        int fd = memory_file(file.data, file.len);
        struct reading r = read_all_ways(fd, 65536);
        size_t member = bit / 8 * 6 / file.len,
               safe = member > 1 ? (member - 1) * (text.len / 6) : 0;
        CHECK(r.text.len >= safe && memcmp(r.text.data, text.data, safe) == 0);
        size_t tail = member < 4 ? (4 - member) * (text.len / 6) : 0, end = text.len / 6 * 6;
        if (!CHECK(r.text.len >= tail &&
                   memcmp(r.text.data + r.text.len - tail, text.data + end - tail, tail) == 0))
            check_fail(__FILE__, __LINE__, "bit %d", (int)bit);
        reading_done(&r);
        close(fd);
        file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    bytes_done(&file);
    bytes_done(&text);
}

static void damaged_member(void)
{
    struct bytes text = make_lines(30000, 10), file = {0};
    size_t start[4], cut;
    uint64_t seed = 10;
    for (int i = 0; i < 4; i++) {
        start[i] = file.len;
        add_member(&file, text.data, text.len, 6, 0, NULL);
    }
    for (int i = 0; i < 400; i++)
        file.data[start[1] + 1000 + (size_t)i] = (uint8_t)random_next(&seed);
    int fd = memory_file(file.data, file.len);
    struct reading r = read_all_ways(fd, 65536);
    CHECK_INT(r.damage_count, 1);
    CHECK_INT(r.damage[0].kind, TRACE_DAMAGE_DATA);
    CHECK_INT(r.damage[0].file_to, start[2]);
    cut = r.damage[0].text_offset;
    CHECK(cut > text.len && cut < 2 * text.len);
    bool newline = r.text.data[cut - 1] != '\n';
    CHECK_INT(r.text.data[cut - 1 + newline], '\n');
    CHECK_INT(r.text.len, cut + newline + 2 * text.len);
    CHECK_INT(r.checkpoint_count, 2);
    CHECK_INT(r.checkpoints[1].text_offset, cut + newline);
    CHECK_INT(r.checkpoints[1].file_offset, start[2]);
    CHECK_INT(r.checkpoints[1].kind, TRACE_AT_MEMBER);
    reading_done(&r);
    close(fd);
    bytes_done(&file);
    bytes_done(&text);
}

static void wrong_checksum(void)
{
    struct bytes text = make_lines(3000, 11), file = {0}, twice = {0};
    add_member(&file, text.data, text.len, 6, 0, NULL);
    size_t end = file.len;
    add_member(&file, text.data, text.len, 6, 0, NULL);
    bytes_add(&twice, text.data, text.len);
    bytes_add(&twice, text.data, text.len);
    for (int at = 1; at <= 8; at += 7) {
        file.data[end - (size_t)at] ^= 1;
        int fd = memory_file(file.data, file.len);
        struct reading r = read_all_ways(fd, 0);
        CHECK_MEM(r.text.data, r.text.len, twice.data, twice.len);
        CHECK_INT(r.damage_count, 1);
        CHECK_INT(r.damage[0].kind, TRACE_DAMAGE_CRC);
        CHECK_INT(r.damage[0].file_from, 0);
        CHECK_INT(r.damage[0].file_to, end);
        reading_done(&r);
        close(fd);
        file.data[end - (size_t)at] ^= 1;
    }
    bytes_done(&file);
    bytes_done(&text);
    bytes_done(&twice);
}

/* Bytes between members: zeros are padding, others garbage; bytes that only look like a header are
 * no member. */
static void garbage(void)
{
    static const struct {
        const char *data;
        size_t len;
        int damage;
    } kinds[] = {
        {"\0\0\0\0\0\0\0\0\0\0\0\0\0", 13, 0},
        {"garbage", 7, 1},
        {"\0\0\0x", 4, 1},
        {"\x1f\x8b\x08\0\0\0\0\0\0\3\xff\xff\xff\xff\xff\xff", 16, 1},
        {"\x1f\x8b\x08\xff\x1f\x1f\x8b", 7, 1},
        {"x\x1f\x8b\x08\0\0\0\0\0\0\3\x4b\x4c\x4a\x06\0wrongsum", 24, 1},
    };
    struct bytes text = make_lines(3000, 12);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (int behind = 0; behind < 2; behind++) {
            struct bytes file = {0}, want = {0};
            add_member(&file, text.data, text.len, 6, 0, NULL);
            bytes_add(&want, text.data, text.len);
            bytes_add(&file, kinds[i].data, kinds[i].len);
            if (!behind) {
                add_member(&file, text.data, text.len, 6, 0, NULL);
                bytes_add(&want, text.data, text.len);
            }
            int fd = memory_file(file.data, file.len);
            struct reading r = read_all_ways(fd, 65536);
            CHECK_MEM(r.text.data, r.text.len, want.data, want.len);
            CHECK_INT(r.damage_count, kinds[i].damage);
            reading_done(&r);
            close(fd);
            bytes_done(&file);
            bytes_done(&want);
        }
    }
    bytes_done(&text);
}

/* Thousands of damaged members: the records stay bounded, and the work stays linear. */
static void much_damage(void)
{
    struct bytes text = make_lines(150, 13), file = {0};
    for (int i = 0; i < 6000; i++) {
        size_t start = file.len;
        add_member(&file, text.data, text.len, 6, 0, NULL);
        file.data[start + 10] |= 6; /* block type 3: invalid */
        add_member(&file, text.data, text.len, 6, 0, NULL);
    }
    int fd = memory_file(file.data, file.len);
    struct reading r = read_from(fd, TRACE_ENGINE_AUTO, 65536, 65536, NULL);
    CHECK_INT(r.damage_count, 4096);
    CHECK_INT(r.text.len, 6000 * text.len);
    reading_done(&r);
    close(fd);
    bytes_done(&file);
    bytes_done(&text);
}

/* Members that each seem to run to the end of the file before they fail: crafted to cost quadratic
 * time. */
static void overlapping_members(void)
{
    struct bytes file = {0};
    for (int i = 0; i < 30000;
         i++) /* a header, then a stored block that swallows the next headers */
        bytes_add(&file, "\x1f\x8b\x08\0\0\0\0\0\0\3\0\xf0\xff\x0f\0text text text text", 34);
    int fd = memory_file(file.data, file.len);
    struct reading r = read_from(fd, TRACE_ENGINE_AUTO, 0, 65536, NULL);
    CHECK_INT(r.rc, 0);
    CHECK(r.text.len < 40 * file.len);
    reading_done(&r);
    close(fd);
    bytes_done(&file);
}

static void unreadable(void)
{
    int fd = open("/proc/self/mem", O_RDONLY); /* reading at 0 fails with EIO */
    struct reading r = read_from(fd, TRACE_ENGINE_AUTO, 0, 100, NULL);
    CHECK_INT(r.rc, 0);
    CHECK_INT(r.text.len, 0);
    CHECK_INT(r.damage_count, 1);
    if (r.damage_count)
        CHECK_INT(r.damage[0].kind, TRACE_DAMAGE_READ);
    reading_done(&r);
    close(fd);

    struct trace_reader *none = NULL;
    fd = open("/", O_RDONLY);
    CHECK_INT(trace_reader_open(fd, NULL, NULL, NULL, &none), -EISDIR);
    CHECK(none == NULL);
    close(fd);
    CHECK_INT(trace_reader_open(-1, NULL, NULL, NULL, &none), -EBADF);
}

static void shrinking(void)
{
    struct bytes text = make_lines(4000000, 14), file = {0};
    add_member(&file, text.data, text.len, 1, 0, NULL);
    for (int plain = 0; plain < 2; plain++) {
        int fd = memory_file(plain ? text.data : file.data, plain ? text.len : file.len);
        struct trace_reader *r;
        char *buf = malloc(300000);
        CHECK_STOP(trace_reader_open(fd, NULL, NULL, NULL, &r) == 0);
        CHECK(trace_reader_read(r, buf, 300000) > 0);
        CHECK_INT(ftruncate(fd, 1000), 0);
        ssize_t n;
        while ((n = trace_reader_read(r, buf, 300000)) > 0)
            ;
        CHECK_INT(n, 0);
        trace_reader_finish(r);
        trace_reader_close(r);
        free(buf);
        close(fd);
    }
    bytes_done(&file);
    bytes_done(&text);
}

/* ---- growing files --------------------------------------------------------------------------- */

static void grow(const struct bytes *file, const struct bytes *want, enum trace_engine engine,
                 size_t step)
{
    struct trace_reader_options options = {engine, 65536};
    struct trace_reader *r;
    struct bytes text = {0};
    char buf[5000];
    int fd = memory_file("", 0);
    CHECK_STOP(trace_reader_open(fd, &options, NULL, NULL, &r) == 0);
    for (size_t at = 0; at <= file->len; at += step) {
        size_t n = file->len - at < step ? file->len - at : step;
        CHECK_INT(pwrite(fd, file->data + at, n, (off_t)at), n);
        ssize_t got;
        while ((got = trace_reader_read(r, buf, sizeof(buf))) > 0)
            bytes_add(&text, buf, (size_t)got);
        CHECK_INT(got, 0);
    }
    trace_reader_finish(r);
    CHECK(text.len == want->len && memcmp(text.data, want->data, text.len) == 0);
    struct reading whole = read_from(fd, engine, 65536, 65536, NULL);
    const struct trace_checkpoint *list;
    const struct trace_damage *damage;
    CHECK_INT(trace_reader_checkpoints(r, &list), whole.checkpoint_count);
    for (size_t i = 0; i < whole.checkpoint_count; i++) {
        CHECK_INT(list[i].text_offset, whole.checkpoints[i].text_offset);
        CHECK_INT(list[i].file_offset, whole.checkpoints[i].file_offset);
        CHECK_INT(list[i].kind, whole.checkpoints[i].kind);
    }
    CHECK_INT(trace_reader_damage(r, &damage), 0);
    reading_done(&whole);
    trace_reader_close(r);
    bytes_done(&text);
    close(fd);
}

static void growing(void)
{
    static const size_t steps[] = {1, 7, 131, 3001, 50021};
    for (size_t i = 0; i < 5; i++) {
        struct bytes text = make_lines(i ? 300000 : 20000, 15), file = {0};
        for (size_t k = 0; k < 4; k++)
            add_member(&file, text.data + text.len / 4 * k,
                       k < 3 ? text.len / 4 : text.len - text.len / 4 * 3, 6, 0, NULL);
        for (int e = 0; e < 2; e++) {
            if (!have(engines[e]))
                continue;
            grow(&file, &text, engines[e], steps[i]);
            grow(&text, &text, engines[e], steps[i]);
        }
        bytes_done(&file);
        bytes_done(&text);
    }
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* From any place on, a reader tells members and damage as one that began at 0. */
static void check_resumed(const struct reading *r, const struct reading *all)
{
    struct trace_reader_info got, want;
    trace_reader_info(r->reader, &got);
    trace_reader_info(all->reader, &want);
    CHECK_INT(got.members, want.members);
    CHECK_INT(r->damage_count, all->damage_count);
    for (size_t i = 0; i < r->damage_count && i < all->damage_count; i++) {
        CHECK_INT(r->damage[i].kind, all->damage[i].kind);
        CHECK_INT(r->damage[i].file_from, all->damage[i].file_from);
        CHECK_INT(r->damage[i].file_to, all->damage[i].file_to);
        CHECK_INT(r->damage[i].text_offset, all->damage[i].text_offset);
    }
}

static void resume_everywhere(const struct bytes *file)
{
    int fd = memory_file(file->data, file->len);
    struct reading all = read_all_ways(fd, 65536);
    CHECK(all.checkpoint_count > 1);
    for (size_t i = 0; i < all.checkpoint_count; i++) {
        const struct trace_checkpoint *at = &all.checkpoints[i];
        for (int e = 0; e < 2; e++) {
            if (!have(engines[e]))
                continue;
            struct reading r = read_from(fd, engines[e], 65536, 50000, at);
            CHECK_INT(r.rc, 0);
            CHECK(r.text.len == all.text.len - at->text_offset &&
                  memcmp(r.text.data, all.text.data + at->text_offset, r.text.len) == 0);
            CHECK_INT(r.checkpoint_count, all.checkpoint_count - i);
            for (size_t k = 0; k < r.checkpoint_count && k + i < all.checkpoint_count; k++) {
                CHECK_INT(r.checkpoints[k].text_offset, all.checkpoints[i + k].text_offset);
                CHECK_INT(r.checkpoints[k].bits, all.checkpoints[i + k].bits);
                CHECK_INT(r.checkpoints[k].window_len, all.checkpoints[i + k].window_len);
                CHECK_INT(r.checkpoints[k].members, all.checkpoints[i + k].members);
                CHECK_INT(r.checkpoints[k].crc, all.checkpoints[i + k].crc);
                CHECK_INT(r.checkpoints[k].member_text, all.checkpoints[i + k].member_text);
                CHECK_INT(r.checkpoints[k].member_start, all.checkpoints[i + k].member_start);
            }
            check_resumed(&r, &all);
            reading_done(&r);
        }
    }
    reading_done(&all);
    close(fd);
}

static void resume(void)
{
    static const struct {
        int level, strategy;
        size_t part;
    } kinds[] = {{6, 0, 4000000},
                 {1, 0, 300000},
                 {6, Z_FIXED, 500000},
                 {0, 0, 1000000},
                 {6, Z_HUFFMAN_ONLY, 700000},
                 {6, 0, 150}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct bytes text = make_lines(i < 5 ? 1500000 : 300000, 16), file = {0};
        for (size_t at = 0; at < text.len; at += kinds[i].part)
            add_member(&file, text.data + at,
                       text.len - at < kinds[i].part ? text.len - at : kinds[i].part,
                       kinds[i].level, kinds[i].strategy, NULL);
        resume_everywhere(&file);
        file.data[file.len - 5] ^= 1; /* of the last checksum */
        resume_everywhere(&file);
        bytes_done(&file);
        resume_everywhere(&text);
        bytes_done(&text);
    }
}

/* The rule of trace.h, found independently: boundaries as zlib's Z_BLOCK gives them. */
static void checkpoint_places(void)
{
    struct bytes text = make_lines(3000000, 17), file = {0};
    add_member(&file, text.data, text.len, 6, 0, NULL);
    int fd = memory_file(file.data, file.len);
    struct reading r = read_all_ways(fd, 400000);
    uint8_t *out = malloc(text.len + 1);
    z_stream z = {0};
    inflateInit2(&z, 31);
    z.next_in = file.data;
    z.avail_in = (uInt)file.len;
    z.next_out = out;
    z.avail_out = (uInt)text.len + 1;
    size_t k = 1;
    uint64_t target = 400000 - 131072;
    while (inflate(&z, Z_BLOCK) == Z_OK) {
        if (!(z.data_type & 128) || (z.data_type & 64) || z.total_out < target)
            continue;
        unsigned unused = (unsigned)z.data_type & 7;
        uint64_t bit = (uint64_t)z.total_in * 8 - unused;
        if (CHECK(k < r.checkpoint_count)) {
            CHECK_INT(r.checkpoints[k].text_offset, z.total_out);
            CHECK_INT(r.checkpoints[k].file_offset, bit / 8);
            CHECK_INT(r.checkpoints[k].bits, bit % 8);
            CHECK_INT(r.checkpoints[k].kind, TRACE_AT_BLOCK);
            CHECK(r.checkpoints[k].window_len > 0 && r.checkpoints[k].window_len < 32768);
        }
        k++;
        while (target <= z.total_out)
            target += 400000;
    }
    CHECK_INT(r.checkpoint_count, k);
    inflateEnd(&z);
    trace_reader_free_windows(r.reader, 2);
    trace_reader_checkpoints(r.reader, &r.checkpoints);
    CHECK(r.checkpoints[1].window == NULL && r.checkpoints[2].window != NULL);
    reading_done(&r);
    free(out);
    close(fd);
    bytes_done(&file);
    bytes_done(&text);
}

static void bad_checkpoints(void)
{
    struct bytes text = make_lines(100000, 18), file = {0};
    add_member(&file, text.data, text.len, 6, 0, NULL);
    int fd = memory_file(file.data, file.len);
    static const uint8_t junk[4] = {7, 7, 7, 7};
    const struct trace_checkpoint bad[] = {{5, 5, 8, TRACE_AT_BLOCK, 0, NULL},
                                           {5, 5, 0, 9, 0, NULL},
                                           {5, 6, 0, TRACE_AT_PLAIN, 0, NULL},
                                           {5, 5, 0, TRACE_AT_BLOCK, 4, junk},
                                           {5, 5, 0, TRACE_AT_BLOCK, 4, NULL}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct trace_reader *r = NULL;
        CHECK_INT(trace_reader_open(fd, NULL, &bad[i], NULL, &r), ERR_CORRUPT);
    }
    struct trace_checkpoint wrong = {5, 1000, 3, TRACE_AT_BLOCK, 0, NULL}; /* no boundary */
    for (int e = 0; e < 2; e++) {
        struct reading r =
            read_from(fd, have(engines[e]) ? engines[e] : TRACE_ENGINE_ZLIB, 0, 1000, &wrong);
        CHECK_INT(r.rc, 0);
        CHECK(r.damage_count > 0);
        reading_done(&r);
    }
    close(fd);
    bytes_done(&file);
    bytes_done(&text);
}

static const struct check_test tests[] = {{"real_traces", real_traces},
                                          {"compressors", compressors},
                                          {"flushed_blocks", flushed_blocks},
                                          {"small_files", small_files},
                                          {"members", members},
                                          {"headers", headers},
                                          {"cut_anywhere", cut_anywhere},
                                          {"flipped_bits", flipped_bits},
                                          {"damaged_member", damaged_member},
                                          {"wrong_checksum", wrong_checksum},
                                          {"garbage", garbage},
                                          {"much_damage", much_damage},
                                          {"overlapping_members", overlapping_members},
                                          {"unreadable", unreadable},
                                          {"shrinking", shrinking},
                                          {"growing", growing},
                                          {"resume", resume},
                                          {"checkpoint_places", checkpoint_places},
                                          {"bad_checkpoints", bad_checkpoints},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
