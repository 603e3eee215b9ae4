/* peers.h - who is served besides ourselves: the token and the allowed users, read at start and at each reload. */
#ifndef DFT_DAEMON_PEERS_H
#define DFT_DAEMON_PEERS_H

#include "options.h"

#include <sys/types.h>

struct peers {
    char *token;                         /* NULL: none */
    uid_t users[OPTIONS_LIST_MAX];
    size_t user_count;
};
/* -EPERM for a token that others can read, -ENOENT for an unknown user ... with the reason; then `ret` is empty. */
int peers_read(struct peers *ret, const struct options *o, struct err *err);
void peers_done(struct peers *p);

#endif
