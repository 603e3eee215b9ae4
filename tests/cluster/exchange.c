/* exchange.c - the ranks of a job send each other random messages and requests, and check what they
 * receive.
 *
 *   cluster_exchange exchange [LARGE-MIB] [ROUNDS]   all of it, large packets too
 *   cluster_exchange measure                         round trips, transfers, idle processor time
 *   cluster_exchange bystander                       rank 0 leaves without having started
 *   cluster_exchange abort                           the last rank ends the job
 *   cluster_exchange wait                            until it is killed
 *
 * Exit status 0 if all was as expected. */
#include "exchange.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 3u
#define HELD 20u /* requests, more than threads that answer */

static struct {
    struct cluster *cluster;
    unsigned rank, size, rounds;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Of each rank and thread: the number of the last message, and whether it was the last one.
     * Written by the thread for messages, read when the cluster has been left. */
    uint64_t (*numbers)[THREADS];
    bool (*ended)[THREADS];
    unsigned held;
    bool all_held, released;
} test = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- handlers -------------------------------------------------------------------------------- */

static void set_flag(bool *flag)
{
    pthread_mutex_lock(&test.lock);
    *flag = true;
    pthread_cond_broadcast(&test.changed);
    pthread_mutex_unlock(&test.lock);
}

static void wait_for(const bool *flag)
{
    pthread_mutex_lock(&test.lock);
    while (!*flag)
        pthread_cond_wait(&test.changed, &test.lock);
    pthread_mutex_unlock(&test.lock);
}

/* The threads of cluster that handle requests. */
static unsigned request_threads(void)
{
    return cpu_count() < 2 ? 2 : cpu_count() > 8 ? 8 : cpu_count();
}

/* Rank 0 is sent a message when all threads are here. */
static void hold(void)
{
    struct buf packet = {0};

    pthread_mutex_lock(&test.lock);
    bool all = ++test.held == request_threads();
    pthread_mutex_unlock(&test.lock);
    if (all)
        cluster_send(test.cluster, 0, packet_of(&packet, (struct head){.order = ORDER_HELD}));
    wait_for(&test.released);
    buf_done(&packet);
}

static void on_message(void *arg, unsigned from, struct text bytes)
{
    struct head head;

    expect(arg == &test, "the argument of the handler");
    if (!read_packet(bytes, &head)) {
        expect(false, "a message of %zu bytes from rank %u differs", bytes.len, from);
        return;
    }
    if (head.order == ORDER_HELD || head.order == ORDER_RELEASE) {
        set_flag(head.order == ORDER_HELD ? &test.all_held : &test.released);
        return;
    }
    uint64_t *last = &test.numbers[from][head.thread];
    expect(head.number == *last + 1, "message %llu of rank %u came after %llu",
           (unsigned long long)head.number, from, (unsigned long long)*last);
    expect(!test.ended[from][head.thread], "a message after the last one");
    *last = head.number;
    test.ended[from][head.thread] = head.order == ORDER_LAST;
}

static int on_request(void *arg, unsigned from, struct text bytes, struct buf *answer)
{
    struct head head;

    expect(arg == &test, "the argument of the handler");
    expect(answer->len == 0, "the answer is empty at first");
    if (!read_packet(bytes, &head)) {
        expect(false, "a request of %zu bytes from rank %u differs", bytes.len, from);
        return -EIO;
    }
    if (head.order == ORDER_HOLD)
        hold();
    fill_bytes(answer, head.seed + from, head.number); /* what an error leaves is not sent */
    return head.status;
}

static const struct cluster_handler handler = {on_message, on_request, &test};

/* ---- senders --------------------------------------------------------------------------------- */

static void send_message(unsigned to, struct buf *packet, struct head head)
{
    int rc = cluster_send(test.cluster, to, packet_of(packet, head));

    expect(rc == 0, "cluster_send: %s", err_text(rc));
}

/* Requests `size` bytes; `status` is what the handler returns. */
static void request_bytes(unsigned to, struct buf *packet, struct head head, size_t size)
{
    struct buf answer = {0};
    size_t before = head.seed % 2 ? 0 : 3; /* the answer is appended */

    head.number = size;
    buf_append(&answer, "abc", before);
    int rc = cluster_request(test.cluster, to, packet_of(packet, head), &answer);
    expect(rc == head.status, "cluster_request: %d, not %d", rc, head.status);
    struct text rest = {answer.data + before, answer.len - before};
    expect(before == 0 || memcmp(answer.data, "abc", before) == 0, "what the buffer had");
    expect(rc ? rest.len == 0 : has_bytes(rest, head.seed + test.rank, size),
           "the answer of %zu bytes of rank %u", size, to);
    buf_done(&answer);
}

/* One request of all others. */
struct wanted {
    struct head head;
    unsigned left; /* of the MPI thread */
    bool *seen;    /* by rank */
    bool all;
};

static void on_answer(void *arg, unsigned from, int rc, struct buf *answer)
{
    struct wanted *w = arg;
    struct text text = {answer->data, answer->len};

    expect(!w->seen[from], "a second answer of rank %u", from);
    w->seen[from] = true;
    expect(rc == w->head.status, "cluster_request_all: %d, not %d", rc, w->head.status);
    expect(rc ? text.len == 0 : has_bytes(text, w->head.seed + test.rank, w->head.number),
           "one of the answers to all, of rank %u", from);
    if (--w->left == 0)
        set_flag(&w->all);
}

static void request_all(struct buf *packet, struct head head, size_t size)
{
    unsigned to[64], count = 0;
    bool seen[64] = {false};
    struct wanted w = {.head = head, .seen = seen};
    struct buf request = {0};

    w.head.number = size;
    for (unsigned i = 0; i < test.size && i < 64; i++)
        if (i != test.rank)
            to[count++] = i;
    if (count == 0)
        return;
    w.left = count;
    buf_text(&request, packet_of(packet, w.head));
    int rc = cluster_request_all(test.cluster, to, count, &request, on_answer, &w);
    expect(rc == 0 && !request.data, "cluster_request_all: %s", err_text(rc));
    if (rc == 0)
        wait_for(&w.all);
}

static void *exchange_thread(void *arg)
{
    unsigned thread = (unsigned)(uintptr_t)arg;
    uint64_t state = test.rank * 1000 + thread, *numbers = calloc(test.size, sizeof(*numbers));
    struct buf packet = {0};

    for (unsigned i = 0; i < test.rounds; i++) {
        unsigned to = random_next(&state) % test.size;
        struct head head = {.seed = random_next(&state), .size = random_size(&state)};
        head.thread = thread;
        if (random_next(&state) % 2) {
            head.number = ++numbers[to];
            send_message(to, &packet, head);
            continue;
        }
        head.status = random_next(&state) % 8 ? 0 : -ENOENT;
        size_t size = random_size(&state);
        if (random_next(&state) % 4 || size > (1u << 20) / test.size)
            request_bytes(to, &packet, head, size);
        else
            request_all(&packet, head, size);
    }
    for (unsigned to = 0; to < test.size; to++)
        send_message(
            to, &packet,
            (struct head){.number = numbers[to] + 1, .thread = thread, .order = ORDER_LAST});
    free(numbers);
    buf_done(&packet);
    return NULL;
}

static void run_threads(unsigned count, void *(*run)(void *))
{
    pthread_t threads[HELD];

    for (unsigned i = 0; i < count; i++)
        expect(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i) == 0, "a thread");
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* Between the first rank and the last one, which may be the same. */
static void exchange_large(size_t size)
{
    unsigned last = test.size - 1;
    struct buf packet = {0};

    if (test.rank == 0 && size)
        request_bytes(last, &packet, (struct head){.seed = 5, .size = 10}, size);
    if (test.rank == last && size)
        request_bytes(0, &packet, (struct head){.seed = 7, .size = size}, 10);
    buf_done(&packet);
}

/* ---- requests that wait ---------------------------------------------------------------------- */

static void *hold_thread(void *arg)
{
    struct buf packet = {0};
    struct head head = {.seed = (uintptr_t)arg, .order = ORDER_HOLD};

    request_bytes(test.size - 1, &packet, head, 1000);
    buf_done(&packet);
    return NULL;
}

/* While all threads of the last rank wait for it, a message still arrives. */
static void *release_thread(void *arg)
{
    struct buf packet = {0};

    wait_for(&test.all_held);
    send_message(test.size - 1, &packet, (struct head){.order = ORDER_RELEASE});
    buf_done(&packet);
    return arg;
}

static void exchange_held(void)
{
    pthread_t releaser;

    if (test.rank == 0) {
        pthread_create(&releaser, NULL, release_thread, NULL);
        run_threads(HELD, hold_thread);
        pthread_join(releaser, NULL);
    }
    if (test.rank == test.size - 1) /* it cannot send once it is leaving */
        wait_for(&test.released);
}

/* ---- programs -------------------------------------------------------------------------------- */

static void start(void)
{
    struct err err = {0};
    int rc = cluster_start(test.cluster, &handler, &err);

    if (rc < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

static void check_ended(void)
{
    for (unsigned from = 0; from < test.size; from++) {
        for (unsigned thread = 0; thread < THREADS; thread++)
            expect(test.ended[from][thread], "the last message of rank %u, thread %u", from,
                   thread);
    }
}

static void exchange(size_t large)
{
    start();
    exchange_large(large);
    exchange_held();
    run_threads(THREADS, exchange_thread);
    cluster_leave(test.cluster); /* at once: all that was sent arrives all the same */
    check_ended();
}

static void bystander(void)
{
    struct buf answer = {0};

    if (test.rank != 0) {
        start();
        expect(cluster_send(test.cluster, 0, TEXT("ignored")) == 0, "a message to the bystander");
        expect(cluster_request(test.cluster, 0, TEXT("?"), &answer) == -EPIPE, "a request to it");
        expect(answer.len == 0, "no answer");
    } else {
        expect(cluster_request(test.cluster, 0, TEXT("?"), &answer) == -EPIPE,
               "a request to itself");
    }
    cluster_leave(test.cluster);
}

static void abort_last(bool aborts)
{
    start();
    if (aborts && test.rank == test.size - 1)
        cluster_abort(test.cluster, "there is no more coffee");
    for (;;)
        pause();
}

static void run(const char *name, size_t large)
{
    if (strcmp(name, "exchange") == 0) {
        exchange(large);
    } else if (strcmp(name, "measure") == 0) {
        start();
        measure(test.cluster);
        cluster_leave(test.cluster);
    } else if (strcmp(name, "bystander") == 0) {
        bystander();
    } else if (strcmp(name, "abort") == 0 || strcmp(name, "wait") == 0) {
        abort_last(name[0] == 'a');
    } else {
        expect(false, "there is no %s", name);
        cluster_leave(test.cluster);
    }
}

#ifdef __SANITIZE_ADDRESS__
/* Leaks of the MPI library are recognised by the names of its plugins, which must stay loaded. */
int dlclose(void *handle);
int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
#endif

int main(int argc, char **argv)
{
    struct err err = {0};

    if (cluster_join(&argc, &argv, &err, &test.cluster) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    test.rank = cluster_rank(test.cluster);
    test.size = cluster_size(test.cluster);
    test.rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 300;
    test.numbers = calloc(test.size, sizeof(*test.numbers));
    test.ended = calloc(test.size, sizeof(*test.ended));
    printf("rank %u of %u on %s\n", test.rank, test.size, cluster_host(test.cluster, test.rank));
    fflush(stdout);
    run(argc > 1 ? argv[1] : "exchange", argc > 2 ? strtoul(argv[2], NULL, 10) * MIB : 0);
    free(test.numbers);
    free(test.ended);
    return expect_failures() ? 1 : 0;
}
