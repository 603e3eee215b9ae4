/* module: daemon */
/* test_place.c - directories of the index and of the sockets: which one, and what errors say. */
#include "check.h"

#include "daemon/rendezvous.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[64], *traces;
static struct err err;

static const char *path_of(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", base, name);
    return path;
}

static void make_base(void)
{
    snprintf(base, sizeof base, "/tmp/test_place-XXXXXX");
    if (!mkdtemp(base))
        exit(1);
    mkdir(path_of("traces"), 0700);
    mkdir(path_of("wide"), 0700);
    chmod(path_of("wide"), 0777);
    traces = realpath(path_of("traces"), NULL);
    fclose(fopen(path_of("file"), "w"));
}

static void remove_base(void)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s", base);
    CHECK_INT(system(command), 0);
    free(traces);
}

static int choose(const struct options *o, bool make, char **ret)
{
    struct roots roots = {.count = 1, .labels = {(char[]){""}}, .paths = {traces}};
    err_done(&err);
    *ret = NULL;
    return place_choose(&roots, o, make, ret, &err);
}

static void check_refused(const struct options *o, int code, const char *param, const char *text)
{
    char *place;
    for (int make = 0; make < 2; make++) {
        CHECK_INT(choose(o, make, &place), code);
        CHECK(place == NULL);
        CHECK_STR(err.param, param);
        CHECK(strstr(err.text, text) != NULL);
    }
    err_done(&err);
}

static void errors_name_index_dir(void)
{
    char text[300];
    make_base();
    snprintf(text, sizeof text, "index directory %s is not a directory", path_of("file"));
    check_refused(&(struct options){.index_dir = path_of("file")}, -ENOTDIR, "index-dir", text);
    snprintf(text, sizeof text, "index directory %s is writable by other users", path_of("wide"));
    check_refused(&(struct options){.index_dir = path_of("wide")}, -EPERM, "index-dir", text);
    snprintf(text, sizeof text, "index directory %s cannot be created: No such", path_of("a/b"));
    check_refused(&(struct options){.index_dir = path_of("a/b")}, -ENOENT, "index-dir", text);
    remove_base();
}

/* What is wrong is the directory of these roots, below the one that the option names. */
static void errors_name_index_base(void)
{
    struct options o = {0};
    char *place;
    make_base();
    o.index_base = path_of("indexes");
    CHECK_INT(choose(&o, true, &place), 0);
    chmod(place, 0707);
    check_refused(&o, -EPERM, "index-base", "is writable by other users");
    rmdir(place);
    fclose(fopen(place, "w"));
    check_refused(&o, -ENOTDIR, "index-base", place);
    free(place);
    o.index_base = path_of("wide");
    check_refused(&o, -EPERM, "index-base", "wide is writable by other users");
    remove_base();
}

/* That a directory is missing is not why it cannot be created. */
static void errors_say_why(void)
{
    struct options o = {0};
    char *place;
    make_base();
    chmod(base, 0755);
    mkdir(path_of("closed"), 0700);
    chmod(path_of("closed"), 0555);
    o.index_base = path_of("closed/a/b");
    bool other = geteuid() == 0;
    if (other && seteuid(65534) < 0)
        check_skip("root cannot become another user");
    else {
        CHECK_INT(choose(&o, true, &place), -EACCES);
        CHECK_STR(err.param, "index-base");
        CHECK(strstr(err.text, "Permission denied") != NULL);
    }
    if (other)
        CHECK_INT(seteuid(0), 0);
    err_done(&err);
    remove_base();
}

static void output_is_not_around_the_index(void)
{
    char *output = NULL;
    struct roots none = {0};
    make_base();
    mkdir(path_of("out"), 0700);
    mkdir(path_of("out/index"), 0700);
    CHECK_INT(symlink(path_of("out"), path_of("link")), 0);
    CHECK_INT(place_output(&none, path_of("link/index"), path_of("out"), &output, &err), -EINVAL);
    CHECK_STR(err.param, "output-dir");
    err_done(&err);
    CHECK_INT(place_output(&none, path_of("link/index"), path_of("traces"), &output, &err), 0);
    free(output);
    remove_base();
}

/* ---- the runtime directory ------------------------------------------------------------------- */

static void set_runtime(const char *chosen, const char *session)
{
    unsetenv("DFTRACERD_RUNTIME_DIR");
    unsetenv("XDG_RUNTIME_DIR");
    if (chosen)
        setenv("DFTRACERD_RUNTIME_DIR", chosen, 1);
    if (session)
        setenv("XDG_RUNTIME_DIR", session, 1);
}

static void lists_runtime_dirs(void)
{
    struct runtime_dirs dirs;
    char own[64], run[64];
    snprintf(own, sizeof own, "/tmp/dftracerd-%u", (unsigned)geteuid());
    snprintf(run, sizeof run, "/run/user/%u/dftracerd", (unsigned)geteuid());
    set_runtime("/chosen", "/session");
    rendezvous_dirs(&dirs);
    CHECK_INT(dirs.count, 1);
    CHECK_STR(dirs.paths[0], "/chosen");
    set_runtime("", "/session");
    rendezvous_dirs(&dirs);
    CHECK_INT(dirs.count, 2);
    CHECK_STR(dirs.paths[0], "/session/dftracerd");
    CHECK_STR(dirs.paths[1], own);
    set_runtime(NULL, NULL);
    rendezvous_dirs(&dirs);
    CHECK_INT(dirs.count, 2);
    CHECK_STR(dirs.paths[0], run);
    CHECK_STR(dirs.paths[1], own);
}

static void check_no_runtime(const char *dir, int code, const char *text)
{
    struct rendezvous m = {0};
    set_runtime(dir, NULL);
    CHECK_INT(rendezvous_choose(&m, "/index", &err), code);
    CHECK(!m.socket && !m.list);
    CHECK_STR(err.param, "");
    CHECK_STR(err.text, text);
    err_done(&err);
}

static void errors_name_runtime_dir(void)
{
    char text[300];
    make_base();
    check_no_runtime("here", -ENOTDIR, "runtime directory here is not an absolute path");
    snprintf(text, sizeof text, "runtime directory %s is not a directory", path_of("file"));
    check_no_runtime(path_of("file"), -ENOTDIR, text);
    snprintf(text, sizeof text, "runtime directory %s is writable by other users", path_of("wide"));
    check_no_runtime(path_of("wide"), -EPERM, text);
    snprintf(text, sizeof text, "runtime directory %s cannot be created: Not a directory",
             path_of("file/x"));
    check_no_runtime(path_of("file/x"), -ENOTDIR, text);
    remove_base();
}

static void session_dir_is_first(void)
{
    struct rendezvous m = {0};
    char session[256];
    make_base();
    snprintf(session, sizeof session, "%s", path_of("traces"));
    set_runtime(NULL, session);
    CHECK_INT(rendezvous_choose(&m, "/index", &err), 0);
    CHECK(m.socket && strncmp(m.socket, session, strlen(session)) == 0);
    CHECK_STR(err.text, "");
    rendezvous_done(&m);
    remove_base();
}

static const struct check_test tests[] = {
    {"errors_name_index_dir", errors_name_index_dir},
    {"errors_name_index_base", errors_name_index_base},
    {"errors_say_why", errors_say_why},
    {"output_is_not_around_the_index", output_is_not_around_the_index},
    {"lists_runtime_dirs", lists_runtime_dirs},
    {"errors_name_runtime_dir", errors_name_runtime_dir},
    {"session_dir_is_first", session_dir_is_first},
    {NULL, NULL}};
CHECK_MAIN(tests)
