/* option_check.c - detects settings that cannot work: sockets that cannot be created, unknown
 * variables. */
#include "daemon/option_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;

/* ---- the unix socket ------------------------------------------------------------------------- */

static int refuse_socket(struct err *err, int code, const char *path, const char *why)
{
    return err_set_param(err, code, "unix", "--unix %s: %s", path, why);
}

static int check_folder(const char *path, struct err *err)
{
    char folder[sizeof(((struct sockaddr_un *)0)->sun_path) + 1] = ".";
    const char *slash = strrchr(path, '/');
    struct stat st;
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", slash > path ? (int)(slash - path) : 1, path);
    int rc = stat(folder, &st) < 0             ? -errno
             : !S_ISDIR(st.st_mode)            ? -ENOTDIR
             : access(folder, W_OK | X_OK) < 0 ? -errno
                                               : 0;
    return rc < 0 ? err_set_param(err, rc, "unix", "--unix %s: %s: %s", path, folder, strerror(-rc))
                  : 0;
}

int options_check_unix(const char *path, struct err *err)
{
    struct sockaddr_un a;
    struct stat st;
    if (!path)
        return 0;
    if (strlen(path) >= sizeof a.sun_path)
        return refuse_socket(err, -ENAMETOOLONG, path, "the path is longer than 107 bytes");
    int rc = check_folder(path, err);
    if (rc == 0 && lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
        rc = refuse_socket(err, -EEXIST, path, "the path exists and is not a socket");
    return rc;
}

/* ---- the environment ------------------------------------------------------------------------- */

static bool is_option(const char *name)
{
    /* Variables of this program and the client that are not options. */
    static const char *const others[] = {
        "DFTRACERD_RUNTIME_DIR", "DFTRACERD_CPU", "DFTRACERD_INFLATE", "DFTRACERD_URL",
        "DFTRACERD_CERT",        "DFTRACERD_KEY", "DFTRACERD_FAIL",    "DFTRACERD_BUILD"};
    char known[64];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0)
            return true;
    for (size_t i = 0; i < option_count; i++) {
        option_variable(&option_table[i], known, sizeof known);
        if (strcmp(name, known) == 0)
            return true;
    }
    return false;
}

/* Returns how many letters are wrong, missing or superfluous. */
static unsigned edit_distance(const char *a, const char *b)
{
    unsigned row[64], n = (unsigned)strlen(b);
    for (unsigned k = 0; k <= n; k++)
        row[k] = k;
    for (; *a; a++) {
        unsigned before = row[0]++;
        for (unsigned k = 1; k <= n; k++) {
            unsigned changed = before + (*a != b[k - 1]);
            before = row[k];
            unsigned shorter = row[k] + 1, longer = row[k - 1] + 1;
            row[k] = changed < shorter ? changed : shorter;
            row[k] = row[k] < longer ? row[k] : longer;
        }
    }
    return row[n];
}

static bool find_similar(const char *name, char *ret, size_t size)
{
    unsigned best = 3;
    char known[64];
    for (size_t i = 0; i < option_count; i++) {
        if (option_table[i].flags & (OPTION_ONLY_LINE | OPTION_NO_ENV | OPTION_HIDDEN))
            continue;
        option_variable(&option_table[i], known, sizeof known);
        unsigned d = edit_distance(name, known);
        if (d >= best || 5 * d >= strlen(known) - strlen("DFTRACERD_") + 2)
            continue;
        best = d;
        snprintf(ret, size, "%s", known);
    }
    return best < 3;
}

void options_misspelt(void (*warn)(const char *name, const char *meant))
{
    char name[64], known[64];
    for (char **e = environ; e && *e; e++) {
        size_t n = strcspn(*e, "=");
        if (strncmp(*e, "DFTRACERD_", 10) != 0 || n >= sizeof name)
            continue;
        memcpy(name, *e, n);
        name[n] = '\0';
        if (!is_option(name) && find_similar(name, known, sizeof known))
            warn(name, known);
    }
}
