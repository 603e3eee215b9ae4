/* generate_steps.c - the file that a training step reads, and the epochs in which a checkpoint or a
 * validation is due. */
#include "tools/gen_fake_trace/generate.h"

uint64_t rank_train_file(const struct rank *r, uint64_t step)
{
    const struct options *o = &r->plan->o;
    if (r->number >= o->train_files)
        return r->number % o->train_files;
    uint64_t own = (o->train_files - r->number + o->processes - 1) / o->processes;
    return r->number + step % own * o->processes;
}

bool rank_is_due(uint64_t every, uint64_t epoch)
{
    return every && (epoch + 1) % every == 0;
}
