/* rewriting.c - answers that are new traces. */
#include "http/endpoints/rewriting.h"

#include <string.h>

enum { STEP = 256 << 10 };

const struct param_spec rewriting_params[] = {
    PARAM("output", TEXT,
          "POST: write into this directory below the daemon's output directory, and return the "
          "manifest",
          .example = "'job42'", .post = true),
    PARAM("force", BOOL,
          "with output: allow an existing directory; files with the same names are replaced",
          .fallback = "false", .needs = "output"),
    {0},
};

int rewriting_level(struct request *rq, int *ret)
{
    static const struct {
        const char *word;
        int level;
    } words[] = {
        {"true", GZIP_LEVEL_DEFAULT}, {"yes", GZIP_LEVEL_DEFAULT}, {"false", 0}, {"no", 0}};
    const char *text = request_text(rq, "compress");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i].word) == 0)
            return *ret = words[i].level, 0;
    if (text[0] < '0' || text[0] > '9' || text[1])
        return params_refuse(rq, "compress", "must be true, false or a level from 0 to 9");
    return *ret = text[0] - '0', 0;
}

static int open_dir(struct request *rq, const char *path, struct rewriting *w)
{
    const char *base = rq->http->options->output_dir;
    if (!base)
        return err_set_param(
            &rq->err, -EPERM, "output",
            "this daemon does not write files: it was started without --output-dir");
    if (rq->format_given && rq->format != FORMAT_JSON)
        return err_set_param(&rq->err, ERR_FORMAT, "format", "`output` requires format json");
    rq->format = FORMAT_JSON;
    return archive_writer_dir_new(base, path, request_flag(rq, "force"), &rq->err,
                                  &w->archive_writer);
}

/* All members of a tar get the time of the newest trace, so that equal requests have equal answers.
 */
static int64_t newest_s(const struct snapshot *s)
{
    int64_t newest = 0;
    for (uint32_t i = 0; i < snapshot_file_count(s); i++)
        if (snapshot_file(s, i)->mtime_ns > newest)
            newest = snapshot_file(s, i)->mtime_ns;
    return newest / 1000000000;
}

int rewriting_open(struct request *rq, struct rewriting *w)
{
    const struct param *output = request_param(rq, "output");
    if (output && output->set)
        return open_dir(rq, output->text.ptr, w);
    if (rq->format == FORMAT_JSON)
        return err_set_param(&rq->err, ERR_FORMAT, "format",
                             "format=json returns only the manifest and requires `output`");
    if (rq->format != FORMAT_TAR)
        return archive_writer_body_new(&w->archive_writer);
    return archive_writer_tar_new(index_path(rq->http->options->index), rq->http->spools,
                                  newest_s(rq->snapshot), &w->archive_writer);
}

int rewriting_next(struct request *rq, struct rewriting *w, struct buf *out)
{
    int rc = archive_writer_send(w->archive_writer, STEP, out, &rq->err);
    if (rc != ERR_END)
        return rc;
    rc = transform_next(w->transform, &rq->err);
    if (rc == 0 || (rc == ERR_END && archive_writer_is_ready(w->archive_writer)))
        return NEXT_TURN;
    if (rc != ERR_END)
        return rc;
    rc = archive_writer_end(w->archive_writer, out, &rq->err);
    if (rc < 0)
        return rc;
    if (!archive_writer_is_tar(w->archive_writer) && !archive_writer_is_body(w->archive_writer))
        buf_text(out, transform_manifest(w->transform));
    return ERR_END;
}

void rewriting_close(struct rewriting *w)
{
    transform_free(w->transform);
    archive_writer_free(w->archive_writer);
    *w = (struct rewriting){0};
}
