/* chunk_maker.h - the events of a text become the value of a chunk, without an index: one scanner,
 * one builder, and a table of global texts, from maker_begin to maker_end. */
#ifndef CHUNK_MAKER_H
#define CHUNK_MAKER_H

#include "column/chunk/chunk.h"
#include "trace_data.h"

static struct intern *maker_texts;

static uint32_t maker_give_id(void *arg, struct text t)
{
    (void)arg;
    int64_t id = intern_add(maker_texts, t);
    return id < 0 ? INDEX_NO_TEXT : (uint32_t)id;
}

static struct text maker_text_by_id(void *arg, uint32_t id)
{
    (void)arg;
    return id < intern_count(maker_texts) ? intern_text(maker_texts, id) : (struct text){0};
}

static const struct chunk_texts maker_chunk_texts = {maker_text_by_id, NULL, false, NULL, NULL};
static struct chunk_options maker_options = {.intern = maker_give_id};
static struct trace_scanner *maker_scanner;
static struct chunk_builder *maker_builder;

static void maker_begin(void)
{
    maker_texts = intern_new();
    CHECK_INT(trace_scanner_new(NULL, &maker_scanner), 0);
    CHECK_INT(chunk_builder_new(&maker_options, &maker_builder), 0);
}

static void maker_end(void)
{
    trace_scanner_free(maker_scanner);
    chunk_builder_free(maker_builder);
    intern_free(maker_texts);
}

/* Of `len` bytes of text, 64 readable behind. */
static void maker_build(const char *text, size_t len, struct buf *value, struct chunk_built *built)
{
    struct trace_event e;

    trace_scan_begin(maker_scanner, text, len, TRACE_US);
    chunk_builder_begin(maker_builder, maker_scanner);
    while (trace_scan_next(maker_scanner, &e) == 1)
        CHECK_INT(chunk_builder_add(maker_builder, &e), 0);
    CHECK_INT(chunk_builder_finish(maker_builder, 7, value, built), 0);
}

static struct chunk_view *maker_view(const struct buf *value)
{
    struct chunk_view *v = NULL;

    CHECK_INT(chunk_view_new(value->data, value->len, &maker_chunk_texts, &v), 0);
    return v;
}

/* Calls visit for every chunk of a trace. */
__attribute__((unused)) static void
maker_each_chunk(const char *path, void (*visit)(const char *path, const struct trace_chunk *chunk))
{
    struct trace_reader_options ro = {0};
    struct trace_reader *reader;
    struct trace_chunker *chunker;
    struct trace_chunk chunk;
    struct err err = {0};
    int fd = open(path, O_RDONLY);

    CHECK_STOP(fd >= 0);
    CHECK_STOP(trace_reader_open(fd, &ro, NULL, &err, &reader) == 0);
    CHECK_INT(trace_chunker_new(reader, 4 << 20, 0, &chunker), 0);
    while (trace_chunker_next(chunker, true, &chunk) == 0) {
        visit(path, &chunk);
        trace_chunk_done(&chunk);
    }
    trace_chunker_free(chunker);
    trace_reader_close(reader);
    close(fd);
}

/* Of lines, whose value stays with the caller. */
static inline struct chunk_view *maker_view_of(const char *lines, struct buf *value,
                                               struct chunk_built *built)
{
    size_t len = strlen(lines);
    char *text = calloc(1, len + 64);

    memcpy(text, lines, len);
    maker_build(text, len, value, built);
    free(text);
    return maker_view(value);
}

#endif
