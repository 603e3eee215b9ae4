/* mhd_message.h - a request's message, between libmicrohttpd and its exchange: it is received
 * (mhd_callbacks.c), checked (mhd_request.c), and refused or answered (mhd_response.c).
 * Threads: the libmicrohttpd thread that has the connection.
 */
#ifndef DFTRACERD_HTTP_SERVER_MHD_MESSAGE_H
#define DFTRACERD_HTTP_SERVER_MHD_MESSAGE_H

#include "http/server/server.h"

#include <microhttpd.h>

#define HTTP_URI_MAX (16u << 10)
#define HTTP_HEAD_MAX (36u << 10)
/* Memory of a connection: a request's head, libmicrohttpd's notes about it, and the head of the
 * answer. */
#define HTTP_CONNECTION_BYTES (40u << 10)
/* Memory for each header or cookie, as libmicrohttpd 0.9.75 aligns its notes. */
#define HTTP_HEADER_COSTS 64
#define HTTP_BODY_MAX (1u << 20)

/* Returns the value of the first header with this name, or NULL. Borrowed from libmicrohttpd. */
static inline const char *header_of(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* mhd_callbacks.c: libmicrohttpd's side of requests */
struct MHD_Daemon *callbacks_start(struct io_thread *c);
extern const struct transport callbacks_transport;

/* mhd_request.c: checks the message. Returns false if it is to be refused, with the answer in *ret.
 * `headers_too_large`: libmicrohttpd has no memory to answer with. `before_body`: the client gets
 * the answer while it sends. */
struct exchange_refusal {
    int status;
    struct err err;
    const char *detail, *allow;
    bool close, headers_too_large, before_body;
};
bool request_check(struct exchange *x, struct MHD_Connection *c, const char *version,
                   enum access_role peer, struct exchange_refusal *ret);
/* Adds the memory that a header or trailer needs to *arg, a size_t. */
enum MHD_Result request_weigh_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                     const char *value);
/* Call it after the body: reads parameters and format. */
bool request_parse(struct exchange *x, struct MHD_Connection *c, struct exchange_refusal *ret);

/* mhd_response.c */
int response_refuse(struct exchange *x, struct MHD_Connection *c,
                    const struct exchange_refusal *why);
/* Sends an answer without libmicrohttpd and closes the connection. Returns MHD_NO. */
int response_raw(struct exchange *x, struct MHD_Connection *c, int status, const char *detail);
int response_answer(struct exchange *x, struct MHD_Connection *c);
int response_options(struct exchange *x, struct MHD_Connection *c);

#endif
