/* transport.h - what exchanges need from a connection: it can be suspended until there is something
 * to send. The server provides one table for all exchanges. */
#ifndef DFTRACERD_HTTP_EXCHANGE_TRANSPORT_H
#define DFTRACERD_HTTP_EXCHANGE_TRANSPORT_H

/* Both are called under the exchange's lock; `connection` is the field of the exchange. */
struct transport {
    void (*suspend)(void *connection); /* on the connection's own thread */
    void (*resume)(void *connection);  /* of a suspended connection, on any thread */
};

#endif
