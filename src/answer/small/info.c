/* info.c - /info: totals over the selected files. */
#include "answer/small/info.h"
#include "answer/stats/summary.h"
#include "dftracerd/vec.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- distinct processes, threads and hosts --------------------------------------------------- */

/* A thread; host: text id of its name, or of its hash if that has no name. */
struct thread_ids {
    uint32_t host;
    int64_t pid, tid;
};

static int compare_thread_ids(const void *a, const void *b)
{
    const struct thread_ids *x = a, *y = b;

    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

struct thread_list {
    VEC(struct thread_ids) all;
};

static int add_threads(struct thread_list *list, const struct snapshot *s,
                       const struct summary *sum)
{
    int rc = vec_reserve(&list->all, sum->thread_count);

    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < sum->thread_count; i++) {
        const struct summary_thread *t = &sum->threads[i];
        uint32_t name = INDEX_NO_TEXT;
        if (t->class == TRACE_METADATA)
            continue;
        if (t->host_is_hash && t->host != INDEX_NO_TEXT)
            name = index_resolve(s, snapshot_file(s, t->file), t->pid, INDEX_HH, t->host, NULL);
        list->all.at[list->all.count++] =
            (struct thread_ids){name != INDEX_NO_TEXT ? name : t->host, t->pid, t->tid};
    }
    return 0;
}

static int count_processes(struct index *ix, struct snapshot *s, const uint32_t *files,
                           size_t count, struct info_totals *t)
{
    struct thread_list list = {0};
    const struct summary *root = NULL;
    int rc = 0;

    if (stats_has_all_summaries(s, files, count)) {
        rc = index_total_summary(ix, s, &root);
        rc = rc < 0 ? rc : add_threads(&list, s, root);
    } else {
        for (size_t i = 0; i < count && rc == 0; i++) {
            struct summary *one;
            if (!stats_has_summary(snapshot_file(s, files[i])))
                continue;
            rc = index_file_summary(ix, s, files[i], &one);
            if (rc < 0)
                break;
            rc = add_threads(&list, s, one);
            summary_free(one);
        }
    }
    if (rc == 0 && list.all.count) {
        struct thread_ids *all = list.all.at;
        size_t n = list.all.count;
        qsort(all, n, sizeof(*all), compare_thread_ids);
        for (size_t i = 0; i < n; i++) {
            const struct thread_ids *current = &all[i], *before = i ? &all[i - 1] : NULL;
            bool host = !before || before->host != current->host;
            bool pid = host || before->pid != current->pid;
            bool tid = pid || before->tid != current->tid;
            t->hosts += host && current->host != INDEX_NO_TEXT;
            t->processes += pid && current->pid != INT64_MIN;
            t->threads += tid && current->pid != INT64_MIN && current->tid != INT64_MIN;
        }
    }
    vec_done(&list.all);
    return rc;
}

/* ---- totals ---------------------------------------------------------------------------------- */

static void add_file(struct info_totals *t, const struct index_file *f)
{
    bool pending = f->state == INDEX_PENDING || f->state == INDEX_INDEXING;

    t->files++;
    t->pending += pending;
    t->failed += f->state == INDEX_FAILED;
    t->ready += stats_has_summary(f);
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
    if (!f->has_time)
        return;
    t->min_ts = !t->has_time || f->min_ts < t->min_ts ? f->min_ts : t->min_ts;
    t->max_te = !t->has_time || f->max_te > t->max_te ? f->max_te : t->max_te;
    t->has_time = true;
}

/* ---- the index ------------------------------------------------------------------------------- */

static int read_roots(struct info *i)
{
    const struct query_env *env = i->env;

    i->roots = arena_alloc(&i->arena, (env->root_count + 1) * sizeof(*i->roots));
    if (!i->roots)
        return -ENOMEM;
    for (size_t k = 0; k < env->root_count; k++) {
        const char *label = env->root_labels ? env->root_labels[k] : NULL;
        i->roots[i->root_count++] =
            (struct info_root){.path = env->root_paths[k],
                               .label = label && label[0] ? label : NULL,
                               .network = index_refused_filesystem(env->root_paths[k])};
    }
    return 0;
}

/* ---- files without data ---------------------------------------------------------------------- */

static bool is_chosen(const struct info *i, const char *name)
{
    size_t low = 0, high = i->file_count;

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

/* Lists duplicates of the selected files, and vanished files, which cannot be selected. */
static int find_hidden(struct info *i)
{
    size_t count;
    int rc = index_hidden(i->env->index, &i->duplicates, &count);

    if (rc < 0)
        return rc;
    i->missing = arena_alloc(&i->arena, (count + 1) * sizeof(*i->missing));
    for (size_t k = 0; k < count && i->missing; k++) {
        struct index_hidden h = i->duplicates[k];
        if (!h.duplicate_of && i->options.all)
            i->missing[i->missing_count++] = h.name;
        else if (h.duplicate_of && (i->options.all || is_chosen(i, h.duplicate_of)))
            i->duplicates[i->duplicate_count++] = h;
    }
    return i->arena.error;
}

static int info_fill(struct info *i)
{
    struct index *ix = i->env->index;
    struct info_totals *t = &i->totals;
    const struct trace_counts *c = &t->counts;

    for (size_t k = 0; k < i->file_count; k++)
        add_file(t, snapshot_file(i->snapshot, i->files[k]));
    t->objects = c->events + c->counters + c->aggregated + c->metadata;
    t->bytes_per_event = c->events ? (double)t->text_bytes / (double)c->events : NAN;
    if (i->options.only_files)
        return 0;
    int rc = count_processes(ix, i->snapshot, i->files, i->file_count, t);
    rc = rc < 0 ? rc : read_roots(i);
    rc = rc < 0 ? rc : info_file_begin(i);
    if (rc < 0)
        return rc;
    /* Users that may see only a part of the files see neither the total size nor the directory of
     * the daemon. */
    bool visible = !i->options.only_chosen;
    int error = index_store_error(ix);
    i->index = (struct info_index){.visible = visible,
                                   .path = visible ? index_path(ix) : NULL,
                                   .bytes = visible ? index_bytes(ix) : 0,
                                   .error = error ? err_text(error) : NULL,
                                   .cpu = cpu_level_name(cpu_level()),
                                   .inflate = trace_engine_name(TRACE_ENGINE_AUTO)};
    return i->detailed && !i->options.only_chosen ? find_hidden(i) : 0;
}

int info_open(const struct query_env *env, struct snapshot *s, const uint32_t *files, size_t count,
              const struct info_options *options, struct info **ret)
{
    struct info *i = calloc(1, sizeof(*i));

    if (!i)
        return -ENOMEM;
    *i = (struct info){.env = env,
                       .snapshot = s,
                       .options = *options,
                       .generation = snapshot_generation(s),
                       .detailed = options->detail > 0,
                       .files = files,
                       .file_count = count,
                       .started_ns = clock_mono_ns()};
    int rc = info_fill(i);
    if (rc < 0) {
        info_close(i);
        return rc;
    }
    *ret = i;
    return 0;
}

void info_close(struct info *i)
{
    if (!i)
        return;
    info_file_end(i);
    free(i->duplicates);
    arena_done(&i->arena);
    free(i);
}

/* ---- members --------------------------------------------------------------------------------- */

#define OBJECT struct info_root
static const struct member root_members[] = {
    MEMBER("path", path),
    MEMBER("label", label, .optional = true,
           .help = "first part of the paths of its files, if there are several directories"),
    MEMBER("network", network, .optional = true,
           .help =
               "type of the file system, if it is a network file system: changes on it are found "
               "by directory scans only"),
};
static const struct object_type root_type = {NULL, MEMBERS(root_members)};
#undef OBJECT

static const char *const cpus[] = {"portable", "avx2", NULL};
static const char *const engines[] = {"zlib", "isal", NULL};

#define OBJECT struct info_index
static const struct member index_members[] = {
    MEMBER("path", path, .nullable = true),
    MEMBER("bytes", bytes, .when = WHEN(visible), .help = "size of the index"),
    MEMBER("error", error, .nullable = true, .help = "why indexing has stopped"),
    MEMBER("cpu", cpu, .choices = cpus,
           .help = "variant of the code in use; all give equal answers"),
    MEMBER("inflate", inflate, .choices = engines,
           .help = "variant of the code in use; all give equal answers"),
};
static const struct object_type index_type = {NULL, MEMBERS(index_members)};
#undef OBJECT

#define OBJECT struct info_totals
static const struct member totals_members[] = {
    MEMBER("files", files, .help = "files_ready + files_pending + files_failed"),
    MEMBER("files_ready", ready, .help = "files in state `ready`, `growing` or `damaged`"),
    MEMBER("files_pending", pending, .help = "files in state `pending` or `indexing`"),
    MEMBER("files_failed", failed, .help = "files in state `failed`"),
    MEMBER("files_damaged", damaged, .help = "files with corrupt parts"),
    MEMBER("compressed_bytes", compressed_bytes, .help = "size of the files"),
    MEMBER("uncompressed_bytes", text_bytes, .help = "size of their text"),
    MEMBER("index_bytes", index_bytes, .help = "size of what the index has of them"),
    MEMBER("lines", counts.lines, .help = "lines of the text"),
    MEMBER("objects", objects, .help = "events + counters + aggregated + metadata"),
    MEMBER("events", counts.events),
    MEMBER("counters", counts.counters),
    MEMBER("aggregated", counts.aggregated, .help = "aggregated records"),
    MEMBER("metadata", counts.metadata, .help = "metadata records"),
    MEMBER("brackets", counts.brackets, .help = "lines of nothing but blanks, `[`, `]` and commas"),
    MEMBER("invalid", counts.invalid, .help = "lines without a usable object"),
    MEMBER("repaired", counts.repaired, .help = "objects that needed a repair"),
    MEMBER("chunks", chunks),
    MEMBER("processes", processes),
    MEMBER("threads", threads),
    MEMBER("hosts", hosts),
    MEMBER("min_ts", min_ts, .when = WHEN(has_time), .help = "first start of the events"),
    MEMBER("max_te", max_te, .when = WHEN(has_time), .help = "last end of the events"),
    MEMBER("bytes_per_event", bytes_per_event, .nullable = true),
};
static const struct object_type totals_type = {"InfoTotals", MEMBERS(totals_members)};
#undef OBJECT

#define OBJECT struct index_hidden
static const struct member duplicate_members[] = {
    MEMBER("path", name),
    MEMBER("duplicate_of", duplicate_of),
};
static const struct object_type duplicate_type = {NULL, MEMBERS(duplicate_members)};
#undef OBJECT

#define OBJECT struct info
#define DETAILED .when = WHEN(detailed), .optional = true
static const struct member members[] = {
    MEMBERS_STATE(generation, options.complete),
    MEMBER_OBJECTS("roots", roots, root_count, &root_type, .help = "the watched directories"),
    MEMBER_IN("index", index, &index_type),
    MEMBER_IN("totals", totals, &totals_type, .help = "sums over the selected files"),
    MEMBER_OBJECTS(
        "duplicates", duplicates, duplicate_count, &duplicate_type, DETAILED,
        .help = "files that are ignored because another file (`duplicate_of`) has the same text; "
                "only with `detail`"),
    MEMBER_VALUES(
        "missing", missing, missing_count, DETAILED,
        .help =
            "files that have vanished and will be forgotten; only with `detail`, none with `dir` "
            "or `file`"),
    MEMBER_ITEMS("files", file_count, &info_file_type, info_file_item, DETAILED,
                 .help = "the selected files; only with `detail`"),
};
const struct object_type info_type = {"Info", MEMBERS(members)};
#undef OBJECT
