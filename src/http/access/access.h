/* access.h - who is served.
 *
 * A peer of the daemon's own uid (or an allowed one) needs no token: on unix sockets SO_PEERCRED
 * tells, on loopback TCP the kernel's socket diagnosis (NETLINK_SOCK_DIAG) names the owner of the
 * peer's socket, without privilege. Looked up once a connection. Anyone else needs the bearer
 * token. Who is served may ask; what changes something (indexing anew, writing, ending requests of
 * others) is for the own uid and the admin token. */
#ifndef DFTRACERD_HTTP_ACCESS_ACCESS_H
#define DFTRACERD_HTTP_ACCESS_ACCESS_H

#include "dftracerd/http.h"

#include <sys/socket.h>

/* Ascending. */
enum access_role { ACCESS_UNKNOWN, ACCESS_NONE, ACCESS_READ, ACCESS_ADMIN };

bool access_is_loopback(const struct sockaddr *a);
/* False for the one number that stands for all users and groups which are not known here, in a user
 * namespace. */
bool access_is_somebody(uid_t uid);
/* What is missing for listening beyond loopback, in words, or NULL: TLS, and peers that can be told
 * apart. */
const char *access_lacks_beyond(const struct http_options *o);
/* The other end of a connection, as far as the socket alone tells. */
enum access_place {
    ACCESS_NOWHERE /* no longer connected */,
    ACCESS_UNIX,
    ACCESS_LOOPBACK,
    ACCESS_BEYOND
};
#define ACCESS_NOBODY ((uid_t)-1)
struct access_peer {
    enum access_place place;
    uid_t uid;                 /* ACCESS_NOBODY: not known, or not of this machine */
    bool lookup_failed;        /* uid is ACCESS_NOBODY for lack of a descriptor or memory */
    unsigned char address[16]; /* IPv6, or IPv4 within it; zero for a unix socket */
};
void access_peer_find(int fd, struct access_peer *ret);
enum access_role access_peer_role(const struct access_peer *p, const struct http_options *o);
/* `authorization`: the header's value or NULL. Constant time in the content of the tokens. */
enum access_role access_token_role(const char *authorization, const struct http_options *o);
/* Host header (may carry a port) against localhost, loopback addresses, the bound ones and the
 * allowed ones. */
bool access_host_ok(const char *host, const struct http_options *o);
/* Origin header: a page of ours; no other page can have that one. */
bool access_origin_own(const char *origin, const char *host);
/* Origin header: absent, same origin as Host (where all loopback names are one), Perfetto's UI, a
 * VS Code webview, or an allowed one. */
bool access_origin_ok(const char *origin, const char *host, const struct http_options *o);

#endif
