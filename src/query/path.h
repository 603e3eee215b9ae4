/* path.h - what a path of a query means: a stored column, or something derived. Private to the room. */
#ifndef DFTRACERD_QUERY_PATH_H
#define DFTRACERD_QUERY_PATH_H

#include "dftracerd/base.h"

enum path_kind {
    PATH_COLUMN, /* stored: `column`, and where a row has none of it `other`          */
    PATH_DUR,    /* the column dur, 0 where an X event has none                       */
    PATH_TE,     /* ts + dur, ts where there is no dur                                */
    PATH_HOST,
    PATH_FILE,
    PATH_CMD,
    PATH_EXEC,  /* names behind hashes                                 */
    PATH_RANK,  /* of the object's process                                           */
    PATH_TRACE, /* name of the trace file                                            */
    PATH_BUCKET /* made by query_source_bucket only                                  */
};
struct path_info {
    enum path_kind kind;
    struct text column,
        other;  /* other.len 0: none                                                 */
    bool time;  /* literals are microseconds or carry a unit of time                 */
    bool bytes; /* literals may carry a unit of size                                 */
    bool hash;  /* literals that are numbers mean the text of their digits           */
};
/* `path` is borrowed by ret, as is what is made in the arena. 0 or -ENOMEM. */
int path_resolve(struct text path, struct arena *arena, struct path_info *ret);

#endif
