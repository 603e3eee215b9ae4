/* module: trace */
/* test_piece.c - text inflated ahead of its reader: whatever pieces there are, right ones or wrong
 * ones, the reader tells the same as without. */
#include "trace_data.h"

static const enum trace_engine engines[] = {TRACE_ENGINE_ZLIB, TRACE_ENGINE_ISAL};

/* Pieces by where they begin, all made before reading. */
struct plan {
    struct trace_ahead ahead;
    struct {
        uint64_t bit;
        struct trace_piece *piece;
    } list[4096];
    size_t count, next, used, refused;
};

static void show(struct plan *p)
{
    while (p->next < p->count && !p->list[p->next].piece)
        p->next++;
    atomic_store(&p->ahead.first, p->next < p->count ? p->list[p->next].bit : UINT64_MAX);
}

static struct trace_piece *take(struct trace_ahead *a, uint64_t bit)
{
    struct plan *p = (struct plan *)a;
    struct trace_piece *piece = NULL;
    for (; p->next < p->count && p->list[p->next].bit < bit; p->next++)
        trace_piece_free(p->list[p->next].piece);
    if (p->next < p->count && p->list[p->next].bit == bit)
        piece = p->list[p->next++].piece;
    show(p);
    return piece;
}

static void done(struct trace_ahead *a, struct trace_piece *piece, bool used)
{
    struct plan *p = (struct plan *)a;
    p->used += used;
    p->refused += !used;
    trace_piece_free(piece);
}

/* From `from` on up to `stop`, in pieces of at most `most` bytes of text, at most `n` of them. */
static void plan_from(struct plan *p, int fd, enum trace_engine engine,
                      const struct trace_checkpoint *from, uint64_t stop, size_t most, int n)
{
    struct trace_reader_options options = {engine, 0};
    struct trace_reader *r;
    uint64_t bit = from->file_offset * 8 + from->bits;
    if (!CHECK_INT(trace_reader_open(fd, &options, from, NULL, &r), 0))
        return;
    for (struct trace_piece *piece;
         n-- && p->count < 4096 && trace_piece_read(r, most, stop, &piece) == 0;) {
        p->list[p->count].bit = bit;
        p->list[p->count++].piece = piece;
        bit = trace_piece_end(piece);
        if (bit >= stop)
            break;
    }
    trace_reader_close(r);
}

static struct plan *plan_new(void)
{
    struct plan *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    p->ahead.take = take;
    p->ahead.done = done;
    return p;
}

/* A piece (and up to n - 1 behind it) from every place that looks like a member. */
static struct plan *plan_members(int fd, enum trace_engine engine, size_t most, int n)
{
    struct plan *p = plan_new();
    uint64_t at = 1, next;
    bool more = trace_find_member(fd, 1, UINT64_MAX, &at) == 0;
    for (; more; at = next) {
        struct trace_checkpoint from = {.kind = TRACE_AT_MEMBER, .file_offset = at};
        more = trace_find_member(fd, at + 1, UINT64_MAX, &next) == 0;
        plan_from(p, fd, engine, &from, more ? next * 8 : UINT64_MAX, most, n);
    }
    return p;
}

static struct plan *plan_checkpoints(int fd, enum trace_engine engine, const struct reading *known,
                                     size_t most)
{
    struct plan *p = plan_new();
    for (size_t i = 0; i < known->checkpoint_count; i++) {
        const struct trace_checkpoint *c = &known->checkpoints[i];
        uint64_t stop =
            i + 1 < known->checkpoint_count ? c[1].file_offset * 8 + c[1].bits : UINT64_MAX;
        if (c->kind == TRACE_AT_MEMBER || c->in_gzip_member)
            plan_from(p, fd, engine, c, stop, most, 1000);
    }
    return p;
}

static struct reading read_with(int fd, enum trace_engine engine, uint64_t checkpoint_size,
                                size_t step, struct plan *p)
{
    struct reading r = {0};
    struct trace_reader_options options = {engine, checkpoint_size};
    char *buf = malloc(step);
    show(p);
    CHECK_INT(r.rc = trace_reader_open(fd, &options, NULL, NULL, &r.reader), 0);
    trace_reader_set_ahead(r.reader, &p->ahead);
    for (int pass = 0; pass < 2; pass++) {
        while ((r.rc = trace_reader_read(r.reader, buf, step)) > 0)
            bytes_add(&r.text, buf, (size_t)r.rc);
        trace_reader_finish(r.reader);
    }
    r.checkpoint_count = trace_reader_checkpoints(r.reader, &r.checkpoints);
    r.damage_count = trace_reader_damage(r.reader, &r.damage);
    free(buf);
    return r;
}

/* Reads with the pieces: the same as without. How many were used. */
static size_t check_plan(int fd, enum trace_engine engine, const struct reading *want,
                         struct plan *p, size_t step)
{
    struct reading r = read_with(fd, engine, 65536, step, p);
    size_t used = p->used;
    CHECK(same_reading(&r, want));
    for (size_t i = 0; i < r.checkpoint_count && i < want->checkpoint_count; i++) {
        const struct trace_checkpoint *a = &r.checkpoints[i], *b = &want->checkpoints[i];
        CHECK(a->members == b->members && a->in_gzip_member == b->in_gzip_member &&
              a->crc == b->crc && a->member_start == b->member_start &&
              a->member_text == b->member_text);
    }
    reading_done(&r);
    take(&p->ahead, UINT64_MAX);
    free(p);
    return used;
}

/* By members and by checkpoints, with both libraries. How many pieces were used, all in all. */
static size_t check_all(const struct bytes *file)
{
    int fd = memory_file(file->data, file->len);
    size_t used = 0;
    for (int i = 0; i < 2; i++) {
        if (!trace_engine_available(engines[i]))
            continue;
        struct reading want = read_from(fd, engines[i], 65536, 1 << 20, NULL);
        used +=
            check_plan(fd, engines[i], &want, plan_members(fd, engines[i], 1 << 20, 1), 1 << 20);
        used +=
            check_plan(fd, engines[i], &want,
                       plan_members(fd, engines[1 - i * trace_engine_available(1)], 50000, 3), 977);
        used += check_plan(fd, engines[i], &want, plan_checkpoints(fd, engines[i], &want, 100000),
                           40001);
        reading_done(&want);
    }
    close(fd);
    return used;
}

static struct bytes many_members(const struct bytes *text, size_t each, int level, int strategy)
{
    struct bytes file = {0};
    for (size_t at = 0; at < text->len; at += each)
        add_member(&file, text->data + at, text->len - at < each ? text->len - at : each, level,
                   strategy, NULL);
    return file;
}

static void sound_files(void)
{
    static const struct {
        size_t each;
        int level, strategy;
        size_t used; /* at the least */
    } kinds[] = {{100000, 6, 0, 16}, {65280, 1, 0, 26}, {400000, 9, 0, 2},
                 {150000, 0, 0, 10}, {700, 6, 0, 1000}, {10000000, 6, Z_HUFFMAN_ONLY, 16}};
    struct bytes text = make_lines(900000, 1);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct bytes file = many_members(&text, kinds[i].each, kinds[i].level, kinds[i].strategy);
        CHECK(check_all(&file) >= kinds[i].used);
        bytes_done(&file);
    }
    bytes_done(&text);
}

/* Empty members, empty blocks, padding and garbage between members. */
static void odd_members(void)
{
    static const char zeros[700], trash[] = "no member";
    struct bytes text = make_lines(60000, 2), file = {0};
    for (int i = 0; i < 40; i++) {
        add_member(&file, text.data, i % 3 ? text.len : 0, 6, i % 4 ? 0 : Z_FIXED, NULL);
        if (i % 5 == 0)
            bytes_add(&file, zeros, (size_t)(1 + i * 17));
        if (i % 11 == 10)
            bytes_add(&file, trash, sizeof trash);
    }
    CHECK(check_all(&file) > 10);
    bytes_done(&file);
    bytes_done(&text);
}

/* A gzip file inside stored blocks looks like members, and is none. */
static void false_members(void)
{
    struct bytes text = make_lines(500000, 3), inner = many_members(&text, 30000, 6, 0), file = {0},
                 plain = {0};
    for (int i = 0; i < 3; i++)
        add_member(&file, inner.data, inner.len, 0, 0, NULL);
    int fd = memory_file(file.data, file.len);
    struct reading want = read_from(fd, TRACE_ENGINE_ZLIB, 65536, 1 << 20, NULL);
    struct plan *p = plan_members(fd, TRACE_ENGINE_ZLIB, 1 << 20, 1);
    CHECK(p->count > 20);
    CHECK_INT(check_plan(fd, TRACE_ENGINE_ZLIB, &want, p, 1 << 20), 2);
    reading_done(&want);
    close(fd);
    check_all(&file);
    bytes_done(&plain);
    bytes_done(&file);
    bytes_done(&inner);
    bytes_done(&text);
}

/* Checkpoints of another file, or with another window, check sum or length before: nobody's text.
 */
static void wrong_checkpoints(void)
{
    struct bytes text = make_lines(600000, 4),
                 file = many_members(&text, 10000000, 6, Z_HUFFMAN_ONLY);
    int fd = memory_file(file.data, file.len);
    struct reading want = read_from(fd, TRACE_ENGINE_ZLIB, 65536, 1 << 20, NULL);
    CHECK(want.checkpoint_count > 5);
    for (int kind = 0; kind < 4; kind++) {
        struct plan *p = plan_new();
        for (size_t i = 1; i + 1 < want.checkpoint_count; i++) {
            struct trace_checkpoint c = want.checkpoints[i];
            const struct trace_checkpoint *other = &want.checkpoints[i + 1];
            if (kind == 0) {
                c.window = other->window;
                c.window_len = other->window_len;
            }
            c.crc += kind == 1;
            c.member_text += kind == 2;
            c.member_start += kind == 3;
            plan_from(p, fd, TRACE_ENGINE_ZLIB, &c, other->file_offset * 8 + other->bits, 1 << 20,
                      1);
        }
        CHECK(p->count > 3);
        CHECK_INT(check_plan(fd, TRACE_ENGINE_ZLIB, &want, p, 1 << 20), 0);
    }
    reading_done(&want);
    close(fd);
    bytes_done(&file);
    bytes_done(&text);
}

static void damaged_files(void)
{
    struct bytes text = make_lines(400000, 5), file = many_members(&text, 45000, 6, 0);
    uint64_t seed = 6;
    for (int i = 0; i < 60; i++) {
        struct bytes bad = {0};
        uint64_t bit = random_next(&seed) % ((file.len - 2) * 8) + 16;
        bytes_add(&bad, file.data, i % 6 ? file.len : file.len - bit / 8);
        if (i % 6)
            bad.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (bad.len > 2)
            check_all(&bad);
        bytes_done(&bad);
    }
    bytes_done(&file);
    bytes_done(&text);
}

/* Real members, and those of writers that flush: many small blocks. */
static size_t traces;
static void one_trace(const char *path)
{
    int fd = open(path, O_RDONLY);
    struct bytes file = {0};
    char buf[65536];
    ssize_t n;
    while ((n = read(fd, buf, sizeof buf)) > 0)
        bytes_add(&file, buf, (size_t)n);
    close(fd);
    if (file.len > 2 && file.len < 1 << 20 && traces++ % 4 == 0)
        check_all(&file);
    bytes_done(&file);
}

static void real_traces(void)
{
    if (!each_trace(one_trace))
        check_skip("no real traces");
}

static const struct check_test tests[] = {{"sound_files", sound_files},
                                          {"odd_members", odd_members},
                                          {"false_members", false_members},
                                          {"wrong_checkpoints", wrong_checkpoints},
                                          {"damaged_files", damaged_files},
                                          {"real_traces", real_traces},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
