/* ingest_write.h - the inside of the writer: ingest_write.c takes results and commits, ingest_store.c makes records. */
#ifndef DFTRACERD_INDEX_INGEST_WRITE_H
#define DFTRACERD_INDEX_INGEST_WRITE_H

#include "store.h"

struct writer {
    struct ingest *in;
    struct index *ix;
    struct kv_batch *batch;
    struct run *dirty; /* runs with something to be stored and published */
    uint32_t dirty_count;
    struct garbage *garbage;
    uint32_t garbage_count, garbage_cap;
    int64_t first_ns; /* when the batch got its first */
    int64_t tick_ns;
    uint64_t root_generation; /* of the last summary made ahead */
};

/* Every result of the run has been applied: it is freed after the commit. */
bool run_over(const struct run *r);
/* Puts what is known of the run into the batch. The view that is published after the commit; NULL: nothing changes. */
struct view *store_run(struct writer *w, struct run *run);
void store_states(struct writer *w);
/* The id, and all that is stored under it, is garbage from the next commit on. */
void drop_id(struct writer *w, uint32_t id);
void collect_garbage(struct writer *w);

#endif
