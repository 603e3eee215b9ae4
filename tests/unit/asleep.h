/* asleep.h - for tests of threads: waits for a time, and for a thread that waits. */
#ifndef DFTRACERD_ASLEEP_H
#define DFTRACERD_ASLEEP_H

#include "check.h"

#include <time.h>

#pragma GCC diagnostic ignored "-Wunused-function"

static void sleep_ms(int ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

    nanosleep(&t, NULL);
}

/* Waits until a thread of this process waits for something. */
static void until_asleep(int thread)
{
    char path[64], state = 0;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    for (int i = 0; i < 60000 && state != 'S'; i++) {
        FILE *f = fopen(path, "r");
        if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
            state = 0;
        if (f)
            fclose(f);
        if (state != 'S')
            sleep_ms(1);
    }
    CHECK_INT(state, 'S');
}

#endif
