/* problem.c - converts error codes to statuses and problem documents. */
#include "http/request/problem.h"

#include "dftracerd/http.h"

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
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {409, "Conflict"},
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

struct problem {
    const char *type, *title;
    int32_t status;
    const char *detail, *code, *param;
    int64_t position;
    bool has_position;
    const char *request_id;
};

/* ---- members --------------------------------------------------------------------------------- */

static const char *const types[] = {"about:blank", NULL};

#define OBJECT struct problem
static const struct member members[] = {
    MEMBER("type", type, .choices = types),
    MEMBER("title", title),
    MEMBER("status", status),
    MEMBER("detail", detail),
    MEMBER("code", code, .optional = true,
           .help = "machine-readable: bad_parameter, bad_query ..."),
    MEMBER("param", param, .optional = true, .help = "name of the invalid parameter"),
    MEMBER("position", position, .when = WHEN(has_position), .optional = true,
           .help = "byte offset in the query"),
    MEMBER("request_id", request_id, .optional = true),
};
const struct object_type problem_type = {"Problem", MEMBERS(members), .help = "RFC 9457"};

enum { OF_RESPONSE = 3 }; /* a broken stream has sent its status already */
static const struct object_type error_type = {
    .members = members + OF_RESPONSE, .count = sizeof members / sizeof *members - OF_RESPONSE};
static const struct member line_members[] = {
    MEMBER_SELF("error", &error_type),
};
const struct object_type error_line_type = {
    "ErrorLine", MEMBERS(line_members),
    .help = "last line of a response that was cut off by an error"};
#undef OBJECT

/* Shows the line of a query that has a syntax error, and a caret below the position. */
static void put_caret(struct buf *out, const struct err *err)
{
    const char *line = err->source, *end = err->source;
    for (int64_t i = 0; i < err->position && *end; i++)
        if (*end++ == '\n')
            line = end;
    buf_printf(out, "\n%.*s\n", (int)strcspn(line, "\n"), line);
    /* Writes a space for each character before it; characters may have several bytes. */
    for (; line < end; line++)
        if (((unsigned char)*line & 0xC0) != 0x80)
            buf_putc(out, *line == '\t' ? '\t' : ' ');
    buf_putc(out, '^');
}

/* `other` replaces the error's own text, unless NULL. */
static void put_detail(struct buf *out, const struct err *err, const char *other)
{
    buf_puts(out, other ? other : err->text[0] ? err->text : err_text(err->code));
    if (err && err->source && err->position >= 0)
        put_caret(out, err);
}

void http_problem_detail(const struct err *err, struct buf *out)
{
    put_detail(out, err, NULL);
}

static void write_problem(struct buf *out, const struct object_type *type, struct problem *p,
                          const struct err *err)
{
    struct buf detail = {0};
    put_detail(&detail, err, p->detail || err ? p->detail : "");
    buf_putc(&detail, '\0');
    if (!detail.error)
        p->detail = detail.data;
    else if (!p->detail)
        p->detail = "";
    if (err && err->code) {
        p->code = err_name(err->code);
        p->param = err->param[0] ? err->param : NULL;
        p->position = err->position;
        p->has_position = err->source && err->position >= 0;
    }
    if (p->request_id && !*p->request_id)
        p->request_id = NULL;
    format_object(type, p, false, out);
    buf_done(&detail);
}

void problem_write(struct buf *out, int status, const struct err *err, const char *detail,
                   const char *request_id)
{
    struct problem p = {.type = types[0],
                        .title = problem_reason(status),
                        .status = status,
                        .detail = detail,
                        .request_id = request_id};
    write_problem(out, &problem_type, &p, err);
}

void problem_in_band(struct buf *out, const struct err *err, int code, const char *request_id)
{
    struct err fallback = {.code = code};
    struct problem p = {.request_id = request_id};
    write_problem(out, &error_line_type, &p, err->code ? err : &fallback);
}
