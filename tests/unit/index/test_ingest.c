/* module: index; threads, paths */
/* test_ingest.c - files that go in: what is known of them, what changes when they do, and what old
 * snapshots still see. */
#include "index_world.h"
#include "index/store/kv.h"

#include <errno.h>
#include <fcntl.h>

/* ---- tests ----------------------------------------------------------------------------------- */

static void known_numbers(void)
{
    struct buf b = {0};
    struct snapshot *s;
    const struct index_file *f;
    struct summary *sum;
    struct index *ix;
    struct err err = {0};
    struct text line;

    world();
    put_head(&b, 7, 1);
    put_events(&b, 0, 5000, 7);
    buf_puts(&b, "not an "
                 "event\n{\"id\":9,\"name\":\"end\",\"cat\":\"dftracer\",\"pid\":7,\"tid\":7,"
                 "\"ts\":99999,\"dur\":0,\"ph\":\"X\"}\n]");
    write_gz("a.pfw.gz", b.data, b.len);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw.gz");
    f = wait_for(ix, "a.pfw.gz", INDEX_READY, &s);
    CHECK_INT(f->counts.events, 5002);
    CHECK_INT(f->counts.metadata, 1);
    CHECK_INT(f->counts.invalid, 1);
    CHECK_INT(f->counts.brackets, 2);
    CHECK_INT(f->counts.lines, 5006);
    CHECK(f->chunk_count > 5);
    CHECK_INT(f->text_bytes, b.len);
    CHECK_INT(f->members, 1);
    CHECK(f->finished);
    CHECK(!f->damaged);
    CHECK_STR(f->tracer_version, "1.0.8");
    CHECK(f->has_time && f->min_ts == 999000 && f->max_te == 99999000);
    CHECK_INT(f->process_count, 1);
    CHECK_INT(f->processes[0].pid, 7);
    CHECK_INT(f->processes[0].ppid, 1);
    CHECK_INT(f->processes[0].objects, 5003);
    CHECK_TEXT(index_text(ix, f->processes[0].host), "h1");
    CHECK_TEXT(index_text(ix, f->processes[0].cmd_hash), "c1");
    CHECK_TEXT(index_text(ix, f->processes[0].cwd_hash), "w1");
    CHECK_INT(f->name_count, 1);
    CHECK_INT(index_name_line(ix, f, &f->names[0], &line), 0);
    CHECK_TEXT(line,
               "{\"id\":0,\"name\":\"HH\",\"cat\":\"dftracer\",\"pid\":7,\"tid\":7,\"ph\":\"M\","
               "\"args\":{\"name\":\"node1\",\"value\":\"h1\"}}");
    CHECK_INT(sum_of(ix, s, f, "dur"), 50 * 99 * 50);
    CHECK_INT(index_file_summary(ix, s, 0, &sum), 0);
    CHECK_INT(sum->classes[TRACE_EVENT].count, 5002);
    CHECK_INT(sum->thread_count, 2);
    for (uint32_t i = 0; i < sum->name_count; i++) {
        if (text_eq(index_text(ix, sum->names[i].name), TEXT("read"))) {
            CHECK_INT(sum->names[i].count, 2500);
            CHECK_INT(sum->names[i].duration.sum, 50 * 49 * 50);
            CHECK_NEAR(sketch_quantile(sum->names[i].duration_sketch, 0.5, true), 48, 0.001);
        }
    }
    summary_free(sum);
    CHECK(index_file_may_have(ix, f, TEXT("name"), text_hash(TEXT("read"))));
    CHECK(!index_file_may_have(ix, f, TEXT("name"), text_hash(TEXT("no such name"))));
    CHECK(index_file_may_have(ix, f, TEXT("pid"), text_hash(TEXT("7"))));
    CHECK_INT(index_check(ix, &err), 0);
    snapshot_release(s);
    index_close(ix);
    buf_done(&b);
    world_end();
}

static void odd_files(void)
{
    struct buf b = {0};
    struct snapshot *s;
    const struct index_file *f;
    struct index *ix;

    world();
    put_events(&b, 0, 2000, 3);
    write_gz("cut.pfw.gz", b.data, b.len);
    CHECK_INT(truncate(path_of("cut.pfw.gz"), 9000), 0);
    write_file("empty.pfw", "w", "", 0);
    write_file("bracket.pfw", "w", "[\n", 2);
    mkfifo(path_of("fifo.pfw"), 0600);
    ix = open_index(-1, 65536);
    offer(ix, "cut.pfw.gz");
    offer(ix, "empty.pfw");
    offer(ix, "bracket.pfw");
    offer(ix, "fifo.pfw");
    offer(ix, "gone.pfw");
    f = wait_for(ix, "cut.pfw.gz", INDEX_READY, &s);
    CHECK(f->damaged);
    CHECK_INT(f->damage_count, 1);
    CHECK_INT(f->damage[0].kind, TRACE_DAMAGE_CUT);
    CHECK(f->error && strstr(f->error, "9000"));
    CHECK(f->counts.events > 100);
    snapshot_release(s);
    f = wait_for(ix, "empty.pfw", INDEX_READY, &s);
    CHECK_INT(f->counts.lines, 0);
    CHECK_INT(f->chunk_count, 0);
    snapshot_release(s);
    f = wait_for(ix, "bracket.pfw", INDEX_READY, &s);
    CHECK_INT(f->counts.brackets, 1);
    CHECK_INT(sum_of(ix, s, f, "dur"), 0);
    snapshot_release(s);
    f = wait_for(ix, "fifo.pfw", INDEX_FAILED, &s);
    CHECK(f->error != NULL);
    snapshot_release(s);
    f = wait_for(ix, "gone.pfw", INDEX_FAILED, &s);
    CHECK_STR(f->error, strerror(ENOENT));
    snapshot_release(s);
    write_file("gone.pfw", "w", b.data, b.len);
    offer(ix, "gone.pfw");
    f = wait_for(ix, "gone.pfw", INDEX_READY, &s);
    CHECK_INT(f->counts.events, 2000);
    snapshot_release(s);
    index_close(ix);
    buf_done(&b);
    world_end();
}

static void many_small_files(void)
{
    static const char more[] = "{\"name\":\"x\",\"ph\":\"X\",\"ts\":1,\"pid\":1,\"tid\":2}\n";
    const struct summary *root;
    struct snapshot *s;
    struct index *ix;
    char name[32];

    world();
    for (int i = 0; i < 500; i++) {
        struct buf b = {0};

        put_head(&b, 100 + i, 1);
        put_events(&b, 0, 20, 100 + i);
        snprintf(name, sizeof name, "%03d.pfw", i);
        write_file(name, "w", b.data, b.len);
        buf_done(&b);
    }
    ix = open_index(-1, 65536);
    for (int i = 499; i >= 0; i--) {
        snprintf(name, sizeof name, "%03d.pfw", i);
        offer(ix, name);
    }
    index_listed(ix);
    wait_quiet(ix);
    s = index_snapshot(ix);
    CHECK_INT(snapshot_file_count(s), 500);
    for (uint32_t i = 0; i < snapshot_file_count(s); i++) {
        snprintf(name, sizeof name, "%03u.pfw", i);
        CHECK_STR(snapshot_file(s, i)->name, name);
        CHECK_INT(snapshot_file(s, i)->counts.events, 21);
    }
    CHECK_INT(index_total_summary(ix, s, &root), 0);
    CHECK_INT(root->classes[TRACE_EVENT].count, 500 * 21);
    CHECK_INT(root->thread_count, 1000);
    for (uint32_t i = 0; i < root->thread_count; i++)
        CHECK_INT(snapshot_file(s, root->threads[i].file)->processes[0].pid, root->threads[i].pid);
    snapshot_release(s);
    /* One of them again, changed: the root summary follows. */
    write_file("007.pfw", "a", more, strlen(more));
    offer(ix, "007.pfw");
    for (int i = 0; i < 4000; i++, rest()) {
        s = index_snapshot(ix);
        if (snapshot_file(s, 7)->state == INDEX_READY && snapshot_file(s, 7)->counts.events == 22)
            break;
        snapshot_release(s);
    }
    CHECK_INT(index_total_summary(ix, s, &root), 0);
    CHECK_INT(root->classes[TRACE_EVENT].count, 500 * 21 + 1);
    snapshot_release(s);
    index_close(ix);
    world_end();
}

/* Opened again: nothing is read anew, all is there; a second daemon is refused meanwhile. */
static void opened_again(void)
{
    struct index_options options = {0};
    struct buf b = {0}, before, after;
    struct snapshot *s;
    struct err err = {0};
    struct index *ix, *second;
    char path[128];
    uint64_t generation;
    uint32_t id;

    world();
    put_head(&b, 7, 1);
    put_events(&b, 0, 3000, 7);
    write_file("a.pfw", "w", b.data, b.len);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw");
    id = wait_for(ix, "a.pfw", INDEX_READY, &s)->id;
    generation = snapshot_generation(s);
    snapshot_release(s);
    snprintf(path, sizeof path, "%s/index", dir);
    options.path = path;
    CHECK_INT(index_open(&options, &err, &second), ERR_STORE_BUSY);
    err_done(&err);
    before = dump_of(ix);
    index_close(ix);
    ix = open_index(-1, 65536);
    s = index_snapshot(ix);
    CHECK_INT(snapshot_file_count(s), 1);
    CHECK_INT(snapshot_file(s, 0)->state, INDEX_READY);
    CHECK(snapshot_generation(s) >= generation);
    snapshot_release(s);
    after = dump_of(ix);
    CHECK_STR(after.data, before.data);
    offer(ix, "a.pfw");
    wait_quiet(ix);
    CHECK_INT(wait_for(ix, "a.pfw", INDEX_READY, &s)->id, id);
    snapshot_release(s);
    CHECK_INT(index_rebuild(ix, "a.pfw", NULL), 0);
    do {
        rest();
        id = wait_for(ix, "a.pfw", INDEX_READY, &s)->id;
        snapshot_release(s);
    } while (id == 1);
    buf_done(&after);
    after = dump_of(ix);
    CHECK_STR(after.data, before.data);
    index_close(ix);
    /* Another chunk size is another schema: made anew. */
    ix = open_index(-1, 131072);
    s = index_snapshot(ix);
    CHECK_INT(snapshot_file_count(s), 0);
    snapshot_release(s);
    index_close(ix);
    buf_done(&before);
    buf_done(&after);
    buf_done(&b);
    world_end();
}

/* A snapshot sees its chunks whatever becomes of the file. */
static void snapshots_pin(void)
{
    struct buf b = {0}, c = {0};
    struct snapshot *old, *s;
    const struct index_file *f, *g;
    int64_t sum;
    struct index *ix;

    world();
    put_events(&b, 0, 3000, 7);
    put_events(&c, 0, 4000, 8);
    write_file("a.pfw", "w", b.data, b.len);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw");
    f = wait_for(ix, "a.pfw", INDEX_READY, &old);
    sum = sum_of(ix, old, f, "args.ret");
    CHECK_INT(sum, 2999LL * 3000 / 2);
    for (int i = 0; i < 5; i++) {
        unlink(path_of("a.pfw"));
        write_file("a.pfw", "w", i % 2 ? b.data : c.data, i % 2 ? b.len : c.len);
        offer(ix, "a.pfw");
        do {
            g = wait_for(ix, "a.pfw", INDEX_READY, &s);
            if (g->counts.events == (i % 2 ? 3000u : 4000u))
                break;
            snapshot_release(s);
            rest();
        } while (true);
        CHECK_INT(sum_of(ix, s, g, "args.ret"), i % 2 ? sum : 3999LL * 4000 / 2);
        CHECK(g->id != f->id);
        CHECK_INT(sum_of(ix, old, f, "args.ret"), sum);
        snapshot_release(s);
    }
    CHECK_INT(index_forget(ix, "a.pfw"), 0);
    s = index_snapshot(ix);
    CHECK_INT(snapshot_file_count(s), 0);
    snapshot_release(s);
    CHECK_INT(sum_of(ix, old, f, "args.ret"), sum);
    offer(ix, "a.pfw");
    wait_for(ix, "a.pfw", INDEX_READY, &s);
    snapshot_release(s);
    snapshot_release(old);
    index_close(ix);
    buf_done(&b);
    buf_done(&c);
    world_end();
}

static bool may_have(struct index *ix, const struct index_file *f, const char *path,
                     const char *value)
{
    return index_file_may_have(ix, f, text_of(path), text_hash(text_of(value)));
}

/* Of a file with put_head(7) and put_events: all that is in it, and hardly anything else. */
static void check_filters(struct index *ix, const struct index_file *f)
{
    static const char *const there[][2] = {
        {"name", "read"}, {"name", "write"},    {"name", "start"},    {"name", "HH"},
        {"cat", "POSIX"}, {"args.hhash", "h1"}, {"args.fhash", "f0"}, {"args.fhash", "f6"},
        {"pid", "7"},     {"tid", "7"},
    };
    static const char *const absent[][2] = {
        {"name", "open"}, {"cat", "STDIO"}, {"args.fhash", "f9"}, {"pid", "8"}};
    int denied = 0;

    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        CHECK(may_have(ix, f, there[i][0], there[i][1]));
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        denied += !may_have(ix, f, absent[i][0], absent[i][1]);
    CHECK(denied >= 3);
}

/* A file that grows is read on, and ends as if it had always been whole. */
static void growing(bool gzip)
{
    const char *name = gzip ? "g.pfw.gz" : "g.pfw";
    struct buf b = {0}, before, after;
    struct snapshot *s = NULL;
    const struct index_file *f;
    struct index *ix;
    uint32_t id = 0;
    size_t done = 0;

    world();
    put_head(&b, 7, 1);
    put_events(&b, 0, 6000, 7);
    ix = open_index(NEVER_SETTLES_MS, 65536);
    for (int step = 0; done < b.len; step++) {
        size_t len = b.len - done < 150000 ? b.len - done : 150000;
        uint64_t size;
        struct stat st;

        if (gzip) {
            gzFile g = gzopen(path_of(name), "ab");
            gzwrite(g, b.data + done, (unsigned)len);
            gzclose(g);
        } else {
            write_file(name, "a", b.data + done, len);
        }
        done += len;
        stat(path_of(name), &st);
        size = (uint64_t)st.st_size;
        if (step == 2)
            leave(ix, name);
        else
            offer(ix, name);
        for (;;) {
            f = wait_for(ix, name, step == 2 ? INDEX_READY : INDEX_GROWING, &s);
            if (f->compressed_bytes == size)
                break;
            snapshot_release(s);
            rest();
        }
        id = id ? id : f->id;
        CHECK_INT(f->id, id);
        CHECK(f->counts.events > 100);
        /* Complete lines only, until the file is taken to be whole. */
        CHECK_INT(sum_of(ix, s, f, "args.ret"),
                  step == 2 || done == b.len
                      ? sum_of(ix, s, f, "args.ret")
                      : (int64_t)(f->counts.events - 2) * (int64_t)(f->counts.events - 1) / 2);
        snapshot_release(s);
    }
    leave(ix, name);
    f = wait_for(ix, name, INDEX_READY, &s);
    CHECK_INT(f->counts.events, 6001);
    CHECK_INT(f->text_bytes, b.len);
    CHECK_INT(sum_of(ix, s, f, "args.ret"), 5999LL * 6000 / 2);
    check_filters(ix, f);
    snapshot_release(s);
    after = dump_of(ix);
    index_rebuild(ix, name, NULL);
    do {
        rest();
        f = wait_for(ix, name, INDEX_READY, &s);
        snapshot_release(s);
    } while (f->id == id);
    before = dump_of(ix);
    CHECK_STR(after.data, before.data);
    index_close(ix);
    buf_done(&before);
    buf_done(&after);
    buf_done(&b);
    world_end();
}

/* A gzip member, or several, that arrive in pieces, the last with a wrong checksum: found, and told
 * as by one who reads the file at once. */
static void growing_in_members(void)
{
    struct buf b = {0}, before, after;
    struct snapshot *s;
    const struct index_file *f;
    struct index *ix;
    struct stat st;

    for (int members = 1; members <= 40; members += 39) {
        char *packed = NULL;
        size_t len, done = 0, part;

        world();
        buf_clear(&b);
        put_events(&b, 0, 6000, 7);
        for (int i = 0; i < members; i++) {
            size_t from = b.len * (size_t)i / (size_t)members,
                   to = b.len * (size_t)(i + 1) / (size_t)members;
            gzFile g = gzopen(path_of("whole"), "ab1");

            gzwrite(g, b.data + from, (unsigned)(to - from));
            gzclose(g);
        }
        stat(path_of("whole"), &st);
        len = (size_t)st.st_size;
        packed = malloc(len);
        read_file("whole", packed, len);
        packed[len - 6] ^= 1;
        ix = open_index(NEVER_SETTLES_MS, 65536);
        for (int step = 1; step <= 4; step++) {
            part = len * (size_t)step / 4 - done;
            write_file("g.pfw.gz", "a", packed + done, part);
            done += part;
            offer(ix, "g.pfw.gz");
            for (;; rest()) {
                f = wait_for(ix, "g.pfw.gz", INDEX_GROWING, &s);
                if (f->compressed_bytes == done)
                    break;
                snapshot_release(s);
            }
            snapshot_release(s);
        }
        leave(ix, "g.pfw.gz");
        f = wait_for(ix, "g.pfw.gz", INDEX_READY, &s);
        CHECK_INT(f->members, members);
        CHECK_INT(f->counts.events, 6000);
        if (CHECK_INT(f->damage_count, 1)) {
            CHECK_INT(f->damage[0].kind, TRACE_DAMAGE_CRC);
            CHECK_INT(f->damage[0].file_to, len);
            CHECK(members > 1 ? f->damage[0].file_from > len / 2 : f->damage[0].file_from == 0);
        }
        snapshot_release(s);
        after = dump_of(ix);
        index_rebuild(ix, "g.pfw.gz", NULL);
        wait_quiet(ix);
        before = dump_of(ix);
        CHECK_STR(after.data, before.data);
        index_close(ix);
        buf_done(&before);
        buf_done(&after);
        free(packed);
        world_end();
    }
    buf_done(&b);
}

/* Nothing but time makes a file whole that nobody writes to. */
static void settles(void)
{
    struct timespec began, ended;
    struct buf b = {0};
    struct snapshot *s;
    struct index *ix;

    world();
    put_events(&b, 0, 100, 7);
    ix = open_index(300, 65536);
    clock_gettime(CLOCK_MONOTONIC, &began);
    write_file("s.pfw", "w", b.data, b.len);
    offer(ix, "s.pfw");
    CHECK_INT(wait_for(ix, "s.pfw", INDEX_READY, &s)->counts.events, 100);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    CHECK((ended.tv_sec - began.tv_sec) * 1000 + (ended.tv_nsec - began.tv_nsec) / 1000000 >= 250);
    snapshot_release(s);
    index_close(ix);
    buf_done(&b);
    world_end();
}

static void growing_plain(void)
{
    growing(false);
}

static void growing_gzip(void)
{
    growing(true);
}

/* Closed behind each chunk and opened again: goes on, and ends with the same content. */
static void goes_on(void)
{
    enum { EVENTS = 6000, CHUNKS_LEAST = 10 };
    struct buf b = {0}, one, other;
    struct stop_behind stop;
    struct snapshot *s;
    const struct index_file *f;
    struct index *ix;
    uint32_t id = 0;

    world();
    put_head(&b, 7, 1);
    put_events(&b, 0, EVENTS, 7);
    write_gz("a.pfw.gz", b.data, b.len);
    index_close(open_index(-1, 65536)); /* before there was anything */
    for (int i = 0; i < CHUNKS_LEAST; i++) {
        ix = open_with(stopping_behind(&stop, 1));
        offer(ix, "a.pfw.gz");
        s = index_snapshot(ix);
        f = snapshot_file(s, 0);
        CHECK(i == 0 || f->chunk_count > 0);
        CHECK(id == 0 || f->id == id);
        id = f->id;
        snapshot_release(s);
        close_behind_chunk(ix, &stop);
    }
    CHECK(id != 0);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw.gz");
    CHECK_INT(wait_for(ix, "a.pfw.gz", INDEX_READY, &s)->counts.events, EVENTS + 1);
    CHECK_INT(snapshot_file(s, 0)->id, id);
    snapshot_release(s);
    one = dump_of(ix);
    index_rebuild(ix, "a.pfw.gz", NULL);
    while (wait_for(ix, "a.pfw.gz", INDEX_READY, &s)->id == id) {
        snapshot_release(s);
        rest();
    }
    snapshot_release(s);
    other = dump_of(ix);
    CHECK_STR(one.data, other.data);
    index_close(ix);
    buf_done(&one);
    buf_done(&other);
    buf_done(&b);
    world_end();
}

/* The unit stands at the end: everything is converted all the same. */
static void units(void)
{
    struct buf b = {0};
    struct snapshot *s;
    const struct index_file *f;
    struct index *ix;

    world();
    put_events(&b, 0, 3000, 7);
    buf_puts(&b, "{\"name\":\"CM\",\"cat\":\"dftracer\",\"pid\":7,\"tid\":7,\"ph\":\"M\",\"args\":{"
                 "\"name\":\"time_metric\",\"value\":\"NS\"}}\n");
    write_file("a.pfw", "w", b.data, b.len);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw");
    f = wait_for(ix, "a.pfw", INDEX_READY, &s);
    CHECK_INT(f->unit, TRACE_NS);
    CHECK_INT(f->counts.events, 3000);
    CHECK(f->min_ts == 1000);
    snapshot_release(s);
    index_close(ix);
    buf_done(&b);
    world_end();
}

static void text_of_rows(void)
{
    struct buf b = {0};
    struct snapshot *s;
    const struct index_file *f;
    struct trace_text *text;
    struct index *ix;
    char *got;
    int fd;

    world();
    put_events(&b, 0, 6000, 7);
    write_gz("a.pfw.gz", b.data, b.len);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw.gz");
    f = wait_for(ix, "a.pfw.gz", INDEX_READY, &s);
    got = malloc(b.len);
    CHECK_INT(index_text_open(ix, s, f, &text, &fd), 0);
    for (uint32_t i = f->chunk_count; i > 0; i--) {
        const struct index_chunk *c = &f->chunks[i - 1];

        CHECK_INT(trace_text_read(text, c->text_offset, got, c->text_len), 0);
        CHECK_MEM(got, c->text_len, b.data + c->text_offset, c->text_len);
    }
    trace_text_close(text);
    close(fd);
    write_gz("a.pfw.gz", b.data, 1000);
    CHECK_INT(index_text_open(ix, s, f, &text, &fd), ERR_STALE);
    unlink(path_of("a.pfw.gz"));
    CHECK_INT(index_text_open(ix, s, f, &text, &fd), ERR_STALE);
    free(got);
    snapshot_release(s);
    index_close(ix);
    buf_done(&b);
    world_end();
}

static uint32_t files_of(struct index *ix)
{
    struct index_progress p;

    index_progress(ix, &p);
    return (uint32_t)p.files;
}

/* Where X and X.gz hold the same text, X answers alone; also when one was read in parts, and after
 * a restart. */
static void duplicates(void)
{
    struct buf b = {0};
    struct snapshot *s;
    struct index *ix;

    world();
    put_head(&b, 7, 1);
    put_events(&b, 0, 3000, 7);
    write_gz("a.pfw.gz", b.data, b.len);
    write_file("a.pfw", "w", b.data, b.len / 2);
    write_file("empty.pfw", "w", "", 0);
    write_file("empty.pfw.gz", "w", "", 0);
    write_gz("b.pfw.gz", b.data, b.len);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw");
    offer(ix, "b.pfw.gz");
    offer(ix, "empty.pfw.gz");
    offer(ix, "a.pfw.gz");
    offer(ix, "empty.pfw");
    wait_quiet(ix);
    CHECK_INT(files_of(ix), 4);
    index_close(ix);
    write_file("a.pfw", "a", b.data + b.len / 2, b.len - b.len / 2);
    ix = open_index(-1, 65536);
    CHECK_INT(files_of(ix), 4);
    offer(ix, "a.pfw");
    while (files_of(ix) == 4)
        rest();
    s = index_snapshot(ix);
    CHECK_INT(snapshot_file_count(s), 3);
    CHECK_STR(snapshot_file(s, 0)->name, "a.pfw");
    CHECK_STR(snapshot_file(s, 1)->name, "b.pfw.gz");
    CHECK_STR(snapshot_file(s, 2)->name, "empty.pfw");
    snapshot_release(s);
    /* Gone or grown, X lets X.gz answer again. */
    index_forget(ix, "empty.pfw");
    write_file("a.pfw", "a", "[\n", 2);
    offer(ix, "a.pfw");
    while (files_of(ix) == 3)
        rest();
    s = index_snapshot(ix);
    CHECK_STR(snapshot_file(s, 1)->name, "a.pfw.gz");
    CHECK_STR(snapshot_file(s, 3)->name, "empty.pfw.gz");
    snapshot_release(s);
    index_close(ix);
    buf_done(&b);
    world_end();
}

/* A dimension that comes after 512 other paths stands in "@other": no filter may deny it. */
static void filter_knows_other(void)
{
    struct buf b = {0};
    struct snapshot *s;
    const struct index_file *f;
    struct index *ix;

    world();
    buf_puts(&b, "{\"id\":0,\"name\":\"x\",\"cat\":\"c\",\"pid\":1,\"tid\":1,\"ts\":1,\"ph\":\"X\","
                 "\"args\":{\"k\":1");
    for (int i = 0; i < 700; i++)
        buf_printf(&b, ",\"k%d\":1", i);
    buf_puts(&b,
             "}}\n{\"id\":1,\"name\":\"y\",\"ts\":2,\"ph\":\"X\",\"args\":{\"fhash\":\"zz\"}}\n");
    write_file("a.pfw", "w", b.data, b.len);
    buf_clear(&b);
    put_events(&b, 0, 10, 1);
    write_file("b.pfw", "w", b.data, b.len);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw");
    offer(ix, "b.pfw");
    wait_quiet(ix);
    f = wait_for(ix, "a.pfw", INDEX_READY, &s);
    CHECK(index_file_may_have(ix, f, text_of("args.fhash"), text_hash(text_of("zz"))));
    f = snapshot_file(s, 1);
    CHECK(!index_file_may_have(ix, f, text_of("args.fhash"), text_hash(text_of("zz"))));
    CHECK(index_file_may_have(ix, f, text_of("args.fhash"), text_hash(text_of("f3"))));
    snapshot_release(s);
    index_close(ix);
    buf_done(&b);
    world_end();
}

/* Takes the metadata records of the only file out of the store, and asks for one. */
static int lose_names(struct index *ix)
{
    struct kv_batch *b = kv_batch_new();
    struct snapshot *s;
    const struct index_file *f = wait_for(ix, "a.pfw", INDEX_READY, &s);
    struct kv_key key = kv_key_of_chunk(f->id, f->chunks[0].number, f->chunks[0].version);
    struct text line;
    int rc;

    kv_delete(b, KV_NAME, &key);
    CHECK_INT(kv_commit(ix->kv, b), 0);
    kv_batch_free(b);
    CHECK_INT(f->name_count, 1);
    rc = index_name_line(ix, f, &f->names[0], &line);
    snapshot_release(s);
    return rc;
}

/* A record that is not where it was stored is an error, and the file is indexed again. If that was
 * in vain, more than this file is wrong. */
static void names_lost(void)
{
    struct buf b = {0};
    struct index *ix;

    world();
    put_head(&b, 7, 1);
    put_events(&b, 0, 10, 7);
    write_file("a.pfw", "w", b.data, b.len);
    ix = open_index(-1, 65536);
    offer(ix, "a.pfw");
    wait_quiet(ix);
    CHECK_INT(lose_names(ix), ERR_CORRUPT);
    CHECK_INT(index_store_error(ix), 0);
    wait_quiet(ix);
    CHECK_INT(lose_names(ix), ERR_CORRUPT);
    CHECK_INT(index_store_error(ix), ERR_CORRUPT);
    index_close(ix);
    buf_done(&b);
    world_end();
}

/* Several indexes keep the limits of one: all get on, though one chunk alone takes what all may
 * have. */
static void shares(void)
{
    enum { INDEXES = 3 };
    struct buf b = {0};
    struct index *ix[INDEXES];
    struct index_share *share = index_share_new();
    struct err err = {0};

    world();
    put_events(&b, 0, 20000, 7);
    write_gz("a.pfw.gz", b.data, b.len);
    write_file("b.pfw", "w", b.data, b.len);
    for (int i = 0; i < INDEXES; i++) {
        char path[128];

        snprintf(path, sizeof path, "%s/index%d", dir, i);
        struct index_options o = {.path = path,
                                  .checkpoint_size = 65536,
                                  .settle_ms = -1,
                                  .workers = 2,
                                  .memory_limit = 1,
                                  .share = share};
        if (!CHECK_INT(index_open(&o, &err, &ix[i]), 0))
            abort();
        offer(ix[i], "a.pfw.gz");
        offer(ix[i], "b.pfw");
    }
    for (int i = 0; i < INDEXES; i++) {
        struct snapshot *s;
        const struct index_file *f = wait_for(ix[i], "a.pfw.gz", INDEX_READY, &s);
        CHECK_INT(f->counts.events, 20000);
        snapshot_release(s);
        index_close(ix[i]); /* the others continue */
    }
    index_share_free(share);
    buf_done(&b);
    world_end();
}

static const struct check_test tests[] = {{"known_numbers", known_numbers},
                                          {"odd_files", odd_files},
                                          {"many_small_files", many_small_files},
                                          {"opened_again", opened_again},
                                          {"snapshots_pin", snapshots_pin},
                                          {"growing_plain", growing_plain},
                                          {"growing_gzip", growing_gzip},
                                          {"growing_in_members", growing_in_members},
                                          {"settles", settles},
                                          {"goes_on", goes_on},
                                          {"units", units},
                                          {"text_of_rows", text_of_rows},
                                          {"duplicates", duplicates},
                                          {"filter_knows_other", filter_knows_other},
                                          {"names_lost", names_lost},
                                          {"shares", shares},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
