/* module: index */
/* test_links.c - one file of several names is read once and answers once; which name answers does
 * not depend on the order in which they were met. */
#include "index_world.h"

static void write_events(const char *name, int n)
{
    struct buf b = {0};

    put_events(&b, 0, n, 7);
    write_file(name, "w", b.data, b.len);
    buf_done(&b);
}

static void hard(const char *from, const char *to)
{
    if (link(path_of(from), path_of(to)) != 0)
        abort();
}

static void soft(const char *target, const char *name)
{
    if (symlink(target, path_of(name)) != 0)
        abort();
}

static struct index *open_here(void)
{
    return open_index(-1, 65536);
}

/* The names that answer, and "x=y" for a duplicate x of y, and "x!" for a vanished one. */
static const char *names_of(struct index *ix)
{
    static struct buf out;
    struct snapshot *s = index_snapshot(ix);
    struct index_hidden *hidden;
    size_t n;

    buf_clear(&out);
    for (uint32_t i = 0; i < snapshot_file_count(s); i++)
        buf_printf(&out, "%s ", snapshot_file(s, i)->name);
    snapshot_release(s);
    CHECK_INT(index_hidden(ix, &hidden, &n), 0);
    for (size_t i = 0; i < n; i++)
        buf_printf(&out, hidden[i].duplicate_of ? "%s=%s " : "%s! ", hidden[i].name,
                   hidden[i].duplicate_of);
    free(hidden);
    buf_putc(&out, 0);
    return out.data;
}

static void wait_names(struct index *ix, const char *names)
{
    for (int i = 0; i < 4000 && strcmp(names_of(ix), names) != 0; i++)
        rest();
    CHECK_STR(names_of(ix), names);
}

static uint64_t events_of(struct index *ix)
{
    struct snapshot *s;
    uint64_t events = 0;

    wait_quiet(ix);
    s = index_snapshot(ix);
    for (uint32_t i = 0; i < snapshot_file_count(s); i++)
        events += snapshot_file(s, i)->counts.events;
    snapshot_release(s);
    return events;
}

/* Whatever comes first. Each file got one id: none was read twice. */
static void one_of_several(void)
{
    static const char *const names[] = {"b.pfw", "c.pfw",      "a-link.pfw",
                                        "z.pfw", "y-link.pfw", "x-link.pfw"};

    for (int turn = 0; turn < 6; turn++) {
        struct index_progress p;
        struct snapshot *s;
        struct index *ix;

        world();
        write_events("b.pfw", 10);
        hard("b.pfw", "c.pfw");
        soft("c.pfw", "a-link.pfw");
        write_events("z.pfw", 100);
        write_events("hidden", 1000);
        soft("hidden", "y-link.pfw");
        soft("hidden", "x-link.pfw");
        ix = open_here();
        for (int i = 0; i < 6; i++)
            offer(ix, names[turn % 2 ? (turn + i) % 6 : (turn + 6 - i) % 6]);
        index_listed(ix);
        CHECK_INT(events_of(ix), 1110);
        CHECK_STR(names_of(ix),
                  "b.pfw x-link.pfw z.pfw a-link.pfw=b.pfw c.pfw=b.pfw y-link.pfw=x-link.pfw ");
        index_progress(ix, &p);
        CHECK_INT(p.files, 3);
        CHECK_INT(p.files_ready, 3);
        CHECK_INT(index_request_file(ix, "c.pfw"), ERR_NOT_FOUND);
        CHECK_INT(index_rebuild(ix, "c.pfw", NULL), ERR_NOT_FOUND);
        s = index_snapshot(ix);
        for (uint32_t i = 0; i < 3; i++)
            CHECK(snapshot_file(s, i)->id <= 3);
        snapshot_release(s);
        index_close(ix);
        world_end();
    }
}

/* The one that answers goes: the next one does. It comes back: as before. Another file takes its
 * place: both answer. */
static void names_come_and_go(void)
{
    struct index *ix;

    world();
    write_events("b.pfw", 10);
    hard("b.pfw", "c.pfw");
    ix = open_here();
    index_listed(ix);
    offer(ix, "c.pfw");
    offer(ix, "b.pfw");
    wait_names(ix, "b.pfw c.pfw=b.pfw ");
    CHECK_INT(events_of(ix), 10);
    unlink(path_of("b.pfw"));
    CHECK_INT(index_forget(ix, "b.pfw"), 0);
    offer(ix, "c.pfw");
    wait_names(ix, "c.pfw b.pfw! ");
    CHECK_INT(events_of(ix), 10);
    hard("c.pfw", "b.pfw");
    offer(ix, "b.pfw");
    offer(ix, "c.pfw");
    wait_names(ix, "b.pfw c.pfw=b.pfw ");
    CHECK_INT(events_of(ix), 10);
    write_events("new", 200);
    rename(path_of("new"), path_of("b.pfw"));
    offer(ix, "b.pfw");
    offer(ix, "c.pfw");
    wait_names(ix, "b.pfw c.pfw ");
    while (events_of(ix) != 210)
        rest();
    /* A further name of it, later. */
    hard("b.pfw", "a.pfw");
    soft("b.pfw", "0.pfw");
    offer(ix, "0.pfw");
    offer(ix, "a.pfw");
    offer(ix, "b.pfw");
    wait_names(ix, "a.pfw c.pfw 0.pfw=a.pfw b.pfw=a.pfw ");
    CHECK_INT(events_of(ix), 210);
    index_close(ix);
    world_end();
}

/* Growing is told of the one that answers, and a restart changes nothing. */
static void linked_files_grow(void)
{
    struct buf b = {0};
    struct snapshot *s;
    uint64_t generation;
    struct index *ix;

    world();
    write_events("a.pfw", 10);
    soft("a.pfw", "b.pfw");
    ix = open_here();
    offer(ix, "b.pfw");
    offer(ix, "a.pfw");
    index_listed(ix);
    CHECK_INT(events_of(ix), 10);
    put_events(&b, 10, 5, 7);
    write_file("a.pfw", "a", b.data, b.len);
    offer(ix, "b.pfw");
    offer(ix, "a.pfw");
    while (events_of(ix) != 15)
        rest();
    CHECK_STR(names_of(ix), "a.pfw b.pfw=a.pfw ");
    s = index_snapshot(ix);
    generation = snapshot_generation(s);
    snapshot_release(s);
    index_close(ix);
    ix = open_here();
    offer(ix, "b.pfw");
    offer(ix, "a.pfw");
    index_listed(ix);
    CHECK_INT(events_of(ix), 15);
    CHECK_STR(names_of(ix), "a.pfw b.pfw=a.pfw ");
    s = index_snapshot(ix);
    CHECK_INT(snapshot_generation(s), generation);
    snapshot_release(s);
    index_close(ix);
    buf_done(&b);
    world_end();
}

/* The only link becomes a file of its own. Then its former target goes, and its entry is freed. */
static void last_link_becomes_file(void)
{
    struct index *ix;

    world();
    write_events("a.pfw", 10);
    soft("a.pfw", "b.pfw");
    ix =
        open_with((struct index_options){.checkpoint_size = 65536, .settle_ms = -1, .purge_ms = 1});
    offer(ix, "a.pfw");
    offer(ix, "b.pfw");
    index_listed(ix);
    wait_names(ix, "a.pfw b.pfw=a.pfw ");
    CHECK_INT(events_of(ix), 10);
    write_events("new", 200);
    rename(path_of("new"), path_of("b.pfw"));
    offer(ix, "b.pfw");
    wait_names(ix, "a.pfw b.pfw ");
    CHECK_INT(events_of(ix), 210);
    unlink(path_of("a.pfw"));
    CHECK_INT(index_forget(ix, "a.pfw"), 0);
    wait_names(ix, "b.pfw ");
    CHECK_INT(events_of(ix), 200);
    index_close(ix);
    world_end();
}

static const struct check_test tests[] = {{"one_of_several", one_of_several},
                                          {"names_come_and_go", names_come_and_go},
                                          {"linked_files_grow", linked_files_grow},
                                          {"last_link_becomes_file", last_link_becomes_file},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
