/* organize.h - what the parts of /organize share: groups with their files in the making, and what
 * is told of them. */
#ifndef DFTRACERD_REWRITE_ORGANIZE_H
#define DFTRACERD_REWRITE_ORGANIZE_H

#include "dftracerd/share.h"
#include "dftracerd/vec.h"
#include "rewrite/provenance.h"

#define ORGANIZE_REST "_rest"

/* A file of a group. Its bytes and hash are known when the press has written it. */
struct organize_file {
    char *path;
    uint64_t lines, events, text_bytes, bytes; /* lines: of sources */
    struct hash128 hash;
    struct buf added;       /* pairs: lines of sources, lines added */
    struct charge charge;   /* for it */
    uint64_t since, adding; /* of the last pair: not in `added` yet */
};
struct organize_target {
    char *name;
    char *query; /* NULL: the rest */
    bool dropped;
    struct press_file *press; /* of the last file; NULL: none is in the making */
    VEC(struct organize_file *) files;
    uint64_t lines, events;
};
struct organize_source {
    uint32_t file; /* position in the snapshot */
    const char *path;
    uint64_t bytes;
    struct hash128 hash;
    const struct trace_damage *damage;
    uint32_t damage_count;
};

struct organize {
    const struct query_env *env;
    struct snapshot *snapshot;
    struct outlet *outlet;
    struct charge charge; /* for the list of files */
    struct query *all, **queries;
    size_t query_count;
    struct sharing *sharing;
    struct press *press;
    struct provenance_writer *provenance;
    struct organize_target *targets; /* groups, then the rest */
    uint32_t target_count;
    char *name;
    int level;
    uint64_t chunk_bytes;
    bool drop_rest;
    struct organize_source *sources;
    size_t source_count, source_at; /* source_at: the one whose text comes now, + 1 */
    struct hasher hasher;           /* of its text */
    struct buf runs, record;
    uint64_t run_what, run_literal, run_lines; /* not in `runs` yet; lines 0: none */
    struct intern *literals;
    const struct index_file **unread; /* selected files without a text */
    size_t unread_count;
    struct buf manifest;
    struct {
        unsigned version;
        const char *tool, *provenance;
        bool complete;
    } head; /* of the manifest */
    uint64_t provenance_bytes;
    struct hash128 provenance_hash;
};

/* organize_open.c */
int organize_targets(struct organize *o, const struct organize_options *options, struct err *err);
int organize_queries(struct organize *o, const struct selection *s,
                     const struct organize_options *options, struct budget *budget,
                     struct err *err);
/* organize_trace.c: the records of the sidecar. */
int organize_trace_begin(struct organize *o, struct err *err); /* targets */
/* the text of this source comes, those before it have ended */
int organize_trace_source(struct organize *o, uint32_t file);
int organize_trace_share(struct organize *o,
                         const struct share *s); /* text of it goes to a target */
/* lines of no source come into the file */
void organize_trace_added(struct organize_file *f, uint64_t lines);
void organize_trace_lines(struct organize_file *f, uint64_t lines); /* lines of a source */
int organize_trace_end(struct organize *o, struct err *err); /* all files, and the sidecar's end */
/* organize_manifest.c: into o->manifest, and as the last file. */
int organize_write_manifest(struct organize *o, struct err *err);

#endif
