/* format_info.c - /info: totals over the chosen files, and what is known of each. */
#include "format_info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- distinct processes, threads and hosts ------------------------------------------------------- */

/* A thread by ids, all hosts resolved. */
struct who {
    uint32_t host;
    int64_t pid, tid;
};

static int compare_who(const void *a, const void *b)
{
    const struct who *x = a, *y = b;

    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

static void count_who(struct info_totals *t, struct who *who, size_t n)
{
    qsort(who, n, sizeof(*who), compare_who);
    for (size_t i = 0; i < n; i++) {
        const struct who *now = &who[i], *before = i ? &who[i - 1] : NULL;
        bool host = !before || before->host != now->host;
        bool pid = host || before->pid != now->pid;
        bool tid = pid || before->tid != now->tid;
        t->hosts += host && now->host != INDEX_NO_TEXT;
        t->processes += pid && now->pid != INT64_MIN;
        t->threads += tid && now->pid != INT64_MIN && now->tid != INT64_MIN;
    }
}

static uint32_t host_of(const struct snapshot *s, const struct summary_thread *t)
{
    uint32_t name = INDEX_NO_TEXT;

    if (t->host_is_hash && t->host != INDEX_NO_TEXT)
        name = index_resolve(s, snapshot_file(s, t->file), t->pid, INDEX_HH, t->host, NULL);
    return name != INDEX_NO_TEXT ? name : t->host;
}

struct crowd {
    struct who *who;
    size_t count, cap;
};

static int add_threads(struct crowd *c, const struct snapshot *s, const struct summary *sum)
{
    if (c->count + sum->thread_count > c->cap) {
        size_t cap = (c->count + sum->thread_count) * 2;
        struct who *grown = realloc(c->who, cap * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        c->who = grown;
        c->cap = cap;
    }
    for (uint32_t i = 0; i < sum->thread_count; i++) {
        const struct summary_thread *t = &sum->threads[i];
        if (t->class != TRACE_METADATA)
            c->who[c->count++] = (struct who){host_of(s, t), t->pid, t->tid};
    }
    return 0;
}

static bool has_summary(const struct index_file *f)
{
    return f->state == INDEX_READY || f->state == INDEX_GROWING;
}

static bool is_all(struct snapshot *s, const uint32_t *files, size_t count)
{
    size_t all = 0, ours = 0;

    for (uint32_t i = 0; i < snapshot_file_count(s); i++)
        all += has_summary(snapshot_file(s, i));
    for (size_t i = 0; i < count; i++)
        ours += has_summary(snapshot_file(s, files[i]));
    return all == ours;
}

static int count_processes(struct index *ix, struct snapshot *s, const uint32_t *files,
                           size_t count, struct info_totals *t)
{
    struct crowd crowd = {0};
    const struct summary *root = NULL;
    int rc = 0;

    if (is_all(s, files, count)) {
        rc = index_root_summary(ix, s, &root);
        rc = rc < 0 ? rc : add_threads(&crowd, s, root);
    } else {
        for (size_t i = 0; i < count && rc == 0; i++) {
            struct summary *one;
            if (!has_summary(snapshot_file(s, files[i])))
                continue;
            rc = index_file_summary(ix, s, files[i], &one);
            if (rc < 0)
                break;
            rc = add_threads(&crowd, s, one);
            summary_free(one);
        }
    }
    if (rc == 0 && crowd.count)
        count_who(t, crowd.who, crowd.count);
    free(crowd.who);
    return rc;
}

/* ---- totals ----------------------------------------------------------------------------------------- */

static void add_times(struct info_totals *t, const struct index_file *f)
{
    if (!f->has_time)
        return;
    t->min_ts = !t->has_time || f->min_ts < t->min_ts ? f->min_ts : t->min_ts;
    t->max_te = !t->has_time || f->max_te > t->max_te ? f->max_te : t->max_te;
    t->has_time = true;
}

static void add_file(struct info_totals *t, const struct index_file *f)
{
    bool pending = f->state == INDEX_PENDING || f->state == INDEX_INDEXING;

    t->files++;
    t->pending += pending;
    t->failed += f->state == INDEX_FAILED;
    t->ready += has_summary(f);
    t->damaged += f->damaged;
    t->incomplete += pending || f->state == INDEX_GROWING;
    t->compressed_bytes += f->compressed_bytes;
    t->text_bytes += f->text_bytes;
    t->index_bytes += f->index_bytes;
    t->chunks += f->chunk_count;
    t->counts.lines += f->counts.lines;
    t->counts.brackets += f->counts.brackets;
    t->counts.invalid += f->counts.invalid;
    t->counts.repaired += f->counts.repaired;
    t->counts.events += f->counts.events;
    t->counts.counters += f->counts.counters;
    t->counts.aggregated += f->counts.aggregated;
    t->counts.metadata += f->counts.metadata;
    add_times(t, f);
}

static void put_uint(struct jw *j, const char *key, uint64_t u)
{
    jw_key(j, key);
    jw_uint(j, u);
}

static void put_times(struct jw *j, bool has_time, __int128 min_ts, __int128 max_te)
{
    jw_key(j, "min_ts");
    if (has_time)
        jw_time_ns(j, min_ts);
    else
        jw_null(j);
    jw_key(j, "max_te");
    if (has_time)
        jw_time_ns(j, max_te);
    else
        jw_null(j);
}

static void put_totals(struct jw *j, const struct info_totals *t)
{
    const struct trace_counts *c = &t->counts;
    const struct {
        const char *key;
        uint64_t value;
    } members[] = {
        {"files", t->files},
        {"files_ready", t->ready},
        {"files_pending", t->pending},
        {"files_failed", t->failed},
        {"files_damaged", t->damaged},
        {"compressed_bytes", t->compressed_bytes},
        {"uncompressed_bytes", t->text_bytes},
        {"index_bytes", t->index_bytes},
        {"lines", c->lines},
        {"objects", c->events + c->counters + c->aggregated + c->metadata},
        {"events", c->events},
        {"counters", c->counters},
        {"aggregated", c->aggregated},
        {"metadata", c->metadata},
        {"brackets", c->brackets},
        {"invalid", c->invalid},
        {"repaired", c->repaired},
        {"chunks", t->chunks},
        {"processes", t->processes},
        {"threads", t->threads},
        {"hosts", t->hosts},
    };

    jw_key(j, "totals");
    jw_begin(j, '{');
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        put_uint(j, members[i].key, members[i].value);
    put_times(j, t->has_time, t->min_ts, t->max_te);
    jw_key(j, "bytes_per_event");
    if (c->events)
        jw_double(j, (double)t->text_bytes / (double)c->events);
    else
        jw_null(j);
    jw_end(j, '}');
}

/* ---- files --------------------------------------------------------------------------------------------- */

const char *info_state(const struct index_file *f)
{
    if (f->state == INDEX_READY && f->damaged)
        return "damaged";
    return index_state_name(f->state);
}

static const char *unit_name(enum trace_unit unit)
{
    static const char *const names[] = {
        [TRACE_US] = "US", [TRACE_NS] = "NS", [TRACE_MS] = "MS", [TRACE_SEC] = "SEC"};

    return names[unit];
}

static int put_file(struct jw *j, struct index *ix, struct snapshot *s, const struct index_file *f,
                    unsigned detail)
{
    const struct trace_counts *c = &f->counts;
    const struct {
        const char *key;
        uint64_t value;
    } members[] = {
        {"members", f->members},
        {"compressed_bytes", f->compressed_bytes},
        {"uncompressed_bytes", f->text_bytes},
        {"lines", c->lines},
        {"events", c->events},
        {"counters", c->counters},
        {"aggregated", c->aggregated},
        {"metadata", c->metadata},
        {"invalid", c->invalid},
        {"chunks", f->chunk_count},
        {"checkpoint_size", f->checkpoint_size},
    };
    int rc = 0;

    jw_begin(j, '{');
    jw_key(j, "path");
    jw_str(j, f->name);
    jw_key(j, "state");
    jw_str(j, info_state(f));
    jw_key(j, "error");
    jw_str(j, f->error);
    jw_key(j, "format");
    jw_str(j, f->format == TRACE_GZIP ? "gzip" : "plain");
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        put_uint(j, members[i].key, members[i].value);
    put_times(j, f->has_time, f->min_ts, f->max_te);
    jw_key(j, "time_unit");
    jw_str(j, unit_name(f->unit));
    jw_key(j, "finished");
    jw_bool(j, f->finished);
    jw_key(j, "tracer_version");
    jw_str(j, f->tracer_version);
    put_uint(j, "index_bytes", f->index_bytes);
    if (detail > 1)
        rc = info_columns(j, ix, s, f);
    jw_end(j, '}');
    return rc;
}

/* ---- the answer ------------------------------------------------------------------------------------------ */

static void put_roots(struct jw *j, const struct format_info_options *o)
{
    jw_key(j, "roots");
    jw_begin(j, '[');
    for (size_t i = 0; i < o->root_count; i++) {
        jw_begin(j, '{');
        jw_key(j, "path");
        jw_str(j, o->root_paths[i]);
        if (o->root_labels && o->root_labels[i] && o->root_labels[i][0]) {
            jw_key(j, "label");
            jw_str(j, o->root_labels[i]);
        }
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

static int put_info(struct index *ix, struct snapshot *s, const uint32_t *files, size_t count,
                    const struct format_info_options *o, const struct info_totals *t,
                    struct buf *out)
{
    struct jw j;
    int rc = 0;

    jw_init(&j, out, o->pretty);
    jw_begin(&j, '{');
    put_uint(&j, "generation", snapshot_generation(s));
    jw_key(&j, "complete");
    jw_bool(&j, t->incomplete == 0);
    put_roots(&j, o);
    put_totals(&j, t);
    if (o->detail) {
        jw_key(&j, "files");
        jw_begin(&j, '[');
        for (size_t i = 0; i < count && rc == 0; i++)
            rc = put_file(&j, ix, s, snapshot_file(s, files[i]), o->detail);
        jw_end(&j, ']');
    }
    jw_end(&j, '}');
    jw_finish(&j);
    return rc;
}

int format_info(struct index *ix, struct snapshot *s, const uint32_t *files, size_t count,
                const struct format_info_options *options, enum format f, struct buf *out)
{
    struct info_totals totals = {.started_ns = clock_mono_ns()};

    if (f != FORMAT_JSON && f != FORMAT_TEXT && f != FORMAT_NDJSON)
        return ERR_FORMAT;
    for (size_t i = 0; i < count; i++)
        add_file(&totals, snapshot_file(s, files[i]));
    if (f == FORMAT_TEXT) {
        info_text(s, files, count, options->detail, &totals, out);
        return out->error;
    }
    int rc = count_processes(ix, s, files, count, &totals);
    rc = rc < 0 ? rc : put_info(ix, s, files, count, options, &totals, out);
    return rc < 0 ? rc : out->error;
}
