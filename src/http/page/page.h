/* page.h - the endpoint /: the page for browsers. */
#ifndef DFTRACERD_HTTP_PAGE_PAGE_H
#define DFTRACERD_HTTP_PAGE_PAGE_H

#include "http/request/endpoint.h"

extern const struct endpoint endpoint_page;

#endif
