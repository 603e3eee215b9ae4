/* vector.c - values of vectors. */
#include "dftracerd/table.h"

int vector_value(const struct vector *v, size_t i, struct value *ret)
{
    *ret = (struct value){.type = VALUE_NULL};
    if (v->valid && !(v->valid[i / 64] >> i % 64 & 1))
        return 0;
    switch (v->kind) {
    case VECTOR_CODE:
        return v->value(v->arg, v->keys[v->codes[i]], ret);
    case VECTOR_UINT:
        *ret = (struct value){.type = VALUE_UINT, .u = (uint64_t)v->i[i]};
        break;
    case VECTOR_US:
        *ret = (struct value){.type = VALUE_TIME, .wide = (__int128)v->i[i] * 1000};
        break;
    case VECTOR_NS:
        *ret = (struct value){.type = VALUE_TIME, .wide = v->i[i]};
        break;
    case VECTOR_DOUBLE:
        *ret = (struct value){.type = VALUE_DOUBLE, .d = v->d[i]};
        break;
    default:
        *ret = (struct value){.type = VALUE_INT, .i = v->i[i]};
        break;
    }
    return 0;
}
