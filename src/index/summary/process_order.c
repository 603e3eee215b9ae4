/* process_order.c - processes of a file by their pids. */
#include "index/summary/part.h"

#include <stdlib.h>

static int compare_positions(const void *a, const void *b, void *arg)
{
    const struct index_process *list = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (list[x].pid != list[y].pid)
        return list[x].pid < list[y].pid ? -1 : 1;
    return (x > y) - (x < y);
}

void process_order(const struct index_process *list, uint32_t count, uint32_t *ret_order)
{
    for (uint32_t i = 0; i < count; i++)
        ret_order[i] = i;
    if (count)
        qsort_r(ret_order, count, sizeof *ret_order, compare_positions, (void *)list);
}

/* Returns the first position in `order` whose pid is not less, or, with `after`, is greater. */
static uint32_t find_pid(const struct index_process *list, const uint32_t *order, uint32_t count,
                         int64_t pid, bool after)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int64_t mid_pid = list[order[mid]].pid;
        if (mid_pid < pid || (after && mid_pid == pid))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct index_process *process_find_single(const struct index_process *list,
                                                const uint32_t *order, uint32_t count, int64_t pid)
{
    const struct index_process *found = NULL;

    for (uint32_t i = find_pid(list, order, count, pid, false);
         i < count && list[order[i]].pid == pid; i++) {
        if (list[order[i]].host == INDEX_NO_TEXT)
            continue;
        if (found)
            return NULL;
        found = &list[order[i]];
    }
    return found;
}

const uint32_t *index_processes_of_pid(const struct index_file *f, int64_t pid, uint32_t *ret_count)
{
    uint32_t from = find_pid(f->processes, f->by_pid, f->process_count, pid, false);

    *ret_count = find_pid(f->processes, f->by_pid, f->process_count, pid, true) - from;
    return *ret_count ? f->by_pid + from : NULL;
}
