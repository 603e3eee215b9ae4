/* option_table.c - every option once: command line, file, environment, --help and manual are made from it. size: table */
#include "option_table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct options, member)
#define TIME_MOST (1ull << 40)

const struct option_spec option_table[] = {
    {"directory", 'd', OPTION_LIST, AT(directory), 0, 0, OPTION_OLD, "[LABEL=]DIR", NULL,
     "the working directory", "directory of traces to serve; repeatable",
     "All files named *.pfw and *.pfw.gz below it are served. With several directories, names "
     "begin "
     "with the label, which is the directory's own name unless given."},
    {"bind", 'b', OPTION_LIST, AT(bind), 0, 0, OPTION_OLD, "ADDRESS", NULL, "127.0.0.1 and ::1",
     "address to listen on; repeatable",
     "Beyond loopback it needs a token and TLS (--token-file, --tls-cert), or --insecure."},
    {"port", 'p', OPTION_UINT, AT(port), 0, 65535, OPTION_OLD, "PORT", "8080", NULL,
     "TCP port; 0 takes a free one", NULL},
    {"no-tcp", 0, OPTION_FLAG, AT(no_tcp), 0, 0, 0, NULL, NULL, NULL,
     "listen on the unix socket only", NULL},
    {"unix", 'u', OPTION_TEXT, AT(unix_path), 0, 0, 0, "PATH", NULL, "where the client looks",
     "the unix socket to listen on",
     "The socket is made with mode 0600 and removed at the end. One that is left of a daemon that "
     "was "
     "killed is replaced. The client looks in $DFTRACERD_RUNTIME_DIR, else "
     "$XDG_RUNTIME_DIR/dftracerd, else /tmp/dftracerd-UID, where a daemon leaves its socket, or a "
     "link "
     "to it, and the list of its directories."},
    {"index-dir", 'i', OPTION_TEXT, AT(index_dir), 0, 0, OPTION_OLD | OPTION_NO_ENV, "DIR", NULL,
     "a local cache directory", "where the index goes",
     "It must be on a local file system and belong to the user of the daemon. Without it, a "
     "directory "
     "dftracerd-UID/HASH is made below the first usable one of $DFTRACERD_INDEX_DIR, "
     "$CACHE_DIRECTORY, "
     "$XDG_CACHE_HOME, $TMPDIR, /var/tmp and /tmp. The index is a cache and can be removed at any "
     "time."},
    {"executor-threads", 't', OPTION_UINT, AT(executor_threads), 1, 1024, OPTION_OLD, "N", NULL,
     "CPUs", "threads for indexing and queries", NULL},
    {"checkpoint-size", 0, OPTION_BYTES, AT(checkpoint_size), 65536, 1ull << 30, 0, "BYTES", "4MiB",
     NULL, "text of a chunk",
     "Not more than 32 MiB are taken. With another size than before everything is indexed anew."},
    {"max-index-size", 0, OPTION_BYTES, AT(max_index_size), 16ull << 20, 1ull << 46, 0, "BYTES",
     NULL, "no limit", "the index grows no further",
     "Indexing stops when it is that large, and says so; what is indexed stays and is answered. "
     "Files "
     "that are removed make room at once."},
    {"archive-traces", 0, OPTION_UINT, AT(archive_traces), 1, 1u << 20, 0, "N", "100000", NULL,
     "traces of one tar archive that are read",
     "A small archive may have a million members, each of which takes memory. What is behind the "
     "last one that is read is left out, and the archive is told as damaged."},
    {"map-size", 0, OPTION_BYTES, AT(map_size), 1ull << 20, 1ull << 46, OPTION_HIDDEN, "BYTES",
     NULL, "64 GiB", "address space of the index at first", NULL},
    {"dimensions", 0, OPTION_TEXT, AT(dimensions), 0, 0, 0, "LIST", NULL, "those that pay",
     "columns with bloom filters, comma-separated", NULL},
    {"query-timeout", 0, OPTION_MS, AT(query_timeout_ms), 1, TIME_MOST, OPTION_LIVE, "TIME", "5m",
     NULL, "longest time of a query", "Queries that take longer are answered with 504, or cut."},
    {"query-memory", 0, OPTION_BYTES, AT(query_memory), 1ull << 20, 1ull << 46, 0, "BYTES", "1GiB",
     NULL, "memory of a query", "Queries that need more are answered with 413, or cut."},
    {"total-memory", 0, OPTION_BYTES, AT(total_memory), 1ull << 20, 1ull << 46, 0, "BYTES", "4GiB",
     NULL, "memory of all queries", "Beyond it new ones are answered with 503 and Retry-After."},
    {"answer-memory", 0, OPTION_BYTES, AT(answer_memory), 1ull << 20, 1ull << 46, 0, "BYTES",
     "64MiB", NULL, "memory of answers that are kept",
     "Who asks the same again gets the answer from there, as long as the index has not changed. "
     "One "
     "answer may have an eighth of it."},
    {"output-dir", 0, OPTION_TEXT, AT(output_dir), 0, 0, 0, "DIR", NULL, "nothing is written",
     "directory below which requests with `output` write",
     "/merge, /split, /organize and /reconstruct write new traces there when a request asks for "
     "it. "
     "It "
     "must exist, and lie outside of the directories that are served."},
    {"spool-size", 0, OPTION_BYTES, AT(spool_size), 1ull << 20, 1ull << 46, 0, "BYTES", "16GiB",
     NULL, "disk space for answers in the making",
     "A tar tells the size of each file before its bytes, so files wait in the index directory, "
     "without "
     "a name, until they are whole. Requests that need more are answered with 503, or cut."},
    {"max-queries", 0, OPTION_UINT, AT(max_queries), 1, 65536, 0, "N", NULL, "twice the threads",
     "queries that begin at once; others wait", NULL},
    {"max-queue", 0, OPTION_UINT, AT(max_queue), 1, 1u << 20, 0, "N", "256", NULL,
     "queries that wait", "More are answered with 503 and Retry-After."},
    {"max-connections", 0, OPTION_UINT, AT(max_connections), 1, 1u << 20, 0, "N", "16384", NULL,
     "connections at once over TCP, and as many of unix sockets",
     "Further ones wait to be accepted."},
    {"client-queries", 0, OPTION_UINT, AT(client_queries), 1, 1u << 20, 0, "N", NULL,
     "half of max-queries and max-queue", "queries of one client that begin or wait",
     "A client is a user of this machine, else an address. More are answered with 429 and "
     "Retry-After. Admins have no limits of this kind."},
    {"client-memory", 0, OPTION_BYTES, AT(client_memory), 1ull << 20, 1ull << 46, 0, "BYTES", NULL,
     "half of total-memory", "memory of all queries of one client",
     "Beyond it new ones are answered with 429, and those that need more with 503."},
    {"client-connections", 0, OPTION_UINT, AT(client_connections), 1, 1u << 20, 0, "N", NULL,
     "half of max-connections", "connections of one client", "More are closed at once."},
    {"request-time", 0, OPTION_MS, AT(request_time_ms), 1, TIME_MOST, 0, "TIME", "1m", NULL,
     "a request must have arrived so long after it began",
     "However slowly it comes; else its connection is closed. A tar that is sent has so long for "
     "each MiB."},
    {"idle-time", 0, OPTION_MS, AT(idle_time_ms), 1000, 86400000, 0, "TIME", "2m", NULL,
     "a connection without progress is closed after so long",
     "In whole seconds: those that nothing is asked on, and those whose client takes nothing."},
    {"link-time", 0, OPTION_MS, AT(link_time_ms), 1, TIME_MOST, 0, "TIME", "15m", NULL,
     "a path that a question has below /q is good for so long",
     "From when it was made, however often it is used: who knows it needs no token."},
    {"rescan", 0, OPTION_MS, AT(rescan_ms), 10, TIME_MOST, 0, "TIME", "2s", NULL,
     "how often the directories are read", NULL},
    {"settle", 0, OPTION_MS, AT(settle_ms), 1, TIME_MOST, 0, "TIME", "10s", NULL,
     "a file that has not changed for so long is complete",
     "Until then answers that concern it say that they are incomplete, and a last line without an "
     "end is not counted. With --on-demand every file is complete as it is."},
    {"keep-missing", 0, OPTION_MS, AT(keep_missing_ms), 1, TIME_MOST, 0, "TIME", "10m", NULL,
     "what is known of a file that has gone is kept so long",
     "Should it come back by then, it is not read again. While its directory cannot be read it has "
     "not gone."},
    {"drain-time", 0, OPTION_MS, AT(drain_time_ms), 0, 600000, 0, "TIME", "5s", NULL,
     "at a stop, requests that are being answered have so long",
     "New ones are refused meanwhile. Those that wait for the index, or whose client takes nothing "
     "for "
     "a second, are not waited for."},
    {"idle-exit", 0, OPTION_MS, AT(idle_exit_ms), 1, TIME_MOST, 0, "TIME", NULL, "never",
     "end when no request was served for so long", "For daemons that are started on demand."},
    {"on-demand", 0, OPTION_FLAG, AT(on_demand), 0, 0, 0, NULL, NULL, NULL,
     "index only the files that requests select", NULL},
    {"background", 0, OPTION_FLAG, AT(background), 0, 0, OPTION_ONLY_LINE, NULL, NULL, NULL,
     "return when requests are answered, and go on in the background",
     "Exit status 0 says that it listens; 1 and the reason on standard error that it could not "
     "start, "
     "75 that another daemon uses the index."},
    {"token-file", 0, OPTION_TEXT, AT(token_file), 0, 0, OPTION_LIVE, "FILE", NULL, "no token",
     "bearer token for peers of other users, who may ask",
     "The first line is the token. The file must not be readable by others (chmod 600). One that "
     "does not exist is made, with 256 bits at random. Without the option, the credential `token` "
     "of systemd (LoadCredential=) is taken, where there is one."},
    {"admin-token-file", 0, OPTION_TEXT, AT(admin_token_file), 0, 0, OPTION_LIVE, "FILE", NULL,
     "the user of the daemon only", "bearer token for those who may also change something",
     "Indexing anew, writing below --output-dir and ending requests of others. As --token-file; "
     "the credential is `admin-token`."},
    {"allow-user", 0, OPTION_LIST, AT(allow_user), 0, 0, OPTION_LIVE, "NAME|UID", NULL,
     "the user of the daemon only", "serve this user without a token; repeatable",
     "Such a user may ask, but not change anything."},
    {"allow-host", 0, OPTION_LIST, AT(allow_host), 0, 0, OPTION_HOST, "NAME", NULL,
     "localhost and what is bound", "answer requests for this host; repeatable",
     "The names in the addresses that clients use, as of a proxy or of this machine. Requests for "
     "others are refused: they come from pages whose name was made to point here."},
    {"allow-origin", 0, OPTION_LIST, AT(allow_origin), 0, 0, OPTION_ORIGIN, "ORIGIN", NULL,
     "ui.perfetto.dev and VS Code", "pages from there may ask; repeatable",
     "As browsers tell it, for instance http://localhost:10000. All others are refused."},
    {"no-auth", 0, OPTION_FLAG, AT(no_auth), 0, 0, 0, NULL, NULL, NULL,
     "serve every user of this host, without a token", "They may ask, but not change anything."},
    {"enforce-file-permissions", 0, OPTION_FLAG, AT(file_permissions), 0, 0, 0, NULL, NULL, NULL,
     "others see only the files that they could read themselves",
     "Owner, group, mode and POSIX access lists of a file and of the directories above it decide. "
     "What a user may not read is not there: in names, counts and everything else. The user of the "
     "daemon and the admin token see all. Clients whose user is not known (beyond loopback) see "
     "what everybody may read. /metrics is for admins then."},
    {"insecure", 0, OPTION_FLAG, AT(insecure), 0, 0, 0, NULL, NULL, NULL,
     "listen beyond loopback also without TLS",
     "Tokens and answers can then be read on the way. With --no-auth everyone who reaches the port "
     "is served. Meant for closed networks and behind a proxy."},
    {"tls-cert", 0, OPTION_TEXT, AT(tls_cert), 0, 0, OPTION_LIVE, "FILE", NULL, "plain HTTP",
     "certificate and those between it and the root, as PEM",
     "With it all TCP sockets speak TLS only. A reload takes new files over for new connections. "
     "Without the options, the credentials tls-cert, tls-key and tls-client-ca of systemd are "
     "taken."},
    {"tls-key", 0, OPTION_TEXT, AT(tls_key), 0, 0, OPTION_LIVE, "FILE", NULL, NULL,
     "the certificate's key, as PEM; readable by its owner only", NULL},
    {"tls-client-ca", 0, OPTION_TEXT, AT(tls_client_ca), 0, 0, OPTION_LIVE, "FILE", NULL,
     "clients are not asked", "who shows a certificate of these authorities needs no token",
     "Such a client may ask, but not change anything. Others may still come with the token."},
    {"log-level", 0, OPTION_CHOICE, AT(log_level), 0, 0, OPTION_OLD | OPTION_LIVE,
     "error|warning|info|debug", "info", NULL, "what is logged to standard error",
     "With info, each request is a line. If standard error is a terminal, requests are logged only "
     "if this option is given."},
    {"config", 'c', OPTION_TEXT, AT(config), 0, 0, OPTION_NOT_IN_FILE, "FILE", NULL, NULL,
     "the configuration file; /dev/null for none", NULL},
    {"check", 'n', OPTION_FLAG, AT(check_only), 0, 0, OPTION_ONLY_LINE, NULL, NULL, NULL,
     "check options, directories, index place, token and addresses, then exit",
     "Prints ok and ends with 0, or prints what is wrong and ends with 2 (options) or 1 (all "
     "else). It may run beside a daemon, as at a reload, so it does not look whether another one "
     "has "
     "the port, the socket or the index, and it makes nothing: neither the index nor tokens that "
     "are yet to be made."},
    {"print-config", 0, OPTION_FLAG, AT(print_config), 0, 0, OPTION_ONLY_LINE, NULL, NULL, NULL,
     "like --check, and print the effective configuration", NULL},
    {"version", 'V', OPTION_FLAG, AT(version), 0, 0, OPTION_ONLY_LINE | OPTION_OLD, NULL, NULL,
     NULL, "print version and build, then exit", NULL},
    {"help", 'h', OPTION_FLAG, AT(help), 0, 0, OPTION_ONLY_LINE | OPTION_OLD, NULL, NULL, NULL,
     "print this text, then exit", NULL},
    {"document", 0, OPTION_TEXT, AT(document), 0, 0, OPTION_ONLY_LINE | OPTION_HIDDEN, "WHAT", NULL,
     NULL, "write man8, man5 or conf", NULL},
};
const size_t option_count = sizeof option_table / sizeof *option_table;
_Static_assert(sizeof option_table / sizeof *option_table <= OPTIONS_MAX, "raise OPTIONS_MAX");

int option_find(struct text name)
{
    for (size_t i = 0; i < option_count; i++)
        if (text_eq(name, text_of(option_table[i].name)))
            return (int)i;
    return -1;
}

void option_variable(const struct option_spec *s, char *ret, size_t size)
{
    snprintf(ret, size, "DFTRACERD_%s", s->name);
    for (char *p = ret; *p; p++)
        *p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
}

const char *option_keep(struct options *o, struct text t)
{
    char **grown = realloc(o->owned, (o->owned_count + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    o->owned = grown;
    char *copy = strndup(t.ptr ? t.ptr : "", t.len);
    if (copy)
        o->owned[o->owned_count++] = copy;
    return copy;
}

void options_done(struct options *o)
{
    for (size_t i = 0; i < o->owned_count; i++)
        free(o->owned[i]);
    free(o->owned);
    *o = (struct options){0};
}

/* ---- one value ---- */

static int bad(struct err *err, const struct option_spec *s, const char *from, const char *value,
               const char *why)
{
    if (from)
        return err_set_param(err, -EINVAL, s->name, "%s: %s = %s: %s", from, s->name, value, why);
    return err_set_param(err, -EINVAL, s->name, "--%s %s: %s", s->name, value, why);
}

/* What is wrong with the value, or NULL. */
static const char *set_number(struct options *o, const struct option_spec *s, const char *value)
{
    uint64_t n = 0;
    int64_t ns = 0;
    struct text t = text_of(value);
    int rc;
    if (s->kind == OPTION_UINT) {
        rc = num_parse_u64(t, &n);
    } else if (s->kind == OPTION_BYTES) {
        rc = num_parse_bytes(t, &n);
    } else {
        rc = num_parse_duration(t, 1000000, &ns);
        n = rc == 0 && ns > 0 ? (uint64_t)ns / 1000000 : 0;
    }
    if (rc < 0)
        return s->kind == OPTION_MS ? "not a duration" : "not a number";
    if (ns < 0 || n < s->least || n > s->most)
        return "out of range";
    *(uint64_t *)(void *)((char *)o + s->at) = n;
    return NULL;
}

static const char *set_flag(struct options *o, const struct option_spec *s, const char *value)
{
    static const char *const words[] = {"no", "false", "off", "0", "yes", "true", "on", "1"};
    for (size_t i = 0; i < 8; i++)
        if (strcmp(value, words[i]) == 0)
            return *(bool *)((char *)o + s->at) = i >= 4, NULL;
    return "must be yes or no";
}

static const char *set_choice(struct options *o, const struct option_spec *s, const char *value)
{
    struct text rest = text_of(s->argument), word;
    while (text_split(&rest, '|', &word))
        if (text_eq(word, text_of(value)))
            return *(const char **)(void *)((char *)o + s->at) = value, NULL;
    return "must be error, warning, info or debug";
}

static const char *add_to_list(struct options *o, const struct option_spec *s, const char *value,
                               bool replace)
{
    struct option_list *list = (void *)((char *)o + s->at);
    if (replace)
        list->count = 0;
    if (list->count == OPTIONS_LIST_MAX)
        return "given too often";
    const char *why = s->flags & OPTION_HOST     ? option_check_host(value)
                      : s->flags & OPTION_ORIGIN ? option_check_origin(value)
                                                 : NULL;
    if (why)
        return why;
    list->items[list->count++] = value;
    return NULL;
}

int option_set(struct options *o, size_t i, enum option_level level, const char *from,
               const char *value, struct err *err)
{
    const struct option_spec *s = &option_table[i];
    const char *why = NULL;
    if (s->kind == OPTION_FLAG)
        why = set_flag(o, s, value);
    else if (!*value)
        why = "a value is missing";
    else if (s->kind == OPTION_TEXT)
        *(const char **)(void *)((char *)o + s->at) = value;
    else if (s->kind == OPTION_CHOICE)
        why = set_choice(o, s, value);
    else if (s->kind == OPTION_LIST)
        why = add_to_list(o, s, value, o->level[i] < level);
    else
        why = set_number(o, s, value);
    if (why)
        return bad(err, s, from, value, why);
    o->level[i] = (unsigned char)level;
    o->from[i] = from ? from : "command line";
    o->value[i] = value;
    return 0;
}
