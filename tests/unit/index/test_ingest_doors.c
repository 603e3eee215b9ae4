/* module: index */
/* test_ingest_doors.c - files that are read when somebody asks for them, and files that are read in
 * a way of their own. */
#include "index_world.h"

#include <errno.h>

static struct index *open_on_demand(void)
{
    return open_with(
        (struct index_options){.checkpoint_size = 65536, .settle_ms = -1, .on_demand = true});
}

static void write_events(const char *name, int n)
{
    struct buf b = {0};

    put_events(&b, 0, n, 7);
    write_file(name, "w", b.data, b.len);
    buf_done(&b);
}

static struct index_progress progress_of(struct index *ix)
{
    struct index_progress p;

    index_progress(ix, &p);
    return p;
}

static enum index_state state_of(struct index *ix, const char *name)
{
    struct snapshot *s = index_snapshot(ix);
    enum index_state state = INDEX_MISSING;

    for (uint32_t i = 0; i < snapshot_file_count(s); i++) {
        if (strcmp(snapshot_file(s, i)->name, name) == 0)
            state = snapshot_file(s, i)->state;
    }
    snapshot_release(s);
    return state;
}

static void wait_events(struct index *ix, const char *name, uint64_t events)
{
    struct snapshot *s;
    uint64_t got;

    for (int i = 0; i < 4000; i++, rest()) {
        got = wait_for(ix, name, INDEX_READY, &s)->counts.events;
        snapshot_release(s);
        if (got == events)
            return;
    }
    check_fail(__FILE__, __LINE__, "%s has %llu events", name, (unsigned long long)got);
}

/* ---- on demand ------------------------------------------------------------------------------- */

/* Listed, and left alone; what is asked for is read, and nothing else. */
static void read_when_asked(void)
{
    struct index_progress p;
    struct snapshot *s;
    struct index *ix;

    world();
    write_events("a.pfw", 10);
    write_events("b.pfw", 20);
    ix = open_on_demand();
    offer(ix, "a.pfw");
    offer(ix, "b.pfw");
    index_listed(ix);
    p = progress_of(ix);
    CHECK_INT(p.files, 2);
    CHECK_INT(p.files_unasked, 2);
    CHECK_INT(p.files_pending, 0);
    CHECK_INT(p.bytes, 0);
    CHECK_INT(state_of(ix, "a.pfw"), INDEX_PENDING);
    s = index_snapshot(ix);
    CHECK(snapshot_file(s, 0)->compressed_bytes > 500);
    snapshot_release(s);
    CHECK_INT(index_request_file(ix, "no.pfw"), ERR_NOT_FOUND);
    CHECK_INT(index_request_file(ix, "b.pfw"), 0);
    CHECK_INT(index_request_file(ix, "b.pfw"), 0);
    wait_events(ix, "b.pfw", 20);
    CHECK_INT(index_request_file(ix, "b.pfw"), 0);
    CHECK_INT(state_of(ix, "a.pfw"), INDEX_PENDING);
    wait_quiet(ix);
    p = progress_of(ix);
    CHECK_INT(p.files_unasked, 1);
    CHECK_INT(p.files_ready, 1);
    CHECK(p.bytes > 1000 && p.bytes == p.bytes_done);
    index_close(ix);
    world_end();
}

/* A file that was asked for follows its changes, one that was not stays unasked; without on_demand
 * all are read. */
static void changes_when_asked(void)
{
    struct index *ix;

    world();
    write_events("a.pfw", 10);
    write_events("b.pfw", 20);
    ix = open_on_demand();
    offer(ix, "a.pfw");
    offer(ix, "b.pfw");
    CHECK_INT(index_request_file(ix, "b.pfw"), 0);
    wait_events(ix, "b.pfw", 20);
    write_events("a.pfw", 11);
    write_events("b.pfw", 25);
    offer(ix, "a.pfw");
    offer(ix, "b.pfw");
    wait_events(ix, "b.pfw", 25);
    CHECK_INT(state_of(ix, "a.pfw"), INDEX_PENDING);
    CHECK_INT(progress_of(ix).files_unasked, 1);
    /* Gone and back again: still nobody asked. */
    CHECK_INT(index_forget(ix, "a.pfw"), 0);
    CHECK_INT(index_request_file(ix, "a.pfw"), ERR_NOT_FOUND);
    offer(ix, "a.pfw");
    CHECK_INT(progress_of(ix).files_unasked, 1);
    CHECK_INT(index_rebuild(ix, "a.pfw", NULL), 0);
    wait_events(ix, "a.pfw", 11);
    CHECK_INT(progress_of(ix).files_unasked, 0);
    index_close(ix);
    write_events("c.pfw", 3);
    ix = open_index(-1, 65536);
    offer(ix, "c.pfw");
    wait_events(ix, "c.pfw", 3);
    index_close(ix);
    world_end();
}

/* What an earlier process has read is there, follows its changes, and goes on where that process
 * was stopped. */
static void remembers_what_was_asked(void)
{
    struct buf b = {0};
    struct snapshot *s;
    struct index *ix;
    uint32_t id;

    world();
    write_events("a.pfw", 10);
    write_events("b.pfw", 20);
    put_events(&b, 0, 40000, 7);
    write_gz("c.pfw.gz", b.data, b.len);
    ix = open_on_demand();
    offer(ix, "a.pfw");
    offer(ix, "b.pfw");
    offer(ix, "c.pfw.gz");
    CHECK_INT(index_request_file(ix, "b.pfw"), 0);
    wait_events(ix, "b.pfw", 20);
    id = wait_for(ix, "b.pfw", INDEX_READY, &s)->id;
    snapshot_release(s);
    CHECK_INT(index_request_file(ix, "c.pfw.gz"), 0);
    for (int i = 0; i < 4000 && state_of(ix, "c.pfw.gz") == INDEX_PENDING; i++)
        rest();
    index_close(ix);
    ix = open_on_demand();
    offer(ix, "a.pfw");
    offer(ix, "b.pfw");
    offer(ix, "c.pfw.gz");
    CHECK_INT(state_of(ix, "a.pfw"), INDEX_PENDING);
    CHECK_INT(wait_for(ix, "b.pfw", INDEX_READY, &s)->id, id);
    snapshot_release(s);
    CHECK_INT(index_request_file(ix, "c.pfw.gz"),
              0); /* it may have been stopped before its first commit */
    wait_events(ix, "c.pfw.gz", 40000);
    write_events("b.pfw", 21);
    offer(ix, "b.pfw");
    wait_events(ix, "b.pfw", 21);
    CHECK_INT(state_of(ix, "a.pfw"), INDEX_PENDING);
    index_close(ix);
    buf_done(&b);
    world_end();
}

/* Asked for again and again: each is read once. */
static void asked_by_many(void)
{
    struct snapshot *s;
    struct index *ix;
    char name[32];

    world();
    ix = open_on_demand();
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "%02d.pfw", i);
        write_events(name, 5);
        offer(ix, name);
    }
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 50; i += 2) {
            snprintf(name, sizeof name, "%02d.pfw", i);
            CHECK_INT(index_request_file(ix, name), 0);
        }
    }
    wait_quiet(ix);
    CHECK_INT(progress_of(ix).files_ready, 25);
    CHECK_INT(progress_of(ix).files_unasked, 25);
    s = index_snapshot(ix);
    for (uint32_t i = 0; i < 50; i++)
        CHECK(i % 2 ? snapshot_file(s, i)->id == 0
                    : snapshot_file(s, i)->id >= 1 && snapshot_file(s, i)->id <= 25);
    snapshot_release(s);
    index_close(ix);
    world_end();
}

/* ---- index parameters of their own ----------------------------------------------------------- */

static const char *const ret_only[] = {"args.ret", NULL};

static bool may_have(struct index *ix, const struct index_file *f, const char *path,
                     const char *value)
{
    return index_file_may_have(ix, f, text_of(path), text_hash(text_of(value)));
}

/* Rebuilt, and whole again: its view in a *new* snapshot. */
static const struct index_file *rebuild(struct index *ix, const char *name,
                                        const struct index_file_options *options,
                                        struct snapshot **ret)
{
    uint32_t id = wait_for(ix, name, INDEX_READY, ret)->id;

    snapshot_release(*ret);
    CHECK_INT(index_rebuild(ix, name, options), 0);
    for (;; rest()) {
        const struct index_file *f = wait_for(ix, name, INDEX_READY, ret);

        if (f->id != id)
            return f;
        snapshot_release(*ret);
    }
}

/* Of 1,000 values that are not there, how many the filter lets pass. */
static int passing(struct index *ix, const struct index_file *f, const char *path)
{
    char value[32];
    int n = 0;

    for (int i = 0; i < 1000; i++) {
        snprintf(value, sizeof value, "%d", 5000000 + i);
        n += may_have(ix, f, path, value);
    }
    return n;
}

/* Values of args.ret are 0 ... events - 1. */
static void check_ret_filter(struct index *ix, const struct index_file *f, int events)
{
    char value[32];

    for (int i = 0; i < events; i += 7) {
        snprintf(value, sizeof value, "%d", i);
        if (!CHECK(may_have(ix, f, "args.ret", value)))
            return;
    }
    CHECK(passing(ix, f, "args.ret") < 100); /* the rate is 0.01 */
    CHECK(may_have(ix, f, "name", "read"));
    CHECK(!may_have(ix, f, "name", "no such name"));
    CHECK(may_have(ix, f, "dur", "no such duration")); /* no dimension */
}

/* Kept over growing, a restart and another file of that name; gone when it is rebuilt without. */
static void index_params_of_a_file(void)
{
    const struct index_file_options own = {.checkpoint_size = 200000, .extra_dimensions = ret_only};
    struct snapshot *s;
    const struct index_file *f;
    struct index *ix;
    struct buf b = {0}, whole, grown;

    world();
    put_events(&b, 0, 6000, 7); /* 760 KB of text */
    write_file("a.pfw", "w", b.data, b.len);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw");
    f = wait_for(ix, "a.pfw", INDEX_READY, &s);
    CHECK_INT(f->checkpoint_size, 65536);
    CHECK_INT(f->chunk_count, (b.len + 65535) / 65536);
    CHECK_INT(passing(ix, f, "args.ret"), 1000);
    snapshot_release(s);
    f = rebuild(ix, "a.pfw", &own, &s);
    CHECK_INT(f->checkpoint_size, 200000);
    CHECK_INT(f->chunk_count, (b.len + 199999) / 200000);
    CHECK_INT(f->counts.events, 6000);
    check_ret_filter(ix, f, 6000);
    snapshot_release(s);
    index_close(ix);
    /* Another process, and the file has grown. */
    buf_clear(&b);
    put_events(&b, 6000, 3000, 7);
    write_file("a.pfw", "a", b.data, b.len);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw");
    wait_events(ix, "a.pfw", 9000);
    f = wait_for(ix, "a.pfw", INDEX_READY, &s);
    CHECK_INT(f->checkpoint_size, 200000);
    CHECK_INT(f->chunk_count, (f->text_bytes + 199999) / 200000);
    check_ret_filter(ix, f, 9000);
    snapshot_release(s);
    grown = dump_of(ix);
    f = rebuild(ix, "a.pfw", &own, &s);
    snapshot_release(s);
    whole = dump_of(ix);
    CHECK_STR(grown.data, whole.data);
    /* Another file in its place. */
    unlink(path_of("a.pfw"));
    write_events("a.pfw", 2000);
    offer(ix, "a.pfw");
    wait_events(ix, "a.pfw", 2000);
    f = wait_for(ix, "a.pfw", INDEX_READY, &s);
    CHECK_INT(f->checkpoint_size, 200000);
    check_ret_filter(ix, f, 2000);
    snapshot_release(s);
    f = rebuild(ix, "a.pfw", NULL, &s);
    CHECK_INT(f->checkpoint_size, 65536);
    CHECK_INT(passing(ix, f, "args.ret"), 1000);
    snapshot_release(s);
    index_close(ix);
    buf_done(&b);
    buf_done(&whole);
    buf_done(&grown);
    world_end();
}

/* Chunks have filters of the further dimensions, too. */
static void index_params_of_chunks(void)
{
    const struct index_file_options own = {.extra_dimensions = ret_only};
    struct chunk_view *v;
    struct column c;
    struct snapshot *s;
    const struct index_file *f;
    struct index *ix;
    int pass[2] = {0};

    world();
    write_events("a.pfw", 3000);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw");
    f = wait_for(ix, "a.pfw", INDEX_READY, &s);
    for (int round = 0; round < 2; round++) {
        CHECK_INT(chunk_open(ix, s, f, 1, &v), 0);
        CHECK_INT(chunk_find(v, text_of("args.ret"), &c), 0);
        for (int i = 0; i < 1000; i++) {
            char value[32];

            snprintf(value, sizeof value, "%d", 5000000 + i);
            pass[round] += chunk_may_have(v, &c, text_hash(text_of(value)));
        }
        chunk_close(v);
        snapshot_release(s);
        if (round == 0)
            f = rebuild(ix, "a.pfw", &own, &s);
    }
    CHECK_INT(pass[0], 1000);
    CHECK(pass[1] < 100);
    index_close(ix);
    world_end();
}

/* More values than a filter has room for: none, unless it was said how many to expect. */
static void expected_entries(void)
{
    struct index_file_options own = {.extra_dimensions = ret_only};
    struct buf again = {0};
    struct snapshot *s;
    const struct index_file *f;
    struct index *ix;

    world();
    write_events("a.pfw", 70000);
    ix = open_index(-1, 1 << 20);
    offer(ix, "a.pfw");
    f = rebuild(ix, "a.pfw", &own, &s);
    CHECK_INT(passing(ix, f, "args.ret"), 1000);
    snapshot_release(s);
    own.expected_entries = 70000;
    f = rebuild(ix, "a.pfw", &own, &s);
    check_ret_filter(ix, f, 70000);
    snapshot_release(s);
    put_events(&again, 0, 10, 7); /* no further values */
    write_file("a.pfw", "a", again.data, again.len);
    offer(ix, "a.pfw");
    wait_events(ix, "a.pfw", 70010);
    f = wait_for(ix, "a.pfw", INDEX_READY, &s);
    check_ret_filter(ix, f, 70000);
    snapshot_release(s);
    own.bloom_rate = 0.5;
    f = rebuild(ix, "a.pfw", &own, &s);
    CHECK(passing(ix, f, "args.ret") > 300 && passing(ix, f, "args.ret") < 700);
    snapshot_release(s);
    index_close(ix);
    buf_done(&again);
    world_end();
}

/* Columns of times have no filters: equality must not be denied. */
static void times_are_not_denied(void)
{
    static const char *const times[] = {"ts", "dur", "args.no", NULL};
    const struct index_file_options own = {.extra_dimensions = times};
    struct snapshot *s;
    const struct index_file *f;
    struct index *ix;

    world();
    write_events("a.pfw", 300);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw");
    f = rebuild(ix, "a.pfw", &own, &s);
    CHECK(may_have(ix, f, "ts", "1000"));
    CHECK(may_have(ix, f, "dur", "5"));
    CHECK(!may_have(ix, f, "args.no", "5"));
    snapshot_release(s);
    index_close(ix);
    world_end();
}

static void refused_index_params(void)
{
    static const char *const none[] = {"", NULL}, *const special[] = {"@class", NULL};
    const char *many[40];
    char names[39][8];
    const struct index_file_options bad[] = {
        {.checkpoint_size = 65535},
        {.checkpoint_size = (1u << 30) + 1},
        {.bloom_rate = 1},
        {.bloom_rate = -0.5},
        {.bloom_rate = 1e-7},
        {.bloom_rate = 0.0 / 0.0},
        {.expected_entries = 1 << 21},
        {.extra_dimensions = none},
        {.extra_dimensions = special},
        {.extra_dimensions = many},
    };
    struct snapshot *s;
    struct index *ix;
    uint32_t id;

    world();
    for (int i = 0; i < 39; i++) {
        snprintf(names[i], sizeof names[i], "p%d", i);
        many[i] = names[i];
    }
    many[39] = NULL;
    write_events("a.pfw", 10);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw");
    id = wait_for(ix, "a.pfw", INDEX_READY, &s)->id;
    snapshot_release(s);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(index_rebuild(ix, "a.pfw", &bad[i]), -EINVAL);
    CHECK_INT(index_rebuild(ix, "b.pfw", &(struct index_file_options){0}), ERR_NOT_FOUND);
    wait_quiet(ix);
    CHECK_INT(wait_for(ix, "a.pfw", INDEX_READY, &s)->id, id);
    snapshot_release(s);
    /* The largest is more than the memory allows: what is taken instead is told. */
    CHECK_INT(rebuild(ix, "a.pfw", &(struct index_file_options){.checkpoint_size = 1u << 30}, &s)
                  ->checkpoint_size,
              (160u << 20) / 5);
    snapshot_release(s);
    index_close(ix);
    world_end();
}

/* Stopped behind each chunk: goes on with the same index_params. An inspecting process takes
 * them from the store. */
static void index_params_go_on(void)
{
    enum { EVENTS = 8000, CHUNKS_LEAST = 8 };
    const struct index_file_options own = {.checkpoint_size = 100000, .extra_dimensions = ret_only};
    struct buf b = {0};
    struct stop_behind stop;
    struct snapshot *s;
    const struct index_file *f;
    struct index *ix;
    uint32_t id = 0;

    world();
    put_events(&b, 0, EVENTS, 7);
    write_gz("a.pfw.gz", b.data, b.len);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw.gz");
    wait_events(ix, "a.pfw.gz", EVENTS);
    index_close(ix);
    for (int i = 0; i < CHUNKS_LEAST; i++) {
        ix = open_with(stopping_behind(&stop, 1));
        if (i == 0)
            CHECK_INT(index_rebuild(ix, "a.pfw.gz", &own), 0);
        offer(ix, "a.pfw.gz");
        close_behind_chunk(ix, &stop);
    }
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw.gz");
    wait_events(ix, "a.pfw.gz", EVENTS);
    s = index_snapshot(ix);
    id = snapshot_file(s, 0)->id;
    CHECK_INT(id, 2); /* that of the first stop: nothing was begun anew */
    snapshot_release(s);
    index_close(ix);
    ix = open_with((struct index_options){.read_only = true, .checkpoint_size = 1 << 20});
    s = index_snapshot(ix);
    f = snapshot_file(s, 0);
    CHECK_INT(f->id, id);
    CHECK_INT(f->checkpoint_size, 100000);
    CHECK_INT(f->chunk_count, (b.len + 99999) / 100000);
    check_ret_filter(ix, f, EVENTS);
    snapshot_release(s);
    index_close(ix);
    buf_done(&b);
    world_end();
}

static const struct check_test tests[] = {{"read_when_asked", read_when_asked},
                                          {"changes_when_asked", changes_when_asked},
                                          {"remembers_what_was_asked", remembers_what_was_asked},
                                          {"asked_by_many", asked_by_many},
                                          {"terms_of_a_file", index_params_of_a_file},
                                          {"terms_of_chunks", index_params_of_chunks},
                                          {"expected_entries", expected_entries},
                                          {"times_are_not_denied", times_are_not_denied},
                                          {"refused_terms", refused_index_params},
                                          {"terms_go_on", index_params_go_on},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
