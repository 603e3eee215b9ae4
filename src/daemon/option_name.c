/* option_name.c - checks that options name hosts and origins as HTTP clients would send them. */
#include "daemon/option_table.h"

#include <ctype.h>
#include <string.h>

static bool is_host_name(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && !strchr("-._~", s[i]))
            return false;
    return n > 0;
}

/* Returns the length of "name", "1.2.3.4" or "[v6]" at the start of s, or 0. */
static size_t host_at(const char *s)
{
    if (*s == '[') {
        size_t n = 1 + strspn(s + 1, "0123456789abcdefABCDEF:.");
        return n > 3 && s[n] == ']' ? n + 1 : 0;
    }
    size_t n = strcspn(s, ":/");
    return is_host_name(s, n) ? n : 0;
}

const char *option_check_host(const char *value)
{
    size_t n = host_at(value);
    if (n && !value[n])
        return NULL;
    return "must be a host name only, as in the URLs of clients: no port, and an IPv6 address in "
           "brackets";
}

/* Returns the default port of a scheme, or NULL for others than http and https. */
static const char *default_port(const char *scheme, size_t n)
{
    return n == 4 && memcmp(scheme, "http", 4) == 0    ? ":80"
           : n == 5 && memcmp(scheme, "https", 5) == 0 ? ":443"
                                                       : NULL;
}

/* Browsers send http and https origins in lower case and without the default port. Other schemes
 * have no such rules: returns true for them. */
static bool is_normal_form(const char *scheme, size_t n, const char *host, const char *port)
{
    const char *implied = default_port(scheme, n);
    if (!implied)
        return true;
    for (; *host && host != port; host++)
        if (isupper((unsigned char)*host))
            return false;
    return !port || strcmp(port, implied) != 0;
}

/* Returns whether `*.domain` is allowed: only for http and https, not for a single label such as
 * "com", and not for an IP address. */
static bool may_be_wildcard(const char *scheme, size_t n, const char *domain, size_t length)
{
    const char *dot = memrchr(domain, '.', length);
    bool empty = memmem(domain, length, "..", 2) || domain[0] == '.' || domain[length - 1] == '.';
    return default_port(scheme, n) && dot && !empty && !isdigit((unsigned char)dot[1]);
}

const char *option_check_origin(const char *value)
{
    static const char why[] =
        "must be an origin as browsers send it: scheme://host or scheme://host:port, in lower "
        "case, without a path or the default port; or https://*.example.org for all names below "
        "example.org";
    size_t scheme = strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789+-.");
    if (strcmp(value, "null") == 0)
        return NULL;
    if (!scheme || strncmp(value + scheme, "://", 3) != 0)
        return why;
    const char *host = value + scheme + 3;
    bool below = strncmp(host, "*.", 2) == 0;
    host += below ? 2 : 0;
    size_t n = host_at(host);
    if (below && (!n || !may_be_wildcard(value, scheme, host, n)))
        return why;
    const char *port = host[n] == ':' ? host + n : NULL;
    bool good = n && (port ? port[1] && !port[1 + strspn(port + 1, "0123456789")] : !host[n]);
    return good && is_normal_form(value, scheme, host, port) ? NULL : why;
}
