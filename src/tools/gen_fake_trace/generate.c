/* generate.c - generates a file of synthetic traces, piece by piece. */
#include "tools/gen_fake_trace/generate.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- plan ------------------------------------------------------------------------------------ */

static char *path_text(const struct generate_plan *p, uint64_t i)
{
    const struct path_pattern *pattern = p->o.format->paths;
    uint64_t n = i < p->o.train_files ? i : i - p->o.train_files;
    char text[128];
    pattern += i < p->o.train_files ? 0 : i < p->checkpoint ? 1 : i < p->folder ? 2 : 3;
    if (pattern->after)
        snprintf(text, sizeof text, "%s%0*llu%s", pattern->before, pattern->digits,
                 (unsigned long long)n, pattern->after);
    return strdup(pattern->after ? text : pattern->before);
}

static int fill_paths(struct generate_plan *p)
{
    p->checkpoint = p->o.train_files + p->o.val_files;
    p->folder = p->checkpoint + 1;
    p->path_count = p->folder + 1;
    p->paths = calloc(p->path_count, sizeof *p->paths);
    p->hashes = calloc(p->path_count, sizeof *p->hashes);
    if (!p->paths || !p->hashes)
        return -ENOMEM;
    for (uint64_t i = 0; i < p->path_count; i++) {
        if (!(p->paths[i] = path_text(p, i)))
            return -ENOMEM;
        p->hashes[i] = hash_text(p->paths[i]);
    }
    return 0;
}

int generate_plan_new(const struct options *o, struct generate_plan **ret)
{
    struct generate_plan *p = calloc(1, sizeof *p);
    if (!p)
        return -ENOMEM;
    p->o = *o;
    if (o->events)
        p->o.epochs = UINT64_MAX;
    int rc = fill_paths(p);
    if (rc < 0) {
        generate_plan_free(p);
        return rc;
    }
    *ret = p;
    return 0;
}

void generate_plan_free(struct generate_plan *p)
{
    if (!p)
        return;
    for (uint64_t i = 0; p->paths && i < p->path_count; i++)
        free(p->paths[i]);
    free(p->paths);
    free(p->hashes);
    free(p);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static int rank_init(struct rank *r, const struct generate_plan *p, uint64_t number,
                     struct out *out)
{
    const struct options *o = &p->o;
    *r =
        (struct rank){.number = number, .plan = p, .out = out, .next_id = 1, .launches = 100000000};
    r->random = o->seed + 10000 * number;
    r->clock_us = o->format->first_us;
    r->pid = o->format->first_pid + number * o->format->pid_step;
    snprintf(r->host, sizeof r->host, "node-%llu", (unsigned long long)(number % o->hosts));
    r->host_hash = hash_text(r->host);
    r->budget = UINT64_MAX;
    if (o->events) /* without an `end` event, none has to be reserved */
        r->budget =
            o->events / o->processes + (number < o->events % o->processes) + !o->format->version;
    if (o->format->batch == unet3d_batch)
        return (r->twister = twister_new(r->random)) ? 0 : -ENOMEM;
    r->clock_us += rank_below(r, 200000); /* real processes do not start at the same time */
    return (r->seen = calloc(1, p->path_count / 8 + 1)) ? 0 : -ENOMEM;
}

/* ---- a file ---------------------------------------------------------------------------------- */

struct generator {
    const struct generate_plan *plan;
    struct out out;
    struct rank *ranks;
    uint64_t count;
    bool begun, ended;
};

int generate_open(const struct generate_plan *p, uint64_t file, struct generator **ret)
{
    uint64_t stride = generate_file_count(&p->o);
    struct generator *g = calloc(1, sizeof *g);
    assert(file < stride);
    if (!g)
        return -ENOMEM;
    g->plan = p;
    g->count = (p->o.processes - file + stride - 1) / stride;
    g->ranks = calloc(g->count, sizeof *g->ranks);
    int rc = g->ranks ? out_open(&g->out, &p->o) : -ENOMEM;
    for (uint64_t i = 0; rc == 0 && i < g->count; i++)
        rc = rank_init(&g->ranks[i], p, file + i * stride, &g->out);
    if (rc < 0) {
        generate_close(g);
        return rc;
    }
    *ret = g;
    return 0;
}

/* Writes the next batch of the rank with the earliest clock, or the end of the file. */
static void generate_batch(struct generator *g)
{
    const struct generate_format *f = g->plan->o.format;
    if (!g->begun)
        out_end(&g->out, put_text(out_begin(&g->out), f->head));
    g->begun = true;
    struct rank *r = NULL;
    for (uint64_t i = 0; i < g->count; i++)
        if (g->ranks[i].state != RANK_DONE && (!r || g->ranks[i].clock_us < r->clock_us))
            r = &g->ranks[i];
    if (r) {
        f->batch(r);
        return;
    }
    out_end(&g->out, put_text(out_begin(&g->out), f->tail));
    out_flush(&g->out, true);
    g->ended = true;
}

int generate_next(struct generator *g, size_t want, struct buf *out)
{
    size_t begin = out->len;
    g->out.sink = out;
    while (!g->ended && !out->error && out->len - begin < want)
        generate_batch(g);
    return out->error ? out->error : g->ended ? ERR_END : 0;
}

uint64_t generate_events(const struct generator *g)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < g->count; i++)
        sum += g->ranks[i].events;
    return sum;
}

uint64_t generate_text_bytes(const struct generator *g)
{
    return g->out.total + g->out.len;
}

void generate_close(struct generator *g)
{
    if (!g)
        return;
    for (uint64_t i = 0; g->ranks && i < g->count; i++) {
        free(g->ranks[i].twister);
        free(g->ranks[i].seen);
    }
    free(g->ranks);
    out_close(&g->out);
    free(g);
}
