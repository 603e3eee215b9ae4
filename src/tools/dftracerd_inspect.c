/* dftracerd_inspect.c - inspects an index: prints its contents, all of it as text, or checks every
 * value; and builds an index from a directory of traces. */
#include "dftracerd/index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "usage: dftracerd-inspect [OPTIONS] COMMAND INDEX [DIRECTORY]\n"
    "Shows and checks an index of dftracerd, or builds one without a daemon.\n"
    "\n"
    "  stat INDEX              print the contents: totals, and one line per file\n"
    "  dump INDEX              print everything as canonical text: equal indexes print equal text\n"
    "  check INDEX             read every value; exit status 1 if one is corrupt\n"
    "  build INDEX DIRECTORY   index the traces below DIRECTORY into INDEX: *.pfw, *.pfw.gz, and\n"
    "                          those in *.tar, *.tar.gz and *.tgz\n"
    "\n"
    "Options of build, with their defaults:\n"
    "  -c, --checkpoint-size=BYTES  uncompressed bytes per chunk      [4MiB]\n"
    "  -w, --workers=N              number of indexing threads        [number of CPUs]\n"
    "  -m, --memory=BYTES           memory for data being indexed     [160MiB]\n"
    "  -e, --engine=zlib|isal       decompression library             [the fastest]\n"
    "      --commit=MS              maximum milliseconds between commits [500]\n"
    "  -s, --settle=MS              treat a file as complete when it has not\n"
    "                               changed for MS milliseconds       [0]\n"
    "Other options:\n"
    "  -q, --quiet                  build, check: print errors only\n"
    "  -h, --help                   print this help\n";

struct settings {
    struct index_options options;
    bool quiet;
};

/* Prints an error. Returns the exit status. */
static int fail(struct err *err, int rc)
{
    fprintf(stderr, "dftracerd-inspect: %s\n", err->text[0] ? err->text : err_text(rc));
    err_done(err);
    return 1;
}

/* ---- stat ------------------------------------------------------------------------------------ */

static void print_totals(struct index *ix, struct snapshot *s)
{
    struct trace_counts all = {0};
    uint64_t compressed = 0, text = 0, chunks = 0, names = 0, processes = 0, bytes = 0;
    uint32_t damaged = 0, files = snapshot_file_count(s);

    for (uint32_t i = 0; i < files; i++) {
        const struct index_file *f = snapshot_file(s, i);

        all.lines += f->counts.lines;
        all.brackets += f->counts.brackets;
        all.invalid += f->counts.invalid;
        all.repaired += f->counts.repaired;
        all.events += f->counts.events;
        all.counters += f->counts.counters;
        all.aggregated += f->counts.aggregated;
        all.metadata += f->counts.metadata;
        compressed += f->compressed_bytes;
        text += f->text_bytes;
        chunks += f->chunk_count;
        names += f->name_count;
        processes += f->process_count;
        bytes += f->index_bytes;
        damaged += f->damaged;
    }
    printf("files %u files_damaged %u chunks %" PRIu64 " processes %" PRIu64 " names %" PRIu64
           " texts %u\n",
           files, damaged, chunks, processes, names, index_text_count(ix));
    printf("compressed %" PRIu64 " text %" PRIu64 " columns %" PRIu64 " index %" PRIu64 "\n",
           compressed, text, bytes, index_bytes(ix));
    printf("lines %" PRIu64 " brackets %" PRIu64 " invalid %" PRIu64 " repaired %" PRIu64 "\n",
           all.lines, all.brackets, all.invalid, all.repaired);
    printf("objects %" PRIu64 " events %" PRIu64 " counters %" PRIu64 " aggregated %" PRIu64
           " metadata %" PRIu64 "\n",
           all.events + all.counters + all.aggregated + all.metadata, all.events, all.counters,
           all.aggregated, all.metadata);
}

static int command_stat(struct index *ix, struct settings *settings)
{
    struct snapshot *s = index_snapshot(ix);

    (void)settings;
    printf("index %s uuid %s generation %" PRIu64 "\n", index_path(ix), snapshot_uuid(s),
           snapshot_generation(s));
    print_totals(ix, s);
    for (uint32_t i = 0; i < snapshot_file_count(s); i++) {
        const struct index_file *f = snapshot_file(s, i);

        printf("%-8s %9" PRIu64 " events %7" PRIu64 " metadata %4u chunks  %s%s%s\n",
               index_state_name(f->state), f->counts.events, f->counts.metadata, f->chunk_count,
               f->name, f->error ? ": " : "", f->error ? f->error : "");
    }
    snapshot_release(s);
    return 0;
}

/* ---- dump, check ----------------------------------------------------------------------------- */

static int write_to_stdout(void *arg, struct buf *out)
{
    (void)arg;
    if (fwrite(out->data, 1, out->len, stdout) != out->len)
        return -EIO;
    buf_clear(out);
    return 0;
}

static int command_dump(struct index *ix, struct settings *settings)
{
    struct buf out = {0};
    struct err err = {0};
    int rc = index_dump(ix, &out, write_to_stdout, NULL);

    (void)settings;
    buf_done(&out);
    if (rc == 0 && fflush(stdout) != 0)
        rc = -EIO;
    return rc ? fail(&err, rc) : 0;
}

static int command_check(struct index *ix, struct settings *settings)
{
    struct err err = {0};
    int rc = index_check(ix, &err);

    if (rc)
        return fail(&err, rc);
    if (!settings->quiet)
        printf("ok\n");
    return 0;
}

/* ---- build ----------------------------------------------------------------------------------- */

/* Offers the traces below a directory; `prefix`: the path of this directory below the root. */
static int offer_all(struct index *ix, const char *directory, const char *prefix)
{
    char path[4096], name[4096];
    DIR *dir = opendir(directory);
    struct dirent *entry;
    struct stat st;
    int rc = 0;

    if (!dir)
        return -errno;
    while (rc == 0 && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) >= (int)sizeof path ||
            snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] ? "/" : "", entry->d_name) >=
                (int)sizeof name)
            continue;
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            rc = offer_all(ix, path, name);
        else if (index_is_trace(text_of(name)) || index_is_archive(text_of(name)))
            rc = index_offer(ix, name, path);
    }
    closedir(dir);
    return rc;
}

static void forget_if_vanished(struct index *ix, const char *directory, const char *name)
{
    char path[8192];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    if (access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
        index_forget(ix, name); /* members are forgotten with their archives */
}

static void forget_vanished(struct index *ix, const char *directory)
{
    struct snapshot *s = index_snapshot(ix);

    for (uint32_t i = 0; i < snapshot_file_count(s); i++)
        forget_if_vanished(ix, directory, snapshot_file(s, i)->name);
    for (uint32_t i = 0; i < snapshot_archive_count(s); i++)
        forget_if_vanished(ix, directory, snapshot_archive(s, i)->name);
    snapshot_release(s);
}

/* Growing files count as pending: with --settle they become ready some time after their last
 * change. */
static bool all_done(struct index *ix, struct index_progress *p)
{
    bool growing = false;

    index_progress(ix, p);
    if (p->files_pending > 0)
        return false;
    struct snapshot *s = index_snapshot(ix);
    for (uint32_t i = 0; i < snapshot_file_count(s) && !growing; i++)
        growing = snapshot_file(s, i)->state == INDEX_GROWING;
    snapshot_release(s);
    index_progress(ix, p); /* again: a growing file may have become pending */
    return p->files_pending == 0 && !growing;
}

static void wake_waiting(void *arg)
{
    const char byte = 1;

    if (write(*(int *)arg, &byte, 1) < 0) {
        /* The pipe is full, so wait_until_done wakes anyway. */
    }
}

static void wait_until_done(struct index *ix, const int *pipe_fds, struct index_progress *p)
{
    char bytes[64];

    while (!all_done(ix, p) && p->store_error == 0) {
        struct pollfd fd = {pipe_fds[0], POLLIN, 0};

        if (poll(&fd, 1, 1000) > 0 && read(pipe_fds[0], bytes, sizeof bytes) < 0)
            return;
    }
}

static int build_index(struct index *ix, const char *directory, struct settings *settings)
{
    int64_t begin_ns = clock_mono_ns();
    struct index_progress p;
    struct err err = {0};
    static int fds[2]; /* a call of wake_waiting may still run after it was removed */

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return fail(&err, -errno);
    index_on_change(ix, wake_waiting, &fds[1]);
    int rc = offer_all(ix, directory, "");
    if (rc) {
        index_on_change(ix, NULL, NULL);
        return fail(&err, rc);
    }
    forget_vanished(ix, directory);
    index_listed(ix);
    wait_until_done(ix, fds, &p);
    int64_t end_ns = clock_mono_ns();
    index_on_change(ix, NULL, NULL);
    if (p.store_error)
        return fail(&err, p.store_error);
    if (!settings->quiet) {
        struct snapshot *s = index_snapshot(ix);

        print_totals(ix, s);
        printf("ready %" PRIu64 " failed %" PRIu64 " seconds %.3f\n", p.files_ready, p.files_failed,
               (double)(end_ns - begin_ns) / 1e9);
        snapshot_release(s);
    }
    return 0;
}

/* ---- options --------------------------------------------------------------------------------- */

static int bad_value(const char *option)
{
    fprintf(stderr, "dftracerd-inspect: invalid value of --%s\n%s", option, usage);
    return 2;
}

static int parse_options(int argc, char **argv, struct settings *s)
{
    static const struct option list[] = {{"checkpoint-size", required_argument, NULL, 'c'},
                                         {"workers", required_argument, NULL, 'w'},
                                         {"memory", required_argument, NULL, 'm'},
                                         {"engine", required_argument, NULL, 'e'},
                                         {"settle", required_argument, NULL, 's'},
                                         {"commit", required_argument, NULL, 'C'},
                                         {"quiet", no_argument, NULL, 'q'},
                                         {"help", no_argument, NULL, 'h'},
                                         {0}};
    uint64_t n;
    int option;

    while ((option = getopt_long(argc, argv, "c:w:m:e:s:qh", list, NULL)) != -1) {
        switch (option) {
        case 'c':
            if (num_parse_bytes(text_of(optarg), &s->options.checkpoint_size) < 0)
                return bad_value("checkpoint-size");
            break;
        case 'm':
            if (num_parse_bytes(text_of(optarg), &n) < 0)
                return bad_value("memory");
            s->options.memory_limit = n;
            break;
        case 'w':
            if (num_parse_u64(text_of(optarg), &n) < 0 || n > 1024)
                return bad_value("workers");
            s->options.workers = (unsigned)n;
            break;
        case 'C':
            if (num_parse_u64(text_of(optarg), &n) < 0 || n > 3600000)
                return bad_value("commit");
            s->options.commit_ms = (unsigned)n;
            break;
        case 'e':
            if (strcmp(optarg, "zlib") != 0 && strcmp(optarg, "isal") != 0)
                return bad_value("engine");
            s->options.engine = optarg[0] == 'z' ? TRACE_ENGINE_ZLIB : TRACE_ENGINE_ISAL;
            break;
        case 's':
            if (num_parse_u64(text_of(optarg), &n) < 0 || n > INT32_MAX)
                return bad_value("settle");
            s->options.settle_ms = n ? (int64_t)n : -1;
            break;
        case 'q':
            s->quiet = true;
            break;
        case 'h':
            fputs(usage, stdout);
            exit(0);
        default:
            fputs(usage, stderr);
            return 2;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(struct index *, struct settings *);
    } commands[] = {
        {"stat", command_stat}, {"dump", command_dump}, {"check", command_check}, {"build", NULL}};
    struct settings s = {.options.settle_ms = -1};
    struct err err = {0};
    struct index *ix;
    size_t c = 0;
    int rc = parse_options(argc, argv, &s);

    if (rc)
        return rc;
    argv += optind;
    argc -= optind;
    while (argc > 0 && c < 4 && strcmp(argv[0], commands[c].name) != 0)
        c++;
    if (c == 4 || argc != (c == 3 ? 3 : 2)) {
        fputs(usage, stderr);
        return 2;
    }
    s.options.path = argv[1];
    s.options.read_only = c != 3;
    rc = index_open(&s.options, &err, &ix);
    if (rc)
        return fail(&err, rc);
    rc = commands[c].run ? commands[c].run(ix, &s) : build_index(ix, argv[2], &s);
    index_close(ix);
    return rc;
}
