/* value_text.h - one value as JSON, CSV or plain text. Private to the format module. */
#ifndef DFTRACERD_FORMAT_WRITER_VALUE_TEXT_H
#define DFTRACERD_FORMAT_WRITER_VALUE_TEXT_H

#include "dftracerd/format.h"

/* Writes a number, or a time in microseconds, in decimal. Returns its length; 0: it is no number.
 * `out` has VALUE_NUMBER_BYTES. */
enum { VALUE_NUMBER_BYTES = 64 };
size_t value_format_number(const struct value *v, char *out);
bool value_is_number(const struct value *v);
void value_json(struct buf *out, const struct value *v);
void value_csv(struct buf *out, const struct value *v); /* null: nothing */
/* Writes plain text: null as "-", control characters as \n or \u001b. */
void value_plain(struct buf *out, const struct value *v);
void csv_text(struct buf *out, struct text t);
/* Returns the number of columns a text takes: its code points. */
size_t text_width(struct text t);

#endif
