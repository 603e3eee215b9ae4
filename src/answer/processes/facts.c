/* facts.c - adds records of the index about each process, from all selected files; and its parent.
 *
 * The parent is read from records: ppid of a start, else the result of fork, vfork or spawn.
 * Tracers before 1.0.5 wrote neither: their forked processes continued in the file of the parent,
 * which is named after the parent's pid. That is a guess, and marked as one.
 */
#include "answer/processes/processes.h"
#include "engine/derived/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_EVERY = 1024 }; /* processes between two checks of the budget */

/* A process in a file. */
struct fact {
    struct value host;
    uint32_t file; /* position in the snapshot */
    const struct index_process *process;
};
struct facts {
    struct query *query;
    struct process_list *list;
    VEC(struct fact) all; /* sorted by host, pid, file */
};

uint32_t process_find_row(const struct process_list *l, const struct value *host, int64_t pid)
{
    size_t lo = 0, hi = l->rows.count;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int cmp = value_cmp(&l->rows.at[mid].host, host);
        if (cmp < 0 || (cmp == 0 && l->rows.at[mid].pid < pid))
            lo = mid + 1;
        else
            hi = mid;
    }
    const struct process_info *row = lo < l->rows.count ? &l->rows.at[lo] : NULL;
    return row && row->pid == pid && value_cmp(&row->host, host) == 0 ? (uint32_t)lo : PROCESS_NONE;
}

static struct value text_value(struct query *q, uint32_t id)
{
    if (id == INDEX_NO_TEXT)
        return (struct value){.type = VALUE_NULL};
    return (struct value){.type = VALUE_TEXT, .text = index_text(query_index(q), id)};
}

/* ---- the table ------------------------------------------------------------------------------- */

static int compare_facts(const void *a, const void *b, void *arg)
{
    const struct fact *x = a, *y = b;
    int cmp = value_cmp(&x->host, &y->host);

    (void)arg;
    if (cmp != 0)
        return cmp;
    if (x->process->pid != y->process->pid)
        return x->process->pid < y->process->pid ? -1 : 1;
    return (x->file > y->file) - (x->file < y->file);
}

static struct value host_of(struct query *q, const struct index_file *f,
                            const struct index_process *p)
{
    uint32_t host = process_host(q, f, p);

    return text_value(q, host == INDEX_NO_TEXT ? only_host_of_pid(q, f, p->pid) : host);
}

static int read_facts(struct facts *t)
{
    const struct snapshot *s = query_snapshot(t->query);
    const uint32_t *files;
    size_t n = query_files(t->query, &files), count = 0;

    for (size_t i = 0; i < n; i++)
        count += snapshot_file(s, files[i])->process_count;
    t->all.budget = query_budget(t->query);
    int rc = vec_reserve(&t->all, 2 * count); /* sorting copies them */
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct index_file *f = snapshot_file(s, files[i]);
        for (uint32_t k = 0; k < f->process_count && rc == 0; k++) {
            rc = k % CHECK_EVERY ? 0 : budget_check(query_budget(t->query));
            t->all.at[t->all.count++] =
                (struct fact){.host = host_of(t->query, f, &f->processes[k]),
                              .file = files[i],
                              .process = &f->processes[k]};
        }
    }
    return rc < 0 ? rc
                  : sort_items(t->all.at, t->all.count, sizeof(*t->all.at), compare_facts, NULL,
                               t->all.budget);
}

/* ---- one process ----------------------------------------------------------------------------- */

/* Sets *into to the name of a hash, unless it is set already. */
static void fact_add_name(struct facts *t, const struct fact *f, enum index_name_kind kind,
                          uint32_t hash, struct value *into)
{
    const struct index_file *file = snapshot_file(query_snapshot(t->query), f->file);

    if (into->type == VALUE_NULL && hash != INDEX_NO_TEXT)
        *into =
            text_value(t->query, query_resolve_name(t->query, file, f->process->pid, kind, hash));
}

/* Sets the parent. That of a start record is preferred to the result of fork or spawn. */
static void fact_add_parent(struct process_info *row, const struct index_process *p)
{
    static const char *const names[] = {[INDEX_PARENT_START] = "ppid",
                                        [INDEX_PARENT_FORK] = "fork",
                                        [INDEX_PARENT_SPAWN] = "spawn"};
    bool better = !row->has_parent ||
                  (p->parent_by == INDEX_PARENT_START && strcmp(row->parent_by, "ppid") != 0);

    if (p->parent_by == INDEX_PARENT_UNKNOWN || p->ppid == p->pid || !better)
        return;
    row->parent_pid = p->ppid;
    row->parent_by = names[p->parent_by];
    row->has_parent = true;
}

/* Rows and facts are both ordered by (host, pid). */
static int add_facts(struct facts *t)
{
    size_t at = 0;
    int rc = 0;

    for (size_t i = 0; i < t->list->rows.count && rc == 0; i++) {
        struct process_info *row = &t->list->rows.at[i];
        bool started = false;
        rc = i % CHECK_EVERY ? 0 : budget_check(query_budget(t->query));
        for (; at < t->all.count; at++) {
            const struct fact *f = &t->all.at[at];
            int cmp = value_cmp(&f->host, &row->host);
            if (cmp > 0 || (cmp == 0 && f->process->pid > row->pid))
                break;
            if (cmp == 0 && f->process->pid == row->pid) {
                const struct index_process *p = f->process;
                if (row->rank.type == VALUE_NULL && p->rank != INT64_MIN)
                    row->rank = (struct value){.type = VALUE_INT, .i = p->rank};
                fact_add_name(t, f, INDEX_SH, p->cmd_hash, &row->command);
                fact_add_name(t, f, INDEX_SH, p->exec_hash, &row->exec);
                fact_add_name(t, f, INDEX_FH, p->cwd_hash, &row->cwd);
                fact_add_parent(row, p);
                if (row->files++ == 0)
                    row->file = snapshot_file(query_snapshot(t->query), f->file)->name;
                started = started || p->started;
                if (p->finished)
                    row->finished = (struct value){.type = VALUE_BOOL, .i = 1};
            }
        }
        if (started && row->finished.type == VALUE_NULL)
            row->finished = (struct value){.type = VALUE_BOOL};
    }
    return rc;
}

/* ---- guesses --------------------------------------------------------------------------------- */

/* Returns true if the name of the file, without its folders, contains the number as a whole
 * number. */
static bool name_has(const char *name, int64_t number)
{
    const char *slash = strrchr(name, '/');
    char digits[32];
    size_t len = num_format_i64(number, digits);

    for (const char *at = slash ? slash + 1 : name; *at; at++) {
        size_t run = strspn(at, "0123456789");
        if (run == len && memcmp(at, digits, len) == 0)
            return true;
        at += run ? run - 1 : 0;
    }
    return false;
}

/* Returns the only process after whose pid the file is named; NULL if the starts of its processes
 * were traced. */
static const struct index_process *owner_of(const struct index_file *f)
{
    const struct index_process *found = NULL;
    unsigned n = 0;

    for (uint32_t i = 0; i < f->process_count; i++) {
        const struct index_process *p = &f->processes[i];
        if (p->started)
            return NULL;
        if (!name_has(f->name, p->pid))
            continue;
        found = p;
        n++;
    }
    return n == 1 ? found : NULL;
}

static int guess_in_file(struct facts *t, const struct index_file *f)
{
    int rc = 0;
    const struct index_process *owner = f->process_count > 1 ? owner_of(f) : NULL;
    struct value host = owner ? host_of(t->query, f, owner) : (struct value){.type = VALUE_NULL};

    for (uint32_t i = 0; owner && i < f->process_count && rc == 0; i++) {
        rc = i % CHECK_EVERY ? 0 : budget_check(query_budget(t->query));
        const struct index_process *p = &f->processes[i];
        struct value own = host_of(t->query, f, p);
        uint32_t at = p == owner || value_cmp(&own, &host) != 0
                          ? PROCESS_NONE
                          : process_find_row(t->list, &own, p->pid);
        if (at == PROCESS_NONE || t->list->rows.at[at].has_parent)
            continue;
        t->list->rows.at[at].parent_pid = owner->pid;
        t->list->rows.at[at].parent_by = "file";
        t->list->rows.at[at].has_parent = true;
    }
    return rc;
}

int process_add_facts(struct query *q, struct process_list *l)
{
    struct facts t = {.query = q, .list = l};
    const uint32_t *files;
    int rc = read_facts(&t);

    rc = rc < 0 ? rc : add_facts(&t);
    for (size_t i = 0, n = query_files(q, &files); i < n && rc == 0; i++)
        rc = guess_in_file(&t, snapshot_file(query_snapshot(q), files[i]));
    vec_done(&t.all);
    return rc;
}
