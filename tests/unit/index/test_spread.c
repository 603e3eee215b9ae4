/* module: index; threads */
/* One index over several ranks, here in one process, tells what one index alone tells. */
#include "rank_world.h"

#include "dftracerd/vec.h"
#include "index/catalog/index.h"
#include "index/ranks/ranks.h"

/* ---- what is told ---------------------------------------------------------------------------- */

static int more(void *arg, struct buf *out)
{
    buf_append(arg, out->data, out->len);
    buf_clear(out);
    return out->error;
}

static void dump(struct index *ix, struct buf *ret)
{
    struct buf out = {0};

    CHECK_INT(index_dump(ix, &out, more, ret), 0);
    more(ret, &out);
    buf_done(&out);
}

static bool same(const struct buf *a, const struct buf *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static unsigned chunks_elsewhere(struct index *ix)
{
    struct snapshot *s = index_snapshot(ix);
    unsigned count = 0;

    for (uint32_t i = 0; i < snapshot_file_count(s); i++) {
        const struct index_file *f = snapshot_file(s, i);
        for (uint32_t k = 0; k < f->chunk_count; k++)
            count += f->chunks[k].home != 0;
    }
    snapshot_release(s);
    return count;
}

/* Whether one index alone, which is made anew and offered the same, tells what this one does. */
static bool one_tells(struct index *ix, struct index_options options,
                      void (*offer_to)(struct index *ix))
{
    struct buf one = {0}, many = {0};
    struct index *alone = open_with(options);
    char command[128];

    offer_to(alone);
    dump(alone, &one);
    index_close(alone);
    snprintf(command, sizeof command, "rm -rf %s/index", dir);
    CHECK_INT(system(command), 0);
    dump(ix, &many);
    bool equal = same(&one, &many);
    buf_done(&one);
    buf_done(&many);
    return equal;
}

static uint64_t chunks_stored(unsigned rank)
{
    struct kv_read *r;

    if (!CHECK_INT(kv_read_begin(ranks[rank].ix->kv, &r), 0))
        return 0;
    uint64_t count = kv_count(r, KV_CHUNK);
    kv_read_end(r);
    return count;
}

static uint64_t all_chunks(void)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < RANKS; i++)
        count += chunks_stored(i);
    return count;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void ranks_tell_what_one_index_tells(void)
{
    struct index *ix;

    world();
    write_files();
    ix = open_ranks(usual);
    offer_all(ix);
    CHECK(chunks_elsewhere(ix) > 10);
    CHECK(one_tells(ix, usual, offer_all));
    CHECK(chunks_stored(1) > 5 && chunks_stored(2) > 5);
    close_ranks();
    /* All is found where it was. */
    ix = open_ranks(usual);
    struct index_progress p;
    index_progress(ix, &p);
    CHECK_INT(p.files_ready, FILES);
    CHECK(one_tells(ix, usual, offer_all));
    close_ranks();
    world_end();
}

static void write_large(int events)
{
    struct buf b = {0};

    put_head(&b, 7, 99);
    put_events(&b, 1, events, 7);
    write_file(file_name(0), "w", b.data, b.len);
    buf_done(&b);
}

static void offer_large(struct index *ix)
{
    offer(ix, file_name(0));
    index_listed(ix);
    wait_quiet(ix);
}

/* Each rank has a third of its chunks, give or take one. */
static void check_thirds(struct index *ix)
{
    struct snapshot *s = index_snapshot(ix);
    const struct index_file *f = snapshot_file(s, 0);
    uint32_t count[RANKS + 1] = {0};

    CHECK(f->chunk_count > 20);
    for (uint32_t i = 0; i < f->chunk_count; i++)
        count[f->chunks[i].home]++;
    for (unsigned i = 0; i < RANKS; i++) {
        CHECK_INT(chunks_stored(i), count[i]);
        CHECK(count[i] + 1 >= f->chunk_count / 3 && count[i] <= f->chunk_count / 3 + 2);
    }
    snapshot_release(s);
}

/* One rank reads it, and all scan it; so it is when it grows, and after a restart. */
static void a_large_file_is_divided(void)
{
    struct index_options options = {
        .checkpoint_size = 64 << 10, .settle_ms = NEVER_SETTLES_MS, .purge_ms = 1, .upkeep_ms = 20};
    struct index *ix;

    world();
    write_large(20000);
    ix = open_ranks(options);
    offer_large(ix);
    check_thirds(ix);
    CHECK(one_tells(ix, options, offer_large));
    close_ranks();
    ix = open_ranks(options);
    write_large(40000);
    offer_large(ix);
    CHECK(one_tells(ix, options, offer_large));
    CHECK(chunks_stored(0) > 20 && chunks_stored(1) > 20 && chunks_stored(2) > 20);
    close_ranks();
    world_end();
}

static const char *const names[] = {"a.pfw", "b.pfw.gz", "c.pfw.gz"};

static void offer_grown(struct index *ix)
{
    for (int i = 0; i < 3; i++)
        offer(ix, names[i]);
    index_listed(ix);
    wait_quiet(ix);
}

/* A file that grows is read on by the rank that has it, from a checkpoint of rank 0. */
static void a_file_grows(void)
{
    struct index_options options = {.checkpoint_size = 64 << 10, .settle_ms = NEVER_SETTLES_MS};
    struct index *ix;
    struct snapshot *s;

    world();
    ix = open_ranks(options);
    index_listed(ix);
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < 3; i++) {
            struct buf b = {0};
            if (round == 0)
                put_head(&b, 10 + i, 1);
            put_events(&b, 1 + round * 1000, 1000, 10 + i);
            gzFile f = gzopen(path_of(names[i]), i ? "ab" : "abT");
            CHECK_INT(gzwrite(f, b.data, (unsigned)b.len), (int)b.len);
            CHECK_INT(gzclose(f), Z_OK);
            buf_done(&b);
            offer(ix, names[i]);
            if (round % 2) {
                wait_for(ix, names[i], INDEX_GROWING, &s);
                snapshot_release(s);
            }
        }
    for (int i = 0; i < 3; i++)
        leave(ix, names[i]);
    for (int i = 0; i < 3; i++) {
        wait_for(ix, names[i], INDEX_READY, &s);
        snapshot_release(s);
    }
    options.settle_ms = 0;
    CHECK(one_tells(ix, options, offer_grown));
    close_ranks();
    world_end();
}

/* What ranks have of it is read again where another rank, or none, has the store. */
static void a_store_is_lost(void)
{
    char command[128];
    struct index *ix;

    world();
    write_files();
    ix = open_ranks(usual);
    offer_all(ix);
    close_ranks();
    snprintf(command, sizeof command, "rm -rf %s/rank2", dir);
    CHECK_INT(system(command), 0);
    ix = open_ranks(usual);
    offer_all(ix);
    CHECK(one_tells(ix, usual, offer_all));
    close_ranks();
    /* Rank 0's store is one that others had chunks for: a new one has others delete theirs. */
    snprintf(command, sizeof command, "rm -rf %s/rank0", dir);
    CHECK_INT(system(command), 0);
    ix = open_ranks(usual);
    offer_all(ix);
    CHECK(one_tells(ix, usual, offer_all));
    close_ranks();
    ix = open_ranks(usual);
    for (int i = 0; i < 200 && all_chunks() != (uint64_t)chunks_elsewhere(ix) + chunks_stored(0);
         i++)
        rest();
    CHECK_INT(all_chunks(), (uint64_t)chunks_elsewhere(ix) + chunks_stored(0));
    close_ranks();
    world_end();
}

/* Chunks of files that are gone, or were read anew, are deleted by the ranks that have them. */
static void chunks_are_deleted(void)
{
    struct index_options options = usual;
    struct index *ix;

    options.purge_ms = 1;
    options.upkeep_ms = 20;
    world();
    write_files();
    ix = open_ranks(options);
    offer_all(ix);
    uint64_t before = all_chunks();
    for (int i = 0; i < FILES; i++)
        CHECK_INT(index_rebuild(ix, file_name(i), NULL), 0);
    wait_quiet(ix);
    for (int i = 0; i < 400 && all_chunks() != before; i++)
        rest();
    CHECK_INT(all_chunks(), before);
    for (int i = 0; i < FILES; i++)
        index_forget(ix, file_name(i));
    for (int i = 0; i < 400 && all_chunks() > 0; i++)
        rest();
    CHECK_INT(all_chunks(), 0);
    close_ranks();
    world_end();
}

/* A store without the checkpoint is corrupt, on rank 0 and on other ranks. */
static void a_checkpoint_is_missing(void)
{
    struct trace_checkpoint at;
    struct index *ix;

    world();
    ix = open_ranks(usual);
    CHECK_INT(checkpoint_copy(ix->kv, 7, 0, CHECKPOINT_FILE, &at), ERR_CORRUPT);
    CHECK_INT(remote_checkpoint(ranks[1].ix->remote_cache, 7, 0, 0, &at), ERR_CORRUPT);
    close_ranks();
    world_end();
}

/* Whatever was on its way when all stop, nothing is wrong afterwards. */
static void stopped_at_any_moment(void)
{
    struct index *ix;

    world();
    write_files();
    for (int i = 0; i < 12; i++) {
        ix = open_ranks(usual);
        for (int k = 0; k < FILES; k++)
            leave(ix, file_name(k));
        index_listed(ix);
        nanosleep(&(struct timespec){0, i * 4000000}, NULL);
        close_ranks();
    }
    ix = open_ranks(usual);
    offer_all(ix);
    CHECK(one_tells(ix, usual, offer_all));
    close_ranks();
    world_end();
}

static void offer_late(struct index *ix)
{
    for (int i = 0; i < 4; i++)
        leave(ix, file_name(2 * i));
    index_listed(ix);
    wait_quiet(ix);
}

/* The unit is said behind events: the order is cancelled, and the file read with it. */
static void a_unit_is_told_late(void)
{
    struct index *ix;

    world();
    for (int i = 0; i < 4; i++) {
        struct buf b = {0};
        put_head(&b, 100 + i, 99);
        put_events(&b, 1, 3000, 100 + i);
        buf_printf(&b, "{\"id\":0,\"name\":\"CM\",\"cat\":\"dftracer\",\"pid\":1,\"tid\":1,"
                       "\"ph\":\"M\",\"args\":{\"name\":\"time_metric\",\"value\":\"ns\"}}\n");
        put_events(&b, 3001, 3000, 100 + i);
        write_file(file_name(2 * i), "w", b.data, b.len);
        buf_done(&b);
    }
    ix = open_ranks(usual);
    offer_late(ix);
    CHECK(one_tells(ix, usual, offer_late));
    close_ranks();
    world_end();
}

enum { MEMBERS = 4, LATER = 30 };

static void write_small(const char *kind, int count)
{
    for (int i = 0; i < count; i++) {
        struct buf b = {0};
        char name[24];
        put_head(&b, 100 + i, 99);
        put_events(&b, 1, 50, 100 + i);
        snprintf(name, sizeof name, "%s%d.pfw", kind, i);
        write_file(name, "w", b.data, b.len);
        buf_done(&b);
    }
}

/* Rank 0 reads the archive and its members: twice the bytes of the archive. Other files are more
 * than that, so it gets some of them, too. */
static void an_archive_counts_twice(void)
{
    struct index_rank_progress *list = NULL;
    char command[128], name[24];
    size_t count = 0;
    struct index *ix;

    world();
    write_small("m", MEMBERS);
    snprintf(command, sizeof command, "cd %s && tar -cf x.tar m*.pfw", path_of(""));
    CHECK_INT(system(command), 0);
    write_small("f", LATER);
    ix = open_ranks(usual);
    index_listed(ix);
    leave(ix, "x.tar");
    wait_quiet(ix);
    for (int i = 0; i < LATER; i++) {
        snprintf(name, sizeof name, "f%d.pfw", i);
        leave(ix, name);
    }
    wait_quiet(ix);
    CHECK_INT(index_rank_progress(ix, &list, &count), 0);
    CHECK(count == RANKS && list[0].files > MEMBERS && list[0].files < MEMBERS + LATER / RANKS);
    CHECK(count == RANKS && list[1].files >= LATER / RANKS);
    free(list);
    close_ranks();
    world_end();
}

static const struct check_test tests[] = {
    {"ranks_tell_what_one_index_tells", ranks_tell_what_one_index_tells},
    {"a_large_file_is_divided", a_large_file_is_divided},
    {"a_file_grows", a_file_grows},
    {"a_store_is_lost", a_store_is_lost},
    {"a_checkpoint_is_missing", a_checkpoint_is_missing},
    {"chunks_are_deleted", chunks_are_deleted},
    {"stopped_at_any_moment", stopped_at_any_moment},
    {"a_unit_is_told_late", a_unit_is_told_late},
    {"an_archive_counts_twice", an_archive_counts_twice},
    {NULL, NULL}};
CHECK_MAIN(tests)
