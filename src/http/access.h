/* access.h - who is served (API.md section 2).
 *
 * A peer of the daemon's own uid (or an allowed one) needs no token: on unix sockets SO_PEERCRED tells, on loopback TCP
 * the kernel's socket diagnosis (NETLINK_SOCK_DIAG) names the owner of the peer's socket, without privilege. Looked up once a
 * connection. Anyone else needs the bearer token. */
#ifndef DFT_HTTP_ACCESS_H
#define DFT_HTTP_ACCESS_H

#include "dftracerd/http.h"

#include <sys/socket.h>

enum access_peer { ACCESS_UNKNOWN, ACCESS_TRUSTED, ACCESS_NEEDS_TOKEN };

bool access_is_loopback(const struct sockaddr *a);
/* What may be told from the socket alone. */
enum access_peer access_peer_of(int fd, const struct http_options *o);
/* `authorization`: the header's value or NULL. Constant time in the token's content. */
bool access_token_ok(const char *authorization, const char *token);
/* Host header (may carry a port) against localhost, loopback addresses and the bound ones. */
bool access_host_ok(const char *host, const struct http_options *o);
/* Origin header: absent, same origin as Host, Perfetto's UI, or a VS Code webview. */
bool access_origin_ok(const char *origin, const char *host);

#endif
