/* module: index */
/* Indexing a directory while memory is short, in whichever thread: what could not be done is told,
 * and done when the files are offered again; what was done is right. */
#include "failing_malloc.h"
#include "index_world.h"

#include <errno.h>

enum { FILES = 4 };
static const char *const names[FILES] = {"a.pfw.gz", "b.pfw", "c/d.pfw.gz", "e.pfw"};

static void make_files(void)
{
    struct buf b = {0};

    mkdir(path_of("c"), 0700);
    put_head(&b, 7, 1);
    put_events(&b, 0, 3000, 7);
    write_gz(names[0], b.data, b.len);
    buf_clear(&b);
    put_head(&b, 8, 7);
    put_events(&b, 0, 300, 8);
    buf_puts(
        &b, "no event\n{\"name\":\"CM\",\"ph\":\"M\",\"args\":{\"name\":\"k\",\"value\":\"v\"}}\n");
    write_file(names[1], "w", b.data, b.len);
    write_gz(names[2], b.data, b.len / 2);
    write_file(names[3], "w", "[\n", 2);
    buf_done(&b);
}

static void offer_all(struct index *ix)
{
    for (int i = 0; i < FILES; i++)
        index_offer(ix, names[i], path_of(names[i]));
}

static bool is_done(struct index *ix)
{
    struct index_progress p;

    index_progress(ix, &p);
    return p.files == FILES && p.files_ready == FILES && !p.store_error;
}

static void rebuild_failed(struct index *ix)
{
    struct snapshot *s = index_snapshot(ix);

    for (uint32_t i = 0; i < snapshot_file_count(s); i++)
        if (snapshot_file(s, i)->state == INDEX_FAILED)
            CHECK_INT(index_rebuild(ix, snapshot_file(s, i)->name, NULL), 0);
    snapshot_release(s);
}

/* As the daemon does: files are offered again and again. It tries anew what failed, after a second;
 * `ask`: at once. */
static bool finish(struct index *ix, bool ask)
{
    for (int i = 0; i < 4000; i++, rest()) {
        if (is_done(ix))
            return true;
        if (i % 20 == 0) {
            offer_all(ix);
            if (ask)
                rebuild_failed(ix);
        }
    }
    return false;
}

static void describe_file(struct index *ix, struct snapshot *s, const struct index_file *f,
                          struct buf *out)
{
    const struct trace_counts *c = &f->counts;

    buf_printf(
        out, "%s %s %s lines %" PRIu64 " events %" PRIu64 " metadata %" PRIu64 " invalid %" PRIu64,
        f->name, index_state_name(f->state), f->error ? f->error : "", c->lines, c->events,
        c->metadata, c->invalid);
    buf_printf(out, " chunks %u processes %u names %u dur %" PRId64 "\n", f->chunk_count,
               f->process_count, f->name_count, sum_of(ix, s, f, "dur"));
    for (uint32_t i = 0; i < f->name_count; i++) {
        struct text line;

        if (index_name_line(ix, f, &f->names[i], &line) == 0)
            buf_text(out, line);
    }
}

static void describe(struct index *ix, struct buf *out)
{
    struct snapshot *s = index_snapshot(ix);
    const struct summary *root = NULL;

    for (uint32_t i = 0; i < snapshot_file_count(s); i++)
        describe_file(ix, s, snapshot_file(s, i), out);
    CHECK_INT(index_total_summary(ix, s, &root), 0);
    for (uint32_t i = 0; root && i < root->name_count; i++)
        buf_printf(out, "%.*s %" PRIu64 "\n", (int)index_text(ix, root->names[i].name).len,
                   index_text(ix, root->names[i].name).ptr, root->names[i].count);
    snapshot_release(s);
}

static struct index_options options_of(char *path, size_t size)
{
    snprintf(path, size, "%s/index", dir);
    return (struct index_options){
        .path = path, .checkpoint_size = 65536, .settle_ms = -1, .workers = 2, .commit_ms = 5};
}

static void remove_index(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s/index", dir);
    CHECK_INT(system(command), 0);
}

/* Until nothing goes on any more, whatever came of it; `settled` where it never began. */
static void wait_settled(struct index *ix)
{
    struct index_progress p;

    for (int i = 0; i < 200; i++, rest()) {
        index_progress(ix, &p);
        if (p.files_pending == 0 || p.store_error)
            return;
    }
}

/* 0, or why there is no index. */
static int with_failure(struct index **ret)
{
    char path[128];
    struct index_options options = options_of(path, sizeof path);
    struct err err = {0};
    int rc = index_open(&options, &err, ret);

    if (!CHECK(rc == 0 || rc == -ENOMEM || rc == -EAGAIN) || !CHECK(rc == 0 || *err.text))
        printf("    %d %s: %s\n", rc, err_text(rc), err.text);
    CHECK(!strstr(err.text, "different schema"));
    err_done(&err);
    if (rc == 0) {
        CHECK_STR(index_rebuilt(*ret) ? index_rebuilt(*ret) : "kept", "kept");
        offer_all(*ret);
        index_listed(*ret);
        wait_settled(*ret);
    }
    return rc;
}

static void check_answer(struct index *ix, const struct buf *want, unsigned n)
{
    struct buf got = {0};

    if (!CHECK(finish(ix, n % 20 != 0)))
        printf("    allocation %u: it never is indexed\n", n);
    describe(ix, &got);
    if (!CHECK_MEM(got.data, got.len, want->data, want->len))
        printf("    allocation %u\n", n);
    buf_done(&got);
}

static void reference(struct buf *want)
{
    struct index *ix = open_index(-1, 65536);

    offer_all(ix);
    index_listed(ix);
    CHECK(finish(ix, false));
    describe(ix, want);
    index_close(ix);
    remove_index();
}

/* Into a new index. */
static void indexes(void)
{
    struct buf want = {0};
    struct index *ix = NULL;
    unsigned rounds = 0, refused = 0;

    world();
    make_files();
    reference(&want);
    failing_malloc_everywhere(true);
    for (unsigned n = 0; atomic_load(&check_failures) < 5 && failing_malloc_next(n);
         n = failing_malloc_more(n, 16), rounds++) {
        int rc = with_failure(&ix);

        failing_malloc_stop();
        refused += rc < 0;
        if (rc == 0) {
            check_answer(ix, &want, n);
            index_close(ix);
        }
        remove_index();
    }
    printf("%u rounds, %u without an index\n", rounds, refused);
    CHECK(!FAILING_MALLOC || (rounds > 20 && refused > 0 && refused < rounds));
    buf_done(&want);
    world_end();
}

/* Opening one that is there. */
static void opens(void)
{
    struct buf want = {0};
    struct index *ix = NULL;
    unsigned rounds = 0;

    world();
    make_files();
    reference(&want);
    failing_malloc_everywhere(false);
    ix = open_index(-1, 65536);
    offer_all(ix);
    CHECK(finish(ix, false));
    index_close(ix);
    for (unsigned n = 0; atomic_load(&check_failures) < 5 && failing_malloc_next(n);
         n++, rounds++) {
        int rc = with_failure(&ix);

        failing_malloc_stop();
        if (rc == 0) {
            check_answer(ix, &want, n);
            index_close(ix);
        }
    }
    printf("%u rounds\n", rounds);
    buf_done(&want);
    world_end();
}

static int append_dump(void *arg, struct buf *out)
{
    buf_append(arg, out->data, out->len);
    buf_clear(out);
    return 0;
}

static int dump(struct index *ix, struct buf *ret)
{
    struct buf out = {0};
    int rc = index_dump(ix, &out, append_dump, ret);

    buf_done(&out);
    return rc ? rc : ret->error;
}

static int check(struct index *ix, struct buf *ret)
{
    struct err err = {0};
    int rc = index_check(ix, &err);

    (void)ret;
    err_done(&err);
    return rc;
}

/* Repeats the inspection of an index, which is opened each time: lines of names are kept. */
static void inspect(int (*inspection)(struct index *ix, struct buf *ret))
{
    char path[128];
    struct index_options options = options_of(path, sizeof path);
    struct buf want = {0};
    struct err err = {0};
    bool more = true;

    options.read_only = true;
    for (unsigned n = 0; more && atomic_load(&check_failures) < 5; n = failing_malloc_more(n, 48)) {
        struct buf got = {0};
        struct index *ix = NULL;
        CHECK_INT(index_open(&options, &err, &ix), 0);
        if (!want.len)
            CHECK_INT(dump(ix, &want), 0);
        index_close(ix);
        CHECK_INT(index_open(&options, &err, &ix), 0);
        more = failing_malloc_next(n);
        int rc = inspection(ix, &got);
        failing_malloc_stop();
        CHECK(rc == 0 || rc == -ENOMEM);
        if (rc == 0 && got.len)
            CHECK_MEM(got.data, got.len, want.data, want.len);
        index_close(ix);
        buf_done(&got);
    }
    buf_done(&want);
}

/* A line that could not be read is not a missing one. */
static void inspects(void)
{
    struct index *ix;

    world();
    make_files();
    ix = open_index(-1, 65536);
    offer_all(ix);
    index_listed(ix);
    CHECK(finish(ix, false));
    index_close(ix);
    failing_malloc_everywhere(false);
    inspect(dump);
    inspect(check);
    world_end();
}

static const struct check_test tests[] = {
    {"indexes", indexes},
    {"opens", opens},
    {"inspects", inspects},
    {NULL, NULL},
};
CHECK_MAIN(tests)
