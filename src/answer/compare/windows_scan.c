/* windows_scan.c - sums up the rows of one worker by windows of threads.
 *
 * An event is mostly in the same window as the last event of its thread: a thread sums up in its
 * last two windows, and any other is appended again; at the end equal ones are joined.
 */
#include "answer/compare/windows.h"
#include "engine/derived/times.h"

#include <errno.h>
#include <stdlib.h>

/* The last two windows of a thread. */
struct present {
    int64_t from_ns;           /* begin of `now`; meaningless for far windows */
    struct window now, before; /* before: the other window it was in last */
};

/* ---- windows that are complete --------------------------------------------------------------- */

static int add_window(struct groups_of_set *threads, const struct window *add)
{
    return add->events ? vec_push_item(&threads->accs[0].list, sizeof(*add), add) : 0;
}

/* The windows that threads are in are appended, too. */
int windows_flush(struct group_worker *w)
{
    struct groups_of_set *threads = &w->found->set[SIDE_THREADS];
    int rc = 0;

    for (uint32_t t = 0; t < threads->ready && rc == 0; t++) {
        struct present *p = group_slot(threads, t, 0);
        rc = add_window(threads, &p->before);
        rc = rc < 0 ? rc : add_window(threads, &p->now);
        *p = (struct present){0};
    }
    return rc;
}

static int windows_merge(struct acc *into, struct acc *from, unsigned set,
                         const uint32_t *const *to)
{
    const struct window *all = from->list.at;
    int rc = 0;

    for (size_t i = 0; i < from->list.count && rc == 0; i++) {
        struct window moved = all[i];
        moved.thread = to[set][moved.thread];
        rc = vec_push_item(&into->list, sizeof(moved), &moved);
    }
    return rc;
}

static bool window_is_whole(const struct groups *f, unsigned set, const void *item)
{
    return ((const struct window *)item)->thread < f->set[set].ready;
}

/* ---- the scan -------------------------------------------------------------------------------- */

/* The values of a batch. */
struct values {
    const int64_t *time, *dur;
    const uint64_t *in_time, *has_dur;
    int64_t unit; /* of times, in ns */
    bool nano;
};

int64_t windows_number(const struct side_windows *job, __int128 ns)
{
    __int128 length = job->window_ns;
    int64_t near = (int64_t)ns;

    if (job->window_ns == UINT64_MAX)
        return 0;
    if (near != ns)
        return clamp_ns(floor_to(ns, length) / length);
    int64_t number = near / (int64_t)job->window_ns;
    return number - (number * (int64_t)job->window_ns > near);
}

static const struct side_windows *windows_of(const struct group_worker *w)
{
    return ((struct side *)w->grouping->arg)->windows;
}

int windows_chunk(struct group_worker *w, struct scan_chunk *c)
{
    const struct side_windows *job = windows_of(w);
    struct side_worker *own = w->own;
    int64_t least, most, limit = INT64_MAX / 1000;
    int rc = own->far ? windows_flush(w) : 0; /* a far window has no valid from_ns */

    own->far = own->skip = false;
    if (scan_shape(c, job->time) == SHAPE_TIME) {
        bool nano = scan_is_nano(c, job->time), ranged = scan_range(c, job->time, &least, &most);
        __int128 unit = nano ? 1 : 1000;
        own->far = !nano && (!ranged || least < -limit || most > limit);
        own->skip = ranged && (windows_number(job, most * unit) < job->first ||
                               windows_number(job, least * unit) > job->last);
    }
    return rc;
}

static struct values read_values(const struct side_windows *job, struct scan_batch *b)
{
    struct values v;
    bool nano;

    v.time = batch_i64(b, job->time, &v.in_time, &nano);
    v.dur = batch_i64(b, job->side->dur, &v.has_dur, &v.nano);
    v.unit = nano ? 1 : 1000;
    return v;
}

/* Starts another window than that of the thread's last event. *ret: whether it is wanted. */
static int change_window(struct group_worker *w, uint32_t thread, __int128 ns, bool *ret)
{
    const struct side_windows *job = windows_of(w);
    struct groups_of_set *threads = &w->found->set[SIDE_THREADS];
    struct present *p = group_slot(threads, thread, 0);
    int64_t number = windows_number(job, ns);
    struct window next = p->before;
    int rc = 0;

    *ret = number >= job->first && number <= job->last;
    if (!*ret || (p->now.events && p->now.number == number))
        return 0;
    if (next.events == 0 || next.number != number) {
        rc = add_window(threads, &next);
        next = (struct window){.number = number, .thread = thread};
    }
    p->before = p->now;
    p->now = next;
    p->from_ns = job->window_ns == UINT64_MAX ? 0 : (int64_t)((uint64_t)number * job->window_ns);
    return rc;
}

/* Adds in the finer of two units. */
static __attribute__((noinline)) void add_other_unit(struct window *at, int64_t value, bool nano)
{
    if (at->measured && nano)
        at->dur *= 1000;
    at->dur += at->measured && !nano ? (__int128)value * 1000 : value;
    at->nano = nano || at->measured;
    at->measured++;
}

static inline void add_duration(struct window *at, int64_t value, bool nano)
{
    if (__builtin_expect(at->nano != nano, 0)) {
        add_other_unit(at, value, nano);
        return;
    }
    at->dur += value;
    at->measured++;
}

static int add_events(struct group_worker *w, struct scan_batch *b, unsigned set)
{
    const struct side_windows *job = windows_of(w);
    const struct groups_of_set *const threads = &w->found->set[set];
    char *const presents = group_slot(threads, 0, 0);
    const size_t stride = threads->stride;
    const struct values read = read_values(job, b),
                        v = read; /* a copy without pointers to it, so that it stays in registers */
    const uint16_t *const select = b->select;
    const uint32_t n = b->count;
    const uint64_t length = job->window_ns, unit = (uint64_t)v.unit;
    const bool far = ((struct side_worker *)w->own)->far;

    for (uint32_t j = 0; j < n; j++) {
        uint32_t row = select ? select[j] : j;
        struct present *p = (struct present *)(presents + w->group[j] * stride);
        bool wanted = true;
        ++*group_count(threads, w->group[j]);
        if (!batch_is_valid(v.in_time, row))
            continue;
        if (far || p->now.events == 0 ||
            (uint64_t)v.time[row] * unit - (uint64_t)p->from_ns >= length) {
            int rc = change_window(w, w->group[j], (__int128)v.time[row] * v.unit, &wanted);
            if (rc < 0)
                return rc;
        }
        p->now.events += wanted;
        if (wanted && batch_is_valid(v.has_dur, row))
            add_duration(&p->now, v.dur[row], v.nano);
    }
    return 0;
}

struct group_set windows_set(const struct side_windows *job, unsigned width)
{
    static const struct acc_kind kind = {.size = sizeof(struct present),
                                         .wide = true,
                                         .item = sizeof(struct window),
                                         .item_is_whole = window_is_whole,
                                         .merge_lists = windows_merge};
    static const struct acc_spec windows = {.kind = &kind};

    return (struct group_set){
        .keys = job->keys, .width = width, .accs = &windows, .acc_count = 1, .add = add_events};
}
