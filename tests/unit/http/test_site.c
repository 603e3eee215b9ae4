/* module: http */
/* test_site.c - the site of a connection: that of its socket, also when it has ended. */
#include "check.h"
#include "http/server/server.h"
#include "http/server/site.h"
#include "http/server/sockets.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct http server;

static struct site *add(const char *path)
{
    const struct http_site s = {.unix_path = path};
    size_t n = atomic_load(&server.sites.count);
    if (!CHECK_INT(site_new(&server, &s, &server.sites.list[n]), 0))
        abort();
    atomic_store(&server.sites.count, n + 1);
    return server.sites.list[n];
}

/* Otherwise it would be answered from the directories of the first site. */
static void ended_site(void)
{
    char path[64];
    struct err err = {0};
    snprintf(path, sizeof path, "/tmp/test_site-%d", (int)getpid());
    int fd = listen_unix(path, &err);
    struct site *first = add(NULL), *other = add(path);
    CHECK(fd >= 0 && site_of(&server, fd) == other);
    CHECK(site_of(&server, -1) == first);
    atomic_store(&other->ended, true);
    CHECK(site_of(&server, fd) == other);
    struct site *again = add(path);
    CHECK(site_of(&server, fd) == again);
    for (size_t i = 0; i < atomic_load(&server.sites.count); i++)
        site_free(server.sites.list[i]);
    close(fd);
    unlink(path);
    err_done(&err);
}

/* The error of a socket that cannot be created is that of socket(). */
static void no_descriptors(void)
{
    char path[64];
    struct err err = {0};
    struct rlimit limit;
    snprintf(path, sizeof path, "/tmp/test_site-%d", (int)getpid());
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, limit.rlim_max}), 0);
    int rc = listen_unix(path, &err);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK_INT(rc, -EMFILE);
    CHECK(strstr(err.text, "Too many open files"));
    err_done(&err);
}

static const struct check_test tests[] = {
    {"ended_site", ended_site}, {"no_descriptors", no_descriptors}, {NULL, NULL}};

CHECK_MAIN(tests)
