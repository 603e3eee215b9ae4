/* repack.c - writes the lines of a query, or plain files, to other files, and describes them in a
 * manifest.
 *
 * The check of /merge and /split: events are summed up by the XXH3-128 of their lines, modulo
 * 2^128, which their order does not change. One sum is that of the inflated members, the other is
 * that of the same query, evaluated again.
 */
#include "rewrite/manifest.h"
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
    char *name;         /* `text` */
    const char *source; /* REPACK_PGZIP: source; borrowed from the snapshot */
    bool is_copy;       /* the file has a source */
    uint64_t lines, text_bytes, bytes;
    struct hash128 hash;      /* hash of the file */
    struct hash128 text_hash; /* REPACK_PGZIP: hash of the text */
    char text[300];
};
/* Memory of a file until the end, here and in the archive_writer. */
enum { WRITTEN_BYTES = sizeof(struct written) + 512 };
struct repack {
    struct query *query;
    struct charge charge; /* for `written` */
    struct archive_writer *archive_writer;
    struct repack_options o;
    struct compressor *compressor;
    struct compressor_file *file; /* current file */
    VEC(struct written *) written;
    struct view *view;        /* the lines; later the lines that are read for the check */
    struct text_range *range; /* text of the current file */
    struct hasher *hasher;
    size_t next; /* position of the next file to compress */
    struct buf text, manifest;
    pthread_mutex_t lock; /* guards `out` */
    struct sum out, in;
    struct {
        uint64_t generation;
        const uint32_t *sources; /* positions in the snapshot */
        size_t source_count;
        bool complete, is_checked, verified;
        struct hash128 hash_read, hash_written;
    } head; /* first members of the manifest */
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

/* Called by threads of the pool. */
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

int repack_open(struct query *q, struct pool *pool, struct budget *budget,
                struct archive_writer *archive_writer, const struct repack_options *options,
                struct err *err, struct repack **ret)
{
    struct repack *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    *r = (struct repack){
        .query = q, .charge.budget = budget, .archive_writer = archive_writer, .o = *options};
    pthread_mutex_init(&r->lock, NULL);
    struct compressor_options o = {.level = options->level, .budget = budget, .arg = r};
    if (options->verify && options->kind != REPACK_PGZIP)
        o.check = check_text;
    int rc = compressor_new(pool, archive_writer, &o, &r->compressor);
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
    compressor_drop(r->file);
    compressor_free(r->compressor);
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

static struct written *current_file(const struct repack *r)
{
    return r->written.at[r->written.count - 1];
}

static int begin_file(struct repack *r, struct err *err)
{
    int rc = charge_add(&r->charge, WRITTEN_BYTES);
    if (rc < 0)
        return rc;
    if (vec_reserve(&r->written, 1) < 0)
        return -ENOMEM;
    struct written *w = calloc(1, sizeof *w);
    if (!w)
        return -ENOMEM;
    w->name = w->text;
    r->written.at[r->written.count++] = w;
    return compressor_open(r->compressor, err, &r->file);
}

static int end_file(struct repack *r, const char *name, struct err *err)
{
    struct written *w = current_file(r);
    struct compressor_file *f = r->file;
    w->text_bytes = compressor_text_bytes(f);
    r->file = NULL;
    return compressor_finish(f, name, &w->bytes, &w->hash, err);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int begin_trace(struct repack *r, struct err *err)
{
    int rc = begin_file(r, err);
    return rc < 0 ? rc : compressor_text(r->file, TEXT("[\n"), err);
}

static int end_trace(struct repack *r, struct err *err)
{
    struct written *w = current_file(r);
    const char *gz = r->o.level ? ".gz" : "";
    if (r->o.kind == REPACK_MERGE)
        snprintf(w->name, sizeof w->text, "%s%s", r->o.name, gz);
    else
        snprintf(w->name, sizeof w->text, "%s-%zu.pfw%s", r->o.name, r->written.count, gz);
    int rc = compressor_text(r->file, TEXT("]\n"), err);
    return rc < 0 ? rc : end_file(r, w->name, err);
}

/* Returns the lines of the text that belong to the current file: the line that reaches the size
 * completes a file. */
static struct text take_lines(const struct repack *r, struct text text)
{
    uint64_t have = compressor_text_bytes(r->file), max = r->o.chunk_bytes;
    if (r->o.kind != REPACK_SPLIT || have + text.len < max)
        return text;
    size_t from = have < max ? (size_t)(max - have) : 0;
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
        current_file(r)->lines += count_lines(part);
        rc = compressor_text(r->file, part, err);
        text.ptr += part.len;
        text.len -= part.len;
        if (rc == 0 && r->o.kind == REPACK_SPLIT &&
            compressor_text_bytes(r->file) >= r->o.chunk_bytes)
            rc = end_trace(r, err);
    }
    return rc;
}

/* ---- plain files, byte for byte -------------------------------------------------------------- */

bool repack_compresses(const struct index_file *f)
{
    return f->format == TRACE_PLAIN && !index_file_is_unread(f) && !f->archive && !f->is_archive;
}

static int begin_copy(struct repack *r, struct err *err)
{
    const uint32_t *files;
    size_t n = query_files(r->query, &files);
    struct snapshot *s = query_snapshot(r->query);
    while (r->next < n && !repack_compresses(snapshot_file(s, files[r->next])))
        r->next++;
    if (r->next == n)
        return ERR_END;
    const struct index_file *file = snapshot_file(s, files[r->next++]);
    int rc = begin_file(r, err);
    if (rc < 0)
        return rc;
    current_file(r)->source = file->name;
    current_file(r)->is_copy = true;
    if (strlen(file->name) + 4 > sizeof current_file(r)->text)
        return err_set(err, -ENAMETOOLONG, "%.200s...: the name is too long", file->name);
    snprintf(current_file(r)->name, sizeof current_file(r)->text, "%s.gz", file->name);
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
    current_file(r)->lines += count_lines(text);
    int put = compressor_text(r->file, text, err);
    if (put < 0 || rc == 0)
        return put;
    current_file(r)->text_hash = hasher_end(r->hasher);
    text_range_close(r->range);
    r->range = NULL;
    return end_file(r, current_file(r)->name, err);
}

/* ---- the manifest ---------------------------------------------------------------------------- */

static const void *source_of(const void *repack, size_t i)
{
    const struct repack *r = repack;

    return snapshot_file(query_snapshot(r->query), r->head.sources[i]);
}

static struct value is_read(const void *file)
{
    return (struct value){.type = VALUE_BOOL, .i = !index_file_is_unread(file)};
}

static const void *written_of(const void *repack, size_t i)
{
    return ((const struct repack *)repack)->written.at[i];
}

#define OBJECT struct index_file
static const struct member source_members[] = {
    MEMBER("path", name),
    MEMBER("damaged", damaged),
    MEMBER_COMPUTED("read", VALUE_BOOL, is_read, .schema = "{'type':'boolean'}"),
};
static const struct object_type source_type = {NULL, MEMBERS(source_members)};
#undef OBJECT

#define OBJECT struct written
static const struct member written_members[] = {
    MEMBER("name", name),
    MEMBER("source", source, .optional = true),
    MEMBER("lines", lines),
    MEMBER("text_bytes", text_bytes),
    MEMBER("bytes", bytes),
    MEMBER_HASH("xxh128", hash),
    MEMBER_HASH("text_xxh128", text_hash, .when = WHEN(is_copy), .optional = true),
};
static const struct object_type written_type = {NULL, MEMBERS(written_members)};
#undef OBJECT

static const char *const commands[] = {"merge", "split", "pgzip", NULL};

#define OBJECT struct repack
#define VERIFIED .when = WHEN(head.is_checked), .optional = true
static const struct member members[] = {
    MEMBER("command", o.kind, .choices = commands),
    MEMBERS_STATE(head.generation, head.complete),
    MEMBER_OBJECTS("sources", head.sources, head.source_count, &source_type, .item = source_of),
    MEMBER_OBJECTS("files", written.at, written.count, &written_type, .item = written_of),
    MEMBER("verified", head.verified, VERIFIED),
    MEMBER("lines_read", in.lines, VERIFIED),
    MEMBER("lines_written", out.lines, VERIFIED),
    MEMBER_HASH("hash_read", head.hash_read, VERIFIED),
    MEMBER_HASH("hash_written", head.hash_written, VERIFIED),
};
const struct object_type repacked_type = {"Repacked", MEMBERS(members), .help = "manifest.json"};
#undef OBJECT

static int write_manifest(struct repack *r, struct err *err)
{
    r->head.generation = snapshot_generation(query_snapshot(r->query));
    r->head.complete = query_complete(r->query);
    r->head.source_count = query_files(r->query, &r->head.sources);
    r->head.is_checked = r->o.verify && r->o.kind != REPACK_PGZIP;
    r->head.verified = r->in.lines == r->out.lines && r->in.hashes == r->out.hashes;
    r->head.hash_read = sum_hash(&r->in);
    r->head.hash_written = sum_hash(&r->out);
    int rc = format_object(&repacked_type, r, true, &r->manifest);
    r->state = FINISHED;
    if (rc != ERR_END || archive_writer_is_body(r->archive_writer))
        return rc == ERR_END ? 0 : rc;
    return manifest_put(r->archive_writer, "manifest.json", &r->manifest, err);
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

/* A merged trace without lines is written, too. */
static int end_writing(struct repack *r, struct err *err)
{
    int rc = 0;
    if (r->o.kind == REPACK_MERGE && !r->file)
        rc = begin_trace(r, err);
    if (rc == 0 && r->file)
        rc = end_trace(r, err);
    if (rc == 0)
        rc = compressor_flush(r->compressor, err);
    if (rc < 0 || r->o.kind == REPACK_PGZIP || !r->o.verify)
        return rc < 0 ? rc : write_manifest(r, err);
    r->state = CHECKING;
    view_close(r->view);
    r->view = NULL;
    return open_view(r, err);
}

int repack_next(struct repack *r, struct err *err)
{
    int rc;
    if (r->state == FINISHED)
        return ERR_END;
    if (r->state == CHECKING) {
        buf_clear(&r->text);
        rc = view_next(r->view, STEP, &r->text, err);
        sum_lines(&r->in, (struct text){r->text.data, r->text.len});
        return rc == ERR_END ? write_manifest(r, err) : rc;
    }
    rc = write_some(r, err);
    return rc == ERR_END ? end_writing(r, err) : rc;
}
