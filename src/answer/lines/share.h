/* share.h - the text of a piece of a file, divided into units that each belong to one target.
 *
 * A piece is a chunk of the index, or text in no chunk (lines that were skipped as invalid).
 * Threads divide pieces in advance (share_cut.c); one thread returns them in order (share.c).
 */
#ifndef DFTRACERD_ANSWER_LINES_SHARE_H
#define DFTRACERD_ANSWER_LINES_SHARE_H

#include "answer/lines/lines.h"
#include "dftracerd/share.h"
#include "dftracerd/vec.h"

#define SHARE_NO_CHUNK UINT32_MAX
struct share_place {
    uint32_t file,
        chunk;       /* positions in the snapshot and in index_file.chunks, or SHARE_NO_CHUNK */
    uint64_t offset; /* in the text of the file */
    uint32_t len;
    bool ends_file;
};

enum share_kind { SHARE_DATA, SHARE_RECORD, SHARE_OTHER };
struct share_unit {
    uint32_t from;  /* in the text of the piece; it ends where the next unit begins */
    uint32_t lines; /* that end in it, including one for `cut` */
    uint32_t of;    /* DATA: reference group; RECORD: row of the chunk */
    uint16_t target;
    uint8_t kind;
    bool cut; /* a whole line, but without '\n' at its end */
};
struct share_piece {
    struct share_place place;
    const struct index_file *file;
    char *text;
    size_t cap; /* of text */
    uint32_t len;
    VEC(struct share_unit) units; /* one more is after the last; its `from` is len */
    struct lines_group *groups;   /* of references */
    uint32_t group_count;
    struct arena arena; /* of groups */
    struct charge charge;
    /* While it is made, by row: position and length in the text, reference group, target, class. */
    uint32_t rows;
    uint32_t *start, *object_len, *group;
    uint16_t *target;
    uint8_t *class;
};

#define SHARE_SPARE 3 /* pieces that are kept for reuse */
struct share_plan {
    struct query *all;
    struct query *const *groups;
    uint32_t group_count;
    struct lines_plan lines; /* for reference groups */
    const struct share_place *places;
    pthread_mutex_t lock; /* guards what follows: dropped pieces, whose memory is reused */
    struct share_piece *spare[SHARE_SPARE];
    unsigned spare_count;
    VEC(struct share_tools *) idle;
};
int share_plan_init(struct share_plan *p, const struct share_options *o);
void share_plan_done(struct share_plan *p); /* also after a failed init */
/* Functions of struct item_maker; arg is the plan, positions are indexes in plan.places. */
int share_piece_make(void *plan, struct item_tools *tools, size_t position, void **ret);
void share_piece_drop(void *plan, void *piece);
uint32_t share_piece_file(void *plan, size_t position);

#endif
