/* reconstruct.h - declarations that the parts of /reconstruct share. */
#ifndef DFTRACERD_REWRITE_RECONSTRUCT_H
#define DFTRACERD_REWRITE_RECONSTRUCT_H

#include "rewrite/provenance.h"
#include "rewrite/transform.h"

#include "dftracerd/vec.h"

#define REPORT_NAME "reconstruct.json"

/* A file of a group, as the sidecar describes it. */
struct reconstruct_file {
    char *path;
    uint64_t lines, bytes; /* lines: lines from sources */
    struct hash128 hash;
    struct buf added; /* pairs: number of lines from sources, number of added lines */
    enum reconstruct_state {
        RECONSTRUCT_UNREAD,
        RECONSTRUCT_GOOD,
        RECONSTRUCT_CHANGED,
        RECONSTRUCT_MISSING
    } state;
};
/* A target, whose lines are read file after file. */
struct reconstruct_target {
    char *name;
    bool dropped;
    VEC(struct reconstruct_file) files;
    size_t at;  /* the current file */
    bool begun; /* the next members are of the current file */
    int fd;
    struct trace_reader *reader; /* NULL if the file cannot be read */
    uint64_t left;               /* lines from sources that have not been used yet */
    struct rec added;            /* pairs that have not been used yet */
    uint64_t since, adding;      /* the current pair */
    char *text;                  /* buffer of RECONSTRUCT_PIECE bytes */
    size_t from, len;
};
#define RECONSTRUCT_PIECE (256u << 10)
/* including the memory of its reader */
#define RECONSTRUCT_TARGET (RECONSTRUCT_PIECE + (512u << 10))
struct reconstruct_source {
    char *name, *output;
    uint64_t bytes, written, missing_lines; /* written: bytes that were written */
    struct hash128 hash;
    enum { RECONSTRUCT_DIFFERS, RECONSTRUCT_INCOMPLETE, RECONSTRUCT_PROVED } state;
    bool unproved, too_long;
};

struct reconstruct {
    struct transform base;
    int dir;
    struct archive *archive; /* read instead of `dir`, or NULL */
    enum reconstruct_form form;
    struct compressor *text, *gzip; /* each file is written by one of them */
    struct reconstruct_target *targets;
    uint32_t target_count;
    VEC(struct reconstruct_source) sources;
    size_t source_at;                /* the current source, + 1 */
    struct intern *literals, *names; /* names: names of sources, and of their outputs */
    struct provenance_reader *provenance;
    int provenance_fd;
    struct rec runs;                           /* rest of the current record */
    uint64_t run_what, run_literal, run_lines; /* rest of the current run */
    struct compressor_file *file;              /* output of the current source */
    struct hasher hasher;                      /* hash of its text */
    bool newline;    /* the end of its last line has not been written yet */
    uint64_t proved; /* number of proved sources */
};

/* reconstruct_files.c */
/* Hashes the first `bytes` of a file; piece: RECONSTRUCT_PIECE bytes. Returns 0, -errno, or the
 * error of the budget. */
int reconstruct_hash_file(struct reconstruct *r, int fd, uint64_t bytes, char *piece,
                          struct hash128 *ret);
/* Opens a regular file that /organize has written. Returns a *new* descriptor, or -errno. */
int reconstruct_open_file(const struct reconstruct *r, const char *path);
/* reconstruct_open.c: reads the sidecar for the first time, and opens it for the second. */
int reconstruct_read_sidecar(struct reconstruct *r, struct err *err);
/* reconstruct_lines.c: writes the next lines of a target, at most *lines. Subtracts their number
 * from *lines, and adds it to *missing if they are not available. Returns 0, -ENOMEM, -errno of an
 * existing file, the error of the budget, or errors of writing. */
int reconstruct_take_lines(struct reconstruct *r, struct reconstruct_target *t, uint64_t *lines,
                           uint64_t *missing, struct err *err);
/* Writes text of the current source but for its last '\n', which is held back until more text
 * follows or reconstruct_end_line: the last line may have none. */
int reconstruct_write_text(struct reconstruct *r, struct text text, struct err *err);
int reconstruct_end_line(struct reconstruct *r, struct err *err);
/* reconstruct_open.c: sets "provenance.zst is corrupt: <what>"; returns ERR_CORRUPT. */
int reconstruct_corrupt(struct err *err, const char *what);

#endif
