/* generate_queries.c - queries for unet3d traces, for users to try and for --verify. */
#include "tools/gen_fake_trace/generate.h"

#include <assert.h>
#include <stdio.h>

/* Placeholders: {pid} of the last process, {thread} of the first one's reads and writes, {host} the
 * first one's, {shard} its first training file, {checkpoint} the file; {epoch} the last, or the
 * first one if --events limits their number; {epochs} more than the last. */
static const struct generate_query queries[] = {
    /* one condition */
    {true, "name == \"pwrite\""},
    {false, "name == \"val_forward\""},
    {false, "cat == \"POSIX\""},
    {true, "pid == {pid}"},
    {false, "tid == {thread}"},
    {false, "hhash == {host}"},
    {true, "fhash == {shard}"},
    {false, "fhash == {checkpoint}"},
    {false, "epoch == 0"},
    {false, "step == 0"},
    {false, "ret == 5"},
    /* and */
    {true, "cat == \"POSIX\" and name == \"fsync\""},
    {false, "pid == {pid} and name == \"read\""},
    {false, "hhash == {host} and name == \"allreduce\""},
    {true, "epoch == {epoch} and name == \"conv3d\""},
    /* or */
    {true, "name in [\"open\", \"close\"]"},
    {false, "name == \"pwrite\" or name == \"fsync\""},
    {false, "pid == 1000 or pid == {pid}"},
    {false, "epoch == 0 or epoch == {epoch}"},
    /* matches nothing */
    {false, "name == \"mmap\""},
    {false, "cat == \"MPI\""},
    {false, "pid == 1"},
    {false, "epoch == {epochs}"},
    {false, "fhash == \"0000000000000000\""},
};

static char *put_value(char *p, const struct generate_plan *plan, struct text name)
{
    const struct options *o = &plan->o;
    const struct generate_format *f = o->format;
    const struct {
        const char *name;
        uint64_t value;
        bool hash;
    } values[] = {
        {"pid", f->first_pid + (o->processes - 1) * f->pid_step},
        {"thread", 10 * f->first_pid + 1},
        {"epoch", o->events ? 0 : o->epochs - (o->epochs > 0)},
        {"epochs", o->epochs},
        {"host", hash_text("node-0"), true},
        {"shard", plan->hashes[0], true},
        {"checkpoint", plan->hashes[plan->checkpoint], true},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (text_eq(name, text_of(values[i].name)))
            return values[i].hash ? put_hash(p, HASH_HEX, values[i].value)
                                  : put_number(p, values[i].value);
    assert(false);
    return p;
}

bool generate_query_at(const struct generate_plan *plan, unsigned i, struct generate_query *ret)
{
    if (i >= sizeof queries / sizeof *queries)
        return false;
    *ret = (struct generate_query){.suggested = queries[i].suggested};
    char *p = ret->text;
    for (const char *q = queries[i].text; *q; q++) {
        if (*q == '{') {
            size_t len = strcspn(++q, "}");
            p = put_value(p, plan, (struct text){q, len});
            q += len;
        } else {
            *p++ = *q;
        }
    }
    *p = '\0';
    return true;
}

void generate_closing(const struct generate_plan *p, const uint64_t *events, struct buf *out)
{
    const struct options *o = &p->o;
    struct generate_query q;
    uint64_t total = 0;
    for (uint64_t i = 0; i < o->processes; i++) {
        buf_printf(out, "rank %llu (node-%llu): %llu events\n", (unsigned long long)i,
                   (unsigned long long)(i % o->hosts), (unsigned long long)events[i]);
        total += events[i];
    }
    buf_printf(out, "Total: %llu events of %llu processes on %llu hosts\n\nQueries to try:\n",
               (unsigned long long)total, (unsigned long long)o->processes,
               (unsigned long long)(o->hosts < o->processes ? o->hosts : o->processes));
    for (unsigned i = 0; generate_query_at(p, i, &q); i++)
        if (q.suggested)
            buf_printf(out, "  %s\n", q.text);
}
