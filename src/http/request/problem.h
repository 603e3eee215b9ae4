/* problem.h - errors as application/problem+json (RFC 9457). Used by the server, for answers that
 * are errors, and by exchange, for streams that break.
 * Threads: any; nothing is kept. */
#ifndef DFTRACERD_HTTP_REQUEST_PROBLEM_H
#define DFTRACERD_HTTP_REQUEST_PROBLEM_H

#include "dftracerd/format.h"

/* The types of a problem, and of the last line of a broken stream. */
extern const struct object_type problem_type, error_line_type;

/* Returns the HTTP status of an error code. */
int problem_status(int code);
const char *problem_reason(int status); /* such as "Not Found" */
/* Writes {"type","title","status","detail","code","param","position","request_id"}\n. `err` may be
 * NULL. */
void problem_write(struct buf *out, int status, const struct err *err, const char *detail,
                   const char *request_id);
/* Writes the last line of a broken stream: {"error":{...}}\n */
void problem_in_band(struct buf *out, const struct err *err, int code, const char *request_id);

#endif
