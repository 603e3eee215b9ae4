/* member.h - gzip members (RFC 1952) around deflate streams. */
#ifndef DFTRACERD_TRACE_GZIP_MEMBER_H
#define DFTRACERD_TRACE_GZIP_MEMBER_H

#include "trace/gzip/inflate.h"

#define MEMBER_HEADER_MAX (100u << 10) /* longer ones (names without end) are no headers */
#define MEMBER_TRAILER 8

/* Length of the header at data (> 0), -EAGAIN when it goes on behind `len`, ERR_CORRUPT when it is
 * none. */
int member_parse_header(const uint8_t *data, size_t len);
/* Checks the 8 bytes behind the deflate stream. */
bool member_trailer_fits(const uint8_t *trailer, uint32_t crc, uint64_t text_len);
/* Next place that has the first four bytes of a header: 1, or 0 at the present end of the file. */
int member_find_magic(struct input *in);
/* Whether a member that really inflates starts at `offset`: 1, 0, or -EAGAIN when the file is too
 * short to say. Moves the input and the stream. */
int member_probe(struct inflate *f, uint64_t offset);

#endif
