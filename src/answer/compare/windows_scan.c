/* windows_scan.c - sums up the rows of one worker by windows of threads.
 *
 * An event is mostly in the same window as the last event of its thread. So a thread keeps its last
 * two windows; others are appended to a list, in which a window may occur several times until
 * windows_result.c merges these.
 *
 */
#include "answer/compare/windows.h"
#include "engine/derived/times.h"

#include <errno.h>
#include <stdlib.h>

/* The last two windows of a thread. */
struct thread_windows {
    int64_t from_ns; /* begin of `current`; meaningless if side_worker.far */
    struct window current, other;
};

/* ---- windows that are complete --------------------------------------------------------------- */

static int add_window(struct groups_of_set *threads, const struct window *add)
{
    return add->events ? vec_push_item(&threads->accs[0].list, sizeof(*add), add) : 0;
}

/* Appends the last two windows of each thread, too. */
int windows_flush(struct group_worker *w)
{
    struct groups_of_set *threads = &w->found->set[SIDE_THREADS];
    int rc = 0;

    for (uint32_t t = 0; t < threads->ready && rc == 0; t++) {
        struct thread_windows *p = group_slot(threads, t, 0);
        rc = add_window(threads, &p->other);
        rc = rc < 0 ? rc : add_window(threads, &p->current);
        *p = (struct thread_windows){0};
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
    const uint64_t *has_time, *has_dur;
    int64_t unit; /* of `time`, in ns */
    bool nano;    /* `dur` is in ns */
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
    int64_t min, max, limit = INT64_MAX / 1000;
    int rc = own->far ? windows_flush(w) : 0; /* a far window has no valid from_ns */

    own->far = own->skip = false;
    if (scan_shape(c, job->time) == SHAPE_TIME) {
        bool nano = scan_is_nano(c, job->time), ranged = scan_range(c, job->time, &min, &max);
        __int128 unit = nano ? 1 : 1000;
        own->far = !nano && (!ranged || min < -limit || max > limit);
        own->skip = ranged && (windows_number(job, max * unit) < job->first ||
                               windows_number(job, min * unit) > job->last);
    }
    return rc;
}

static struct values read_values(const struct side_windows *job, struct scan_batch *b)
{
    struct values v;
    bool nano;

    v.time = batch_i64(b, job->time, &v.has_time, &nano);
    v.dur = batch_i64(b, job->side->dur, &v.has_dur, &v.nano);
    v.unit = nano ? 1 : 1000;
    return v;
}

/* Changes to another window than that of the last event of the thread. *ret: it is within
 * [job->first, job->last]. */
static int change_window(struct group_worker *w, uint32_t thread, __int128 ns, bool *ret)
{
    const struct side_windows *job = windows_of(w);
    struct groups_of_set *threads = &w->found->set[SIDE_THREADS];
    struct thread_windows *p = group_slot(threads, thread, 0);
    int64_t number = windows_number(job, ns);
    struct window next = p->other;
    int rc = 0;

    *ret = number >= job->first && number <= job->last;
    if (!*ret || (p->current.events && p->current.number == number))
        return 0;
    if (next.events == 0 || next.number != number) {
        rc = add_window(threads, &next);
        next = (struct window){.number = number, .thread = thread};
    }
    p->other = p->current;
    p->current = next;
    p->from_ns = job->window_ns == UINT64_MAX ? 0 : (int64_t)((uint64_t)number * job->window_ns);
    return rc;
}

/* Adds a duration in another unit; the sum is in ns then. */
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
    char *const slots = group_slot(threads, 0, 0);
    const size_t stride = threads->stride;
    /* `v` is a copy to which there are no pointers, so that it stays in registers. */
    const struct values read = read_values(job, b), v = read;
    const uint16_t *const select = b->select;
    const uint32_t n = b->count;
    const uint64_t length = job->window_ns, unit = (uint64_t)v.unit;
    const bool far = ((struct side_worker *)w->own)->far;

    for (uint32_t j = 0; j < n; j++) {
        uint32_t row = select ? select[j] : j;
        struct thread_windows *p = (struct thread_windows *)(slots + w->group[j] * stride);
        bool counted = true;
        ++*group_count(threads, w->group[j]);
        if (!batch_is_valid(v.has_time, row))
            continue;
        if (far || p->current.events == 0 ||
            (uint64_t)v.time[row] * unit - (uint64_t)p->from_ns >= length) {
            int rc = change_window(w, w->group[j], (__int128)v.time[row] * v.unit, &counted);
            if (rc < 0)
                return rc;
        }
        p->current.events += counted;
        if (counted && batch_is_valid(v.has_dur, row))
            add_duration(&p->current, v.dur[row], v.nano);
    }
    return 0;
}

struct group_set windows_set(const struct side_windows *job, unsigned width)
{
    static const struct acc_kind kind = {.size = sizeof(struct thread_windows),
                                         .wide = true,
                                         .item = sizeof(struct window),
                                         .item_refers_to_groups = window_is_whole,
                                         .merge_lists = windows_merge};
    static const struct acc_spec windows = {.kind = &kind};

    return (struct group_set){
        .keys = job->keys, .width = width, .accs = &windows, .acc_count = 1, .add = add_events};
}
