/* organize.c - writes the text that share_next returns to the files of the targets. */
#include "rewrite/organize.h"

/* ---- files ----------------------------------------------------------------------------------- */

static int end_file(struct organize_target *t, struct err *err)
{
    struct organize_file *f = t->file;

    if (!f)
        return 0;
    t->file = NULL;
    f->adding++;
    int rc = compressor_text(f->base.compressor, TEXT("]\n"), err);
    return rc < 0 ? rc : transform_file_end(&f->base, err);
}

static int begin_file(struct organize *o, struct organize_target *t, struct err *err)
{
    struct transform_file *base = NULL;
    int rc = end_file(t, err);

    rc = rc < 0 ? rc
                : transform_file_begin(&o->base, o->compressor, sizeof(*t->file), err, &base,
                                       "%s/%s-%zu.pfw%s", t->name, o->name, t->files.count + 1,
                                       o->level ? ".gz" : "");
    struct organize_file *f = (struct organize_file *)base;
    rc = rc < 0 ? rc : vec_push(&t->files, f);
    if (rc < 0)
        return rc;
    t->file = f;
    f->charge.budget = o->base.budget;
    f->adding++;
    return compressor_text(f->base.compressor, TEXT("[\n"), err);
}

/* ---- shares ---------------------------------------------------------------------------------- */

static int write_share(struct organize *o, const struct share *s, struct err *err)
{
    struct organize_target *t = &o->targets[s->target];
    int rc = s->begins ? begin_file(o, t, err) : 0;

    if (rc < 0)
        return rc;
    struct organize_file *f = t->file;
    f->adding += s->added_lines;
    organize_sidecar_lines(f, s->lines);
    f->events += s->objects;
    rc = charge_up_to(&f->charge, f->added.cap);
    if (rc == 0 && s->added.len)
        rc = compressor_text(f->base.compressor, s->added, err);
    rc = rc < 0 ? rc : compressor_text(f->base.compressor, s->text, err);
    return rc == 0 && s->cut ? compressor_text(f->base.compressor, TEXT("\n"), err) : rc;
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

static int organize_step(struct transform *t, struct err *err)
{
    struct organize *o = (struct organize *)t;
    struct share share;
    int rc = share_next(o->sharing, err, &share);

    return rc < 0 ? rc : process_share(o, &share, err);
}

static int organize_finish(struct transform *t, struct err *err)
{
    struct organize *o = (struct organize *)t;
    int rc = organize_sidecar_source(o, UINT32_MAX);

    for (uint32_t i = 0; i < o->target_count && rc == 0; i++)
        rc = end_file(&o->targets[i], err);
    rc = rc < 0 ? rc : compressor_flush(o->compressor, err);
    return rc < 0 ? rc : organize_sidecar_end(o, err);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void organize_done(struct transform *t)
{
    struct organize *o = (struct organize *)t;

    share_close(o->sharing);
    compressor_free(o->compressor);
    for (uint32_t i = 0; i < o->target_count; i++) {
        struct organize_target *target = &o->targets[i];
        for (size_t k = 0; k < target->files.count; k++) {
            buf_done(&target->files.at[k]->added);
            charge_done(&target->files.at[k]->charge);
        }
        vec_done(&target->files);
    }
    provenance_writer_free(o->provenance);
    for (size_t i = 0; i < o->query_count; i++)
        query_close(o->queries[i]);
    query_close(o->all);
    intern_free(o->literals);
    buf_done(&o->runs);
    buf_done(&o->record);
}

static const struct transform_kind organize_kind = {
    .manifest_name = MANIFEST_NAME,
    .manifest = &organized_type,
    .step = organize_step,
    .finish = organize_finish,
    .done = organize_done,
};

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
