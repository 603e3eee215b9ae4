/* module: replay */
/* What events are planned as: offsets, sizes, handles, and what files have to be before. Expected
 * values follow from POSIX. */
#include "replay/perform/lanes.h"
#include "replay/plan/order.h"
#include "replay/plan/plan.h"
#include "check.h"

#include <fcntl.h>
#include <unistd.h>

static struct replay_options options;
static struct shared *shared;
static struct files files;
static struct plan plan;
static struct operation op; /* the last one */
static const char *reason;
static unsigned released;

static void release(void *arg, struct handle *h)
{
    (void)arg;
    released++;
    handle_release(h);
}

static void begin(void)
{
    options = (struct replay_options){.speed = 1};
    shared = shared_new();
    released = 0;
    op = (struct operation){0};
    CHECK(shared && files_init(&files, &options, shared) == 0 &&
          plan_init(&plan, &files, shared) == 0);
    plan.release = release;
}

static void end(void)
{
    handle_release(op.handle);
    plan_reset(&plan);
    plan_done(&plan);
    files_done(&files);
    shared_free(shared);
}

/* Plans a call of a process. The handle of the operation is kept until the next call. */
static const struct operation *next(uint32_t process, const char *name, struct event e)
{
    const struct call *c = call_find(text_of(name));
    CHECK(c != NULL);
    handle_release(op.handle);
    op = (struct operation){0};
    CHECK_INT(plan_event(&plan, &e, c, process, &op, &reason), 0);
    return &op;
}

#define CALL(name, ...) next(1, name, (struct event){__VA_ARGS__})
#define FILE_A .file = TEXT("/a")

static struct event on_fd(int64_t fd, int64_t ret)
{
    return (struct event){.has = HAS_FD | HAS_RET, .fd = fd, .ret = ret};
}

static struct event opened(const char *path, int64_t flags, int64_t ret)
{
    return (struct event){
        .file = text_of(path), .has = HAS_FLAGS | HAS_RET, .flags = flags, .ret = ret};
}

static struct event sought(int64_t fd, int64_t offset, int64_t whence)
{
    return (struct event){
        .has = HAS_FD | HAS_OFFSET | HAS_WHENCE, .fd = fd, .offset = offset, .whence = whence};
}

static struct file *file_of(const char *path)
{
    return files_path(&files, text_of(path))->file;
}

/* ---- positions ------------------------------------------------------------------------------- */

static void reads_continue(void)
{
    begin();
    next(1, "open", opened("/a", O_RDONLY, 3));
    CHECK_INT(next(1, "read", on_fd(3, 100))->offset, 0);
    CHECK_INT(next(1, "read", on_fd(3, 50))->offset, 100);
    CHECK_INT(next(1, "read", on_fd(3, 0))->bytes, 0);
    CHECK_INT(next(1, "read", on_fd(3, 7))->offset, 150);
    CHECK_INT(file_of("/a")->need, 157);
    CHECK_INT(file_of("/a")->first, FIRST_NEEDED);
    end();
}

static void pread_stays(void)
{
    begin();
    next(1, "open", opened("/a", O_RDONLY, 3));
    next(1, "read", on_fd(3, 10));
    struct event at = on_fd(3, 5);
    at.has |= HAS_OFFSET;
    at.offset = 1000;
    CHECK_INT(next(1, "pread", at)->offset, 1000);
    CHECK_INT(next(1, "read", on_fd(3, 1))->offset, 10);
    CHECK_INT(file_of("/a")->need, 1005);
    end();
}

static void seeks(void)
{
    begin();
    next(1, "open", opened("/a", O_RDWR | O_CREAT | O_TRUNC, 3));
    next(1, "write", on_fd(3, 100));
    next(1, "lseek", sought(3, 20, SEEK_SET));
    CHECK_INT(next(1, "read", on_fd(3, 5))->offset, 20);
    next(1, "lseek", sought(3, -10, SEEK_CUR));
    CHECK_INT(next(1, "read", on_fd(3, 5))->offset, 15);
    next(1, "lseek", sought(3, -30, SEEK_END));
    CHECK_INT(next(1, "read", on_fd(3, 5))->offset, 70);
    next(1, "lseek", sought(3, -30, SEEK_SET));
    CHECK(reason && strstr(reason, "offset"));
    next(1, "lseek", sought(3, INT64_MAX, SEEK_CUR));
    CHECK(reason && strstr(reason, "offset"));
    next(1, "lseek", sought(3, 0, 3));
    CHECK(reason && strstr(reason, "seek"));
    CHECK_INT(next(1, "read", on_fd(3, 1))->offset, 75);
    end();
}

/* The end of a file that was there before is where lseek found it. */
static void seek_to_known_end(void)
{
    begin();
    next(1, "open", opened("/a", O_RDWR, 3));
    struct event e = sought(3, -8, SEEK_END);
    e.has |= HAS_RET;
    e.ret = 992;
    next(1, "lseek", e);
    CHECK_INT(file_of("/a")->need, 1000);
    CHECK_INT(next(1, "read", on_fd(3, 8))->offset, 992);
    end();
}

static void appends(void)
{
    begin();
    next(1, "open", opened("/a", O_WRONLY | O_CREAT | O_TRUNC, 3));
    next(1, "write", on_fd(3, 100));
    next(1, "open", opened("/a", O_WRONLY | O_APPEND, 4));
    CHECK_INT(next(1, "write", on_fd(4, 10))->offset, 100);
    next(1, "write", on_fd(3, 50));
    CHECK_INT(next(1, "write", on_fd(4, 10))->offset, 150);
    CHECK_INT(file_of("/a")->size, 160);
    end();
}

static void truncation(void)
{
    begin();
    next(1, "open", opened("/a", O_RDWR, 3));
    next(1, "read", on_fd(3, 500));
    struct event cut = on_fd(3, 0);
    cut.has |= HAS_LENGTH;
    cut.length = 40;
    next(1, "ftruncate", cut);
    next(1, "lseek", sought(3, 0, SEEK_END));
    CHECK_INT(next(1, "write", on_fd(3, 2))->offset, 40);
    CHECK_INT(file_of("/a")->need, 500);
    cut.length = -1;
    next(1, "ftruncate", cut);
    CHECK(reason && strstr(reason, "size"));
    end();
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void dup_shares_the_position(void)
{
    begin();
    next(1, "open", opened("/a", O_RDONLY, 3));
    next(1, "dup", on_fd(3, 9));
    next(1, "read", on_fd(3, 10));
    CHECK_INT(next(1, "read", on_fd(9, 10))->offset, 10);
    next(1, "close", on_fd(3, 0));
    CHECK_INT(next(1, "read", on_fd(9, 10))->offset, 20);
    next(1, "read", on_fd(3, 1));
    CHECK(reason && strstr(reason, "outside of the trace"));
    next(1, "close", on_fd(9, 0));
    CHECK(!reason);
    end();
}

static void numbers_are_used_again(void)
{
    begin();
    next(1, "open", opened("/a", O_RDONLY, 3));
    next(1, "read", on_fd(3, 10));
    next(1, "close", on_fd(3, 0));
    next(1, "open", opened("/b", O_RDONLY, 3));
    CHECK_INT(next(1, "read", on_fd(3, 10))->offset, 0);
    CHECK(op.path == files_path(&files, TEXT("/b")));
    next(1, "open", opened("/c", O_RDONLY, 3)); /* the trace lacks the close */
    CHECK_INT(released, 1);
    CHECK(next(1, "read", on_fd(3, 1))->path == files_path(&files, TEXT("/c")));
    struct event other = on_fd(3, 5);
    other.file = TEXT("/d"); /* and an open */
    CHECK_INT(next(1, "read", other)->offset, 0);
    CHECK(op.path == files_path(&files, TEXT("/d")) && released == 2);
    end();
}

static void processes_have_their_own(void)
{
    begin();
    next(1, "open", opened("/a", O_RDONLY, 3));
    next(2, "open", opened("/b", O_RDONLY, 3));
    next(1, "read", on_fd(3, 10));
    CHECK_INT(next(2, "read", on_fd(3, 10))->offset, 0);
    CHECK_INT(op.handle->process, 2);
    next(3, "read", on_fd(3, 10));
    CHECK(reason && strstr(reason, "outside of the trace"));
    end();
}

/* Without numbers a file has one descriptor and one stream in each process. */
static void by_file(void)
{
    begin();
    CALL("open", FILE_A);
    CHECK_INT(op.flags, O_RDWR | O_CREAT);
    CHECK_INT(CALL("read", FILE_A, .has = HAS_SIZE, .size = 10)->bytes, 10);
    CHECK_INT(CALL("read", FILE_A, .has = HAS_COUNT, .count = 10)->offset, 10);
    struct handle *descriptor = op.handle;
    CALL("fopen", FILE_A, .mode = TEXT("r"));
    CHECK_INT(CALL("fread", FILE_A, .has = HAS_SIZE | HAS_COUNT | HAS_RET, .size = 8, .count = 9,
                   .ret = 5)
                  ->bytes,
              40);
    CHECK(op.handle != descriptor && op.handle->is_stream);
    CHECK_INT(CALL("fread", FILE_A, .has = HAS_RET, .ret = 3)->offset, 40);
    CALL("fclose", FILE_A);
    CALL("fclose", FILE_A);
    CHECK(reason && strstr(reason, "no call that opened it"));
    end();
}

static void modes(void)
{
    static const struct {
        const char *mode;
        int flags;
    } known[] = {{"", O_RDONLY},
                 {"r", O_RDONLY},
                 {"rb", O_RDONLY},
                 {"r+", O_RDWR},
                 {"rb+", O_RDWR},
                 {"w", O_WRONLY | O_CREAT | O_TRUNC},
                 {"w+", O_RDWR | O_CREAT | O_TRUNC},
                 {"wx", O_WRONLY | O_CREAT | O_TRUNC | O_EXCL},
                 {"a", O_WRONLY | O_CREAT | O_APPEND},
                 {"a+", O_RDWR | O_CREAT | O_APPEND}};
    begin();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CHECK_INT(CALL("fopen", FILE_A, .mode = text_of(known[i].mode))->flags, known[i].flags);
    CHECK_INT(CALL("creat", FILE_A)->flags, O_WRONLY | O_CREAT | O_TRUNC);
    CHECK_INT(CALL("opendir", FILE_A)->flags, O_RDONLY | O_DIRECTORY);
    CHECK_INT(next(1, "open", opened("/a", -1, 3))->flags & O_PATH, 0);
    end();
}

static void failed_opens(void)
{
    begin();
    next(1, "open", opened("/a", O_RDONLY, -1));
    CHECK(!reason && op.handle);
    CHECK_INT(file_of("/a")->first, FIRST_UNKNOWN);
    next(1, "read", on_fd(-1, 5));
    CHECK(reason != NULL);
    end();
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static void out_of_range(void)
{
    begin();
    next(1, "open", opened("/a", O_RDWR, 3));
    next(1, "read", on_fd(3, INT64_MAX));
    CHECK(reason && strstr(reason, "size"));
    CALL("fread", FILE_A, .has = HAS_SIZE | HAS_COUNT, .size = INT64_MAX, .count = 2);
    CHECK(reason && strstr(reason, "size"));
    struct event at = on_fd(3, 5);
    at.has |= HAS_OFFSET;
    at.offset = INT64_MAX - 2;
    next(1, "pread", at);
    CHECK(reason && strstr(reason, "offset"));
    at.offset = -1;
    next(1, "pwrite", at);
    CHECK(reason && strstr(reason, "offset"));
    CHECK_INT(file_of("/a")->need, 0);
    CALL("mmap", FILE_A, .has = HAS_LENGTH | HAS_OFFSET, .length = 10, .offset = INT64_MAX);
    CHECK(reason && strstr(reason, "size"));
    CALL("mmap", .has = HAS_FD | HAS_LENGTH, .fd = -1, .length = 10);
    CHECK(reason && strstr(reason, "maps no file"));
    CALL("truncate", FILE_A, .has = HAS_LENGTH, .length = -1);
    CHECK(reason && strstr(reason, "size"));
    end();
}

/* Failed calls, and reads beyond the end, do not show how long a file is. */
static void failed_calls(void)
{
    begin();
    next(1, "open", opened("/a", O_RDWR, 3));
    next(1, "read", on_fd(3, 100));
    struct event far = on_fd(3, 0);
    far.has |= HAS_OFFSET | HAS_LENGTH;
    far.offset = INT64_C(1) << 50;
    next(1, "pread", far);
    CHECK_INT(file_of("/a")->need, 100);
    far.ret = -1;
    next(1, "pwrite", far);
    CHECK_INT(file_of("/a")->size, 0);
    next(1, "ftruncate", far);
    CHECK(!reason && !file_of("/a")->truncated);
    struct event e = sought(3, -5, SEEK_SET);
    e.has |= HAS_RET;
    e.ret = -1;
    next(1, "fseek", e);
    CHECK(!reason);
    CHECK_INT(next(1, "read", on_fd(3, 10))->offset, 100);
    end();
}

static void flush_of_all_streams(void)
{
    begin();
    CALL("fflush", .has = HAS_RET);
    CHECK(!reason && op.call && !op.handle && !op.path);
    CALL("fsync", .has = HAS_RET);
    CHECK(reason && strstr(reason, "names no file"));
    end();
}

/* ---- what files have to be ------------------------------------------------------------------- */

static void created_and_needed(void)
{
    begin();
    next(1, "open", opened("/new", O_WRONLY | O_CREAT, 3));
    CHECK_INT(file_of("/new")->first, FIRST_CREATED);
    next(1, "open", opened("/new", O_RDONLY, 4));
    next(1, "read", on_fd(4, 100));
    CHECK_INT(file_of("/new")->need, 0);
    CALL("stat", .file = TEXT("/old"), .has = HAS_RET, .ret = 0);
    CHECK_INT(file_of("/old")->first, FIRST_NEEDED);
    CALL("stat", .file = TEXT("/none"), .has = HAS_RET, .ret = -1);
    CHECK_INT(file_of("/none")->first, FIRST_UNKNOWN);
    CALL("rename", .file = TEXT("/old2"), .file2 = TEXT("/moved"), .has = HAS_RET, .ret = 0);
    CHECK_INT(file_of("/old2")->first, FIRST_NEEDED);
    CHECK_INT(file_of("/moved")->first, FIRST_CREATED);
    CALL("rename", .file = TEXT("/x"), .file2 = TEXT("/y"), .has = HAS_RET, .ret = -1);
    CHECK_INT(file_of("/y")->first, FIRST_UNKNOWN);
    CALL("mkdir", .file = TEXT("/dir"));
    CHECK(file_of("/dir")->first == FIRST_CREATED && file_of("/dir")->is_dir);
    end();
}

/* Files that the trace removes need space only as long as they are there. */
static void space(void)
{
    begin();
    for (int i = 0; i < 10; i++) {
        next(1, "open", opened("/a", O_WRONLY | O_CREAT | O_TRUNC, 3));
        next(1, "write", on_fd(3, 1000));
        next(1, "close", on_fd(3, 0));
        CALL("rename", FILE_A, .file2 = TEXT("/b"));
        if (i % 2)
            CALL("unlink", .file = TEXT("/b"));
    }
    CHECK_INT(files.bytes_peak, 2000);
    CHECK_INT(files.bytes, 0);
    files.bytes_max = 500;
    next(1, "open", opened("/c", O_WRONLY | O_CREAT, 3));
    next(1, "write", on_fd(3, 501));
    CHECK(reason && strstr(reason, "does not fit"));
    next(1, "write", on_fd(3, 500));
    CHECK(!reason);
    end();
}

/* A file that existed before is replaced again and again, as a checkpoint is. */
static void space_of_replaced_files(void)
{
    begin();
    options.prepare = REPLAY_DATA;
    next(1, "open", opened("/b", O_RDONLY, 3));
    next(1, "read", on_fd(3, 500));
    next(1, "close", on_fd(3, 0));
    for (int i = 0; i < 10; i++) {
        next(1, "open", opened("/a", O_WRONLY | O_CREAT | O_TRUNC, 3));
        next(1, "write", on_fd(3, 1000));
        next(1, "close", on_fd(3, 0));
        CALL("rename", FILE_A, .file2 = TEXT("/b"));
    }
    CHECK_INT(files.bytes, 1000);
    CHECK_INT(files.bytes_peak, 2000);
    end();
}

/* ---- order ----------------------------------------------------------------------------------- */

static struct operation ordered(const char *name, int64_t ts_ns, int64_t dur_ns)
{
    struct operation o = {.call = call_find(text_of(name)),
                          .path = files_path(&files, TEXT("/a")),
                          .ts_ns = ts_ns,
                          .dur_ns = dur_ns};
    order_plan(&files, &o);
    return o;
}

/* A read waits for a number of writes: later ones must not be counted in place of earlier ones. */
static void later_writes_wait(void)
{
    begin();
    struct operation slow = ordered("write", 10, 5), read = ordered("read", 20, 5),
                     later = ordered("write", 30, 5), overlapping = ordered("write", 31, 5);
    CHECK_INT(slow.touched[0].after[TOUCH_WRITE], 0);
    CHECK_INT(read.touched[0].after[TOUCH_WRITE], 1);
    CHECK_INT(later.touched[0].after[TOUCH_WRITE], 1);
    CHECK_INT(overlapping.touched[0].after[TOUCH_WRITE], 1);
    end();
}

/* A rename needs an empty directory at its new path. */
static void rename_waits_for_files(void)
{
    begin();
    struct operation renames = {.call = call_find(TEXT("rename")),
                                .path = files_path(&files, TEXT("/a")),
                                .path2 = files_path(&files, TEXT("/d")),
                                .ts_ns = 10};
    struct operation removes = {
        .call = call_find(TEXT("unlink")), .path = files_path(&files, TEXT("/d/f")), .ts_ns = 5};
    order_survey(&removes);
    order_survey(&renames);
    order_plan(&files, &removes);
    order_plan(&files, &renames);
    CHECK(renames.touched[1].file == file_of("/d"));
    CHECK_INT(renames.touched[1].after[TOUCH_USE], 1);
    end();
}

/* The directory that is renamed is not always the nearest one that the trace changes. */
static void deep_files_are_awaited(void)
{
    begin();
    struct operation top = ordered("mkdir", 1, 1), renames;
    struct operation sub = {
        .call = call_find(TEXT("mkdir")), .path = files_path(&files, TEXT("/a/b")), .ts_ns = 3};
    struct operation creates = {.call = call_find(TEXT("creat")),
                                .path = files_path(&files, TEXT("/a/b/f")),
                                .ts_ns = 5,
                                .creates = true};
    order_plan(&files, &sub);
    order_plan(&files, &creates);
    renames = ordered("rename", 10, 1);
    CHECK_INT(top.touched_count, 1);
    CHECK_INT(renames.touched[0].after[TOUCH_USE], 2);
    end();
}

static void renamed_directory(void)
{
    begin();
    CALL("mkdir", .file = TEXT("/d"));
    next(1, "open", opened("/d/f", O_WRONLY | O_CREAT, 3));
    next(1, "write", on_fd(3, 100));
    next(1, "open", opened("/dd", O_WRONLY | O_CREAT, 4));
    CALL("rename", .file = TEXT("/d"), .file2 = TEXT("/e"));
    CHECK(op.moved && !op.moved->next);
    CHECK(op.moved && op.moved->from == file_of("/d/f") && op.moved->to == file_of("/e/f"));
    CHECK_INT(file_of("/e/f")->size, 100);
    CHECK_INT(file_of("/e/f")->first, FIRST_CREATED);
    CHECK_INT(file_of("/d/f")->size, 0);
    CHECK(file_of("/e")->is_dir);
    CALL("rename", .file = TEXT("/dd"), .file2 = TEXT("/ee"));
    CHECK(!op.moved);
    end();
}

/* Directories of a --map are not renamed. */
static void renamed_map(void)
{
    begin();
    options.maps[0] = (struct replay_map){"/data", "/"};
    options.map_count = 1;
    next(1, "open", opened("/d/f", O_RDWR, 3));
    next(1, "write", on_fd(3, 100));
    CALL("rename", .file = TEXT("/data/d"), .file2 = TEXT("/e"));
    CHECK(!op.moved);
    CALL("mkdir", .file = TEXT("/d"));
    CALL("rename", .file = TEXT("/d"), .file2 = TEXT("/data/e"));
    CHECK(!op.moved);
    CHECK_INT(file_of("/d/f")->size, 100);
    end();
}

static void paths(void)
{
    static const char *const names[][2] = {
        {"/a/b", "a/b"},      {"a/b", "a/b"},     {"//a///b/", "a/b"}, {"/a/./b/.", "a/b"},
        {"/a/x/../b", "a/b"}, {"/", "."},         {"a/..", "."},       {"..", NULL},
        {"/../a", NULL},      {"a/../../b", NULL}};
    begin();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct path *p = files_path(&files, text_of(names[i][0]));
        CHECK(names[i][1] ? !p->refusal && strcmp(p->file->below, names[i][1]) == 0
                          : p->refusal && strstr(p->refusal, "leaves the root"));
    }
    CHECK(file_of("/a/b") == file_of("a//b"));
    CHECK(files_path(&files, (struct text){"a\0b", 3})->refusal);
    end();
}

static const struct check_test tests[] = {{"reads_continue", reads_continue},
                                          {"pread_stays", pread_stays},
                                          {"seeks", seeks},
                                          {"seek_to_known_end", seek_to_known_end},
                                          {"appends", appends},
                                          {"truncation", truncation},
                                          {"dup_shares_the_position", dup_shares_the_position},
                                          {"numbers_are_used_again", numbers_are_used_again},
                                          {"processes_have_their_own", processes_have_their_own},
                                          {"by_file", by_file},
                                          {"modes", modes},
                                          {"failed_opens", failed_opens},
                                          {"out_of_range", out_of_range},
                                          {"failed_calls", failed_calls},
                                          {"flush_of_all_streams", flush_of_all_streams},
                                          {"created_and_needed", created_and_needed},
                                          {"space", space},
                                          {"space_of_replaced_files", space_of_replaced_files},
                                          {"later_writes_wait", later_writes_wait},
                                          {"rename_waits_for_files", rename_waits_for_files},
                                          {"deep_files_are_awaited", deep_files_are_awaited},
                                          {"renamed_directory", renamed_directory},
                                          {"renamed_map", renamed_map},
                                          {"paths", paths},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
