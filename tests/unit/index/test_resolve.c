/* module: index */
/* test_resolve.c - names behind hashes, parents, ranks and hosts: across the files of a job. */
#include "check.h"
#include "dftracerd/index.h"

#include <time.h>
#include <unistd.h>

static char dir[64];

static void write_file(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        abort();
}

#define RECORD(name, key, value, pid) \
    "{\"name\":\"" name "\",\"cat\":\"dftracer\",\"pid\":" pid \
    ",\"tid\":1,\"ph\":\"M\",\"args\":{\"hhash\":\"h\",\"name\":\"" key "\",\"value\":" value \
    "}}\n"
#define EVENT(name, pid, args) \
    "{\"name\":\"" name "\",\"cat\":\"POSIX\",\"pid\":" pid \
    ",\"tid\":1,\"ts\":5,\"dur\":1,\"ph\":\"X\",\"args\":{" args "}}\n"

static struct index *open_world(void)
{
    struct index_options options = {.workers = 2, .settle_ms = -1};
    char path[128];
    struct err err = {0};
    struct index *ix = NULL;

    strcpy(dir, "/tmp/test_resolve.XXXXXX");
    if (!mkdtemp(dir))
        abort();
    snprintf(path, sizeof path, "%s/index", dir);
    options.path = path;
    if (!CHECK_INT(index_open(&options, &err, &ix), 0))
        abort();
    return ix;
}

static struct snapshot *offer_all(struct index *ix, const char *const *names)
{
    struct index_progress p;

    for (; *names; names++) {
        char path[128];

        snprintf(path, sizeof path, "%s/%s", dir, *names);
        CHECK_INT(index_offer(ix, *names, path), 0);
    }
    do {
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        index_progress(ix, &p);
    } while (p.files_pending > 0);
    return index_snapshot(ix);
}

static void close_world(struct index *ix, struct snapshot *s)
{
    char command[128];

    snapshot_release(s);
    index_close(ix);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command) != 0)
        abort();
}

static const char *resolve(struct index *ix, struct snapshot *s, uint32_t file, int64_t pid,
                           const char *hash, bool *conflict)
{
    uint32_t id = index_text_find(ix, text_of(hash)), got;

    got = index_resolve(s, snapshot_file(s, file), pid, INDEX_FH, id, conflict);
    return got == INDEX_NO_TEXT ? NULL : index_text(ix, got).ptr;
}

static void hashes(void)
{
    static const char *const names[] = {"a.pfw", "b.pfw", "c.pfw", "d.pfw", NULL};
    struct index *ix = open_world();
    struct snapshot *s;
    bool conflict;

    /* a: parent 10; b: its child 11, which defines nothing; c: a stranger that means something else
     * by 2; d: knows all only once */
    write_file("a.pfw", RECORD("FH", "/one", "1", "10") RECORD("FH", "/one/again", "1", "10")
                            RECORD("FH", "/two", "2", "10")
                                EVENT("fork", "10", "\"hhash\":\"h\",\"ret\":11"));
    write_file("b.pfw", EVENT("read", "11", "\"hhash\":\"h\",\"fhash\":2"));
    write_file("c.pfw", RECORD("FH", "/other/two", "2", "12") RECORD("FH", "/three", "3", "12")
                            EVENT("read", "12", "\"hhash\":\"h\",\"fhash\":2"));
    write_file("d.pfw", RECORD("FH", "/three", "3", "13")
                            EVENT("read", "13", "\"hhash\":\"h\",\"fhash\":9"));
    s = offer_all(ix, names);
    CHECK_STR(resolve(ix, s, 0, 10, "1", &conflict), "/one");
    CHECK_STR(resolve(ix, s, 0, 10, "2", &conflict), "/two");
    CHECK_STR(resolve(ix, s, 1, 11, "2", &conflict), "/two"); /* of the parent */
    CHECK(!conflict);
    CHECK_STR(resolve(ix, s, 2, 12, "2", &conflict), "/other/two");
    CHECK_STR(resolve(ix, s, 3, 13, "2", &conflict), NULL);
    CHECK(conflict);
    CHECK_STR(resolve(ix, s, 0, 10, "3", &conflict), "/three"); /* both agree */
    CHECK(!conflict);
    CHECK_STR(resolve(ix, s, 3, 13, "9", &conflict), NULL);
    CHECK(!conflict);
    CHECK_STR(resolve(ix, s, 1, INT64_MIN, "2", &conflict), NULL);
    CHECK(conflict);
    CHECK_INT(snapshot_file(s, 1)->processes[0].ppid, 10);
    close_world(ix, s);
}

/* Whenever files come: what an earlier snapshot took for the parent is taken back where another
 * file contradicts. */
static void parents_that_are_contradicted(void)
{
    struct index *ix = open_world();
    struct snapshot *s;

    write_file("a.pfw", EVENT("fork", "10", "\"hhash\":\"h\",\"ret\":11"));
    write_file("b.pfw", EVENT("read", "11", "\"hhash\":\"h\""));
    write_file("c.pfw", EVENT("fork", "12", "\"hhash\":\"h\",\"ret\":11"));
    s = offer_all(ix, (const char *const[]){"a.pfw", "b.pfw", NULL});
    CHECK_INT(snapshot_file(s, 1)->processes[0].ppid, 10);
    snapshot_release(s);
    s = offer_all(ix, (const char *const[]){"c.pfw", NULL});
    CHECK_INT(snapshot_file(s, 1)->processes[0].ppid, INT64_MIN);
    CHECK_INT(snapshot_file(s, 1)->processes[0].parent_by, INDEX_PARENT_UNKNOWN);
    close_world(ix, s);
}

static void check_parent(struct index *ix, struct snapshot **s, int64_t want)
{
    snapshot_release(*s);
    *s = index_snapshot(ix);
    for (uint32_t i = 0; i < snapshot_file_count(*s); i++) {
        const struct index_file *f = snapshot_file(*s, i);

        if (strcmp(f->name, "b.pfw") == 0)
            CHECK_INT(f->processes[0].ppid, want);
    }
}

/* Forks count as long as the file that told them: it may go, come back, or become another one. */
static void parents_whose_file_goes(void)
{
    struct index *ix = open_world();
    struct snapshot *s;

    write_file("a.pfw", EVENT("fork", "10", "\"hhash\":\"h\",\"ret\":11"));
    write_file("b.pfw", EVENT("read", "11", "\"hhash\":\"h\""));
    write_file("c.pfw", EVENT("fork", "12", "\"hhash\":\"h\",\"ret\":11"));
    s = offer_all(ix, (const char *const[]){"a.pfw", "b.pfw", "c.pfw", NULL});
    check_parent(ix, &s, INT64_MIN);
    CHECK_INT(index_forget(ix, "a.pfw"), 0);
    check_parent(ix, &s, 12);
    CHECK_INT(index_forget(ix, "c.pfw"), 0);
    check_parent(ix, &s, INT64_MIN);
    snapshot_release(s);
    s = offer_all(ix, (const char *const[]){"a.pfw", NULL});
    check_parent(ix, &s, 10);
    write_file("a.pfw", EVENT("fork", "999", "\"hhash\":\"h\",\"ret\":11"));
    snapshot_release(s);
    s = offer_all(ix, (const char *const[]){"a.pfw", NULL});
    check_parent(ix, &s, 999);
    close_world(ix, s);
}

static void processes(void)
{
    static const char *const names[] = {"a.pfw", "b.pfw", NULL};
    struct index *ix = open_world();
    const struct index_file *f;
    struct summary *sum;
    struct snapshot *s;

    /* pid 1 is on one host, and its records without a host belong to it; pid 2 on two: what names
     * none stays apart */
    write_file("a.pfw",
               "{\"name\":\"PR\",\"cat\":\"dftracer\",\"pid\":1,\"tid\":1,\"ph\":\"M\",\"args\":{"
               "\"name\":\"rank\",\"value\":\"3\"}}\n" EVENT("read", "1", "\"hhash\":\"h\"")
                   EVENT("read", "1", "\"hhash\":\"h\"") EVENT("read", "2", "\"hhash\":\"h\"")
                       EVENT("read", "2", "\"hhash\":\"k\"") EVENT("read", "2", ""));
    write_file("b.pfw",
               "{\"name\":\"process_name\",\"cat\":\"dftracer\",\"pid\":5,\"tid\":1,\"ph\":\"M\","
               "\"args\":{\"name\":\"Rank 12\",\"value\":\"process_name\"}}\n" EVENT(
                   "open", "5", "\"hostname\":\"corona1\""));
    s = offer_all(ix, names);
    f = snapshot_file(s, 0);
    CHECK_INT(f->process_count, 4);
    for (uint32_t i = 0; i < f->process_count; i++) {
        const struct index_process *p = &f->processes[i];

        if (p->pid == 1) {
            CHECK_TEXT(index_text(ix, p->host), "h");
            CHECK_INT(p->objects, 3);
            CHECK_INT(p->events, 2);
            CHECK_INT(p->rank, 3);
        } else {
            CHECK_INT(p->objects, 1);
        }
    }
    CHECK_INT(index_file_summary(ix, s, 0, &sum), 0);
    for (uint32_t i = 0; i < sum->thread_count; i++)
        CHECK(sum->threads[i].pid != 1 || sum->threads[i].host != INDEX_NO_TEXT);
    summary_free(sum);
    f = snapshot_file(s, 1);
    CHECK_INT(f->process_count, 1);
    CHECK_TEXT(index_text(ix, f->processes[0].host), "corona1");
    CHECK(!f->processes[0].host_is_hash);
    CHECK_INT(f->processes[0].rank, 12);
    close_world(ix, s);
}

static const struct check_test tests[] = {
    {"hashes", hashes},
    {"parents_that_are_contradicted", parents_that_are_contradicted},
    {"parents_whose_file_goes", parents_whose_file_goes},
    {"processes", processes},
    {NULL, NULL},
};
CHECK_MAIN(tests)
