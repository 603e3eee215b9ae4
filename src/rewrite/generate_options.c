/* generate_options.c - formats, numbers and their limits. */
#include "generate.h"

static const struct path_pattern lustre_paths[] = {
    {"/lustre/project/unet3d/data/train/shard_", 5, ".npz"},
    {"/lustre/project/unet3d/data/val/val_", 3, ".npz"},
    {"/lustre/project/unet3d/checkpoints/model_ckpt.pt", 0, NULL},
    {"/lustre/project/unet3d/data", 0, NULL},
};
static const struct path_pattern unet3d_paths[] = {
    {"/data/train/shard_", 1, ".h5"},
    {"/data/val/val_", 1, ".h5"},
    {"/checkpoints/model_ckpt.pt", 0, NULL},
    {"/data", 0, NULL},
};

/* As the tracers of their time: started in 2026, a rank every 16 process numbers. */
#define REAL \
    .paths = lustre_paths, .first_us = UINT64_C(1781800000000000), .first_pid = 3112000, \
    .pid_step = 16, .batch = work_batch

static const struct generate_format formats[] = {
    {"unet3d", NULL, HASH_HEX, .head = "", .tail = "", .paths = unet3d_paths,
     .first_us = 1000000000, .first_pid = 1000, .pid_step = 1, .batch = unet3d_batch},
    {"v3", "\"v3.0.0\"", HASH_HEX, .head = "[\n", .tail = "]\n", REAL},
    {"v4", "\"v4.0.0\"", HASH_HEX, .codes = true, .head = "", .tail = "", REAL},
    {"v108", "100008", HASH_DECIMAL, .text_args = true, .links = true, .meta_id = true,
     .head = "[\n", .tail = "]", REAL},
    {"v105", "100005", HASH_16BIT, .text_args = true, .links = true, .meta_id = true, .head = "[\n",
     .tail = "]", REAL},
    {"v0", NULL, HASH_NONE, .quoted = true, .head = "[\n ", .tail = "", REAL},
    {"g0", NULL, HASH_NONE, .head = "[\n", .tail = "", REAL},
    {"datacrumbs", NULL, HASH_NONE, .head = "[\n", .tail = "", REAL},
};
enum { FORMATS = sizeof formats / sizeof *formats };

const char *generate_format_name(unsigned i)
{
    return i < FORMATS ? formats[i].name : NULL;
}

const struct generate_format *generate_format_find(const char *name)
{
    for (int i = 0; i < FORMATS; i++)
        if (strcmp(name, formats[i].name) == 0)
            return &formats[i];
    return NULL;
}

#define NUMBER(name, member, fallback, least, most) \
    { \
        name, offsetof(struct generate_options, member), fallback, least, most \
    }
const struct generate_number generate_numbers[] = {
    NUMBER("num_processes", processes, 8, 1, 100000),
    NUMBER("num_hosts", hosts, 4, 1, UINT64_MAX),
    NUMBER("num_epochs", epochs, 500, 0, UINT64_MAX),
    NUMBER("steps_per_epoch", steps, 1000, 1, UINT64_MAX),
    NUMBER("checkpoint_every", checkpoint_every, 5, 0, UINT64_MAX),
    NUMBER("validation_every", validation_every, 2, 0, UINT64_MAX),
    NUMBER("num_train_files", train_files, 8, 1, 10000000),
    NUMBER("num_val_files", val_files, 2, 0, 10000000),
    NUMBER("step_duration_ms", step_ms, 100, 1, 86400000),
    NUMBER("seed", seed, 42, 0, UINT64_MAX),
    {NULL},
};

uint64_t *generate_number_at(struct generate_options *o, const struct generate_number *n)
{
    return (uint64_t *)((char *)o + n->offset);
}

void generate_defaults(struct generate_options *o)
{
    *o = (struct generate_options){.format = &formats[0], .level = 6};
    for (const struct generate_number *n = generate_numbers; n->name; n++)
        *generate_number_at(o, n) = n->fallback;
}

static int bad(struct err *err, const char *name, const char *why)
{
    return err_set_param(err, ERR_PARAM, name, "`%s` %s", name, why);
}

int generate_check(const struct generate_options *o, struct err *err)
{
    struct generate_options copy = *o;
    for (const struct generate_number *n = generate_numbers; n->name; n++) {
        uint64_t value = *generate_number_at(&copy, n);
        if (value < n->least)
            return err_set_param(err, ERR_PARAM, n->name, "`%s` must be at least %llu", n->name,
                                 (unsigned long long)n->least);
        if (value > n->most)
            return err_set_param(err, ERR_PARAM, n->name, "`%s` must be at most %llu", n->name,
                                 (unsigned long long)n->most);
    }
    if (o->files > o->processes)
        return bad(err, "files", "must not exceed the number of processes");
    if (o->events && o->events < 2 * o->processes)
        return bad(err, "events", "must be at least 2 per process");
    if (o->level < 0 || o->level > 9)
        return bad(err, "level", "must be from 0 to 9");
    return 0;
}

static uint64_t narrow(unsigned __int128 n)
{
    return n > UINT64_MAX ? UINT64_MAX : (uint64_t)n;
}

/* unet3d: a step has at most 7 calls and 9 computations, a validation 10 times 5 events, a checkpoint 23 calls. */
uint64_t generate_lines_most(const struct generate_options *o)
{
    uint64_t validations = o->validation_every ? o->epochs / o->validation_every : 0;
    uint64_t checkpoints = o->checkpoint_every ? o->epochs / o->checkpoint_every : 0;
    uint64_t own = o->shuffle ? o->train_files : o->train_files / o->processes + 1;
    uint64_t epochs = narrow((unsigned __int128)o->epochs * o->steps);
    uint64_t rank = narrow((unsigned __int128)epochs * 16 + validations * (unsigned __int128)50 +
                           checkpoints * (unsigned __int128)23 + own + o->val_files + 3);
    return narrow((unsigned __int128)rank * o->processes);
}
