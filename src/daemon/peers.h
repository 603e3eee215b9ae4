/* peers.h - access for other users: tokens and allowed users, read at start and at each reload.
 *
 * A missing token file is created: 256 random bits, mode 0600. Without --token-file and
 * --admin-token-file, the credentials `token` and `admin-token` of systemd are used
 * ($CREDENTIALS_DIRECTORY), if they exist. */
#ifndef DFTRACERD_DAEMON_PEERS_H
#define DFTRACERD_DAEMON_PEERS_H

#include "daemon/options.h"

#include <sys/types.h>

struct peers {
    char *token, *admin_token; /* NULL: none */
    uid_t users[OPTIONS_LIST_MAX];
    size_t user_count;
};
/* Returns -EPERM if others can read a token, -ENOENT for an unknown user ... with the reason; then
 * `ret` is empty. */
int peers_read(struct peers *ret, const struct options *o, struct err *err);
/* Returns the path of a credential of systemd: *new*, or NULL if there is none. */
char *peers_credential(const char *name);
/* Returns why the file is not secret, or NULL. Credentials of systemd are safe whatever their mode:
 * an access control list appears as the group's permissions. */
struct stat;
const char *peers_unsafe(const char *path, const struct stat *st);
void peers_done(struct peers *p);

#endif
