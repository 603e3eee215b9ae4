/* module: daemon */
/* Options while memory is short: from the command line, a file and the environment. */
#include "daemon/options.h"
#include "alloc_check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static void write_list(struct buf *out, const char *name, const struct option_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        buf_printf(out, "%s=%s\n", name, list->items[i]);
}

static int parse(void *arg, struct buf *answer)
{
    char *argv[] = {(char *)"dftracerd",      (char *)"-c", path, (char *)"-d", (char *)"a=/b",
                    (char *)"--directory=/c", NULL};
    struct options o;
    struct err err = {0};

    (void)arg;
    int rc = options_parse(&o, 6, argv, &err);
    if (rc == 0) {
        write_list(answer, "directory", &o.directory);
        write_list(answer, "bind", &o.bind);
        write_list(answer, "allow-user", &o.allow_user);
        buf_printf(answer, "%d %d %s", (int)o.port, (int)o.rescan_ms, o.unix_path);
    }
    options_done(&o);
    err_done(&err);
    return rc;
}

static void parses(void)
{
    snprintf(path, sizeof path, "/tmp/test_alloc-%ld.conf", (long)getpid());
    FILE *f = fopen(path, "w");
    CHECK_STOP(f &&
               fputs("# all\nrescan = 3s\nallow-user = alice\nallow-user = 12\nunix = /tmp/x # y\n",
                     f) >= 0);
    CHECK(fclose(f) == 0);
    setenv("DFTRACERD_BIND", "::1,127.0.0.1", 1);
    setenv("DFTRACERD_PORT", "12", 1);
    alloc_check("options", parse, NULL);
    unlink(path);
}

static const struct check_test tests[] = {
    {"parses", parses},
    {NULL, NULL},
};
CHECK_MAIN(tests)
