/* run.c - memory of runs and their results. */
#include "index/ingest/run.h"
#include "index/ingest/hashes.h"
#include "index/ingest/order.h"

#include <errno.h>
#include <stdlib.h>

int run_add_damage(struct run *run, const struct trace_damage *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (run->damage_count >= INDEX_DAMAGE_KEPT && list[i].kind == TRACE_DAMAGE_READ)
            run->damage.at[INDEX_DAMAGE_KEPT - 1] = list[i]; /* it marks the end of what was read */
        if (run->damage_count < INDEX_DAMAGE_KEPT && vec_push(&run->damage, list[i]) < 0)
            return -ENOMEM;
        run->damage_count++;
    }
    return 0;
}

void order_free(struct order *o)
{
    if (!o)
        return;
    arena_done(&o->strings);
    free((void *)o->from.window);
    free(o->divided);
    free(o);
}

void run_free(struct run *r)
{
    if (!r)
        return;
    view_release(r->old);
    view_release(r->archive);
    archive_list_done(&r->members);
    index_params_release(r->index_params);
    part_free(r->base);
    part_free(r->tail);
    vec_done(&r->chunks);
    view_release(r->named);
    vec_done(&r->damage);
    for (int i = 0; i < DIMENSIONS_MAX; i++)
        hashes_free(r->hashes[i]);
    order_free(r->order);
    free(r);
}

void result_free(struct result *r)
{
    if (!r)
        return;
    trace_chunk_done(&r->chunk);
    buf_done(&r->names);
    buf_done(&r->value);
    part_free(r->part);
    archive_list_done(&r->members);
    for (size_t i = 0; i < r->checkpoints.count; i++)
        free((void *)r->checkpoints.at[i].window);
    vec_done(&r->checkpoints);
    vec_done(&r->damage);
    for (int i = 0; i < DIMENSIONS_MAX; i++)
        free(r->hashes[i]);
    for (int i = 0; i < DIMENSIONS_MAX; i++)
        hashes_free(r->before[i]);
    free(r);
}
