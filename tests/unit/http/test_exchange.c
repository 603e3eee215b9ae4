/* module: http; alone, threads */
/* Streams that wait, and the work side of a request, without sockets: this file is the server. */
#include "check.h"
#include "failing_malloc.h"
#include "http/exchange/exchanges.h"
#include "http/exchange/readiness.h"
#include "http/exchange/work.h"
#include "index/catalog/store_error.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

/* ---- the server and an endpoint -------------------------------------------------------------- */

static atomic_int resumed;

static void suspend(void *connection)
{
    (void)connection;
}

static void resume(void *connection)
{
    (void)connection;
    atomic_fetch_add(&resumed, 1);
}

static atomic_int ready, judged;

bool readiness_check(struct exchange *x)
{
    (void)x;
    atomic_fetch_add(&judged, 1);
    return atomic_load(&ready);
}

void readiness_request_files(struct exchange *x)
{
    (void)x;
}

static const struct transport transport = {.suspend = suspend, .resume = resume};
static struct exchanges exchanges = {.transport = &transport};

/* Each call of next() writes its number and waits; the end is "end". */
static atomic_int calls;
static int64_t next_wait_ms;
static bool changes_meanwhile;

static int open_nothing(struct request *rq)
{
    (void)rq;
    return 0;
}

static int next_waits(struct request *rq, struct buf *out)
{
    if (rq->ending) {
        buf_puts(out, "end\n");
        return NEXT_WAIT; /* it ends all the same */
    }
    buf_printf(out, "%d\n", atomic_fetch_add(&calls, 1) + 1);
    if (changes_meanwhile)
        atomic_fetch_add(&exchanges.changes, 1);
    changes_meanwhile = false;
    rq->wait_ms = next_wait_ms;
    return NEXT_WAIT;
}

static const struct param_spec *const no_params[] = {NULL};
static const struct endpoint waits = {.path = "/waits",
                                      .summary = "waits",
                                      .methods = METHOD_GET,
                                      .params = no_params,
                                      .open = open_nothing,
                                      .next = next_waits};
static struct http_options options = {.limits = {.query_time_ms = 300000}, .version = "1"};
static struct http_context context = {.options = &options, .exchanges = &exchanges};
static struct site site;

/* ---- one stream ------------------------------------------------------------------------------ */

static bool working(struct exchange *x)
{
    pthread_mutex_lock(&x->lock);
    bool job = x->job;
    pthread_mutex_unlock(&x->lock);
    return job;
}

static void until_quiet(struct exchange *x)
{
    while (working(x))
        usleep(200);
}

/* Does what exchanges_start() does; a request that is to be parked is suspended. */
static void start(struct exchange *x, bool park)
{
    pthread_mutex_lock(&x->lock);
    pool_job *job = exchange_start(x, park);
    if (park)
        exchange_suspend(x);
    pthread_mutex_unlock(&x->lock);
    CHECK(job != NULL);
    exchange_submit(x, job);
}

static struct exchange *begin(enum coding coding)
{
    struct exchange *x = exchange_new(NULL, "/waits");
    if (!x)
        abort();
    x->rq.http = &context;
    x->site = &site;
    x->connection = x;
    x->rq.endpoint = &waits;
    x->rq.format = FORMAT_NDJSON;
    x->coding = coding;
    x->seen_changes = atomic_load(&exchanges.changes); /* as exchange_pin() does */
    atomic_store(&calls, 0);
    next_wait_ms = 0;
    start(x, false);
    until_quiet(x);
    CHECK_INT(x->phase, EXCHANGE_READY);
    return x;
}

/* Does what response_answer() does. */
static struct exchange *begin_streaming(enum coding coding)
{
    struct exchange *x = begin(coding);
    x->phase = EXCHANGE_STREAMING;
    return x;
}

static void check_reads(struct exchange *x, const char *wanted)
{
    char got[100] = "";
    ssize_t n = exchange_read(x, got, sizeof got - 1);
    CHECK_INT(n, (ssize_t)strlen(wanted));
    CHECK_STR(got, wanted);
}

/* Checks that the stream is suspended, and no worker is held. */
static void check_is_idle(struct exchange *x)
{
    char one[100];
    CHECK_INT(exchange_read(x, one, sizeof one), 0);
    CHECK(x->suspended && x->output == OUTPUT_WAITING && !x->job);
}

static void wake(struct exchange *x, int64_t gap_ns)
{
    exchange_wake(x, clock_mono_ns(), gap_ns);
    until_quiet(x);
}

static void recheck(struct exchange *x, int64_t age_ns)
{
    /* the time that a check takes depends on the machine, and so would the pause after it */
    x->check_ns = 0;
    exchange_recheck(x, x->stepped_ns + age_ns, 1000);
    until_quiet(x);
}

static void end(struct exchange *x)
{
    exchange_cancel(x, ERR_CANCELLED, true);
    until_quiet(x);
    exchange_unref(x);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void waits_for_changes(void)
{
    struct exchange *x = begin_streaming(CODING_IDENTITY);
    check_reads(x, "1\n");
    check_is_idle(x);
    wake(x, 0);
    CHECK_INT(atomic_load(&calls), 1); /* nothing has changed */
    atomic_fetch_add(&exchanges.changes, 1);
    wake(x, 3600 * 1000000000ll);
    CHECK_INT(atomic_load(&calls), 1); /* too soon after the last step */
    int before = atomic_load(&resumed);
    wake(x, 0);
    CHECK_INT(atomic_load(&resumed), before + 1);
    check_reads(x, "2\n");
    check_is_idle(x);
    end(x);
}

static void loses_no_change(void)
{
    changes_meanwhile = true; /* while next() runs, which may have read the index already */
    struct exchange *x = begin_streaming(CODING_IDENTITY);
    wake(x, 0);
    check_reads(x, "1\n2\n");
    wake(x, 0);
    check_is_idle(x);
    end(x);
}

static void waits_for_time(void)
{
    struct exchange *x = begin_streaming(CODING_IDENTITY);
    int64_t now = clock_mono_ns();
    check_reads(x, "1\n");
    x->wake_ns = now + 1000;
    exchange_wake(x, now, 0);
    until_quiet(x);
    check_is_idle(x);
    exchange_wake(x, now + 1000, 0);
    until_quiet(x);
    check_reads(x, "2\n");
    end(x);
    next_wait_ms = 7;
    x = begin_streaming(CODING_IDENTITY);
    CHECK(x->wake_ns == 0); /* begin() says 0 */
    next_wait_ms = 7;
    atomic_fetch_add(&exchanges.changes, 1);
    wake(x, 0);
    CHECK(x->wake_ns >= x->stepped_ns + 7000000);
    end(x);
}

/* The headers may not be complete yet. */
static void not_before_it_streams(void)
{
    struct exchange *x = begin(CODING_IDENTITY);
    atomic_fetch_add(&exchanges.changes, 1);
    wake(x, 0);
    CHECK_INT(atomic_load(&calls), 1);
    x->phase = EXCHANGE_STREAMING;
    wake(x, 0);
    CHECK_INT(atomic_load(&calls), 2);
    end(x);
}

/* The limit of work is shorter than the wait, and the client's own timeout ends it properly. */
static void limits_of_time(void)
{
    char none[10];
    options.limits.query_time_ms = 60000;
    struct exchange *x = begin_streaming(CODING_IDENTITY);
    exchange_set_deadline(x);
    x->rq.budget.deadline_ns = clock_mono_ns(); /* that of the first answer has passed */
    atomic_fetch_add(&exchanges.changes, 1);
    wake(x, 0);
    check_reads(x, "1\n2\n");
    options.limits.query_time_ms = 300000;
    x->until_ns = clock_mono_ns();
    wake(x, 3600 * 1000000000ll);
    check_reads(x, "end\n");
    CHECK_INT(exchange_read(x, none, sizeof none), -1);
    exchange_unref(x);
}

static void stops_and_leaves(void)
{
    char got[300] = "";
    struct exchange *x = begin_streaming(CODING_IDENTITY);
    check_reads(x, "1\n");
    check_is_idle(x);
    int before = atomic_load(&resumed);
    exchange_cancel(x, ERR_CANCELLED, false);
    wake(x, 3600 * 1000000000ll);
    CHECK_INT(atomic_load(&resumed), before + 1);
    CHECK(exchange_read(x, got, sizeof got - 1) > 0);
    CHECK(strstr(got, "{\"error\":") == got);
    CHECK_INT(exchange_read(x, got, sizeof got), -2);
    exchange_unref(x);

    x = begin_streaming(CODING_IDENTITY);
    check_reads(x, "1\n");
    check_is_idle(x);
    exchange_cancel(x, ERR_CANCELLED, true);
    CHECK(!x->suspended);
    CHECK_INT(exchange_read(x, got, sizeof got), -2);
    CHECK_INT(atomic_load(&calls), 1);
    exchange_unref(x);
}

static void flushes_the_coding(void)
{
    char coded[300], plain[100] = "";
    z_stream z = {0};
    struct exchange *x = begin_streaming(CODING_GZIP);
    ssize_t n = exchange_read(x, coded, sizeof coded);
    CHECK(n > 0);
    CHECK_INT(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_in = (Bytef *)coded;
    z.avail_in = (uInt)n;
    z.next_out = (Bytef *)plain;
    z.avail_out = sizeof plain - 1;
    CHECK_INT(inflate(&z, Z_SYNC_FLUSH), Z_OK);
    CHECK_STR(plain, "1\n");
    inflateEnd(&z);
    end(x);
}

static struct exchange *trimmed;

/* The index changes meanwhile, and then there is no memory for the next step. */
static void trim_without_memory(struct request *rq)
{
    (void)rq;
    exchange_wake(trimmed, clock_mono_ns(), 0);
    failing_malloc_next(0);
}

static void ends_without_memory(void)
{
    static const struct endpoint trims = {.path = "/waits",
                                          .summary = "waits",
                                          .methods = METHOD_GET,
                                          .params = no_params,
                                          .open = open_nothing,
                                          .next = next_waits,
                                          .trim = trim_without_memory};
    char none[10];
    if (!FAILING_MALLOC)
        return;
    struct exchange *x = trimmed = begin_streaming(CODING_IDENTITY);
    x->rq.endpoint = &trims;
    check_reads(x, "1\n");
    check_is_idle(x);
    atomic_fetch_add(&exchanges.changes, 1);
    int before = atomic_load(&resumed);
    CHECK(exchange_trim(x, x->stepped_ns + 3600 * 1000000000ll));
    until_quiet(x);
    failing_malloc_stop();
    CHECK_INT(atomic_load(&resumed), before + 1);
    CHECK_INT(exchange_read(x, none, sizeof none), -2);
    exchange_unref(x);
}

static struct exchange *begin_parked(void)
{
    struct exchange *x = exchange_new(NULL, "/waits");
    if (!x)
        abort();
    x->rq.http = &context;
    x->site = &site;
    x->connection = x;
    x->rq.endpoint = &waits;
    atomic_store(&calls, 0);
    atomic_store(&judged, 0);
    atomic_store(&ready, false);
    start(x, true);
    until_quiet(x);
    CHECK(x->phase == EXCHANGE_PARKED && !x->rq.snapshot && x->suspended);
    return x;
}

/* Checked, not ready: no snapshot, no worker. Checked again after changes, but not too often. */
static void parks(void)
{
    struct exchange *x = begin_parked();
    recheck(x, 1000);
    CHECK_INT(atomic_load(&judged), 1);
    atomic_fetch_add(&exchanges.changes, 1);
    recheck(x, 999);
    CHECK_INT(atomic_load(&judged), 1);
    recheck(x, 1000);
    CHECK_INT(atomic_load(&judged), 2);
    CHECK(x->phase == EXCHANGE_PARKED && x->suspended);
    atomic_store(&ready, true);
    recheck(x, 2000000000); /* without a change: in case a notification was missed */
    CHECK(x->phase == EXCHANGE_READY && x->rq.snapshot && !x->suspended);
    CHECK_INT(atomic_load(&calls), 1);
    end(x);
}

/* It fails with the index only if its own files are not ready. */
static void parks_while_indexing_stops(void)
{
    for (int k = 0; k < 2; k++) {
        struct exchange *x = begin_parked();
        atomic_store(&ready, k);
        index_set_store_error(options.index, -EIO);
        atomic_fetch_add(&exchanges.changes, 1);
        recheck(x, 1000);
        CHECK_INT(atomic_load(&judged), 2);
        CHECK_INT(x->phase, EXCHANGE_READY);
        CHECK_INT(x->error, k ? 0 : -EIO);
        CHECK_INT(atomic_load(&calls), k);
        index_set_store_error(options.index, 0);
        end(x);
    }
}

/* ---- work before the first byte -------------------------------------------------------------- */

/* Each call takes a turn, and records its deadline. */
static int64_t until_ns[4];
static int cancel_at;

static int next_works(struct request *rq, struct buf *out)
{
    int n = atomic_fetch_add(&calls, 1);
    until_ns[n] = rq->budget.deadline_ns;
    if (cancel_at && n + 1 == cancel_at)
        budget_cancel(&rq->budget, ERR_CANCELLED);
    if (n < 3) {
        usleep(101000); /* longer than a turn, or the next call belongs to the same one */
        return NEXT_TURN;
    }
    buf_puts(out, "made\n");
    return ERR_END;
}

static struct exchange *begin_work(int64_t own_ns)
{
    static const struct endpoint works = {.path = "/works",
                                          .summary = "works",
                                          .methods = METHOD_GET,
                                          .params = no_params,
                                          .open = open_nothing,
                                          .next = next_works};
    struct exchange *x = exchange_new(NULL, "/works");
    if (!x)
        abort();
    x->rq.http = &context;
    x->site = &site;
    x->connection = x;
    x->rq.endpoint = &works;
    x->until_ns = own_ns ? clock_mono_ns() + own_ns : 0;
    atomic_store(&calls, 0);
    exchange_set_deadline(x);
    start(x, false);
    until_quiet(x);
    CHECK_INT(x->phase, EXCHANGE_READY);
    return x;
}

/* The daemon's limit is for each turn, the client's own for all of them. */
static void works_in_turns(void)
{
    char none[10];
    struct exchange *x = begin_work(0);
    for (int i = 1; i < 4; i++)
        CHECK(until_ns[i] >= until_ns[i - 1] + 101000000);
    check_reads(x, "made\n");
    CHECK_INT(exchange_read(x, none, sizeof none), -1);
    exchange_unref(x);
    x = begin_work(200 * 1000000000ll);
    CHECK_INT(atomic_load(&calls), 4);
    CHECK_INT(until_ns[3], x->until_ns);
    exchange_unref(x);
}

static void stops_between_turns(void)
{
    cancel_at = 2;
    struct exchange *x = begin_work(0);
    CHECK_INT(atomic_load(&calls), 2);
    CHECK_INT(x->output, OUTPUT_ENDED);
    CHECK_INT(x->error, ERR_CANCELLED);
    exchange_unref(x);
    cancel_at = 0;
}

static const struct check_test tests[] = {
    {"waits_for_changes", waits_for_changes},
    {"loses_no_change", loses_no_change},
    {"waits_for_time", waits_for_time},
    {"not_before_it_streams", not_before_it_streams},
    {"limits_of_time", limits_of_time},
    {"stops_and_leaves", stops_and_leaves},
    {"flushes_the_coding", flushes_the_coding},
    {"ends_without_memory", ends_without_memory},
    {"parks", parks},
    {"parks_while_indexing_stops", parks_while_indexing_stops},
    {"works_in_turns", works_in_turns},
    {"stops_between_turns", stops_between_turns},
    {NULL, NULL},
};

static char place[] = "/tmp/test_exchange.XXXXXX";

static bool start_workers(void)
{
    struct index_options small = {.path = mkdtemp(place), .workers = 1};
    struct err err = {0};

    return small.path && index_open(&small, &err, &options.index) >= 0 &&
           pool_new(2, "test", &context.env.pool) >= 0;
}

static bool stop_workers(void)
{
    char command[64];

    pool_free(context.env.pool);
    index_close(options.index);
    snprintf(command, sizeof command, "rm -rf %s", place);
    return system(command) == 0;
}

CHECK_MAIN_BETWEEN(tests, start_workers, stop_workers)
