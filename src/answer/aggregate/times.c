/* times.c - the origin of times, the length of a bucket, and the format of buckets. */
#include "answer/aggregate/plan_columns.h"
#include "engine/derived/keys.h"
#include "engine/derived/times.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- the span of the selection --------------------------------------------------------------- */

int plan_span(const struct aggregate_plan *p, bool ends, __int128 *ret_first, __int128 *ret_last,
              struct err *err)
{
    const struct acc_spec times[] = {{.kind = &acc_extent, .column = p->ts},
                                     {.kind = &acc_extent, .column = p->te}};
    const struct group_set all = {.accs = times, .acc_count = ends ? 2 : 1};
    const struct grouping g = {.query = p->query,
                               .budget = p->budget,
                               .set_count = 1,
                               .sets = &all,
                               .spreads = true,
                               .more = true};
    struct groups *found;
    int rc = groups_scan(&g, &found, err);

    *ret_first = *ret_last = 0;
    if (rc == 0 && found->set[0].map.table.count) {
        struct extent *span = group_slot(&found->set[0], 0, 0);
        if (ends) {
            const struct extent *end = group_slot(&found->set[0], 0, 1);
            extent_widen(span, span->min_ts, end->max_te);
        }
        if (extent_has_times(span)) {
            *ret_first = span->min_ts;
            *ret_last = span->max_te;
        }
    }
    groups_free(found);
    return rc;
}

/* ---- buckets --------------------------------------------------------------------------------- */

/* Returns true if at most `points` buckets of this interval cover [first, last]. */
static bool interval_covers(__int128 interval, __int128 first, __int128 last, uint64_t points)
{
    return (floor_to(last, interval) - floor_to(first, interval)) / interval < (__int128)points;
}

/* The shortest common interval with which [first, last] needs at most `points` buckets; 0: one
 * bucket for all. */
static __int128 choose_interval(__int128 first, __int128 last, uint64_t points)
{
    static const int64_t seconds[] = {1,     2,     5,     10,    15,     30,    60,
                                      120,   300,   600,   900,   1800,   3600,  7200,
                                      10800, 21600, 43200, 86400, 172800, 604800};
    static const int64_t digits[] = {1, 2, 5};

    for (int64_t unit = 1000; unit < 1000000000; unit *= 10) {
        for (int i = 0; i < 3; i++) {
            if (interval_covers(unit * digits[i], first, last, points))
                return unit * digits[i];
        }
    }
    for (size_t i = 0; i < sizeof(seconds) / sizeof(*seconds); i++) {
        if (interval_covers((__int128)seconds[i] * 1000000000, first, last, points))
            return (__int128)seconds[i] * 1000000000;
    }
    for (__int128 weeks = 2; weeks < 10000000; weeks *= 2) {
        if (interval_covers(weeks * 604800 * 1000000000, first, last, points))
            return weeks * 604800 * 1000000000;
    }
    return 0;
}

int plan_times(struct aggregate_plan *p, const struct aggregate_options *o, struct err *err)
{
    bool known = o->max_points && o->points_to_ns > o->points_from_ns;
    __int128 first = 0, last = 0;

    if (o->relative || (o->max_points && !known)) {
        int rc = plan_span(p, o->split, &first, &last, err);
        if (rc < 0)
            return rc;
    }
    p->origin_ns = o->relative ? first : 0;
    if (!o->max_points)
        return 0;
    if (known) {
        first = o->points_from_ns;
        last = o->points_to_ns;
    }
    p->interval_ns = choose_interval(first - p->origin_ns, last - p->origin_ns, o->max_points);
    return 0;
}

/* ---- format ---------------------------------------------------------------------------------- */

/* ISO 8601 in UTC with 3, 6 or 9 digits of a second, as many as are needed. The query keeps the
 * text, as that of a key. */
static int iso_value(struct query *q, __int128 ns, struct value *ret)
{
    int64_t seconds = (int64_t)(floor_to(ns, 1000000000) / 1000000000),
            rest = (int64_t)(ns - (__int128)seconds * 1000000000);
    int digits = rest % 1000000 == 0 ? 3 : rest % 1000 == 0 ? 6 : 9;
    time_t at = (time_t)seconds;
    char day[64], text[96];
    struct tm tm;
    uint64_t key;

    if (!gmtime_r(&at, &tm) || strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        return -ERANGE;
    for (int i = digits; i < 9; i++)
        rest /= 10;
    int len = snprintf(text, sizeof(text), "%s.%0*lldZ", day, digits, (long long)rest);
    struct column_entry e = {
        .type = TRACE_TEXT, .text_id = INDEX_NO_TEXT, .text = {text, (size_t)len}};
    int rc = key_of_entry(q, &e, &key);
    if (rc == 0)
        query_key_value(q, key, ret);
    return rc;
}

int bucket_format(const struct aggregate_plan *p, struct value *v)
{
    if (v->type != VALUE_TIME || p->time_format == AGGREGATE_TIME_US)
        return 0;
    if (p->time_format == AGGREGATE_TIME_ISO)
        return iso_value(p->query, v->wide, v);
    if (v->wide % 1000 == 0)
        v->wide /= 1000;
    else
        *v = (struct value){.type = VALUE_DOUBLE, .d = (double)v->wide / 1000000};
    return 0;
}
