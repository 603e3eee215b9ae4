/* packet.c - bytes with their trailer. */
#include "cluster/transport.h"

#include <stdlib.h>
#include <string.h>

struct packet *packet_new(struct cluster *c, unsigned peer, struct text bytes, struct trailer t)
{
    struct packet *p = calloc(1, sizeof(*p));

    if (!p || bytes.len > SIZE_MAX - sizeof(t) || !(p->bytes = malloc(bytes.len + sizeof(t)))) {
        free(p);
        return NULL;
    }
    if (bytes.len)
        memcpy(p->bytes, bytes.ptr, bytes.len);
    memcpy(p->bytes + bytes.len, &t, sizeof(t));
    p->len = bytes.len + sizeof(t);
    p->cluster = c;
    p->peer = peer;
    p->mpi = MPI_REQUEST_NULL;
    return p;
}

void packet_free(struct packet *p)
{
    if (!p)
        return;
    free(p->bytes);
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
    } else { /* the request had a trailer, too, so there is memory for this one */
        memcpy(p->bytes, &t, sizeof(t));
        p->len = sizeof(t);
        buf_done(answer);
    }
    p->sent = 0;
}
