/* info.h - the files of /info, one by one. */
#ifndef DFTRACERD_ANSWER_SMALL_INFO_H
#define DFTRACERD_ANSWER_SMALL_INFO_H

#include "dftracerd/info.h"

/* info_file_begin allocates info.file (returns 0 or -ENOMEM). info_file_item sets it to the i-th
 * file, and returns it: for MEMBER_ITEMS with the type info_file_type. info_file_end frees what
 * it refers to. */
extern const struct object_type info_file_type;
int info_file_begin(struct info *i);
const void *info_file_item(const void *info, size_t i);
void info_file_end(struct info *i);

#endif
