/* peers.c - reads the token file and finds the numbers of users. */
#include "peers.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int read_token(struct peers *p, const char *path, struct err *err)
{
    char line[1024];
    struct stat st;
    FILE *f = fopen(path, "re");
    if (!f)
        return err_set_param(err, -errno, "token-file", "%s: %s", path, strerror(errno));
    bool ok = fstat(fileno(f), &st) == 0 && (st.st_mode & 077) == 0;
    char *got = fgets(line, sizeof line, f);
    fclose(f);
    if (!ok)
        return err_set_param(err, -EPERM, "token-file", "%s can be read by others: chmod 600",
                             path);
    line[got ? strcspn(line, "\r\n") : 0] = '\0';
    if (!line[0])
        return err_set_param(err, -EINVAL, "token-file", "%s holds no token", path);
    p->token = strdup(line);
    return p->token ? 0 : -ENOMEM;
}

static int find_user(const char *name, uid_t *ret, struct err *err)
{
    uint64_t uid;
    if (num_parse_u64(text_of(name), &uid) == 0 && uid < UINT32_MAX)
        return *ret = (uid_t)uid, 0;
    const struct passwd *found = getpwnam(name);
    if (!found)
        return err_set_param(err, -ENOENT, "allow-user", "there is no user %s", name);
    *ret = found->pw_uid;
    return 0;
}

int peers_read(struct peers *ret, const struct options *o, struct err *err)
{
    int rc = 0;
    *ret = (struct peers){0};
    if (o->token_file)
        rc = read_token(ret, o->token_file, err);
    for (size_t i = 0; i < o->allow_user.count && rc == 0; i++)
        rc = find_user(o->allow_user.items[i], &ret->users[ret->user_count++], err);
    if (rc < 0)
        peers_done(ret);
    return rc;
}

void peers_done(struct peers *p)
{
    free(p->token);
    *p = (struct peers){0};
}
