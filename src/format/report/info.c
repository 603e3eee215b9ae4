/* info.c - /info: totals over the chosen files, and what is known of each. */
#include "format/report/info.h"
#include "dftracerd/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 64 << 10 }; /* bytes written at once, about */

/* ---- distinct processes, threads and hosts --------------------------------------------------- */

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
    VEC(struct who) who;
};

static int add_threads(struct crowd *c, const struct snapshot *s, const struct summary *sum)
{
    int rc = vec_reserve(&c->who, sum->thread_count);

    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < sum->thread_count; i++) {
        const struct summary_thread *t = &sum->threads[i];
        if (t->class != TRACE_METADATA)
            c->who.at[c->who.count++] = (struct who){host_of(s, t), t->pid, t->tid};
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
    if (rc == 0 && crowd.who.count)
        count_who(t, crowd.who.at, crowd.who.count);
    vec_done(&crowd.who);
    return rc;
}

/* ---- totals ---------------------------------------------------------------------------------- */

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
        jw_put_uint(j, members[i].key, members[i].value);
    put_times(j, t->has_time, t->min_ts, t->max_te);
    jw_key(j, "bytes_per_event");
    if (c->events)
        jw_double(j, (double)t->text_bytes / (double)c->events);
    else
        jw_null(j);
    jw_end(j, '}');
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *unit_name(enum trace_unit unit)
{
    static const char *const names[] = {
        [TRACE_US] = "US", [TRACE_NS] = "NS", [TRACE_MS] = "MS", [TRACE_SEC] = "SEC"};

    return names[unit];
}

static void put_file(struct jw *j, const struct index_file *f)
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

    jw_begin(j, '{');
    jw_put_str(j, "path", f->name);
    if (f->archive) {
        jw_put_str(j, "archive", f->archive);
    }
    jw_put_str(j, "state", info_state(f));
    jw_put_str(j, "error", f->error);
    jw_put_str(j, "format", f->format == TRACE_GZIP ? "gzip" : "plain");
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        jw_put_uint(j, members[i].key, members[i].value);
    put_times(j, f->has_time, f->min_ts, f->max_te);
    jw_put_str(j, "time_unit", unit_name(f->unit));
    jw_put_bool(j, "finished", f->finished);
    jw_put_str(j, "tracer_version", f->tracer_version);
    jw_put_uint(j, "index_bytes", f->index_bytes);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void put_roots(struct jw *j, const struct query_env *env)
{
    jw_key(j, "roots");
    jw_begin(j, '[');
    for (size_t i = 0; i < env->root_count; i++) {
        const char *network = index_network_name(env->root_paths[i]);
        jw_begin(j, '{');
        jw_put_str(j, "path", env->root_paths[i]);
        if (env->root_labels && env->root_labels[i] && env->root_labels[i][0])
            jw_put_str(j, "label", env->root_labels[i]);
        if (network) { /* changes are seen by walking only */
            jw_put_str(j, "network", network);
        }
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

/* Where the store is, how large, why it takes nothing, if so, and with what it is made. Who sees a
 * part of the files is not told what the whole takes, nor how the daemon's user has named its
 * directories. */
static void put_index(struct jw *j, struct index *ix, bool all)
{
    struct index_progress p;

    index_progress(ix, &p);
    jw_key(j, "index");
    jw_begin(j, '{');
    jw_put_str(j, "path", all ? index_path(ix) : NULL);
    jw_key(j, "bytes");
    if (all)
        jw_uint(j, index_bytes(ix));
    else
        jw_null(j);
    jw_put_str(j, "error", p.store_error ? err_text(p.store_error) : NULL);
    jw_put_str(j, "cpu", cpu_level_name(cpu_level()));
    jw_put_str(j, "inflate", trace_engine_name(TRACE_ENGINE_AUTO));
    jw_end(j, '}');
}

/* ---- files that answer nothing --------------------------------------------------------------- */

static bool is_chosen(const struct format_info *i, const char *name)
{
    size_t low = 0, high = i->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int cmp = strcmp(snapshot_file(i->snapshot, i->files[middle])->name, name);
        if (cmp == 0)
            return true;
        if (cmp < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* Duplicates of the files that are told; what has vanished is in no choice of files. */
static int find_hidden(struct format_info *i)
{
    size_t n = 0;
    int rc = index_hidden(i->env->index, &i->hidden, &i->hidden_count);

    for (size_t k = 0; rc == 0 && k < i->hidden_count; k++) {
        const struct index_hidden *h = &i->hidden[k];
        if (i->options.all || (h->duplicate_of && is_chosen(i, h->duplicate_of)))
            i->hidden[n++] = *h;
    }
    i->hidden_count = rc == 0 ? n : 0;
    return rc;
}

static void put_duplicates(struct format_info *i)
{
    struct jw *j = &i->jw;

    jw_key(j, "duplicates");
    jw_begin(j, '[');
    for (size_t k = 0; k < i->hidden_count; k++) {
        if (!i->hidden[k].duplicate_of)
            continue;
        jw_begin(j, '{');
        jw_put_str(j, "path", i->hidden[k].name);
        jw_put_str(j, "duplicate_of", i->hidden[k].duplicate_of);
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

static void put_missing(struct format_info *i)
{
    struct jw *j = &i->jw;

    jw_key(j, "missing");
    jw_begin(j, '[');
    for (size_t k = 0; k < i->hidden_count; k++) {
        if (!i->hidden[k].duplicate_of)
            jw_str(j, i->hidden[k].name);
    }
    jw_end(j, ']');
}

/* ---- piece by piece -------------------------------------------------------------------------- */

static void put_head(struct format_info *i, const struct info_totals *t)
{
    struct jw *j = &i->jw;

    jw_begin(j, '{');
    jw_put_uint(j, "generation", snapshot_generation(i->snapshot));
    jw_put_bool(j, "complete", !i->options.incomplete);
    put_roots(j, i->env);
    put_index(j, i->env->index, !i->options.only_chosen);
    put_totals(j, t);
    if (i->options.detail) {
        put_duplicates(i);
        put_missing(i);
        jw_key(j, "files");
        jw_begin(j, '[');
    }
}

static int begin(struct format_info *i, struct buf *out)
{
    struct info_totals totals = {.started_ns = clock_mono_ns()};

    i->begun = true;
    for (size_t k = 0; k < i->count; k++)
        add_file(&totals, snapshot_file(i->snapshot, i->files[k]));
    if (i->format == FORMAT_TEXT) {
        info_text(i->snapshot, i->files, i->count, i->options.detail, &totals, out);
        return ERR_END;
    }
    int rc = count_processes(i->env->index, i->snapshot, i->files, i->count, &totals);
    if (rc == 0 && i->options.detail)
        rc = i->options.only_chosen ? 0 : find_hidden(i);
    if (rc == 0)
        put_head(i, &totals);
    return rc;
}

static int next_file(struct format_info *i, struct budget *budget, struct err *err)
{
    uint32_t position = i->files[i->next++];

    put_file(&i->jw, snapshot_file(i->snapshot, position));
    int rc = i->options.detail > 1 ? info_columns(i, position, budget, err) : 0;
    jw_end(&i->jw, '}');
    return rc;
}

int format_info_next(struct format_info *i, struct budget *budget, struct err *err, struct buf *out)
{
    size_t before = out->len;
    int rc = 0;

    i->jw.out = out;
    if (!i->begun)
        rc = begin(i, out);
    while (rc == 0 && i->options.detail && i->next < i->count && out->len - before < PIECE)
        rc = next_file(i, budget, err);
    if (rc < 0 || (i->options.detail && i->next < i->count))
        return rc < 0 && rc != ERR_END ? err_set(err, rc, "%s", err_text(rc)) : rc;
    if (i->options.detail)
        jw_end(&i->jw, ']');
    jw_end(&i->jw, '}');
    jw_finish(&i->jw);
    return ERR_END;
}

int format_info_new(const struct query_env *env, struct snapshot *s, const uint32_t *files,
                    size_t count, const struct format_info_options *options, enum format f,
                    struct format_info **ret)
{
    struct format_info *i = calloc(1, sizeof(*i));

    if (f != FORMAT_JSON && f != FORMAT_TEXT) {
        free(i);
        return ERR_FORMAT;
    }
    if (!i)
        return -ENOMEM;
    *i = (struct format_info){.env = env,
                              .snapshot = s,
                              .files = files,
                              .count = count,
                              .options = *options,
                              .format = f};
    jw_init(&i->jw, NULL, options->pretty);
    *ret = i;
    return 0;
}

void format_info_free(struct format_info *i)
{
    if (i)
        free(i->hidden);
    free(i);
}
