/* module: rewrite */
/* fuzz_provenance.c - a sidecar of /organize as a stranger may send it: its records, and what
 * /reconstruct makes of them, give an error or files, never more than the budget, and never a path
 * out of the directory.
 *
 * Input: where the first byte is odd, the rest is the file itself, packed. Else it is the text of
 * the records, which is packed here, behind the magic word and before a last record with the right
 * check sum, so that what lies behind these is tested.
 */
#include "rewrite/provenance.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMORY = 64 << 20, STEPS_MAX = 4000, SENT_MAX = 8 << 20 };

static char place[64]; /* one directory for all inputs: group files, the sidecar, the manifest */

static void end(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", place);
    if (system(command) != 0)
        abort();
}

static void put_file(const char *name, const void *data, size_t size)
{
    char path[160];

    snprintf(path, sizeof path, "%s/%s", place, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

static void begin(void)
{
    static const char lines[] = "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n";
    char path[160];

    strcpy(place, "/tmp/fuzz_provenance.XXXXXX");
    assert(mkdtemp(place));
    snprintf(path, sizeof path, "%s/g", place);
    assert(mkdir(path, 0700) == 0);
    put_file("g/a.pfw", lines, sizeof lines - 1);
    atexit(end);
}

static void pack_records(const uint8_t *data, size_t size, struct buf *out)
{
    struct buf text = {0};
    struct hasher hasher;

    buf_append(&text, "DFTPROV1", 8);
    buf_append(&text, data, size);
    hasher_begin(&hasher, 0);
    hasher_add(&hasher, text.data, text.len);
    buf_putc(&text, PROVENANCE_END);
    rec_put_u(&text, 16);
    hash_put(&text, hasher_end(&hasher));
    char *room = buf_reserve(out, ZSTD_compressBound(text.len));
    size_t n = ZSTD_compress(room, ZSTD_compressBound(text.len), text.data, text.len, 1);
    assert(!ZSTD_isError(n));
    out->len += n;
    buf_done(&text);
}

/* Record by record. */
static void read_records(const struct buf *file)
{
    struct budget budget = {.memory_limit = MEMORY};
    struct provenance_reader *r;
    enum provenance_type type;
    struct text payload;
    struct err err = {0};
    int fd = memfd_create("p", MFD_CLOEXEC), rc = 0;

    assert(fd >= 0 && write(fd, file->data, file->len) == (ssize_t)file->len);
    assert(provenance_reader_new(fd, &budget, &r) == 0);
    while ((rc = provenance_next(r, &err, &type, &payload)) == 0)
        assert(payload.len <= PROVENANCE_RECORD_MAX && type < PROVENANCE_END);
    assert(rc == ERR_END || rc == ERR_CORRUPT);
    assert(rc == ERR_END || err.text[0]);
    provenance_reader_free(r);
    close(fd);
    err_done(&err);
}

/* All of it is to be sent, in steps as http takes them. */
static void reconstruct_all(struct transform *r, struct archive_writer *archive_writer,
                            struct err *err)
{
    struct buf out = {0};
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < STEPS_MAX; i++) {
        rc = transform_next(r, err);
        for (int sent = rc < 0 && rc != ERR_END ? rc : 0; sent == 0;) {
            sent = archive_writer_send(archive_writer, 1 << 20, &out, err);
            assert(out.len < SENT_MAX);
            buf_clear(&out);
        }
    }
    if (rc == ERR_END)
        assert(transform_manifest(r).len > 0);
    buf_done(&out);
}

static void reconstruct(void)
{
    static const struct reconstruct_options options = {.form = RECONSTRUCT_AS_WAS, .level = 1};
    struct budget budget = {.memory_limit = MEMORY};
    struct disk_budget disk = {.limit = 8 << 20};
    struct err err = {0};
    struct archive_writer *archive_writer = NULL;
    struct transform *r = NULL;
    int dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert(dir >= 0 && archive_writer_tar_new("/tmp", &disk, 0, &archive_writer) == 0);
    int rc = reconstruct_open(dir, NULL, &options, archive_writer, &budget, &err, &r);
    if (rc == 0)
        reconstruct_all(r, archive_writer, &err);
    else
        assert(err.text[0] || rc == -ENOMEM || rc == ERR_MEMORY_LIMIT);
    transform_free(r);
    archive_writer_free(archive_writer);
    close(dir);
    assert(atomic_load(&budget.memory_used) == 0 && disk.used == 0);
    err_done(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf file = {0};

    if (!size)
        data = (const uint8_t *)"";
    if (!place[0])
        begin();
    if (size && data[0] % 2)
        buf_append(&file, data + 1, size - 1);
    else
        pack_records(data + (size > 0), size - (size > 0), &file);
    read_records(&file);
    put_file(PROVENANCE_NAME, file.data, file.len);
    reconstruct();
    buf_done(&file);
    return 0;
}
