/* module: trace */
/* fuzz_tar_walk.c - any bytes as a tar archive: told the same in large and small steps, in order,
 * and without end. */
#include "dftracerd/trace.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool good)
{
    if (!good)
        abort();
}

static int walk(const char *text, size_t size, size_t step, struct buf *out)
{
    struct trace_tar *t = trace_tar_new();
    struct trace_tar_member m;
    uint64_t at, end = 0;
    int rc = 0;

    while (t && rc >= 0 && (at = trace_tar_next_offset(t)) < size) {
        size_t n = size - at < step ? (size_t)(size - at) : step;
        rc = trace_tar_next(t, text + at, n, &m);
        need(rc <= 1 && (rc < 0 || trace_tar_next_offset(t) > at));
        if (rc != 1)
            continue;
        need(m.offset >= end + 512 && m.offset % 512 == 0 && m.size <= INT64_MAX);
        need(trace_tar_next_offset(t) >= m.offset + m.size);
        need(m.name.ptr[m.name.len] == '\0' && *m.name.ptr != '/');
        end = m.offset + m.size;
        buf_text(out, m.name);
        buf_printf(out, " %d %llu %llu %lld\n", m.kind, (unsigned long long)m.offset,
                   (unsigned long long)m.size, (long long)m.mtime_s);
    }
    trace_tar_free(t);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole = {0}, steps = {0};
    int one = walk((const char *)data, size, size, &whole),
        other = walk((const char *)data, size, 1 + size % 700, &steps);

    need((one < 0 ? one : 0) == (other < 0 ? other : 0));
    need(whole.len == steps.len && (!whole.len || memcmp(whole.data, steps.data, whole.len) == 0));
    buf_done(&whole);
    buf_done(&steps);
    return 0;
}
