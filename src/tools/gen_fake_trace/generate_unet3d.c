/* generate_unet3d.c - the traces of dftracer_gen_fake_trace: events one after the other, without
 * ids and nesting, name records at the head of the file only. */
#include "tools/gen_fake_trace/generate.h"

static const char command[] = "python train_unet3d.py";

/* Returns floor(base * u), u uniform in [0.7, 1.3), with integers, so that all machines get the
 * same. */
static uint64_t vary(struct rank *r, uint64_t base)
{
    const unsigned __int128 one = (unsigned __int128)1 << 53;
    uint64_t u = twister_next(r->twister) >> 11;
    return (uint64_t)(base * (7 * one + 6 * (unsigned __int128)u) / (10 * one));
}

static uint64_t draw_below(struct rank *r, uint64_t n)
{
    return (uint64_t)((unsigned __int128)twister_next(r->twister) * n >> 64);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void write_name(struct rank *r, const char *kind, const char *name, uint64_t hash)
{
    char *p = put_text(PUT(out_begin(r->out), "{\"name\":\""), kind);
    p = put_hash(PUT(p, "\",\"ph\":\"M\",\"args\":{\"hhash\":"), HASH_HEX, r->host_hash);
    p = put_text(PUT(p, ",\"name\":\""), name);
    p = put_hash(PUT(p, "\",\"value\":"), HASH_HEX, hash);
    out_end(r->out, PUT(p, "}}\n"));
}

static void write_path_name(struct rank *r, uint64_t path)
{
    write_name(r, "FH", r->plan->paths[path], r->plan->hashes[path]);
}

static void write_head(struct rank *r)
{
    const struct options *o = &r->plan->o;
    write_name(r, "HH", r->host, r->host_hash);
    if (o->shuffle || r->number >= o->train_files)
        for (uint64_t i = 0; i < (o->shuffle ? o->train_files : 1); i++)
            write_path_name(r, o->shuffle ? i : rank_train_file(r, 0));
    else
        for (uint64_t i = r->number; i < o->train_files; i += o->processes)
            write_path_name(r, i);
    for (uint64_t i = o->train_files; i <= r->plan->checkpoint; i++)
        write_path_name(r, i);
    write_name(r, "SH", command, hash_text(command));
}

/* Writes an event at the current time, and advances the clock; `e` has its arguments. */
static void write_call(struct rank *r, const char *name, uint64_t base_us, struct event *e)
{
    if (!rank_spend(r))
        return;
    bool io = e->path >= 0;
    uint64_t us = vary(r, base_us);
    char *p = put_text(PUT(out_begin(r->out), "{\"name\":\""), name);
    p = io ? PUT(p, "\",\"cat\":\"POSIX\",\"pid\":") : PUT(p, "\",\"cat\":\"APP\",\"pid\":");
    p = put_number(PUT(put_number(p, r->pid), ",\"tid\":"), 10 * r->pid + io);
    p = put_number(PUT(put_number(PUT(p, ",\"ts\":"), r->clock_us), ",\"dur\":"), us);
    p = put_hash(PUT(p, ",\"ph\":\"X\",\"args\":{\"hhash\":"), HASH_HEX, r->host_hash);
    if (io)
        p = put_hash(PUT(p, ",\"fhash\":"), HASH_HEX, r->plan->hashes[e->path]);
    p = put_hash(PUT(p, ",\"cmd_hash\":"), HASH_HEX, r->command_hash);
    for (int i = 0; i < e->count; i++)
        p = put_number(PUT(put_text(PUT(p, ",\""), e->args[i].key), "\":"),
                       (uint64_t)e->args[i].value);
    out_end(r->out, PUT(p, "}}\n"));
    r->clock_us += us;
}

/* Writes a call of open, close or fsync, which only has a return value. */
static void write_simple_call(struct rank *r, const char *name, uint64_t base_us, uint64_t path,
                              uint64_t ret)
{
    struct event e = {.path = (int64_t)path};
    event_add(&e, "ret", ARG_INT, ret);
    write_call(r, name, base_us, &e);
}

static void write_transfer(struct rank *r, const char *name, uint64_t base_us, uint64_t path,
                           uint64_t bytes, uint64_t offset)
{
    struct event e = {.path = (int64_t)path};
    event_add(&e, "ret", ARG_INT, bytes);
    event_add(&e, "count", ARG_INT, bytes);
    event_add(&e, "offset", ARG_INT, offset);
    write_call(r, name, base_us, &e);
}

/* Writes a computation that lasts 1/share of a step. */
static void write_compute(struct rank *r, const char *name, uint64_t share, uint64_t step)
{
    struct event e = {.path = -1};
    event_add(&e, "epoch", ARG_INT, r->epoch);
    event_add(&e, "step", ARG_INT, step);
    write_call(r, name, r->plan->o.step_ms * 1000 / share, &e);
}

/* ---- the work of a process ------------------------------------------------------------------- */

static void read_file(struct rank *r, uint64_t path, uint64_t parts)
{
    static const char *const reads[] = {"pread", "read", "fread"};
    uint64_t bytes = vary(r, 4096);
    write_simple_call(r, "open", 5, path, 3);
    for (uint64_t k = 0; k < parts; k++)
        write_transfer(r, reads[k % 3], 20, path, bytes, k * bytes);
    write_simple_call(r, "close", 3, path, 0);
}

static void train_step(struct rank *r)
{
    static const struct {
        const char *name;
        uint64_t share;
    } layers[] = {{"conv3d", 5},   {"batch_norm", 5}, {"relu", 5},
                  {"max_pool", 5}, {"upsample", 5},   {"dice_loss", 4},
                  {"backward", 4}, {"allreduce", 4},  {"optimizer_step", 8}};
    const struct options *o = &r->plan->o;
    uint64_t path = o->shuffle ? draw_below(r, o->train_files) : rank_train_file(r, r->step);
    read_file(r, path, 3 + draw_below(r, 3));
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        write_compute(r, layers[i].name, layers[i].share, r->step);
}

static void run_validation(struct rank *r)
{
    const struct options *o = &r->plan->o;
    for (uint64_t k = 0; k < 10 && o->val_files; k++) {
        uint64_t path = o->train_files + k % o->val_files;
        write_simple_call(r, "open", 5, path, 3);
        write_transfer(r, "read", 20, path, vary(r, 4096), 0);
        write_simple_call(r, "close", 3, path, 0);
        write_compute(r, "val_forward", 5, k);
        write_compute(r, "dice_loss", 4, k);
    }
}

static void save_checkpoint(struct rank *r)
{
    uint64_t path = r->plan->checkpoint, parts = 10 + draw_below(r, 11);
    write_simple_call(r, "open", 10, path, 5);
    for (uint64_t k = 0; k < parts; k++) {
        uint64_t bytes = vary(r, 1 << 20);
        write_transfer(r, k % 2 ? "write" : "pwrite", 50, path, bytes, k * bytes);
    }
    write_simple_call(r, "fsync", 200, path, 0);
    write_simple_call(r, "close", 3, path, 0);
}

void unet3d_batch(struct rank *r)
{
    const struct options *o = &r->plan->o;
    if (r->state == RANK_NEW) {
        r->command_hash = hash_text(command);
        write_head(r);
        r->state = RANK_RUNS;
    }
    if (r->epoch < o->epochs) {
        train_step(r);
        if (++r->step == o->steps) {
            if (rank_is_due(o->validation_every, r->epoch))
                run_validation(r);
            if (rank_is_due(o->checkpoint_every, r->epoch))
                save_checkpoint(r);
            r->step = 0;
            r->epoch++;
        }
    }
    if (r->epoch >= o->epochs || r->budget <= 1)
        r->state = RANK_DONE;
}
