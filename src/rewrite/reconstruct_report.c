/* reconstruct_report.c - reconstruct.json: the originals that are proved to be unchanged, and what
 * is missing from the others. */
#include "rewrite/reconstruct.h"

/* ---- sources --------------------------------------------------------------------------------- */

static const char *const states[] = {"differs", "incomplete", "proved", NULL};

#define OBJECT struct reconstruct_source
static const struct member source_members[] = {
    MEMBER("path", name),
    MEMBER("output", output),
    MEMBER("state", state, .choices = states),
    MEMBER("text_bytes", bytes),
    MEMBER_HASH("xxh128", hash),
    MEMBER("written_bytes", written, .when = WHEN(unproved), .optional = true),
    MEMBER("missing_lines", missing_lines, .when = WHEN(unproved), .optional = true),
};
static const struct object_type source_type = {NULL, MEMBERS(source_members)};
#undef OBJECT

/* ---- files and groups ------------------------------------------------------------------------ */

/* Writes the files of the groups that are missing or have changed. */
static void write_files(struct jw *j, const struct reconstruct *r, enum reconstruct_state state)
{
    jw_begin(j, '[');
    for (uint32_t i = 0; i < r->target_count; i++) {
        const struct reconstruct_target *t = &r->targets[i];
        for (size_t k = 0; k < t->files.count; k++)
            if (t->files.at[k].state == state)
                jw_str(j, t->files.at[k].path);
    }
    jw_end(j, ']');
}

static void write_missing(struct jw *j, const void *reconstruct)
{
    write_files(j, reconstruct, RECONSTRUCT_MISSING);
}

static void write_changed(struct jw *j, const void *reconstruct)
{
    write_files(j, reconstruct, RECONSTRUCT_CHANGED);
}

static void write_dropped(struct jw *j, const void *reconstruct)
{
    const struct reconstruct *r = reconstruct;

    jw_begin(j, '[');
    for (uint32_t i = 0; i < r->target_count; i++)
        if (r->targets[i].dropped)
            jw_str(j, r->targets[i].name);
    jw_end(j, ']');
}

/* ---- the whole report ------------------------------------------------------------------------ */

#define PATHS "{'type':'array','items':{'type':'string'}}"
#define OBJECT struct reconstruct
static const struct member members[] = {
    MEMBER("files", sources.count),
    MEMBER("proved", proved),
    MEMBER("complete", base.complete),
    MEMBER_WRITTEN("missing", write_missing, PATHS),
    MEMBER_WRITTEN("changed", write_changed, PATHS),
    MEMBER_WRITTEN("dropped", write_dropped, PATHS),
    MEMBER_OBJECTS("sources", sources.at, sources.count, &source_type),
};
const struct object_type reconstructed_type = {"Reconstructed", MEMBERS(members),
                                               .help = "reconstruct.json"};
#undef OBJECT
