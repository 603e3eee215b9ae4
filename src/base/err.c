/* err.c - error codes, their names and texts, and the error message of a request. */
#include "dftracerd/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `name` is written to answers and logs and never changes; `text` may be reworded. */
static const struct {
    int code;
    const char *name, *text;
} codes[] = {
    {0, "ok", "no error"},
    {ERR_BASE, "error", "unspecified error"},
    {ERR_QUERY_SYNTAX, "bad_query", "syntax error in the query"},
    {ERR_PARAM, "bad_parameter", "invalid request parameter"},
    {ERR_NOT_FOUND, "not_found", "not found"},
    {ERR_CANCELLED, "cancelled", "cancelled"},
    {ERR_DEADLINE, "deadline", "deadline exceeded"},
    {ERR_MEMORY_LIMIT, "memory_limit", "memory limit of the query exceeded"},
    {ERR_ROW_LIMIT, "row_limit", "too many rows or groups"},
    {ERR_PATTERN_LIMIT, "pattern_limit", "a regular expression exceeded its match limit"},
    {ERR_CORRUPT, "corrupt", "corrupt data"},
    {ERR_STORE, "store", "the index cannot be read or written"},
    {ERR_STORE_FULL, "store_full", "the index is full"},
    {ERR_STORE_BUSY, "store_busy", "the index is in use by another daemon"},
    {ERR_STALE, "stale", "the file changed since it was indexed"},
    {ERR_FORMAT, "not_acceptable", "this answer is not available in the requested format"},
    {ERR_END, "end", "end of data"},
    {ERR_NO_ARCHIVE, "no_archive", "not a tar archive, or compressed in an unsupported way"},
    {ERR_ADDRESS_SPACE, "address_space", "no address space for the index (ulimit -v)"},
};

static int find_code(int code)
{
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (codes[i].code == code)
            return (int)i;
    }
    return -1;
}

const char *err_text(int code)
{
    int i = find_code(code);

    if (i >= 0)
        return codes[i].text;
    /* strerrordesc_np is thread-safe and returns NULL for numbers that are no errno. */
    const char *text = code < 0 && code > ERR_BASE ? strerrordesc_np(-code) : NULL;
    return text ? text : "unknown error";
}

const char *err_name(int code)
{
    int i = find_code(code);

    if (i >= 0)
        return codes[i].name;
    const char *name = code < 0 && code > ERR_BASE ? strerrorname_np(-code) : NULL;
    return name ? name : "unknown";
}

static void record_error(struct err *err, int code, const char *param, const char *fmt,
                         va_list args)
{
    if (!err || err->code != 0)
        return;
    err->code = code;
    if (!err->source)
        err->position = -1;
    snprintf(err->param, sizeof(err->param), "%s", param);
    vsnprintf(err->text, sizeof(err->text), fmt, args);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    record_error(err, code, "", fmt, args);
    va_end(args);
    return code;
}

int err_set_code(struct err *err, int code)
{
    return err_set(err, code, "%s", err_text(code));
}

int err_set_param(struct err *err, int code, const char *param, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    record_error(err, code, param, fmt, args);
    va_end(args);
    return code;
}

void err_done(struct err *err)
{
    if (!err)
        return;
    free(err->source);
    memset(err, 0, sizeof(*err));
}
