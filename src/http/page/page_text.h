/* page_text.h - the built page, as bytes of the program; empty where it could not be built. See
 * web/build. Used by page.c. */
#ifndef DFTRACERD_HTTP_PAGE_PAGE_TEXT_H
#define DFTRACERD_HTTP_PAGE_PAGE_TEXT_H

extern const char page_html[], page_html_end[];
extern const char page_policy[]; /* its Content-Security-Policy, NUL-terminated */

#endif
