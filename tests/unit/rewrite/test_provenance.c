/* module: rewrite */
/* What is read of a sidecar that somebody sends. */
#include "rewrite/provenance.h"
#include "check.h"

#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

/* Writes the beginning of a sidecar, which needs a window of this size. */
static void write_sidecar(int fd, int window_log)
{
    static const char text[] = "DFTPROV1\1\4\0all"; /* a target */
    char bytes[256];
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_inBuffer in = {text, sizeof(text) - 1, 0};
    ZSTD_outBuffer out = {bytes, sizeof(bytes), 0};

    ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
    CHECK(!ZSTD_isError(ZSTD_compressStream2(c, &out, &in, ZSTD_e_flush)));
    CHECK_INT((long long)ZSTD_compressStream2(c, &out, &in, ZSTD_e_end), 0);
    CHECK_INT(pwrite(fd, bytes, out.pos, 0), (long long)out.pos);
    ZSTD_freeCCtx(c);
}

static int read_target(int fd, struct err *err)
{
    struct budget budget = {0};
    struct provenance_reader *r = NULL;
    enum provenance_type type;
    struct text target;
    int rc = provenance_reader_new(fd, &budget, &r);

    rc = rc < 0 ? rc : provenance_next(r, err, &type, &target);
    CHECK(rc < 0 || (type == PROVENANCE_TARGET && target.len == 4));
    provenance_reader_free(r);
    return rc;
}

/* zstd would allocate the window without charging it to the request. */
static void windows(void)
{
    char path[] = "/tmp/test_provenance.XXXXXX";
    struct err err = {0};
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    unlink(path);
    write_sidecar(fd, 22); /* as /organize writes it */
    CHECK_INT(read_target(fd, &err), 0);
    write_sidecar(fd, 27);
    CHECK_INT(read_target(fd, &err), ERR_CORRUPT);
    CHECK_STR(err.text, "provenance.zst is corrupt: it cannot be decompressed");
    close(fd);
    err_done(&err);
}

static const struct check_test tests[] = {{"windows", windows}, {NULL, NULL}};
CHECK_MAIN(tests)
