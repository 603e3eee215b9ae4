/* generate_formats.c - the formats of the generations of the tracer. */
#include "tools/gen_fake_trace/generate.h"

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

/* Formats of real tracers: started in 2026, with a rank every 16 process ids. */
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
