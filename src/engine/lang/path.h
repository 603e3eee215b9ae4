/* path.h - resolves paths of a query to stored or derived columns. Private to the module. */
#ifndef DFTRACERD_ENGINE_LANG_PATH_H
#define DFTRACERD_ENGINE_LANG_PATH_H

#include "dftracerd/query.h"

enum path_kind {
    PATH_COLUMN, /* stored: `column`, or in rows where it is null `other` */
    PATH_TE,     /* ts + dur, or ts if there is no dur */
    PATH_BYTES,  /* the column bytes, without calls that covered.h excludes */
    PATH_HOST,
    PATH_FILE,
    PATH_CMD,
    PATH_EXEC,  /* names of hashes */
    PATH_RANK,  /* of the object's process */
    PATH_TRACE, /* name of the trace file */
    PATH_BUCKET /* made by query_source_bucket only */
};
struct path_info {
    enum path_kind kind;
    struct text column, other; /* see PATH_COLUMN; other.len 0: none */
    bool time;                 /* literals are microseconds or have a unit of time */
    bool number; /* a derived number; for PATH_COLUMN, the type depends on the values */
    bool bytes;  /* literals may have a unit of size */
    bool hash;   /* numbers in literals are compared as texts */
};
/* A row of the table in columns.c. */
struct known_column {
    struct query_column shown;
    enum path_kind kind;
    const char *stored; /* the stored column; NULL: computed */
};
/* Returns NULL if the table has no column of this name. */
const struct known_column *known_column(struct text name);
/* Returns true for names of derived columns, by which no field of a line can be selected. */
bool column_is_derived(struct text name);
/* Returns true for derived columns that are computed while indexing, and then stored: "size",
 * "bytes". */
bool column_is_computed(struct text stored);
/* Resolves a path. `ret` borrows from `path` and the arena. Returns 0 or -ENOMEM. */
int path_resolve(struct text path, struct arena *arena, struct path_info *ret);

#endif
