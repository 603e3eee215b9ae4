/* problem.c - error codes to statuses and problem documents. */
#include "http/request/problem.h"

#include <errno.h>
#include <string.h>

static const struct {
    int code, status;
} by_code[] = {
    {ERR_QUERY_SYNTAX, 400}, {ERR_PARAM, 400},    {ERR_PATTERN_LIMIT, 400},
    {ERR_NOT_FOUND, 404},    {ERR_FORMAT, 406},   {ERR_MEMORY_LIMIT, 413},
    {ERR_ROW_LIMIT, 413},    {ERR_DEADLINE, 504}, {ERR_CANCELLED, 503},
    {ERR_STORE_FULL, 503},   {ERR_STALE, 503},    {-ENOMEM, 503},
    {ERR_STORE, 503},        {-ENOSPC, 503},      {-EDQUOT, 503},
    {-EROFS, 503},           {-EPERM, 403},       {-EEXIST, 409},
    {-ENOTDIR, 409},         {-EFBIG, 503},       {ERR_ADDRESS_SPACE, 503},
};

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {200, "OK"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {409, "Conflict"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {421, "Misdirected Request"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {499, "Request Cancelled"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

int problem_status(int code)
{
    for (size_t i = 0; i < sizeof by_code / sizeof *by_code; i++)
        if (by_code[i].code == code)
            return by_code[i].status;
    return 500;
}

const char *problem_reason(int status)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Error";
}

/* A syntax error shows the query and a caret under the place. */
static void write_detail(struct jw *j, const struct err *err, const char *detail)
{
    const char *text = detail                ? detail
                       : err && err->text[0] ? err->text
                       : err                 ? err_text(err->code)
                                             : "";
    struct buf b = {0};
    buf_puts(&b, text);
    if (err && err->source && err->position >= 0) {
        buf_printf(&b, "\n%s\n", err->source);
        /* A blank for each character before it, which may have several bytes. */
        for (int64_t i = 0; i < err->position && err->source[i]; i++)
            if (((unsigned char)err->source[i] & 0xC0) != 0x80)
                buf_putc(&b, err->source[i] == '\t' ? '\t' : ' ');
        buf_putc(&b, '^');
    }
    jw_text(j, b.error ? text_of(text) : (struct text){b.data, b.len});
    buf_done(&b);
}

static void write_members(struct jw *j, const struct err *err, const char *detail,
                          const char *request_id)
{
    jw_key(j, "detail");
    write_detail(j, err, detail);
    if (err && err->code) {
        jw_put_str(j, "code", err_name(err->code));
        if (err->param[0])
            jw_put_str(j, "param", err->param);
        if (err->source && err->position >= 0) {
            jw_key(j, "position");
            jw_int(j, err->position);
        }
    }
    if (request_id && *request_id)
        jw_put_str(j, "request_id", request_id);
}

void problem_write(struct buf *out, int status, const struct err *err, const char *detail,
                   const char *request_id)
{
    struct jw j;
    jw_init(&j, out, false);
    jw_begin(&j, '{');
    jw_put_str(&j, "type", "about:blank");
    jw_put_str(&j, "title", problem_reason(status));
    jw_key(&j, "status");
    jw_int(&j, status);
    write_members(&j, err, detail, request_id);
    jw_end(&j, '}');
    jw_finish(&j);
}

void problem_in_band(struct buf *out, const struct err *err, int code, const char *request_id)
{
    struct err fallback = {.code = code};
    struct jw j;
    jw_init(&j, out, false);
    jw_begin(&j, '{');
    jw_key(&j, "error");
    jw_begin(&j, '{');
    write_members(&j, err->code ? err : &fallback, NULL, request_id);
    jw_end(&j, '}');
    jw_end(&j, '}');
    jw_finish(&j);
}
