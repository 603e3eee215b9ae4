/* site.h - sites (exchange/site.h) as the server makes and finds them.
 * Threads: site_of: any; the others: one at a time.
 */
#ifndef DFTRACERD_HTTP_SERVER_SITE_H
#define DFTRACERD_HTTP_SERVER_SITE_H

#include "http/exchange/site.h"

/* The first one, or a further one; the latter is only prepared. *new*; -ENOMEM. */
int site_new(struct http *h, const struct http_site *s, struct site **ret);
void site_free(struct site *s); /* NULL-safe */
void site_limit_time(struct site *s, int64_t query_time_ms);
/* Whose socket a connection came on. */
struct site *site_of(struct http *h, int fd);

#endif
