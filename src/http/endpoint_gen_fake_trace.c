/* endpoint_gen_fake_trace.c - /gen-fake-trace: synthetic traces as a tar, and what an index makes of them.
 *
 * A tar tells the size of a member before its bytes, so each process's file is first made in a spool: a nameless file below
 * the index directory, which is local and writable, of one compressed process at a time. Memory would not do (a process of
 * the defaults has 120 MB); making every file twice, once to count, would cost a second compression. A full disk is an
 * error: 503 while the first file is made, a cut stream after that.
 *
 * What the client does for dftracer_gen_fake_trace:
 *   GET /gen-fake-trace?wait=no&num_processes=8&... all parameters are the command's options with '_' for '-' (wait=no: a
 *     daemon that indexes on demand need not begin with it)
 *     A tar of rank_<r>.pfw.gz in order and, last, summary.txt: what the command prints at its end. Unpack into a new
 *     directory; if summary.txt came, print it, remove it, and move the rest into place.
 *   --verify: a daemon that serves the directory indexes it with `POST /index` (force, checkpoint_size 2097152 or the
 *     command's, dimensions name,cat,pid,tid,hhash,fhash,shash,ret,count,offset,epoch,step), and then
 *     GET /gen-fake-trace?verify=true&wait=ready&dir=DIR&recursive=false&num_processes=8&... (the same numbers)
 *     is the table to print (text/plain). It compares nothing: exit status 0.
 *   Status 400 is a bad argument: the detail and the usage to standard error, exit status 1.
 */
#include "endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dftracerd/rewrite.h"

/* One request is to end within minutes: some 1.3 M lines a second are made. */
enum { LINES_MOST = 100000000, PROCESSES_MOST = 10000, FILES_MOST = 10000 };
enum {
    GZIP_LEVEL = 3,
    PIECE = 64 << 10
}; /* level 3 is as fast as 1 on these lines, and 5 % smaller */

static const enum format formats[] = {FORMAT_TAR, FORMAT_JSON, FORMAT_TEXT};

/* The numbers are those of generate_numbers. */
static const struct param_spec own_params[] = {
    {"num_processes", PARAM_UINT, false, "8", NULL,
     "number of processes (ranks), one file each; at most 10,000"},
    {"num_hosts", PARAM_UINT, false, "4", NULL, "number of hosts"},
    {"num_epochs", PARAM_UINT, false, "500", NULL, "number of training epochs"},
    {"steps_per_epoch", PARAM_UINT, false, "1000", NULL,
     "steps per epoch; at most 100,000,000 lines in total"},
    {"checkpoint_every", PARAM_UINT, false, "5", NULL,
     "write a checkpoint every N epochs; 0 = never"},
    {"validation_every", PARAM_UINT, false, "2", NULL,
     "run a validation every N epochs; 0 = never"},
    {"num_train_files", PARAM_UINT, false, "8", NULL, "number of training files; at most 10,000"},
    {"num_val_files", PARAM_UINT, false, "2", NULL, "number of validation files; at most 10,000"},
    {"step_duration_ms", PARAM_UINT, false, "100", NULL,
     "base duration of a step in "
     "milliseconds"},
    {"seed", PARAM_UINT, false, "42", NULL, "random seed; equal requests return equal bytes"},
    {"verify", PARAM_BOOL, false, "false", NULL,
     "generate nothing; send test queries to the selected traces, which were generated with the "
     "same parameters, and report how many chunks each query skips"},
    {"dir", PARAM_TEXT, true, NULL, NULL,
     "with verify: directory whose trace files are selected; repeatable; default all"},
    {"file", PARAM_TEXT, true, NULL, NULL, "with verify: trace file or glob pattern; repeatable"},
    {"recursive", PARAM_BOOL, false, "true", NULL, "with verify: include subdirectories"},
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};
static const struct param_spec *const params[] = {own_params, answer_params, NULL};

struct state {
    struct generate_plan *plan;
    bool verify;
    struct selection chosen;
    unsigned question; /* the next one                                                       */
    struct jw json;
    uint64_t *events; /* of each process                                                    */
    uint64_t file;    /* being made or sent; their number: the closing text is next           */
    struct generator
        *generator; /* NULL: the file is being sent                                       */
    struct spool *spool;
    struct tar tar;
    struct buf piece;
};

/* ---- what is asked for ---- */

static int too_many(struct request *rq, const char *name, unsigned long long most)
{
    return err_set_param(&rq->err, ERR_PARAM, name, "`%s` must be at most %llu", name, most);
}

/* The parameter to blame is the greatest factor. */
static int too_long(struct request *rq, const struct generate_options *o)
{
    const char *name = o->epochs >= o->steps ? "num_epochs" : "steps_per_epoch";
    if (o->processes > o->epochs && o->processes > o->steps)
        name = "num_processes";
    return err_set_param(&rq->err, ERR_PARAM, name,
                         "these processes, epochs and steps produce up to %llu lines; one request "
                         "may generate at most %d",
                         (unsigned long long)generate_lines_most(o), LINES_MOST);
}

static int read_options(struct request *rq, struct generate_options *o)
{
    generate_defaults(o);
    for (const struct generate_number *n = generate_numbers; n->name; n++)
        *generate_number_at(o, n) = request_uint(rq, n->name);
    o->level = GZIP_LEVEL;
    int rc = generate_check(o, &rq->err);
    if (rc < 0)
        return rc;
    if (o->processes > PROCESSES_MOST)
        return too_many(rq, "num_processes", PROCESSES_MOST);
    if (o->train_files > FILES_MOST)
        return too_many(rq, "num_train_files", FILES_MOST);
    if (o->val_files > FILES_MOST)
        return too_many(rq, "num_val_files", FILES_MOST);
    return generate_lines_most(o) > LINES_MOST ? too_long(rq, o) : 0;
}

/* Verification answers text unless JSON is asked for, the rest a tar or JSON. */
static int check_format(struct request *rq, struct state *s)
{
    static const char *const file_params[] = {"dir", "file", "recursive"};
    if (s->verify && !rq->format_given)
        rq->format = FORMAT_TEXT;
    if (rq->format == (s->verify ? FORMAT_TAR : FORMAT_TEXT))
        return err_set_param(
            &rq->err, ERR_FORMAT, "format",
            s->verify ? "`verify` requires format text or json"
                      : "`format` must be tar for the traces, or json for their description");
    for (size_t i = 0; i < 3 && !s->verify; i++)
        if (request_param(rq, file_params[i])->given)
            return err_set_param(&rq->err, ERR_PARAM, file_params[i], "`%s` requires `verify`",
                                 file_params[i]);
    return 0;
}

/* Says before the answer begins what is wrong with the choice of files, and whether they are indexed. */
static int choose_files(struct request *rq, struct state *s)
{
    struct query *q = NULL;
    selection_init(&s->chosen);
    selection_read_files(rq, &s->chosen);
    int rc = selection_open(rq, &s->chosen, &q);
    query_close(q);
    return rc;
}

static int begin_file(struct state *s)
{
    return generate_open(s->plan, s->file, &s->generator);
}

static int open_spool(struct request *rq, struct state *s)
{
    s->events = calloc(generate_plan_files(s->plan), sizeof *s->events);
    if (!s->events)
        return -ENOMEM;
    int rc = spool_new(index_path(rq->http->options->index), rq->http->spools, &rq->err, &s->spool);
    return rc < 0 ? rc : begin_file(s);
}

static int open_generate(struct request *rq)
{
    struct state *s = rq->state = arena_alloc(&rq->arena, sizeof *s);
    struct generate_options o;
    if (!s)
        return -ENOMEM;
    s->verify = request_flag(rq, "verify");
    int rc = check_format(rq, s);
    if (rc == 0)
        rc = read_options(rq, &o);
    if (rc == 0)
        rc = generate_plan_new(&o, &rq->err, &s->plan);
    if (rc < 0)
        return rc;
    if (s->verify)
        return choose_files(rq, s);
    return rq->format == FORMAT_TAR ? open_spool(rq, s) : 0;
}

/* ---- the tar ---- */

static int begin_member(struct state *s, const char *name, uint64_t size, struct buf *out)
{
    struct tar_entry entry = {.name = text_of(name), .size = size};
    return tar_begin(&s->tar, &entry, out);
}

/* A piece of the file into the spool; when it is whole, its header into the answer. */
static int make_file(struct request *rq, struct state *s, struct buf *out)
{
    char name[48];
    buf_clear(&s->piece);
    int made = generate_next(s->generator, PIECE, &s->piece);
    int rc = made < 0 && made != ERR_END
                 ? made
                 : spool_write(s->spool, (struct text){s->piece.data, s->piece.len}, &rq->err);
    if (rc < 0 || made == 0)
        return rc;
    s->events[s->file] = generate_events(s->generator);
    generate_close(s->generator);
    s->generator = NULL;
    snprintf(name, sizeof name, "rank_%llu.pfw.gz", (unsigned long long)s->file);
    return begin_member(s, name, spool_size(s->spool), out);
}

static int finish(struct state *s, struct buf *out)
{
    buf_clear(&s->piece);
    generate_closing(s->plan, s->events, &s->piece);
    if (s->piece.error)
        return s->piece.error;
    int rc = begin_member(s, "summary.txt", s->piece.len, out);
    if (rc < 0)
        return rc;
    tar_data(&s->tar, (struct text){s->piece.data, s->piece.len}, out);
    tar_end(&s->tar, out);
    tar_finish(&s->tar, out);
    return ERR_END;
}

static int send_file(struct request *rq, struct state *s, struct buf *out)
{
    size_t before = out->len;
    int rc = spool_read(s->spool, PIECE, out, &rq->err);
    tar_count(&s->tar, out->len - before);
    if (rc != ERR_END)
        return rc;
    tar_end(&s->tar, out);
    if (++s->file == generate_plan_files(s->plan))
        return finish(s, out);
    rc = spool_clear(s->spool, &rq->err);
    return rc < 0 ? rc : begin_file(s);
}

/* ---- the description ---- */

static void write_query(struct jw *j, const struct generate_query *q)
{
    jw_put_str(j, "kind", q->kind);
    jw_put_str(j, "query", q->text);
    jw_put_bool(j, "suggested", q->suggested);
}

static void describe(struct request *rq, struct state *s, struct buf *out)
{
    struct generate_query q;
    struct jw j;
    jw_init(&j, out, rq->pretty);
    jw_begin(&j, '{');
    jw_put_uint(&j, "files", generate_plan_files(s->plan));
    jw_put_uint(&j, "lines_most", generate_lines_most(generate_plan_options(s->plan)));
    jw_key(&j, "queries");
    jw_begin(&j, '[');
    for (unsigned i = 0; generate_query_at(s->plan, i, &q); i++) {
        jw_begin(&j, '{');
        write_query(&j, &q);
        jw_end(&j, '}');
    }
    jw_end(&j, ']');
    jw_end(&j, '}');
    jw_finish(&j);
}

/* ---- the verification ---- */

static void write_verdict(struct jw *j, const struct generate_verdict *v)
{
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"events", v->events},
                   {"files", v->files},
                   {"files_total", v->files_total},
                   {"chunks_skipped", v->chunks_skipped},
                   {"chunks_total", v->chunks_total}};
    jw_begin(j, '{');
    write_query(j, &v->query);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        jw_put_uint(j, numbers[i].name, numbers[i].value);
    jw_end(j, '}');
}

static void begin_verdicts(struct request *rq, struct state *s, struct buf *out)
{
    if (rq->format == FORMAT_TEXT) {
        generate_verdict_text(NULL, out);
        return;
    }
    jw_init(&s->json, out, rq->pretty);
    jw_begin(&s->json, '{');
    jw_put_uint(&s->json, "generation", snapshot_generation(rq->snapshot));
    jw_key(&s->json, "queries");
    jw_begin(&s->json, '[');
}

/* A question a time, so that a client who leaves is noticed. */
static int next_verdict(struct request *rq, struct state *s, struct buf *out)
{
    struct generate_verdict v;
    s->json.out = out;
    if (s->question == 0)
        begin_verdicts(rq, s, out);
    int rc = generate_verify(s->plan, s->question++, &rq->http->env, rq->snapshot, &s->chosen,
                             &rq->budget, &rq->err, &v);
    if (rq->format == FORMAT_TEXT) {
        if (rc == 0)
            generate_verdict_text(&v, out);
        return rc;
    }
    if (rc == 0) {
        write_verdict(&s->json, &v);
    } else if (rc == ERR_END) {
        jw_end(&s->json, ']');
        jw_end(&s->json, '}');
        jw_finish(&s->json);
    }
    return rc;
}

static int next_generate(struct request *rq, struct buf *out)
{
    struct state *s = rq->state;
    if (s->verify)
        return next_verdict(rq, s, out);
    if (rq->format == FORMAT_JSON)
        return describe(rq, s, out), ERR_END;
    return s->generator ? make_file(rq, s, out) : send_file(rq, s, out);
}

static void close_generate(struct request *rq)
{
    struct state *s = rq->state;
    if (!s)
        return;
    generate_close(s->generator);
    spool_free(s->spool);
    buf_done(&s->piece);
    free(s->events);
    generate_plan_free(s->plan);
}

const struct endpoint endpoint_gen_fake_trace = {
    .path = "/gen-fake-trace",
    .summary = "synthetic traces of a training run, as a tar archive",
    .methods = METHOD_GET | METHOD_POST,
    .params = params,
    .formats = formats,
    .format_count = 3,
    .open = open_generate,
    .next = next_generate,
    .close = close_generate,
};
