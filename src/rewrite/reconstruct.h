/* reconstruct.h - what the parts of /reconstruct share. */
#ifndef DFTRACERD_REWRITE_RECONSTRUCT_H
#define DFTRACERD_REWRITE_RECONSTRUCT_H

#include "rewrite/provenance.h"

#include "dftracerd/vec.h"

#define REPORT_NAME "reconstruct.json"

/* A file of a group, as the sidecar describes it. */
struct reconstruct_file {
    char *path;
    uint64_t lines, bytes; /* lines: of sources */
    struct hash128 hash;
    struct buf added; /* pairs: lines of sources, lines added */
    enum reconstruct_state {
        RECONSTRUCT_UNREAD,
        RECONSTRUCT_GOOD,
        RECONSTRUCT_CHANGED,
        RECONSTRUCT_MISSING
    } state;
};
/* The lines of a target, file after file. */
struct reconstruct_target {
    char *name;
    bool dropped;
    VEC(struct reconstruct_file) files;
    size_t at;  /* the file at hand */
    bool begun; /* ... and what follows is of it */
    int fd;
    struct trace_reader *reader; /* NULL: it cannot be read (any more) */
    uint64_t left;               /* lines of sources in it that were not needed yet */
    struct text added;           /* pairs to come */
    uint64_t since, adding;      /* the next pair */
    char *text;                  /* RECONSTRUCT_PIECE bytes */
    size_t from, len;
};
#define RECONSTRUCT_PIECE (256u << 10)
#define RECONSTRUCT_TARGET (RECONSTRUCT_PIECE + (512u << 10)) /* with what its reader holds */
struct reconstruct_source {
    char *name, *output;
    uint64_t bytes, written, missing_lines; /* written: bytes */
    struct hash128 hash;
    enum { RECONSTRUCT_DIFFERS, RECONSTRUCT_INCOMPLETE, RECONSTRUCT_PROVED } state;
    bool unproved, too_long;
};

struct reconstruct {
    int dir;
    struct archive *archive; /* in its place, or NULL */
    enum reconstruct_form form;
    struct outlet *outlet;
    struct budget *budget;
    struct charge charge;      /* for what grows with the sidecar */
    struct press *text, *gzip; /* files are written by either */
    struct reconstruct_target *targets;
    uint32_t target_count;
    VEC(struct reconstruct_source) sources;
    size_t source_at;                /* the one at hand, + 1 */
    struct intern *literals, *names; /* names: of sources, and of their outputs */
    struct provenance_reader *provenance;
    int provenance_fd;
    struct text runs;                          /* to come, of the record at hand */
    uint64_t run_what, run_literal, run_lines; /* what is left of a run */
    struct press_file *file;                   /* of the source at hand */
    struct hasher hasher;                      /* of its text */
    bool newline;                              /* of its last line: not written yet */
    bool complete;                             /* not, where manifest.json says "complete": false */
    uint64_t proved;                           /* sources */
    struct buf report;
};

/* reconstruct_files.c */
/* Of so many bytes; piece: RECONSTRUCT_PIECE bytes. 0, -errno, or why to stop. */
int reconstruct_hash_file(struct reconstruct *r, int fd, uint64_t bytes, char *piece,
                          struct hash128 *ret);
/* A regular file of what /organize has written. Descriptor, *new*, or -errno. */
int reconstruct_open_file(const struct reconstruct *r, const char *path);
/* reconstruct_open.c: the first reading of the sidecar; it is opened for the second then. */
int reconstruct_read_sidecar(struct reconstruct *r, struct err *err);
/* reconstruct_lines.c: hands the next lines of a target, at most so many, to write(); how many it
 * was is taken off *lines, and added to *missing where they are not to be had. -ENOMEM, -errno of
 * opening or reading a file that is there, or errors of write. */
int reconstruct_take_lines(struct reconstruct *r, struct reconstruct_target *t, uint64_t *lines,
                           uint64_t *missing, struct err *err);
/* reconstruct_text.c: text of the source at hand. The last '\n' waits: perhaps the line had
 * none. */
struct reconstruct_source *reconstruct_current_source(struct reconstruct *r);
int reconstruct_end_line(struct reconstruct *r, struct err *err);
int reconstruct_write_text(struct reconstruct *r, struct text text, struct err *err);
/* reconstruct_report.c: into r->report, and as the last file. */
int reconstruct_write_report(struct reconstruct *r, struct err *err);

#endif
