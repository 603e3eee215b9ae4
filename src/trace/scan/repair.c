/* repair.c - writes the valid form of an invalid object. */
#include "trace/scan/scan.h"

int trace_repair(const char *text, size_t len, struct buf *out)
{
    struct scan_patch patch = {out, text, 0};
    size_t before = out->len;
    const char *end;

    if (len == 0 || *text != '{' ||
        tolerant_read(NULL, text, text + len, &patch, &end) != TOLERANT_OK) {
        if (out->error)
            return out->error;
        out->len = before;
        return ERR_CORRUPT;
    }
    buf_append(out, patch.copied, (size_t)(end - patch.copied));
    return out->error;
}
