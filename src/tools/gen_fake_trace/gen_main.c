/* gen_main.c - gen-fake-trace: synthetic traces of a 3D U-Net training, for measuring, demos and
 * tests. */
#include "tools/gen_fake_trace/generate.h"
#include "base/write_all.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PIECE = 256 << 10, THREADS = 64 };

struct job {
    const struct generate_plan *plan;
    uint64_t *events; /* number of events of each file */
    atomic_uint_fast64_t next, bytes;
    atomic_int error; /* the first error, which stops all threads */
    char failed[PATH_MAX];
};

/* Returns ERR_END when the file is complete, otherwise an error. */
static int write_pieces(struct job *job, struct generator *g, int fd)
{
    struct buf piece = {0};
    int rc = 0, wrote = 0;
    while (rc == 0 && wrote == 0) {
        buf_clear(&piece);
        rc = generate_next(g, PIECE, &piece);
        if (rc == 0 || rc == ERR_END)
            wrote = write_all(fd, (struct text){piece.data, piece.len});
        if (job->error || place_is_stopped())
            wrote = -ECANCELED;
    }
    buf_done(&piece);
    return wrote ? wrote : rc;
}

static int write_file(struct job *job, uint64_t file, char *name, size_t size)
{
    struct generator *g = NULL;
    int fd = place_open(&job->plan->o, file, name, size);
    if (fd < 0)
        return fd;
    int rc = generate_open(job->plan, file, &g);
    if (rc == 0)
        rc = write_pieces(job, g, fd);
    if (close(fd) && rc == ERR_END)
        rc = -errno;
    if (rc == ERR_END) {
        job->events[file] = generate_events(g);
        job->bytes += generate_text_bytes(g);
    }
    generate_close(g);
    return rc == ERR_END ? 0 : rc;
}

static void *job_run(void *arg)
{
    struct job *job = arg;
    char name[PATH_MAX];
    uint64_t file;
    while (!job->error && !place_is_stopped() &&
           (file = job->next++) < generate_file_count(&job->plan->o)) {
        int none = 0, rc = write_file(job, file, name, sizeof name);
        if (rc < 0 && atomic_compare_exchange_strong(&job->error, &none, rc))
            memcpy(job->failed, name, sizeof name);
    }
    return NULL;
}

static void generate_files(struct job *job)
{
    uint64_t files = generate_file_count(&job->plan->o), cores = cpu_count();
    uint64_t wanted = files < cores ? files : cores;
    pthread_t threads[THREADS];
    uint64_t started = 0;
    while (started + 1 < wanted && started < THREADS &&
           pthread_create(&threads[started], NULL, job_run, job) == 0)
        started++;
    job_run(job);
    while (started)
        pthread_join(threads[--started], NULL);
    if (place_is_stopped())
        exit(1);
    if (job->error)
        fail("%s: %s", job->failed, err_text(job->error));
}

/* The events of each process are known if each has a file of its own. */
static void print_report(const struct job *job)
{
    const struct options *o = &job->plan->o;
    FILE *out = o->single && strcmp(o->single, "-") == 0 ? stderr : stdout;
    uint64_t files = generate_file_count(o), events = 0;
    if (o->dir && !o->files && o->format == generate_format_find("unet3d")) {
        struct buf text = {0};
        generate_closing(job->plan, job->events, &text);
        if (text.error < 0)
            fail("out of memory");
        fwrite(text.data, 1, text.len, out);
        buf_done(&text);
    } else {
        for (uint64_t i = 0; i < files; i++)
            events += job->events[i];
        fprintf(out,
                "%llu events of %llu processes on %llu hosts, %llu bytes of text in %llu files\n",
                (unsigned long long)events, (unsigned long long)o->processes,
                (unsigned long long)(o->hosts < o->processes ? o->hosts : o->processes),
                (unsigned long long)job->bytes, (unsigned long long)files);
    }
}

int main(int argc, char **argv)
{
    static struct job job;
    struct options o;
    struct generate_plan *plan;
    options_parse(&o, argc, argv);
    if (generate_plan_new(&o, &plan) < 0 ||
        !(job.events = calloc(generate_file_count(&o), sizeof *job.events)))
        fail("out of memory");
    job.plan = plan;
    place_begin(&o);
    generate_files(&job);
    place_end(&o);
    print_report(&job);
    if (o.verify)
        verify(&o, plan);
    free(job.events);
    generate_plan_free(plan);
    bool printed = fflush(stdout) == 0 && !ferror(stdout);
    if (!printed && !place_is_stopped())
        fail("standard output: %s", strerror(errno));
    return !printed;
}
