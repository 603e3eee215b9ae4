/* path.h - what a path of a query means: a stored column, or something derived. Private to the
 * room. */
#ifndef DFTRACERD_ENGINE_LANG_PATH_H
#define DFTRACERD_ENGINE_LANG_PATH_H

#include "dftracerd/query.h"

enum path_kind {
    PATH_COLUMN, /* stored: `column`, and where a row has none of it `other` */
    PATH_DUR,    /* the column dur, 0 where an X event has none */
    PATH_TE,     /* ts + dur, ts where there is no dur */
    PATH_BYTES,  /* the column bytes, but for calls that covered.h leaves out */
    PATH_HOST,
    PATH_FILE,
    PATH_CMD,
    PATH_EXEC,  /* names behind hashes */
    PATH_RANK,  /* of the object's process */
    PATH_TRACE, /* name of the trace file */
    PATH_BUCKET /* made by query_source_bucket only */
};
struct path_info {
    enum path_kind kind;
    struct text column, other; /* other.len 0: none */
    bool time;                 /* literals are microseconds or carry a unit of time */
    bool number; /* computed, and a number: not for PATH_COLUMN, where the values say */
    bool bytes;  /* literals may carry a unit of size */
    bool hash;   /* literals that are numbers mean the text of their digits */
};
/* A row of the table in columns.c. */
struct known_column {
    struct query_column shown;
    enum path_kind kind;
    const char *stored; /* the stored column; NULL: computed */
};
/* NULL: the table has none of this name. */
const struct known_column *known_column(struct text name);
/* A stored column that the index computes from others, so that no field of a line is in it: "size",
 * "bytes". */
bool column_is_computed(struct text stored);
/* A name that no field of a line can be selected by: it means what the index or queries compute. */
bool column_is_derived(struct text name);
/* `path` is borrowed by ret, as is what is made in the arena. 0 or -ENOMEM. */
int path_resolve(struct text path, struct arena *arena, struct path_info *ret);

#endif
