/* gen_verify.c - --verify: an index of the traces just written, in a folder for the time being, and the plan's questions. */
#include "gen.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char place[4096]; /* of the index */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static void remove_index(void)
{
    nftw(place, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void offer_files(struct index *ix, const char *dir, uint64_t files)
{
    for (uint64_t i = 0; i < files; i++) {
        char name[64], path[4200];
        snprintf(name, sizeof name, "rank_%llu.pfw.gz", (unsigned long long)i);
        snprintf(path, sizeof path, "%s/%s", dir, name);
        int rc = index_offer(ix, name, path);
        if (rc < 0)
            die("%s: %s", path, err_text(rc));
    }
    index_listed(ix);
}

static void wait_until_indexed(struct index *ix)
{
    struct index_progress p;
    do {
        usleep(10000);
        index_progress(ix, &p);
    } while (p.files_pending && !p.store_error);
    if (p.store_error || p.files_failed)
        die("indexing failed: %s", p.store_error ? err_text(p.store_error) : "unreadable files");
}

static void print_table(const struct query_env *env, const struct generate_plan *plan)
{
    struct snapshot *snapshot = index_snapshot(env->index);
    struct selection all;
    struct budget budget = {0};
    struct err err = {0};
    struct generate_verdict v;
    struct buf out = {0};
    int rc;
    selection_init(&all);
    generate_verdict_text(NULL, &out);
    for (unsigned i = 0;
         (rc = generate_verify(plan, i, env, snapshot, &all, &budget, &err, &v)) == 0; i++)
        generate_verdict_text(&v, &out);
    if (rc != ERR_END)
        die("%s", err.text[0] ? err.text : err_text(rc));
    fwrite(out.data, 1, out.len, stdout);
    buf_done(&out);
    snapshot_release(snapshot);
}

void verify(const struct options *o, const struct generate_plan *plan)
{
    static const char *const dimensions[] = {"name",  "cat",   "pid", "tid",   "hhash",
                                             "fhash", "shash", "ret", "count", "offset",
                                             "epoch", "step",  NULL};
    const char *tmp = getenv("TMPDIR"), *label = "";
    struct err err = {0};
    snprintf(place, sizeof place, "%s/gen-fake-trace.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(place))
        die("%s: %s", place, strerror(errno));
    atexit(remove_index); /* also when it fails */
    struct index_options options = {.path = place,
                                    .checkpoint_size = o->checkpoint_size,
                                    .dimensions = dimensions,
                                    .settle_ms = -1};
    struct query_env env = {.root_paths = &o->dir, .root_labels = &label, .root_count = 1};
    if (index_open(&options, &err, &env.index) < 0)
        die("%s", err.text);
    offer_files(env.index, o->dir, generate_plan_files(plan));
    wait_until_indexed(env.index);
    print_table(&env, plan);
    index_close(env.index);
}
