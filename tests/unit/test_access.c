/* room: http */
#include "check.h"
#include "../../src/http/access.h"

#include <arpa/inet.h>
#include <sys/socket.h>
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
}

static void knows_origins(void)
{
    CHECK(access_origin_ok(NULL, "localhost"));
    CHECK(access_origin_ok("http://localhost:80", "localhost:80"));
    CHECK(access_origin_ok("https://ui.perfetto.dev", "localhost"));
    CHECK(access_origin_ok("vscode-webview://abc", "localhost"));
    CHECK(!access_origin_ok("null", "localhost"));
    CHECK(!access_origin_ok("", "localhost"));
    CHECK(!access_origin_ok("http://localhost:80", "localhost:81"));
    CHECK(!access_origin_ok("http://localhost", NULL));
    CHECK(!access_origin_ok("https://ui.perfetto.dev.evil", "localhost"));
}

static void compares_tokens(void)
{
    CHECK(access_token_ok("Bearer secret", "secret"));
    CHECK(access_token_ok("bearer secret", "secret"));
    const char *bad[] = {"Bearer secre", "Bearer secretx", "Bearer  secret", "Bearer ",
                         "Bearer",       "Basic secret",   "secret",         ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!access_token_ok(bad[i], "secret"));
    CHECK(!access_token_ok(NULL, "secret"));
    CHECK(!access_token_ok("Bearer ", ""));
    CHECK(!access_token_ok("Bearer x", NULL));
}

/* A connection to ourselves over loopback, seen from the accepted end. */
static void finds_the_peer(void)
{
    const struct http_options o = {0};
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0),
        pair[2];
    CHECK_STOP(bind(listener, (struct sockaddr *)&a, sizeof a) == 0 && listen(listener, 1) == 0);
    CHECK_STOP(getsockname(listener, (struct sockaddr *)&a, &n) == 0);
    CHECK_STOP(connect(client, (struct sockaddr *)&a, sizeof a) == 0);
    int accepted = accept(listener, NULL, NULL);
    CHECK_INT(access_peer_of(accepted, &o), ACCESS_TRUSTED);
    CHECK_STOP(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK_INT(access_peer_of(pair[0], &o), ACCESS_TRUSTED);
    CHECK_INT(access_peer_of(listener, &o), ACCESS_NEEDS_TOKEN);
    CHECK_INT(access_peer_of(-1, &o), ACCESS_NEEDS_TOKEN);
    int all[] = {listener, client, accepted, pair[0], pair[1]};
    for (size_t i = 0; i < 5; i++)
        close(all[i]);
}

static const struct check_test tests[] = {
    {"knows_hosts", knows_hosts},
    {"knows_origins", knows_origins},
    {"compares_tokens", compares_tokens},
    {"finds_the_peer", finds_the_peer},
    {NULL, NULL},
};
CHECK_MAIN(tests)
