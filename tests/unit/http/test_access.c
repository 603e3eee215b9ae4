/* module: http */
#include "check.h"
#include "http/access/clients.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void knows_hosts(void)
{
    static const char *const bound[] = {"node7", "fe80::1"};
    const struct http_options none = {0}, two = {.bind = bound, .bind_count = 2};
    const char *good[] = {"localhost",      "LocalHost:80", "127.0.0.1",
                          "127.0.0.1:8080", "[::1]",        "[::1]:1"};
    const char *bad[] = {
        "",       ":",   "localhost:",       "localhost:8x", "localhost.", "x.localhost", "[::1",
        "[::1]x", "::1", "127.0.0.1.nip.io", "evil",         "node7",      "[fe80::1]"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(access_host_ok(good[i], &none));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!access_host_ok(bad[i], &none));
    CHECK(access_host_ok("node7:8080", &two) && access_host_ok("[fe80::1]", &two));
    static const char *const names[] = {"traces.example"}, *const wide[] = {"0.0.0.0", "::"};
    const struct http_options named = {
        .bind = wide, .bind_count = 2, .allow_hosts = names, .allow_host_count = 1};
    CHECK(access_host_ok("traces.example", &named) && access_host_ok("Traces.Example:1", &named));
    CHECK(!access_host_ok("x.traces.example", &named) && !access_host_ok("traces.exampl", &named));
    CHECK(!access_host_ok("0.0.0.0", &named) && !access_host_ok("[::]", &named));
}

static void knows_origins(void)
{
    static const char *const allowed[] = {"http://localhost:10000"};
    const struct http_options none = {0}, one = {.allow_origins = allowed, .allow_origin_count = 1};
    CHECK(access_origin_ok(NULL, "localhost", &none));
    CHECK(access_origin_ok("http://localhost:80", "localhost:80", &none));
    CHECK(access_origin_ok("https://ui.perfetto.dev", "localhost", &none));
    CHECK(access_origin_ok("vscode-webview://abc", "localhost", &none));
    CHECK(!access_origin_ok("vscode-webview.evil://abc", "localhost", &none));
    CHECK(!access_origin_ok("null", "localhost", &none));
    CHECK(!access_origin_ok("", "localhost", &none));
    CHECK(!access_origin_ok("http://localhost:80", "localhost:81", &none));
    CHECK(!access_origin_ok("http://localhost", NULL, &none));
    CHECK(!access_origin_ok("https://ui.perfetto.dev.evil", "localhost", &none));
    CHECK(access_origin_ok("https://localhost:80", "localhost:80", &none));
    CHECK(!access_origin_ok("http://localhost:10000", "localhost", &none));
    CHECK(access_origin_ok("http://localhost:10000", "localhost", &one));
    CHECK(!access_origin_ok("http://localhost:100000", "localhost", &one));
    CHECK(!access_origin_ok("http://localhost:1000", "localhost", &one));
}

static void knows_patterns(void)
{
    static const char *const allowed[] = {"https://*.vscode-cdn.net", "https://vscode.dev",
                                          "http://*.example.org:8443", "http://localhost:8080"};
    const struct http_options o = {.allow_origins = allowed, .allow_origin_count = 4};
    const char *good[] = {"https://a.vscode-cdn.net", "https://v--1a2b.c.vscode-cdn.net",
                          "https://vscode.dev",       "http://a.example.org:8443",
                          "http://localhost:8080",    "http://127.0.0.1:8080",
                          "http://[::1]:8080"};
    const char *bad[] = {"https://vscode-cdn.net",
                         "https://.vscode-cdn.net",
                         "https://a..vscode-cdn.net",
                         "https://..vscode-cdn.net",
                         "https://*.vscode-cdn.net.evil.com",
                         "https://evil.com.vscode-cdn.net.evil.com",
                         "https://evilvscode-cdn.net",
                         "https://a.vscode-cdn.net.",
                         "https://a.vscode-cdn.net:443",
                         "https://a.vscode-cdn.net:8443",
                         "https://a.vscode-cdn.net/",
                         "https://evil.com/.vscode-cdn.net",
                         "https://evil.com?.vscode-cdn.net",
                         "https://evil.com#.vscode-cdn.net",
                         "https://evil.com\\.vscode-cdn.net",
                         "https://u@a.vscode-cdn.net",
                         "https://evil.com:1.vscode-cdn.net",
                         "https://A.vscode-cdn.net",
                         "https://a.VSCODE-cdn.net",
                         "HTTPS://a.vscode-cdn.net",
                         "https://a b.vscode-cdn.net",
                         "http://a.vscode-cdn.net",
                         "vscode-cdn.net",
                         "//a.vscode-cdn.net",
                         "https://x.vscode.dev",
                         "http://vscode.dev",
                         "http://a.example.org",
                         "http://a.example.org:844",
                         "http://a.example.org:84430",
                         "https://localhost:8080",
                         "http://localhost:8081",
                         "http://localhost",
                         "http://localhost:8080.evil.com",
                         "http://localhost.evil.com:8080",
                         "http://127.0.0.1.evil.com:8080",
                         "http://127.0.0.2:8080",
                         "null",
                         ""};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(access_origin_ok(good[i], "traces.example", &o));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!access_origin_ok(bad[i], "traces.example", &o));
}

/* A page that the daemon has served under another name of this machine may send requests, but is
 * not trusted like its own. */
static void loopback_names_are_one(void)
{
    const struct http_options none = {0};
    CHECK(access_origin_ok("http://localhost:80", "127.0.0.1:80", &none));
    CHECK(access_origin_ok("http://127.0.0.1:80", "localhost:80", &none));
    CHECK(access_origin_ok("http://[::1]:80", "LOCALHOST:80", &none));
    CHECK(access_origin_ok("http://localhost", "127.0.0.1", &none));
    CHECK(!access_origin_own("http://localhost:80", "127.0.0.1:80"));
    const char *bad[] = {"http://localhost:81",
                         "http://localhost",
                         "http://localhost:800",
                         "http://127.0.0.2:80",
                         "http://localhost.evil:80",
                         "http://evil:80",
                         "null",
                         "ftp://localhost:80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!access_origin_ok(bad[i], "127.0.0.1:80", &none));
    CHECK(!access_origin_ok("http://localhost:80", "traces.example:80", &none));
}

static void compares_tokens(void)
{
    const struct http_options none = {0}, empty = {.token = ""},
                              both = {.token = "secret", .admin_token = "master"};
    CHECK_INT(access_token_role("Bearer secret", &both), ACCESS_READ);
    CHECK_INT(access_token_role("bearer secret", &both), ACCESS_READ);
    CHECK_INT(access_token_role("Bearer master", &both), ACCESS_ADMIN);
    const char *bad[] = {"Bearer secre", "Bearer secretx", "Bearer  secret", "Bearer ",
                         "Bearer",       "Basic secret",   "secret",         ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_INT(access_token_role(bad[i], &both), ACCESS_NONE);
    CHECK_INT(access_token_role(NULL, &both), ACCESS_NONE);
    CHECK_INT(access_token_role("Bearer ", &empty), ACCESS_NONE);
    CHECK_INT(access_token_role("Bearer x", &none), ACCESS_NONE);
}

static void knows_roles(void)
{
    static const uid_t users[] = {4000000001u, 4000000002u};
    const struct http_options two = {.allow_users = users, .allow_user_count = 2},
                              open = {.no_auth = true}, wide = {.no_auth = true, .insecure = true};
    const struct access_peer me = {.uid = geteuid()}, first = {.uid = users[0]},
                             second = {.uid = users[1]}, third = {.uid = 4000000003u},
                             near = {.uid = ACCESS_NOBODY, .place = ACCESS_LOOPBACK},
                             far = {.uid = ACCESS_NOBODY, .place = ACCESS_BEYOND},
                             beside = {.uid = users[0], .place = ACCESS_UNIX};
    CHECK_INT(access_peer_role(&me, &two), ACCESS_ADMIN);
    CHECK_INT(access_peer_role(&first, &two), ACCESS_READ);
    CHECK_INT(access_peer_role(&second, &two), ACCESS_READ);
    CHECK_INT(access_peer_role(&third, &two), ACCESS_NONE);
    CHECK_INT(access_peer_role(&near, &two), ACCESS_NONE);
    CHECK_INT(access_peer_role(&near, &open), ACCESS_READ);
    CHECK_INT(access_peer_role(&far, &open), ACCESS_NONE); /* TLS alone admits nobody */
    CHECK_INT(access_peer_role(&far, &wide), ACCESS_READ);
    CHECK_INT(access_peer_role(&beside, &wide),
              ACCESS_NONE); /* the daemon's user owns that socket */
}

static enum access_role role_of(int fd)
{
    const struct http_options o = {0};
    struct access_peer peer;
    access_peer_find(fd, &peer);
    return access_peer_role(&peer, &o);
}

/* A connection to this process over loopback, examined at the accepted end. */
static void finds_the_peer(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0),
        pair[2];
    CHECK_STOP(bind(listener, (struct sockaddr *)&a, sizeof a) == 0 && listen(listener, 1) == 0);
    CHECK_STOP(getsockname(listener, (struct sockaddr *)&a, &n) == 0);
    CHECK_STOP(connect(client, (struct sockaddr *)&a, sizeof a) == 0);
    int accepted = accept(listener, NULL, NULL);
    CHECK_INT(role_of(accepted), ACCESS_ADMIN);
    CHECK_STOP(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK_INT(role_of(pair[0]), ACCESS_ADMIN);
    CHECK_INT(role_of(listener), ACCESS_NONE);
    CHECK_INT(role_of(-1), ACCESS_NONE);
    int all[] = {listener, client, accepted, pair[0], pair[1]};
    for (size_t i = 0; i < 5; i++)
        close(all[i]);
}

static int64_t time_of(const char *authorization, const struct http_options *o)
{
    struct timespec from, to;
    int64_t least = INT64_MAX;
    for (int i = 0; i < 9; i++) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
        CHECK_INT(access_token_role(authorization, o), ACCESS_NONE);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
        int64_t ns = (to.tv_sec - from.tv_sec) * 1000000000ll + to.tv_nsec - from.tv_nsec;
        least = ns < least ? ns : least;
    }
    return least;
}

/* The time taken must not reveal how much of a guess is right; the token is so long that it would
 * show. */
static void takes_equal_time(void)
{
    enum { LONG = 1 << 20 };
    char *token = malloc(LONG + 1), *guess = malloc(LONG + 8);
    CHECK_STOP(token && guess);
    memset(token, 'x', LONG);
    token[LONG] = '\0';
    const struct http_options o = {.token = token};
    snprintf(guess, LONG + 8, "Bearer %s", token);
    guess[7] = 'y';
    int64_t first = time_of(guess, &o);
    guess[7] = 'x';
    guess[7 + LONG - 1] = 'y';
    int64_t last = time_of(guess, &o);
    CHECK(first < 4 * last && last < 4 * first);
    free(token);
    free(guess);
}

static void compare_clients(const char *a, const char *b, bool same)
{
    struct budget_share all = {0};
    struct clients *c = clients_new(1 << 20, &all);
    struct access_peer peers[2] = {{.uid = ACCESS_NOBODY, .place = ACCESS_BEYOND},
                                   {.uid = ACCESS_NOBODY, .place = ACCESS_BEYOND}};
    CHECK_STOP(c != NULL);
    CHECK_INT(inet_pton(AF_INET6, a, peers[0].address), 1);
    CHECK_INT(inet_pton(AF_INET6, b, peers[1].address), 1);
    struct client *one = clients_find(c, &peers[0]), *other = clients_find(c, &peers[1]);
    CHECK_STOP(one && other);
    CHECK_INT(one == other, same);
    clients_release(c, one);
    clients_release(c, other);
    clients_free(c);
}

/* A client is a network of 64 bits of IPv6, or an address of IPv4. */
static void knows_clients(void)
{
    compare_clients("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true);
    compare_clients("2001:db8:1:2::1", "2001:db8:1:3::1", false);
    compare_clients("::ffff:10.0.0.1", "::ffff:10.0.0.1", true);
    compare_clients("::ffff:10.0.0.1", "::ffff:10.0.0.2", false);
}

static const struct check_test tests[] = {
    {"knows_hosts", knows_hosts},         {"knows_origins", knows_origins},
    {"knows_patterns", knows_patterns},   {"loopback_names_are_one", loopback_names_are_one},
    {"compares_tokens", compares_tokens}, {"takes_equal_time", takes_equal_time},
    {"knows_roles", knows_roles},         {"finds_the_peer", finds_the_peer},
    {"knows_clients", knows_clients},     {NULL, NULL},
};
CHECK_MAIN(tests)
