/* object.c - the number of an object in its file. */
#include "answer/timeline/object.h"

uint64_t timeline_object(struct query *q, uint32_t file, uint32_t chunk, uint32_t row)
{
    const struct index_file *f = snapshot_file(query_snapshot(q), file);
    uint64_t before = 0;

    for (uint32_t i = 0; i < chunk; i++)
        before += f->chunks[i].rows;
    return before + row;
}
