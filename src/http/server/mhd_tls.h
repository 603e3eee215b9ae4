/* mhd_tls.h - the callbacks of libmicrohttpd's GnuTLS: the server's certificate for each handshake,
 * and the certificates of clients.
 *
 * The certificate is provided by a callback, so that a new one is used from the next handshake on
 * and no connection is lost. GnuTLS passes no argument to that callback, so the state is in this
 * file, once for the process. Threads: any. */
#ifndef DFTRACERD_HTTP_SERVER_MHD_TLS_H
#define DFTRACERD_HTTP_SERVER_MHD_TLS_H

#include "dftracerd/http.h"

/* Checks and copies; the present certificate stays in use if anything is wrong. With `cert` NULL
 * there is none any more. Returns 0, -EINVAL or -ENOMEM. */
int tls_use(const struct http_tls *pem, struct err *err);

/* Returns the expiry of the certificate in use (Unix time, seconds), or -1 if there is none. */
int64_t tls_expires(void);

struct MHD_Connection;
/* If the client presented a valid client certificate issued by one of `client_ca`, returns until
 * when it and its chain are valid (Unix time, seconds); else -1. */
int64_t tls_client_expires(struct MHD_Connection *c);

/* Sends what fits at once, bypassing libmicrohttpd, with TLS if the connection has it. Returns true
 * if that was all. */
bool mhd_send_raw(struct MHD_Connection *c, int fd, struct text text);

/* For MHD_OPTION_HTTPS_CERT_CALLBACK2. */
extern void *const tls_certificate_callback;

#endif
