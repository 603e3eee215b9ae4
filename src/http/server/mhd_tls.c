/* mhd_tls.c - certificates of the server and of clients. */
#include "http/server/mhd_tls.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define CHAIN_MAX 16 /* certificates in a chain, of the server or a client */

struct tls {
    gnutls_datum_t cert, key; /* PEM */
    gnutls_x509_trust_list_t clients;
    int64_t until; /* expiry of `cert` */
};
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct tls *in_use;

static void tls_free(struct tls *t)
{
    if (!t)
        return;
    free(t->cert.data);
    free(t->key.data);
    if (t->clients)
        gnutls_x509_trust_list_deinit(t->clients, 1);
    free(t);
}

static gnutls_datum_t datum_of(const char *text)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

static bool copy_pem(gnutls_datum_t *to, const char *text)
{
    to->size = (unsigned)strlen(text);
    to->data = (unsigned char *)strdup(text);
    return to->data != NULL;
}

static int refuse_option(struct err *err, const char *option, const char *why)
{
    return err_set_param(err, -EINVAL, option, "--%s: %s", option, why);
}

/* Checks that certificate and key belong together. */
static int check_pair(const struct http_tls *pem, struct err *err)
{
    gnutls_certificate_credentials_t both;
    gnutls_datum_t cert = datum_of(pem->cert), key = datum_of(pem->key);
    if (gnutls_certificate_allocate_credentials(&both) < 0)
        return -ENOMEM;
    int rc = gnutls_certificate_set_x509_key_mem(both, &cert, &key, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(both);
    return rc < 0 ? refuse_option(err, "tls-cert", gnutls_strerror(rc)) : 0;
}

static int add_clients(struct tls *t, const char *ca, struct err *err)
{
    gnutls_datum_t pem = datum_of(ca);
    if (gnutls_x509_trust_list_init(&t->clients, 0) < 0)
        return -ENOMEM;
    int n = gnutls_x509_trust_list_add_trust_mem(t->clients, &pem, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
    if (n <= 0)
        return refuse_option(err, "tls-client-ca",
                             n < 0 ? gnutls_strerror(n) : "the file contains no certificate");
    return 0;
}

static int tls_new(const struct http_tls *pem, struct err *err, struct tls **ret)
{
    struct tls *t = calloc(1, sizeof *t);
    int rc = t && copy_pem(&t->cert, pem->cert) && copy_pem(&t->key, pem->key) ? 0 : -ENOMEM;
    if (rc == 0)
        rc = check_pair(pem, err);
    if (rc == 0 && pem->client_ca)
        rc = add_clients(t, pem->client_ca, err);
    if (rc == 0) {
        t->until = http_tls_expires(pem->cert);
        return *ret = t, 0;
    }
    tls_free(t);
    return rc;
}

int tls_use(const struct http_tls *pem, struct err *err)
{
    struct tls *made = NULL;
    int rc = pem->cert ? tls_new(pem, err, &made) : 0;
    if (rc < 0)
        return rc;
    pthread_rwlock_wrlock(&lock);
    struct tls *old = in_use;
    in_use = made;
    pthread_rwlock_unlock(&lock);
    tls_free(old);
    return 0;
}

int64_t tls_expires(void)
{
    pthread_rwlock_rdlock(&lock);
    int64_t until = in_use ? in_use->until : -1;
    pthread_rwlock_unlock(&lock);
    return until;
}

int http_check_tls(const struct http_tls *pem, struct err *err)
{
    struct tls *made = NULL;
    int rc = pem->cert ? tls_new(pem, err, &made) : 0;
    tls_free(made);
    return rc;
}

int64_t http_tls_expires(const char *cert)
{
    gnutls_datum_t pem = datum_of(cert);
    gnutls_x509_crt_t first;
    if (gnutls_x509_crt_init(&first) < 0)
        return -1;
    int rc = gnutls_x509_crt_import(first, &pem, GNUTLS_X509_FMT_PEM);
    int64_t at = rc == 0 ? (int64_t)gnutls_x509_crt_get_expiration_time(first) : -1;
    gnutls_x509_crt_deinit(first);
    return at;
}

/* ---- handshakes ------------------------------------------------------------------------------ */

/* Copies the certificates for one handshake; GnuTLS frees them with its own functions. Caller holds
 * the lock. */
static int copy_certificate(const struct tls *t, gnutls_pcert_st **certs, unsigned *count,
                            gnutls_privkey_t *key)
{
    *count = CHAIN_MAX;
    *certs = gnutls_calloc(CHAIN_MAX, sizeof **certs);
    if (!*certs)
        return GNUTLS_E_MEMORY_ERROR;
    int rc = gnutls_pcert_list_import_x509_raw(*certs, count, &t->cert, GNUTLS_X509_FMT_PEM, 0);
    if (rc < 0)
        return gnutls_free(*certs), rc;
    rc = gnutls_privkey_init(key);
    if (rc == 0)
        rc = gnutls_privkey_import_x509_raw(*key, &t->key, GNUTLS_X509_FMT_PEM, NULL, 0);
    return rc;
}

static int on_handshake(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                        gnutls_pcert_st **certs, unsigned *certs_length, gnutls_ocsp_data_st **ocsp,
                        unsigned *ocsp_length, gnutls_privkey_t *key, unsigned *flags)
{
    (void)session, (void)info;
    *ocsp = NULL;
    *ocsp_length = 0;
    *flags = GNUTLS_CERT_RETR_DEINIT_ALL;
    pthread_rwlock_rdlock(&lock);
    int rc =
        in_use ? copy_certificate(in_use, certs, certs_length, key) : GNUTLS_E_NO_CERTIFICATE_FOUND;
    pthread_rwlock_unlock(&lock);
    return rc < 0 ? -1 : 0;
}

/* The function as libmicrohttpd requires it: as an untyped pointer. */
void *const tls_certificate_callback = (void *)on_handshake;

/* ---- clients --------------------------------------------------------------------------------- */

static bool is_trusted(gnutls_x509_crt_t *chain, unsigned n)
{
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT};
    unsigned wrong = 1;
    pthread_rwlock_rdlock(&lock);
    int rc = in_use && in_use->clients
                 ? gnutls_x509_trust_list_verify_crt2(in_use->clients, chain, n, &purpose, 1, 0,
                                                      &wrong, NULL)
                 : -1;
    pthread_rwlock_unlock(&lock);
    return rc == 0 && wrong == 0;
}

static gnutls_session_t session_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info ? info->tls_session : NULL;
}

bool mhd_send_raw(struct MHD_Connection *c, int fd, struct text text)
{
    gnutls_session_t session = session_of(c);
    ssize_t n = session ? gnutls_record_send(session, text.ptr, text.len)
                        : send(fd, text.ptr, text.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    return n == (ssize_t)text.len;
}

static int64_t earliest_expiry(gnutls_x509_crt_t *chain, unsigned n)
{
    int64_t end = INT64_MAX;
    for (unsigned i = 0; i < n; i++) {
        int64_t at = (int64_t)gnutls_x509_crt_get_expiration_time(chain[i]);
        end = at < end ? at : end;
    }
    return end;
}

int64_t tls_client_expires(struct MHD_Connection *c)
{
    gnutls_session_t session = session_of(c);
    gnutls_x509_crt_t chain[CHAIN_MAX];
    unsigned n = 0, count = 0;
    const gnutls_datum_t *list = session ? gnutls_certificate_get_peers(session, &count) : NULL;
    bool good = list && count > 0 && count <= CHAIN_MAX;
    while (good && n < count) {
        good = gnutls_x509_crt_init(&chain[n]) == 0;
        n += good;
        good = good && gnutls_x509_crt_import(chain[n - 1], &list[n - 1], GNUTLS_X509_FMT_DER) == 0;
    }
    int64_t until = good && is_trusted(chain, n) ? earliest_expiry(chain, n) : -1;
    while (n)
        gnutls_x509_crt_deinit(chain[--n]);
    return until;
}
