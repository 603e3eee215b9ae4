/* metrics.c - /metrics: Prometheus text format 0.0.4. The counters of requests are in http/metrics;
 * the rest is read from the index and the kernel. */
#include "http/endpoints/endpoints.h"
#include "http/exchange/site.h"
#include "http/metrics/metrics.h"

#include "dftracerd/rewrite.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void put_gauge(struct buf *out, const char *name, const char *help, uint64_t value)
{
    metrics_put(out, name, "gauge", help, value);
}

static void put_real(struct buf *out, const char *name, const char *type, const char *help,
                     double value)
{
    char number[32];
    num_format_double(value, number);
    metrics_put_head(out, name, type, help);
    buf_printf(out, "%s %s\n", name, number);
}

/* Writes the value of a label, with its quotes. */
static void put_label(struct buf *out, const char *s)
{
    buf_putc(out, '"');
    for (; s && *s; s++) {
        if (*s == '\\' || *s == '"')
            buf_putc(out, '\\');
        if (*s == '\n')
            buf_puts(out, "\\n");
        else
            buf_putc(out, *s);
    }
    buf_putc(out, '"');
}

/* ---- the index ------------------------------------------------------------------------------- */

struct totals {
    uint64_t states[INDEX_MISSING + 1], damaged, text_bytes, damages[TRACE_DAMAGE_TOO_MANY + 1];
    struct trace_counts counts;
};

static void add_file(struct totals *t, const struct index_file *f)
{
    const struct trace_counts *c = &f->counts;
    struct trace_counts *s = &t->counts;
    t->states[f->state]++;
    t->damaged += f->damaged;
    for (uint32_t i = 0; i < f->damage_count && i < INDEX_DAMAGE_KEPT; i++)
        t->damages[f->damage[i].kind]++;
    t->text_bytes += f->text_bytes;
    s->lines += c->lines;
    s->brackets += c->brackets;
    s->invalid += c->invalid;
    s->repaired += c->repaired;
    s->events += c->events;
    s->counters += c->counters;
    s->aggregated += c->aggregated;
    s->metadata += c->metadata;
    s->bad_dur += c->bad_dur;
    s->split += c->split;
    s->glued += c->glued;
}

struct labelled {
    const char *label;
    uint64_t value;
};

static void put_family(struct buf *out, const char *name, const char *help, const char *key,
                       const struct labelled *rows, size_t count)
{
    metrics_put_head(out, name, "gauge", help);
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%s{%s=\"%s\"} %llu\n", name, key, rows[i].label,
                   (unsigned long long)rows[i].value);
}

static void write_damage(const struct totals *t, struct buf *out)
{
    struct labelled rows[TRACE_DAMAGE_TOO_MANY];
    for (unsigned i = TRACE_DAMAGE_DATA; i <= TRACE_DAMAGE_TOO_MANY; i++)
        rows[i - 1] = (struct labelled){trace_damage_name(i), t->damages[i]};
    put_family(
        out, "dftracerd_index_damage",
        "Corrupt places in trace files by kind (data that cannot be decompressed, member with a "
        "wrong CRC, truncated member, garbage before or between members, read error, line too "
        "long, bad tar header), at most 1,000 per file.",
        "kind", rows, TRACE_DAMAGE_TOO_MANY);
}

/* Gauges, not counters: the totals become less when files are removed. */
static void write_content(const struct totals *t, struct buf *out)
{
    const struct trace_counts *c = &t->counts;
    const struct labelled classes[] = {{"event", c->events},
                                       {"counter", c->counters},
                                       {"aggregated", c->aggregated},
                                       {"metadata", c->metadata}};
    const struct labelled bad[] = {{"brackets", c->brackets},    {"invalid", c->invalid},
                                   {"repaired", c->repaired},    {"bad_dur", c->bad_dur},
                                   {"split", c->split},          {"glued", c->glued},
                                   {"damaged_files", t->damaged}};
    struct labelled states[INDEX_MISSING];
    for (unsigned i = 0; i < INDEX_MISSING; i++)
        states[i] = (struct labelled){index_state_name(i), t->states[i]};
    put_family(out, "dftracerd_index_files", "Trace files by state.", "state", states,
               INDEX_MISSING);
    put_family(out, "dftracerd_index_objects", "Objects read from the traces.", "class", classes,
               4);
    put_family(out, "dftracerd_index_bad_input",
               "Irregular input by kind, such as lines without an object (brackets, invalid) and "
               "repaired objects.",
               "kind", bad, sizeof bad / sizeof *bad);
    write_damage(t, out);
    put_gauge(out, "dftracerd_index_lines", "Lines in the traces.", c->lines);
    put_gauge(out, "dftracerd_index_text_bytes", "Uncompressed bytes of the traces.",
              t->text_bytes);
}

static void write_store(const struct index *ix, struct buf *out)
{
    struct index_store s;
    struct labelled uses[INDEX_TABLES_MAX + 1];
    if (!index_store_stat(ix, &s))
        return;
    for (unsigned t = 0; t < s.table_count; t++)
        uses[t] = (struct labelled){s.tables[t].name, s.tables[t].pages};
    uses[s.table_count] = (struct labelled){"free", s.free_pages};
    put_family(out, "dftracerd_lmdb_pages", "Pages of the index by table; free pages are reused.",
               "use", uses, s.table_count + 1);
    put_gauge(out, "dftracerd_lmdb_page_size_bytes", "Size of an index page in bytes.",
              s.page_bytes);
    put_gauge(out, "dftracerd_lmdb_map_bytes",
              "Maximum size of the index in bytes: the address space reserved for it.",
              s.map_bytes);
    put_gauge(out, "dftracerd_lmdb_readers", "Open read transactions on the index.", s.readers);
    put_gauge(out, "dftracerd_lmdb_reader_slots",
              "Slots of the LMDB reader table that have been used.", s.reader_slots);
    put_gauge(out, "dftracerd_lmdb_max_reader_slots", "Slots in the LMDB reader table.",
              s.reader_slots_max);
}

static void write_index(const struct http_context *c, struct buf *out)
{
    struct index *ix = c->options->index;
    struct snapshot *s = index_snapshot(ix);
    struct index_progress p;
    struct totals t = {0};
    for (uint32_t i = 0; i < snapshot_file_count(s); i++)
        add_file(&t, snapshot_file(s, i));
    write_content(&t, out);
    put_gauge(out, "dftracerd_index_generation",
              "Generation of the index; increases with every commit.", snapshot_generation(s));
    snapshot_release(s);
    index_progress(ix, &p);
    put_gauge(out, "dftracerd_index_source_bytes", "Size of the trace files in bytes.", p.bytes);
    put_gauge(out, "dftracerd_index_source_done_bytes",
              "Bytes of the trace files that are indexed.", p.bytes_done);
    put_gauge(out, "dftracerd_index_lag_bytes",
              "Bytes of the trace files that are not indexed yet.",
              p.bytes > p.bytes_done ? p.bytes - p.bytes_done : 0);
    put_gauge(out, "dftracerd_index_pending_files",
              "Files that are waiting to be indexed or being indexed.", p.files_pending);
    put_gauge(out, "dftracerd_index_unreadable_files",
              "Files that could not be read because of a system error; reading is retried.",
              p.files_unreadable);
    put_gauge(out, "dftracerd_index_unreadable_directories",
              "Directories that cannot be read at present; their indexed data remains available.",
              p.directories_unreadable);
    metrics_put(out, "dftracerd_index_read_again_total", "counter",
                "Retries of files that could not be read.", p.read_again);
    metrics_put(out, "dftracerd_index_corrupt_files_total", "counter",
                "Files that are indexed again because the index of them was corrupt.",
                p.files_corrupt);
    put_gauge(out, "dftracerd_index_ready",
              "1 if every file found at startup is indexed, otherwise 0.",
              metrics_ready(c->metrics, &p));
    put_gauge(out, "dftracerd_index_stopped",
              "1 if indexing has stopped, for example because the disk is full, otherwise 0.",
              p.store_error != 0);
    put_gauge(out, "dftracerd_index_store_bytes", "Size of the index on disk in bytes.",
              index_bytes(ix));
    write_store(ix, out);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static void write_rank_family(struct buf *out, const char *name, const char *help,
                              const struct index_rank_progress *ranks, size_t count, size_t field)
{
    metrics_put_head(out, name, "gauge", help);
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%s{rank=\"%u\",host=", name, (unsigned)ranks[i].rank);
        put_label(out, ranks[i].host);
        buf_printf(out, "} %llu\n",
                   (unsigned long long)*(const uint64_t *)((const char *)&ranks[i] + field));
    }
}

/* Writes nothing if there is only one process. */
static void write_ranks(struct index *ix, struct buf *out)
{
    static const struct {
        const char *name, *help;
        size_t field;
    } families[] = {
        {"dftracerd_rank_files", "Files that the rank reads.",
         offsetof(struct index_rank_progress, files)},
        {"dftracerd_rank_pending_files",
         "Files of the rank that are waiting to be indexed or being indexed.",
         offsetof(struct index_rank_progress, files_pending)},
        {"dftracerd_rank_source_bytes", "Size of the files of the rank in bytes.",
         offsetof(struct index_rank_progress, bytes)},
        {"dftracerd_rank_source_done_bytes", "Bytes of the files of the rank that are indexed.",
         offsetof(struct index_rank_progress, bytes_done)},
    };
    struct index_rank_progress *ranks = NULL;
    size_t count = 0;
    if (index_rank_progress(ix, &ranks, &count) < 0)
        return;
    for (size_t i = 0; count && i < sizeof families / sizeof *families; i++)
        write_rank_family(out, families[i].name, families[i].help, ranks, count, families[i].field);
    free(ranks);
}

/* ---- the process ----------------------------------------------------------------------------- */

/* Lists the directories of all sites. */
static void write_directories(const struct sites *sites, struct buf *out)
{
    metrics_put_head(out, "dftracerd_directory_info", "gauge",
                     "Directory that this daemon serves, and its index; always 1.");
    for (size_t i = 0; i < atomic_load(&sites->count); i++) {
        const struct http_options *o = &sites->list[i]->options;
        bool open = site_enter(sites->list[i]);
        for (size_t k = 0; k < o->root_count && open; k++) {
            buf_puts(out, "dftracerd_directory_info{directory=");
            put_label(out, o->root_paths[k]);
            buf_puts(out, ",index=");
            put_label(out, index_path(o->index));
            buf_puts(out, "} 1\n");
        }
        site_leave(sites->list[i]);
    }
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void write_process(const struct http_context *c, struct buf *out)
{
    struct rusage used;
    struct rlimit files;
    double up = (double)(clock_mono_ns() - c->started_ns) / 1e9;
    unsigned long long size = 0, resident = 0, page = (unsigned long long)sysconf(_SC_PAGESIZE);
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%llu %llu", &size, &resident) == 2) {
        put_gauge(out, "process_virtual_memory_bytes", "Virtual memory in bytes.", size * page);
        put_gauge(out, "process_resident_memory_bytes", "Resident memory in bytes.",
                  resident * page);
    }
    if (f)
        fclose(f);
    put_gauge(out, "process_open_fds", "Open file descriptors.", metrics_open_files());
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        put_gauge(out, "process_max_fds", "Maximum number of open file descriptors.",
                  files.rlim_cur);
    if (getrusage(RUSAGE_SELF, &used) == 0)
        put_real(out, "process_cpu_seconds_total", "counter",
                 "User and system CPU time in seconds.",
                 seconds_of(used.ru_utime) + seconds_of(used.ru_stime));
    put_real(out, "process_start_time_seconds", "gauge",
             "Start time of the process, in seconds since 1970.", (double)c->started_real_ns / 1e9);
    put_real(out, "dftracerd_uptime_seconds", "gauge", "Time since the daemon started, in seconds.",
             up);
}

/* Metrics include all files, so viewers do not see them. */
static int open_metrics(struct request *rq)
{
    if (rq->viewer)
        return err_set(&rq->err, -EPERM,
                       "the metrics cover all files, and this daemon checks file permissions: only "
                       "the user that runs it and clients with the admin token may read them");
    rq->content_type = "text/plain; version=0.0.4; charset=utf-8";
    return 0;
}

static int next_metrics(struct request *rq, struct buf *out)
{
    metrics_put_head(out, "dftracerd_build_info", "gauge",
                     "Version and build of this daemon; always 1.");
    buf_puts(out, "dftracerd_build_info{version=");
    put_label(out, rq->http->options->version);
    buf_puts(out, ",build=");
    put_label(out, rq->http->options->build);
    buf_puts(out, "} 1\n");
    const struct site *s = rq->http->sites->list[rq->http->site];
    metrics_write(rq->http->metrics, atomic_load(&s->queued), rq->http->cache, out);
    write_index(rq->http, out);
    write_ranks(rq->http->options->index, out);
    int64_t until = atomic_load(&rq->http->facts->tls_expires);
    put_gauge(out, "dftracerd_http_connections", "Open HTTP connections.",
              atomic_load(&rq->http->facts->connections));
    if (until >= 0)
        put_gauge(out, "dftracerd_tls_certificate_expiry_timestamp_seconds",
                  "Expiry time of the TLS certificate in use, in seconds since 1970.",
                  (uint64_t)until);
    put_gauge(out, "dftracerd_spool_bytes",
              "Disk space used for request bodies and unfinished responses, in bytes.",
              atomic_load(&rq->http->spools->used));
    put_gauge(out, "dftracerd_spool_limit_bytes",
              "Maximum disk space for request bodies and unfinished responses, in bytes.",
              rq->http->spools->limit);
    write_directories(rq->http->sites, out);
    write_process(rq->http, out);
    return ERR_END;
}

const struct endpoint endpoint_metrics = {
    .path = "/metrics",
    .summary = "metrics for Prometheus",
    .methods = METHOD_GET,
    .immediate = true,
    .open = open_metrics,
    .next = next_metrics,
};
