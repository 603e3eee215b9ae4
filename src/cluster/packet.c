/* packet.c - bytes with their trailer. */
#include "cluster/transport.h"

#include <stdlib.h>
#include <string.h>

/* Creates one of several packets that share their bytes. */
static struct packet *packet_sharing(struct cluster *c, unsigned peer, const struct buf *bytes,
                                     unsigned *uses)
{
    struct packet *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    ++*uses;
    p->uses = uses;
    p->bytes = bytes->data;
    p->len = bytes->len;
    p->cluster = c;
    p->peer = peer;
    p->mpi = MPI_REQUEST_NULL;
    return p;
}

struct packet *packets_new(struct cluster *c, const unsigned *peers, unsigned count,
                           struct buf *bytes, struct trailer t)
{
    unsigned *uses = calloc(1, sizeof(*uses)), made = 0;
    struct packet *list = NULL, **end = &list;

    buf_append(bytes, &t, sizeof(t));
    while (uses && !bytes->error && made < count &&
           (*end = packet_sharing(c, peers[made], bytes, uses)) != NULL) {
        end = &(*end)->next;
        made++;
    }
    if (made == 0) {
        free(uses);
        buf_done(bytes);
    }
    *bytes = (struct buf){0};
    if (made == count)
        return list;
    packets_free(list);
    return NULL;
}

void packets_free(struct packet *list)
{
    for (struct packet *next; list; list = next) {
        next = list->next;
        packet_free(list);
    }
}

void packet_free(struct packet *p)
{
    if (!p)
        return;
    if (!p->uses || --*p->uses == 0) {
        free(p->bytes);
        free(p->uses);
    }
    free(p);
}

struct trailer packet_trailer(const struct packet *p)
{
    struct trailer t;

    memcpy(&t, p->bytes + p->len - sizeof(t), sizeof(t));
    return t;
}

struct text packet_text(const struct packet *p)
{
    return (struct text){p->bytes, p->len - sizeof(struct trailer)};
}

void packet_answer(struct packet *p, int status, struct buf *answer)
{
    struct trailer t = packet_trailer(p);

    t.kind = PACKET_ANSWER;
    if (status == 0)
        buf_append(answer, &t, sizeof(t));
    t.status = status ? status : answer->error;
    if (t.status == 0) {
        free(p->bytes);
        p->bytes = answer->data;
        p->len = answer->len;
        *answer = (struct buf){0};
    } else { /* the request had a trailer, too, so its memory is large enough */
        memcpy(p->bytes, &t, sizeof(t));
        p->len = sizeof(t);
        buf_done(answer);
    }
    p->sent = 0;
}
