/* column_hash.c - hashes of values for bloom filters. */
#include "column/chunk/column_hash.h"

uint64_t column_hash_i64(int64_t v)
{
    char out[32];
    return text_hash((struct text){out, num_format_i64(v, out)});
}

uint64_t column_hash_f64(double v)
{
    char out[64];
    return text_hash((struct text){out, num_format_double(v, out)});
}

uint64_t column_hash_bool(bool v)
{
    return text_hash(v ? TEXT("true") : TEXT("false"));
}

uint64_t column_hash_entry(const struct column_entry *e)
{
    switch (e->type) {
    case TRACE_INT:
        return column_hash_i64(e->i);
    case TRACE_DOUBLE:
        return column_hash_f64(e->d);
    case TRACE_BOOL:
        return column_hash_bool(e->i != 0);
    default:
        return text_hash(e->text);
    }
}
