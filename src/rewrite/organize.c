/* organize.c - writes the text that share_next returns to the files of the targets. */
#include "rewrite/organize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory of a file until the end, here and in the archive writer; its path is stored three
 * times. */
enum { FILE_BYTES = sizeof(struct organize_file) + 256 };

/* ---- files ----------------------------------------------------------------------------------- */

static struct organize_file *last_file(const struct organize_target *t)
{
    return t->files.at[t->files.count - 1];
}

static int add_file(struct organize *o, struct organize_target *t)
{
    struct buf path = {0};
    int rc = charge_add(&o->base.charge, FILE_BYTES + 3 * (strlen(t->name) + strlen(o->name)));

    if (rc < 0)
        return rc;
    if (vec_reserve(&t->files, 1) < 0)
        return -ENOMEM;
    struct organize_file *f = calloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    f->charge.budget = o->base.budget;
    t->files.at[t->files.count++] = f;
    buf_printf(&path, "%s/%s-%zu.pfw%s", t->name, o->name, t->files.count, o->level ? ".gz" : "");
    f->path = buf_steal(&path, NULL);
    return f->path ? 0 : -ENOMEM;
}

/* The compressor sets the file's bytes and hash later, through pointers that it keeps. */
static int end_file(struct organize_target *t, struct err *err)
{
    if (!t->compressor)
        return 0;
    struct organize_file *f = last_file(t);
    struct compressor_file *compressor = t->compressor;
    int rc = compressor_text(compressor, TEXT("]\n"), err);

    f->adding++;
    f->text_bytes = compressor_text_bytes(compressor);
    t->compressor = NULL;
    if (rc < 0) {
        compressor_drop(compressor);
        return rc;
    }
    return compressor_finish(compressor, f->path, &f->bytes, &f->hash, err);
}

static int begin_file(struct organize *o, struct organize_target *t, struct err *err)
{
    int rc = end_file(t, err);

    rc = rc < 0 ? rc : add_file(o, t);
    rc = rc < 0 ? rc : compressor_open(o->compressor, err, &t->compressor);
    rc = rc < 0 ? rc : compressor_text(t->compressor, TEXT("[\n"), err);
    if (rc == 0)
        last_file(t)->adding++;
    return rc;
}

/* ---- shares ---------------------------------------------------------------------------------- */

static int write_share(struct organize *o, const struct share *s, struct err *err)
{
    struct organize_target *t = &o->targets[s->target];
    int rc = s->begins ? begin_file(o, t, err) : 0;

    if (rc < 0)
        return rc;
    struct organize_file *f = last_file(t);
    f->adding += s->added_lines;
    organize_sidecar_lines(f, s->lines);
    f->events += s->objects;
    rc = charge_up_to(&f->charge, f->added.cap);
    if (rc == 0 && s->added.len)
        rc = compressor_text(t->compressor, s->added, err);
    rc = rc < 0 ? rc : compressor_text(t->compressor, s->text, err);
    return rc == 0 && s->cut ? compressor_text(t->compressor, TEXT("\n"), err) : rc;
}

static int process_share(struct organize *o, const struct share *s, struct err *err)
{
    int rc = organize_sidecar_source(o, s->file);

    rc = rc < 0 ? rc : organize_sidecar_share(o, s);
    rc = rc < 0 ? rc : provenance_flush(o->provenance, err);
    if (rc < 0 || s->target == SHARE_BRACKETS)
        return rc;
    struct organize_target *t = &o->targets[s->target];
    t->lines += s->lines;
    t->events += s->objects;
    return t->dropped ? 0 : write_share(o, s, err);
}

static int step(struct transform *t, struct err *err)
{
    struct organize *o = (struct organize *)t;
    struct share share;
    int rc = share_next(o->sharing, err, &share);

    return rc < 0 ? rc : process_share(o, &share, err);
}

static int finish(struct transform *t, struct err *err)
{
    struct organize *o = (struct organize *)t;
    int rc = organize_sidecar_source(o, UINT32_MAX);

    for (uint32_t i = 0; i < o->target_count && rc == 0; i++)
        rc = end_file(&o->targets[i], err);
    rc = rc < 0 ? rc : compressor_flush(o->compressor, err);
    return rc < 0 ? rc : organize_sidecar_end(o, err);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void target_done(struct organize_target *t)
{
    for (size_t i = 0; i < t->files.count; i++) {
        buf_done(&t->files.at[i]->added);
        charge_done(&t->files.at[i]->charge);
        free(t->files.at[i]->path);
        free(t->files.at[i]);
    }
    vec_done(&t->files);
}

static void done(struct transform *t)
{
    struct organize *o = (struct organize *)t;

    share_close(o->sharing);
    /* The compressor has pointers to sizes of files that wait in it, so it is freed first. */
    for (uint32_t i = 0; i < o->target_count; i++)
        compressor_drop(o->targets[i].compressor);
    compressor_free(o->compressor);
    for (uint32_t i = 0; i < o->target_count; i++)
        target_done(&o->targets[i]);
    provenance_writer_free(o->provenance);
    for (size_t i = 0; i < o->query_count; i++)
        query_close(o->queries[i]);
    query_close(o->all);
    intern_free(o->literals);
    buf_done(&o->runs);
    buf_done(&o->record);
}

static const struct transform_kind organize_kind = {MANIFEST_NAME, &organized_type, step, finish,
                                                    done};

static int open_all(struct organize *o, const struct selection *s,
                    const struct organize_options *options, struct err *err)
{
    int rc = organize_copy_options(o, options, err);

    rc = rc < 0 ? rc : organize_open_queries(o, s, options, err);
    if (rc < 0)
        return rc;
    o->base.complete = query_complete(o->all);
    struct share_options share = {.all = o->all,
                                  .groups = o->queries,
                                  .group_count = (uint32_t)options->group_count,
                                  .file_bytes = o->chunk_bytes};
    struct compressor_options compress = {.level = o->level, .budget = o->base.budget};
    rc = share_open(&share, err, &o->sharing);
    rc = rc < 0 ? rc
                : compressor_new(o->env->pool, o->base.archive_writer, &compress, &o->compressor);
    rc = rc < 0 ? rc : provenance_writer_new(o->base.archive_writer, err, &o->provenance);
    o->literals = intern_new();
    if (rc == 0 && !o->literals)
        rc = -ENOMEM;
    return rc < 0 ? rc : organize_sidecar_begin(o, err);
}

int organize_open(const struct query_env *env, struct snapshot *snapshot, const struct selection *s,
                  const struct organize_options *options, struct archive_writer *archive_writer,
                  struct budget *budget, struct err *err, struct transform **ret)
{
    struct organize *o = transform_new(&organize_kind, sizeof(*o), archive_writer, budget);

    if (!o)
        return err_set_code(err, -ENOMEM);
    o->head.version = 2;
    o->head.tool = "dftracerd organize";
    o->head.provenance = PROVENANCE_NAME;
    o->env = env;
    o->snapshot = snapshot;
    return transform_opened(&o->base, open_all(o, s, options, err), err, ret);
}
