/* process.c - the tree of processes, and the boundary events (epochs ...) of each.
 *
 * A process is a pid on a host: the same pid on another host is another process. Its parent is that
 * in the index: ppid of its start, else the process whose fork or spawn returned its pid. A row
 * without host belongs to the process with its pid if there is only one.
 */
#include "answer/aggregate/process.h"
#include "answer/aggregate/parents.h"
#include "dftracerd/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 4096 }; /* ancestors that are searched for the boundary of a row */

struct process {
    int64_t pid, ppid;
    uint32_t host, file;   /* host: text id of its hash; file: position in the snapshot */
    uint32_t parent, root; /* positions in process_table.processes */
};
/* A boundary event; times in ns. */
struct boundary_span {
    uint32_t process, boundary; /* positions in process_table.processes and plan.boundaries */
    uint32_t order;             /* of reading */
    __int128 from, to, max_to;  /* max_to: the largest `to` up to this one */
    const char *text;           /* the value of its field; NULL: none, it gets a number */
};
struct process_table {
    const struct aggregate_plan *plan;
    VEC(struct process) processes;
    VEC(struct boundary_span) spans; /* by process, boundary, start */
    struct arena arena;              /* texts of values */
};

/* ---- processes ------------------------------------------------------------------------------- */

static int compare_processes(const void *a, const void *b)
{
    const struct process *x = a, *y = b;

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    if ((x->ppid == INT64_MIN) != (y->ppid == INT64_MIN))
        return x->ppid == INT64_MIN ? 1 : -1;
    return (x->file > y->file) - (x->file < y->file);
}

/* Returns the position of the first process that is not before (pid, host). */
static size_t lower_bound(const struct process_table *t, int64_t pid, uint32_t host)
{
    size_t lo = 0, hi = t->processes.count;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        const struct process *p = &t->processes.at[mid];
        if (p->pid < pid || (p->pid == pid && p->host < host))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static uint32_t find_process(const struct process_table *t, int64_t pid, uint32_t host)
{
    size_t at = lower_bound(t, pid, host), first = lower_bound(t, pid, 0);
    bool any = first < t->processes.count && t->processes.at[first].pid == pid,
         several = any && first + 1 < t->processes.count && t->processes.at[first + 1].pid == pid;

    if (at < t->processes.count && t->processes.at[at].pid == pid &&
        t->processes.at[at].host == host)
        return (uint32_t)at;
    /* The host of the row or of the process is unknown. */
    if (any && !several && (host == INDEX_NO_TEXT || t->processes.at[first].host == INDEX_NO_TEXT))
        return (uint32_t)first;
    return PROCESS_NONE;
}

static int link_processes(struct process_table *t)
{
    uint32_t *parents = malloc((t->processes.count + 1) * sizeof(*parents));
    struct process *all = t->processes.at;

    if (!parents)
        return -ENOMEM;
    for (uint32_t i = 0; i < t->processes.count; i++) {
        const struct process *p = &all[i];
        parents[i] = p->ppid == INT64_MIN || p->ppid == p->pid ? PROCESS_NONE
                                                               : find_process(t, p->ppid, p->host);
    }
    int rc = process_cut_circles(parents, t->processes.count);
    for (uint32_t i = 0; i < t->processes.count && rc == 0; i++) {
        all[i].parent = parents[i];
        all[i].root = PROCESS_NONE;
    }
    for (uint32_t i = 0; i < t->processes.count && rc == 0; i++) {
        uint32_t root = i;
        while (all[root].root == PROCESS_NONE && all[root].parent != PROCESS_NONE)
            root = all[root].parent;
        root = all[root].root == PROCESS_NONE ? root : all[root].root;
        for (uint32_t k = i; k != PROCESS_NONE && all[k].root == PROCESS_NONE; k = all[k].parent)
            all[k].root = root;
    }
    free(parents);
    return rc;
}

static int read_processes(struct process_table *t)
{
    const struct snapshot *s = query_snapshot(t->plan->query);
    int rc = 0;

    for (uint32_t i = 0; i < snapshot_file_count(s) && rc == 0; i++) {
        const struct index_file *f = snapshot_file(s, i);
        for (uint32_t k = 0; k < f->process_count && rc == 0; k++) {
            const struct index_process *p = &f->processes[k];
            rc = vec_push(&t->processes, {.pid = p->pid,
                                          .ppid = p->ppid,
                                          .host = p->host_is_hash ? p->host : INDEX_NO_TEXT,
                                          .file = i});
        }
    }
    if (rc < 0)
        return rc;
    /* Keeps one entry of each process: the first one with a parent, if there is any. */
    uint32_t kept = 0;
    if (t->processes.count)
        qsort(t->processes.at, t->processes.count, sizeof(*t->processes.at), compare_processes);
    for (uint32_t i = 0; i < t->processes.count; i++) {
        const struct process *p = &t->processes.at[i];
        if (kept == 0 || t->processes.at[kept - 1].pid != p->pid ||
            t->processes.at[kept - 1].host != p->host)
            t->processes.at[kept++] = *p;
    }
    t->processes.count = kept;
    return link_processes(t);
}

void process_parent(const struct process_table *t, int64_t pid, uint32_t hhash,
                    struct value *parent, struct value *root)
{
    uint32_t at = find_process(t, pid, hhash);

    *parent = (struct value){.type = VALUE_NULL};
    *root = (struct value){.type = VALUE_INT, .i = pid};
    if (at == PROCESS_NONE)
        return;
    if (t->processes.at[at].ppid != INT64_MIN)
        *parent = (struct value){.type = VALUE_INT, .i = t->processes.at[at].ppid};
    root->i = t->processes.at[t->processes.at[at].root].pid;
}

/* ---- boundaries ------------------------------------------------------------------------------ */

struct span_reader {
    struct process_table *table;
    struct query *query;
    const struct source *name, *pid, *hhash, *ts, *dur, **fields;
};

/* Returns the text of a value, in the arena; NULL for null, and without memory (arena->error). */
static const char *text_of_value(struct arena *arena, const struct value *v)
{
    char digits[64];
    struct text t = v->text;

    if (v->type == VALUE_NULL)
        return NULL;
    if (v->type == VALUE_INT)
        t = (struct text){digits, num_format_i64(v->i, digits)};
    else if (v->type == VALUE_TIME)
        t = (struct text){digits, num_format_milli128(v->wide, digits)};
    else if (v->type == VALUE_DOUBLE)
        t = (struct text){digits, num_format_double(v->d, digits)};
    else if (v->type == VALUE_BOOL)
        t = v->i ? TEXT("true") : TEXT("false");
    return arena_strdup(arena, t);
}

static int read_row(struct span_reader *r, struct scan_batch *b, uint32_t row)
{
    const struct aggregate_plan *p = r->table->plan;
    const struct value name = batch_value(b, r->name, row), pid = batch_value(b, r->pid, row),
                       host = batch_value(b, r->hhash, row), ts = batch_value(b, r->ts, row),
                       dur = batch_value(b, r->dur, row);
    int rc = 0;

    if (pid.type != VALUE_INT || ts.type != VALUE_TIME || dur.type != VALUE_TIME)
        return 0;
    uint32_t hash =
        host.type == VALUE_TEXT ? index_text_find(query_index(p->query), host.text) : INDEX_NO_TEXT;
    uint32_t process = find_process(r->table, pid.i, hash);
    for (unsigned i = 0; i < p->boundary_count && rc == 0 && process != PROCESS_NONE; i++) {
        if (!text_eq(name.text, text_of(p->boundaries[i].event)))
            continue;
        const struct value field = batch_value(b, r->fields[i], row);
        struct boundary_span span = {.process = process,
                                     .boundary = i,
                                     .order = (uint32_t)r->table->spans.count,
                                     .from = ts.wide,
                                     .to = ts.wide + dur.wide};
        span.text = text_of_value(&r->table->arena, &field);
        rc = r->table->arena.error;
        rc = rc < 0 ? rc : vec_push(&r->table->spans, span);
    }
    return rc;
}

static int read_batch(void *arg, struct scan_batch *b)
{
    int rc = 0;

    for (uint32_t j = 0; j < b->count && rc == 0; j++)
        rc = read_row(arg, b, batch_row(b, j));
    return rc;
}

/* Selects the boundary events of the selected files; other conditions of the selection do not
 * apply. */
static int open_reader(struct span_reader *r, struct err *err)
{
    const struct aggregate_plan *p = r->table->plan;
    struct selection chosen;
    struct buf dsl = {0};

    selection_init(&chosen);
    chosen.phases = PHASE_EVENTS;
    chosen.position_count = query_files(p->query, &chosen.positions);
    buf_puts(&dsl, "name in [");
    for (unsigned i = 0; i < p->boundary_count; i++) {
        buf_puts(&dsl, i ? "," : "");
        buf_json_text(&dsl, text_of(p->boundaries[i].event));
    }
    buf_putc(&dsl, ']');
    chosen.query = (struct text){dsl.data, dsl.len};
    r->fields = calloc(p->boundary_count + 1, sizeof(struct source *));
    int rc = dsl.error || !r->fields
                 ? -ENOMEM
                 : query_open(query_environment(p->query), query_snapshot(p->query), &chosen,
                              p->budget, err, &r->query);
    buf_done(&dsl);
    if (rc < 0)
        return rc;
    const struct {
        const char *path;
        const struct source **at;
    } sources[] = {{"name", &r->name},
                   {"pid", &r->pid},
                   {"hhash", &r->hhash},
                   {"ts", &r->ts},
                   {"dur", &r->dur}};
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources) && rc == 0; i++)
        rc = query_source(r->query, text_of(sources[i].path), sources[i].at);
    for (unsigned i = 0; i < p->boundary_count && rc == 0; i++)
        rc = query_source(r->query, text_of(p->boundaries[i].field), &r->fields[i]);
    return rc;
}

static int compare_spans(const void *a, const void *b)
{
    const struct boundary_span *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->boundary != y->boundary)
        return x->boundary < y->boundary ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static bool same_kind(const struct boundary_span *a, const struct boundary_span *b)
{
    return a->process == b->process && a->boundary == b->boundary;
}

/* Sorts them, and numbers those without a value from 1 on, for each process and boundary. */
static int finish_spans(struct process_table *t)
{
    uint64_t number = 0;
    char digits[32];

    if (t->spans.count)
        qsort(t->spans.at, t->spans.count, sizeof(*t->spans.at), compare_spans);
    for (size_t i = 0; i < t->spans.count; i++) {
        struct boundary_span *s = &t->spans.at[i];
        bool first = i == 0 || !same_kind(s, s - 1);
        number = first ? 0 : number;
        s->max_to = first || s->to > s[-1].max_to ? s->to : s[-1].max_to;
        if (s->text)
            continue;
        s->text = arena_strdup(&t->arena, (struct text){digits, num_format_u64(++number, digits)});
        if (!s->text)
            return t->arena.error;
    }
    return 0;
}

static int read_spans(struct process_table *t, struct err *err)
{
    struct span_reader r = {.table = t};
    struct scan_worker *worker = NULL;
    const struct scan_place *ignored;
    int rc = open_reader(&r, err);

    if (rc == 0)
        rc = scan_worker_new(r.query, &worker);
    for (size_t i = 0, n = rc < 0 ? 0 : scan_places(r.query, &ignored); i < n && rc == 0; i++)
        rc = scan_chunk(worker, i, read_batch, &r);
    scan_worker_free(worker);
    query_close(r.query);
    free(r.fields);
    return rc < 0 ? rc : finish_spans(t);
}

/* Returns the last of the spans that contain the time; NULL: none. */
static const struct boundary_span *span_at(const struct process_table *t, uint32_t process,
                                           unsigned boundary, __int128 at)
{
    struct boundary_span key = {
        .process = process, .boundary = boundary, .from = at, .order = UINT32_MAX};
    size_t lo = 0, hi = t->spans.count;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (compare_spans(&t->spans.at[mid], &key) <= 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo > 0 && same_kind(&t->spans.at[lo - 1], &key) && t->spans.at[lo - 1].max_to > at;
         lo--) {
        if (t->spans.at[lo - 1].to > at)
            return &t->spans.at[lo - 1];
    }
    return NULL;
}

struct value process_boundary(const struct process_table *t, unsigned boundary, int64_t pid,
                              uint32_t hhash, __int128 at_ns)
{
    uint32_t own = find_process(t, pid, hhash);
    const struct boundary_span *s = NULL;

    for (uint32_t p = own == PROCESS_NONE ? PROCESS_NONE : t->processes.at[own].parent, depth = 0;
         p != PROCESS_NONE && !s && depth < DEPTH_MAX; p = t->processes.at[p].parent, depth++)
        s = span_at(t, p, boundary, at_ns);
    if (!s && own != PROCESS_NONE)
        s = span_at(t, own, boundary, at_ns);
    return s ? (struct value){.type = VALUE_TEXT, .text = text_of(s->text)}
             : (struct value){.type = VALUE_NULL};
}

static int compare_boundaries(const void *a, const void *b)
{
    const struct aggregate_boundary *x = a, *y = b;
    int cmp = strcmp(x->output, y->output);

    return cmp ? cmp : text_cmp(x->value, y->value);
}

int process_boundaries(const struct process_table *t, struct aggregate_boundary **ret,
                       size_t *ret_count)
{
    const __int128 origin = t->plan->origin_ns;
    struct aggregate_boundary *all = malloc((t->spans.count + 1) * sizeof(*all));
    size_t n = 0;

    if (!all)
        return -ENOMEM;
    for (size_t i = 0; i < t->spans.count; i++)
        all[i] = (struct aggregate_boundary){
            t->plan->boundaries[t->spans.at[i].boundary].output, text_of(t->spans.at[i].text),
            t->spans.at[i].from - origin, t->spans.at[i].to - origin};
    qsort(all, t->spans.count, sizeof(*all), compare_boundaries);
    for (size_t i = 0; i < t->spans.count; i++) {
        if (n == 0 || compare_boundaries(&all[n - 1], &all[i]) != 0) {
            all[n++] = all[i];
            continue;
        }
        if (all[i].from_ns < all[n - 1].from_ns)
            all[n - 1].from_ns = all[i].from_ns;
        if (all[i].to_ns > all[n - 1].to_ns)
            all[n - 1].to_ns = all[i].to_ns;
    }
    *ret = all;
    *ret_count = n;
    return 0;
}

int process_table_new(const struct aggregate_plan *p, struct err *err, struct process_table **ret)
{
    struct process_table *t = calloc(1, sizeof(*t));

    if (!t)
        return -ENOMEM;
    t->plan = p;
    t->processes.budget = t->spans.budget = t->arena.budget = p->budget;
    int rc = read_processes(t);
    if (rc == 0 && p->boundary_count)
        rc = read_spans(t, err);
    if (rc < 0) {
        process_table_free(t);
        return rc;
    }
    *ret = t;
    return 0;
}

void process_table_free(struct process_table *t)
{
    if (!t)
        return;
    arena_done(&t->arena);
    vec_done(&t->processes);
    vec_done(&t->spans);
    free(t);
}
