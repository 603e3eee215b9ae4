/* option_table.c - the table of options: command line, file, environment, --help and manual are
 * generated from it. size: table */
#include "daemon/option_table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define OPTION(name_, kind_, member, help_, ...) \
    { \
        .name = name_, .kind = OPTION_##kind_, .at = offsetof(struct options, member), \
        .help = help_, ##__VA_ARGS__ \
    }
#define TIME_MAX (1ull << 40)

const struct option_spec option_table[] = {
    OPTION("directory", LIST, directory, "directory of traces to serve; repeatable", .letter = 'd',
           .argument = "[LABEL=]DIR", .otherwise = "the working directory", .flags = OPTION_OLD,
           .more = "Serves all *.pfw and *.pfw.gz files and tar archives (.tar, .tar.gz, .tgz) "
                   "below it. With several directories, file names start with the label of their "
                   "directory. The default label is the directory's own name."),
    OPTION("bind", LIST, bind, "address to listen on; repeatable", .letter = 'b',
           .argument = "ADDRESS", .otherwise = "127.0.0.1 and ::1", .flags = OPTION_OLD,
           .more = "An address other than loopback requires TLS (--tls-cert) and a token "
                   "(--token-file) or client certificates (--tls-client-ca). With --insecure, TLS "
                   "is optional; with --insecure and --no-auth, so is the token."),
    OPTION("port", UINT, port, "TCP port; 0 selects a free one", .letter = 'p', .argument = "PORT",
           .initial = "8080", .max = 65535, .flags = OPTION_OLD),
    OPTION("no-tcp", FLAG, no_tcp, "listen on the Unix socket only"),
    OPTION("unix", TEXT, unix_path, "path of the Unix socket to listen on", .letter = 'u',
           .argument = "PATH", .otherwise = "a socket in the runtime directory",
           .more = "The socket has mode 0600 and is removed when the daemon exits. A stale socket "
                   "of a killed daemon is replaced. The client finds daemons through the runtime "
                   "directory: $DFTRACERD_RUNTIME_DIR, else $XDG_RUNTIME_DIR/dftracerd, else "
                   "/tmp/dftracerd-UID. There each daemon creates its socket, or a link to it, and "
                   "a list of the directories it serves."),
    OPTION("index-dir", TEXT, index_dir, "directory of the index", .letter = 'i', .argument = "DIR",
           .otherwise = "a local cache directory", .flags = OPTION_OLD | OPTION_NO_ENV,
           .more = "It must be on a local file system and belong to the user who runs the daemon. "
                   "Without this option, the daemon creates dftracerd-UID/HASH below the first "
                   "usable directory of $DFTRACERD_INDEX_DIR, $CACHE_DIRECTORY, $XDG_CACHE_HOME, "
                   "$TMPDIR, /var/tmp and /tmp. The index is a cache: it can be deleted while no "
                   "daemon uses it, and is then rebuilt."),
    OPTION("index-base", TEXT, index_base,
           "directory for indexes, with a subdirectory for each set of directories",
           .argument = "DIR", .flags = OPTION_NO_ENV,
           .more = "The index is in DIR/HASH, where HASH depends on the directories that are "
                   "served. DIR and the directories above it are created. The --index-dir of "
                   "dftracerctl and dftracer_server is this option. --index-dir overrides it."),
    OPTION("executor-threads", UINT, executor_threads,
           "number of threads for indexing, and the same number for queries", .letter = 't',
           .argument = "N", .otherwise = "number of CPUs", .min = 1, .max = 1024,
           .flags = OPTION_OLD),
    OPTION("checkpoint-size", BYTES, checkpoint_size, "uncompressed bytes per chunk",
           .argument = "BYTES", .initial = "4MiB", .min = 65536, .max = 1ull << 30,
           .flags = OPTION_OLD,
           .more = "A chunk is the unit of the index that a query reads or skips. Values above 32 "
                   "MiB are reduced to 32 MiB. Changing the size rebuilds the whole index."),
    OPTION("max-index-size", BYTES, max_index_size, "maximum size of the index",
           .argument = "BYTES", .otherwise = "no limit", .min = 16ull << 20, .max = 1ull << 46,
           .more =
               "Indexing stops when the index reaches this size, and the log says so. Data already "
               "indexed can still be queried. Space of deleted files is reused at once."),
    OPTION("archive-traces", UINT, archive_traces,
           "maximum number of traces read from one tar archive", .argument = "N",
           .initial = "100000", .min = 1, .max = 1u << 20,
           .more = "Each trace takes memory, and a small archive can contain a million of them. "
                   "Further traces are ignored, and the archive gets the state 'damaged'."),
    OPTION("map-size", BYTES, map_size, "initial size of the memory map of the index",
           .argument = "BYTES", .otherwise = "64 GiB", .min = 1ull << 20, .max = 1ull << 46,
           .flags = OPTION_HIDDEN),
    OPTION("dimensions", TEXT, dimensions, "columns that get bloom filters, comma-separated",
           .argument = "LIST", .otherwise = "name,cat,pid,tid,args.hhash,args.fhash,args.shash"),
    OPTION("query-timeout", MS, query_timeout_ms, "maximum run time of a query", .argument = "TIME",
           .initial = "5m", .min = 1, .max = TIME_MAX, .flags = OPTION_LIVE,
           .more = "A query that takes longer gets status 504. While an answer is being sent, the "
                   "limit applies to each part of it; if one takes longer, the answer is cut off."),
    OPTION("query-memory", BYTES, query_memory, "memory limit of one query", .argument = "BYTES",
           .initial = "1GiB", .min = 1ull << 20, .max = 1ull << 46,
           .more = "A query that needs more gets status 413; an answer that is already being sent "
                   "is cut off. The default is at most a quarter of the memory that the daemon may "
                   "use: that of the machine, of its control group, or of ulimit -v."),
    OPTION("total-memory", BYTES, total_memory, "memory limit of all queries together",
           .argument = "BYTES", .initial = "4GiB", .min = 1ull << 20, .max = 1ull << 46,
           .more = "While it is reached, new queries get status 503 with Retry-After. The default "
                   "is at most a third of the memory that the daemon may use."),
    OPTION("answer-memory", BYTES, answer_memory, "memory for the response cache",
           .argument = "BYTES", .initial = "64MiB", .min = 1ull << 20, .max = 1ull << 46,
           .more = "Repeated requests are served from this cache until the index changes. One "
                   "answer may take at most an eighth of it. The default is at most a sixteenth of "
                   "the memory that the daemon may use."),
    OPTION("output-dir", TEXT, output_dir, "directory for the results of requests with `output`",
           .argument = "DIR", .otherwise = "nothing is written",
           .more = "With the parameter `output`, /merge, /split, /organize and /reconstruct write "
                   "new traces below this directory. It must exist, outside the served directories "
                   "and the index."),
    OPTION("spool-size", BYTES, spool_size, "disk space for temporary files of requests",
           .argument = "BYTES", .initial = "16GiB", .min = 1ull << 20, .max = 1ull << 46,
           .more = "In a tar archive, the size of a file comes before its content. The daemon "
                   "therefore writes each file to an unnamed temporary file in the index directory "
                   "before it sends it. A request that exceeds the limit gets status 503; an "
                   "answer that is already being sent is cut off."),
    OPTION("max-queries", UINT, max_queries,
           "maximum number of queries that run at once; others wait", .argument = "N",
           .otherwise = "twice the number of threads", .min = 1, .max = 65536),
    OPTION("max-queue", UINT, max_queue, "maximum number of waiting queries", .argument = "N",
           .initial = "256", .min = 1, .max = 1u << 20,
           .more = "Further queries get status 503 with Retry-After."),
    OPTION("max-connections", UINT, max_connections,
           "maximum number of TCP connections; Unix socket connections have their own limit of the "
           "same size",
           .argument = "N", .initial = "16384", .min = 1, .max = 1u << 20,
           .more = "Further connections wait until they are accepted."),
    OPTION("client-queries", UINT, client_queries,
           "maximum number of running and waiting queries of one client", .argument = "N",
           .otherwise = "half of max-queries and max-queue", .min = 1, .max = 1u << 20,
           .more = "A client is a user of this machine, or else an address. Further queries get "
                   "status 429 with Retry-After. This limit does not apply to admins."),
    OPTION("client-memory", BYTES, client_memory, "memory limit of all queries of one client",
           .argument = "BYTES", .otherwise = "half of total-memory", .min = 1ull << 20,
           .max = 1ull << 46,
           .more = "While it is reached, new queries get status 429, and running queries that need "
                   "more memory get 503. This limit does not apply to admins."),
    OPTION("client-connections", UINT, client_connections,
           "maximum number of connections of one client", .argument = "N",
           .otherwise = "half of max-connections", .min = 1, .max = 1u << 20,
           .more = "Further connections are closed at once, with status 429 where there is no TLS. "
                   "This limit does not apply to admins."),
    OPTION("request-time", MS, request_time_ms, "maximum time for a request to arrive",
           .argument = "TIME", .initial = "1m", .min = 1, .max = TIME_MAX,
           .more = "The time starts when the request begins to arrive. A connection whose request "
                   "takes longer is closed. An uploaded tar has this time for each MiB."),
    OPTION("idle-time", MS, idle_time_ms, "close connections that make no progress for this time",
           .argument = "TIME", .initial = "2m", .min = 1000, .max = 86400000,
           .more = "This applies to connections without a request and to clients that stop "
                   "reading. It is rounded up to whole seconds."),
    OPTION("link-time", MS, link_time_ms, "lifetime of the link (/q/...) of a stored query",
           .argument = "TIME", .initial = "15m", .min = 1, .max = TIME_MAX,
           .more = "The time starts when the link is created; using the link does not extend it. "
                   "Anybody who has the link can use it without a token."),
    OPTION("rescan", MS, rescan_ms, "interval between directory scans", .argument = "TIME",
           .initial = "2s", .min = 10, .max = TIME_MAX),
    OPTION("settle", MS, settle_ms,
           "treat a file as complete when it has not changed for this time", .argument = "TIME",
           .initial = "10s", .min = 1, .max = TIME_MAX,
           .more = "Until then, answers that use the file are marked as incomplete, and a last "
                   "line without a line end is not counted. With --on-demand, every file is "
                   "treated as complete."),
    OPTION("keep-missing", MS, keep_missing_ms, "keep the index of a deleted file for this time",
           .argument = "TIME", .initial = "10m", .min = 1, .max = TIME_MAX,
           .more = "If the file reappears unchanged within this time, it is not indexed again. A "
                   "file in an unreadable directory does not count as deleted."),
    OPTION("drain-time", MS, drain_time_ms, "on shutdown, wait this long for running requests",
           .argument = "TIME", .initial = "5s", .max = 600000,
           .more = "New requests are refused meanwhile. The daemon does not wait for requests that "
                   "wait for the index, nor for clients that read nothing for a second."),
    OPTION("idle-exit", MS, idle_exit_ms, "exit after this time without a request",
           .argument = "TIME", .otherwise = "never", .min = 1, .max = TIME_MAX,
           .more = "Meant for daemons that dftracerctl starts in the background."),
    OPTION("on-demand", FLAG, on_demand, "index only the files that requests select"),
    OPTION("background", FLAG, background,
           "start in the background; return when the daemon is ready", .flags = OPTION_ONLY_LINE,
           .more =
               "Exit status: 0 if the daemon is listening, 75 if another daemon uses the index, 1 "
               "for any other failure to start. The reason is written to standard error."),
    OPTION(
        "join", FLAG, join, "let a running daemon serve the directories", .flags = OPTION_ONLY_LINE,
        .more = "If a daemon of the same user runs that was started with --join and otherwise the "
                "same options, it also serves these directories, with an index and a Unix socket "
                "of their own, and this command exits with status 0. Otherwise the daemon starts. "
                "Directories, --index-dir, --index-base and --executor-threads (if not given here) "
                "may differ. A daemon serves at most 32 sets of directories; threads and memory "
                "limits are shared. dftracerctl starts daemons with this option."),
    OPTION("token-file", TEXT, token_file, "file with the bearer token that lets other users query",
           .argument = "FILE", .otherwise = "no token", .flags = OPTION_LIVE,
           .more = "The first line of the file is the token. Only the owner may be able to read "
                   "the file (chmod 600). If the file does not exist, it is created with a random "
                   "token of 256 bits. Without this option, the systemd credential `token` "
                   "(LoadCredential=) is used if there is one."),
    OPTION("token", TEXT, token,
           "bearer token that lets other users query; they can see it in the list of processes",
           .argument = "TOKEN", .otherwise = "no token",
           .flags = OPTION_OLD | OPTION_ONLY_OLD | OPTION_ONLY_LINE),
    OPTION(
        "admin-token-file", TEXT, admin_token_file,
        "file with the bearer token of admins, who may also make changes", .argument = "FILE",
        .otherwise = "only the user who runs the daemon", .flags = OPTION_LIVE,
        .more =
            "Admins may also rebuild the index, write below --output-dir and cancel requests of "
            "others. The file works like --token-file; the systemd credential is `admin-token`."),
    OPTION("allow-user", LIST, allow_user, "let this user query without a token; repeatable",
           .argument = "NAME|UID", .otherwise = "only the user who runs the daemon",
           .flags = OPTION_LIVE, .more = "The user may query, but not make changes."),
    OPTION(
        "allow-host", LIST, allow_host, "accept requests for this host name; repeatable",
        .argument = "NAME", .otherwise = "localhost and the addresses of --bind",
        .flags = OPTION_HOST,
        .more =
            "Give each name that clients use in their URLs, such as the name of this machine or of "
            "a proxy. Requests for other names are refused, which protects against DNS rebinding."),
    OPTION("allow-origin", LIST, allow_origin,
           "let web pages of this origin send requests; repeatable", .argument = "ORIGIN",
           .otherwise = "ui.perfetto.dev and VS Code", .flags = OPTION_ORIGIN,
           .more =
               "Write the origin as browsers send it, for example http://localhost:10000, or "
               "https://*.vscode-cdn.net for all names below vscode-cdn.net. localhost, 127.0.0.1 "
               "and [::1] are the same. Requests of pages from all other origins are refused."),
    OPTION("no-auth", FLAG, no_auth, "let every user of this host query without a token",
           .more = "They may query, but not make changes."),
    OPTION(
        "enforce-file-permissions", FLAG, file_permissions,
        "show other users only the files that they can read themselves",
        .more =
            "The daemon checks owner, group, mode and POSIX access control lists of a file and of "
            "the directories above it. Files that a user may not read are missing from all "
            "answers, including names and counts. The user who runs the daemon and holders of the "
            "admin token see all files. Clients whose user is unknown (for example from another "
            "host) see the files that everybody may read. Only admins may then read /metrics."),
    OPTION(
        "insecure", FLAG, insecure, "allow addresses other than loopback without TLS",
        .more =
            "Tokens and answers then cross the network unencrypted. With --no-auth, everybody who "
            "can reach the port can query. Use it only in closed networks or behind a proxy."),
    OPTION("tls-cert", TEXT, tls_cert, "certificate and its intermediate certificates (PEM)",
           .argument = "FILE", .otherwise = "plain HTTP", .flags = OPTION_LIVE,
           .more = "With this option, all TCP sockets accept TLS only. After a reload, new "
                   "connections use the new files. Without the TLS options, the systemd "
                   "credentials tls-cert, tls-key and tls-client-ca are used if there are any."),
    OPTION("tls-key", TEXT, tls_key,
           "private key of the certificate (PEM); readable by its owner only", .argument = "FILE",
           .flags = OPTION_LIVE),
    OPTION("tls-client-ca", TEXT, tls_client_ca,
           "let clients with a certificate from these authorities query (PEM)", .argument = "FILE",
           .otherwise = "no client certificates", .flags = OPTION_LIVE,
           .more = "Such clients need no token. They may query, but not make changes. Other "
                   "clients can still use a token."),
    OPTION("log-level", CHOICE, log_level, "minimum severity of messages logged to standard error",
           .argument = "off|error|warning|info|debug", .initial = "info",
           .flags = OPTION_OLD | OPTION_LIVE,
           .more = "critical, warn and trace are other names of error, warning and debug. With "
                   "info, each request is a line. If standard error is a terminal, requests are "
                   "logged only if this option is given."),
    OPTION("config", TEXT, config, "configuration file; /dev/null for none", .letter = 'c',
           .argument = "FILE", .flags = OPTION_NOT_IN_FILE),
    OPTION("check", FLAG, check_only, "check the configuration, then exit", .letter = 'n',
           .flags = OPTION_ONLY_LINE,
           .more = "Checks options, directories, the directory of the index, tokens and addresses. "
                   "Prints `ok` and exits with status 0, or prints the error and exits with 2 "
                   "(options) or 1 (anything else). It can run while a daemon runs, for example "
                   "before a reload: it does not check whether the port, socket or index is in "
                   "use, and it creates neither the index nor token files."),
    OPTION("print-config", FLAG, print_config,
           "like --check, but print the effective configuration", .flags = OPTION_ONLY_LINE),
    OPTION("doctor", FLAG, doctor, "check what a daemon with these options needs, then exit",
           .flags = OPTION_ONLY_LINE,
           .more = "Checks the limits of the process, the permissions of the traces, the "
                   "configuration as --check does, the space for the index and the runtime "
                   "directory. Prints one line per check, `ok`, `warn` or `FAIL`, with a remedy; "
                   "exit status 1 if a check failed. If $DFTRACERD_URL names a daemon, the places "
                   "of index and socket are not checked. `dftracerctl doctor` runs it."),
    OPTION("version", FLAG, version, "print version and build, then exit", .letter = 'V',
           .flags = OPTION_ONLY_LINE | OPTION_OLD),
    OPTION("help", FLAG, help, "print this help, then exit", .letter = 'h',
           .flags = OPTION_ONLY_LINE | OPTION_OLD),
    OPTION("document", TEXT, document, "print a document: man8, man5, conf or params",
           .argument = "WHAT", .flags = OPTION_ONLY_LINE | OPTION_HIDDEN),
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

/* Return what is wrong with the value, or NULL. */
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
        /* A number without a unit is ambiguous, except 0. */
        if (rc == 0 && ns > 0 && !isalpha((unsigned char)value[t.len - 1]))
            return "the unit is missing: ms, s, m or h";
    }
    if (rc < 0)
        return s->kind == OPTION_MS ? "not a duration" : "not a number";
    if (ns < 0 || n < s->min || n > s->max)
        return "out of range";
    *(uint64_t *)(void *)((char *)o + s->at) = n;
    return NULL;
}

bool option_read_flag(const char *value, bool *ret)
{
    static const char *const words[] = {"no", "false", "off", "0", "yes", "true", "on", "1"};
    for (size_t i = 0; i < 8; i++)
        if (strcmp(value, words[i]) == 0)
            return *ret = i >= 4, true;
    return false;
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
        why = option_read_flag(value, (bool *)((char *)o + s->at)) ? NULL : "must be yes or no";
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
    if (why && from)
        return err_set_param(err, -EINVAL, s->name, "%s: %s = %s: %s", from, s->name, value, why);
    if (why)
        return err_set_param(err, -EINVAL, s->name, "--%s %s: %s", s->name, value, why);
    o->level[i] = (unsigned char)level;
    o->from[i] = from ? from : "command line";
    o->value[i] = value;
    return 0;
}
