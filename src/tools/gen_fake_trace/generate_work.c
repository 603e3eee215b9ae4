/* generate_work.c - the work of a process: training steps, validations, checkpoints. */
#include "tools/gen_fake_trace/generate.h"

static struct event begin_event(struct rank *r, enum call call, int64_t path)
{
    struct event e = {.call = call, .id = r->next_id++, .ts = r->clock_us, .path = path};
    r->stack[r->depth++] = e.id;
    return e;
}

static void end_event(struct rank *r, struct event *e)
{
    r->clock_us += 1 + rank_below(r, 3);
    e->dur = r->clock_us - e->ts;
    r->depth--;
    write_event(r, e);
    r->clock_us += rank_below(r, 4);
}

/* Writes an event without children. */
static void call_write(struct rank *r, struct event *e, uint64_t us)
{
    e->id = r->next_id++;
    e->ts = r->clock_us;
    e->dur = us;
    r->clock_us += us;
    write_event(r, e);
    r->clock_us += 1 + rank_below(r, 9);
}

static void posix_open(struct rank *r, uint64_t path, uint64_t flags, uint64_t fd)
{
    struct event e = {.call = C_OPEN, .path = (int64_t)path};
    event_add(&e, "flags", ARG_INT, flags);
    event_add(&e, "mode", ARG_INT, 438);
    event_add(&e, "ret", ARG_INT, fd);
    call_write(r, &e, io_jitter(r, 35));
}

static void posix_call(struct rank *r, enum call call, uint64_t path, uint64_t fd, uint64_t us)
{
    struct event e = {.call = call, .path = (int64_t)path};
    if (fd)
        event_add(&e, "fd", ARG_INT, fd);
    if (call != C_XSTAT)
        event_add(&e, "ret", ARG_INT, 0);
    call_write(r, &e, io_jitter(r, us));
}

static void posix_move(struct rank *r, enum call call, uint64_t path, uint64_t fd, uint64_t bytes,
                       uint64_t offset, uint64_t us)
{
    struct event e = {.call = call, .path = (int64_t)path, .size = bytes};
    bool failed = rank_below(r, 1000) == 0;
    event_add(&e, "fd", ARG_INT, fd);
    event_add(&e, "ret", ARG_OFFSET, failed ? (uint64_t)-1 : bytes);
    event_add(&e, "count", ARG_OFFSET, bytes);
    if (call == C_PREAD || call == C_PWRITE)
        event_add(&e, "offset", ARG_OFFSET, offset);
    call_write(r, &e, io_jitter(r, us));
}

static void posix_seek(struct rank *r, uint64_t path, uint64_t fd, uint64_t offset)
{
    struct event e = {.call = C_LSEEK, .path = (int64_t)path};
    event_add(&e, "fd", ARG_INT, fd);
    event_add(&e, "offset", ARG_OFFSET, offset);
    event_add(&e, "whence", ARG_INT, 0);
    event_add(&e, "ret", ARG_OFFSET, offset);
    call_write(r, &e, jitter(r, 2));
}

static void read_shard(struct rank *r, uint64_t path, uint64_t parts, uint64_t bytes)
{
    uint64_t fd = 20 + rank_below(r, 12);
    uint64_t first = r->plan->o.shuffle ? rank_below(r, 1024) : 0; /* sample of a big file */
    posix_open(r, path, 0, fd);
    posix_call(r, C_XSTAT, path, 0, 12);
    for (uint64_t k = 0; k < parts; k++) {
        if (k % 3 == 1) {
            posix_move(r, C_PREAD, path, fd, bytes, (first + k) * bytes, 60 + bytes / 20000);
        } else {
            posix_seek(r, path, fd, (first + k) * bytes);
            posix_move(r, C_READ, path, fd, bytes, 0, 60 + bytes / 20000);
        }
    }
    posix_call(r, C_CLOSE, path, fd, 3);
}

/* Reads with buffered calls: ret counts items of `size` bytes. */
static void read_stream(struct rank *r, uint64_t path, uint64_t parts, uint64_t bytes)
{
    struct event e = {.call = C_FOPEN, .path = (int64_t)path};
    call_write(r, &e, io_jitter(r, 45));
    for (uint64_t k = 0; k < parts; k++) {
        e = (struct event){.call = C_FREAD, .path = (int64_t)path, .size = bytes / 8 * 8};
        event_add(&e, "size", ARG_OFFSET, 8);
        event_add(&e, "count", ARG_OFFSET, bytes / 8);
        event_add(&e, "ret", ARG_OFFSET, bytes / 8);
        call_write(r, &e, io_jitter(r, 70 + bytes / 18000));
    }
    e = (struct event){.call = C_FCLOSE, .path = (int64_t)path};
    call_write(r, &e, io_jitter(r, 4));
}

static void add_step(const struct rank *r, struct event *e)
{
    event_add(e, "epoch", ARG_PYTHON, r->epoch);
    event_add(e, "step", ARG_PYTHON, r->step);
}

static void fetch_sample(struct rank *r, uint64_t path)
{
    uint64_t bytes = (1 + rank_below(r, 4096)) * 4096, parts = 3 + rank_below(r, 3);
    r->tid = r->pid + 1;
    struct event block = begin_event(r, C_FETCH, -1);
    struct event open = begin_event(r, C_READER_OPEN, (int64_t)path);
    add_step(r, &open);
    bool stream = rank_below(r, 5) == 0;
    if (stream)
        read_stream(r, path, parts, bytes);
    end_event(r, &open);
    struct event get = begin_event(r, C_READER_READ, (int64_t)path);
    add_step(r, &get);
    event_add(&get, "image_idx", ARG_PYTHON, path);
    event_add(&get, "image_size", ARG_PYTHON, parts * bytes);
    if (!stream)
        read_shard(r, path, parts, bytes);
    end_event(r, &get);
    add_step(r, &block);
    event_add(&block, "image_idx", ARG_PYTHON, path);
    end_event(r, &block);
}

static void launch_kernel(struct rank *r, enum call call, uint64_t us)
{
    struct event e = {.call = call, .path = -1};
    add_step(r, &e);
    r->launches += 1 + rank_below(r, 400);
    event_add(&e, "device_id", ARG_INT, r->number % 4);
    event_add(&e, "stream_id", ARG_INT, 7);
    event_add(&e, "batch_size", ARG_INT, 4);
    event_add(&e, "correlation_id", ARG_INT, r->launches);
    call_write(r, &e, jitter(r, us));
}

static void train_step(struct rank *r)
{
    const struct options *o = &r->plan->o;
    uint64_t path = o->shuffle ? rank_below(r, o->train_files) : rank_train_file(r, r->step);
    fetch_sample(r, path);
    r->tid = r->pid;
    struct event block = begin_event(r, C_TRAIN, -1);
    uint64_t us = o->step_ms * 1000;
    for (enum call call = C_CONV3D; call <= C_OPTIMIZER; call++)
        launch_kernel(r, call, us / (call == C_OPTIMIZER ? 8 : call >= C_DICE_LOSS ? 4 : 5));
    add_step(r, &block);
    event_add(&block, "image_idx", ARG_PYTHON, path);
    end_event(r, &block);
    if (r->step % 16 == 0)
        write_counters(r);
}

static void run_validation(struct rank *r)
{
    const struct options *o = &r->plan->o;
    for (uint64_t k = 0; k < 10 && o->val_files; k++) {
        uint64_t path = o->train_files + k % o->val_files;
        r->tid = r->pid + 1;
        read_shard(r, path, 1, 65536);
        r->tid = r->pid;
        struct event block = begin_event(r, C_VALID, -1);
        launch_kernel(r, C_VAL_FORWARD, o->step_ms * 1000 / 5);
        launch_kernel(r, C_DICE_LOSS, o->step_ms * 1000 / 10);
        add_step(r, &block);
        end_event(r, &block);
    }
}

static void save_checkpoint(struct rank *r)
{
    uint64_t path = r->plan->checkpoint, fd = 5, offset = 0, parts = 10 + rank_below(r, 11);
    r->tid = r->pid + 1;
    struct event block = begin_event(r, C_CHECKPOINT, (int64_t)path);
    posix_call(r, C_MKDIR, r->plan->folder, 0, 60);
    posix_open(r, path, 577, fd);
    for (uint64_t k = 0; k < parts; k++) {
        uint64_t bytes = jitter(r, 1 << 20);
        posix_move(r, k % 2 ? C_WRITE : C_PWRITE, path, fd, bytes, offset, 900);
        offset += bytes;
    }
    struct event log = {.call = C_FWRITE, .path = (int64_t)path, .size = 80};
    event_add(&log, "size", ARG_OFFSET, 1);
    event_add(&log, "count", ARG_OFFSET, 80);
    event_add(&log, "ret", ARG_OFFSET, 80);
    call_write(r, &log, jitter(r, 5));
    posix_call(r, C_FSYNC, path, fd, 2000);
    posix_call(r, C_CLOSE, path, fd, 3);
    event_add(&block, "epoch", ARG_PYTHON, r->epoch);
    end_event(r, &block);
}

static void end_epoch(struct rank *r)
{
    const struct options *o = &r->plan->o;
    if (rank_is_due(o->validation_every, r->epoch))
        run_validation(r);
    if (rank_is_due(o->checkpoint_every, r->epoch))
        save_checkpoint(r);
    r->tid = r->pid;
    struct event e = {.call = C_EPOCH, .id = r->epoch_id, .ts = r->epoch_begin_us, .path = -1};
    r->depth = 0;
    e.dur = r->clock_us - e.ts;
    event_add(&e, "epoch", ARG_PYTHON, r->epoch);
    write_event(r, &e);
    r->clock_us += 50;
    r->step = 0;
    r->epoch++;
}

/* Writes the next batch of a rank: a step, with the validations and checkpoints before and after
 * it. */
void work_batch(struct rank *r)
{
    const struct options *o = &r->plan->o;
    if (r->state == RANK_NEW) {
        r->tid = r->pid;
        write_rank_head(r);
        posix_call(r, C_OPENDIR, r->plan->folder, 0, 80);
        r->state = RANK_RUNS;
    }
    if (r->step == 0 && r->epoch < o->epochs) {
        r->epoch_begin_us = r->clock_us;
        r->stack[0] = r->epoch_id = r->next_id++;
        r->depth = 1;
    }
    if (r->epoch < o->epochs) {
        train_step(r);
        if (++r->step == o->steps)
            end_epoch(r);
    }
    if (r->epoch >= o->epochs || r->budget <= 1) {
        r->depth = 0;
        write_rank_tail(r);
        r->state = RANK_DONE;
    }
}
