/* module: http; threads */
/* Requests whose scans are distributed over several ranks, here in one process, get the same
 * answers as from one index. */
#include "rank_world.h"

#include "base/recbuf.h"
#include "dftracerd/http.h"
#include "index/catalog/snapshot.h"
#include "index/ranks/ranks.h"

#include <errno.h>

static const char *const requests[] = {
    "/aggregate?group_by=name,pid&agg=count,sum:dur,p50:dur,p99:args.ret&format=csv",
    "/aggregate?group_by=args.fhash,ts&agg=count,mean:args.half,std:args.half&query=dur%3E20",
    "/aggregate?time_interval=1ms&agg=count,busy,first:name,distinct:args.ret&limit=50",
    "/stats?query=dur%3E7&report=detailed&group_by=name",
    "/stats?query=name%20LIKE%20%27r%25%27",
    "/timeline?width=40&color=name",
    "/timeline?width=7&group_by=pid&color=args.fhash&colors=3&events=20",
    "/timeline?query=dur%3E50&color=dur&events=0",
    "/compare?baseline=0.pfw&variant=1.pfw.gz&format=ndjson",
    "/compare?query_a=dur%3C50&query_b=dur%3E%3D50&group_by=name",
    "/event-count?within=dur%3E90",
    "/view?within=dur%3E95&within_scope=all&count_only=true",
    "/histogram?column=dur&bins=9",
    "/histogram?column=dur&scale=linear&bins=9",
    "/histogram?column=args.half",
    "/processes",
    "/aggregate?group_by=no_such_column",
    "/aggregate?agg=sum:name",
    "/view?query=dur%3E97&limit=30&format=pfw",
    "/view?format=ndjson",
    "/view?format=pfw&metadata=false&query=dur%3C50",
    "/view?order=ts&query=dur%3E30",
    "/view?order=ts&limit=17&offset=900",
    "/view?offset=5000&limit=2500&format=pfw",
    "/view?within=dur%3E95&query=dur%3C20",
    "/view?phase=metadata",
    "/view?order=-dur&limit=40",
    "/view?select=ts,name,dur,args.half,args.fhash,pid&format=csv",
    "/view?select=ts,name,te,args.ret&order=ts&query=dur%3E60",
    "/view?select=host,pid,name&format=json&limit=100&offset=3000&order=ts",
    "/view?select=name,dur&format=csv&limit=30",
    "/view?select=name,dur,args.half&order=dur&limit=300&format=csv",
    "/view?select=ts,dur&format=text&limit=50&within=dur%3E95&clip=true",
    "/view?query=name%3D%3D%27nothing%27",
    "/view?format=perfetto&query=dur%3E90",
    "/find?query=dur%3E97",
    "/find?query=dur%3E97&direction=previous&at=9000",
    "/call-tree?format=text&limit=20",
    "/call-tree?max_depth=1000",
    "/call-tree?query=dur%3E50&group_by=args.fhash&analyze=true",
    "/call-tree?within=dur%3E95&clip=true",
    "/schema",
    "/schema?query=dur%3E90",
    "/schema?query=dur%3E50&within=dur%3E95&format=csv",
};
enum { REQUESTS = sizeof requests / sizeof *requests };

/* Doubles, and arguments that not every file has. */
static void write_more(void)
{
    for (int i = 0; i < 3; i++) {
        struct buf b = {0};
        char name[32];
        put_head(&b, 200 + i, 99);
        for (int k = 0; k < 2500; k++)
            buf_printf(
                &b,
                "{\"id\":%d,\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":%d,\"tid\":%d,\"ts\":"
                "%d,\"dur\":%d,\"ph\":\"X\",\"args\":{\"half\":%d.5,\"ret\":%d}}\n",
                k, 200 + i, 200 + i, 1500 + k * 7, k % 99, k % 13, k);
        snprintf(name, sizeof name, "more-%d.pfw", i);
        write_file(name, "w", b.data, b.len);
        buf_done(&b);
    }
}

static void offer_more(struct index *ix)
{
    leave(ix, "more-0.pfw");
    leave(ix, "more-1.pfw");
    leave(ix, "more-2.pfw");
    offer_all(ix);
}

static struct http_runner *runner_of(struct index *ix)
{
    static const char *root = "/nowhere", *label = "";
    const struct http_options o = {
        .index = ix, .workers = 2, .root_count = 1, .root_paths = &root, .root_labels = &label};
    struct http_runner *r = NULL;
    struct err err = {0};

    CHECK_INT(http_runner_new(&o, &err, &r), 0);
    return r;
}

static int keep(void *arg, struct text bytes)
{
    buf_text(arg, bytes);
    return 0;
}

static int64_t later(int64_t ns)
{
    return ns ? clock_mono_ns() + ns : 0;
}

/* Returns the bytes of the answer, or its error. */
static int run(struct http_runner *r, const char *target, int64_t time_ns, struct buf *ret)
{
    const struct http_call_options o = {.target = target, .deadline_ns = later(time_ns)};
    struct http_call *c = NULL;
    struct err err = {0};
    int rc = http_call_new(r, &o, &err, &c);

    rc = rc ? rc : http_call_run(c, keep, ret, &err);
    if (rc)
        buf_printf(ret, "%s", err.text);
    http_call_free(c);
    err_done(&err);
    return rc;
}

/* Masks the numbers of generations, and times of work, which differ. */
static void mask(struct buf *b)
{
    static const char *const members[] = {"\"generation\":", "\"elapsed_ms\":"};

    buf_putc(b, '\0');
    for (unsigned i = 0; i < 2; i++)
        for (char *at = b->data; (at = strstr(at, members[i])) != NULL;)
            for (at += strlen(members[i]); (*at >= '0' && *at <= '9') || *at == '.'; at++)
                *at = ' ';
    for (char *from = b->data, *to = b->data;; from++) {
        if (*from != ' ')
            *to++ = *from;
        if (!*from)
            break;
    }
}

static void ask_all(struct http_runner *r, struct buf *ret)
{
    for (unsigned i = 0; i < REQUESTS; i++) {
        run(r, requests[i], 0, &ret[i]);
        mask(&ret[i]);
    }
}

/* Compares with all answers in `many`, which is freed, too. */
static void compare_all(struct buf *one, struct buf *many)
{
    for (unsigned i = 0; i < REQUESTS; i++) {
        if (strcmp(one[i].data, many[i].data) != 0)
            check_fail(__FILE__, __LINE__, "%s:\n%.600s\nis now\n%.600s", requests[i], one[i].data,
                       many[i].data);
        buf_done(&many[i]);
    }
}

/* ---- what is asked of ranks ------------------------------------------------------------------ */

static atomic_uint chunks_asked, scans_asked;

static int count_asked(unsigned to, struct text request)
{
    (void)to;
    chunks_asked += *request.ptr == RANK_CHUNK;
    scans_asked += *request.ptr == RANK_SCAN;
    return 0;
}

/* Each third scan, or part of a stream, fails. */
static int fail_often(unsigned to, struct text request)
{
    static const int errors[] = {-EPIPE, ERR_MEMORY_LIMIT, -ESRCH, ERR_NOT_FOUND};
    static atomic_uint count;

    (void)to;
    return *request.ptr == RANK_SCAN && ++count % 3 == 0 ? errors[count / 3 % 4] : 0;
}

struct far_world {
    struct http_runner *runner[RANKS];
    struct http_remote *far[RANKS];
};

static void open_remote(struct far_world *w)
{
    for (unsigned i = 0; i < RANKS; i++) {
        w->runner[i] = runner_of(ranks[i].ix);
        w->far[i] = NULL;
        if (i)
            CHECK_INT(http_remote_new(w->runner[i], ranks[i].ix, &w->far[i]), 0);
    }
}

static void close_far(struct far_world *w)
{
    for (unsigned i = 0; i < RANKS; i++) {
        wait_letters(&ranks[i]);
        http_remote_free(w->far[i]);
        http_runner_free(w->runner[i]);
    }
}

static void ask_one_index(struct buf *ret)
{
    char command[128];
    struct index *ix = open_with(usual);

    offer_more(ix);
    struct http_runner *r = runner_of(ix);
    ask_all(r, ret);
    http_runner_free(r);
    index_close(ix);
    snprintf(command, sizeof command, "rm -rf %s/index", dir);
    CHECK_INT(system(command), 0);
}

/* Makes answers from one index if `one` is not NULL; then starts ranks. */
static void world_of_ranks(struct far_world *w, struct buf *one)
{
    world();
    write_files();
    write_more();
    if (one)
        ask_one_index(one);
    offer_more(open_ranks(usual));
    open_remote(w);
}

static void end_of_ranks(struct far_world *w, struct buf *one)
{
    ask_hook = NULL;
    for (unsigned i = 0; one && i < REQUESTS; i++)
        buf_done(&one[i]);
    close_far(w);
    close_ranks();
    world_end();
}

static void ranks_answer_what_one_index_answers(void)
{
    struct buf one[REQUESTS] = {{0}}, many[REQUESTS] = {{0}};
    struct far_world w;

    world_of_ranks(&w, one);
    ask_all(w.runner[0], many);
    for (unsigned i = 1; i < RANKS; i++) /* they got requests, for snapshots of rank 0 */
        CHECK(ranks[i].ix->newest != ranks[i].ix->current);
    compare_all(one, many);
    end_of_ranks(&w, one);
}

/* Rank 0 does what ranks fail to answer. */
static void ranks_may_fail(void)
{
    struct buf one[REQUESTS] = {{0}}, many[REQUESTS] = {{0}};
    struct far_world w;

    world_of_ranks(&w, one);
    ask_hook = fail_often;
    ask_all(w.runner[0], many);
    compare_all(one, many);
    end_of_ranks(&w, one);
}

/* Rank 0 fetches no chunks for them. */
static void streams_are_made_where_the_chunks_are(void)
{
    static const char *const streams[] = {
        "/view?format=ndjson&metadata=false",
        "/view?format=pfw&query=dur%3C50",
        "/view?order=ts&query=dur%3E30",
        "/view?offset=5000&limit=2500&format=pfw",
        "/view?select=ts,name&format=csv",
        "/view?select=ts,name&order=ts&limit=500&format=csv",
        "/schema",
        "/schema?query=dur%3E90",
        "/call-tree?max_depth=1000",
        "/find?query=dur%3E97",
    };
    struct far_world w;

    world_of_ranks(&w, NULL);
    ask_hook = count_asked;
    for (unsigned i = 0; i < sizeof streams / sizeof *streams; i++) {
        struct buf got = {0};
        scans_asked = chunks_asked = 0;
        CHECK_INT(run(w.runner[0], streams[i], 0, &got), 0);
        CHECK(scans_asked > 0);
        CHECK_INT(chunks_asked, 0);
        buf_done(&got);
    }
    end_of_ranks(&w, NULL);
}

/* ---- memory, and clients that leave ---------------------------------------------------------- */

static int run_with(struct http_runner *r, const char *target, size_t memory, struct buf *ret)
{
    const struct http_call_options o = {.target = target, .memory = memory};
    struct http_call *c = NULL;
    struct err err = {0};
    int rc = http_call_new(r, &o, &err, &c);

    rc = rc ? rc : http_call_run(c, keep, ret, &err);
    http_call_free(c);
    err_done(&err);
    return rc;
}

#define COMPARE_MANY \
    "/compare?baseline=more-0.pfw&variant=more-1.pfw&query=&group_by=name,args.ret&format=csv"

/* If memory suffices for one index, the answer is the same; if not, the error says so. */
static void little_memory(void)
{
    static const char *const targets[] = {"/view?format=ndjson", "/view?order=ts",
                                          "/view?select=ts,name&format=csv&order=ts"};
    struct far_world w;

    world_of_ranks(&w, NULL);
    for (unsigned i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct buf all = {0}, little = {0};
        CHECK_INT(run(w.runner[0], targets[i], 0, &all), 0);
        CHECK_INT(run_with(w.runner[0], targets[i], 2 << 20, &little), 0);
        CHECK(all.len == little.len && memcmp(all.data, little.data, all.len) == 0);
        buf_done(&all);
        buf_done(&little);
    }
    /* The sides are scanned together; one may lack memory for the groups of a rank. */
    for (size_t memory = 4 << 20; memory < 8 << 20; memory += 256 << 10) {
        struct buf got = {0};
        int rc = run_with(w.runner[0], COMPARE_MANY, memory, &got);
        CHECK(rc == 0 || rc == ERR_MEMORY_LIMIT);
        buf_done(&got);
    }
    end_of_ranks(&w, NULL);
}

static struct http_call *leaving;
static atomic_uint leaves_in;

static int leave_soon(unsigned to, struct text request)
{
    (void)to;
    if (*request.ptr == RANK_SCAN && leaves_in && --leaves_in == 0)
        http_call_cancel(leaving, ERR_CANCELLED);
    return 0;
}

static void clients_may_leave(void)
{
    struct far_world w;

    world_of_ranks(&w, NULL);
    ask_hook = leave_soon;
    for (unsigned k = 1; k < 8; k++) {
        const struct http_call_options o = {.target = "/view?format=ndjson"};
        struct buf got = {0};
        struct err err = {0};
        CHECK_INT(http_call_new(w.runner[0], &o, &err, &leaving), 0);
        leaves_in = k;
        int rc = http_call_run(leaving, keep, &got, &err);
        CHECK(leaves_in > 0 ? rc == 0 : rc == ERR_CANCELLED || rc == 0);
        leaves_in = 0;
        http_call_free(leaving);
        err_done(&err);
        buf_done(&got);
    }
    end_of_ranks(&w, NULL);
}

struct asker {
    pthread_t thread;
    struct http_runner *runner;
    struct buf first;
    unsigned number;
};

static void *ask_often(void *arg)
{
    struct asker *a = arg;

    for (unsigned k = 0; k < REQUESTS; k++) {
        struct buf got = {0};
        run(a->runner, requests[(a->number + k) % REQUESTS], k % 3 == 2 ? 1000 : 0, &got);
        buf_done(&got);
    }
    return NULL;
}

/* While files change and requests run out of time. */
static void many_at_once(void)
{
    struct index_options options = usual;
    struct asker list[3];
    struct far_world w;

    options.settle_ms = NEVER_SETTLES_MS;
    world();
    write_files();
    write_more();
    struct index *ix = open_ranks(options);
    offer_more(ix);
    open_remote(&w);
    for (unsigned i = 0; i < 3; i++) {
        list[i] = (struct asker){.runner = w.runner[0], .number = i * 5};
        pthread_create(&list[i].thread, NULL, ask_often, &list[i]);
    }
    for (int k = 0; k < 6; k++) {
        struct buf b = {0};
        put_events(&b, 10000 + 500 * k, 500, 100);
        write_file("0.pfw", "a", b.data, b.len);
        offer(ix, "0.pfw");
        buf_done(&b);
        rest();
    }
    for (unsigned i = 0; i < 3; i++)
        pthread_join(list[i].thread, NULL);
    close_far(&w);
    close_ranks();
    world_end();
}

/* ---- a stream that several requests open ----------------------------------------------------- */

enum { OPENERS = 8, ROUNDS = 40 };
static struct buf first; /* the first request for a part of a stream of rank 1 */

static int keep_first(unsigned to, struct text request)
{
    if (to == 1 && *request.ptr == RANK_SCAN && first.len == 0)
        buf_text(&first, request);
    return 0;
}

/* Writes the first request with another number, as for another stream. */
static void put_request(uint64_t number, struct buf *out)
{
    const struct budget unlimited = {0};
    struct rec rec = rec_of((struct text){first.data, first.len});
    struct query_remote remote;
    struct buf message = {0};
    int64_t time_ns;

    buf_putc(out, (char)rec_u(&rec));
    rec_put_u(out, rec_u(&rec)); /* the snapshot */
    CHECK_INT(query_remote_decode(rec_text(&rec), &remote, &time_ns), 0);
    CHECK(remote.part.len > 0);
    remote.number = number;
    query_remote_encode(&remote, &unlimited, true, remote.part, &message);
    rec_put_buf(out, &message);
    buf_done(&message);
}

struct openers {
    struct buf request;
    pthread_barrier_t begin;
};

static void *open_stream(void *arg)
{
    struct openers *o = arg;
    struct buf answer = {0};

    pthread_barrier_wait(&o->begin);
    int rc = index_answer(ranks[1].ix, 0, (struct text){o->request.data, o->request.len}, &answer);
    if (rc != -EBUSY)
        CHECK_INT(rc, 0);
    buf_done(&answer);
    return NULL;
}

static void open_at_once(uint64_t number)
{
    struct openers o = {.request = {0}};
    pthread_t threads[OPENERS];

    put_request(number, &o.request);
    pthread_barrier_init(&o.begin, NULL, OPENERS);
    for (unsigned i = 0; i < OPENERS; i++)
        pthread_create(&threads[i], NULL, open_stream, &o);
    for (unsigned i = 0; i < OPENERS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&o.begin);
    buf_done(&o.request);
}

/* One of them opens it, so nothing is left after it was stopped. */
static void a_stream_is_opened_once(void)
{
    struct far_world w;
    struct buf got = {0};

    world_of_ranks(&w, NULL);
    ask_hook = keep_first;
    CHECK_INT(run(w.runner[0], "/view?format=ndjson&metadata=false", 0, &got), 0);
    ask_hook = NULL;
    CHECK_STOP(first.len > 0);
    for (unsigned k = 0; k < ROUNDS; k++) {
        uint64_t number = query_remote_number();
        open_at_once(number);
        CHECK_INT(index_stop_rank(ranks[0].ix, 1, number), 0);
        wait_letters(&ranks[1]);
    }
    for (struct snapshot *s = ranks[1].ix->oldest; s; s = s->newer)
        CHECK_INT(atomic_load(&s->refs), 1);
    buf_done(&got);
    buf_done(&first);
    end_of_ranks(&w, NULL);
}

static const struct check_test tests[] = {
    {"ranks_answer_what_one_index_answers", ranks_answer_what_one_index_answers},
    {"ranks_may_fail", ranks_may_fail},
    {"streams_are_made_where_the_chunks_are", streams_are_made_where_the_chunks_are},
    {"little_memory", little_memory},
    {"clients_may_leave", clients_may_leave},
    {"a_stream_is_opened_once", a_stream_is_opened_once},
    {"many_at_once", many_at_once},
    {NULL, NULL}};
CHECK_MAIN(tests)
