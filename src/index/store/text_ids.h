/* text_ids.h - what the ids of another process's texts are here: its texts are sent once each, in
 * the order of their ids, ahead of what refers to them.
 *
 * May use:   texts. Used by: the rest of src/index.
 * Threads:   text_ids_take: one; text_ids_get: any.
 */
#ifndef DFTRACERD_INDEX_STORE_TEXT_IDS_H
#define DFTRACERD_INDEX_STORE_TEXT_IDS_H

#include "index/store/texts.h"

struct text_ids;
struct text_ids *text_ids_new(void); /* *new* or NULL */
void text_ids_free(struct text_ids *ids);
/* INDEX_NO_TEXT: it was not sent. */
uint32_t text_ids_get(const struct text_ids *ids, uint32_t id);
/* Texts of the store from id `from` on; the id that comes next. */
uint32_t text_ids_put(const struct texts *t, uint32_t from, struct buf *out);
/* Reads them, and gives them ids here. 0, ERR_CORRUPT: not the next ones; -ENOMEM. */
int text_ids_take(struct text_ids *ids, struct texts *here, struct rec *r);

#endif
