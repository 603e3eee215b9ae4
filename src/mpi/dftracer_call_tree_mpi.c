/* dftracer_call_tree_mpi.c - dftracer_call_tree as a job of several processes: calls with their
 * levels and parents, as a trace for Perfetto. */
#include "mpi/batch.h"

static void put_request(const struct batch_settings *s, struct buf *out)
{
    (void)s;
    buf_puts(out, "/call-tree?format=perfetto");
}

static const struct batch_tool tool = {
    .program = BATCH_CALL_TREE,
    .name = "dftracer_call_tree_mpi",
    .synopsis = "[OPTION]... INPUT",
    .description = "Nests the calls of the traces in the directory INPUT, on several processes or "
                   "nodes. Each process\nreads a part of the traces; the output is the .pfw file "
                   "of `dftracer_call_tree --json`.\n",
    .staging = "_shards",
    .has_input = true,
    .defaults = {.output = "call_tree.pfw"},
    .put_request = put_request,
};

int main(int argc, char **argv)
{
    return batch_main(&tool, argc, argv);
}
