/* module: index */
/* test_ingest_upkeep.c - what goes on beside reading: files that have been missing are forgotten,
 * and questions come first. */
#include "index_world.h"
#include "index/store/kv.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>

enum { UPKEEP_MS = 10 };

static uint32_t id_of(struct index *ix, const char *name)
{
    struct snapshot *s;
    uint32_t id = wait_for(ix, name, INDEX_READY, &s)->id;

    snapshot_release(s);
    return id;
}

static void write_events(const char *name, int n)
{
    struct buf b = {0};

    put_events(&b, 0, n, 7);
    write_file(name, "w", b.data, b.len);
    buf_done(&b);
}

/* Gone and back: true if it was forgotten meanwhile, so that it had to be read anew. */
static bool was_forgotten(struct index *ix, const char *name, uint32_t id)
{
    offer(ix, name);
    return id_of(ix, name) != id;
}

/* Missing files have been missing for purge_ms, and have been looked at since. */
static void after_upkeep(struct index *ix)
{
    struct index_progress p;
    uint64_t before;

    nanosleep(&(struct timespec){0, 2000000}, NULL); /* purge_ms, of a clock that counts ms */
    index_progress(ix, &p);
    for (before = p.upkeeps; p.upkeeps < before + 2; rest())
        index_progress(ix, &p);
}

/* What has been missing for purge_ms is forgotten; not before all roots were listed, and not where
 * the root is held. */
static void missing_files(void)
{
    static const char *const names[] = {"a.pfw", "away/a.pfw", "awayness/a.pfw"};
    uint32_t id[3];
    struct index *ix;

    world();
    mkdir(path_of("away"), 0700);
    mkdir(path_of("awayness"), 0700);
    ix = open_with((struct index_options){.settle_ms = -1, .purge_ms = 1, .upkeep_ms = UPKEEP_MS});
    for (int i = 0; i < 3; i++) {
        write_events(names[i], 10 + i);
        offer(ix, names[i]);
        id[i] = id_of(ix, names[i]);
    }
    CHECK_INT(index_set_unreadable_dirs(ix, (const char *const[]){"some/other", "away", "a"}, 3),
              0);
    CHECK_INT(index_forget(ix, "a.pfw"), 0);
    after_upkeep(ix);
    CHECK(!was_forgotten(ix, "a.pfw", id[0]));
    index_listed(ix);
    for (int i = 0; i < 3; i++)
        CHECK_INT(index_forget(ix, names[i]), 0);
    after_upkeep(ix);
    CHECK(was_forgotten(ix, "a.pfw", id[0]));
    CHECK(!was_forgotten(ix, "away/a.pfw", id[1]));
    CHECK(was_forgotten(ix, "awayness/a.pfw", id[2]));
    /* The root can be read again, and the file is not in it. */
    CHECK_INT(index_set_unreadable_dirs(ix, NULL, 0), 0);
    CHECK_INT(index_forget(ix, "away/a.pfw"), 0);
    after_upkeep(ix);
    CHECK(was_forgotten(ix, "away/a.pfw", id[1]));
    index_close(ix);
    world_end();
}

/* Names that come and go, each for once: what is kept of one is little more than its bytes. */
static void names_that_are_gone(void)
{
    enum { NAMES = 2000 };
    size_t before;
    struct index *ix;

    world();
    ix = open_with((struct index_options){.settle_ms = -1, .purge_ms = 1, .upkeep_ms = UPKEEP_MS});
    index_listed(ix);
    write_events("stays.pfw.gz",
                 10); /* by content it is no gzip file; its name pairs it with stays.pfw */
    write_events("stays.pfw", 10);
    offer(ix, "stays.pfw.gz");
    offer(ix, "stays.pfw");
    id_of(ix, "stays.pfw");
    before = mallinfo2().uordblks;
    for (int i = 0; i < NAMES; i++) {
        char name[40];

        snprintf(name, sizeof name, "come/and/go/%d.pfw", i);
        offer(ix, name); /* there is no such file */
        CHECK_INT(index_forget(ix, name), 0);
    }
    CHECK_INT(index_forget(ix, "stays.pfw"), 0);
    for (int i = 0; i < 200 && mallinfo2().uordblks > before + NAMES * 500; i++)
        nanosleep(&(struct timespec){0, 100000000}, NULL);
    CHECK(mallinfo2().uordblks < before + NAMES * 500);
    offer(ix, "stays.pfw");
    id_of(ix, "stays.pfw");
    index_close(ix);
    world_end();
}

/* While a question runs the reader rests 20 ms before each chunk, so it takes that long at least,
 * and gets through. */
static void questions_first(void)
{
    enum { EVENTS = 8000 };
    struct snapshot *s;
    struct index *ix;
    int64_t begin;

    world();
    write_events("a.pfw", EVENTS);
    ix = open_index(-1, 65536);
    index_query_running(ix, 1);
    begin = clock_mono_ns();
    offer(ix, "a.pfw");
    const struct index_file *f = wait_for(ix, "a.pfw", INDEX_READY, &s);
    CHECK_INT(f->counts.events, EVENTS);
    CHECK(f->chunk_count > 10);
    CHECK(clock_mono_ns() - begin >= f->chunk_count * 20000000LL);
    snapshot_release(s);
    index_query_running(ix, -1);
    index_close(ix);
    world_end();
}

static uint64_t events_now(struct index *ix)
{
    struct snapshot *s = index_snapshot(ix);
    uint64_t events = snapshot_file(s, 0)->counts.events;

    snapshot_release(s);
    return events;
}

/* A file that has been read cannot be opened for want of descriptors when it is looked at again:
 * what is known of it stays. */
static void short_of_descriptors(void)
{
    struct rlimit limit, none;
    struct index_progress p;
    struct snapshot *s;
    struct index *ix;
    int fd;

    world();
    write_events("a.pfw", 100);
    ix = open_index(NEVER_SETTLES_MS, 65536);
    offer(ix, "a.pfw");
    wait_for(ix, "a.pfw", INDEX_GROWING, &s);
    snapshot_release(s);
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){.rlim_cur = (rlim_t)fd, .rlim_max = limit.rlim_max};
    close(fd);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    leave(ix, "a.pfw");
    index_progress(ix, &p);
    for (int i = 0; i < 24000 && p.files_unreadable == 0; i++, rest())
        index_progress(ix, &p);
    CHECK_INT(p.files_unreadable, 1);
    CHECK_INT(events_now(ix), 100);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK_INT(wait_for(ix, "a.pfw", INDEX_READY, &s)->counts.events, 100);
    snapshot_release(s);
    index_close(ix);
    world_end();
}

static uint32_t chunks_of_first(struct index *ix)
{
    struct snapshot *s = index_snapshot(ix);
    uint32_t count = snapshot_file_count(s) ? snapshot_file(s, 0)->chunk_count : 0;

    snapshot_release(s);
    return count;
}

/* What is written to a file while it is read is not part of its size yet. */
static void grows_while_read(void)
{
    struct buf b = {0};
    struct stop_behind stop;
    struct index_progress p;
    struct index *ix;

    world();
    put_events(&b, 0, 2000, 7);
    write_file("a.pfw", "w", b.data, b.len);
    ix = open_with(stopping_behind(&stop, 1));
    offer(ix, "a.pfw");
    sem_wait(&stop.reached);
    for (int i = 0; i < 5; i++)
        write_file("a.pfw", "a", b.data, b.len);
    stop.chunks = (unsigned)(b.len * 4 / 65536);
    sem_post(&stop.go);
    sem_wait(&stop.reached);
    while ((uint64_t)chunks_of_first(ix) * 65536 < b.len * 2)
        rest();
    index_progress(ix, &p);
    CHECK_INT(p.files_pending, 1);
    CHECK_INT(p.bytes, b.len);
    CHECK_INT(p.bytes_done, b.len);
    sem_post(&stop.go);
    index_close(ix);
    sem_destroy(&stop.reached);
    sem_destroy(&stop.go);
    buf_done(&b);
    world_end();
}

/* A start and a duration that do not fit 64 bits of nanoseconds, although their sum does. */
static void long_durations(void)
{
    static const char lines[] = "{\"name\":\"a\",\"cat\":\"c\",\"pid\":7,\"tid\":7,\"ph\":\"X\","
                                "\"ts\":-9000000000000000,\"dur\":15000000000000000}\n";
    struct snapshot *s;
    struct index *ix;

    world();
    write_file("a.pfw", "w", lines, sizeof lines - 1);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw");
    const struct index_file *f = wait_for(ix, "a.pfw", INDEX_READY, &s);
    CHECK_INT(f->counts.events, 1);
    CHECK_INT(f->counts.bad_dur, 0);
    CHECK(f->min_ts == (__int128)-9000000000000000 * 1000);
    CHECK(f->max_te == (__int128)6000000000000000 * 1000);
    snapshot_release(s);
    index_close(ix);
    world_end();
}

/* The unit stands in what was added: the file is read again, and no record stays of before. */
static void unit_in_growth(void)
{
    struct buf b = {0};
    struct kv_read *r;
    struct snapshot *s;
    const struct index_file *f;
    struct index *ix;

    world();
    put_events(&b, 0, 3000, 7);
    write_file("a.pfw", "w", b.data, b.len);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw");
    f = wait_for(ix, "a.pfw", INDEX_READY, &s);
    CHECK_INT(f->unit, TRACE_US);
    snapshot_release(s);
    buf_clear(&b);
    buf_puts(&b, "{\"name\":\"CM\",\"cat\":\"dftracer\",\"pid\":7,\"tid\":7,\"ph\":\"M\",\"args\":{"
                 "\"name\":\"time_metric\",\"value\":\"NS\"}}\n");
    write_file("a.pfw", "a", b.data, b.len);
    offer(ix, "a.pfw");
    wait_quiet(ix);
    f = wait_for(ix, "a.pfw", INDEX_READY, &s);
    CHECK_INT(f->unit, TRACE_NS);
    CHECK_INT(f->counts.events, 3000);
    snapshot_release(s);
    CHECK_INT(kv_read_begin(ix->kv, &r), 0);
    CHECK_INT(kv_count(r, KV_FILE), 1);
    CHECK_INT(kv_count(r, KV_PATH), 1);
    kv_read_end(r);
    index_close(ix);
    buf_done(&b);
    world_end();
}

static const struct check_test tests[] = {{"unit_in_growth", unit_in_growth},
                                          {"missing_files", missing_files},
                                          {"names_that_are_gone", names_that_are_gone},
                                          {"questions_first", questions_first},
                                          {"short_of_descriptors", short_of_descriptors},
                                          {"grows_while_read", grows_while_read},
                                          {"long_durations", long_durations},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
