/* access.c - peers, tokens, hosts and origins. */
#include "http/access/access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool all_mapped;
static uid_t overflow_uid = 65534;

static void read_maps(void)
{
    unsigned long from = 1, to = 1, count = 0, number;
    FILE *map = fopen("/proc/self/uid_map", "re"), *f = fopen("/proc/sys/kernel/overflowuid", "re");
    all_mapped = map && fscanf(map, "%lu %lu %lu", &from, &to, &count) == 3 && from == 0 &&
                 to == 0 && count >= UINT32_MAX;
    if (f && fscanf(f, "%lu", &number) == 1)
        overflow_uid = (uid_t)number;
    if (map)
        fclose(map);
    if (f)
        fclose(f);
}

bool access_is_somebody(uid_t uid)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_maps);
    return uid != (uid_t)-1 && (all_mapped || uid != overflow_uid);
}

bool access_is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24) == 127;
    return a->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

const char *access_lacks_beyond(const struct http_options *o)
{
    bool known = o->token || o->admin_token || (o->tls.cert && o->tls.client_ca);
    if (!known && !(o->insecure && o->no_auth))
        return "a token (--token-file), or --insecure with --no-auth";
    return o->tls.cert || o->insecure ? NULL : "TLS (--tls-cert, --tls-key), or --insecure";
}

static void fill_side(const struct sockaddr_storage *a, __be16 *port, __be32 addr[4])
{
    if (a->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)a;
        *port = in->sin_port;
        addr[0] = in->sin_addr.s_addr;
    } else {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)a;
        *port = in6->sin6_port;
        memcpy(addr, &in6->sin6_addr, 16);
    }
}

/* Requests the one TCP socket whose source is `peer` and whose destination is `local` from the
 * kernel. */
static int query_kernel(int nl, const struct sockaddr_storage *peer,
                        const struct sockaddr_storage *local, uid_t *ret)
{
    struct {
        struct nlmsghdr h;
        struct inet_diag_req_v2 r;
    } q = {
        .h = {.nlmsg_len = sizeof q,
              .nlmsg_type = SOCK_DIAG_BY_FAMILY,
              .nlmsg_flags = NLM_F_REQUEST},
        .r = {.sdiag_family = (uint8_t)peer->ss_family,
              .sdiag_protocol = IPPROTO_TCP,
              .idiag_states = ~0u},
    };
    fill_side(peer, &q.r.id.idiag_sport, q.r.id.idiag_src);
    fill_side(local, &q.r.id.idiag_dport, q.r.id.idiag_dst);
    q.r.id.idiag_cookie[0] = q.r.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    if (send(nl, &q, sizeof q, 0) != (ssize_t)sizeof q)
        return -errno;
    union {
        struct nlmsghdr h;
        char bytes[4096];
    } answer;
    ssize_t n = recv(nl, &answer, sizeof answer, 0);
    if (n < (ssize_t)(NLMSG_LENGTH(sizeof(struct inet_diag_msg))) ||
        answer.h.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return -ENOENT;
    const struct inet_diag_msg *m = NLMSG_DATA(&answer.h);
    /* A socket without an inode is closed (TIME_WAIT); the kernel reports 0 as its owner. */
    if (!m->idiag_inode || m->id.idiag_dport != q.r.id.idiag_dport)
        return -ENOENT;
    *ret = m->idiag_uid;
    return 0;
}

/* Returns -errno if the kernel could not be queried, -ENOENT if it has no such socket. */
static int tcp_peer_uid(const struct sockaddr_storage *peer, const struct sockaddr_storage *local,
                        uid_t *ret)
{
    int nl = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (nl < 0)
        return -errno;
    struct timeval patience = {.tv_sec = 1};
    setsockopt(nl, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int rc = query_kernel(nl, peer, local, ret);
    close(nl);
    return rc;
}

static uid_t unix_peer_uid(int fd)
{
    struct ucred cred;
    socklen_t len = sizeof cred;
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0;
    return known && access_is_somebody(cred.uid) ? cred.uid : ACCESS_NOBODY;
}

static void read_address(const struct sockaddr_storage *a, unsigned char ret[16])
{
    if (a->ss_family == AF_INET6) {
        memcpy(ret, &((const struct sockaddr_in6 *)a)->sin6_addr, 16);
        return;
    }
    ret[10] = ret[11] = 0xff;
    memcpy(ret + 12, &((const struct sockaddr_in *)a)->sin_addr, 4);
}

void access_peer_find(int fd, struct access_peer *ret)
{
    struct sockaddr_storage local = {0}, peer = {0};
    socklen_t n = sizeof local, m = sizeof peer;
    uid_t uid;
    *ret = (struct access_peer){.uid = ACCESS_NOBODY};
    if (getsockname(fd, (struct sockaddr *)&local, &n) < 0 ||
        getpeername(fd, (struct sockaddr *)&peer, &m) < 0)
        return;
    if (local.ss_family == AF_UNIX) {
        ret->place = ACCESS_UNIX;
        ret->uid = unix_peer_uid(fd);
        return;
    }
    read_address(&peer, ret->address);
    ret->place = access_is_loopback((struct sockaddr *)&peer) ? ACCESS_LOOPBACK : ACCESS_BEYOND;
    if (ret->place == ACCESS_BEYOND)
        return;
    int rc = tcp_peer_uid(&peer, &local, &uid);
    ret->lookup_failed = rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -ENOBUFS;
    if (rc == 0 && access_is_somebody(uid))
        ret->uid = uid;
}

enum access_role access_peer_role(const struct access_peer *p, const struct http_options *o)
{
    bool known = access_is_somebody(p->uid);
    bool open = p->place == ACCESS_LOOPBACK || (p->place == ACCESS_BEYOND && o->insecure);
    if (known && p->uid == geteuid())
        return ACCESS_ADMIN;
    for (size_t i = 0; known && i < o->allow_user_count; i++)
        if (o->allow_users[i] == p->uid)
            return ACCESS_READ;
    return open && o->no_auth ? ACCESS_READ : ACCESS_NONE;
}

static bool is_token(const char *given, const char *token)
{
    if (!token || !*token)
        return false;
    size_t n = strlen(token), g = strlen(given);
    unsigned char differs = n != g;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(token[i] ^ given[i < g ? i : 0]);
    return !differs;
}

enum access_role access_token_role(const char *authorization, const struct http_options *o)
{
    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
        return ACCESS_NONE;
    bool admin = is_token(authorization + 7, o->admin_token),
         read = is_token(authorization + 7, o->token);
    return admin ? ACCESS_ADMIN : read ? ACCESS_READ : ACCESS_NONE;
}

/* Returns the length of the host part of "host", "host:port" or "[v6]:port"; 0 if it is malformed.
 */
static size_t host_length(const char *h)
{
    size_t n = h[0] == '[' ? strcspn(h, "]") + 1 : strcspn(h, ":");
    if (h[0] == '[' && h[n - 1] != ']')
        return 0;
    if (h[n] == '\0')
        return n;
    return h[n] == ':' && h[n + 1] && h[n + 1 + strspn(h + n + 1, "0123456789")] == '\0' ? n : 0;
}

static bool host_is(const char *h, size_t n, const char *name)
{
    return strlen(name) == n && strncasecmp(h, name, n) == 0;
}

static bool is_loopback_name(const char *h, size_t n)
{
    return host_is(h, n, "localhost") || host_is(h, n, "127.0.0.1") || host_is(h, n, "[::1]");
}

bool access_host_ok(const char *host, const struct http_options *o)
{
    size_t n = host_length(host);
    if (!n)
        return false;
    if (is_loopback_name(host, n))
        return true;
    for (size_t i = 0; i < o->bind_count; i++) {
        char bracketed[80];
        if (strcmp(o->bind[i], "0.0.0.0") == 0 || strcmp(o->bind[i], "::") == 0)
            continue; /* no name of this server */
        snprintf(bracketed, sizeof bracketed, "[%s]", o->bind[i]);
        if (host_is(host, n, o->bind[i]) || host_is(host, n, bracketed))
            return true;
    }
    for (size_t i = 0; i < o->allow_host_count; i++)
        if (host_is(host, n, o->allow_hosts[i]))
            return true;
    return false;
}

static const char *authority_of(const char *origin)
{
    return strncmp(origin, "http://", 7) == 0    ? origin + 7
           : strncmp(origin, "https://", 8) == 0 ? origin + 8
                                                 : NULL;
}

/* True for localhost:80 and 127.0.0.1:80, false for localhost:80 and localhost:81. */
static bool same_loopback(const char *a, const char *b)
{
    size_t n = host_length(a), m = host_length(b);
    return n && m && is_loopback_name(a, n) && is_loopback_name(b, m) && strcmp(a + n, b + m) == 0;
}

/* `domain` is ".example.org" or ".example.org:8443"; one label or more must precede it. */
static bool is_below(const char *authority, const char *domain)
{
    size_t n = strlen(authority), d = strlen(domain);
    if (n <= d || strcmp(authority + n - d, domain) != 0)
        return false;
    for (size_t i = 0; i < n - d; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-.", authority[i]) ||
            (authority[i] == '.' && (i == 0 || authority[i - 1] == '.')))
            return false;
    return authority[n - d - 1] != '.';
}

/* `allowed` is an origin, or an origin with "*." before its host, which means all names below it.
 */
static bool origin_matches(const char *origin, const char *allowed)
{
    const char *a = authority_of(allowed), *b = authority_of(origin);
    if (strcmp(origin, allowed) == 0)
        return true;
    if (!a || !b || a - allowed != b - origin)
        return false;
    return strncmp(a, "*.", 2) == 0 ? is_below(b, a + 1) : same_loopback(a, b);
}

bool access_origin_own(const char *origin, const char *host)
{
    const char *authority = authority_of(origin);
    return authority && host && strcasecmp(authority, host) == 0;
}

bool access_origin_ok(const char *origin, const char *host, const struct http_options *o)
{
    if (!origin || strcmp(origin, "https://ui.perfetto.dev") == 0 ||
        strncmp(origin, "vscode-webview:", 15) == 0 || access_origin_own(origin, host))
        return true;
    for (size_t i = 0; i < o->allow_origin_count; i++)
        if (origin_matches(origin, o->allow_origins[i]))
            return true;
    const char *authority = authority_of(origin);
    return authority && host && same_loopback(authority, host);
}
