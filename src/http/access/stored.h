/* stored.h - questions that have a path of their own: /q/ID/NAME without parameters, for those who
 * can only open that.
 *
 * Who knows an id (128 bits at random) may ask that one question, without a token. The table is in
 * memory only: STORED_MOST questions, the oldest one makes room, and of one client that is no admin
 * STORED_SHARE; each is forgotten a fixed time after it was stored, however often it is used.
 * Threads: any. */
#ifndef DFTRACERD_HTTP_ACCESS_STORED_H
#define DFTRACERD_HTTP_ACCESS_STORED_H

#include "dftracerd/base.h"

#define STORED_MOST 256
#define STORED_SHARE 64
#define STORED_QUERY_MAX (64u << 10) /* bytes of a question */
#define STORED_UI "https://ui.perfetto.dev"

struct viewer;
struct stored_query {
    char id[33];
    const char *name;      /* of the file that it is to look like */
    const char *query;     /* "/aggregate?format=perfetto" */
    const char *ui;        /* that /open/ID hands it to */
    int64_t until_ns;      /* clock_mono_ns; then it is forgotten */
    struct hash128 owner;  /* of whose share it is; zero: nobody's */
    struct viewer *viewer; /* who stored it, and sees the answer */
};
struct stored;
struct stored *stored_new(int64_t life_ms); /* *new* or NULL */
void stored_free(struct stored *s);
/* 128 bits at random as 32 digits. 0, -EIO. */
int stored_random(char out[33]);
/* Copies the texts; fills in id and until_ns. -ENOMEM, -EIO: no random numbers. */
int stored_add(struct stored *s, struct stored_query *q);
/* A copy of all in the arena, with a reference to the viewer. ERR_NOT_FOUND, -ENOMEM. */
int stored_find(struct stored *s, struct text id, struct arena *arena, struct stored_query *ret);
/* Those of the same user (NULL: all): an array in the arena, the oldest first. `viewer` is NULL in
 * them. -ENOMEM. */
int stored_list(struct stored *s, const struct viewer *viewer, struct arena *arena,
                struct stored_query **ret, size_t *ret_count);

#endif
