/* dimension.c - which paths have bloom filters. */
#include "store.h"

bool index_is_dimension(const struct index *ix, struct text path)
{
    for (unsigned i = 0; i < ix->dimension_count; i++)
        if (text_eq(path, text_of(ix->dimensions[i])))
            return true;
    return false;
}
