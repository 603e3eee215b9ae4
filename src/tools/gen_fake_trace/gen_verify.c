/* gen_verify.c - --verify: runs the plan's queries on a temporary index of the traces. */
#include "dftracerd/event_count.h"
#include "tools/gen_fake_trace/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[4096]; /* folder of the index */

static void remove_index(void)
{
    place_remove_tree(folder);
}

static void offer_files(struct index *ix, const struct options *o)
{
    for (uint64_t i = 0; i < generate_file_count(o); i++) {
        char name[64], path[4200];
        snprintf(name, sizeof name, "rank_%llu.pfw.gz", (unsigned long long)i);
        snprintf(path, sizeof path, "%s/%s", o->dir, name);
        int rc = index_offer(ix, name, path);
        if (rc < 0)
            fail("%s: %s", path, err_text(rc));
    }
    index_listed(ix);
}

/* Prints a line of the table: files with matching events, chunks that needed no scan. */
static int print_row(const char *text, struct query *q, struct err *err)
{
    const uint32_t *files;
    struct query_counters c;
    size_t n = query_files(q, &files), matched = 0;
    uint64_t *events = calloc(n + 1, sizeof *events);
    char pair[2][48];
    int rc = events ? query_count_files(q, err, events) : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < n; i++)
        matched += events[i] > 0;
    free(events);
    query_counters(q, &c);
    snprintf(pair[0], sizeof pair[0], "%zu/%zu", matched, n);
    snprintf(pair[1], sizeof pair[1], "%llu/%llu", (unsigned long long)c.chunks_skipped,
             (unsigned long long)c.chunks_total);
    if (rc == 0)
        printf("%-52s %13s %17s\n", text, pair[0], pair[1]);
    return rc;
}

static void print_table(const struct query_env *env, const struct generate_plan *plan)
{
    struct snapshot *snapshot = index_snapshot(env->index);
    struct budget budget = {0};
    struct err err = {0};
    struct generate_query query;
    printf("%-52s %13s %17s\n", "Query", "Files", "Chunks skipped");
    for (unsigned i = 0; generate_query_at(plan, i, &query) && !place_is_stopped(); i++) {
        struct selection chosen;
        struct query *q = NULL;
        selection_init(&chosen);
        chosen.query = text_of(query.text);
        int rc = query_open(env, snapshot, &chosen, &budget, &err, &q);
        if (rc == 0)
            rc = print_row(query.text, q, &err);
        query_close(q);
        if (rc < 0)
            fail("%s", err.text[0] ? err.text : err_text(rc));
    }
    snapshot_release(snapshot);
}

void verify(const struct options *o, const struct generate_plan *plan)
{
    static const char *const dimensions[] = {"name",  "cat",   "pid", "tid",   "hhash",
                                             "fhash", "shash", "ret", "count", "offset",
                                             "epoch", "step",  NULL};
    const char *tmp = getenv("TMPDIR"), *label = "";
    struct err err = {0};
    snprintf(folder, sizeof folder, "%s/gen-fake-trace.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        fail("%s: %s", folder, strerror(errno));
    atexit(remove_index); /* also after an error */
    struct index_options options = {.path = folder,
                                    .checkpoint_size = o->checkpoint_size,
                                    .dimensions = dimensions,
                                    .settle_ms = -1};
    struct query_env env = {.root_paths = &o->dir, .root_labels = &label, .root_count = 1};
    if (index_open(&options, &err, &env.index) < 0)
        fail("%s", err.text);
    offer_files(env.index, o);
    struct index_progress p;
    do {
        usleep(10000);
        index_progress(env.index, &p);
    } while (p.files_pending && !p.store_error && !place_is_stopped());
    if (p.store_error || p.files_failed)
        fail("indexing failed: %s", p.store_error ? err_text(p.store_error) : "unreadable files");
    if (!place_is_stopped())
        print_table(&env, plan);
    index_close(env.index);
    if (place_is_stopped())
        exit(1);
}
