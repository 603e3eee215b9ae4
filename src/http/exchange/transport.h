/* transport.h - what exchanges need of the connection that they are answered on: it can be left
 * alone until there is something for it. The server gives one table for all exchanges, once.
 */
#ifndef DFTRACERD_HTTP_EXCHANGE_TRANSPORT_H
#define DFTRACERD_HTTP_EXCHANGE_TRANSPORT_H

/* Both are called under the exchange's lock; `connection` is that of the exchange. */
struct transport {
    void (*suspend)(void *connection); /* on the connection's own thread */
    void (*resume)(void *connection);  /* one that is suspended; on any thread */
};

#endif
