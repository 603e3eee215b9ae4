/* stored.h - questions that have a path of their own: /q/ID/NAME without parameters, for those who can only open that.
 *
 * Who knows an id (128 bits at random) may ask that one question, without a token. The table is in memory only: STORED_MOST
 * questions, the one that nobody used for the longest time makes room; each is forgotten STORED_SECONDS after its last use.
 * Threads: any. */
#ifndef DFT_HTTP_STORED_H
#define DFT_HTTP_STORED_H

#include "endpoint.h"

#define STORED_MOST 256
#define STORED_SECONDS 3600
#define STORED_QUERY_MAX (64u << 10) /* bytes of a question */
#define STORED_UI "https://ui.perfetto.dev"

struct stored_query {
    char id[33];
    const char *name;                /* of the file that it is to look like */
    const char *query;               /* "/aggregate?format=perfetto"        */
    const char *ui;                  /* that /open/ID hands it to           */
    int64_t used_ns;                 /* clock_mono_ns                       */
    struct viewer *viewer;           /* who stored it, and sees the answer  */
};
struct stored;
struct stored *stored_new(void);     /* *new* or NULL */
void stored_free(struct stored *s);
/* 128 bits at random as 32 digits. 0, -EIO. */
int stored_random(char out[33]);
/* Copies the texts; fills in id and used_ns. -ENOMEM, -EIO: no random numbers. */
int stored_add(struct stored *s, struct stored_query *q);
/* A copy of all in the arena, which counts as a use; with a reference to the viewer. ERR_NOT_FOUND, -ENOMEM. */
int stored_find(struct stored *s, struct text id, struct arena *arena, struct stored_query *ret);
/* Those of the same user (NULL: all), without using them: an array in the arena, the oldest use first. `viewer` is NULL in
 * them. -ENOMEM. */
int stored_list(struct stored *s, const struct viewer *viewer, struct arena *arena, struct stored_query **ret, size_t *ret_count);

#endif
