/* gen_main.c - gen-fake-trace: synthetic traces of a 3D U-Net training, for measuring, demos and tests. */
#include "gen.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void rank_init(struct rank *r, const struct world *w, uint64_t number, struct out *out)
{
    const struct options *o = w->o;
    *r = (struct rank){
        .number = number, .world = w, .out = out, .next_id = 1, .launches = 100000000};
    r->random = o->seed + 10000 * number;
    r->clock_us = UINT64_C(1781800000000000) + rank_below(r, 200000);
    r->pid = 3112000 + number * 16;
    snprintf(r->host, sizeof r->host, "node-%llu", (unsigned long long)(number % o->hosts));
    r->host_hash = hash_text(r->host);
    r->budget = UINT64_MAX;
    if (o->events) /* without `end` there is nothing to keep one for */
        r->budget = o->events / o->ranks + (number < o->events % o->ranks) + !o->format->version;
    r->seen = calloc(1, w->path_count / 8 + 1);
    if (!r->seen)
        die("no memory");
}

static struct rank *next_rank(struct rank *ranks, uint64_t count)
{
    struct rank *best = NULL;
    for (uint64_t i = 0; i < count; i++)
        if (ranks[i].state != RANK_DONE && (!best || ranks[i].clock_us < best->clock_us))
            best = &ranks[i];
    return best;
}

/* Writes the ranks first, first + stride, ... into one file. */
static void write_file(const struct world *w, const char *path, uint64_t first, uint64_t stride,
                       uint64_t *events, uint64_t *bytes)
{
    const struct options *o = w->o;
    uint64_t count = (o->ranks - first + stride - 1) / stride;
    struct rank *ranks = calloc(count, sizeof *ranks), *r;
    struct out out;
    if (!ranks)
        die("no memory");
    out_open(&out, path, o);
    out_end(&out, put_text(out_begin(&out), o->format->head));
    for (uint64_t i = 0; i < count; i++)
        rank_init(&ranks[i], w, first + i * stride, &out);
    while ((r = next_rank(ranks, count)))
        rank_batch(r);
    out_end(&out, put_text(out_begin(&out), o->format->tail));
    out_close(&out);
    for (uint64_t i = 0; i < count; i++) {
        *events += ranks[i].events;
        free(ranks[i].seen);
    }
    *bytes += out.total;
    free(ranks);
}

struct job {
    const struct world *world;
    uint64_t files;
    atomic_uint_fast64_t next, events, bytes;
};

static void *job_run(void *arg)
{
    struct job *job = arg;
    const struct options *o = job->world->o;
    uint64_t file, events = 0, bytes = 0;
    while ((file = job->next++) < job->files) {
        char path[4096];
        int len = o->single ? snprintf(path, sizeof path, "%s", o->single)
                            : snprintf(path, sizeof path, "%s/%s_%llu.pfw%s", o->dir,
                                       o->files ? "trace" : "rank", (unsigned long long)file,
                                       o->plain ? "" : ".gz");
        if (len >= (int)sizeof path)
            die("the path is too long");
        write_file(job->world, path, file, job->files, &events, &bytes);
    }
    job->events += events;
    job->bytes += bytes;
    return NULL;
}

static void world_init(struct world *w, const struct options *o)
{
    *w = (struct world){.o = o};
    w->checkpoint = o->train_files + o->val_files;
    w->folder = w->checkpoint + 1;
    w->path_count = w->folder + 1;
    w->paths = calloc(w->path_count, sizeof *w->paths);
    w->hashes = calloc(w->path_count, sizeof *w->hashes);
    if (!w->paths || !w->hashes)
        die("no memory");
    for (uint64_t i = 0; i < w->path_count; i++) {
        char text[128];
        unsigned long long n = i < o->train_files ? i : i - o->train_files;
        snprintf(text, sizeof text,
                 i < o->train_files  ? "/lustre/project/unet3d/data/train/shard_%05llu.npz"
                 : i < w->checkpoint ? "/lustre/project/unet3d/data/val/val_%03llu.npz"
                 : i < w->folder     ? "/lustre/project/unet3d/checkpoints/model_ckpt.pt"
                                     : "/lustre/project/unet3d/data",
                 n);
        w->paths[i] = strdup(text);
        if (!w->paths[i])
            die("no memory");
        w->hashes[i] = hash_text(text);
    }
}

static void world_done(struct world *w)
{
    for (uint64_t i = 0; i < w->path_count; i++)
        free(w->paths[i]);
    free(w->paths);
    free(w->hashes);
}

static void run(struct job *job)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t wanted = job->files < (uint64_t)(cores < 1 ? 1 : cores) ? job->files : (uint64_t)cores;
    pthread_t threads[64];
    uint64_t started = 0;
    while (started + 1 < wanted && started < 64 &&
           pthread_create(&threads[started], NULL, job_run, job) == 0)
        started++;
    job_run(job);
    while (started)
        pthread_join(threads[--started], NULL);
}

int main(int argc, char **argv)
{
    struct options o = {.ranks = 8,
                        .hosts = 4,
                        .epochs = 500,
                        .steps = 1000,
                        .checkpoint_every = 5,
                        .validation_every = 2,
                        .train_files = 8,
                        .val_files = 2,
                        .step_ms = 100,
                        .seed = 42,
                        .level = 6};
    options_parse(&o, argc, argv);
    if (o.events)
        o.epochs = UINT64_MAX;
    if (o.dir && mkdir(o.dir, 0777) && errno != EEXIST)
        die("%s: %s", o.dir, strerror(errno));
    struct world w;
    world_init(&w, &o);
    struct job job = {.world = &w, .files = o.single ? 1 : o.files ? o.files : o.ranks};
    run(&job);
    world_done(&w);
    fprintf(o.single && strcmp(o.single, "-") == 0 ? stderr : stdout,
            "%llu events of %llu processes on %llu hosts, %llu bytes of text in %llu files\n",
            (unsigned long long)job.events, (unsigned long long)o.ranks,
            (unsigned long long)(o.hosts < o.ranks ? o.hosts : o.ranks),
            (unsigned long long)job.bytes, (unsigned long long)job.files);
    return 0;
}
