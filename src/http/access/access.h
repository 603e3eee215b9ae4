/* access.h - access control.
 *
 * A peer with the daemon's own uid (or an allowed one) needs no token: its uid is read from
 * SO_PEERCRED on Unix sockets, and from the kernel's socket diagnosis (NETLINK_SOCK_DIAG, no
 * privilege needed) on loopback TCP, once per connection. All other peers need the bearer token.
 * Peers with read access may send queries; requests that change something (reindexing, writing,
 * ending requests of others) need the daemon's own uid or the admin token. */
#ifndef DFTRACERD_HTTP_ACCESS_ACCESS_H
#define DFTRACERD_HTTP_ACCESS_ACCESS_H

#include "dftracerd/http.h"

#include <sys/socket.h>

/* in ascending order */
enum access_role { ACCESS_UNKNOWN, ACCESS_NONE, ACCESS_READ, ACCESS_ADMIN };

bool access_is_loopback(const struct sockaddr *a);
/* False for the overflow uid, which represents all users that are not mapped into this user
 * namespace. */
bool access_is_somebody(uid_t uid);
/* Returns what is missing for listening beyond loopback, as text, or NULL: TLS, and a way to
 * distinguish peers. */
const char *access_lacks_beyond(const struct http_options *o);
/* The other end of a connection, as far as the socket alone shows. */
enum access_place {
    ACCESS_NOWHERE /* no longer connected */,
    ACCESS_UNIX,
    ACCESS_LOOPBACK,
    ACCESS_BEYOND
};
#define ACCESS_NOBODY ((uid_t)-1)
struct access_peer {
    enum access_place place;
    uid_t uid;                 /* ACCESS_NOBODY: unknown, or a user of another machine */
    bool lookup_failed;        /* uid is ACCESS_NOBODY because descriptors or memory were short */
    unsigned char address[16]; /* IPv6, or IPv4 mapped into it; zero for a Unix socket */
};
void access_peer_find(int fd, struct access_peer *ret);
enum access_role access_peer_role(const struct access_peer *p, const struct http_options *o);
/* `authorization` is the header's value or NULL. The time taken does not depend on the tokens. */
enum access_role access_token_role(const char *authorization, const struct http_options *o);
/* Checks the Host header (with or without port) against localhost, 127.0.0.1, [::1], the addresses
 * that the daemon is bound to, and the allowed names. */
bool access_host_ok(const char *host, const struct http_options *o);
/* True if the Origin header names a page of this server; pages of other sites cannot send it. */
bool access_origin_own(const char *origin, const char *host);
/* True if the Origin header is absent, or names the same origin as Host (all loopback names are
 * equal), Perfetto's UI, a VS Code webview, or an allowed origin. */
bool access_origin_ok(const char *origin, const char *host, const struct http_options *o);

#endif
