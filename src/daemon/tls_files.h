/* tls_files.h - certificate, key and the certificate authorities of clients, read at start and at
 * each reload.
 */
#ifndef DFTRACERD_DAEMON_TLS_FILES_H
#define DFTRACERD_DAEMON_TLS_FILES_H

#include "dftracerd/http.h"
#include "daemon/options.h"

struct tls_files {
    char *cert, *key, *client_ca; /* PEM, or NULL */
};
/* Reads the files in the options, or the credentials tls-cert, tls-key and tls-client-ca of
 * systemd, and checks them. Returns -EPERM for a key that others can read, -EINVAL ... with the
 * reason; then `ret` is empty. */
int tls_files_read(struct tls_files *ret, const struct options *o, struct err *err);
struct http_tls tls_files_texts(const struct tls_files *f); /* borrowed */
/* Logs how long the certificate is valid. An expired one is used all the same: clients may accept
 * it. */
void tls_files_log(const struct tls_files *f);
void tls_files_done(struct tls_files *f);

#endif
