/* places.c - the chunks that a query has to scan. */
#include "engine/filter/filter.h"
#include "engine/plan/plan.h"

#include <errno.h>
#include <stdlib.h>

int query_make_places(struct query *q)
{
    size_t total = 0;

    for (size_t i = 0; i < q->file_count; i++)
        total += snapshot_file(q->snapshot, q->files[i])->chunk_count;
    free(q->places);
    q->places = malloc((total + 1) * sizeof(*q->places));
    if (!q->places)
        return -ENOMEM;
    q->place_count = 0;
    for (size_t i = 0; i < q->file_count; i++) {
        const struct index_file *file = snapshot_file(q->snapshot, q->files[i]);
        /* An unfiltered query may be answered from summaries without a scan, so files are not
         * excluded here: its chunks are tested when they are scanned. */
        if (q->root && !q->unfiltered && !q->no_pruning && !test_may_match_file(q, q->root, file))
            continue;
        for (uint32_t k = 0; k < file->chunk_count; k++)
            q->places[q->place_count++] = (struct scan_place){.file = q->files[i], .chunk = k};
    }
    q->counters.chunks_total = total;
    q->counters.chunks_skipped = total - q->place_count;
    return 0;
}

void query_disable_pruning(struct query *q)
{
    q->no_pruning = true;
    (void)query_make_places(q);
}
