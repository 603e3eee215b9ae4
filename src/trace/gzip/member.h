/* member.h - gzip members (RFC 1952) around deflate streams. */
#ifndef DFTRACERD_TRACE_GZIP_MEMBER_H
#define DFTRACERD_TRACE_GZIP_MEMBER_H

#include "trace/gzip/inflate.h"

#define MEMBER_HEADER_MAX (100u << 10) /* longer ones (unterminated names) are no headers */
#define MEMBER_TRAILER 8

/* Returns the length of the header at data (> 0), -EAGAIN if it does not end within `len`, or
 * ERR_CORRUPT if it is none. */
int member_parse_header(const uint8_t *data, size_t len);
/* Checks the 8 bytes after the deflate stream. */
bool member_trailer_fits(const uint8_t *trailer, uint32_t crc, uint64_t text_len);
/* Moves the input to the next four bytes that begin a header. Returns 1, or 0 at the current end of
 * the file. */
int member_find_magic(struct input *in);
/* Returns 1 if a member that can be inflated starts at `offset`, 0 if not, -EAGAIN if the file is
 * too short to decide. Moves the input and the stream. */
int member_probe(struct inflate *f, uint64_t offset);

#endif
