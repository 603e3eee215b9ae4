/* module: replay */
/* fuzz_replay.c - lines as dftracerd-replay gets them, read and planned; nothing is performed. The
 * events are the same the second time, and from a pipe that has them in two parts, unless lines
 * continue in others; no path leaves the root; no operation moves more than one call can.
 *
 * Input: a byte that says where the two parts meet, then the lines. */
#include "replay/perform/lanes.h"
#include "replay/plan/plan.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PIPE_BYTES = 60000 };

struct seen {
    uint64_t hash, events;
    int end; /* what input_next returned last */
};

struct parts {
    int fd;
    const uint8_t *data;
    size_t len;
};

/* Nobody writes more than a pipe takes. */
static void write_part(int fd, const uint8_t *data, size_t len)
{
    assert(write(fd, data, len) == (ssize_t)len);
}

static void write_rest(void *arg)
{
    struct parts *p = arg;
    if (p->fd < 0)
        return;
    write_part(p->fd, p->data, p->len);
    close(p->fd);
    p->fd = -1;
}

/* ---- what is planned ------------------------------------------------------------------------- */

static void check_path(const struct path *path)
{
    if (!path || path->refusal)
        return;
    struct text rest = text_of(path->file->below), part;
    assert(rest.len && rest.ptr[0] != '/');
    while (text_split(&rest, '/', &part))
        assert(part.len && !text_eq(part, TEXT("..")) &&
               (!text_eq(part, TEXT(".")) || strcmp(path->file->below, ".") == 0));
}

static void release(void *arg, struct handle *h)
{
    (void)arg;
    handle_release(h);
}

struct planner {
    struct shared *shared;
    struct files files;
    struct plan plan;
    struct lanes lanes;
};
static const struct replay_options options = {
    .maps = {{"/data", "/nowhere"}, {"/", "/nowhere"}}, .map_count = 1, .speed = 1};

static void planner_init(struct planner *p)
{
    p->shared = shared_new();
    assert(p->shared);
    assert(files_init(&p->files, &options, p->shared) == 0);
    assert(plan_init(&p->plan, &p->files, p->shared) == 0);
    assert(lanes_init(&p->lanes, p->shared, false) == 0);
    p->plan.release = release;
}

static void planner_done(struct planner *p)
{
    plan_reset(&p->plan);
    plan_done(&p->plan);
    files_done(&p->files);
    lanes_done(&p->lanes);
    shared_free(p->shared);
}

static void plan_one(struct planner *p, const struct event *e)
{
    const struct call *c = call_find(e->name);
    const char *reason = NULL;
    struct lane *lane = lanes_find(&p->lanes, e->host, e->pid, e->tid);
    assert(lane && lane->runner < LANES_RUNNERS_MAX);
    struct operation op = {.lane = lane, .ts_ns = e->ts_ns};
    if (!c || e->is_metadata)
        return;
    assert(plan_event(&p->plan, e, c, lane->process, &op, &reason) == 0);
    check_path(op.path);
    check_path(op.path2);
    assert(reason || op.call == c);
    assert(c->kind == CALL_MMAP || op.bytes <= 0x7ffff000);
    assert(!reason || !op.handle);
    handle_release(op.handle);
}

/* ---- what is read ---------------------------------------------------------------------------- */

static uint64_t hash_of(const struct event *e)
{
    int64_t numbers[] = {e->pid,    e->tid,    e->ts_ns,        e->dur_ns,      e->ret,
                         e->count,  e->size,   e->offset,       e->fd,          e->flags,
                         e->length, e->whence, (int64_t)e->has, e->is_metadata, e->is_counter};
    struct text texts[] = {e->name, e->cat, e->host, e->mode};
    uint64_t hash = text_hash((struct text){(const char *)numbers, sizeof numbers});
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        hash = hash * 31 + text_hash(texts[i]);
    return hash;
}

static struct seen read_all(struct input *in, struct planner *p)
{
    struct seen seen = {0};
    struct event e;
    while ((seen.end = input_next(in, &e, NULL)) == 1) {
        seen.hash = seen.hash * 31 + hash_of(&e);
        seen.events++;
        plan_one(p, &e);
    }
    assert(seen.end == 0 || seen.end == INPUT_AGAIN || seen.end == ERR_CORRUPT);
    return seen;
}

static void check_same(const struct seen *a, const struct seen *b)
{
    assert(a->events == b->events && a->hash == b->hash && a->end == b->end);
}

static struct seen from_file(struct planner *p, const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    struct input *in = NULL;
    assert(fd >= 0 && input_open(fd, &in) == 0);
    write_part(fd, data, size);
    assert(lseek(fd, 0, SEEK_SET) == 0);
    struct seen seen = read_all(in, p);
    uint64_t invalid = input_invalid(in);
    assert(input_rewind(in) == 0);
    plan_reset(&p->plan);
    struct seen again = read_all(in, p);
    check_same(&seen, &again);
    assert(input_invalid(in) == invalid);
    input_close(in);
    close(fd);
    return seen;
}

static struct seen from_pipe(struct planner *p, const uint8_t *data, size_t size, size_t first)
{
    int fds[2];
    struct input *in = NULL;
    assert(pipe2(fds, O_CLOEXEC) == 0 && input_open(fds[0], &in) == 0);
    struct parts rest = {fds[1], data + first, size - first};
    write_part(fds[1], data, first);
    input_set_wait(in, write_rest, &rest, NULL);
    struct seen seen = read_all(in, p);
    write_rest(&rest); /* where the end was found before */
    input_close(in);
    close(fds[0]);
    return seen;
}

/* Objects that are cut by a line break depend on what the scanner has at a time. */
static bool lines_continue(struct text t)
{
    struct text line;
    while (text_split(&t, '\n', &line))
        if (line.len && line.ptr[0] != '{')
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct planner p;
    if (size < 1 || size > PIPE_BYTES)
        return 0;
    size_t first = (size - 1) * data[0] / 255;
    planner_init(&p);
    struct seen file = from_file(&p, data + 1, size - 1);
    plan_reset(&p.plan);
    struct seen pipe = from_pipe(&p, data + 1, size - 1, first);
    if (!lines_continue((struct text){(const char *)data + 1, size - 1}))
        check_same(&file, &pipe);
    planner_done(&p);
    return 0;
}
