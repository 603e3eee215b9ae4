/* maker.h - makes the items of a cursor: one for each place that has selected rows.
 *
 * Used by:   read_ahead.h makes items in advance, pull.h has remote ranks make them, and serve.h
 *            makes them for rank 0. The answers that have items (lines, rows, shared text)
 *            implement struct item_maker.
 * Threads:   tools belong to one thread at a time; `make` and the other functions run on any
 *            thread, several at once.
 */
#ifndef DFTRACERD_ENGINE_CURSOR_MAKER_H
#define DFTRACERD_ENGINE_CURSOR_MAKER_H

#include "engine/scan/scan.h"

/* What a thread keeps from item to item. */
struct item_tools {
    struct scan_worker *scan;
    const struct index_file *file; /* the file whose text is open; NULL: none */
    struct trace_text *text;
    int fd;
};
void item_tools_free(struct item_tools *t); /* accepts NULL */
/* Closes the open text, if any. */
void item_tools_close_text(struct item_tools *t);
/* Sets *ret to the text of a file, which is opened unless it is open already; borrowed until
 * another one is opened. Returns 0, ERR_STALE, ERR_CORRUPT or -errno. */
int item_tools_text(struct item_tools *t, struct query *q, const struct index_file *file,
                    struct trace_text **ret);

struct item_maker {
    struct query *query;
    void *arg; /* passed to all functions */
    /* Sets *ret to a *new* item, or NULL if the place has none. */
    int (*make)(void *arg, struct item_tools *tools, size_t position, void **ret);
    void (*drop)(void *arg, void *item); /* frees an item */
    /* Both convert items to bytes and back, so that other processes can make them: the text of an
     * item, and the facts that the answer needs besides. If `text` is empty, encode may replace it
     * by the item's own text, stolen from the item; decode may steal the memory of `whole` unless
     * it is NULL. If encode is NULL, all items are made by this process, also those of chunks that
     * remote ranks have. */
    int (*encode)(void *arg, void *item, struct buf *text, struct buf *facts);
    int (*decode)(void *arg, size_t position, struct rec *facts, struct text text,
                  struct buf *whole, void **ret);
    bool read_text; /* items contain text of the file, so errors name the file */
    /* The file of a position, in the snapshot. NULL: positions are those of scan_places. */
    uint32_t (*file_of)(void *arg, size_t position);
};
/* Sets *ret to the item of a position. *tools: those of the thread; NULL: they are created, and
 * become owned by the caller, on errors, too. Returns 0, -ENOMEM or the error of `make`. */
int maker_make(const struct item_maker *m, struct item_tools **tools, size_t position, void **ret);
/* Stores to err why the item of a position could not be made. Returns the code to report. */
int maker_error(const struct item_maker *m, size_t position, int rc, struct err *err);

#endif
