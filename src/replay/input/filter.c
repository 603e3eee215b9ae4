/* filter.c - filters by lists, ranges and samples. */
#include "replay/input/filter.h"

static bool list_has(const char *list, struct text wanted)
{
    struct text rest = text_of(list), part;
    while (text_split(&rest, ',', &part))
        if (part.len && text_eq(part, wanted))
            return true;
    return false;
}

/* Numbers that do not parse are ignored; a list without valid numbers is no filter. */
static bool list_allows_number(const char *list, int64_t wanted, bool excludes)
{
    struct text rest = text_of(list), part;
    bool any = false, found = false;
    while (text_split(&rest, ',', &part)) {
        int64_t n;
        if (num_parse_i64(text_trim(part), &n) < 0)
            continue;
        any = true;
        found |= n == wanted;
    }
    return excludes ? !found : found || !any;
}

static bool allows_text(const char *only, const char *except, struct text value)
{
    return !(only && *only && !list_has(only, value)) && !(except && list_has(except, value));
}

static bool allows_number(const char *only, const char *except, int64_t value)
{
    return !(only && !list_allows_number(only, value, false)) &&
           !(except && !list_allows_number(except, value, true));
}

static bool is_sampled(const struct replay_filters *f, const struct event *e)
{
    uint64_t of[] = {(uint64_t)e->pid, (uint64_t)e->tid, (uint64_t)e->ts_ns, f->sample_seed};
    return f->sample_rate >= 1 ||
           (double)(text_hash((struct text){(const char *)of, sizeof of}) % 10000) / 10000 <
               f->sample_rate;
}

bool filter_passes(const struct replay_filters *f, const struct event *e, int64_t size)
{
    if (!allows_number(f->pid, f->not_pid, e->pid) || !allows_number(f->tid, f->not_tid, e->tid))
        return false;
    if ((f->start_us >= 0 && e->ts_ns < f->start_us * 1000) ||
        (f->end_us >= 0 && e->ts_ns > f->end_us * 1000))
        return false;
    if (size >= 0 &&
        ((f->min_size >= 0 && size < f->min_size) || (f->max_size >= 0 && size > f->max_size)))
        return false;
    return allows_text(f->function, f->not_function, e->name) &&
           allows_text(f->category, f->not_category, e->cat) && is_sampled(f, e);
}
