/* main.c - runs the tests of one module.
 *
 *   unit_query                      every file of tests, each in a process of its own
 *   unit_query test_dsl             one file
 *   unit_query test_dsl canonical   one test of it
 *   unit_query --list               the files
 *
 * Exit status: 0 all passed, 1 a test failed or the name is unknown, 77 every test was skipped.
 */
#include "check.h"

#include <errno.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct check_file *files;

void check_register(struct check_file *file)
{
    struct check_file **at = &files;

    while (*at && strcmp((*at)->path, file->path) < 0)
        at = &(*at)->next;
    file->next = *at;
    *at = file;
}

/* "tests/unit/engine/test_dsl.c" is the file test_dsl. */
static bool has_name(const struct check_file *file, const char *name)
{
    const char *slash = strrchr(file->path, '/'), *base = slash ? slash + 1 : file->path;
    size_t len = strlen(name);

    return strncmp(base, name, len) == 0 && strcmp(base + len, ".c") == 0;
}

static bool is_selected(const char *name, char **names)
{
    bool any = names[0] != NULL;

    for (; *names; names++) {
        if (strcmp(*names, name) == 0)
            return true;
    }
    return !any;
}

/* 0 passed, 1 failed, 77 skipped */
static int run_test(const struct check_file *file, const struct check_test *test)
{
    clock_t begin = clock();

    atomic_store(file->failures, 0);
    *file->skipped = NULL;
    test->run();
    if (atomic_load(file->failures) > 0) {
        printf("FAIL %s\n", test->name);
        return 1;
    }
    if (*file->skipped) {
        printf("skip %s: %s\n", test->name, *file->skipped);
        return 77;
    }
    printf("ok %s (cpu %.1f s)\n", test->name, (double)(clock() - begin) / CLOCKS_PER_SEC);
    return 0;
}

static int run_file(const struct check_file *file, char **names)
{
    int passed = 0, failed = 0, skipped = 0;

    if (file->begin && !file->begin()) {
        printf("FAIL %s: what its tests share was not made\n", file->path);
        return 1;
    }
    for (const struct check_test *test = file->tests; test->name; test++) {
        if (!is_selected(test->name, names))
            continue;
        int status =
            CHECK_THREADS_ONLY && test->one_thread && !names[0] ? 77 : run_test(file, test);
        passed += status == 0;
        failed += status == 1;
        skipped += status == 77;
    }
    printf("%d ok, %d failed, %d skipped\n", passed, failed, skipped);
    if (file->end && !file->end())
        return 1;
    if (failed > 0 || passed + skipped == 0)
        return 1;
    return passed > 0 ? 0 : 77;
}

/* A crash, a leak or a variable left behind in one file does not reach the next. */
static int run_alone(const struct check_file *file)
{
    static char *no_names[] = {NULL};
    int status = 0;

    printf("%s\n", file->path);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(run_file(file, no_names));
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int run_all(void)
{
    int failed = 0, passed = 0;

    for (const struct check_file *file = files; file; file = file->next) {
        int status = run_alone(file);
        failed += status != 0 && status != 77;
        passed += status == 0;
    }
    return failed > 0 ? 1 : passed > 0 ? 0 : 77;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* what was printed before a crash is seen */
    if (argc < 2)
        return run_all();
    for (const struct check_file *file = files; file; file = file->next) {
        if (strcmp(argv[1], "--list") == 0)
            puts(file->path);
        else if (has_name(file, argv[1]))
            return run_file(file, argv + 2);
    }
    if (strcmp(argv[1], "--list") == 0)
        return 0;
    printf("there is no file of tests named %s here\n", argv[1]);
    return 1;
}
