/* module: trace */
/* fuzz_tar_gnu.c - what GNU tar lists without a word of complaint, our walk lists, too: the same
 * regular files, in order, with the same names and sizes. A process an input: some hundreds a
 * second. Without a tar of GNU nothing is compared.
 *
 * From a bad record of an extended header on, which GNU tar passes over, we refuse the archive:
 * then what came before is compared. Names with bytes that tar would escape, and sparse files (GNU
 * tar tells their size with holes), are left out.
 */
#include "dftracerd/trace.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 64 << 10 };

static bool is_gnu(void)
{
    char line[64] = "";
    FILE *f = popen("tar --version 2>/dev/null", "r");

    if (f && !fgets(line, sizeof line, f))
        line[0] = '\0';
    if (f)
        pclose(f);
    return strstr(line, "GNU tar") != NULL;
}

/* As tar unpacks it, without what says nothing: "/", "." and "" between. */
static void add_plain(struct text name, struct buf *out)
{
    size_t from = out->len;
    struct text part;

    while (name.len && text_split(&name, '/', &part)) {
        if (part.len == 0 || text_eq(part, TEXT(".")))
            continue;
        if (out->len > from)
            buf_putc(out, '/');
        buf_text(out, part);
    }
}

/* "-rw-r--r-- 0/0 12 1970-01-01 00:00:00 name": files only (C: contiguous ones), as "12 name".
 * False: a time that is no usual one, behind which are more blanks, so that there is no telling
 * where the name begins; or a directory that is listed as contiguous. */
static bool add_listed(struct text line, struct buf *out)
{
    struct text part, size = {NULL, 0};

    bool contiguous = text_starts(line, TEXT("C"));

    if (!contiguous && !text_starts(line, TEXT("-")))
        return true;
    for (int i = 0; i < 5;) {
        if (!text_split(&line, ' ', &part))
            return false;
        i += part.len > 0;
        if (i == 3 && part.len)
            size = part;
    }
    buf_text(out, size);
    buf_putc(out, ' ');
    add_plain(line, out);
    buf_putc(out, '\n');
    return !text_starts(line, TEXT(" ")) && !(contiguous && text_ends(line, TEXT("/")));
}

/* False: tar complained, or what it says cannot be compared. */
static bool list_by_tar(const void *data, size_t size, struct buf *out)
{
    char command[256], piece[4096];
    struct buf said = {0};
    int fd = memfd_create("tar", 0);
    size_t n;

    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(command, sizeof command,
             "LC_ALL=C TZ=UTC tar --list --verbose --numeric-owner --full-time --absolute-names "
             "--quoting-style=escape --file=/proc/self/fd/%d --force-local 2>&1",
             fd);
    FILE *f = popen(command, "r");
    assert(f);
    while ((n = fread(piece, 1, sizeof piece, f)) > 0)
        buf_append(&said, piece, n);
    bool good = pclose(f) == 0 && said.len && !memmem(said.data, said.len, "tar: ", 5) &&
                !memchr(said.data, '\\', said.len);
    close(fd);
    struct text rest = {said.data, said.len}, line;
    while (good && rest.ptr && text_split(&rest, '\n', &line))
        good = add_listed(line, out);
    buf_done(&said);
    return good;
}

/* False: sparse. */
static bool list_by_walk(const char *text, size_t size, struct buf *out, bool *ret_refused)
{
    struct trace_tar *t = trace_tar_new();
    struct trace_tar_member m;
    bool sparse = false;
    uint64_t at;
    int rc = 0;

    while (t && rc >= 0 && (at = trace_tar_next_offset(t)) < size) {
        rc = trace_tar_next(t, text + at, size - (size_t)at, &m);
        sparse = sparse || (rc == 1 && m.kind == TRACE_TAR_SPARSE);
        if (rc != 1 || m.kind != TRACE_TAR_FILE)
            continue;
        buf_printf(out, "%llu ", (unsigned long long)m.size);
        buf_text(out, m.name);
        buf_putc(out, '\n');
    }
    trace_tar_free(t);
    *ret_refused = rc == ERR_CORRUPT;
    return !sparse;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int gnu = -1;
    bool refused = false;
    struct buf tar = {0}, walk = {0};

    if (gnu < 0)
        gnu = is_gnu();
    if (!gnu || size < 1024 || size > INPUT_MAX)
        return 0;
    if (list_by_tar(data, size, &tar) && list_by_walk((const char *)data, size, &walk, &refused) &&
        ((refused ? tar.len < walk.len : tar.len != walk.len) ||
         (walk.len && memcmp(tar.data, walk.data, walk.len) != 0))) {
        fprintf(stderr, "tar:\n%.*sours:\n%.*s", (int)tar.len, tar.data ? tar.data : "",
                (int)walk.len, walk.data ? walk.data : "");
        abort();
    }
    buf_done(&tar);
    buf_done(&walk);
    return 0;
}
