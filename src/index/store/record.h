/* record.h - records of the store as tables of fields: one list of rows, in the order of the stored
 * bytes, says how a struct is encoded, decoded, checked and printed.
 *
 *     #define OBJECT struct rectangle
 *     static const struct record_field fields[] = {FIELD(width), FIELD(height), {0}};
 *     #undef OBJECT
 *
 * May use:   texts, recbuf. Used by: the rest of src/index.
 * Threads:   any; pure.
 */
#ifndef DFTRACERD_INDEX_STORE_RECORD_H
#define DFTRACERD_INDEX_STORE_RECORD_H

#include "index/store/texts.h"

#include <stddef.h>

enum record_kind {
    RECORD_END,
    RECORD_UINT, /* unsigned or enum of 1, 4 or 8 bytes; a double as its bits; limited by `max` */
    RECORD_BOOL,
    RECORD_INT, /* int64_t; printed as null if it is INT64_MIN */
    RECORD_I128,
    RECORD_STRING,  /* const char *; an empty one is decoded as NULL */
    RECORD_TEXT,    /* decoded with a NUL at its end */
    RECORD_TEXT_ID, /* uint32_t: INDEX_NO_TEXT, or a text of `texts` (texts_put_ref) */
    RECORD_STRUCT,  /* rows of `of`; without name and offset, they are of the struct itself */
    /* Pointer to structs of `item_size`. The uint32_t at `count_at` is their number, or `max` if
     * that is less and not 0. */
    RECORD_LIST,
    /* The next `rows` rows share one number. Each has `bits` bits of it, the first row the lowest;
     * the last row has the rest. */
    RECORD_BITS,
    RECORD_IF /* the next `rows` rows are present only if this bool or uint64_t is not 0 */
};
struct record_field {
    const char *name;
    uint8_t kind, size, bits, rows;
    uint16_t offset, item_size, count_at;
    uint64_t max; /* 0: limited by `size` bytes */
    const struct record_field *of;
};
#define FIELD_TYPED(kind_, member, ...) \
    { \
        .name = #member, .kind = kind_, .size = sizeof(((OBJECT *)0)->member), \
        .offset = offsetof(OBJECT, member), ##__VA_ARGS__ \
    }
/* A row of OBJECT; further members are designated: `.max = 3`. */
#define FIELD(member, ...) \
    FIELD_TYPED(_Generic(((OBJECT *)0)->member, \
                bool: RECORD_BOOL, \
                int64_t: RECORD_INT, \
                __int128: RECORD_I128, \
                unsigned __int128: RECORD_I128, \
                const char *: RECORD_STRING, \
                struct text: RECORD_TEXT, \
                default: RECORD_UINT), \
                member, ##__VA_ARGS__)
#define FIELD_TEXT_ID(member) FIELD_TYPED(RECORD_TEXT_ID, member)
#define FIELD_STRUCT(member, of_) FIELD_TYPED(RECORD_STRUCT, member, .of = of_)
#define FIELD_LIST(member, count, of_, ...) \
    FIELD_TYPED(RECORD_LIST, member, .count_at = offsetof(OBJECT, count), .of = of_, \
                .item_size = sizeof(*((OBJECT *)0)->member), ##__VA_ARGS__)
#define FIELD_BITS(rows_) \
    { \
        .kind = RECORD_BITS, .rows = rows_ \
    }
#define FIELD_IF(member, rows_) FIELD_TYPED(RECORD_IF, member, .rows = rows_)

void record_encode(const struct record_field *fields, const void *object, const struct texts *texts,
                   struct buf *out);
/* Decodes a record. Members without a row keep their values. A corrupt record sets r->bad, and
 * values are then 0; so does lack of memory for a text id (rec_error). The arena, which owns
 * strings and lists, keeps an error if memory is short. It may be NULL if there are none. */
void record_decode(const struct record_field *fields, struct rec *r, struct texts *texts,
                   struct arena *arena, void *object);
/* Prints `format`, where "{member}" is replaced by its value and "{member.member}" by that of a
 * RECORD_STRUCT. "[...]" is left out if the first member in it is below a RECORD_IF whose condition
 * is false. */
void record_print(const struct record_field *fields, const void *object, const struct texts *texts,
                  const char *format, struct buf *out);
void record_print_text(struct text t, struct buf *out); /* in quotes; control bytes as \xNN */

#endif
