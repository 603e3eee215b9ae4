/* mhd_connection.h - the state of a connection, between libmicrohttpd and its requests. Private to
 * http. Threads: the libmicrohttpd thread that has the connection. */
#ifndef DFTRACERD_HTTP_SERVER_MHD_CONNECTION_H
#define DFTRACERD_HTTP_SERVER_MHD_CONNECTION_H

#include "http/server/connection.h"

#include <microhttpd.h>

/* Returns NULL if there was no memory for it. */
struct connection *connection_of(struct MHD_Connection *c);
void connection_set_state(struct MHD_Connection *c, enum connection_state state);
/* Determines the peer and its role, once for each connection, and again after a reload of the
 * allowed users or when a certificate has expired. Sets the request's viewer and client; without
 * memory the client is NULL. */
enum access_role connection_identify(struct exchange *x, struct connection *connection);

/* For MHD_OPTION_NOTIFY_CONNECTION, with an I/O thread; the socket is closed after the second
 * call. */
void connection_notify(void *io_thread, struct MHD_Connection *c, void **context,
                       enum MHD_ConnectionNotificationCode code);

#endif
