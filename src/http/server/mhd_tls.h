/* mhd_tls.h - what libmicrohttpd's GnuTLS asks of us: the certificate of each handshake, and who
 * shows one of their own.
 *
 * The certificate is given by a callback, so that a new one holds from the next handshake on and no
 * connection is lost. GnuTLS hands that callback nothing of ours, so what holds is kept in this
 * file, once a process. Threads: any. */
#ifndef DFTRACERD_HTTP_SERVER_MHD_TLS_H
#define DFTRACERD_HTTP_SERVER_MHD_TLS_H

#include "dftracerd/http.h"

/* Checks and copies; what was there holds on if anything is wrong. NULL `cert`: nothing holds any
 * more. -EINVAL, -ENOMEM. */
int tls_use(const struct http_tls *pem, struct err *err);

/* When the certificate in use ends (Unix time, seconds); -1: there is none. */
int64_t tls_until(void);

struct MHD_Connection;
/* It showed a certificate for clients that one of `client_ca` vouches for, and that is valid now:
 * until when (Unix time, seconds), of its chain as well; else -1. */
int64_t tls_knows_client(struct MHD_Connection *c);

/* Sends what fits at once, past libmicrohttpd: with TLS where the connection has it. Whether that
 * was all. */
bool mhd_send_raw(struct MHD_Connection *c, int fd, struct text text);

/* For MHD_OPTION_HTTPS_CERT_CALLBACK2. */
extern void *const tls_certificate_callback;

#endif
