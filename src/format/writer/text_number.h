/* text_number.h - numbers in text formats: fixed digits, thousands, units. Private to the format
 * module. */
#ifndef DFTRACERD_FORMAT_WRITER_TEXT_NUMBER_H
#define DFTRACERD_FORMAT_WRITER_TEXT_NUMBER_H

#include "format/writer/value_text.h"

/* Writes `digits` digits after the decimal point; "-" for null. Exact for integers and
 * for times of whole microseconds; other times are rounded as doubles. */
void put_fixed(struct buf *out, const struct value *v, unsigned digits);
void put_commas(struct buf *out, uint64_t u);   /* 1,234,567 */
void put_size(struct buf *out, uint64_t bytes); /* 1.25 MB (1310720 bytes) */
void put_spaces(struct buf *out, size_t n);
void put_ruler(struct buf *out); /* a line of 80 '=' */
/* Appends `text`, padded to the width on the left (width > 0) or on the right (width < 0). */
void put_padded(struct buf *out, struct text text, int width);
/* Frees a text whose parts were appended to `out`, which gets its memory error. */
void put_done(struct buf *out, struct buf *text);

#endif
