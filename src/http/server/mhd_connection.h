/* mhd_connection.h - what is known of a connection, between libmicrohttpd and its requests. Private
 * to http. Threads: that of libmicrohttpd which has the connection. */
#ifndef DFTRACERD_HTTP_SERVER_MHD_CONNECTION_H
#define DFTRACERD_HTTP_SERVER_MHD_CONNECTION_H

#include "http/server/connection.h"

#include <microhttpd.h>

/* NULL: there was no memory for it. */
struct connection *connection_of(struct MHD_Connection *c);
void connection_set_state(struct MHD_Connection *c, enum connection_state state);
/* Who asks, and what they may: found out once a connection, and again when other users are allowed,
 * or a certificate's time is over. Sets the request's viewer and client; no client: there was no
 * memory for one. */
enum access_role connection_meet(struct exchange *x, struct connection *known);

/* For MHD_OPTION_NOTIFY_CONNECTION, with a carrier: the socket is closed after the second call. */
void connection_notify(void *carrier, struct MHD_Connection *c, void **context,
                       enum MHD_ConnectionNotificationCode code);

#endif
