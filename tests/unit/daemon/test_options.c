/* module: daemon */
#include "check.h"
#include "daemon/options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    options_done(&got);
    err_done(&err);
    return options_parse(&got, argc, argv, &err);
}
#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

/* Writes a configuration file and reads it with further words. */
static const char *conf_path(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/test_options-%ld.conf", (long)getpid());
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return path;
}

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
        PARSE("--checkpoint-size", "1MiB", "--query-timeout", "2s", "--rescan", "50ms", "-t", "3"),
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
    CHECK(strstr(err.text, "-d requires an argument"));
    CHECK_INT(PARSE("-nd"), -EINVAL);
    CHECK(strstr(err.text, "-d requires an argument"));
    CHECK_INT(PARSE("-nzV"), -EINVAL);
    CHECK(strstr(err.text, "unknown option -z"));
    CHECK_INT(PARSE("word"), -EINVAL);
    CHECK_INT(PARSE("-p", "65536"), -EINVAL);
    CHECK_STR(err.param, "port");
    CHECK_INT(PARSE("-p", "8 0"), -EINVAL);
    CHECK_INT(PARSE("--checkpoint-size", "1"), -EINVAL);
    CHECK_INT(PARSE("--rescan", "1us"), -EINVAL);
    CHECK_INT(PARSE("--idle-exit", "20"), -EINVAL);
    CHECK(strstr(err.text, "--idle-exit 20: the unit is missing"));
    CHECK_INT(PARSE("--query-timeout", "1.5"), -EINVAL);
    CHECK_INT(PARSE("--drain-time", "0"), 0);
    CHECK_INT(PARSE("-p", "x", "--doctor"), -EINVAL);
    CHECK(got.doctor);
    CHECK_INT(PARSE("-p", "x", "--doctor=no"), -EINVAL);
    CHECK(!got.doctor);
    CHECK_INT(PARSE("--doctor=maybe"), -EINVAL);
    CHECK(!got.doctor && strstr(err.text, "--doctor maybe: must be yes or no"));
    err_done(&err);
}

static void later_sources_win(void)
{
    const char *path =
        conf_path("port = 1\nrescan = 3s # slow\nbind = 127.0.0.2\nbind = 127.0.0.3\n"
                  "no-auth = on\n");
    CHECK_INT(PARSE("-c", path), 0);
    CHECK_INT(got.port, 1);
    CHECK_INT(got.rescan_ms, 3000);
    CHECK_INT(got.bind.count, 2);
    CHECK(got.no_auth);
    setenv("DFTRACERD_PORT", "2", 1);
    setenv("DFTRACERD_BIND", "::1,127.0.0.1", 1);
    CHECK_INT(PARSE("-c", path, "--no-auth=no"), 0);
    CHECK_INT(got.port, 2);
    CHECK_INT(got.bind.count, 2);
    CHECK_STR(got.bind.items[0], "::1");
    CHECK(!got.no_auth);
    CHECK_INT(PARSE("-c", path, "-p", "3", "-b", "127.0.0.9"), 0);
    CHECK_INT(got.port, 3);
    CHECK_INT(got.bind.count, 1);
    unsetenv("DFTRACERD_PORT");
    unsetenv("DFTRACERD_BIND");
    CHECK_INT(PARSE("-c", conf_path("\n\nprot = 1\n")), -EINVAL);
    CHECK(strstr(err.text, ".conf:3: unknown key prot"));
    unlink(path);
}

static void tells_what_needs_a_restart(void)
{
    struct options next;
    struct err quiet = {0};
    struct buf names = {0};
    char *other[] = {(char *)"dftracerd", (char *)"-p1", (char *)"-da",
                     (char *)"--log-level=debug"};
    CHECK_INT(PARSE("-d", "a", "-d", "b"), 0);
    CHECK_INT(options_parse(&next, 4, other, &quiet), 0);
    options_need_restart(&got, &next, &names);
    CHECK(names.len == 14 && memcmp(names.data, "directory,port", 14) == 0);
    buf_done(&names);
    options_done(&next);
    options_done(&got);
}

static void old_name_takes_old_options(void)
{
    char *old[] = {(char *)"/usr/bin/dftracer_server", (char *)"-da", (char *)"--no-auth"};
    options_done(&got);
    CHECK_INT(options_parse(&got, 2, old, &err), 0);
    CHECK_INT(got.bind.count, 1);
    options_done(&got);
    CHECK_INT(options_parse(&got, 3, old, &err), -EINVAL);
    err_done(&err);
    CHECK_INT(options_parse(&got, 1, old, &err), -EINVAL);
    CHECK_STR(err.param, "directory");
    options_done(&got);
    err_done(&err);
}

static const struct check_test tests[] = {
    {"has_defaults", has_defaults},
    {"reads_options", reads_options},
    {"refuses", refuses},
    {"later_sources_win", later_sources_win},
    {"tells_what_needs_a_restart", tells_what_needs_a_restart},
    {"old_name_takes_old_options", old_name_takes_old_options},
    {NULL, NULL},
};
CHECK_MAIN(tests)
