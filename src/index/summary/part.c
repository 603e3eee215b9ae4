/* part.c - merges, stores and returns the metadata of a file's chunks. See part.h. */
#include "index/summary/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct part *part_new(void)
{
    struct part *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->version = INDEX_NO_TEXT;
    p->summary = summary_new();
    if (!p->summary) {
        free(p);
        return NULL;
    }
    return p;
}

void part_free(struct part *p)
{
    if (!p)
        return;
    vec_done(&p->processes);
    hash_index_done(&p->process_index);
    vec_done(&p->facts);
    summary_free(p->summary);
    vec_done(&p->names);
    free(p->lookup);
    buf_done(&p->lines);
    free(p);
}

/* ---- counters -------------------------------------------------------------------------------- */

#define OBJECT struct trace_counts
const struct record_field counts_fields[] = {FIELD(lines),      FIELD(brackets), FIELD(invalid),
                                             FIELD(repaired),   FIELD(events),   FIELD(counters),
                                             FIELD(aggregated), FIELD(metadata), FIELD(bad_dur),
                                             FIELD(split),      FIELD(glued),    {0}};
#undef OBJECT
enum { COUNTS = sizeof(struct trace_counts) / sizeof(uint64_t) };
_Static_assert(sizeof counts_fields / sizeof *counts_fields == COUNTS + 1, "none is left out");

/* ---- processes ------------------------------------------------------------------------------- */

static uint64_t process_hash(uint32_t host, bool is_hash, int64_t pid)
{
    return hash_index_mix((uint64_t)pid, (uint64_t)host << 1 | is_hash);
}

static struct index_process *find_process(const struct part *p, uint32_t host, bool is_hash,
                                          int64_t pid)
{
    const struct hash_index *x = &p->process_index;

    for (struct hash_match m = hash_index_find(x, process_hash(host, is_hash, pid));
         hash_index_next(x, &m);) {
        struct index_process *q = &p->processes.at[m.position];
        if (q->pid == pid && q->host == host && q->host_is_hash == is_hash)
            return q;
    }
    return NULL;
}

/* Returns the process (host, pid), which is added if it is new; NULL without memory. */
static struct index_process *get_process(struct part *p, uint32_t host, bool is_hash, int64_t pid)
{
    struct index_process *known = find_process(p, host, is_hash, pid);

    if (known)
        return known;
    if (vec_push(&p->processes, {.host = host,
                                 .host_is_hash = is_hash,
                                 .pid = pid,
                                 .ppid = INT64_MIN,
                                 .rank = INT64_MIN,
                                 .cmd_hash = INDEX_NO_TEXT,
                                 .exec_hash = INDEX_NO_TEXT,
                                 .cwd_hash = INDEX_NO_TEXT}) < 0 ||
        hash_index_add(&p->process_index, process_hash(host, is_hash, pid),
                       (uint32_t)p->processes.count - 1) < 0) {
        p->error = -ENOMEM;
        return NULL;
    }
    return &p->processes.at[p->processes.count - 1];
}

void part_add_process(struct part *p, const struct index_process *from)
{
    struct index_process *to = get_process(p, from->host, from->host_is_hash, from->pid);

    if (!to)
        return;
    to->objects += from->objects;
    to->events += from->events;
    if (from->has_time)
        times_widen(&to->has_time, &to->min_ts, &to->max_te, from->min_ts, from->max_te);
}

void part_merge_facts(struct part *into, const struct part *from)
{
    into->error = into->error ? into->error : from->error;
    for (size_t i = 0; i < COUNTS; i++)
        ((uint64_t *)&into->counts)[i] += ((const uint64_t *)&from->counts)[i];
    into->text_sum.high += from->text_sum.high;
    into->text_sum.low += from->text_sum.low;
    into->finished |= from->finished;
    if (!into->unit_seen)
        into->unit_seen = from->unit_seen;
    if (into->version == INDEX_NO_TEXT)
        into->version = from->version;
    for (size_t i = 0; i < from->processes.count; i++)
        part_add_process(into, &from->processes.at[i]);
    for (size_t i = 0; i < from->facts.count; i++)
        if (vec_push(&into->facts, from->facts.at[i]) < 0)
            into->error = -ENOMEM;
}

void part_merge(struct part *into, const struct part *from)
{
    part_merge_facts(into, from);
    if (vec_reserve(&into->names, from->names.count) < 0)
        into->error = -ENOMEM;
    for (size_t i = 0; i < from->names.count && !into->error; i++)
        into->names.at[into->names.count++] = from->names.at[i];
    if (summary_merge(into->summary, from->summary) < 0)
        into->error = -ENOMEM;
}

/* ---- processes as answers show them ---------------------------------------------------------- */

int64_t part_parse_rank(struct text t)
{
    static const char word[] = "Rank ";
    int64_t rank;

    if (t.len > sizeof word - 1 && memcmp(t.ptr, word, sizeof word - 1) == 0)
        t = (struct text){t.ptr + sizeof word - 1, t.len - (sizeof word - 1)};
    return num_parse_i64(t, &rank) == 0 ? rank : INT64_MIN;
}

/* The processes of a part, whose list is complete. */
struct pid_order {
    const struct part *part;
    uint32_t *by_pid; /* positions of processes */
};

static int pid_order_init(struct pid_order *s)
{
    s->by_pid = malloc((s->part->processes.count + 1) * sizeof *s->by_pid);
    if (!s->by_pid)
        return -ENOMEM;
    process_order(s->part->processes.at, (uint32_t)s->part->processes.count, s->by_pid);
    return 0;
}

static const struct index_process *find_single(const struct pid_order *s, int64_t pid)
{
    return process_find_single(s->part->processes.at, s->by_pid, (uint32_t)s->part->processes.count,
                               pid);
}

/* A fact without a host belongs to the only host of its pid, or else to the process without a host.
 * Returns NULL if there is none. */
static struct index_process *find_process_of(const struct pid_order *s, const struct part_fact *f)
{
    const struct index_process *only = f->host == INDEX_NO_TEXT ? find_single(s, f->pid) : NULL;

    return only ? &s->part->processes.at[only - s->part->processes.at]
                : find_process(s->part, f->host, f->host_is_hash, f->pid);
}

/* Applies a fact that is no fork. The first one of a kind counts. */
static void apply_fact(const struct pid_order *s, const struct part_fact *f)
{
    struct index_process *p = find_process_of(s, f);

    if (!p)
        return;
    p->started = p->started || f->kind == FACT_START;
    p->finished = p->finished || f->kind == FACT_END;
    if (f->kind == FACT_PPID && p->ppid == INT64_MIN) {
        p->ppid = f->value;
        p->parent_by = INDEX_PARENT_START;
    }
    if (f->kind == FACT_RANK && p->rank == INT64_MIN)
        p->rank = f->value;
    if (f->kind == FACT_CMD && p->cmd_hash == INDEX_NO_TEXT)
        p->cmd_hash = (uint32_t)f->value;
    if (f->kind == FACT_EXEC && p->exec_hash == INDEX_NO_TEXT)
        p->exec_hash = (uint32_t)f->value;
    if (f->kind == FACT_CWD && p->cwd_hash == INDEX_NO_TEXT)
        p->cwd_hash = (uint32_t)f->value;
}

/* Sets the parent of the child, unless the child's own start record contains it. */
static void apply_fork(const struct pid_order *s, const struct part_fact *f)
{
    struct part_fact child = *f;

    child.pid = f->value;
    struct index_process *p =
        fact_is_fork(f) && f->pid != f->value ? find_process_of(s, &child) : NULL;
    if (!p || p->ppid != INT64_MIN)
        return;
    p->ppid = f->pid;
    p->parent_by = fact_parent_by(f);
}

static int compare_processes(const void *a, const void *b)
{
    const struct index_process *p = a, *q = b;

    if (p->host != q->host)
        return p->host < q->host ? -1 : 1;
    if (p->pid != q->pid)
        return p->pid < q->pid ? -1 : 1;
    return (int)p->host_is_hash - (int)q->host_is_hash;
}

/* Objects without a host get the only host of their pid. */
static int add_with_hosts(struct part *to, const struct part *from)
{
    struct pid_order s = {.part = from};
    int rc = pid_order_init(&s);

    for (size_t i = 0; i < from->processes.count && rc == 0; i++) {
        struct index_process p = from->processes.at[i];
        const struct index_process *only = p.host == INDEX_NO_TEXT ? find_single(&s, p.pid) : NULL;
        if (only) {
            p.host = only->host;
            p.host_is_hash = only->host_is_hash;
        }
        part_add_process(to, &p);
        rc = to->error;
    }
    free(s.by_pid);
    return rc;
}

static int apply_facts(struct part *to, const struct part *from)
{
    struct pid_order s = {.part = to};
    int rc = pid_order_init(&s);

    for (uint32_t i = 0; i < from->facts.count && rc == 0; i++)
        if (!fact_is_fork(&from->facts.at[i]))
            apply_fact(&s, &from->facts.at[i]);
    for (uint32_t i = 0; i < from->facts.count && rc == 0; i++)
        apply_fork(&s, &from->facts.at[i]);
    free(s.by_pid);
    return rc;
}

int part_processes(const struct part *p, struct index_process **ret, uint32_t *ret_count)
{
    struct part *resolved = part_new();

    if (!resolved)
        return -ENOMEM;
    int rc = add_with_hosts(resolved, p);
    rc = rc ? rc : apply_facts(resolved, p);
    if (rc == 0) {
        *ret = resolved->processes.at;
        *ret_count = (uint32_t)resolved->processes.count;
        resolved->processes.vec = (struct vec){0};
        if (*ret)
            qsort(*ret, *ret_count, sizeof **ret, compare_processes);
    }
    part_free(resolved);
    return rc;
}

/* ---- stored form ----------------------------------------------------------------------------- */

static bool fact_is_text(uint8_t kind)
{
    return kind == FACT_CMD || kind == FACT_EXEC || kind == FACT_CWD;
}

#define OBJECT struct index_process
static const struct record_field process_fields[] = {FIELD_TEXT_ID(host),
                                                     FIELD_BITS(2),
                                                     FIELD(host_is_hash, .bits = 1),
                                                     FIELD(has_time),
                                                     FIELD(pid),
                                                     FIELD(objects),
                                                     FIELD(events),
                                                     FIELD_IF(has_time, 2),
                                                     FIELD(min_ts),
                                                     FIELD(max_te),
                                                     {0}};
#undef OBJECT

/* The value follows these fields: a text, or a number. */
#define OBJECT struct part_fact
static const struct record_field fact_fields[] = {FIELD_BITS(2),
                                                  FIELD(host_is_hash, .bits = 1),
                                                  FIELD(kind, .max = FACT_SPAWN),
                                                  FIELD_TEXT_ID(host),
                                                  FIELD(pid),
                                                  {0}};
#undef OBJECT

/* The processes, the facts and the summary follow these fields. */
#define OBJECT struct part
static const struct record_field part_fields[] = {FIELD_STRUCT(counts, counts_fields),
                                                  FIELD(text_sum.high),
                                                  FIELD(text_sum.low),
                                                  FIELD(finished),
                                                  FIELD(unit_seen, .max = TRACE_SEC + 1),
                                                  FIELD_TEXT_ID(version),
                                                  {0}};
#undef OBJECT

void part_encode(const struct part *p, const struct texts *texts, struct buf *out)
{
    record_encode(part_fields, p, texts, out);
    rec_put_u(out, p->processes.count);
    for (size_t i = 0; i < p->processes.count; i++)
        record_encode(process_fields, &p->processes.at[i], texts, out);
    rec_put_u(out, p->facts.count);
    for (size_t i = 0; i < p->facts.count; i++) {
        const struct part_fact *f = &p->facts.at[i];
        record_encode(fact_fields, f, texts, out);
        if (fact_is_text(f->kind))
            texts_put_ref(texts, out, (uint32_t)f->value);
        else
            rec_put_i(out, f->value);
    }
    summary_encode(p->summary, texts, out);
}

static void decode_lists(struct rec *r, struct texts *texts, struct part *p)
{
    for (uint64_t n = rec_count(r, 5); n > 0 && !r->bad && !p->error; n--) {
        struct index_process q = {0};
        record_decode(process_fields, r, texts, NULL, &q);
        if (!r->bad)
            part_add_process(p, &q);
    }
    for (uint64_t n = rec_count(r, 4); n > 0 && !r->bad && !p->error; n--) {
        struct part_fact f = {0};
        record_decode(fact_fields, r, texts, NULL, &f);
        f.value = fact_is_text(f.kind) ? texts_get_ref(texts, r) : rec_i(r);
        if (vec_push(&p->facts, f) < 0)
            p->error = -ENOMEM;
    }
}

int part_decode(struct rec *r, struct texts *texts, struct part **ret)
{
    struct part *p = part_new();
    struct summary *s = NULL;

    if (!p)
        return -ENOMEM;
    record_decode(part_fields, r, texts, NULL, p);
    decode_lists(r, texts, p);
    int rc = p->error ? p->error : rec_error(r);
    rc = rc ? rc : summary_decode(r, texts, &s);
    if (rc) {
        part_free(p);
        return rc;
    }
    summary_free(p->summary);
    p->summary = s;
    *ret = p;
    return 0;
}
