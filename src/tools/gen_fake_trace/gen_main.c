/* gen_main.c - gen-fake-trace: synthetic traces of a 3D U-Net training, for measuring, demos and tests. */
#include "gen.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 256 << 10 };

struct job {
    const struct options *options;
    const struct generate_plan *plan;
    uint64_t *events; /* of each file */
    atomic_uint_fast64_t next, bytes;
};

static void write_all(int fd, const struct buf *b, const char *path)
{
    for (size_t at = 0; at < b->len;) {
        ssize_t n = write(fd, b->data + at, b->len - at);
        if (n < 0 && errno != EINTR)
            die("%s: %s", path, strerror(errno));
        at += n > 0 ? (size_t)n : 0;
    }
}

static void write_file(struct job *job, uint64_t file, const char *path)
{
    struct generator *g;
    struct buf piece = {0};
    bool to_stdout = strcmp(path, "-") == 0;
    int fd = to_stdout ? STDOUT_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        die("%s: %s", path, strerror(errno));
    int rc = generate_open(job->plan, file, &g);
    while (rc == 0) {
        buf_clear(&piece);
        rc = generate_next(g, PIECE, &piece);
        write_all(fd, &piece, path);
    }
    if (rc != ERR_END)
        die("%s", err_text(rc));
    if (!to_stdout && close(fd))
        die("%s: %s", path, strerror(errno));
    job->events[file] = generate_events(g);
    job->bytes += generate_text_bytes(g);
    generate_close(g);
    buf_done(&piece);
}

static void *job_run(void *arg)
{
    struct job *job = arg;
    const struct options *o = job->options;
    uint64_t file;
    while ((file = job->next++) < generate_plan_files(job->plan)) {
        char path[4096];
        int len = o->single ? snprintf(path, sizeof path, "%s", o->single)
                            : snprintf(path, sizeof path, "%s/%s_%llu.pfw%s", o->dir,
                                       o->g.files ? "trace" : "rank", (unsigned long long)file,
                                       o->g.plain ? "" : ".gz");
        if (len >= (int)sizeof path)
            die("the path is too long");
        write_file(job, file, path);
    }
    return NULL;
}

static void run(struct job *job)
{
    uint64_t files = generate_plan_files(job->plan), cores = cpu_count();
    uint64_t wanted = files < cores ? files : cores;
    pthread_t threads[64];
    uint64_t started = 0;
    while (started + 1 < wanted && started < 64 &&
           pthread_create(&threads[started], NULL, job_run, job) == 0)
        started++;
    job_run(job);
    while (started)
        pthread_join(threads[--started], NULL);
}

/* The events of each process are known where each has a file of its own. */
static void tell(const struct job *job)
{
    const struct options *o = job->options;
    uint64_t files = generate_plan_files(job->plan), events = 0;
    for (uint64_t i = 0; i < files; i++)
        events += job->events[i];
    if (o->dir && !o->g.files && o->g.format == generate_format_find("unet3d")) {
        struct buf text = {0};
        generate_closing(job->plan, job->events, &text);
        fwrite(text.data, 1, text.len, stdout);
        buf_done(&text);
    }
    fprintf(o->single && strcmp(o->single, "-") == 0 ? stderr : stdout,
            "%llu events of %llu processes on %llu hosts, %llu bytes of text in %llu files\n",
            (unsigned long long)events, (unsigned long long)o->g.processes,
            (unsigned long long)(o->g.hosts < o->g.processes ? o->g.hosts : o->g.processes),
            (unsigned long long)job->bytes, (unsigned long long)files);
}

int main(int argc, char **argv)
{
    struct options o;
    struct err err = {0};
    struct generate_plan *plan;
    options_parse(&o, argc, argv);
    int rc = generate_plan_new(&o.g, &err, &plan);
    if (rc < 0)
        die("%s", err.text[0] ? err.text : err_text(rc));
    if (o.dir && mkdir(o.dir, 0777) && errno != EEXIST)
        die("%s: %s", o.dir, strerror(errno));
    struct job job = {.options = &o, .plan = plan};
    job.events = calloc(generate_plan_files(plan), sizeof *job.events);
    if (!job.events)
        die("out of memory");
    run(&job);
    tell(&job);
    if (o.verify)
        verify(&o, plan);
    free(job.events);
    generate_plan_free(plan);
    return 0;
}
