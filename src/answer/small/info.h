/* info.h - shared by the files that make /info. */
#ifndef DFTRACERD_ANSWER_SMALL_INFO_H
#define DFTRACERD_ANSWER_SMALL_INFO_H

#include "dftracerd/info.h"

/* The type of struct info_file; it writes i->file. */
extern const struct object_type info_file_type;
int info_file_begin(struct info *i); /* returns 0 or -ENOMEM */
const void *info_file_item(const void *info, size_t i);
void info_file_end(struct info *i);

#endif
