/* generate_queries.c - questions about traces in the format unet3d: what to try, and what an index should make of them. */
#include "generate.h"

#include <assert.h>
#include <stdio.h>

/* {pid} of the last process, {thread} of the first one's reads and writes, {host} the first one's, {shard} its first
 * training file, {checkpoint} the file; {epoch} the last, {epochs} their number. */
static const struct {
    const char *kind;
    bool suggested;
    const char *text;
} questions[] = {
    {"single", true, "name == \"pwrite\""},
    {"single", false, "name == \"val_forward\""},
    {"single", false, "cat == \"POSIX\""},
    {"single", true, "pid == {pid}"},
    {"single", false, "tid == {thread}"},
    {"single", false, "hhash == {host}"},
    {"single", true, "fhash == {shard}"},
    {"single", false, "fhash == {checkpoint}"},
    {"single", false, "epoch == 0"},
    {"single", false, "step == 0"},
    {"single", false, "ret == 5"},
    {"and", true, "cat == \"POSIX\" and name == \"fsync\""},
    {"and", false, "pid == {pid} and name == \"read\""},
    {"and", false, "hhash == {host} and name == \"allreduce\""},
    {"and", true, "epoch == {epoch} and name == \"conv3d\""},
    {"or", true, "name in [\"open\", \"close\"]"},
    {"or", false, "name == \"pwrite\" or name == \"fsync\""},
    {"or", false, "pid == 1000 or pid == {pid}"},
    {"or", false, "epoch == 0 or epoch == {epoch}"},
    {"negative", false, "name == \"mmap\""},
    {"negative", false, "cat == \"MPI\""},
    {"negative", false, "pid == 1"},
    {"negative", false, "epoch == {epochs}"},
    {"negative", false, "fhash == \"0000000000000000\""},
};

static char *put_value(char *p, const struct generate_plan *plan, struct text name)
{
    const struct generate_options *o = &plan->o;
    const struct generate_format *f = o->format;
    const struct {
        const char *name;
        uint64_t value;
        bool hash;
    } values[] = {
        {"pid", f->first_pid + (o->processes - 1) * f->pid_step},
        {"thread", 10 * f->first_pid + 1},
        {"epoch", o->epochs - (o->epochs > 0)},
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
    if (i >= sizeof questions / sizeof *questions)
        return false;
    *ret = (struct generate_query){.kind = questions[i].kind, .suggested = questions[i].suggested};
    char *p = ret->text;
    for (const char *q = questions[i].text; *q; q++) {
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
    const struct generate_options *o = &p->o;
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

/* ---- verify ---- */

static int ask(struct query *q, struct err *err, struct generate_verdict *ret)
{
    const uint32_t *files;
    struct query_counters c;
    struct buf counts = {0};
    size_t n = query_files(q, &files);
    uint64_t *events = (uint64_t *)buf_reserve(&counts, (n + 1) * sizeof *events);
    int rc = events ? query_count_files(q, err, events) : -ENOMEM;
    ret->files_total = n;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        ret->events += events[i];
        ret->files += events[i] > 0;
    }
    query_counters(q, &c);
    ret->chunks_skipped = c.chunks_skipped;
    ret->chunks_total = c.chunks_total;
    buf_done(&counts);
    return rc;
}

int generate_verify(const struct generate_plan *p, unsigned i, const struct query_env *env,
                    struct snapshot *snapshot, const struct selection *files, struct budget *budget,
                    struct err *err, struct generate_verdict *ret)
{
    struct query *q = NULL;
    struct selection chosen = *files;
    *ret = (struct generate_verdict){0};
    if (!generate_query_at(p, i, &ret->query))
        return ERR_END;
    chosen.query = text_of(ret->query.text);
    int rc = query_open(env, snapshot, &chosen, budget, err, &q);
    if (rc == 0)
        rc = ask(q, err, ret);
    query_close(q);
    return rc;
}

void generate_verdict_text(const struct generate_verdict *v, struct buf *out)
{
    char files[48], chunks[48];
    if (!v) {
        buf_printf(out, "%-52s %13s %17s\n", "Query", "Files", "Chunks skipped");
        return;
    }
    snprintf(files, sizeof files, "%llu/%llu", (unsigned long long)v->files,
             (unsigned long long)v->files_total);
    snprintf(chunks, sizeof chunks, "%llu/%llu", (unsigned long long)v->chunks_skipped,
             (unsigned long long)v->chunks_total);
    buf_printf(out, "%-52s %13s %17s\n", v->query.text, files, chunks);
}
