/* access_rules.c - reads and creates token files, and looks up the ids of users. */
#include "daemon/access_rules.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

char *access_rules_credential(const char *name)
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");
    char *path = NULL;
    if (!folder || !*folder || asprintf(&path, "%s/%s", folder, name) < 0)
        return NULL;
    if (access(path, F_OK) == 0)
        return path;
    free(path);
    return NULL;
}

/* Writes 64 random hexadecimal digits and a newline. */
static int write_random(int fd)
{
    struct hash128 random[2];
    char line[65];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return -EIO;
    hash128_hex(random[0], line);
    hash128_hex(random[1], line + 32);
    line[64] = '\n';
    ssize_t n = write(fd, line, sizeof line);
    if (n < 0 || (n == (ssize_t)sizeof line && fsync(fd) < 0))
        return -errno;
    return n == (ssize_t)sizeof line ? 0 : -ENOSPC;
}

/* Creates the file under a temporary name first, so that it is never incomplete. If another daemon
 * was quicker, its token counts. */
static int make_token(const char *path)
{
    char *part = NULL;
    if (asprintf(&part, "%s.XXXXXX", path) < 0)
        return -ENOMEM;
    int fd = mkostemp(part, O_CLOEXEC); /* 0600 */
    int rc = fd < 0 ? -errno : write_random(fd);
    if (fd >= 0)
        close(fd);
    if (rc == 0 && link(part, path) < 0 && errno != EEXIST)
        rc = -errno;
    if (fd >= 0)
        unlink(part);
    free(part);
    return rc;
}

/* Checks whether a token file could be created. */
static int check_creatable(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int rc = !folder ? -ENOMEM : access(folder, W_OK | X_OK) < 0 ? -errno : 0;
    free(folder);
    return rc;
}

const char *access_rules_unsafe(const char *path, const struct stat *st)
{
    const char *folder = getenv("CREDENTIALS_DIRECTORY");
    size_t n = folder ? strlen(folder) : 0;
    if (n && strncmp(path, folder, n) == 0 && path[n] == '/' && !strstr(path + n, "/../"))
        return NULL;
    if (st->st_mode & 077)
        return "is readable by other users: chmod 600";
    return st->st_uid != geteuid() && st->st_uid != 0 ? "belongs to another user: chown it" : NULL;
}

static int read_token(const char *option, const char *path, char **ret, struct err *err)
{
    char line[1024];
    struct stat st;
    FILE *f = fopen(path, "re");
    if (!f)
        return err_set_param(err, -errno, option, "%s: %s", path, strerror(errno));
    const char *why = fstat(fileno(f), &st) < 0 ? strerror(errno) : access_rules_unsafe(path, &st);
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    if (why)
        return err_set_param(err, -EPERM, option, "%s %s", path, why);
    line[n] = '\0';
    size_t len = strcspn(line, "\r\n");
    if (len == 0)
        return err_set_param(err, -EINVAL, option, "%s contains no token", path);
    if (len == sizeof line - 1 || (len < n && line[len] == '\0') || strcspn(line, " \t") < len)
        return err_set_param(
            err, -EINVAL, option,
            "%s: a token must not contain blanks or NUL, and must be shorter than %zu characters",
            path, sizeof line - 1);
    line[len] = '\0';
    *ret = strdup(line);
    return *ret ? 0 : -ENOMEM;
}

static int find_token(const char *option, const char *credential, const char *path, bool make,
                      char **ret, struct err *err)
{
    char *own = path ? NULL : access_rules_credential(credential);
    int rc = 0;
    if (!path && !own)
        return 0;
    if (path && access(path, F_OK) < 0 && errno == ENOENT) {
        rc = make ? make_token(path) : check_creatable(path);
        if (rc < 0)
            return err_set_param(err, rc, option, "cannot create the %s %s: %s", option, path,
                                 strerror(-rc));
        if (!make)
            return 0;
    }
    rc = read_token(option, path ? path : own, ret, err);
    free(own);
    return rc;
}

static int find_user(const char *name, uid_t *ret, struct err *err)
{
    uint64_t uid;
    if (num_parse_u64(text_of(name), &uid) == 0 && uid < UINT32_MAX)
        return *ret = (uid_t)uid, 0;
    const struct passwd *found = getpwnam(name);
    if (!found)
        return err_set_param(err, -ENOENT, "allow-user", "no such user: %s", name);
    *ret = found->pw_uid;
    return 0;
}

static int find_tokens(struct access_rules *ret, const struct options *o, bool make,
                       struct err *err)
{
    if (o->token && !ret->token && !(ret->token = strdup(o->token)))
        return -ENOMEM;
    int rc =
        ret->token ? 0 : find_token("token-file", "token", o->token_file, make, &ret->token, err);
    if (rc == 0 && !ret->admin_token)
        rc = find_token("admin-token-file", "admin-token", o->admin_token_file, make,
                        &ret->admin_token, err);
    return rc;
}

/* Otherwise a client that may only query could change settings. */
static int same_token(struct err *err)
{
    return err_set_param(err, -EINVAL, "admin-token-file",
                         "--token-file and --admin-token-file contain the same token");
}

/* A token that no daemon uses must not be left in a file: tokens are created after all checks here,
 * and the caller makes all others before. */
int access_rules_read(struct access_rules *ret, const struct options *o, struct err *err)
{
    const char *other = o->admin_token_file;
    *ret = (struct access_rules){0};
    int rc = o->token_file && other && strcmp(o->token_file, other) == 0 ? same_token(err) : 0;
    rc = rc < 0 ? rc : find_tokens(ret, o, false, err);
    for (size_t i = 0; i < o->allow_user.count && rc == 0; i++)
        rc = find_user(o->allow_user.items[i], &ret->users[ret->user_count++], err);
    if (rc == 0 && !o->check_only)
        rc = find_tokens(ret, o, true, err);
    if (rc == 0 && ret->token && ret->admin_token && strcmp(ret->token, ret->admin_token) == 0)
        rc = same_token(err);
    if (rc < 0)
        access_rules_done(ret);
    return rc;
}

void access_rules_done(struct access_rules *p)
{
    free(p->token);
    free(p->admin_token);
    *p = (struct access_rules){0};
}
