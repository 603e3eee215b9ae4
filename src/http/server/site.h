/* site.h - creates and finds sites (exchange/site.h).
 * Threads: site_of: any; the others: one at a time.
 */
#ifndef DFTRACERD_HTTP_SERVER_SITE_H
#define DFTRACERD_HTTP_SERVER_SITE_H

#include "http/exchange/site.h"

/* Creates the first site, or prepares a further one. Returns 0 with *new*, or -ENOMEM. */
int site_new(struct http *h, const struct http_site *s, struct site **ret);
void site_free(struct site *s); /* NULL-safe */
void site_limit_time(struct site *s, int64_t query_time_ms);
/* Returns the site on whose socket a connection arrived. */
struct site *site_of(struct http *h, int fd);

#endif
