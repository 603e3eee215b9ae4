/* check.h - assertions for unit tests, and how a file of tests joins the program of its module.
 *
 *   static void adds(void) { CHECK_INT(1 + 1, 2); }
 *   static const struct check_test tests[] = {{"adds", adds}, {NULL, NULL}};
 *   CHECK_MAIN(tests)
 *
 * main.c runs the tests. A failed CHECK is reported and the test continues; CHECK_STOP (in a test
 * function itself) returns from it. check_skip marks the running test as skipped.
 */
#ifndef DFTRACERD_CHECK_H
#define DFTRACERD_CHECK_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_THREAD__
enum { CHECK_THREADS_ONLY = 1 }; /* it takes a minute for what takes a second otherwise */
#else
enum { CHECK_THREADS_ONLY = 0 };
#endif

/* `make check-all`: nothing is left out. */
static bool __attribute__((unused)) check_everything(void)
{
    return getenv("DFTRACERD_CHECK_ALL") != NULL;
}

/* How many of `all` similar cases to run: `some` in `make check`, of these a quarter under
 * ThreadSanitizer. */
static unsigned __attribute__((unused)) check_count(unsigned all, unsigned some)
{
    unsigned count = check_everything() ? all : some;

    return CHECK_THREADS_ONLY && count > 4 ? count / 4 : count;
}

/* The step of a loop over `all` similar cases that runs check_count() of them. */
static unsigned __attribute__((unused)) check_step(unsigned all, unsigned some)
{
    return all / check_count(all, some);
}

struct check_test {
    const char *name;
    void (*run)(void);
    bool one_thread; /* it starts none: ThreadSanitizer is not shown it */
};

static atomic_int check_failures; /* of the running test; threads may check too */
static const char *check_skipped; /* reason, set by check_skip */

static void __attribute__((unused, format(printf, 3, 4)))
check_fail(const char *file, int line, const char *fmt, ...)
{
    va_list args;

    flockfile(stdout);
    printf("%s:%d: ", file, line);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
    funlockfile(stdout);
    atomic_fetch_add(&check_failures, 1);
}

/* Whether to read a folder of real traces: those in GOLDEN_FOLDERS, or all in `make check-all`, or
 * the two that golden/test_real takes in `make check`: one of whole files and one of a few lines of
 * every kind. */
static bool __attribute__((unused)) check_folder(const char *name)
{
    const char *chosen = getenv("GOLDEN_FOLDERS");
    const char *at = chosen && *chosen ? chosen : "dlio-8ranks-v1.0.8 excerpts";
    size_t len = strlen(name);

    if (check_everything() && !(chosen && *chosen))
        return name[0] != '.';
    while ((at = strstr(at, name)) && at[len] != ' ' && at[len])
        at += len;
    return name[0] != '.' && at;
}

static bool __attribute__((unused))
check_str(const char *file, int line, const char *what, const char *got, const char *want)
{
    if (got == want || (got && want && strcmp(got, want) == 0))
        return true;
    check_fail(file, line, "%s is \"%s\", not \"%s\"", what, got ? got : "(null)",
               want ? want : "(null)");
    return false;
}

static bool __attribute__((unused))
check_mem(const char *file, int line, const char *what, const void *got, size_t got_len,
          const void *want, size_t want_len)
{
    if (got_len == want_len && (got_len == 0 || memcmp(got, want, got_len) == 0))
        return true;
    check_fail(file, line, "%s is \"%.*s\" (%zu bytes), not \"%.*s\" (%zu bytes)", what,
               (int)got_len, got ? (const char *)got : "", got_len, (int)want_len,
               want ? (const char *)want : "", want_len);
    return false;
}

static bool __attribute__((unused))
check_int(const char *file, int line, const char *what, intmax_t got, intmax_t want)
{
    if (got == want)
        return true;
    check_fail(file, line, "%s is %" PRIdMAX ", not %" PRIdMAX, what, got, want);
    return false;
}

static bool __attribute__((unused))
check_near(const char *file, int line, const char *what, double got, double want, double relative)
{
    double gap = got > want ? got - want : want - got;
    double size = want < 0 ? -want : want;

    if (gap <= relative * (size > 1e-300 ? size : 1) || got == want)
        return true;
    check_fail(file, line, "%s is %.17g, not near %.17g", what, got, want);
    return false;
}

/* Each is an expression: true when it held. */
#define CHECK(cond) ((cond) ? true : (check_fail(__FILE__, __LINE__, "not so: %s", #cond), false))
#define CHECK_INT(got, want) check_int(__FILE__, __LINE__, #got, (intmax_t)(got), (intmax_t)(want))
#define CHECK_STR(got, want) check_str(__FILE__, __LINE__, #got, (got), (want))
#define CHECK_MEM(got, got_len, want, want_len) \
    check_mem(__FILE__, __LINE__, #got, (got), (got_len), (want), (want_len))
/* `got` is a struct text (any struct with ptr and len); `want` a C string. */
#define CHECK_TEXT(got, want) \
    check_mem(__FILE__, __LINE__, #got, (got).ptr, (got).len, (want), strlen(want))
#define CHECK_NEAR(got, want, relative) \
    check_near(__FILE__, __LINE__, #got, (got), (want), (relative))
#define CHECK_STOP(cond) \
    do { \
        if (!CHECK(cond)) \
            return; \
    } while (0)

/* Marks the running test as skipped; return from it after that. */
static void __attribute__((unused)) check_skip(const char *why)
{
    check_skipped = why;
}

/* The tests of one file, in the program of its module. */
struct check_file {
    const char *path;
    const struct check_test *tests;
    /* before the first test and after the last, or NULL; false: failed */
    bool (*begin)(void), (*end)(void);
    atomic_int *failures;
    const char **skipped;
    struct check_file *next;
};

void check_register(struct check_file *file); /* in main.c */

#define CHECK_MAIN(list) CHECK_MAIN_BETWEEN(list, NULL, NULL)
#define CHECK_MAIN_BETWEEN(list, first, last) \
    static void __attribute__((constructor)) check_register_file(void) \
    { \
        static struct check_file file = {.path = __FILE__, \
                                         .tests = list, \
                                         .begin = first, \
                                         .end = last, \
                                         .failures = &check_failures, \
                                         .skipped = &check_skipped}; \
        check_register(&file); \
    }

#endif
