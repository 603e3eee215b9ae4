/* room: index */
/* test_ingest_doors.c - files that are read when somebody asks for them, and files that are read in a way of their own. */
#include "index_world.h"

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

/* ---- on demand ---- */

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
    CHECK_INT(index_want(ix, "no.pfw"), ERR_NOT_FOUND);
    CHECK_INT(index_want(ix, "b.pfw"), 0);
    CHECK_INT(index_want(ix, "b.pfw"), 0);
    wait_events(ix, "b.pfw", 20);
    CHECK_INT(index_want(ix, "b.pfw"), 0);
    CHECK_INT(state_of(ix, "a.pfw"), INDEX_PENDING);
    wait_quiet(ix);
    p = progress_of(ix);
    CHECK_INT(p.files_unasked, 1);
    CHECK_INT(p.files_ready, 1);
    CHECK(p.bytes > 1000 && p.bytes == p.bytes_done);
    index_close(ix);
    world_end();
}

/* A file that was asked for follows its changes, one that was not stays unasked; without on_demand all are read. */
static void changes_when_asked(void)
{
    struct index *ix;

    world();
    write_events("a.pfw", 10);
    write_events("b.pfw", 20);
    ix = open_on_demand();
    offer(ix, "a.pfw");
    offer(ix, "b.pfw");
    CHECK_INT(index_want(ix, "b.pfw"), 0);
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
    CHECK_INT(index_want(ix, "a.pfw"), ERR_NOT_FOUND);
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

/* What an earlier process has read is there, follows its changes, and goes on where that process was stopped. */
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
    CHECK_INT(index_want(ix, "b.pfw"), 0);
    wait_events(ix, "b.pfw", 20);
    id = wait_for(ix, "b.pfw", INDEX_READY, &s)->id;
    snapshot_release(s);
    CHECK_INT(index_want(ix, "c.pfw.gz"), 0);
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
    CHECK_INT(index_want(ix, "c.pfw.gz"), 0); /* it may have been stopped before its first commit */
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
            CHECK_INT(index_want(ix, name), 0);
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

static const struct check_test tests[] = {{"read_when_asked", read_when_asked},
                                          {"changes_when_asked", changes_when_asked},
                                          {"remembers_what_was_asked", remembers_what_was_asked},
                                          {"asked_by_many", asked_by_many},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
