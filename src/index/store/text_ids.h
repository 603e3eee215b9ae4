/* text_ids.h - translates text ids of another process: its texts are sent once each, in the order
 * of their ids, before any message that refers to them.
 *
 * May use:   texts. Used by: the rest of src/index.
 * Threads:   text_ids_decode: one; text_ids_get: any.
 */
#ifndef DFTRACERD_INDEX_STORE_TEXT_IDS_H
#define DFTRACERD_INDEX_STORE_TEXT_IDS_H

#include "index/store/texts.h"

struct text_ids;
struct text_ids *text_ids_new(void); /* *new* or NULL */
void text_ids_free(struct text_ids *ids);
/* Returns the id in this process; INDEX_NO_TEXT if the text was not sent. */
uint32_t text_ids_get(const struct text_ids *ids, uint32_t id);
/* Encodes the texts of the store from id `from` on. Returns the id that comes next. */
uint32_t text_ids_encode(const struct texts *t, uint32_t from, struct buf *out);
/* Decodes texts, and adds them to those of this process. Returns 0, ERR_CORRUPT (also if texts
 * before them are missing) or -ENOMEM. */
int text_ids_decode(struct text_ids *ids, struct texts *here, struct rec *r);

#endif
