/* schema_other.c - the paths that a chunk stores in "@other". */
#include "engine/derived/members.h"
#include "engine/lang/path.h"
#include "answer/small/schema.h"

#include <errno.h>

int schema_other(struct columns_seen *cs, struct text object, uint64_t rows)
{
    struct arena arena = {0};
    struct members m = {object.ptr, object.ptr + object.len, &arena};
    struct text path, value;
    int rc = 0;

    while (rc == 0 && members_next(&m, &path, &value)) {
        struct column_entry e;
        struct column_seen *seen;
        /* A field with the name of a derived column cannot be selected: the name means that column.
 */
        if (column_is_derived(path) || !members_entry(&m, value, &e))
            continue;
        rc = columns_find(cs, path, &seen);
        if (rc < 0)
            break;
        seen->rows += rows;
        rc = seen_entry(seen, &e, cs->budget);
    }
    rc = rc < 0 ? rc : arena.error;
    arena_done(&arena);
    return rc;
}
