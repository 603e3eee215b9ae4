/* dftracer_aggregator_mpi.c - dftracer_aggregator as a job of several processes: statistics per
 * time interval and key, as a compressed trace for Perfetto. */
#include "mpi/batch.h"

static void put_request(const struct batch_settings *s, struct buf *out)
{
    buf_puts(out, "/aggregate?format=perfetto&event_format=dftracer");
    if (!s->interval)
        return;
    buf_putc(out, '&');
    batch_put_parameter(out, "time_interval", s->interval);
}

static const struct batch_tool tool = {
    .program = BATCH_AGGREGATOR,
    .name = "dftracer_aggregator_mpi",
    .synopsis = "[OPTION]...",
    .description = "Computes statistics per time interval and key, on several processes or nodes. "
                   "Each process\nreads a part of the traces; the output is that of "
                   "dftracer_aggregator, compressed.\n",
    .staging = "_staging",
    .defaults = {.directory = ".", .output = "aggregated_output.json.gz", .gzip = true},
    .put_request = put_request,
};

int main(int argc, char **argv)
{
    return batch_main(&tool, argc, argv);
}
