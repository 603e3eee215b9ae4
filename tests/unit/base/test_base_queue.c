/* module: base; threads */
/* test_base_queue.c - a queue between threads. */
#include "asleep.h"
#include "check.h"
#include "dftracerd/base.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- queue ----------------------------------------------------------------------------------- */

static void queue_keeps_order(void)
{
    struct queue *q = queue_new(3);
    int items[4];
    void *item = NULL;
    CHECK_STOP(q != NULL);

    CHECK_INT(queue_try_pop(q, &item), -EAGAIN);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 3; i++)
            CHECK_INT(queue_push(q, &items[i]), 0);
        CHECK_INT(queue_try_push(q, &items[3]), -EAGAIN);
        CHECK_INT(queue_length(q), 3);
        CHECK_INT(queue_pop(q, &item), 0);
        CHECK(item == &items[0]);
        CHECK_INT(queue_try_push(q, &items[3]), 0);
        for (int i = 1; i < 4; i++) {
            CHECK_INT(queue_try_pop(q, &item), 0);
            CHECK(item == &items[i]);
        }
    }
    queue_free(q);
    queue_free(NULL);
    CHECK(queue_new(0) == NULL);
    CHECK(queue_new(SIZE_MAX / 2) == NULL);
}

static void closed_queue_drains(void)
{
    struct queue *q = queue_new(2);
    int one;
    void *item = NULL;
    CHECK_STOP(q != NULL);

    CHECK_INT(queue_push(q, &one), 0);
    queue_close(q);
    CHECK_INT(queue_push(q, &one), -EPIPE);
    CHECK_INT(queue_try_push(q, &one), -EPIPE);
    CHECK_INT(queue_pop(q, &item), 0);
    CHECK(item == &one);
    CHECK_INT(queue_pop(q, &item), ERR_END);
    CHECK_INT(queue_try_pop(q, &item), ERR_END);
    queue_close(q);
    queue_free(q);
}

enum { PRODUCERS = 3, CONSUMERS = 3, ITEMS = 5000 };

struct traffic {
    struct queue *q;
    atomic_int producing, consumed;
    atomic_uchar seen[PRODUCERS * ITEMS];
};

static void produce(struct traffic *t, unsigned producer)
{
    for (size_t i = 0; i < ITEMS; i++)
        CHECK_INT(queue_push(t->q, (void *)(producer * ITEMS + i + 1)), 0);
    if (atomic_fetch_sub(&t->producing, 1) == 1)
        queue_close(t->q);
}

static void consume(struct traffic *t)
{
    void *item;
    int rc;

    while ((rc = queue_pop(t->q, &item)) == 0) {
        atomic_fetch_add(&t->seen[(size_t)item - 1], 1);
        atomic_fetch_add(&t->consumed, 1);
    }
    CHECK_INT(rc, ERR_END);
}

static void *traffic_thread(void *arg)
{
    static atomic_uint next;
    struct traffic *t = arg;
    unsigned i = atomic_fetch_add(&next, 1) % (PRODUCERS + CONSUMERS);

    if (i < PRODUCERS)
        produce(t, i);
    else
        consume(t);
    return NULL;
}

static void queue_loses_nothing(void)
{
    struct traffic *t = calloc(1, sizeof(*t));
    pthread_t threads[PRODUCERS + CONSUMERS];
    CHECK_STOP(t && (t->q = queue_new(7)));

    atomic_store(&t->producing, PRODUCERS);
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, traffic_thread, t), 0);
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(atomic_load(&t->consumed), PRODUCERS * ITEMS);
    for (int i = 0; i < PRODUCERS * ITEMS; i++) {
        if (atomic_load(&t->seen[i]) != 1)
            CHECK_INT(i, -1);
    }
    queue_free(t->q);
    free(t);
}

struct producer {
    struct queue *q;
    atomic_int thread, pushed;
};

static void *push_until_closed(void *arg)
{
    struct producer *p = arg;
    int item, rc;

    atomic_store(&p->thread, gettid());
    while ((rc = queue_push(p->q, &item)) == 0)
        atomic_fetch_add(&p->pushed, 1);
    return (void *)(intptr_t)rc;
}

static void close_wakes_producers(void)
{
    struct queue *q = queue_new(1);
    pthread_t thread;
    void *rc;
    CHECK_STOP(q != NULL);

    struct producer p = {.q = q};
    CHECK_INT(pthread_create(&thread, NULL, push_until_closed, &p), 0);
    while (atomic_load(&p.pushed) < 1)
        sleep_ms(1);
    until_asleep(atomic_load(&p.thread));
    queue_close(q);
    pthread_join(thread, &rc);
    CHECK_INT((intptr_t)rc, -EPIPE);
    queue_free(q);
}

static const struct check_test tests[] = {
    {"queue_keeps_order", queue_keeps_order},
    {"closed_queue_drains", closed_queue_drains},
    {"queue_loses_nothing", queue_loses_nothing},
    {"close_wakes_producers", close_wakes_producers},
    {NULL, NULL},
};
CHECK_MAIN(tests)
