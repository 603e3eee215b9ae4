/* room: rewrite */
#include <zlib.h>

#include "check.h"
#include "failing_malloc.h"
#include "../../src/rewrite/generate.h"

static struct generate_options small(const char *format)
{
    struct generate_options o;
    generate_defaults(&o);
    o.format = generate_format_find(format);
    o.processes = 3;
    o.epochs = 6;
    o.steps = 20;
    return o;
}

/* All files of the plan one after the other, `want` bytes a time; the number of events. */
static uint64_t make(const struct generate_options *o, size_t want, struct buf *out)
{
    struct generate_plan *plan = NULL;
    struct err err = {0};
    uint64_t events = 0;
    if (!CHECK_INT(generate_plan_new(o, &err, &plan), 0))
        return 0;
    for (uint64_t i = 0; i < generate_plan_files(plan); i++) {
        struct generator *g = NULL;
        int rc = generate_open(plan, i, &g);
        while (rc == 0)
            rc = generate_next(g, want, out);
        CHECK_INT(rc, ERR_END);
        CHECK_INT(generate_next(g, want, out), ERR_END);
        events += generate_events(g);
        generate_close(g);
    }
    generate_plan_free(plan);
    return events;
}

/* The C++ standard demands this of std::mt19937_64 ([rand.predef]). */
static void twister_is_the_known_one(void)
{
    struct twister *t = twister_new(5489);
    uint64_t last = 0;
    for (int i = 0; i < 10000; i++)
        last = twister_next(t);
    CHECK(last == UINT64_C(9981545732273789042));
    free(t);
}

static void steps_do_not_matter(void)
{
    for (unsigned i = 0; i < 16; i++) {
        struct buf whole = {0}, pieces = {0};
        struct generate_options o = small(generate_format_name(i / 2));
        o.plain = i % 4 == 1;
        o.member_bytes = i % 3 == 2 ? 1000 : 0;
        o.level = i % 4 == 3 ? 0 : 6;
        o.files = 1 + i % 3;
        o.steps = 100; /* more text than is packed at once */
        uint64_t events = make(&o, 100 << 20, &whole);
        CHECK_INT(make(&o, 1 + i * 5000, &pieces), events);
        CHECK(whole.len > 10000 && text_eq((struct text){whole.data, whole.len},
                                           (struct text){pieces.data, pieces.len}));
        buf_done(&whole);
        buf_done(&pieces);
    }
}

static void seeds_matter(void)
{
    struct buf a = {0}, b = {0};
    struct generate_options o = small("unet3d");
    make(&o, 1 << 20, &a);
    o.seed++;
    make(&o, 1 << 20, &b);
    CHECK(!text_eq((struct text){a.data, a.len}, (struct text){b.data, b.len}));
    buf_done(&a);
    buf_done(&b);
}

/* Benchmarks are compared over the years: length and CRC-32 of what these options gave in 2026, told by Python. */
static void bytes_stay_as_they_were(void)
{
    struct generate_options o[7] = {small("v3"), small("v4"),         small("v105"), small("v0"),
                                    small("g0"), small("datacrumbs"), small("v3")};
    static const struct {
        size_t len;
        unsigned crc;
    } wanted[7] = {{1929342, 0x9492e483}, {2025845, 0xb9b176ad}, {635339, 0x5bb9456c},
                   {2102082, 0x3c9a2b80}, {1096083, 0x739eccc},  {1856598, 0xe2ed429c},
                   {4697963, 0xdeff1e26}};
    o[1].shuffle = o[6].shuffle = true;
    o[2].epochs = 5;
    o[2].steps = 7;
    o[2].hosts = 2;
    o[3].seed = 7;
    o[6].events = 20000; /* --reference --events 20000 */
    o[6].processes = 64;
    o[6].hosts = 8;
    o[6].train_files = 4989;
    o[6].val_files = 10;
    o[6].steps = 100;
    for (int i = 0; i < 7; i++) {
        struct buf out = {0};
        o[i].plain = true;
        o[i].files = 1;
        uint64_t events = make(&o[i], 1 << 20, &out);
        CHECK_INT(out.len, wanted[i].len);
        CHECK_INT(crc32(0, (const unsigned char *)out.data, (unsigned)out.len), wanted[i].crc);
        CHECK(!o[i].events || events == o[i].events);
        buf_done(&out);
    }
}

static size_t lines_of(const struct buf *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->len; i++)
        n += b->data[i] == '\n';
    return n;
}

/* The bound holds, and is not far off. */
static void lines_are_bounded(void)
{
    for (uint64_t i = 0; i < 30; i++) {
        struct generate_options o = small("unet3d");
        struct buf out = {0};
        o.plain = true;
        o.processes = 1 + i % 4;
        o.epochs = i % 7;
        o.steps = 1 + i * 3 % 11;
        o.checkpoint_every = i % 3;
        o.validation_every = i % 4;
        o.train_files = 1 + i % 9;
        o.val_files = i % 5;
        o.shuffle = i % 2;
        uint64_t events = make(&o, 1 << 20, &out);
        CHECK(events <= lines_of(&out));
        CHECK(lines_of(&out) <= generate_lines_most(&o));
        CHECK(lines_of(&out) * 2 >= generate_lines_most(&o));
        buf_done(&out);
    }
    struct generate_options o = small("unet3d");
    o.epochs = o.steps = o.processes = UINT64_MAX;
    CHECK(generate_lines_most(&o) == UINT64_MAX);
}

static void defaults_are_those_of_the_command(void)
{
    struct generate_options o;
    generate_defaults(&o);
    CHECK_STR(generate_format_name(0), "unet3d");
    CHECK(o.format == generate_format_find("unet3d") && !generate_format_find("v9"));
    CHECK_INT(o.processes, 8);
    CHECK_INT(o.hosts, 4);
    CHECK_INT(o.epochs, 500);
    CHECK_INT(o.steps, 1000);
    CHECK_INT(o.checkpoint_every, 5);
    CHECK_INT(o.validation_every, 2);
    CHECK_INT(o.train_files, 8);
    CHECK_INT(o.val_files, 2);
    CHECK_INT(o.step_ms, 100);
    CHECK_INT(o.seed, 42);
    CHECK_INT(generate_check(&o, NULL), 0);
}

static void bad_numbers_are_named(void)
{
    static const struct {
        const char *name;
        size_t offset;
        uint64_t value;
    } bad[] = {
        {"num_processes", offsetof(struct generate_options, processes), 0},
        {"num_processes", offsetof(struct generate_options, processes), 100001},
        {"num_hosts", offsetof(struct generate_options, hosts), 0},
        {"steps_per_epoch", offsetof(struct generate_options, steps), 0},
        {"num_train_files", offsetof(struct generate_options, train_files), 0},
        {"num_val_files", offsetof(struct generate_options, val_files), 10000001},
        {"step_duration_ms", offsetof(struct generate_options, step_ms), 0},
        {"step_duration_ms", offsetof(struct generate_options, step_ms), 86400001},
        {"files", offsetof(struct generate_options, files), 4},
        {"events", offsetof(struct generate_options, events), 5},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct generate_options o = small("unet3d");
        struct err err = {0};
        struct generate_plan *plan;
        memcpy((char *)&o + bad[i].offset, &bad[i].value, sizeof bad[i].value);
        CHECK_INT(generate_plan_new(&o, &err, &plan), ERR_PARAM);
        CHECK_STR(err.param, bad[i].name);
    }
}

static void queries_are_good(void)
{
    struct generate_options o = small("unet3d");
    struct generate_plan *plan = NULL;
    struct generate_query q;
    unsigned n = 0, suggested = 0;
    o.processes = 100000;
    o.epochs = UINT64_MAX; /* the longest texts */
    CHECK_STOP(generate_plan_new(&o, NULL, &plan) == 0);
    for (; generate_query_at(plan, n, &q); n++) {
        struct buf normal = {0};
        struct err err = {0};
        suggested += q.suggested;
        CHECK(strlen(q.text) < 80 && !strpbrk(q.text, "{}'"));
        CHECK_INT(query_normalise(text_of(q.text), &err, &normal), 0);
        buf_done(&normal);
    }
    CHECK_INT(n, 24);
    CHECK_INT(suggested, 6);
    generate_plan_free(plan);
}

static void lack_of_memory_is_an_error(void)
{
    for (unsigned n = 0; failing_malloc_next(n); n++) {
        struct generate_options o = small(n % 2 ? "unet3d" : "v3");
        struct generate_plan *plan = NULL;
        struct generator *g = NULL;
        struct buf out = {0};
        int rc = generate_plan_new(&o, NULL, &plan);
        if (rc == 0)
            rc = generate_open(plan, 1, &g);
        while (rc == 0)
            rc = generate_next(g, 1 << 20, &out);
        bool failed = failing_malloc_happened();
        failing_malloc_stop();
        CHECK_INT(rc, failed ? -ENOMEM : ERR_END);
        generate_close(g);
        generate_plan_free(plan);
        buf_done(&out);
    }
}

static const struct check_test tests[] = {
    {"twister_is_the_known_one", twister_is_the_known_one},
    {"steps_do_not_matter", steps_do_not_matter},
    {"seeds_matter", seeds_matter},
    {"bytes_stay_as_they_were", bytes_stay_as_they_were},
    {"lines_are_bounded", lines_are_bounded},
    {"defaults_are_those_of_the_command", defaults_are_those_of_the_command},
    {"bad_numbers_are_named", bad_numbers_are_named},
    {"queries_are_good", queries_are_good},
    {"lack_of_memory_is_an_error", lack_of_memory_is_an_error},
    {NULL, NULL},
};
CHECK_MAIN(tests)
