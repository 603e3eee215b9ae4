/* module: daemon */
/* test_join.c - the socket of --join if its thread cannot be started. */
#include "check.h"

#include "daemon/join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void set_stack(size_t bytes)
{
    pthread_attr_t a;
    CHECK_INT(pthread_attr_init(&a), 0);
    CHECK_INT(pthread_attr_setstacksize(&a, bytes), 0);
    CHECK_INT(pthread_setattr_default_np(&a), 0);
    CHECK_INT(pthread_attr_destroy(&a), 0);
}

static void no_thread_no_socket(void)
{
    char dir[] = "/tmp/test_join-XXXXXX";
    struct rendezvous m = {0};
    struct options o = {0};
    struct err err = {0};
    struct join j = {.lock_fd = -1, .fd = -1};

    CHECK_STOP(mkdtemp(dir) != NULL);
    setenv("DFTRACERD_RUNTIME_DIR", dir, 1);
    CHECK_INT(rendezvous_choose(&m, "/index", &err), 0);
    CHECK_INT(join_init(&j, &m, &o), 0);
    CHECK_STOP(j.path != NULL);
    set_stack((size_t)1 << 48); /* more than the address space */
    CHECK(join_listen(&j) < 0);
    set_stack((size_t)1 << 20);
    CHECK(access(j.path, F_OK) < 0 && errno == ENOENT);
    join_done(&j);
    rendezvous_done(&m);
    err_done(&err);
    CHECK_INT(rmdir(dir), 0);
}

static const struct check_test tests[] = {
    {"no_thread_no_socket", no_thread_no_socket},
    {NULL, NULL},
};
CHECK_MAIN(tests)
