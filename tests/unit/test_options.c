/* room: daemon */
#include "check.h"
#include "../../src/daemon/options.h"

#include <getopt.h>

static struct options got;
static struct err err;

/* Up to eight words after the program's name. */
static int parse(const char *const *words)
{
    char *argv[10] = {(char *)"dftracerd"};
    int argc = 1;
    while (words[argc - 1]) {
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
        argc++;
    }
    optind = 0;
    err_done(&err);
    return options_parse(&got, argc, argv, &err);
}
#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static void has_defaults(void)
{
    CHECK_INT(parse((const char *const[]){NULL}), 0);
    CHECK_INT(got.directory.count, 1);
    CHECK_STR(got.directory.items[0], ".");
    CHECK_INT(got.port, 8080);
    CHECK_INT(got.rescan_ms, 2000);
    CHECK(!got.no_auth && !got.check_only && !got.unix_path);
}

static void reads_options(void)
{
    CHECK_INT(PARSE("-d", "a", "--directory=b=c", "-p0", "-nV"), 0);
    CHECK_INT(got.directory.count, 2);
    CHECK_STR(got.directory.items[1], "b=c");
    CHECK_INT(got.port, 0);
    CHECK(got.check_only && got.version);
    CHECK_INT(
        PARSE("--checkpoint-size", "1MiB", "--query-timeout", "2s", "--rescan", "50", "-t", "3"),
        0);
    CHECK_INT(got.checkpoint_size, 1 << 20);
    CHECK_INT(got.query_timeout_ms, 2000);
    CHECK_INT(got.rescan_ms, 50);
    CHECK_INT(got.executor_threads, 3);
}

static void refuses(void)
{
    CHECK_INT(PARSE("--nothing"), -EINVAL);
    CHECK(strstr(err.text, "--nothing"));
    CHECK_INT(PARSE("-d"), -EINVAL);
    CHECK(strstr(err.text, "-d needs an argument"));
    CHECK_INT(PARSE("word"), -EINVAL);
    CHECK_INT(PARSE("-p", "65536"), -EINVAL);
    CHECK_STR(err.param, "port");
    CHECK_INT(PARSE("-p", "8 0"), -EINVAL);
    CHECK_INT(PARSE("--checkpoint-size", "1"), -EINVAL);
    CHECK_INT(PARSE("--rescan", "1us"), -EINVAL);
    err_done(&err);
}

static const struct check_test tests[] = {
    {"has_defaults", has_defaults},
    {"reads_options", reads_options},
    {"refuses", refuses},
    {NULL, NULL},
};
CHECK_MAIN(tests)
