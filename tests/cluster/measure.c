/* measure.c - times of the transport, printed by rank 0. Between rank 0 and the last one; the ranks
 * between them are idle. */
#include "exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IDLE_MS 1000
#define TRIPS 2000
#define IDLE_TRIPS 30
#define LARGE (100 * MIB)

static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void sleep_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000l}, NULL);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t trip_ns(struct cluster *c, size_t question, size_t size)
{
    struct buf packet = {0}, answer = {0};
    struct text bytes = packet_of(&packet, (struct head){.number = size, .size = question});

    int64_t begin = clock_mono_ns();
    expect(cluster_request(c, cluster_size(c) - 1, bytes, &answer) == 0, "a round trip");
    int64_t took = clock_mono_ns() - begin;
    expect(answer.len == size, "its answer");
    buf_done(&packet);
    buf_done(&answer);
    return took;
}

static void print_trips(struct cluster *c, const char *name, unsigned count, int pause_ms)
{
    int64_t *times = calloc(count, sizeof(*times));

    for (unsigned i = 0; i < count; i++) {
        if (pause_ms)
            sleep_ms(pause_ms);
        times[i] = trip_ns(c, 100, 100);
    }
    qsort(times, count, sizeof(*times), by_value);
    printf("%s round trips, us: median %.0f, 95 %% below %.0f, longest %.0f\n", name,
           (double)times[count / 2] / 1e3, (double)times[count * 95 / 100] / 1e3,
           (double)times[count - 1] / 1e3);
    free(times);
}

static void print_large(struct cluster *c)
{
    int64_t cpu = cpu_ns(), took = trip_ns(c, 0, LARGE);

    printf("answer of 100 MiB, made and sent, ms: %.0f, processor time here %.0f\n",
           (double)took / 1e6, (double)(cpu_ns() - cpu) / 1e6);
}

void measure(struct cluster *c)
{
    sleep_ms(IDLE_MS / 2); /* all have started */
    int64_t cpu = cpu_ns(), begin = clock_mono_ns();
    sleep_ms(IDLE_MS);
    double idle = 100.0 * (double)(cpu_ns() - cpu) / (double)(clock_mono_ns() - begin);
    printf("rank %u idle, %% of a processor: %.2f\n", cluster_rank(c), idle);
    if (cluster_rank(c) == 0) {
        print_trips(c, "idle", IDLE_TRIPS, 20);
        print_trips(c, "busy", TRIPS, 0);
        print_large(c);
        print_large(c);
    }
}
