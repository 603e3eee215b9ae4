/* page.h - the endpoint /: the page for a person with a browser. */
#ifndef DFTRACERD_HTTP_PAGE_PAGE_H
#define DFTRACERD_HTTP_PAGE_PAGE_H

#include "http/request/endpoint.h"

extern const struct endpoint endpoint_page;

#endif
