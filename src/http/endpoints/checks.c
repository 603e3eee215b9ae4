/* checks.c - /checks: what is wrong with this daemon, and what to do about it. */
#include "http/endpoints/checks.h"

#include "http/endpoints/endpoints.h"
#include "http/exchange/site.h"
#include "http/metrics/metrics.h"
#include "http/metrics/progress.h"
#include "http/request/selection.h"

#include "dftracerd/vec.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char ok[] = "ok", warn[] = "warn", fail[] = "fail";

/* ---- the checks ------------------------------------------------------------------------------ */

struct judge {
    struct checks *checks;
    struct arena *arena;
    int rc;
};

__attribute__((format(printf, 4, 5))) static void
add_check(struct judge *j, const char *level, const char *remedy, const char *format, ...)
{
    char *line = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&line, format, args);
    va_end(args);
    const char *text = length < 0 ? NULL : arena_strdup(j->arena, text_of(line));
    if (text)
        j->checks->rows[j->checks->count++] = (struct check){level, text, remedy};
    else
        j->rc = -ENOMEM;
    if (length >= 0)
        free(line);
}

static void judge_directories(struct judge *j, const struct check_facts *f)
{
    struct buf b = {0};
    for (size_t i = 0; i < f->directory_count; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", f->directories[i]);
    if (f->directory_count > 1)
        add_check(j, ok, NULL, "it serves %zu directories: %.*s", f->directory_count, (int)b.len,
                  b.data);
    j->rc = b.error ? -ENOMEM : j->rc;
    buf_done(&b);
}

/* The ranks of a host: 0-1,4. */
static void write_ranks_of(const struct check_facts *f, const char *host, struct buf *out)
{
    const char *comma = "";
    for (size_t i = 0; i < f->rank_count; i++) {
        size_t first = i;
        if (strcmp(f->ranks[i].host, host) != 0)
            continue;
        while (i + 1 < f->rank_count && strcmp(f->ranks[i + 1].host, host) == 0)
            i++;
        buf_printf(out, "%s%u", comma, f->ranks[first].rank);
        if (i > first)
            buf_printf(out, "-%u", f->ranks[i].rank);
        comma = ",";
    }
}

static bool is_first_of_host(const struct check_facts *f, size_t rank)
{
    for (size_t i = 0; i < rank; i++)
        if (strcmp(f->ranks[i].host, f->ranks[rank].host) == 0)
            return false;
    return true;
}

/* The hosts of a job of several processes: node1 (0-3), node2 (4-7). */
static void judge_ranks(struct judge *j, const struct check_facts *f)
{
    struct buf b = {0};
    for (size_t i = 0; i < f->rank_count; i++) {
        if (!is_first_of_host(f, i))
            continue;
        buf_printf(&b, "%s%s (", i ? ", " : "", f->ranks[i].host);
        write_ranks_of(f, f->ranks[i].host, &b);
        buf_putc(&b, ')');
    }
    if (f->rank_count)
        add_check(j, ok, NULL, "it has %zu ranks: %.*s", f->rank_count, (int)b.len, b.data);
    j->rc = b.error ? -ENOMEM : j->rc;
    buf_done(&b);
}

static void judge_progress(struct judge *j, const struct check_facts *f)
{
    const struct index_progress *p = &f->progress;
    const char *host = p->store_error_host;
    if (p->store_error)
        add_check(
            j, fail,
            "free disk space for its index, or see its log; it resumes by itself when there is "
            "space",
            "it has stopped indexing: %s%s%s%s", err_text(p->store_error), host ? " (on " : "",
            host ? host : "", host ? ")" : "");
    else if (progress_is_done(p) && p->files_unasked)
        add_check(j, ok, NULL,
                  "all files that requests have selected are indexed; %llu others are not",
                  (unsigned long long)p->files_unasked);
    else if (progress_is_done(p))
        add_check(j, ok, NULL, "all files found are indexed");
    else
        add_check(j, warn, "dftracerctl index waits until they are indexed",
                  "it is indexing: %llu files are pending", (unsigned long long)p->files_pending);
}

static void judge_files(struct judge *j, const struct check_facts *f)
{
    const struct index_progress *p = &f->progress;
    if (p->directories_unreadable)
        add_check(
            j, warn,
            "its log names them (directory_unreadable); change their permissions, or check the "
            "file server",
            "it cannot read %llu directories: answers may lack their files",
            (unsigned long long)p->directories_unreadable);
    if (p->files_failed)
        add_check(j, fail, "dftracerctl info -v lists them with the reasons",
                  "%llu files could not be indexed", (unsigned long long)p->files_failed);
    if (f->files_damaged)
        add_check(j, warn, "dftracerctl info -v lists them with the positions",
                  "%llu files are corrupt; their readable parts are indexed",
                  (unsigned long long)f->files_damaged);
    if (f->open_files > f->open_files_max / 5 * 4)
        add_check(j, warn, "raise LimitNOFILE= of its unit, or use fewer connections",
                  "%llu of %llu files are open", (unsigned long long)f->open_files,
                  (unsigned long long)f->open_files_max);
}

int checks_judge(const struct check_facts *f, struct arena *a, struct checks *ret)
{
    struct judge j = {ret, a, 0};
    add_check(&j, ok, NULL, "its index: %s, %llu MiB", f->index_path,
              (unsigned long long)(f->index_bytes >> 20));
    judge_directories(&j, f);
    judge_ranks(&j, f);
    judge_progress(&j, f);
    judge_files(&j, f);
    return j.rc;
}

/* ---- members --------------------------------------------------------------------------------- */

static const char *const levels[] = {ok, warn, fail, NULL};

#define OBJECT struct check
static const struct member check_members[] = {
    MEMBER("level", level, .choices = levels),
    MEMBER("text", text, .help = "what was found"),
    MEMBER("remedy", remedy, .optional = true, .help = "what to do about it, unless it is `ok`"),
};
static const struct object_type check_type = {"Check", MEMBERS(check_members)};
#undef OBJECT

#define OBJECT struct checks
static const struct member members[] = {
    MEMBER("version", version, .help = "of the daemon"),
    MEMBER_OBJECTS("checks", rows, count, &check_type),
};
static const struct object_type checks_type = {"Checks", MEMBERS(members)};
#undef OBJECT

/* ---- the facts ------------------------------------------------------------------------------- */

struct directories {
    VEC(const char *) paths;
};

/* Lists the directories of all sites. The texts are copied, because a site may end. */
static int read_directories(struct request *rq, struct directories *ret)
{
    const struct sites *sites = rq->http->sites;
    int rc = 0;
    for (size_t i = 0; i < atomic_load(&sites->count) && rc == 0; i++) {
        const struct http_options *o = &sites->list[i]->options;
        bool open = site_enter(sites->list[i]);
        for (size_t k = 0; k < o->root_count && open && rc == 0; k++) {
            const char *path = arena_strdup(&rq->arena, text_of(o->root_paths[k]));
            rc = path ? vec_push(&ret->paths, path) : -ENOMEM;
        }
        site_leave(sites->list[i]);
    }
    return rc;
}

static uint64_t count_corrupt(struct index *ix)
{
    struct snapshot *s = index_snapshot(ix);
    uint64_t n = 0;
    for (uint32_t i = 0; i < snapshot_file_count(s); i++)
        n += snapshot_file(s, i)->damaged;
    snapshot_release(s);
    return n;
}

/* A viewer sees only some of the files: to it the daemon reports nothing but its version. */
static int open_checks(struct request *rq)
{
    struct index *ix = rq->http->options->index;
    struct index_rank_progress *ranks = NULL;
    struct checks *c = rq->state;
    struct directories directories = {.paths.budget = &rq->budget};
    struct check_facts f = {0};
    struct rlimit files = {0};
    c->version = rq->http->options->version;
    if (rq->viewer)
        return 0;
    index_progress(ix, &f.progress);
    f.index_path = index_path(ix);
    f.index_bytes = index_bytes(ix);
    f.files_damaged = count_corrupt(ix);
    f.open_files = metrics_open_files();
    f.open_files_max = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : UINT64_MAX;
    int rc = read_directories(rq, &directories);
    f.directories = directories.paths.at;
    f.directory_count = directories.paths.count;
    if (rc == 0)
        rc = index_rank_progress(ix, &ranks, &f.rank_count);
    f.ranks = ranks;
    if (rc == 0)
        rc = checks_judge(&f, &rq->arena, c);
    free(ranks);
    vec_done(&directories.paths);
    return rc;
}

/* ---- the request ----------------------------------------------------------------------------- */

static int next_checks(struct request *rq, struct buf *out)
{
    const struct checks *c = rq->state;
    if (rq->format == FORMAT_JSON)
        return format_object(&checks_type, c, rq->pretty, out);
    buf_printf(out, "dftracerd %s\n", c->version);
    for (size_t i = 0; i < c->count; i++) {
        const char *level = c->rows[i].level == fail ? "FAIL" : c->rows[i].level;
        buf_printf(out, "%-5s %s\n", level, c->rows[i].text);
        if (c->rows[i].remedy)
            buf_printf(out, "      -> %s\n", c->rows[i].remedy);
    }
    return out->error ? out->error : ERR_END;
}

const struct endpoint endpoint_checks = {
    .path = "/checks",
    .summary = "checks of the daemon: index, files, ranks and open files, with remedies",
    .methods = METHOD_GET,
    .answer = &checks_type,
    PARAMS(format_params),
    FORMATS(FORMAT_JSON, FORMAT_TEXT),
    .immediate = true,
    .state_size = sizeof(struct checks),
    .open = open_checks,
    .next = next_checks,
};
