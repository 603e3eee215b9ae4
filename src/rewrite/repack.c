/* repack.c - writes the lines of a query, or plain files, to other files, and describes them in a
 * manifest.
 *
 * The check of /merge and /split: events are summed up by the XXH3-128 of their lines, modulo
 * 2^128, which their order does not change. One sum is that of the inflated members, the other is
 * that of the same query, evaluated again.
 */
#include "rewrite/transform.h"

#include "dftracerd/text_range.h"
#include "dftracerd/view.h"

#include <pthread.h>
#include <string.h>

enum { STEP_BYTES = 1 << 20 };

struct sum {
    uint64_t lines;
    unsigned __int128 hashes;
};
struct repack_file {
    struct transform_file base;
    const char *source;       /* REPACK_PGZIP: borrowed from the snapshot */
    bool is_copy;             /* the file has a source */
    struct hash128 text_hash; /* REPACK_PGZIP */
};
struct repack {
    struct transform base;
    struct query *query;
    struct repack_options o;
    struct compressor *compressor;
    struct repack_file *file; /* the current one, or NULL */
    struct view *view;        /* the lines; later the lines that are read for the check */
    struct text_range *range; /* text of the current file */
    struct hasher hasher;     /* REPACK_PGZIP: hash of the text of the current file */
    size_t next;              /* REPACK_PGZIP: position of the next file to compress */
    struct buf text;
    pthread_mutex_t lock;             /* guards `sum_written` */
    struct sum sum_written, sum_read; /* of the lines that were written, and read again */
    struct {
        uint64_t generation;
        const uint32_t *sources; /* positions in the snapshot */
        size_t source_count;
        bool is_checked, verified;
        struct hash128 hash_read, hash_written;
    } head;           /* members of the manifest */
    bool is_checking; /* everything is written, and the lines are read again */
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
    r->sum_written.lines += s.lines;
    r->sum_written.hashes += s.hashes;
    pthread_mutex_unlock(&r->lock);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Begins a trace, or with a source its copy. */
static int begin_file(struct repack *r, const char *source, struct err *err)
{
    struct transform *t = &r->base;
    struct transform_file *f = NULL;
    const size_t size = sizeof(*r->file);
    const char *name = r->o.name, *gz = r->o.level ? ".gz" : "";
    int rc;

    if (source)
        rc = transform_file_begin(t, r->compressor, size, err, &f, "%s.gz", source);
    else if (r->o.kind == REPACK_MERGE)
        rc = transform_file_begin(t, r->compressor, size, err, &f, "%s%s", name, gz);
    else
        rc = transform_file_begin(t, r->compressor, size, err, &f, "%s-%zu.pfw%s", name,
                                  t->files.count + 1, gz);
    if (rc < 0)
        return rc;
    r->file = (struct repack_file *)f;
    r->file->source = source;
    r->file->is_copy = source != NULL;
    return source ? 0 : compressor_text(f->compressor, TEXT("[\n"), err);
}

static int end_file(struct repack *r, struct err *err)
{
    struct transform_file *f = &r->file->base;
    int rc = r->file->is_copy ? 0 : compressor_text(f->compressor, TEXT("]\n"), err);

    r->file = NULL;
    return rc < 0 ? rc : transform_file_end(f, err);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Returns the lines of the text that belong to the current file: the line that reaches the size
 * completes a file. */
static struct text lines_of_file(const struct repack *r, struct text text)
{
    uint64_t have = compressor_text_bytes(r->file->base.compressor), max = r->o.chunk_bytes;
    if (r->o.kind != REPACK_SPLIT || have + text.len < max)
        return text;
    size_t from = have < max ? (size_t)(max - have) : 0;
    const char *end =
        memchr(text.ptr + (from ? from - 1 : 0), '\n', text.len - (from ? from - 1 : 0));
    text.len = end ? (size_t)(end - text.ptr) + 1 : text.len;
    return text;
}

static uint64_t newlines_count(struct text t)
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
        rc = r->file ? 0 : begin_file(r, NULL, err);
        if (rc < 0)
            return rc;
        struct text part = lines_of_file(r, text);
        struct transform_file *f = &r->file->base;
        f->lines += newlines_count(part);
        rc = compressor_text(f->compressor, part, err);
        text.ptr += part.len;
        text.len -= part.len;
        if (rc == 0 && r->o.kind == REPACK_SPLIT &&
            compressor_text_bytes(f->compressor) >= r->o.chunk_bytes)
            rc = end_file(r, err);
    }
    return rc;
}

/* ---- plain files, byte for byte -------------------------------------------------------------- */

bool repack_can_compress(const struct index_file *f)
{
    return f->format == TRACE_PLAIN && !index_file_is_unread(f) && !f->archive && !f->is_archive;
}

static int begin_copy(struct repack *r, struct err *err)
{
    const uint32_t *files;
    size_t n = query_files(r->query, &files);
    struct snapshot *s = query_snapshot(r->query);
    while (r->next < n && !repack_can_compress(snapshot_file(s, files[r->next])))
        r->next++;
    if (r->next == n)
        return ERR_END;
    const struct index_file *file = snapshot_file(s, files[r->next++]);
    int rc = begin_file(r, file->name, err);
    hasher_begin(&r->hasher, 0);
    return rc < 0 ? rc
                  : text_range_open(query_index(r->query), s, file, TEXT_BYTES, 0, UINT64_MAX,
                                    r->base.budget, err, &r->range);
}

static int copy_some(struct repack *r, struct err *err)
{
    int rc = r->range ? 0 : begin_copy(r, err);
    buf_clear(&r->text);
    while (rc == 0 && r->text.len < STEP_BYTES)
        rc = text_range_next(r->range, &r->text, err);
    if ((rc < 0 && rc != ERR_END) || !r->range)
        return rc;
    struct text text = {r->text.data, r->text.len};
    hasher_add(&r->hasher, text.ptr, text.len);
    r->file->base.lines += newlines_count(text);
    int put = compressor_text(r->file->base.compressor, text, err);
    if (put < 0 || rc == 0)
        return put;
    r->file->text_hash = hasher_end(&r->hasher);
    text_range_close(r->range);
    r->range = NULL;
    return end_file(r, err);
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

static const void *file_of(const void *repack, size_t i)
{
    return ((const struct repack *)repack)->base.files.at[i];
}

#define OBJECT struct index_file
static const struct member source_members[] = {
    MEMBER("path", name),
    MEMBER("damaged", damaged),
    MEMBER_COMPUTED("read", VALUE_BOOL, is_read, .schema = "{'type':'boolean'}"),
};
static const struct object_type source_type = {NULL, MEMBERS(source_members)};
#undef OBJECT

#define OBJECT struct repack_file
static const struct member file_members[] = {
    MEMBER("name", base.name),
    MEMBER("source", source, .optional = true),
    MEMBER("lines", base.lines),
    MEMBER("text_bytes", base.text_bytes),
    MEMBER("bytes", base.bytes),
    MEMBER_HASH("xxh128", base.hash),
    MEMBER_HASH("text_xxh128", text_hash, .when = WHEN(is_copy), .optional = true),
};
static const struct object_type file_type = {NULL, MEMBERS(file_members)};
#undef OBJECT

static const char *const commands[] = {"merge", "split", "pgzip", NULL};

#define OBJECT struct repack
#define VERIFIED .when = WHEN(head.is_checked), .optional = true
static const struct member members[] = {
    MEMBER("command", o.kind, .choices = commands),
    MEMBERS_STATE(head.generation, base.complete),
    MEMBER_OBJECTS("sources", head.sources, head.source_count, &source_type, .item = source_of),
    MEMBER_OBJECTS("files", base.files.at, base.files.count, &file_type, .item = file_of),
    MEMBER("verified", head.verified, VERIFIED),
    MEMBER("lines_read", sum_read.lines, VERIFIED),
    MEMBER("lines_written", sum_written.lines, VERIFIED),
    MEMBER_HASH("hash_read", head.hash_read, VERIFIED),
    MEMBER_HASH("hash_written", head.hash_written, VERIFIED),
};
const struct object_type repacked_type = {"Repacked", MEMBERS(members), .help = "manifest.json"};
#undef OBJECT

/* ---- steps ----------------------------------------------------------------------------------- */

static int open_view(struct repack *r, struct err *err)
{
    struct view_options o = {.order_ts = r->o.order_ts, .limit = UINT64_MAX};

    return view_open(r->query, &o, err, &r->view);
}

static int read_lines(struct repack *r, struct err *err)
{
    buf_clear(&r->text);
    return view_next(r->view, STEP_BYTES, &r->text, err);
}

static int write_some(struct repack *r, struct err *err)
{
    if (r->o.kind == REPACK_PGZIP)
        return copy_some(r, err);
    int rc = read_lines(r, err);
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
        rc = begin_file(r, NULL, err);
    if (rc == 0 && r->file)
        rc = end_file(r, err);
    rc = rc < 0 ? rc : compressor_flush(r->compressor, err);
    if (rc < 0 || !r->head.is_checked)
        return rc < 0 ? rc : ERR_END;
    r->is_checking = true;
    view_close(r->view);
    r->view = NULL;
    return open_view(r, err);
}

static int repack_step(struct transform *t, struct err *err)
{
    struct repack *r = (struct repack *)t;

    if (!r->is_checking) {
        int rc = write_some(r, err);
        return rc == ERR_END ? end_writing(r, err) : rc;
    }
    int rc = read_lines(r, err);
    sum_lines(&r->sum_read, (struct text){r->text.data, r->text.len});
    return rc;
}

static int repack_finish(struct transform *t, struct err *err)
{
    struct repack *r = (struct repack *)t;

    (void)err;
    r->head.generation = snapshot_generation(query_snapshot(r->query));
    r->head.source_count = query_files(r->query, &r->head.sources);
    r->head.verified =
        r->sum_read.lines == r->sum_written.lines && r->sum_read.hashes == r->sum_written.hashes;
    r->head.hash_read = sum_hash(&r->sum_read);
    r->head.hash_written = sum_hash(&r->sum_written);
    return 0;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void repack_done(struct transform *t)
{
    struct repack *r = (struct repack *)t;

    view_close(r->view);
    text_range_close(r->range);
    compressor_free(r->compressor);
    buf_done(&r->text);
    pthread_mutex_destroy(&r->lock);
}

static const struct transform_kind repack_kind = {
    .manifest_name = MANIFEST_NAME,
    .manifest = &repacked_type,
    .step = repack_step,
    .finish = repack_finish,
    .done = repack_done,
};

int repack_open(struct query *q, struct pool *pool, struct budget *budget,
                struct archive_writer *archive_writer, const struct repack_options *options,
                struct err *err, struct transform **ret)
{
    struct repack *r = transform_new(&repack_kind, sizeof(*r), archive_writer, budget);

    if (!r)
        return err_set_code(err, -ENOMEM);
    r->query = q;
    r->o = *options;
    r->base.complete = query_complete(q);
    r->head.is_checked = options->verify && options->kind != REPACK_PGZIP;
    pthread_mutex_init(&r->lock, NULL);
    struct compressor_options compress = {.level = options->level,
                                          .budget = budget,
                                          .check = r->head.is_checked ? check_text : NULL,
                                          .arg = r};
    int rc = compressor_new(pool, archive_writer, &compress, &r->compressor);
    if (rc == 0 && options->kind != REPACK_PGZIP)
        rc = open_view(r, err);
    return transform_opened(&r->base, rc, err, ret);
}
