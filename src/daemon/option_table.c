/* option_table.c - every option once: command line, file, environment, --help and manual are made
 * from it. size: table */
#include "daemon/option_table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct options, member)
#define TIME_MOST (1ull << 40)

const struct option_spec option_table[] = {
    {"directory", 'd', OPTION_LIST, AT(directory), 0, 0, OPTION_OLD, "[LABEL=]DIR", NULL,
     "the working directory", "directory of traces to serve; repeatable",
     "Serves all *.pfw and *.pfw.gz files and tar archives (.tar, .tar.gz, .tgz) below it. With "
     "several directories, file names start with the label of their directory. The default label "
     "is the directory's own name."},
    {"bind", 'b', OPTION_LIST, AT(bind), 0, 0, OPTION_OLD, "ADDRESS", NULL, "127.0.0.1 and ::1",
     "address to listen on; repeatable",
     "An address other than loopback requires TLS (--tls-cert) and a token (--token-file) or "
     "client certificates (--tls-client-ca). With --insecure, TLS is optional; with --insecure and "
     "--no-auth, so is the token."},
    {"port", 'p', OPTION_UINT, AT(port), 0, 65535, OPTION_OLD, "PORT", "8080", NULL,
     "TCP port; 0 selects a free one", NULL},
    {"no-tcp", 0, OPTION_FLAG, AT(no_tcp), 0, 0, 0, NULL, NULL, NULL,
     "listen on the Unix socket only", NULL},
    {"unix", 'u', OPTION_TEXT, AT(unix_path), 0, 0, 0, "PATH", NULL,
     "a socket in the runtime directory", "path of the Unix socket to listen on",
     "The socket has mode 0600 and is removed when the daemon exits. A stale socket of a killed "
     "daemon is replaced. The client finds daemons through the runtime directory: "
     "$DFTRACERD_RUNTIME_DIR, else $XDG_RUNTIME_DIR/dftracerd, else /tmp/dftracerd-UID. There each "
     "daemon creates its socket, or a link to it, and a list of the directories it serves."},
    {"index-dir", 'i', OPTION_TEXT, AT(index_dir), 0, 0, OPTION_OLD | OPTION_NO_ENV, "DIR", NULL,
     "a local cache directory", "directory of the index",
     "It must be on a local file system and belong to the user who runs the daemon. Without this "
     "option, the daemon creates dftracerd-UID/HASH below the first usable directory of "
     "$DFTRACERD_INDEX_DIR, $CACHE_DIRECTORY, $XDG_CACHE_HOME, $TMPDIR, /var/tmp and /tmp. The "
     "index is a cache: it can be deleted while no daemon uses it, and is then rebuilt."},
    {"index-base", 0, OPTION_TEXT, AT(index_base), 0, 0, OPTION_NO_ENV, "DIR", NULL, NULL,
     "directory for indexes, with a subdirectory for each set of directories",
     "The index is in DIR/HASH, where HASH depends on the directories that are served. DIR and the "
     "directories above it are created. The --index-dir of dftracerctl and dftracer_server is this "
     "option. --index-dir overrides it."},
    {"executor-threads", 't', OPTION_UINT, AT(executor_threads), 1, 1024, OPTION_OLD, "N", NULL,
     "number of CPUs", "number of threads for indexing, and the same number for queries", NULL},
    {"checkpoint-size", 0, OPTION_BYTES, AT(checkpoint_size), 65536, 1ull << 30, OPTION_OLD,
     "BYTES", "4MiB", NULL, "uncompressed bytes per chunk",
     "A chunk is the unit of the index that a query reads or skips. Values above 32 MiB are "
     "reduced to 32 MiB. Changing the size rebuilds the whole index."},
    {"max-index-size", 0, OPTION_BYTES, AT(max_index_size), 16ull << 20, 1ull << 46, 0, "BYTES",
     NULL, "no limit", "maximum size of the index",
     "Indexing stops when the index reaches this size, and the log says so. Data already indexed "
     "can still be queried. Space of deleted files is reused at once."},
    {"archive-traces", 0, OPTION_UINT, AT(archive_traces), 1, 1u << 20, 0, "N", "100000", NULL,
     "maximum number of traces read from one tar archive",
     "Each trace takes memory, and a small archive can contain a million of them. Further traces "
     "are ignored, and the archive gets the state 'damaged'."},
    {"map-size", 0, OPTION_BYTES, AT(map_size), 1ull << 20, 1ull << 46, OPTION_HIDDEN, "BYTES",
     NULL, "64 GiB", "initial size of the memory map of the index", NULL},
    {"dimensions", 0, OPTION_TEXT, AT(dimensions), 0, 0, 0, "LIST", NULL,
     "name,cat,pid,tid,args.hhash,args.fhash,args.shash",
     "columns that get bloom filters, comma-separated", NULL},
    {"query-timeout", 0, OPTION_MS, AT(query_timeout_ms), 1, TIME_MOST, OPTION_LIVE, "TIME", "5m",
     NULL, "maximum run time of a query",
     "A query that takes longer gets status 504. While an answer is being sent, the limit applies "
     "to each part of it; if one takes longer, the answer is cut off."},
    {"query-memory", 0, OPTION_BYTES, AT(query_memory), 1ull << 20, 1ull << 46, 0, "BYTES", "1GiB",
     NULL, "memory limit of one query",
     "A query that needs more gets status 413; an answer that is already being sent is cut off. "
     "The "
     "default is at most a quarter of the memory that the daemon may use: that of the machine, of "
     "its control group, or of ulimit -v."},
    {"total-memory", 0, OPTION_BYTES, AT(total_memory), 1ull << 20, 1ull << 46, 0, "BYTES", "4GiB",
     NULL, "memory limit of all queries together",
     "While it is reached, new queries get status 503 with Retry-After. The default is at most a "
     "third of the memory that the daemon may use."},
    {"answer-memory", 0, OPTION_BYTES, AT(answer_memory), 1ull << 20, 1ull << 46, 0, "BYTES",
     "64MiB", NULL, "memory for the response cache",
     "Repeated requests are served from this cache until the index changes. One answer may take at "
     "most an eighth of it. The default is at most a sixteenth of the memory that the daemon may "
     "use."},
    {"output-dir", 0, OPTION_TEXT, AT(output_dir), 0, 0, 0, "DIR", NULL, "nothing is written",
     "directory for the results of requests with `output`",
     "With the parameter `output`, /merge, /split, /organize and /reconstruct write new traces "
     "below this directory. It must exist, outside the served directories and the index."},
    {"spool-size", 0, OPTION_BYTES, AT(spool_size), 1ull << 20, 1ull << 46, 0, "BYTES", "16GiB",
     NULL, "disk space for temporary files of requests",
     "In a tar archive, the size of a file comes before its content. The daemon therefore "
     "writes each file to an unnamed temporary file in the index directory before it sends it. "
     "A request that exceeds the limit gets status 503; an answer that is already being sent is "
     "cut off."},
    {"max-queries", 0, OPTION_UINT, AT(max_queries), 1, 65536, 0, "N", NULL,
     "twice the number of threads", "maximum number of queries that run at once; others wait",
     NULL},
    {"max-queue", 0, OPTION_UINT, AT(max_queue), 1, 1u << 20, 0, "N", "256", NULL,
     "maximum number of waiting queries", "Further queries get status 503 with Retry-After."},
    {"max-connections", 0, OPTION_UINT, AT(max_connections), 1, 1u << 20, 0, "N", "16384", NULL,
     "maximum number of TCP connections; Unix socket connections have their own limit of the "
     "same size",
     "Further connections wait until they are accepted."},
    {"client-queries", 0, OPTION_UINT, AT(client_queries), 1, 1u << 20, 0, "N", NULL,
     "half of max-queries and max-queue",
     "maximum number of running and waiting queries of one client",
     "A client is a user of this machine, or else an address. Further queries get status 429 with "
     "Retry-After. This limit does not apply to admins."},
    {"client-memory", 0, OPTION_BYTES, AT(client_memory), 1ull << 20, 1ull << 46, 0, "BYTES", NULL,
     "half of total-memory", "memory limit of all queries of one client",
     "While it is reached, new queries get status 429, and running queries that need more memory "
     "get 503. This limit does not apply to admins."},
    {"client-connections", 0, OPTION_UINT, AT(client_connections), 1, 1u << 20, 0, "N", NULL,
     "half of max-connections", "maximum number of connections of one client",
     "Further connections are closed at once, with status 429 where there is no TLS. This limit "
     "does not apply to admins."},
    {"request-time", 0, OPTION_MS, AT(request_time_ms), 1, TIME_MOST, 0, "TIME", "1m", NULL,
     "maximum time for a request to arrive",
     "The time starts when the request begins to arrive. A connection whose request takes longer "
     "is closed. An uploaded tar has this time for each MiB."},
    {"idle-time", 0, OPTION_MS, AT(idle_time_ms), 1000, 86400000, 0, "TIME", "2m", NULL,
     "close connections that make no progress for this time",
     "This applies to connections without a request and to clients that stop reading. It is "
     "rounded up to whole seconds."},
    {"link-time", 0, OPTION_MS, AT(link_time_ms), 1, TIME_MOST, 0, "TIME", "15m", NULL,
     "lifetime of the link (/q/...) of a stored query",
     "The time starts when the link is created; using the link does not extend it. Anybody who has "
     "the link can use it without a token."},
    {"rescan", 0, OPTION_MS, AT(rescan_ms), 10, TIME_MOST, 0, "TIME", "2s", NULL,
     "interval between directory scans", NULL},
    {"settle", 0, OPTION_MS, AT(settle_ms), 1, TIME_MOST, 0, "TIME", "10s", NULL,
     "treat a file as complete when it has not changed for this time",
     "Until then, answers that use the file are marked as incomplete, and a last line without a "
     "line end is not counted. With --on-demand, every file is treated as complete."},
    {"keep-missing", 0, OPTION_MS, AT(keep_missing_ms), 1, TIME_MOST, 0, "TIME", "10m", NULL,
     "keep the index of a deleted file for this time",
     "If the file reappears unchanged within this time, it is not indexed again. A file in an "
     "unreadable directory does not count as deleted."},
    {"drain-time", 0, OPTION_MS, AT(drain_time_ms), 0, 600000, 0, "TIME", "5s", NULL,
     "on shutdown, wait this long for running requests",
     "New requests are refused meanwhile. The daemon does not wait for requests that wait for the "
     "index, nor for clients that read nothing for a second."},
    {"idle-exit", 0, OPTION_MS, AT(idle_exit_ms), 1, TIME_MOST, 0, "TIME", NULL, "never",
     "exit after this time without a request",
     "Meant for daemons that dftracerctl starts in "
     "the background."},
    {"on-demand", 0, OPTION_FLAG, AT(on_demand), 0, 0, 0, NULL, NULL, NULL,
     "index only the files that requests select", NULL},
    {"background", 0, OPTION_FLAG, AT(background), 0, 0, OPTION_ONLY_LINE, NULL, NULL, NULL,
     "start in the background; return when the daemon is ready",
     "Exit status: 0 if the daemon is listening, 75 if another daemon uses the index, 1 for any "
     "other failure to start. The reason is written to standard error."},
    {"join", 0, OPTION_FLAG, AT(join), 0, 0, OPTION_ONLY_LINE, NULL, NULL, NULL,
     "let a running daemon serve the directories",
     "If a daemon of the same user runs that was started with --join and otherwise the same "
     "options, it also serves these directories, with an index and a Unix socket of their own, and "
     "this command exits with status 0. Otherwise the daemon starts. Directories, --index-dir, "
     "--index-base and --executor-threads (if not given here) may differ. A daemon serves at most "
     "32 sets of directories; threads and memory limits are shared. dftracerctl starts daemons "
     "with this option."},
    {"token-file", 0, OPTION_TEXT, AT(token_file), 0, 0, OPTION_LIVE, "FILE", NULL, "no token",
     "file with the bearer token that lets other users query",
     "The first line of the file is the token. Only the owner may be able to read the file (chmod "
     "600). If the file does not exist, it is created with a random token of 256 bits. Without "
     "this option, the systemd credential `token` (LoadCredential=) is used if there is one."},
    {"token", 0, OPTION_TEXT, AT(token), 0, 0, OPTION_OLD | OPTION_ONLY_OLD | OPTION_ONLY_LINE,
     "TOKEN", NULL, "no token",
     "bearer token that lets other users query; they can see it in the list of processes", NULL},
    {"admin-token-file", 0, OPTION_TEXT, AT(admin_token_file), 0, 0, OPTION_LIVE, "FILE", NULL,
     "only the user who runs the daemon",
     "file with the bearer token of admins, who may also make changes",
     "Admins may also rebuild the index, write below --output-dir and cancel requests of others. "
     "The file works like --token-file; the systemd credential is `admin-token`."},
    {"allow-user", 0, OPTION_LIST, AT(allow_user), 0, 0, OPTION_LIVE, "NAME|UID", NULL,
     "only the user who runs the daemon", "let this user query without a token; repeatable",
     "The user may query, but not make changes."},
    {"allow-host", 0, OPTION_LIST, AT(allow_host), 0, 0, OPTION_HOST, "NAME", NULL,
     "localhost and the addresses of --bind", "accept requests for this host name; repeatable",
     "Give each name that clients use in their URLs, such as the name of this machine or of a "
     "proxy. Requests for other names are refused, which protects against DNS rebinding."},
    {"allow-origin", 0, OPTION_LIST, AT(allow_origin), 0, 0, OPTION_ORIGIN, "ORIGIN", NULL,
     "ui.perfetto.dev and VS Code", "let web pages of this origin send requests; repeatable",
     "Write the origin as browsers send it, for example http://localhost:10000, or "
     "https://*.vscode-cdn.net for all names below vscode-cdn.net. localhost, 127.0.0.1 and [::1] "
     "are the same. Requests of pages from all other origins are refused."},
    {"no-auth", 0, OPTION_FLAG, AT(no_auth), 0, 0, 0, NULL, NULL, NULL,
     "let every user of this host query without a token", "They may query, but not make changes."},
    {"enforce-file-permissions", 0, OPTION_FLAG, AT(file_permissions), 0, 0, 0, NULL, NULL, NULL,
     "show other users only the files that they can read themselves",
     "The daemon checks owner, group, mode and POSIX access control lists of a file and of the "
     "directories above it. Files that a user may not read are missing from all answers, including "
     "names and counts. The user who runs the daemon and holders of the admin token see all files. "
     "Clients whose user is unknown (for example from another host) see the files that everybody "
     "may read. Only admins may then read /metrics."},
    {"insecure", 0, OPTION_FLAG, AT(insecure), 0, 0, 0, NULL, NULL, NULL,
     "allow addresses other than loopback without TLS",
     "Tokens and answers then cross the network unencrypted. With --no-auth, everybody who can "
     "reach the port can query. Use it only in closed networks or behind a proxy."},
    {"tls-cert", 0, OPTION_TEXT, AT(tls_cert), 0, 0, OPTION_LIVE, "FILE", NULL, "plain HTTP",
     "certificate and its intermediate certificates (PEM)",
     "With this option, all TCP sockets accept TLS only. After a reload, new connections use the "
     "new files. Without the TLS options, the systemd credentials tls-cert, tls-key and "
     "tls-client-ca are used if there are any."},
    {"tls-key", 0, OPTION_TEXT, AT(tls_key), 0, 0, OPTION_LIVE, "FILE", NULL, NULL,
     "private key of the certificate (PEM); readable by its owner only", NULL},
    {"tls-client-ca", 0, OPTION_TEXT, AT(tls_client_ca), 0, 0, OPTION_LIVE, "FILE", NULL,
     "no client certificates", "let clients with a certificate from these authorities query (PEM)",
     "Such clients need no token. They may query, but not make changes. Other clients can still "
     "use a token."},
    {"log-level", 0, OPTION_CHOICE, AT(log_level), 0, 0, OPTION_OLD | OPTION_LIVE,
     "off|error|warning|info|debug", "info", NULL,
     "minimum severity of messages logged to standard error",
     "critical, warn and trace are other names of error, warning and debug. With info, each "
     "request is a line. If standard error is a terminal, requests are logged only "
     "if this option is given."},
    {"config", 'c', OPTION_TEXT, AT(config), 0, 0, OPTION_NOT_IN_FILE, "FILE", NULL, NULL,
     "configuration file; /dev/null for none", NULL},
    {"check", 'n', OPTION_FLAG, AT(check_only), 0, 0, OPTION_ONLY_LINE, NULL, NULL, NULL,
     "check the configuration, then exit",
     "Checks options, directories, the directory of the index, tokens and addresses. Prints `ok` "
     "and exits with status 0, or prints the error and exits with 2 (options) or 1 (anything "
     "else). It can run while a daemon runs, for example before a reload: it does not check "
     "whether the port, socket or index is in use, and it creates neither the index nor token "
     "files."},
    {"print-config", 0, OPTION_FLAG, AT(print_config), 0, 0, OPTION_ONLY_LINE, NULL, NULL, NULL,
     "like --check, but print the effective configuration", NULL},
    {"version", 'V', OPTION_FLAG, AT(version), 0, 0, OPTION_ONLY_LINE | OPTION_OLD, NULL, NULL,
     NULL, "print version and build, then exit", NULL},
    {"help", 'h', OPTION_FLAG, AT(help), 0, 0, OPTION_ONLY_LINE | OPTION_OLD, NULL, NULL, NULL,
     "print this help, then exit", NULL},
    {"document", 0, OPTION_TEXT, AT(document), 0, 0, OPTION_ONLY_LINE | OPTION_HIDDEN, "WHAT", NULL,
     NULL, "print a document: man8, man5 or conf", NULL},
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

/* ---- one value ------------------------------------------------------------------------------- */

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
        rc = num_parse_duration(t, 1, &ns);
        n = rc == 0 && ns > 0 ? (uint64_t)ns / 1000000 : 0;
        /* 20: seconds, milliseconds? Only 0 is clear. */
        if (rc == 0 && ns > 0 && !isalpha((unsigned char)value[t.len - 1]))
            return "the unit is missing: ms, s, m or h";
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
    static const char *const names[][2] = {
        {"critical", "error"}, {"warn", "warning"}, {"trace", "debug"}};
    struct text rest = text_of(s->argument), word;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(value, names[i][0]) == 0)
            value = names[i][1];
    while (text_split(&rest, '|', &word))
        if (text_eq(word, text_of(value)))
            return *(const char **)(void *)((char *)o + s->at) = value, NULL;
    return "must be off, error, warning, info or debug";
}

static const char *add_to_list(struct options *o, const struct option_spec *s, const char *value,
                               bool replace)
{
    struct option_list *list = (void *)((char *)o + s->at);
    if (replace)
        list->count = 0;
    if (list->count == OPTIONS_LIST_MAX)
        return "too many values";
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
        why = "value missing";
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
