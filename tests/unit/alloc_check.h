/* alloc_check.h - an operation, once for each of its allocations, which then fails. */
#ifndef DFTRACERD_ALLOC_CHECK_H
#define DFTRACERD_ALLOC_CHECK_H

#include "check.h"
#include "dftracerd/base.h"
#include "failing_malloc.h"

/* After so many failures the answer is asked for again; that it is right after each, builds without
 * a sanitizer see. */
#ifdef __SANITIZE_ADDRESS__
#define ALLOC_SOUND_EVERY 8
#else
#define ALLOC_SOUND_EVERY 1
#endif

/* Writes what it found out. 0 or an error. */
typedef int alloc_operation(void *arg, struct buf *answer);

/* Says where they differ. */
static bool alloc_same(const struct buf *got, const struct buf *want)
{
    size_t i = 0, least = got->len < want->len ? got->len : want->len;

    while (i < least && got->data[i] == want->data[i])
        i++;
    if (i == got->len && i == want->len)
        return true;
    i = i > 40 ? i - 40 : 0;
    printf("    got: %.*s\n    not: %.*s\n", (int)(got->len - i < 100 ? got->len - i : 100),
           got->data + i, (int)(want->len - i < 100 ? want->len - i : 100), want->data + i);
    return false;
}

/* With memory again nothing is left of a failure. */
static bool alloc_sound(alloc_operation *run, void *arg, const struct buf *want)
{
    struct buf got = {0};
    bool sound = CHECK_INT(run(arg, &got), 0) && CHECK(alloc_same(&got, want));

    buf_done(&got);
    return sound;
}

/* Without memory it says so, or does without; and the next time nothing of it is left. */
static void __attribute__((unused)) alloc_check(const char *name, alloc_operation *run, void *arg)
{
    struct buf want = {0}, got = {0};
    unsigned rounds = 0, failed = 0, bad = 0;

    CHECK_INT(run(arg, &want), 0);
    CHECK(want.len > 0);
    for (unsigned n = 0; bad < 5 && failing_malloc_next(n);
         n = failing_malloc_more(n, 48), rounds++) {
        unsigned before = bad;
        int rc = run(arg, &got);

        failing_malloc_stop();
        rc = rc == 0 ? got.error : rc;
        failed += rc < 0;
        if (rc < 0 ? !CHECK_INT(rc, -ENOMEM) : !CHECK(alloc_same(&got, &want)))
            bad++;
        buf_done(&got);
        if (rounds % ALLOC_SOUND_EVERY == 0)
            bad += !alloc_sound(run, arg, &want);
        if (bad > before) {
            printf("    %s, allocation %u: %s\n", name, n, err_text(rc));
            failing_malloc_tell();
        }
    }
    CHECK(alloc_sound(run, arg, &want));
    if (FAILING_MALLOC) {
        printf("%s: %u rounds, %u without an answer\n", name, rounds, failed);
        CHECK(rounds > 1 && failed > 0);
    }
    buf_done(&want);
}

#endif
