/* tls_files.h - certificate, key and the authorities of clients, read at start and at each reload.
 */
#ifndef DFTRACERD_DAEMON_TLS_FILES_H
#define DFTRACERD_DAEMON_TLS_FILES_H

#include "dftracerd/http.h"
#include "daemon/options.h"

struct tls_files {
    char *cert, *key, *client_ca; /* PEM, or NULL */
};
/* From the options, or the credentials tls-cert, tls-key and tls-client-ca of systemd. Checked.
 * -EPERM for a key that others can read, -EINVAL ... with the reason; then `ret` is empty. */
int tls_files_read(struct tls_files *ret, const struct options *o, struct err *err);
struct http_tls tls_files_texts(const struct tls_files *f); /* borrowed */
/* How long the certificate is good. One that is not any more is given all the same: who knows it
 * may go on. */
void tls_files_log(const struct tls_files *f);
void tls_files_done(struct tls_files *f);

#endif
