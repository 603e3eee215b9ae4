/* access_rules.h - access for other users: tokens and allowed users, read at start and at each
 * reload.
 *
 * A missing token file is created: 256 random bits, mode 0600. Without --token-file and
 * --admin-token-file, the credentials `token` and `admin-token` of systemd are used
 * ($CREDENTIALS_DIRECTORY), if they exist. */
#ifndef DFTRACERD_DAEMON_ACCESS_RULES_H
#define DFTRACERD_DAEMON_ACCESS_RULES_H

#include "daemon/options.h"

#include <sys/types.h>

struct access_rules {
    char *token, *admin_token; /* NULL: none */
    uid_t users[OPTIONS_LIST_MAX];
    size_t user_count;
};
/* Returns -EPERM if others can read a token, -ENOENT for an unknown user ... with the reason; then
 * `ret` is empty. */
int access_rules_read(struct access_rules *ret, const struct options *o, struct err *err);
/* Returns the path of a credential of systemd: *new*, or NULL if there is none. */
char *access_rules_credential(const char *name);
/* Returns why the file is not secret, or NULL. Credentials of systemd are safe whatever their mode:
 * an access control list appears as the group's permissions. */
struct stat;
const char *access_rules_unsafe(const char *path, const struct stat *st);
void access_rules_done(struct access_rules *p);

#endif
