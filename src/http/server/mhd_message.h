/* mhd_message.h - a request's message, between libmicrohttpd and its exchange: it comes in
 * (mhd_callbacks.c), is checked (mhd_request.c), and is refused or answered (mhd_response.c).
 * Threads: that of libmicrohttpd which has the connection.
 */
#ifndef DFTRACERD_HTTP_SERVER_MHD_MESSAGE_H
#define DFTRACERD_HTTP_SERVER_MHD_MESSAGE_H

#include "http/server/server.h"

#define HTTP_URI_MAX (16u << 10)
#define HTTP_HEAD_MAX (36u << 10)
/* of memory: a request's head, what is noted of it, and the head of the answer */
#define HTTP_CONNECTION_BYTES (40u << 10)
/* of it for each header or cookie, as libmicrohttpd 0.9.75 aligns what it notes */
#define HTTP_HEADER_COSTS 64
#define HTTP_BODY_MAX (1u << 20)

/* mhd_callbacks.c: libmicrohttpd's side of requests */
struct MHD_Daemon *callbacks_start(struct carrier *c);
extern const struct transport callbacks_transport;

/* mhd_request.c: checks of the message itself; answers and returns false when it is refused */
/* `headers_too_large`: libmicrohttpd has no memory to answer with. `before_body`: the client
 * learns it while it sends. */
struct exchange_refusal {
    int status;
    struct err err;
    const char *detail, *allow;
    bool close, headers_too_large, before_body;
};
bool request_check(struct exchange *x, struct MHD_Connection *c, const char *version,
                   enum access_role peer, struct exchange_refusal *ret);
/* After the body: parameters and format. */
bool request_parse(struct exchange *x, struct MHD_Connection *c, struct exchange_refusal *ret);

/* mhd_response.c */
int response_refuse(struct exchange *x, struct MHD_Connection *c,
                    const struct exchange_refusal *why);
/* Past libmicrohttpd; the connection is closed. Gives MHD_NO. */
int response_past(struct exchange *x, struct MHD_Connection *c, int status, const char *detail);
int response_answer(struct exchange *x, struct MHD_Connection *c);
int response_options(struct exchange *x, struct MHD_Connection *c);

#endif
