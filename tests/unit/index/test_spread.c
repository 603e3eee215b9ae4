/* module: index; threads */
/* One index over several ranks, here in one process, tells what one index alone tells. */
#include "index_world.h"

#include "dftracerd/vec.h"
#include "index/store/kv.h"

enum { RANKS = 3, FILES = 7 };

/* ---- ranks without MPI: a queue and a thread for each ---------------------------------------- */

struct letter {
    struct letter *next;
    unsigned from;
    struct buf text;
};
struct rank {
    struct index *_Atomic ix;
    struct index_ranks links;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t come;
    struct letter *first, **last;
    bool over;
};
static struct rank ranks[RANKS];

static int send_letter(void *arg, unsigned to, struct text message)
{
    struct letter *l = calloc(1, sizeof *l);

    l->from = ((struct rank *)arg)->links.rank;
    buf_text(&l->text, message);
    pthread_mutex_lock(&ranks[to].lock);
    *ranks[to].last = l;
    ranks[to].last = &l->next;
    pthread_cond_signal(&ranks[to].come);
    pthread_mutex_unlock(&ranks[to].lock);
    return 0;
}

static int ask_rank(void *arg, unsigned to, struct text request, struct buf *answer)
{
    return index_answer(ranks[to].ix, ((struct rank *)arg)->links.rank, request, answer);
}

/* Until it is over and nothing is left. */
static void *deliver(void *arg)
{
    struct rank *r = arg;
    struct letter *l;

    for (;;) {
        pthread_mutex_lock(&r->lock);
        while (!r->first && !r->over)
            pthread_cond_wait(&r->come, &r->lock);
        l = r->first;
        if (l && !(r->first = l->next))
            r->last = &r->first;
        pthread_mutex_unlock(&r->lock);
        if (!l)
            return NULL;
        if (r->ix)
            index_receive(r->ix, l->from, (struct text){l->text.data, l->text.len});
        buf_done(&l->text);
        free(l);
    }
}

static void open_rank(unsigned i, struct index_options options)
{
    struct rank *r = &ranks[i];
    char path[128];
    struct err err = {0};
    struct index *ix = NULL;

    *r = (struct rank){.links = {i, RANKS, send_letter, ask_rank, r}};
    r->last = &r->first;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->come, NULL);
    snprintf(path, sizeof path, "%s/rank%u", dir, i);
    options.path = path;
    options.workers = 2;
    options.commit_ms = 20;
    options.ranks = &r->links;
    pthread_create(&r->thread, NULL, deliver, r);
    CHECK_INT(index_open(&options, &err, &ix), 0);
    CHECK_STR(err.text, "");
    r->ix = ix;
}

/* Rank 0 asks the others when it is opened. */
static struct index *open_ranks(struct index_options options)
{
    for (unsigned i = RANKS; i-- > 0;)
        open_rank(i, options);
    return ranks[0].ix;
}

static void end_letters(unsigned i)
{
    pthread_mutex_lock(&ranks[i].lock);
    ranks[i].over = true;
    pthread_cond_signal(&ranks[i].come);
    pthread_mutex_unlock(&ranks[i].lock);
    pthread_join(ranks[i].thread, NULL);
}

/* Letters to rank 0 end first; the others may still write to it. */
static void close_ranks(void)
{
    end_letters(0);
    index_close(ranks[0].ix);
    ranks[0].ix = NULL;
    for (unsigned i = 1; i < RANKS; i++) {
        end_letters(i);
        index_close(ranks[i].ix);
    }
    for (unsigned i = 0; i < RANKS; i++) {
        for (struct letter *l = ranks[i].first, *next; l; l = next) {
            next = l->next;
            buf_done(&l->text);
            free(l);
        }
        pthread_mutex_destroy(&ranks[i].lock);
        pthread_cond_destroy(&ranks[i].come);
    }
}

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

static const char *file_name(int i)
{
    static _Thread_local char name[16];

    snprintf(name, sizeof name, i % 2 ? "%d.pfw.gz" : "%d.pfw", i);
    return name;
}

/* Of several chunks each. */
static void write_files(void)
{
    for (int i = 0; i < FILES; i++) {
        struct buf b = {0};
        put_head(&b, 100 + i, 99);
        put_events(&b, 1, 2000 + 900 * i, 100 + i);
        if (i % 2)
            write_gz(file_name(i), b.data, b.len);
        else
            write_file(file_name(i), "w", b.data, b.len);
        buf_done(&b);
    }
}

static void offer_all(struct index *ix)
{
    for (int i = 0; i < FILES; i++)
        leave(ix, file_name(i));
    index_listed(ix);
    wait_quiet(ix);
}

static const struct index_options usual = {.checkpoint_size = 64 << 10, .settle_ms = 10};

/* By one index alone. */
static void dump_of_one(struct buf *ret)
{
    char command[128];
    struct index *ix = open_with(usual);

    offer_all(ix);
    dump(ix, ret);
    index_close(ix);
    snprintf(command, sizeof command, "rm -rf %s/index", dir);
    CHECK_INT(system(command), 0);
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

/* What one index alone, opened anew, tells of the files as they are now. */
static bool one_tells(struct index *ix)
{
    struct buf one = {0}, many = {0};

    dump_of_one(&one);
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
    CHECK(one_tells(ix));
    CHECK(chunks_stored(1) > 5 && chunks_stored(2) > 5);
    close_ranks();
    /* All is found where it was. */
    ix = open_ranks(usual);
    struct index_progress p;
    index_progress(ix, &p);
    CHECK_INT(p.files_ready, FILES);
    CHECK(one_tells(ix));
    close_ranks();
    world_end();
}

/* A file that grows is read on by the rank that has it, from a checkpoint of rank 0. */
static void a_file_grows(void)
{
    static const char *const names[] = {"a.pfw", "b.pfw.gz", "c.pfw.gz"};
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
    struct buf one = {0}, many = {0};
    struct index *alone = open_with((struct index_options){.checkpoint_size = 64 << 10});
    for (int i = 0; i < 3; i++)
        offer(alone, names[i]);
    index_listed(alone);
    wait_quiet(alone);
    dump(alone, &one);
    index_close(alone);
    dump(ix, &many);
    CHECK(same(&one, &many));
    buf_done(&one);
    buf_done(&many);
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
    CHECK(one_tells(ix));
    close_ranks();
    /* Rank 0's store is one that others had chunks for: a new one has others delete theirs. */
    snprintf(command, sizeof command, "rm -rf %s/rank0", dir);
    CHECK_INT(system(command), 0);
    ix = open_ranks(usual);
    offer_all(ix);
    CHECK(one_tells(ix));
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
    CHECK(one_tells(ix));
    close_ranks();
    world_end();
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
    for (int i = 0; i < 4; i++)
        leave(ix, file_name(2 * i));
    index_listed(ix);
    wait_quiet(ix);
    struct buf one = {0}, many = {0};
    struct index *alone = open_with(usual);
    for (int i = 0; i < 4; i++)
        leave(alone, file_name(2 * i));
    index_listed(alone);
    wait_quiet(alone);
    dump(alone, &one);
    index_close(alone);
    dump(ix, &many);
    CHECK(same(&one, &many));
    buf_done(&one);
    buf_done(&many);
    close_ranks();
    world_end();
}

static const struct check_test tests[] = {
    {"ranks_tell_what_one_index_tells", ranks_tell_what_one_index_tells},
    {"a_file_grows", a_file_grows},
    {"a_store_is_lost", a_store_is_lost},
    {"chunks_are_deleted", chunks_are_deleted},
    {"stopped_at_any_moment", stopped_at_any_moment},
    {"a_unit_is_told_late", a_unit_is_told_late},
    {NULL, NULL}};
CHECK_MAIN(tests)
