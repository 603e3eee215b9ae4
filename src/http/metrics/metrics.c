/* metrics.c - counters of requests. */
#include "http/metrics/metrics.h"

#include "http/exchange/cache.h"
#include "http/request/endpoint.h"

#include <dirent.h>

/* Other statuses are reported as code="other". */
static const int codes[METRICS_CODES - 1] = {200, 204, 304, 400, 401, 403, 404, 405,
                                             406, 408, 409, 413, 414, 415, 421, 429,
                                             431, 499, 500, 501, 503, 504, 505};
static const struct {
    int64_t ns;
    const char *text;
} bounds[METRICS_BUCKETS] = {
    {500000, "0.0005"}, {1000000, "0.001"},  {5000000, "0.005"},  {10000000, "0.01"},
    {50000000, "0.05"}, {100000000, "0.1"},  {500000000, "0.5"},  {1000000000, "1"},
    {5000000000, "5"},  {10000000000, "10"}, {60000000000, "60"}, {INT64_MAX, "+Inf"},
};

void metrics_begun(struct metrics *m)
{
    if (m)
        atomic_fetch_add(&m->in_flight, 1);
}

void metrics_connection_refused(struct metrics *m)
{
    atomic_fetch_add(&m->refused_connections, 1);
}

void metrics_completed(struct metrics *m, const struct endpoint *endpoint, int status,
                       int64_t duration_ns, uint64_t sent_bytes, bool cut)
{
    if (!m)
        return;
    unsigned number = 0, code = 0, bucket = 0;
    while (number < METRICS_ENDPOINTS - 1 && m->table[number] && m->table[number] != endpoint)
        number++;
    while (code < METRICS_CODES - 1 && codes[code] != status)
        code++;
    while (duration_ns > bounds[bucket].ns)
        bucket++;
    struct metrics_endpoint *e = &m->endpoints[m->table[number] ? number : METRICS_ENDPOINTS - 1];
    atomic_fetch_add(&e->codes[code], 1);
    atomic_fetch_add(&e->buckets[bucket], 1);
    atomic_fetch_add(&e->duration_ns, (unsigned long long)duration_ns);
    atomic_fetch_add(&m->sent_bytes, sent_bytes);
    atomic_fetch_add(&m->cut, cut);
    atomic_fetch_sub(&m->in_flight, 1);
}

bool metrics_ready(struct metrics *m, const struct index_progress *p)
{
    bool now = p->listed && p->files_pending == 0 && p->store_error != ERR_CORRUPT;
    if (m && now)
        atomic_store(&m->was_ready, true);
    return now || (m && atomic_load(&m->was_ready) && !p->store_error);
}

/* ---- output ---------------------------------------------------------------------------------- */

void metrics_put_head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_put(struct buf *out, const char *name, const char *type, const char *help,
                 uint64_t value)
{
    metrics_put_head(out, name, type, help);
    buf_printf(out, "%s %llu\n", name, (unsigned long long)value);
}

/* Calls `write` for each endpoint that was requested at least once, which are few. */
static void each_endpoint(struct metrics *m, struct buf *out,
                          void (*write)(struct metrics_endpoint *e, const char *path,
                                        struct buf *out))
{
    unsigned known = 0;
    while (m->table[known])
        known++;
    known = known < METRICS_ENDPOINTS - 1 ? known : METRICS_ENDPOINTS - 1;
    for (unsigned i = 0; i < known; i++)
        write(&m->endpoints[i], m->table[i]->path, out);
    write(&m->endpoints[METRICS_ENDPOINTS - 1], "other", out);
}

static void write_codes(struct metrics_endpoint *e, const char *path, struct buf *out)
{
    for (unsigned i = 0; i < METRICS_CODES; i++) {
        unsigned long long n = atomic_load(&e->codes[i]);
        if (!n)
            continue;
        buf_printf(out, "dftracerd_http_requests_total{endpoint=\"%s\",code=\"", path);
        if (i < METRICS_CODES - 1)
            buf_printf(out, "%d\"} %llu\n", codes[i], n);
        else
            buf_printf(out, "other\"} %llu\n", n);
    }
}

static void write_durations(struct metrics_endpoint *e, const char *path, struct buf *out)
{
    unsigned long long n = 0, each[METRICS_BUCKETS];
    char seconds[32];
    for (unsigned i = 0; i < METRICS_BUCKETS; i++)
        n += each[i] = atomic_load(&e->buckets[i]);
    if (!n)
        return;
    n = 0;
    for (unsigned i = 0; i < METRICS_BUCKETS; i++)
        buf_printf(
            out, "dftracerd_http_request_duration_seconds_bucket{endpoint=\"%s\",le=\"%s\"} %llu\n",
            path, bounds[i].text, n += each[i]);
    num_format_double((double)atomic_load(&e->duration_ns) / 1e9, seconds);
    buf_printf(out,
               "dftracerd_http_request_duration_seconds_sum{endpoint=\"%s\"} %s\n"
               "dftracerd_http_request_duration_seconds_count{endpoint=\"%s\"} %llu\n",
               path, seconds, path, n);
}

static void write_cache(struct cache *cache, struct buf *out)
{
    struct cache_counts c;
    cache_counts(cache, &c);
    metrics_put(out, "dftracerd_cache_hits_total", "counter",
                "Requests served from the response cache.", c.hits);
    metrics_put(out, "dftracerd_cache_misses_total", "counter",
                "Requests whose response was not in the cache and had to be computed.", c.misses);
    metrics_put(out, "dftracerd_cache_joined_total", "counter",
                "Requests that shared the response of another request in progress.", c.joined);
    metrics_put(out, "dftracerd_cache_bytes", "gauge",
                "Memory used by the response cache, in bytes.", c.bytes);
    metrics_put(out, "dftracerd_cache_entries", "gauge", "Responses in the response cache.",
                c.entries);
}

void metrics_write(struct metrics *m, int queued, struct cache *cache, struct buf *out)
{
    metrics_put_head(out, "dftracerd_http_requests_total", "counter",
                     "Requests completed, by endpoint and status code.");
    each_endpoint(m, out, write_codes);
    metrics_put_head(out, "dftracerd_http_request_duration_seconds", "histogram",
                     "Time from the first line of a request to the last byte of its response.");
    each_endpoint(m, out, write_durations);
    metrics_put(out, "dftracerd_http_response_bytes_total", "counter",
                "Bytes of response bodies sent.", atomic_load(&m->sent_bytes));
    metrics_put(out, "dftracerd_http_responses_cut_total", "counter",
                "Responses that were cut off before their end.", atomic_load(&m->cut));
    metrics_put(out, "dftracerd_http_requests_in_flight", "gauge", "Requests in progress.",
                (uint64_t)atomic_load(&m->in_flight));
    metrics_put(out, "dftracerd_http_requests_queued", "gauge",
                "Requests that are waiting for a worker or being prepared by one.",
                (uint64_t)queued);
    metrics_put(out, "dftracerd_http_connections_turned_away_total", "counter",
                "Connections rejected because the client had too many.",
                atomic_load(&m->refused_connections));
    write_cache(cache, out);
}

/* ---- the process ----------------------------------------------------------------------------- */

uint64_t metrics_open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    uint64_t n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n > 3 ? n - 3 : 0; /* without . and .. and the directory itself */
}
