/* deliver.c - passes packets that have arrived to the threads that handle them. */
#include "cluster/transport.h"

static void handle_message(void *arg)
{
    struct packet *p = arg;
    struct cluster *c = p->cluster;

    c->handler.message(c->handler.arg, p->peer, packet_text(p));
    packet_free(p);
    atomic_fetch_sub(&c->unhandled, 1);
}

static void handle_request(void *arg)
{
    struct packet *p = arg;
    struct cluster *c = p->cluster;
    struct buf answer = {0};

    int rc = c->handler.request(c->handler.arg, p->peer, packet_text(p), &answer);
    packet_answer(p, rc, &answer);
    outbox_add(p);
}

static void deliver_message(struct packet *p)
{
    struct cluster *c = p->cluster;

    c->received++;
    if (!c->messages) {
        packet_free(p);
        return;
    }
    atomic_fetch_add(&c->unhandled, 1);
    if (pool_submit(c->messages, handle_message, p) < 0)
        out_of_memory(c, p->len, "a message");
}

static void deliver_request(struct packet *p)
{
    struct cluster *c = p->cluster;
    struct buf none = {0};

    int rc = c->requests ? pool_submit(c->requests, handle_request, p) : -EPIPE;
    if (rc < 0) {
        packet_answer(p, rc, &none);
        outbox_add(p);
    }
}

void packet_deliver(struct packet *p)
{
    switch ((enum packet_kind)packet_trailer(p).kind) {
    case PACKET_MESSAGE:
        deliver_message(p);
        break;
    case PACKET_REQUEST:
        deliver_request(p);
        break;
    case PACKET_ANSWER:
        request_answered(p);
        break;
    case PACKET_ALIVE:
        p->cluster->received++;
        p->cluster->peers[p->peer].leaves = packet_trailer(p).status;
        packet_free(p);
        break;
    }
}
