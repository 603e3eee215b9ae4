/* event.c - one object by its number. */
#include "dftracerd/find.h"
#include "engine/scan/scan.h"

struct wanted {
    uint32_t file, chunk, row;
};

static bool keep_place(void *arg, struct scan_place *place)
{
    const struct wanted *w = arg;

    if (place->file != w->file || place->chunk != w->chunk)
        return false;
    place->first_row = w->row;
    return true;
}

int query_begin_at(struct query *q, uint32_t file, uint64_t object)
{
    const struct index_file *f = snapshot_file(query_snapshot(q), file);
    struct wanted w = {.file = file};

    w.chunk = index_file_chunk(f, &object);
    if (w.chunk == f->chunk_count)
        return ERR_NOT_FOUND;
    w.row = (uint32_t)object;
    scan_keep_places(q, keep_place, &w);
    return 0;
}
