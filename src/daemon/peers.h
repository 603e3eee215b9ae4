/* peers.h - who is served besides ourselves: the tokens and the allowed users, read at start and at
 * each reload.
 *
 * A token file that does not exist is made: 256 bits at random, mode 0600. Without --token-file and
 * --admin-token-file the credentials `token` and `admin-token` of systemd are taken
 * ($CREDENTIALS_DIRECTORY), where they are. */
#ifndef DFTRACERD_DAEMON_PEERS_H
#define DFTRACERD_DAEMON_PEERS_H

#include "daemon/options.h"

#include <sys/types.h>

struct peers {
    char *token, *admin_token; /* NULL: none */
    uid_t users[OPTIONS_LIST_MAX];
    size_t user_count;
};
/* -EPERM for a token that others can read, -ENOENT for an unknown user ... with the reason; then
 * `ret` is empty. */
int peers_read(struct peers *ret, const struct options *o, struct err *err);
/* The file of a credential of systemd, if there is one: *new* or NULL. */
char *peers_credential(const char *name);
/* Why the file is no secret, or NULL. Those of systemd are safe, whatever their mode: an
 * access list shows as the group's. */
struct stat;
const char *peers_unsafe(const char *path, const struct stat *st);
void peers_done(struct peers *p);

#endif
