/* view_maker.h - what makes the items of an answer: one of each place.
 *
 * Used by:   view_ahead.h, view_pull.h and view_serve.h, which make them ahead, have them made by
 *            other ranks, and make them for rank 0. Made by view.c, rows.c, share.c.
 * Threads:   tools belong to one thread at a time; `make` and all others run on any thread, several
 *            at once.
 */
#ifndef DFTRACERD_ANSWER_LINES_VIEW_MAKER_H
#define DFTRACERD_ANSWER_LINES_VIEW_MAKER_H

#include "engine/scan/scan.h"

/* What a worker keeps from item to item. */
struct ahead_tools {
    struct scan_worker *scan;
    const struct index_file *file; /* whose text is open, NULL = none */
    struct trace_text *text;
    int fd;
};
int tools_new(struct query *q, struct ahead_tools **ret);
void tools_free(struct ahead_tools *t); /* NULL is fine */
/* What is open after an error must not be used again. NULL-safe towards no open text. */
void tools_close_text(struct ahead_tools *t);
/* Text of this file, opened if another one was. ERR_STALE, ERR_CORRUPT, -errno. */
int tools_text(struct ahead_tools *t, struct query *q, const struct index_file *file,
               struct trace_text **ret);

struct ahead_maker {
    struct query *query;
    void *arg;
    /* *ret NULL: nothing there */
    int (*make)(void *arg, struct ahead_tools *tools, size_t position, void **ret);
    void (*drop)(void *arg, void *item);
    /* An item as bytes, and made of them by another process: its text, and what else answers need
     * of it. They may take the memory of the text: encode the item's where `text` is empty, decode
     * `whole` where it is not NULL and has nothing else. NULL: items are made here, also those of
     * chunks that other ranks have. */
    int (*encode)(void *arg, void *item, struct buf *text, struct buf *facts);
    int (*decode)(void *arg, size_t position, struct rec *facts, struct text text,
                  struct buf *whole, void **ret);
    bool read_text; /* the items need text: errors name the file */
    /* in the snapshot; NULL: positions are those of scan_places */
    uint32_t (*file_of)(void *arg, size_t position);
};
/* Says why the item of a position could not be made. */
int maker_explain(const struct ahead_maker *m, size_t position, int rc, struct err *err);

#endif
