/* main.c - sends the requests of cases and compares the answers: see case.h.
 *
 *   answers [CASE...]              each request, alone and on threads, on large and small chunks
 *   answers --failing [CASE...]    ... while one allocation after the other fails
 *   answers --tight [CASE...]      ... with less and less memory
 *   answers --files DIR CASE       writes the files of a case, for the oracle
 *   answers --print CASE           prints the answers
 *
 * A case is named after its file in tests/answers. Each runs in a process of its own.
 */
#include "fit.h"

#include "failing_malloc.h"
#include "query_store.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum {
    SMALL_CHUNK = 64 << 10,
    THREADS = 4,
    LEAST_MEMORY = 1000,
    MOST_FAILURES = 8,
    EACH_ALLOCATION = 2000
};

/* ---- one request ----------------------------------------------------------------------------- */

/* Requests of a case, on one of its indexes. */
struct run {
    const struct answer_case *c;
    struct query_env env;
    bool threads, print;
    /* What is done with each request: false if it failed. */
    bool (*check)(struct run *, const struct case_step *, const struct case_request *);
    const struct answer *first; /* of the step, in this run */
    unsigned rounds, refused;
};

static void answer_one(struct run *r, const struct case_step *step, const struct case_request *q,
                       size_t memory, struct answer *ret)
{
    const struct answer_limits limits = {.memory = memory, .cancelled = step->cancelled};

    r->env.max_groups = step->groups;
    answer_request(&r->env, q, &limits, ret);
}

/* A client that leaves after the first piece, while threads make the next ones. */
static size_t leave_early(struct run *r, const struct case_step *step, const struct case_request *q)
{
    const struct answer_limits limits = {.memory = step->memory, .pieces = 1};
    struct answer a;

    answer_request(&r->env, q, &limits, &a);
    answer_done(&a);
    return a.memory_left;
}

static void report(struct run *r, const struct case_request *q, const struct answer *a,
                   const struct buf *why)
{
    check_fail(r->c->path, (int)q->line, "%s %s%s%s\n%.*s    the answer: %.1000s",
               q->post ? "POST" : "GET", q->target, *q->body ? " " : "", q->body, (int)why->len,
               why->data ? why->data : "", a->body.data);
}

/* How much memory threads need depends on which of them are ahead. */
static bool is_short_by_threads(const struct run *r, const struct case_step *step,
                                const struct answer *a)
{
    return r->threads && step->memory && a->code == ERR_MEMORY_LIMIT;
}

static bool fits_step(const struct run *r, const struct case_step *step, const struct answer *a,
                      struct buf *why)
{
    if (is_short_by_threads(r, step, a))
        return true;
    return fit_answer(step, a, why) && (!step->same || fit_same(step->first, a, why));
}

static bool check_answer(struct run *r, const struct case_step *step, const struct case_request *q)
{
    struct answer a;
    struct buf why = {0};

    answer_one(r, step, q, step->memory, &a);
    if (r->print)
        printf("%u: %s %s\n%d\n%s\n", q->line, q->post ? "POST" : "GET", q->target, a.status,
               a.body.data);
    bool fits = fits_step(r, step, &a, &why);
    if (r->threads)
        a.memory_left += leave_early(r, step, q);
    if (a.memory_left || (step->rested && a.memory_rested > step->rested)) {
        buf_printf(&why, "    %zu bytes are still charged, %zu while the client rested\n",
                   a.memory_left, a.memory_rested);
        fits = false;
    }
    if (!fits && !r->print)
        report(r, q, &a, &why);
    buf_done(&why);
    answer_done(&a);
    return fits || r->print;
}

/* The first answer, but where that was refused already: the expected one. */
static bool is_usual(const struct run *r, const struct case_step *step, const struct answer *a,
                     struct buf *why)
{
    if (is_short_by_threads(r, step, r->first))
        return fit_answer(step, a, why);
    if (a->code != r->first->code)
        return false;
    return a->code || fit_same(r->first, a, why); /* words about an error may be missing */
}

/* An answer while memory is short: the usual one, or an error of memory. */
static bool check_short(struct run *r, const struct case_step *step, const struct case_request *q,
                        const struct answer *a, const char *how)
{
    struct buf why = {0};
    bool refused = a->code == -ENOMEM || a->code == ERR_MEMORY_LIMIT;
    bool fits = (refused || is_usual(r, step, a, &why)) && a->memory_left == 0;

    if (!fits) {
        buf_printf(&why, "    %s; %zu bytes are still charged\n", how, a->memory_left);
        report(r, q, a, &why);
    }
    buf_done(&why);
    return fits;
}

/* In check-all the first ones one by one; then, as in check, steps that grow. */
static unsigned next_allocation(unsigned n)
{
    if (!check_everything())
        return failing_malloc_more(n, 6);
    return n < EACH_ALLOCATION ? n + 1 : failing_malloc_more(n, 64);
}

static bool check_failing(struct run *r, const struct case_step *step, const struct case_request *q)
{
    struct answer a;
    bool fits = true;
    char how[60];

    failing_malloc_everywhere(r->threads);
    for (unsigned n = 0; fits && failing_malloc_next(n); n = next_allocation(n)) {
        answer_one(r, step, q, step->memory, &a);
        snprintf(how, sizeof how, "allocation %u failed", n);
        fits = check_short(r, step, q, &a, how);
        r->rounds++;
        r->refused += a.code == -ENOMEM;
        answer_done(&a);
        if (!fits)
            failing_malloc_tell();
    }
    failing_malloc_stop();
    return fits && check_answer(r, step, q);
}

static bool check_tight(struct run *r, const struct case_step *step, const struct case_request *q)
{
    const size_t part = check_everything() ? 3 : 2;
    size_t memory = step->memory ? step->memory : 4 << 20;
    struct answer a;
    bool fits = true, refused = false;
    char how[60];

    for (; fits && !refused && memory > LEAST_MEMORY; memory -= memory / part) {
        answer_one(r, step, q, memory, &a);
        snprintf(how, sizeof how, "with %zu bytes", memory);
        fits = check_short(r, step, q, &a, how);
        refused = a.code == ERR_MEMORY_LIMIT;
        r->rounds++;
        r->refused += refused;
        answer_done(&a);
    }
    return fits && check_answer(r, step, q);
}

/* ---- one case -------------------------------------------------------------------------------- */

static bool run_step(struct run *r, struct case_step *step)
{
    struct answer *first = calloc(1, sizeof *first);
    bool fits = true;

    answer_one(r, step, step->requests, step->memory, first);
    r->first = first;
    if (!step->first)
        step->first = first;
    for (const struct case_request *q = step->requests; q; q = q->next)
        fits = r->check(r, step, q) && fits;
    if (step->first != first) {
        answer_done(first);
        free(first);
    }
    return fits;
}

/* Also a folder, "d/". */
static void write_file(struct store *s, const struct case_file *f)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", s->dir, f->name);
    if (f->name[strlen(f->name) - 1] == '/')
        mkdir(path, 0700);
    else
        store_file(s, f->name, f->text.data ? f->text.data : "", f->text.len);
}

static bool replaces_files(const struct answer_case *c)
{
    for (const struct case_step *step = c->steps; step; step = step->next)
        if (step->replaced)
            return true;
    return false;
}

static bool is_left_out(const struct run *r, const struct case_step *step)
{
    return step->in_table && r->check != check_answer && step->line % 8 && !check_everything();
}

/* Stops after a few failures. */
static bool run_steps(struct run *r, struct store *s, struct pool *pool)
{
    bool fits = true;

    r->env = s->env;
    r->env.pool = pool;
    r->threads = pool != NULL;
    for (struct case_step *step = r->c->steps; step; step = step->next) {
        if (step->replaced)
            write_file(s, step->replaced);
        if (atomic_load(&check_failures) < MOST_FAILURES && !is_left_out(r, step))
            fits = run_step(r, step) && fits;
    }
    return fits;
}

static bool has_long_file(const struct answer_case *c)
{
    for (const struct case_file *f = c->files; f; f = f->next)
        if (f->text.len > SMALL_CHUNK)
            return true;
    return false;
}

static bool begin_store(struct store *s, const struct answer_case *c, uint64_t chunk)
{
    if (!store_begin(s))
        return false;
    s->may_fail = true;
    for (const struct case_file *f = c->files; f; f = f->next)
        write_file(s, f);
    return store_ingest(s, chunk, THREADS);
}

static void forget_answers(const struct answer_case *c)
{
    for (struct case_step *step = c->steps; step; step = step->next) {
        if (step->first)
            answer_done(step->first);
        free(step->first);
        step->first = NULL;
    }
}

/* Sums of doubles depend on the chunks, but not on threads. */
static bool run_index(struct run *r, uint64_t chunk, bool alone, bool threads)
{
    struct store s;
    bool begun = begin_store(&s, r->c, chunk), fits = begun;

    if (fits && alone)
        fits = run_steps(r, &s, NULL);
    if (fits && alone && threads && replaces_files(r->c)) { /* an index of the first files */
        store_end(&s);
        fits = begun = begin_store(&s, r->c, chunk);
    }
    if (fits && threads)
        fits = run_steps(r, &s, s.pool);
    if (begun)
        store_end(&s);
    forget_answers(r->c);
    return fits;
}

/* On large chunks and on small ones, which are the same where no file is long. ThreadSanitizer is
 * shown threads only. */
static bool run_case(struct run *r)
{
    bool small = has_long_file(r->c) && !r->print;
    bool fits = CHECK_THREADS_ONLY || run_index(r, 0, true, !small && !r->print);

    return fits && (small || CHECK_THREADS_ONLY)
               ? run_index(r, SMALL_CHUNK, !CHECK_THREADS_ONLY, true)
               : fits;
}

static bool run_alone(const char *path, struct run *r)
{
    struct answer_case c;

    case_read(path, &c);
    r->c = &c;
    bool fits = run_case(r) && atomic_load(&check_failures) == 0;
    if (r->rounds)
        printf("   %u rounds, %u refused\n", r->rounds, r->refused);
    if (r->check == check_failing && FAILING_MALLOC && r->refused == 0) {
        printf("no allocation failed\n");
        fits = false;
    }
    case_done(&c);
    return fits;
}

/* ---- all cases ------------------------------------------------------------------------------- */

/* A crash or a leak in one case does not reach the next. */
static bool run_apart(const char *path, const struct run *how)
{
    const char *base = strrchr(path, '/') + 1;
    int len = (int)(strlen(base) - strlen(".case")), status = 0;
    struct rusage used = {0};

    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct run r = *how;
        exit(!run_alone(path, &r));
    }
    while (child > 0 && wait4(child, &status, 0, &used) < 0 && errno == EINTR)
        ;
    bool passed = child > 0 && status == 0;
    printf("%s %.*s (cpu %.1f s)\n", passed ? "ok" : "FAIL", len, base,
           (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    return passed;
}

static const char *const folder = "tests/answers";

static const char *path_of(const char *name)
{
    static char path[300];

    snprintf(path, sizeof path, "%s/%s.case", folder, name);
    return path;
}

static void write_files(const char *name, const char *dir)
{
    struct answer_case c;
    struct store s;

    case_read(path_of(name), &c);
    snprintf(s.dir, sizeof s.dir, "%s", dir);
    for (const struct case_file *f = c.files; f; f = f->next)
        write_file(&s, f);
    case_done(&c);
}

static int is_case(const struct dirent *e)
{
    const char *dot = strrchr(e->d_name, '.');

    return dot && strcmp(dot, ".case") == 0;
}

static unsigned run_all(const struct run *how, unsigned *ret_passed)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_case, alphasort);
    unsigned failed = 0;
    char path[300];

    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        bool passed = run_apart(path, how);
        failed += !passed;
        *ret_passed += passed;
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return failed;
}

static unsigned run_named(const struct run *how, char **names, unsigned *ret_passed)
{
    unsigned failed = 0;

    for (; *names; names++) {
        bool passed = run_apart(path_of(*names), how);
        failed += !passed;
        *ret_passed += passed;
    }
    return failed;
}

int main(int argc, char **argv)
{
    struct run how = {.check = check_answer};
    unsigned passed = 0;
    const char *option = argc > 1 && strncmp(argv[1], "--", 2) == 0 ? argv[1] : "";

    setvbuf(stdout, NULL, _IOLBF, 0);
    answer_begin();
    argv += 1 + (*option != '\0');
    if (strcmp(option, "--files") == 0 && argc == 4)
        return write_files(argv[1], argv[0]), 0;
    if (strcmp(option, "--failing") == 0)
        how.check = check_failing;
    else if (strcmp(option, "--tight") == 0)
        how.check = check_tight;
    how.print = strcmp(option, "--print") == 0;
    unsigned failed = *argv ? run_named(&how, argv, &passed) : run_all(&how, &passed);
    printf("%u ok, %u failed\n", passed, failed);
    return failed || !passed;
}
