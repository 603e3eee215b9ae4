/* tls_files.c - reads the files for TLS. */
#include "daemon/tls_files.h"

#include "daemon/log.h"
#include "daemon/access_rules.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FILE_MAX (1u << 20)
#define DAY_S 86400
#define SOON_DAYS 14 /* a new certificate should have been installed by now */

/* Reads the file as a *new* text. */
static int read_text(FILE *f, char **ret)
{
    struct buf text = {0};
    char *room;
    size_t n = 0;
    do {
        text.len += n;
        room = buf_reserve(&text, 4096);
        n = room ? fread(room, 1, 4096, f) : 0;
    } while (n && text.len < FILE_MAX);
    buf_putc(&text, '\0');
    int rc = text.error ? text.error : ferror(f) ? -EIO : n ? -EFBIG : 0;
    if (rc < 0)
        return buf_done(&text), rc;
    *ret = text.data;
    return 0;
}

static int read_file(const char *option, const char *path, bool secret, char **ret, struct err *err)
{
    char *own = path ? NULL : access_rules_credential(option);
    const char *from = path ? path : own;
    FILE *f = from ? fopen(from, "re") : NULL;
    struct stat st;
    int rc = 0;
    if (f) {
        rc = fstat(fileno(f), &st) < 0 ? -errno : 0;
        const char *why = rc == 0 && secret ? access_rules_unsafe(from, &st) : NULL;
        rc = rc < 0 ? rc : why ? -EPERM : read_text(f, ret);
        fclose(f);
        if (rc < 0)
            err_set_param(err, rc, option, why ? "%s %s" : "%s: %s", from,
                          why ? why : strerror(-rc));
    } else if (from) {
        rc = err_set_param(err, -errno, option, "%s: %s", from, strerror(errno));
    }
    free(own);
    return rc;
}

struct http_tls tls_files_texts(const struct tls_files *f)
{
    return (struct http_tls){.cert = f->cert, .key = f->key, .client_ca = f->client_ca};
}

static int check_files(const struct tls_files *f, struct err *err)
{
    struct http_tls texts = tls_files_texts(f);
    if (!f->cert != !f->key)
        return err_set_param(err, -EINVAL, "tls-cert",
                             "--tls-cert and --tls-key must be used together");
    if (f->client_ca && !f->cert)
        return err_set_param(err, -EINVAL, "tls-client-ca", "--tls-client-ca requires --tls-cert");
    return http_check_tls(&texts, err);
}

int tls_files_read(struct tls_files *ret, const struct options *o, struct err *err)
{
    *ret = (struct tls_files){0};
    int rc = read_file("tls-cert", o->tls_cert, false, &ret->cert, err);
    if (rc == 0)
        rc = read_file("tls-key", o->tls_key, true, &ret->key, err);
    if (rc == 0)
        rc = read_file("tls-client-ca", o->tls_client_ca, false, &ret->client_ca, err);
    if (rc == 0)
        rc = check_files(ret, err);
    if (rc < 0)
        tls_files_done(ret);
    return rc;
}

void tls_files_log(const struct tls_files *f)
{
    int64_t until = f->cert ? http_tls_expires(f->cert) : -1;
    int64_t left_s = until - (int64_t)time(NULL), days = left_s / DAY_S;
    if (until < 0)
        return;
    if (left_s <= 0)
        log_line(LOG_LEVEL_ERROR, "tls_certificate expired_days=%" PRId64, -days);
    else
        log_line(days < SOON_DAYS ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO,
                 "tls_certificate days_left=%" PRId64, days);
}

void tls_files_done(struct tls_files *f)
{
    free(f->cert);
    if (f->key)
        explicit_bzero(f->key, strlen(f->key));
    free(f->key);
    free(f->client_ca);
    *f = (struct tls_files){0};
}
