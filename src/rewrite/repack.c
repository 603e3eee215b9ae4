/* repack.c - the lines of a query, or plain files, into other files; and what was done, as a
 * manifest.
 *
 * The check of /merge and /split: events are summed up by the XXH3-128 of their lines, modulo
 * 2^128, which their order does not change. One sum is of what inflating the written members gives,
 * the other of the same query, asked once more.
 */
#include "dftracerd/rewrite.h"
#include "dftracerd/text_range.h"
#include "dftracerd/vec.h"
#include "dftracerd/view.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 1 << 20 };

struct sum {
    uint64_t lines;
    unsigned __int128 hashes;
};
struct written {
    char name[300];
    const char *source; /* of REPACK_PGZIP; borrowed from the snapshot */
    uint64_t lines, text_bytes, bytes;
    struct hash128 hash;      /* of the file */
    struct hash128 text_hash; /* of REPACK_PGZIP */
};
/* What stays of a file until the end, here and in the outlet. */
enum { WRITTEN_BYTES = sizeof(struct written) + 512 };
struct repack {
    struct query *query;
    struct charge charge; /* for `written` */
    struct outlet *outlet;
    struct repack_options o;
    struct press *press;
    struct press_file *file; /* in the making */
    VEC(struct written *) written;
    struct view *view;        /* the lines; later those that are read once more */
    struct text_range *range; /* of the present file */
    struct hasher *hasher;
    size_t next; /* of the files to be packed */
    struct buf text, manifest;
    pthread_mutex_t lock; /* of `out` */
    struct sum out, in;
    enum { WRITING, CHECKING, FINISHED } state;
};

/* ---- sums ------------------------------------------------------------------------------------ */

static void sum_lines(struct sum *s, struct text text)
{
    struct text line;
    while (text.len && text_split(&text, '\n', &line)) {
        if (line.len < 2) /* brackets; the shortest object is {} */
            continue;
        struct hash128 h = text_hash128(line);
        s->lines++;
        s->hashes += (unsigned __int128)h.high << 64 | h.low;
    }
}

static struct hash128 sum_hash(const struct sum *s)
{
    return (struct hash128){(uint64_t)(s->hashes >> 64), (uint64_t)s->hashes};
}

/* By threads of the pool. */
static void check_text(void *arg, struct text text)
{
    struct repack *r = arg;
    struct sum s = {0};
    sum_lines(&s, text);
    pthread_mutex_lock(&r->lock);
    r->out.lines += s.lines;
    r->out.hashes += s.hashes;
    pthread_mutex_unlock(&r->lock);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_view(struct repack *r, struct err *err)
{
    struct view_options o = {.order_ts = r->o.order_ts, .limit = UINT64_MAX};
    return view_open(r->query, &o, err, &r->view);
}

int repack_open(struct query *q, struct pool *pool, struct budget *budget, struct outlet *outlet,
                const struct repack_options *options, struct err *err, struct repack **ret)
{
    struct repack *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    *r = (struct repack){.query = q, .charge.budget = budget, .outlet = outlet, .o = *options};
    pthread_mutex_init(&r->lock, NULL);
    struct press_options o = {.level = options->level, .budget = budget, .arg = r};
    if (options->verify && options->kind != REPACK_PGZIP)
        o.check = check_text;
    int rc = press_new(pool, outlet, &o, &r->press);
    if (rc == 0 && options->kind != REPACK_PGZIP)
        rc = open_view(r, err);
    if (rc == 0 && !(r->hasher = aligned_alloc(_Alignof(struct hasher), sizeof *r->hasher)))
        rc = -ENOMEM;
    if (rc < 0)
        return repack_close(r), rc;
    *ret = r;
    return 0;
}

void repack_close(struct repack *r)
{
    if (!r)
        return;
    view_close(r->view);
    text_range_close(r->range);
    press_drop(r->file);
    press_free(r->press);
    for (size_t i = 0; i < r->written.count; i++)
        free(r->written.at[i]);
    vec_done(&r->written);
    free(r->hasher);
    buf_done(&r->text);
    buf_done(&r->manifest);
    charge_done(&r->charge);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int add_written(struct repack *r)
{
    int rc = charge_add(&r->charge, WRITTEN_BYTES);
    if (rc < 0)
        return rc;
    if (vec_reserve(&r->written, 1) < 0)
        return -ENOMEM;
    struct written *w = calloc(1, sizeof *w);
    if (!w)
        return -ENOMEM;
    r->written.at[r->written.count++] = w;
    return 0;
}

static struct written *current(const struct repack *r)
{
    return r->written.at[r->written.count - 1];
}

static int begin_file(struct repack *r, struct err *err)
{
    int rc = add_written(r);
    return rc < 0 ? rc : press_open(r->press, err, &r->file);
}

static int end_file(struct repack *r, const char *name, struct err *err)
{
    struct written *w = current(r);
    struct press_file *f = r->file;
    w->text_bytes = press_text_bytes(f);
    r->file = NULL;
    return press_finish(f, name, &w->bytes, &w->hash, err);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int begin_trace(struct repack *r, struct err *err)
{
    int rc = begin_file(r, err);
    return rc < 0 ? rc : press_text(r->file, TEXT("[\n"), err);
}

static int end_trace(struct repack *r, struct err *err)
{
    struct written *w = current(r);
    const char *gz = r->o.level ? ".gz" : "";
    if (r->o.kind == REPACK_MERGE)
        snprintf(w->name, sizeof w->name, "%s%s", r->o.name, gz);
    else
        snprintf(w->name, sizeof w->name, "%s-%zu.pfw%s", r->o.name, r->written.count, gz);
    int rc = press_text(r->file, TEXT("]\n"), err);
    return rc < 0 ? rc : end_file(r, w->name, err);
}

/* The lines of the text that still go into the present file: a file is full with the line that
 * reaches its size. */
static struct text take_lines(const struct repack *r, struct text text)
{
    uint64_t have = press_text_bytes(r->file), most = r->o.chunk_bytes;
    if (r->o.kind != REPACK_SPLIT || have + text.len < most)
        return text;
    size_t from = have < most ? (size_t)(most - have) : 0;
    const char *end =
        memchr(text.ptr + (from ? from - 1 : 0), '\n', text.len - (from ? from - 1 : 0));
    text.len = end ? (size_t)(end - text.ptr) + 1 : text.len;
    return text;
}

static uint64_t count_lines(struct text t)
{
    uint64_t n = 0;
    for (const char *p = t.ptr, *end = t.ptr + t.len;
         p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++)
        n++;
    return n;
}

static int write_lines(struct repack *r, struct text text, struct err *err)
{
    int rc = 0;
    while (text.len && rc == 0) {
        rc = r->file ? 0 : begin_trace(r, err);
        if (rc < 0)
            return rc;
        struct text part = take_lines(r, text);
        current(r)->lines += count_lines(part);
        rc = press_text(r->file, part, err);
        text.ptr += part.len;
        text.len -= part.len;
        if (rc == 0 && r->o.kind == REPACK_SPLIT && press_text_bytes(r->file) >= r->o.chunk_bytes)
            rc = end_trace(r, err);
    }
    return rc;
}

/* ---- plain files, byte for byte -------------------------------------------------------------- */

bool repack_packs(const struct index_file *f)
{
    return f->format == TRACE_PLAIN && !index_file_is_unread(f) && !f->archive && !f->is_archive;
}

static int begin_copy(struct repack *r, struct err *err)
{
    const uint32_t *files;
    size_t n = query_files(r->query, &files);
    struct snapshot *s = query_snapshot(r->query);
    while (r->next < n && !repack_packs(snapshot_file(s, files[r->next])))
        r->next++;
    if (r->next == n)
        return ERR_END;
    const struct index_file *file = snapshot_file(s, files[r->next++]);
    int rc = begin_file(r, err);
    if (rc < 0)
        return rc;
    current(r)->source = file->name;
    if (strlen(file->name) + 4 > sizeof current(r)->name)
        return err_set(err, -ENAMETOOLONG, "%.200s...: the name is too long", file->name);
    snprintf(current(r)->name, sizeof current(r)->name, "%s.gz", file->name);
    hasher_begin(r->hasher, 0);
    return text_range_open(query_index(r->query), s, file, TEXT_BYTES, 0, UINT64_MAX,
                           r->charge.budget, err, &r->range);
}

static int copy_some(struct repack *r, struct err *err)
{
    int rc = r->range ? 0 : begin_copy(r, err);
    buf_clear(&r->text);
    while (rc == 0 && r->text.len < STEP)
        rc = text_range_next(r->range, &r->text, err);
    if ((rc < 0 && rc != ERR_END) || !r->range)
        return rc;
    struct text text = {r->text.data, r->text.len};
    hasher_add(r->hasher, text.ptr, text.len);
    current(r)->lines += count_lines(text);
    int put = press_text(r->file, text, err);
    if (put < 0 || rc == 0)
        return put;
    current(r)->text_hash = hasher_end(r->hasher);
    text_range_close(r->range);
    r->range = NULL;
    return end_file(r, current(r)->name, err);
}

/* ---- the manifest ---------------------------------------------------------------------------- */

static void put_hash(struct jw *j, const char *key, struct hash128 hash)
{
    char hex[33];
    hash128_hex(hash, hex);
    jw_put_str(j, key, hex);
}

static void put_written(struct jw *j, const struct written *w)
{
    jw_begin(j, '{');
    jw_put_str(j, "name", w->name);
    if (w->source)
        jw_put_str(j, "source", w->source);
    jw_put_uint(j, "lines", w->lines);
    jw_put_uint(j, "text_bytes", w->text_bytes);
    jw_put_uint(j, "bytes", w->bytes);
    put_hash(j, "xxh128", w->hash);
    if (w->source)
        put_hash(j, "text_xxh128", w->text_hash);
    jw_end(j, '}');
}

static void put_sources(struct jw *j, struct query *q)
{
    const uint32_t *files;
    size_t n = query_files(q, &files);
    jw_key(j, "sources");
    jw_begin(j, '[');
    for (size_t i = 0; i < n; i++) {
        const struct index_file *f = snapshot_file(query_snapshot(q), files[i]);
        jw_begin(j, '{');
        jw_put_str(j, "path", f->name);
        jw_put_bool(j, "damaged", f->damaged);
        jw_put_bool(j, "read", !index_file_is_unread(f));
        jw_end(j, '}');
    }
    jw_end(j, ']');
}

static void put_verdict(struct jw *j, const struct repack *r)
{
    bool same = r->in.lines == r->out.lines && r->in.hashes == r->out.hashes;
    jw_put_bool(j, "verified", same);
    jw_put_uint(j, "lines_read", r->in.lines);
    jw_put_uint(j, "lines_written", r->out.lines);
    put_hash(j, "hash_read", sum_hash(&r->in));
    put_hash(j, "hash_written", sum_hash(&r->out));
}

static void make_manifest(struct repack *r)
{
    static const char *const commands[] = {"merge", "split", "pgzip"};
    struct jw j;
    jw_init(&j, &r->manifest, true);
    jw_begin(&j, '{');
    jw_put_str(&j, "command", commands[r->o.kind]);
    jw_put_uint(&j, "generation", snapshot_generation(query_snapshot(r->query)));
    jw_put_bool(&j, "complete", query_complete(r->query));
    put_sources(&j, r->query);
    jw_key(&j, "files");
    jw_begin(&j, '[');
    for (size_t i = 0; i < r->written.count; i++)
        put_written(&j, r->written.at[i]);
    jw_end(&j, ']');
    if (r->o.verify && r->o.kind != REPACK_PGZIP)
        put_verdict(&j, r);
    jw_end(&j, '}');
    jw_finish(&j);
}

static int write_manifest(struct repack *r, struct err *err)
{
    struct outlet_file *f;
    make_manifest(r);
    r->state = FINISHED;
    if (r->manifest.error || outlet_is_body(r->outlet))
        return r->manifest.error;
    int rc = outlet_file_new(r->outlet, err, &f);
    if (rc < 0)
        return rc;
    if ((rc = outlet_file_write(f, repack_manifest(r), err)) < 0)
        return outlet_file_drop(f), rc;
    return outlet_file_finish(f, "manifest.json", err);
}

struct text repack_manifest(const struct repack *r)
{
    return (struct text){r->manifest.data, r->manifest.len};
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int write_some(struct repack *r, struct err *err)
{
    if (r->o.kind == REPACK_PGZIP)
        return copy_some(r, err);
    buf_clear(&r->text);
    int rc = view_next(r->view, STEP, &r->text, err);
    if (rc < 0 && rc != ERR_END)
        return rc;
    int put = write_lines(r, (struct text){r->text.data, r->text.len}, err);
    return put < 0 ? put : rc;
}

/* A merged trace without a line is one, too. */
static int end_writing(struct repack *r, struct err *err)
{
    int rc = 0;
    if (r->o.kind == REPACK_MERGE && !r->file)
        rc = begin_trace(r, err);
    if (rc == 0 && r->file)
        rc = end_trace(r, err);
    if (rc == 0)
        rc = press_flush(r->press, err);
    if (rc < 0 || r->o.kind == REPACK_PGZIP || !r->o.verify)
        return rc < 0 ? rc : write_manifest(r, err);
    r->state = CHECKING;
    view_close(r->view);
    r->view = NULL;
    return open_view(r, err);
}

static int check_some(struct repack *r, struct err *err)
{
    buf_clear(&r->text);
    int rc = view_next(r->view, STEP, &r->text, err);
    sum_lines(&r->in, (struct text){r->text.data, r->text.len});
    return rc == ERR_END ? write_manifest(r, err) : rc;
}

int repack_next(struct repack *r, struct err *err)
{
    int rc;
    if (r->state == FINISHED)
        return ERR_END;
    if (r->state == CHECKING)
        return check_some(r, err);
    rc = write_some(r, err);
    return rc == ERR_END ? end_writing(r, err) : rc;
}
