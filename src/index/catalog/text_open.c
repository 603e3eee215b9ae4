/* text_open.c - reads the text of a file by position, through its checkpoints, and checks that it
 * still is the text that was indexed. */
#include "index/catalog/archive_text.h"
#include "index/catalog/index.h"
#include "index/ranks/ranks.h"
#include "index/store/checkpoint_record.h"
#include "index/store/kv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- opening --------------------------------------------------------------------------------- */

/* Returns the start of the chunk that contains this position of the text, or the position itself if
 * no chunk does. */
static uint64_t chunk_start(const struct index_file *f, uint64_t text_offset)
{
    uint32_t low = 0, high = f->chunk_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (f->chunks[middle].text_offset <= text_offset)
            low = middle + 1;
        else
            high = middle;
    }
    const struct index_chunk *c = low ? &f->chunks[low - 1] : NULL;
    return c && text_offset - c->text_offset < c->text_len ? c->text_offset : text_offset;
}

static int find_checkpoint(void *arg, uint64_t text_offset, struct trace_checkpoint *ret)
{
    const struct view *v = arg;

    if (v->ix->mirror)
        return remote_checkpoint(v->ix->remote_cache, v->pub.id, chunk_start(&v->pub, text_offset),
                                 text_offset, ret);
    int rc = checkpoint_copy(v->ix->kv, v->pub.id, text_offset, CHECKPOINT_FILE, ret);
    if (rc == ERR_CORRUPT)
        index_file_corrupt(v->ix, &v->pub);
    return rc;
}

/* Returns ERR_STALE if the file has changed: its text is not the one of the chunks. File systems
 * have different device numbers on other nodes. */
static int check_same(int fd, const struct index_file *file, bool growing, bool other_node)
{
    struct stat st;
    struct identity now;

    if (fstat(fd, &st) < 0)
        return -errno;
    identity_of_stat(&st, &now);
    bool moved = now.inode != file->inode || (now.device != file->device && !other_node);
    if (moved || now.size < file->file_bytes)
        return ERR_STALE;
    /* A file that has grown still has its old bytes: index_text_check verifies that. */
    bool grown = now.size > file->file_bytes;
    return now.mtime_ns == file->mtime_ns || grown || growing ? 0 : ERR_STALE;
}

/* Opens the text of a member: through the checkpoints of its archive, if that is the one that was
 * indexed. */
static int open_member(struct index *ix, struct view *v, const struct index_file *archive, int fd,
                       struct trace_text **ret)
{
    struct trace_source *source;
    bool same = archive && identity_same(&view_of_file(archive)->identity, &v->identity);

    if (!same || !archive->id)
        return ERR_STALE;
    int rc = archive_source(ix, fd, view_of_file(archive), &v->member, &source);
    if (rc < 0)
        return rc;
    rc = trace_text_open_source(source, v->pub.format, ix->options.engine, find_checkpoint, v, ret);
    if (rc < 0)
        trace_source_close(source);
    return rc;
}

int index_text_open(struct index *ix, const struct snapshot *s, const struct index_file *file,
                    struct trace_text **ret, int *ret_fd)
{
    struct view *v = view_of_file(file);
    const struct index_file *archive =
        file->archive ? snapshot_find_archive(s, file->archive) : NULL;
    bool growing = file->state != INDEX_READY || (archive && archive->state != INDEX_READY);
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;

    if (fd < 0)
        return errno == ENOENT ? ERR_STALE : -errno;
    rc = check_same(fd, file, growing, ix->mirror != NULL);
    if (rc == 0 && !v->ix)
        rc = ERR_STALE; /* the member is not indexed */
    if (rc == 0 && file->archive)
        rc = open_member(ix, v, archive, fd, ret);
    else if (rc == 0)
        rc = trace_text_open(fd, file->format, ix->options.engine, find_checkpoint, v, ret);
    if (rc) {
        close(fd);
        return rc;
    }
    *ret_fd = fd;
    return 0;
}

uint64_t index_checkpoints(struct index *ix, const struct index_file *file)
{
    struct kv_key prefix = kv_key_of_u32(file->id);
    struct kv_cursor c;
    struct kv_read *r;
    uint64_t n = 0;

    if (!file->id || kv_read_begin(ix->kv, &r) < 0)
        return 0;
    kv_begin(r, KV_CHECKPOINT, &prefix, &c);
    while (kv_next(&c))
        n++;
    kv_end(&c);
    kv_read_end(r);
    return n;
}

/* ---- after reading --------------------------------------------------------------------------- */

/* Hashes of head and tail distinguish a file that has grown from one that was rewritten, as when
 * indexing (compare_with_stored() in ingest/plan.c). */
static int compare_edges(const struct index_file *file, int fd)
{
    const struct identity *known = &view_of_file(file)->identity;
    struct identity edges;
    char *buf = malloc(EDGE_BYTES);
    int rc = buf ? identity_hash_edges(fd, buf, known->size, &edges) : -ENOMEM;

    free(buf);
    if (rc < 0)
        return rc;
    return edges.head_hash == known->head_hash && edges.tail_hash == known->tail_hash ? 0
                                                                                      : ERR_STALE;
}

int index_text_check(const struct index_file *file, int fd)
{
    struct stat st;
    struct identity now;

    if (fstat(fd, &st) < 0)
        return -errno;
    identity_of_stat(&st, &now);
    if (now.size == file->file_bytes && now.mtime_ns == file->mtime_ns)
        return 0;
    /* A file that has the same length and is newer was probably rewritten in place. */
    return now.size <= file->file_bytes ? ERR_STALE : compare_edges(file, fd);
}
