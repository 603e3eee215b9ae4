/* process.c - the tree of processes, and the boundary events (epochs ...) of each.
 *
 * A process is a pid on a host: the same pid elsewhere is another one. Its parent is what the index
 * knows (start's ppid, else whose fork or spawn returned it). A row without host belongs to the
 * only process of its pid, if there is one only.
 */
#include "answer/aggregate/process.h"
#include "answer/aggregate/parents.h"
#include "dftracerd/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY PROCESS_NONE
enum { DEPTH_MAX = 4096 }; /* most parents that are searched for boundaries of a row */

struct process {
    int64_t pid, ppid;
    uint32_t host, file;   /* host: text id as in objects */
    uint32_t parent, root; /* numbers of processes: the tree, circles cut as there */
};
struct boundary_span {
    uint32_t process, boundary, order;
    bool numbered;             /* no value of its own */
    __int128 from, to, latest; /* latest: the greatest `to` up to this one */
    uint64_t key;
    const char *text;
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

/* The first one that does not come before (pid, host). */
static size_t place_of(const struct process_table *t, int64_t pid, uint32_t host)
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
    size_t at = place_of(t, pid, host), first = place_of(t, pid, 0);
    bool any = first < t->processes.count && t->processes.at[first].pid == pid,
         several = any && first + 1 < t->processes.count && t->processes.at[first + 1].pid == pid;

    if (at < t->processes.count && t->processes.at[at].pid == pid &&
        t->processes.at[at].host == host)
        return (uint32_t)at;
    /* A host that is not known on one of the two sides. */
    if (any && !several && (host == INDEX_NO_TEXT || t->processes.at[first].host == INDEX_NO_TEXT))
        return (uint32_t)first;
    return NOBODY;
}

static int link_processes(struct process_table *t)
{
    uint32_t *parents = malloc((t->processes.count + 1) * sizeof(*parents));
    struct process *all = t->processes.at;

    if (!parents)
        return -ENOMEM;
    for (uint32_t i = 0; i < t->processes.count; i++) {
        const struct process *p = &all[i];
        parents[i] =
            p->ppid == INT64_MIN || p->ppid == p->pid ? NOBODY : find_process(t, p->ppid, p->host);
    }
    int rc = process_cut_circles(parents, t->processes.count);
    for (uint32_t i = 0; i < t->processes.count && rc == 0; i++) {
        all[i].parent = parents[i];
        all[i].root = NOBODY;
    }
    for (uint32_t i = 0; i < t->processes.count && rc == 0; i++) {
        uint32_t root = i; /* the walk ends where the root is known */
        while (all[root].root == NOBODY && all[root].parent != NOBODY)
            root = all[root].parent;
        root = all[root].root == NOBODY ? root : all[root].root;
        for (uint32_t k = i; k != NOBODY && all[k].root == NOBODY; k = all[k].parent)
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
    /* One entry a process: the first parent that is known. */
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
    if (at == NOBODY)
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

/* The text of a value; NULL: there is none (*rc -ENOMEM: no memory). */
static const char *text_of_value(struct arena *arena, const struct value *v, int *rc)
{
    char room[64];
    struct text t = v->text;

    if (v->type == VALUE_NULL)
        return NULL;
    if (v->type == VALUE_INT)
        t = (struct text){room, num_format_i64(v->i, room)};
    else if (v->type == VALUE_TIME)
        t = (struct text){room, num_format_milli128(v->wide, room)};
    else if (v->type == VALUE_DOUBLE)
        t = (struct text){room, num_format_double(v->d, room)};
    else if (v->type == VALUE_BOOL)
        t = v->i ? TEXT("true") : TEXT("false");
    const char *copy = arena_strdup(arena, t);
    *rc = copy ? 0 : -ENOMEM;
    return copy;
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
    for (unsigned i = 0; i < p->boundary_count && rc == 0 && process != NOBODY; i++) {
        if (!text_eq(name.text, text_of(p->boundaries[i].event)))
            continue;
        const struct value field = batch_value(b, r->fields[i], row);
        struct boundary_span span = {.process = process,
                                     .boundary = i,
                                     .order = (uint32_t)r->table->spans.count,
                                     .from = ts.wide,
                                     .to = ts.wide + dur.wide};
        span.text = text_of_value(&r->table->arena, &field, &rc);
        span.numbered = !span.text;
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

/* The selected files; other conditions of the selection do not apply. */
static bool is_selected(void *arg, struct scan_place *place)
{
    const uint32_t *files;
    size_t lo = 0, hi = query_files(arg, &files);

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (files[mid] < place->file)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < query_files(arg, &files) && files[lo] == place->file;
}

static int open_reader(struct span_reader *r, struct err *err)
{
    const struct aggregate_plan *p = r->table->plan;
    struct selection chosen;
    struct buf dsl = {0};

    selection_init(&chosen);
    chosen.phases = PHASE_EVENTS;
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
    scan_keep_places(r->query, is_selected, p->query);
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

/* Sorts, and numbers those without a value from 1 on, by process and boundary. */
static int finish_spans(struct process_table *t)
{
    uint64_t number = 0;
    char room[32];

    if (t->spans.count)
        qsort(t->spans.at, t->spans.count, sizeof(*t->spans.at), compare_spans);
    for (size_t i = 0; i < t->spans.count; i++) {
        struct boundary_span *s = &t->spans.at[i];
        bool first = i == 0 || !same_kind(s, s - 1);
        number = first ? 0 : number;
        s->latest = first || s->to > s[-1].latest ? s->to : s[-1].latest;
        if (!s->numbered)
            continue;
        s->text = arena_strdup(&t->arena, (struct text){room, num_format_u64(++number, room)});
        if (!s->text)
            return -ENOMEM;
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

/* The last of these spans that begin at or before the time, and have not ended. */
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
    for (; lo > 0 && same_kind(&t->spans.at[lo - 1], &key) && t->spans.at[lo - 1].latest > at;
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

    /* Those of the parent and its parents first, at last those of the process itself. */
    for (uint32_t p = own == NOBODY ? NOBODY : t->processes.at[own].parent, depth = 0;
         p != NOBODY && !s && depth < DEPTH_MAX; p = t->processes.at[p].parent, depth++)
        s = span_at(t, p, boundary, at_ns);
    if (!s && own != NOBODY)
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
    t->processes.budget = t->spans.budget = p->budget;
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
