/* batch.c - indexes the files of a directory on all ranks, runs one request, and writes its answer
 * to a file. */
#include "config.h"

#include "mpi/batch.h"

#include "daemon/log.h"
#include "daemon/watch.h"
#include "mpi/output.h"

#include <dirent.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 1024 };

/* The state of the job on one rank. */
struct batch {
    const struct batch_tool *tool;
    struct batch_settings settings;
    struct rank *rank;
    struct options options; /* options of the index */
    struct daemon_site site;
    char *directory; /* directory of traces, as in the options */
    char *staging;   /* folder of this node's indexes; NULL until it is chosen */
    char *index_path;
    struct http_runner *runner;
    struct output *output;
    struct err write_error;
    struct buf info;  /* answer of /info */
    int64_t since_ns; /* start of the current stage */
};

void batch_put_parameter(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "%s=", name);
    buf_percent(out, text_of(value));
}

/* ---- options of the index -------------------------------------------------------------------- */

static uint64_t share_of_rank(const struct batch *b, uint64_t of_node)
{
    uint64_t share = of_node / b->rank->ranks.on_node;

    return share ? share : 1;
}

/* Files are read when the request selects them, as in a daemon that a client starts. Half of the
 * memory is for the request. */
static int make_options(struct batch *b, struct err *err)
{
    const struct batch_settings *s = &b->settings;
    struct options *o = &b->options;

    b->directory = realpath(s->directory, NULL);
    if (!b->directory) /* it is missing: opening the index reports that */
        b->directory = strdup(s->directory);
    if (!b->directory)
        return -ENOMEM;
    char *argv[] = {"dftracerd", "--config", "/dev/null", "--directory", b->directory};
    int rc = options_parse(o, sizeof argv / sizeof *argv, argv, err);
    if (rc < 0)
        return rc;
    o->on_demand = true;
    o->log_level = s->verbose ? "info" : "warning";
    o->query_memory = o->total_memory = share_of_rank(b, memory_limit().bytes / 2);
    if (s->index_dir)
        o->index_base = s->index_dir;
    if (s->threads)
        o->executor_threads = share_of_rank(b, s->threads < THREADS_MAX ? s->threads : THREADS_MAX);
    return 0;
}

/* ---- staging: a folder for the indexes of a node --------------------------------------------- */

/* Returns "Lustre" ... for a directory, which need not exist yet; NULL for a local file system. */
static const char *find_network(const char *path)
{
    char *copy = strdup(path), *at = copy;

    while (at && access(at, F_OK) < 0 && strcmp(at, "/") != 0 && strcmp(at, ".") != 0)
        at = dirname(at);
    const char *network = at ? index_refused_filesystem(at) : NULL;
    free(copy);
    return network;
}

static int choose_staging(struct batch *b, const struct roots *roots, struct err *err)
{
    const char *given = b->settings.staging_dir, *network = given ? find_network(given) : NULL;
    char *place = NULL;

    if (given && !network)
        return (b->staging = strdup(given)) ? 0 : -ENOMEM;
    int rc = place_choose(roots, &b->options, true, &place, err);
    if (rc == 0 && asprintf(&b->staging, "%s/%s", place, b->tool->staging) < 0) {
        b->staging = NULL;
        rc = -ENOMEM;
    }
    if (rc == 0 && network && rank_is_first(b->rank))
        fprintf(stderr, "%s: --staging-dir %s is on %s: the indexes are in %s instead\n",
                b->tool->name, given, network, b->staging);
    free(place);
    return rc;
}

/* Removes the files of an index, and its folder. Other entries do not belong to it, and stay. Some
 * file systems do not report types; unlinkat does not remove folders. */
static void remove_index(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (e->d_type == DT_REG || e->d_type == DT_UNKNOWN)
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    rmdir(path);
}

/* Removes the index of this rank. The last rank of a node removes the folder, too. */
static void remove_staging(const struct batch *b)
{
    if (!b->index_path || b->settings.keep_staging)
        return;
    char *place = strdup(b->staging), *slash = place ? strrchr(place, '/') : NULL;
    remove_index(b->index_path);
    rmdir(b->staging);
    if (slash && slash > place && !b->settings.staging_dir) {
        *slash = '\0';
        rmdir(place);
    }
    free(place);
}

/* Chooses the directory of the index. Used for rank 0, and as rank_place.choose. */
static int choose_index(struct daemon_site *s, const struct options *o, unsigned rank, void *arg,
                        struct err *err)
{
    struct batch *b = arg;
    (void)o;
    int rc = choose_staging(b, &s->roots, err);

    if (rc < 0)
        return rc;
    if (asprintf(&b->index_path, "%s/rank_%u", b->staging, rank) < 0) {
        b->index_path = NULL;
        return -ENOMEM;
    }
    if (b->settings.force)
        remove_index(b->index_path);
    s->index_path = strdup(b->index_path);
    return s->index_path ? 0 : -ENOMEM;
}

/* ---- rank 0: the index ----------------------------------------------------------------------- */

/* Prints the start of a stage with --verbose. */
__attribute__((format(printf, 2, 3))) static void print_stage(struct batch *b, const char *fmt, ...)
{
    int64_t now = clock_mono_ns();
    va_list args;

    if (b->settings.verbose) {
        va_start(args, fmt);
        fprintf(stderr, "%s: ", b->tool->name);
        vfprintf(stderr, fmt, args);
        fprintf(stderr, " (%.3f s)\n", (double)(now - b->since_ns) / 1e9);
        va_end(args);
    }
    b->since_ns = now;
}

static void on_change(void *arg)
{
    http_runner_index_changed(arg);
}

static int open_index(struct batch *b, struct err *err)
{
    struct daemon_site *s = &b->site;
    int rc = roots_open(&s->roots, &b->options, err);

    rc = rc ? rc : choose_index(s, &b->options, 0, b, err);
    rc = rc ? rc : daemon_site_open_index(s, &b->options, NULL, err);
    rc = rc ? rc : watch_new(s->index, &s->roots, &s->watch);
    if (rc == 0)
        print_stage(b, "opened indexes, processes: %u", b->rank->ranks.links.count);
    return rc;
}

static int open_runner(struct batch *b, struct err *err)
{
    int rc = rank_open_runner(&b->site, &b->options, err, &b->runner);

    if (rc == 0)
        index_on_change(b->site.index, on_change, b->runner);
    return rc;
}

/* Scans the directory once, like the watcher of a daemon. */
static int scan_directory(struct batch *b, struct err *err)
{
    struct index_progress p;
    atomic_bool stop = false;
    int rc = watch_scan(b->site.watch, &stop);

    index_progress(b->site.index, &p);
    if (rc == 0 && !p.listed)
        rc = err_set(err, -ENOMEM, "%s cannot be scanned: out of memory", b->directory);
    if (rc == 0 && p.directories_unreadable)
        fprintf(stderr, "%s: some directories cannot be read: the output may lack their files\n",
                b->tool->name);
    return rc;
}

/* ---- rank 0: requests ------------------------------------------------------------------------ */

/* Runs a request over the files of the directory itself (as without -r), after they have been
 * indexed. */
static int run_request(struct batch *b, const char *request, http_piece *piece, struct err *err)
{
    struct http_call_options o = {0};
    struct http_call *call = NULL;
    struct buf target = {0};

    buf_printf(&target, "%s&", request);
    batch_put_parameter(&target, "dir", b->site.roots.paths[0]);
    buf_puts(&target, "&recursive=false&wait=ready");
    buf_putc(&target, '\0');
    o.target = target.data;
    int rc = target.error ? target.error : http_call_new(b->runner, &o, err, &call);
    rc = rc ? rc : http_call_run(call, piece, b, err);
    http_call_free(call);
    buf_done(&target);
    return rc;
}

/* ---- rank 0: the answer ---------------------------------------------------------------------- */

static int append_piece(void *arg, struct text bytes)
{
    struct batch *b = arg;

    buf_text(&b->info, bytes);
    return b->info.error;
}

static uint64_t json_number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Counts the files, after they have been indexed. */
static int count_files(struct batch *b, uint64_t *ret, struct err *err)
{
    int rc = run_request(b, "/info?format=json", append_piece, err);

    buf_putc(&b->info, '\0');
    rc = rc ? rc : b->info.error;
    if (rc < 0)
        return rc;
    uint64_t failed = json_number_after(b->info.data, "\"files_failed\":");
    *ret = json_number_after(b->info.data, "\"totals\":{\"files\":");
    if (failed)
        fprintf(stderr, "%s: %llu of %llu files cannot be read: the output lacks them\n",
                b->tool->name, (unsigned long long)failed, (unsigned long long)*ret);
    return 0;
}

static int write_piece(void *arg, struct text bytes)
{
    struct batch *b = arg;

    return output_write(b->output, bytes, &b->write_error);
}

static int write_answer(struct batch *b, struct err *err)
{
    struct buf request = {0};

    b->tool->put_request(&b->settings, &request);
    buf_putc(&request, '\0');
    int rc = request.error ? request.error : run_request(b, request.data, write_piece, err);
    buf_done(&request);
    if (b->write_error.code) {
        err_done(err);
        *err = b->write_error;
    }
    return rc ? rc : output_finish(b->output, err);
}

/* The output is opened first, so that an error is reported before all files are read. */
static int run_job(struct batch *b, struct err *err)
{
    const struct batch_settings *s = &b->settings;
    uint64_t files = 0;
    int rc = open_index(b, err);

    rc = rc ? rc : open_runner(b, err);
    rc = rc ? rc
            : output_open(s->output, s->gzip, daemon_site_workers(&b->site, &b->options), err,
                          &b->output);
    rc = rc ? rc : scan_directory(b, err);
    rc = rc ? rc : count_files(b, &files, err);
    if (rc == 0 && files == 0)
        rc = err_set(err, ERR_NOT_FOUND, "no trace files found in %s", b->directory);
    if (rc < 0)
        return rc;
    print_stage(b, "indexed %llu files", (unsigned long long)files);
    rc = write_answer(b, err);
    if (rc == 0)
        print_stage(b, "wrote %s", output_name(b->output));
    return rc;
}

/* ---- the program ----------------------------------------------------------------------------- */

static void print_failure(const struct batch *b, int rc, struct err *err)
{
    struct buf why = {0};
    char limit[120];

    err_set_code(err, rc); /* if there is no message yet */
    http_problem_detail(err, &why);
    memory_explain(rc, limit, sizeof limit);
    fprintf(stderr, "%s: %.*s%s%s\n", b->tool->name, (int)why.len, why.len ? why.data : "",
            limit[0] ? "; " : "", limit);
    buf_done(&why);
}

/* `rc`: the error of make_options; the other ranks wait for the end of this one then, too. */
static int run_first_rank(struct batch *b, int rc, struct err *err)
{
    if (rc == 0)
        log_set_level(b->options.log_level);
    daemon_use_little_memory();
    rank_start(b->rank);
    rc = rc ? rc : run_job(b, err);
    if (rc < 0)
        print_failure(b, rc, err);
    output_free(b->output);
    daemon_site_close(&b->site);
    http_runner_free(b->runner);
    buf_done(&b->info);
    rank_end_all(b->rank);
    return rc < 0;
}

static int run_rank(struct batch *b)
{
    const struct rank_place place = {choose_index, b};
    struct err err = {0};
    int rc = make_options(b, &err), status = rc < 0;

    if (rank_is_first(b->rank))
        status = run_first_rank(b, rc, &err);
    else if (rc < 0)
        rank_idle(b->rank, rc, &err);
    else
        rank_serve(b->rank, &b->options, &place);
    remove_staging(b);
    options_done(&b->options);
    err_done(&err);
    free(b->staging);
    free(b->index_path);
    free(b->directory);
    return status;
}

/* Every rank parses the arguments; only rank 0 prints messages. */
static int parse_arguments(struct batch *b, int argc, char **argv)
{
    struct err err = {0};
    bool first = rank_is_first(b->rank);
    int rc = batch_parse(b->tool, argc, argv, &b->settings, &err);

    if (rc < 0 && first)
        fprintf(stderr, "%s: %s\nTry: %s --help\n", b->tool->name, err.text, b->tool->name);
    else if (rc == 0 && first && b->settings.help)
        batch_help(b->tool);
    else if (rc == 0 && first && b->settings.version)
        printf("%s (dftracerd) %s\n", b->tool->name, DFT_VERSION);
    err_done(&err);
    return rc;
}

int batch_main(const struct batch_tool *tool, int argc, char **argv)
{
    static struct rank rank;
    static struct batch b;
    int status = rank_join(&rank, &argc, &argv);

    if (status)
        return status;
    b = (struct batch){.tool = tool, .rank = &rank, .since_ns = clock_mono_ns()};
    b.site.ranks = &rank.ranks;
    if (parse_arguments(&b, argc, argv) < 0)
        status = 1;
    else if (!b.settings.help && !b.settings.version)
        status = run_rank(&b);
    rank_leave(&rank);
    return status;
}
