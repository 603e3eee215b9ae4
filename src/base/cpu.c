/* cpu.c - the level of vector instructions, and the number of processors. */
#include "dftracerd/base.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {"portable", "avx2"};

/* Checks for all instructions that the flags of the Makefile for *_avx2.c allow. */
static enum cpu_level detect_level(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
        return CPU_AVX2;
#endif
    return CPU_PORTABLE;
}

/* Applies $DFTRACERD_CPU. */
static enum cpu_level lower_level(enum cpu_level best)
{
    const char *wanted = getenv("DFTRACERD_CPU");

    for (int level = CPU_PORTABLE; wanted && level < (int)best; level++) {
        if (strcmp(wanted, level_names[level]) == 0)
            return (enum cpu_level)level;
    }
    return best;
}

enum cpu_level cpu_level(void)
{
    /* level + 1; two threads that both read 0 compute the same value */
    static atomic_int cached;
    int level = atomic_load_explicit(&cached, memory_order_relaxed);

    if (level == 0) {
        level = (int)lower_level(detect_level()) + 1;
        atomic_store_explicit(&cached, level, memory_order_relaxed);
    }
    return (enum cpu_level)(level - 1);
}

const char *cpu_level_name(enum cpu_level level)
{
    return level_names[level];
}

unsigned cpu_count(void)
{
    cpu_set_t sets[16]; /* each is for 1,024 processors; the kernel refuses too small ones */

    if (sched_getaffinity(0, sizeof(sets), sets) == 0)
        return (unsigned)CPU_COUNT_S(sizeof(sets), sets);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}
