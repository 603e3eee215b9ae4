/* organize.h - declarations that the parts of /organize share: targets, their files, and the
 * description of these in the sidecar. */
#ifndef DFTRACERD_REWRITE_ORGANIZE_H
#define DFTRACERD_REWRITE_ORGANIZE_H

#include "dftracerd/share.h"
#include "dftracerd/vec.h"
#include "rewrite/provenance.h"
#include "rewrite/transform.h"

#define ORGANIZE_REST "_rest"

struct organize_file {
    struct transform_file base; /* lines: lines from sources */
    uint64_t events;
    struct buf added;       /* pairs: number of lines from sources, number of added lines */
    struct charge charge;   /* for `added` */
    uint64_t since, adding; /* the last pair: it is not in `added` yet, and more may be added */
};
/* Receives the objects of a group of the request, or the rest. */
struct organize_target {
    const char *name;
    const char *query; /* NULL for the rest */
    bool dropped;
    struct organize_file *file; /* the current one, or NULL */
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
    struct transform base;
    const struct query_env *env;
    struct snapshot *snapshot;
    struct query *all, **queries;
    size_t query_count;
    struct sharing *sharing;
    struct compressor *compressor;
    struct provenance_writer *provenance;
    struct organize_target *targets; /* groups, then the rest */
    uint32_t target_count;
    const char *name;
    int level;
    uint64_t chunk_bytes;
    struct organize_source *sources;
    size_t source_count, source_at; /* source_at: the current source, + 1 */
    struct hasher hasher;           /* hash of its text */
    struct buf runs, record;
    /* the last run, which is not in `runs` yet; lines 0: none */
    uint64_t run_what, run_literal, run_lines;
    struct intern *literals;
    const struct index_file **unread; /* selected files without text */
    size_t unread_count;
    struct {
        unsigned version;
        const char *tool, *provenance;
    } head; /* constant members of the manifest */
    uint64_t provenance_bytes;
    struct hash128 provenance_hash;
};

/* organize_open.c */
/* Checks names, and makes the targets. */
int organize_copy_options(struct organize *o, const struct organize_options *options,
                          struct err *err);
/* Opens `all` and the queries of the groups, and lists the sources. */
int organize_open_queries(struct organize *o, const struct selection *s,
                          const struct organize_options *options, struct err *err);
/* organize_trace.c: writes the records of the sidecar. */
/* Begins the sidecar, and writes its targets. */
int organize_sidecar_begin(struct organize *o, struct err *err);
/* Ends the sources before `file`, and begins this one; UINT32_MAX: ends all. */
int organize_sidecar_source(struct organize *o, uint32_t file);
/* Records that text of the source goes to a target. */
int organize_sidecar_share(struct organize *o, const struct share *s);
/* Records lines from a source. */
void organize_sidecar_lines(struct organize_file *f, uint64_t lines);
/* Writes the records of all files, and ends the sidecar. */
int organize_sidecar_end(struct organize *o, struct err *err);
#endif
