/* parents.c - removes circles from the parents of processes. */
#include "answer/aggregate/parents.h"

#include <errno.h>
#include <stdlib.h>

int process_cut_circles(uint32_t *parents, size_t count)
{
    /* by process: 1 + the process from which it was reached first */
    uint32_t *seen = calloc(count + 1, sizeof(*seen));

    if (!seen)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i, first;
        while (at != PROCESS_NONE && !seen[at]) {
            seen[at] = i + 1;
            at = parents[at];
        }
        if (at == PROCESS_NONE || seen[at] != i + 1)
            continue;
        first = at;
        for (uint32_t k = parents[at]; k != at; k = parents[k])
            first = k < first ? k : first;
        parents[first] = PROCESS_NONE;
    }
    free(seen);
    return 0;
}
